// Whether a peer is still there when it has nothing to say: our own PINGs, and the time to live
// that a peer announces in its own (docs/protocol.md#zmtp). Only with ZMTP 3.1 peers.

/** When to ask, and when to give up. */
export interface HeartbeatOptions {
  /** A PING is sent this often; 0 = never. */
  readonly pingIntervalMs: number
  /** A peer that has been silent for longer, though it was asked, is given up. */
  readonly pingTimeoutMs: number
}

/** What a heartbeat wants done. */
export interface HeartbeatActions {
  /** Send a PING that tells the peer to give us up after `ttlMs` of silence. */
  ping(ttlMs: number): void
  giveUp(reason: string): void
}

/** Watches one connection. Its timers do not keep the process alive. */
export class Heartbeat {
  readonly #options: HeartbeatOptions
  readonly #actions: HeartbeatActions
  #interval: NodeJS.Timeout | undefined
  #ttl: NodeJS.Timeout | undefined
  #ttlMs = 0
  #lastHeardMs: number | undefined

  constructor(options: HeartbeatOptions, actions: HeartbeatActions) {
    this.#options = options
    this.#actions = actions
  }

  /** The handshake with a 3.1 peer is done: starts to send PINGs if that is wanted. */
  start(): void {
    const { pingIntervalMs } = this.#options
    if (pingIntervalMs === 0) return
    this.#lastHeardMs = performance.now()
    this.#interval = setInterval(() => this.#onInterval(), pingIntervalMs).unref()
  }

  /** Any bytes have come. */
  heard(): void {
    if (this.#lastHeardMs !== undefined) this.#lastHeardMs = performance.now()
  }

  /** The peer has sent a PING: it wants to be given up after `ttlMs` of silence (0 = no wish). */
  onPing(ttlMs: number): void {
    this.#ttlMs = ttlMs
    if (ttlMs === 0) return
    this.#lastHeardMs = performance.now()
    if (this.#ttl === undefined) this.#watch(ttlMs)
  }

  /** Ends all timers. */
  stop(): void {
    clearInterval(this.#interval)
    clearTimeout(this.#ttl)
  }

  get #silenceMs(): number {
    return performance.now() - (this.#lastHeardMs ?? 0)
  }

  #onInterval(): void {
    const { pingTimeoutMs } = this.#options
    if (this.#silenceMs <= pingTimeoutMs) this.#actions.ping(pingTimeoutMs)
    else this.#actions.giveUp(`the peer has not answered for ${pingTimeoutMs} ms`)
  }

  #watch(delayMs: number): void {
    this.#ttl = setTimeout(() => this.#onTtl(), delayMs).unref()
  }

  #onTtl(): void {
    this.#ttl = undefined
    if (this.#ttlMs === 0) return
    const leftMs = this.#ttlMs - this.#silenceMs
    if (leftMs > 0) this.#watch(Math.ceil(leftMs))
    else this.#actions.giveUp(`the peer was silent for the ${this.#ttlMs} ms that it had announced`)
  }
}

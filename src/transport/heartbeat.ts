// Whether a peer is still there when it has nothing to say: our own PINGs, and the time to live
// that a peer announces in its own (docs/protocol.md#zmtp). Only with ZMTP 3.1 peers. Ours announce
// none: a process that is busy or was suspended for a while is not to be given up for that.

// When to ask a peer whether it is there, and when to give it up: rules about time alone, apart
// from the timers and the stream that they are about. docs/protocol.md#zmtp

/** When to ask, and when to give up. In milliseconds. */
export interface PingOptions {
  /** How often is looked, and asked if need be; 0 = never. */
  readonly pingIntervalMs: number
  /** A peer that has been silent for so long, though it was asked, is given up; 0 = never. */
  readonly pingTimeoutMs: number
}

/** What the outgoing half of a connection looks like at a moment. */
interface OutgoingState {
  /** All that the operating system has taken since the beginning, in bytes. */
  readonly takenBytes: number
  /** Whether it has not taken all that it was given: its buffers are full. */
  readonly isFull: boolean
}

/**
 * While its buffers are full the system takes bytes in large portions, on a slow link far apart;
 * the peer may be given up after so many times as long.
 */
const FULL_FACTOR = 4

/** Looks after one peer, once in every interval. */
export class PeerWatch {
  readonly #options: PingOptions
  #lastLookMs: number
  #aliveMs: number
  #outgoing: OutgoingState = { takenBytes: 0, isFull: false }
  #isAsked = false

  /** The connection stands since `nowMs`. */
  constructor(options: PingOptions, nowMs: number) {
    this.#options = options
    this.#lastLookMs = nowMs
    this.#aliveMs = nowMs
  }

  /**
   * An interval has passed. `hasHeard`: bytes came since the last one. `giveUp` comes again in each
   * interval until something is heard.
   */
  look(nowMs: number, hasHeard: boolean, outgoing: OutgoingState): 'nothing' | 'ping' | 'giveUp' {
    const { pingIntervalMs, pingTimeoutMs } = this.#options
    const before = this.#outgoing
    const hasSent = outgoing.takenBytes > before.takenBytes
    // Full buffers only empty when the peer's system confirms; others take bytes for nobody, too.
    const hasMoved = before.isFull && hasSent
    // While this process stood still it could not hear: the peer gets its full time again.
    const stoodStill = nowMs - this.#lastLookMs > 2 * pingIntervalMs
    this.#lastLookMs = nowMs
    this.#outgoing = outgoing
    if (hasHeard || hasMoved || stoodStill) {
      this.#aliveMs = nowMs
      this.#isAsked = false
    }
    const patienceMs = pingTimeoutMs * (outgoing.isFull ? FULL_FACTOR : 1)
    const isSilent = nowMs - this.#aliveMs >= patienceMs
    if (pingTimeoutMs > 0 && isSilent && this.#isAsked) return 'giveUp'
    // One that hears nothing of us for long would be in doubt, too; so would what is between us.
    if (hasHeard && hasSent) return 'nothing'
    this.#isAsked = true
    return 'ping'
  }
}

/** What a heartbeat asks, and wants done. */
interface HeartbeatActions {
  outgoing(): OutgoingState
  ping(): void
  giveUp(reason: string): void
}

/** Watches one connection. Its timers do not keep the process alive. */
export class Heartbeat {
  readonly #options: PingOptions
  readonly #actions: HeartbeatActions
  #interval: NodeJS.Timeout | undefined
  #ttl: NodeJS.Timeout | undefined
  #ttlMs = 0
  #hasHeard = false
  #isStopped = false
  /** Kept up to date only while the peer wants to be given up some time. */
  #lastHeardMs = 0

  constructor(options: PingOptions, actions: HeartbeatActions) {
    this.#options = options
    this.#actions = actions
  }

  /** The handshake with a 3.1 peer is done: starts to send PINGs if that is wanted. */
  start(): void {
    const { pingIntervalMs, pingTimeoutMs } = this.#options
    if (pingIntervalMs === 0) return
    const watch = new PeerWatch(this.#options, performance.now())
    const onInterval = (): void => {
      const next = watch.look(performance.now(), this.#hasHeard, this.#actions.outgoing())
      this.#hasHeard = false
      if (next === 'ping') this.#actions.ping()
      if (next !== 'giveUp') return
      this.#whenAllIsRead(() => {
        if (this.#hasHeard) return
        this.#actions.giveUp(`the peer has not answered for ${pingTimeoutMs} ms`)
      })
    }
    this.#interval = setInterval(onInterval, pingIntervalMs).unref()
  }

  /** Any bytes have come. */
  heard(): void {
    this.#hasHeard = true
    if (this.#ttlMs > 0) this.#lastHeardMs = performance.now()
  }

  /** The peer has sent a PING: it wants to be given up after `ttlMs` of silence (0 = no wish). */
  onPing(ttlMs: number): void {
    this.#ttlMs = ttlMs
    if (ttlMs === 0) return
    this.#lastHeardMs = performance.now()
    if (this.#ttl === undefined) this.#watchTtl(ttlMs)
  }

  /** Ends all timers. */
  stop(): void {
    this.#isStopped = true
    clearInterval(this.#interval)
    clearTimeout(this.#ttl)
  }

  /** How long the peer may be silent from now on. */
  get #ttlLeftMs(): number {
    return this.#ttlMs - (performance.now() - this.#lastHeardMs)
  }

  #watchTtl(delayMs: number): void {
    this.#ttl = setTimeout(() => this.#onTtl(), Math.ceil(delayMs)).unref()
  }

  #onTtl(): void {
    this.#ttl = undefined
    if (this.#ttlMs === 0) return
    const leftMs = this.#ttlLeftMs
    if (leftMs > 0) return this.#watchTtl(leftMs)
    this.#whenAllIsRead(() => {
      const left = this.#ttlLeftMs
      if (left > 0) this.#watchTtl(left)
      else this.#actions.giveUp(silenceOf(this.#ttlMs))
    })
  }

  /** This process may have been busy: what came meanwhile is read before anybody is given up. */
  #whenAllIsRead(decide: () => void): void {
    setImmediate(() => {
      if (!this.#isStopped) decide()
    })
  }
}

function silenceOf(ttlMs: number): string {
  return `the peer was silent for the ${ttlMs} ms that it had announced`
}

// Detects dead peers on idle connections: with our own PINGs, and with the time to live that a peer
// announces in its own (docs/protocol.md#zmtp). Only with ZMTP 3.1 peers. Our PINGs announce no
// time to live: a process that is busy or was suspended must not be given up for that.

import type { Socket } from 'node:net'

// When to send a PING, and when to give a peer up: rules about time alone, separate from timers and
// streams. docs/protocol.md#zmtp

/** When to send a PING, and when to give up. In milliseconds. */
export interface PingOptions {
  /** How often the connection is checked, and a PING sent if needed; 0 = never. */
  readonly pingIntervalMs: number
  /** How long a peer may leave PINGs unanswered before it is given up; 0 = for any time. */
  readonly pingTimeoutMs: number
}

/** A snapshot of the outgoing half of a connection. */
interface OutgoingState {
  /** All bytes that the operating system has taken so far. */
  readonly takenBytes: number
  /** Whether it could not take all it was given: its buffers are full. */
  readonly isFull: boolean
}

/**
 * With full buffers, the system takes bytes in large portions, far apart on a slow link; the
 * time-out is multiplied by this factor then.
 */
const FULL_FACTOR = 4

/** Watches one peer; called once per interval. */
export class PeerWatch {
  readonly #options: PingOptions
  #lastLookMs: number
  #aliveMs: number
  #takenBytes = 0
  #wasFull = false
  #isAsked = false

  /** The connection is up since `nowMs`. */
  constructor(options: PingOptions, nowMs: number) {
    this.#options = options
    this.#lastLookMs = nowMs
    this.#aliveMs = nowMs
  }

  /**
   * An interval has passed. `hasHeard`: bytes have arrived since the last one. Returns `giveUp` in
   * each interval until something is heard.
   */
  look(nowMs: number, hasHeard: boolean, outgoing: OutgoingState): 'nothing' | 'ping' | 'giveUp' {
    const { pingIntervalMs, pingTimeoutMs } = this.#options
    const hasSent = outgoing.takenBytes > this.#takenBytes
    // Full buffers drain only when the peer's system acknowledges; others fill without a peer.
    const hasMoved = this.#wasFull && hasSent
    // While this process was suspended it could not hear: the peer gets its full time again.
    const stoodStill = nowMs - this.#lastLookMs > 2 * pingIntervalMs
    this.#lastLookMs = nowMs
    this.#takenBytes = outgoing.takenBytes
    this.#wasFull = outgoing.isFull
    if (hasHeard || hasMoved || stoodStill) {
      this.#aliveMs = nowMs
      this.#isAsked = false
    }
    const patienceMs = pingTimeoutMs * (outgoing.isFull ? FULL_FACTOR : 1)
    const isSilent = nowMs - this.#aliveMs >= patienceMs
    if (pingTimeoutMs > 0 && isSilent && this.#isAsked) return 'giveUp'
    // Silence in either direction could make the peer, or a middlebox, drop the connection.
    if (hasHeard && hasSent) return 'nothing'
    this.#isAsked = true
    return 'ping'
  }
}

/** The connection of a heartbeat, as far as it needs it. */
interface HeartbeatSetup {
  readonly options: PingOptions
  /** Of `pingIntervalMs`, if that is not 0. */
  readonly rounds: Rounds
  readonly socket: Pick<Socket, 'bytesWritten' | 'writableLength'>
  readonly ping: () => void
  readonly giveUp: (reason: string) => void
}

/** Each interval is divided into this many parts. */
const SLOTS = 64

/**
 * Calls each of its members once per interval, spread over it, and never many in one turn of the
 * event loop. Intervals of Node would drift together: after a long turn, those of thousands of
 * connections run in the same turn from then on. Its timer does not keep the process alive.
 */
export class Rounds {
  readonly #stepMs: number
  /** The members by slot. Most sockets have one connection, hence one member. */
  readonly #slots = new Map<number, Set<() => void>>()
  #memberCount = 0
  /** The slot whose time comes next. */
  #next = 0
  /** When its time comes. */
  #dueMs = 0
  #timer: NodeJS.Timeout | undefined

  /** `intervalMs` > 0. */
  constructor(intervalMs: number) {
    this.#stepMs = intervalMs / SLOTS
  }

  /** Calls `member` from now on, first after half an interval at least. */
  add(member: () => void): void {
    if (this.#memberCount === 0) this.#dueMs = performance.now() + this.#stepMs
    this.#memberCount += 1
    const slot = this.#emptiest()
    this.#slots.set(slot, (this.#slots.get(slot) ?? new Set()).add(member))
    this.#arm()
  }

  /** Does not call it again. */
  remove(member: () => void): void {
    for (const members of this.#slots.values()) {
      if (!members.delete(member)) continue
      this.#memberCount -= 1
      return this.#arm()
    }
  }

  /** Of the slots in the second half of the coming interval, the emptiest. */
  #emptiest(): number {
    let best = SLOTS - 1
    for (let steps = SLOTS - 2; steps >= SLOTS / 2; steps -= 1) {
      if (this.#sizeAfter(steps) < this.#sizeAfter(best)) best = steps
    }
    return (this.#next + best) % SLOTS
  }

  #sizeAfter(steps: number): number {
    return this.#slots.get((this.#next + steps) % SLOTS)?.size ?? 0
  }

  /** One slot per call of the timer, also after a long turn. */
  #arm(): void {
    clearTimeout(this.#timer)
    if (this.#memberCount === 0) return
    let steps = 0
    while (this.#sizeAfter(steps) === 0) steps += 1
    const delayMs = this.#dueMs + steps * this.#stepMs - performance.now()
    this.#timer = setTimeout(() => this.#call(steps), Math.ceil(Math.max(1, delayMs))).unref()
  }

  #call(steps: number): void {
    const members = this.#slots.get((this.#next + steps) % SLOTS) ?? []
    this.#next = (this.#next + steps + 1) % SLOTS
    this.#dueMs += (steps + 1) * this.#stepMs
    // After a suspension of this process, what was missed is not made up for.
    this.#dueMs = Math.max(this.#dueMs, performance.now() - SLOTS * this.#stepMs)
    this.#arm()
    for (const member of members) member()
  }
}

/** Watches one connection. Its timers do not keep the process alive. */
export class Heartbeat {
  readonly #setup: HeartbeatSetup
  #look: (() => void) | undefined
  #ttl: NodeJS.Timeout | undefined
  #ttlMs = 0
  #hasHeard = false
  #isStopped = false
  /** Updated only while the peer has announced a time to live. */
  #lastHeardMs = 0

  constructor(setup: HeartbeatSetup) {
    this.#setup = setup
  }

  /** The handshake with a 3.1 peer is done: starts sending PINGs if enabled. */
  start(): void {
    const { options, rounds, socket, ping, giveUp } = this.#setup
    if (options.pingIntervalMs === 0) return
    const watch = new PeerWatch(options, performance.now())
    this.#look = (): void => {
      const unsentBytes = socket.writableLength
      const takenBytes = socket.bytesWritten - unsentBytes
      const outgoing = { takenBytes, isFull: unsentBytes > 0 }
      const next = watch.look(performance.now(), this.#hasHeard, outgoing)
      this.#hasHeard = false
      if (next === 'ping') ping()
      if (next !== 'giveUp') return
      this.#whenAllIsRead(() => {
        if (this.#hasHeard) return
        giveUp(`the peer has not answered for ${options.pingTimeoutMs} ms`)
      })
    }
    rounds.add(this.#look)
  }

  /** Some bytes have arrived. */
  heard(): void {
    this.#hasHeard = true
    if (this.#ttlMs > 0) this.#lastHeardMs = performance.now()
  }

  /** The peer sent a PING and asks to be given up after `ttlMs` of silence (0 = no request). */
  onPing(ttlMs: number): void {
    this.#ttlMs = ttlMs
    if (ttlMs === 0) return
    this.#lastHeardMs = performance.now()
    if (this.#ttl === undefined) this.#watchTtl(ttlMs)
  }

  /** Stops all timers. */
  stop(): void {
    this.#isStopped = true
    if (this.#look !== undefined) this.#setup.rounds.remove(this.#look)
    clearTimeout(this.#ttl)
  }

  /** How much longer the peer may be silent. */
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
      else this.#setup.giveUp(silenceOf(this.#ttlMs))
    })
  }

  /** This process may have been busy: pending input is read before a peer is given up. */
  #whenAllIsRead(decide: () => void): void {
    setImmediate(() => {
      if (!this.#isStopped) decide()
    })
  }
}

function silenceOf(ttlMs: number): string {
  return `the peer was silent for its announced time to live of ${ttlMs} ms`
}

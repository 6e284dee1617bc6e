// How a worker leaves: first it drains, that is, what has begun may end; then it says that it goes,
// and waits until the scheduler knows, which has read by then all that was sent before.

import { earliest, type InstantMs } from '../../base/machine.js'

// Whether the scheduler is still there, as far as a worker can tell: when it was heard of last, and
// when it has been silent for so long that the worker gives up.

/** When its time is over: what has come may not have been read. */
const LAST_CHANCE_MS = 200

/** A scheduler that was not heard of because this process was frozen gets this time to speak. */
const THAW_MS = 5_000

/** Timers are never later than this where the process runs, in milliseconds. */
const MAX_DELAY_MS = 1_000

/** The scheduler's signs of life. */
export class Contact {
  readonly #timeoutMs: number
  #giveUpAt: InstantMs | undefined
  #isLastChance = false

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** When `isLost` is to be asked; undefined before the first `heard`. */
  get giveUpAt(): InstantMs | undefined {
    return this.#giveUpAt
  }

  /** The scheduler lives. */
  heard(now: InstantMs): void {
    this.#giveUpAt = now + this.#timeoutMs
    this.#isLastChance = false
  }

  /** Whether the scheduler is to be given up. */
  isLost(now: InstantMs): boolean {
    if (this.#giveUpAt === undefined || now < this.#giveUpAt) return false
    const isThawed = now > this.#giveUpAt + MAX_DELAY_MS
    if (this.#isLastChance && !isThawed) return true
    this.#isLastChance = true
    this.#giveUpAt = now + Math.min(isThawed ? THAW_MS : LAST_CHANCE_MS, this.#timeoutMs)
    return false
  }
}

/** How long a leaving worker waits for the scheduler to say that it knows, in milliseconds. */
const LEAVE_TIMEOUT_MS = 1_000

/** How long one that drains waits for a lost connection: to come back takes less than a second. */
const RETURN_TIMEOUT_MS = 3_000

/** The same while the results of a drain are on their way: progress is told once a second. */
const DELIVERY_TIMEOUT_MS = 3_000

/** `staying`: it was not told to leave. */
type DeparturePhase = 'staying' | 'draining' | 'leaving'

/** The last part of a worker's life. */
export class Departure {
  #phase: DeparturePhase = 'staying'
  /** When the present phase is over. Invariant: undefined while `staying`. */
  #endAt: InstantMs | undefined
  /** When a lost connection is given up. Invariant: undefined unless `draining`. */
  #returnBy: InstantMs | undefined
  /** Whether it is waited for results that are on their way. */
  #isPatient = false

  get phase(): DeparturePhase {
    return this.#phase
  }

  /** When something is due. */
  get deadline(): InstantMs | undefined {
    return earliest(this.#endAt, this.#returnBy)
  }

  /** The time for what runs begins. */
  drain(now: InstantMs, drainMs: number): void {
    this.#phase = 'draining'
    this.#endAt = now + drainMs
  }

  /** The connection is lost: nobody may be left to drain for. */
  onDisconnected(now: InstantMs): void {
    if (this.#phase === 'draining') this.#returnBy = now + RETURN_TIMEOUT_MS
  }

  /** It is back. */
  onConnected(): void {
    this.#returnBy = undefined
  }

  /** The scheduler is told. After a drain, results may still be on their way. */
  leave(now: InstantMs, isPatient: boolean): void {
    this.#phase = 'leaving'
    this.#returnBy = undefined
    this.#isPatient = isPatient
    this.#endAt = now + (isPatient ? DELIVERY_TIMEOUT_MS : LEAVE_TIMEOUT_MS)
  }

  /** The scheduler lives, and bytes move. */
  onProgress(now: InstantMs): void {
    if (this.#isPatient) this.#endAt = now + DELIVERY_TIMEOUT_MS
  }

  /** Whether the phase has taken too long. */
  isOver(now: InstantMs): boolean {
    const { deadline } = this
    return deadline !== undefined && now >= deadline
  }
}

// When a heartbeat is due, and what its echoes tell: docs/protocol.md#heartbeat.

/** A 1.9.9 field of 32 bits. */
const MAX_LATENCY_US = 2 ** 32 - 1

/**
 * The rhythm of one peer's heartbeats. A scheduler of ours gets one every interval: a large message
 * may be in the way of an echo. Any other gets never two without an echo between them.
 */
export class Heartbeat {
  readonly #intervalMs: number
  #isConnected = false
  /** Whether echoes need not be waited for. */
  #isSteady = false
  /** When those were sent that have no echo yet. Each has one, in order. */
  #sentAt: InstantMs[] = []
  #nextAt: InstantMs = 0
  #latencyUs = 0

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** Half of the last round trip in microseconds; 0 before the first echo. */
  get latencyUs(): number {
    return this.#latencyUs
  }

  /** When the next one is due; undefined while the connection, or an echo it needs, is missing. */
  get dueAt(): InstantMs | undefined {
    const isFree = this.#isSteady || this.#sentAt.length === 0
    return this.#isConnected && isFree ? this.#nextAt : undefined
  }

  /** The first one of a connection is due at once. */
  onConnected(now: InstantMs): void {
    this.#isConnected = true
    this.#sentAt = []
    this.#nextAt = now
  }

  /** Echoes of a lost connection will not come. */
  onDisconnected(): void {
    this.#isConnected = false
    this.#isSteady = false
    this.#sentAt = []
  }

  /** A heartbeat is on its way. */
  onSent(now: InstantMs): void {
    this.#sentAt.push(now)
    this.#nextAt = now + this.#intervalMs
  }

  /** One that nobody waits for says nothing about the latency. */
  onEcho(now: InstantMs, isSteady: boolean): void {
    this.#isSteady = isSteady
    const sentAt = this.#sentAt.shift()
    if (sentAt === undefined) return
    const halfMs = (now - sentAt) / 2
    this.#latencyUs = Math.min(Math.max(Math.trunc(halfMs * 1000), 0), MAX_LATENCY_US)
  }
}

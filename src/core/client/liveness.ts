// When to send heartbeats, and what their echoes tell. Apart from the machine, because the rules
// are about time alone. docs/protocol.md#heartbeat

import type { InstantMs } from '../../base/machine.js'

/**
 * Echoes of a 1.9.9 scheduler that are further apart than this many intervals, and than
 * `MIN_STALE_MS`, mean that one of the two processes stood still. It drops a client that it has not
 * heard of for long without a word; one of ours closes the connection.
 */
const STALE_INTERVALS = 5
const MIN_STALE_MS = 5_000

/**
 * The heartbeats of one client. A scheduler of ours gets one in every interval: its echoes may be
 * stuck behind a long message, and it has to hear that this client lives. Any other one gets none
 * while the echo of the last is outstanding.
 */
export class Heartbeat {
  readonly #intervalMs: number
  /** When those were sent whose echoes have not come, oldest first. */
  #unanswered: InstantMs[] = []
  #nextAt: InstantMs | undefined
  #lastEchoAt: InstantMs | undefined
  /** Whether the scheduler at the other end of this connection is one of ours, as far as known. */
  #isOurs = false
  #latencyUS = 0

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs
  }

  /** Half of the last round trip in whole microseconds; 0 before the first echo. */
  get latencyUS(): number {
    return this.#latencyUS
  }

  /** When to look again; undefined while there is no connection. */
  get deadline(): InstantMs | undefined {
    return this.#nextAt
  }

  /** When the oldest was sent whose echo has not come; undefined if there is none. */
  get unansweredSince(): InstantMs | undefined {
    return this.#unanswered[0]
  }

  /** The next one is due at once, unless an answer is on its way. */
  hasten(now: InstantMs): void {
    if (this.#nextAt !== undefined && this.#unanswered.length === 0) this.#nextAt = now
  }

  /** A new connection: what was sent over the last one does not count. */
  start(now: InstantMs): void {
    this.stop()
    this.#lastEchoAt = undefined
    this.#isOurs = false
    this.#nextAt = now
  }

  /** There is no connection. */
  stop(): void {
    this.#unanswered = []
    this.#nextAt = undefined
  }

  /** Whether a heartbeat has to be sent now. It counts as sent. */
  poll(now: InstantMs): boolean {
    if (this.#nextAt === undefined || now < this.#nextAt) return false
    this.#nextAt = now + this.#intervalMs
    if (!this.#isOurs && this.#unanswered.length > 0) return false
    this.#unanswered.push(now)
    return true
  }

  /**
   * An echo came. Returns how long after the one before, if that is so long that the scheduler may
   * have forgotten this client (then another heartbeat is due at once), else 0.
   */
  echoed(now: InstantMs, isOurs: boolean): number {
    const sentAt = this.#unanswered.shift()
    if (sentAt === undefined) return 0
    this.#latencyUS = Math.floor(((now - sentAt) * 1000) / 2)
    this.#isOurs = isOurs
    const last = this.#lastEchoAt
    this.#lastEchoAt = now
    const staleMs = Math.max(STALE_INTERVALS * this.#intervalMs, MIN_STALE_MS)
    if (isOurs || last === undefined || now - last <= staleMs) return 0
    this.#nextAt = now
    return now - last
  }
}

// How long the scheduler has said nothing. Apart from the machine, because of one trap: while this
// process itself stood still, whatever came in the meantime has not been read yet.

/** A tick that comes this much too late shows that the process stood still. */
const MAX_LATENESS_MS = 1_000
/** What came meanwhile has to be read after that, or the connection to be made again. */
const REPRIEVE_MS = 5_000
/** Before the scheduler is given up, what has come and was not read yet gets so much time. */
const LAST_LOOK_MS = 250

/**
 * The time since anything was heard from the scheduler, or since there is something to wait for.
 */
export class Silence {
  readonly #timeoutMs: number
  #since: InstantMs = 0
  /** The time was over once: what comes until the deadline still counts. */
  #isLastLook = false

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** When anything was heard last, or since when there is something to wait for. */
  get since(): InstantMs {
    return this.#since
  }

  /** When the silence has lasted too long. */
  get deadline(): InstantMs {
    return this.#since + this.#timeoutMs
  }

  /** Something came from the scheduler. */
  heard(now: InstantMs): void {
    this.#since = now
    this.#isLastLook = false
  }

  /** There was nothing to wait for, and now there is. */
  start(now: InstantMs): void {
    this.#since = now
    this.#isLastLook = false
  }

  /** When `isTooLong` must be asked: some time before the deadline, and then. */
  get nextLook(): InstantMs {
    return this.#isLastLook ? this.deadline : this.deadline - this.#lastLookMs
  }

  /**
   * Whether the silence has lasted too long. A thread that user code keeps busy can meet its
   * deadline before it reads what has come long ago: so never when it is asked for the first time.
   */
  isTooLong(now: InstantMs): boolean {
    if (now < this.nextLook) return false
    if (this.#isLastLook) return true
    this.#isLastLook = true
    // Whoever comes too late has been kept from it, and its connection may be lost by now.
    const leftMs = now > this.deadline ? Math.min(REPRIEVE_MS, this.#timeoutMs) : this.#lastLookMs
    this.#since = Math.max(this.#since, now - this.#timeoutMs + leftMs)
    return false
  }

  get #lastLookMs(): number {
    return Math.min(LAST_LOOK_MS, this.#timeoutMs / 4)
  }

  /** Time passed; a tick was due at `due`. Time in which nobody could listen does not count. */
  tick(now: InstantMs, due: InstantMs): void {
    const latenessMs = now - due
    if (latenessMs <= MAX_LATENESS_MS) return
    const least = now - this.#timeoutMs + REPRIEVE_MS
    this.#since = Math.min(now, Math.max(this.#since + latenessMs, least))
  }
}

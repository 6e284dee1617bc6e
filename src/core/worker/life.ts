// How a worker leaves, and when a whole agent does. First a worker drains, that is, running tasks
// may finish. Then it sends DisconnectRequest and waits for the acknowledgement, which shows that
// the scheduler has read everything sent before.

import type { Alarm, InstantMs, Timing } from '../../base/machine.js'

/** How long a leaving worker waits for the acknowledgement, in milliseconds. */
const LEAVE_TIMEOUT_MS = 1_000

/** How long a draining worker waits for a lost connection: reconnecting takes under a second. */
const RETURN_TIMEOUT_MS = 3_000

/** The same while the results of a drain are being sent: progress is reported once a second. */
const DELIVERY_TIMEOUT_MS = 3_000

/** `staying`: it has not been asked to leave. */
type DeparturePhase = 'staying' | 'draining' | 'leaving'

/** The last phases of a worker's life. */
export class Departure {
  readonly #turn: Timing
  /** When the current phase times out. Invariant: not set while `staying`. */
  readonly #alarm: Alarm
  #phase: DeparturePhase = 'staying'
  /** When draining times out while there is a connection. */
  #drainEndAt: InstantMs = Infinity
  #drainMs = 0
  /** Whether results may still be on their way. */
  #isPatient = false

  constructor(turn: Timing) {
    this.#turn = turn
    // It only has to cause a tick, at which the machine asks whether the phase is overdue.
    this.#alarm = turn.alarm(() => {})
  }

  get phase(): DeparturePhase {
    return this.#phase
  }

  /** Whether the current phase has timed out. */
  get isOverdue(): boolean {
    return this.#phase !== 'staying' && !this.#alarm.isSet
  }

  /** How long running tasks get to finish; 0 while `staying`. */
  get drainMs(): number {
    return this.#drainMs
  }

  /** Running tasks get this time, from now, to finish. It may be changed while they do. */
  drain(drainMs: number): void {
    this.#phase = 'draining'
    this.#drainMs = drainMs
    this.#drainEndAt = this.#turn.now + drainMs
    this.#alarm.set(this.#drainEndAt)
  }

  /** The connection was lost: there may be no scheduler left to drain for. */
  onDisconnected(): void {
    if (this.#phase !== 'draining') return
    this.#alarm.set(Math.min(this.#drainEndAt, this.#turn.now + RETURN_TIMEOUT_MS))
  }

  /** There is a connection again. */
  onConnected(): void {
    if (this.#phase === 'draining') this.#alarm.set(this.#drainEndAt)
  }

  /**
   * The scheduler is being notified. After a drain, results may still be on their way. No other
   * part of the worker has anything left to do.
   */
  leave(isPatient: boolean): void {
    this.#phase = 'leaving'
    this.#isPatient = isPatient
    this.#turn.ringOnly(this.#alarm)
    this.#alarm.set(this.#turn.now + (isPatient ? DELIVERY_TIMEOUT_MS : LEAVE_TIMEOUT_MS))
  }

  /** The scheduler is alive, and bytes are moving. */
  onProgress(): void {
    if (this.#isPatient) this.#alarm.set(this.#turn.now + DELIVERY_TIMEOUT_MS)
  }
}

/**
 * How long a worker waits for the gateway through which it passes tasks on, in milliseconds.
 * Afterwards its tasks go to other workers.
 */
const OUTAGE_MS = 10_000

/** The time without a gateway, after there was one. */
export class Outage {
  readonly #turn: Timing
  readonly #alarm: Alarm
  #isLong = false

  /** `onLong` is called once in each outage. */
  constructor(turn: Timing, onLong: () => void) {
    this.#turn = turn
    this.#alarm = turn.alarm(() => {
      this.#isLong = true
      onLong()
    })
  }

  /** Whether the tasks were given to others. */
  get isLong(): boolean {
    return this.#isLong
  }

  /** The gateway has ended. May be called again before the next one is ready. */
  begin(): void {
    if (!this.#isLong) this.#alarm.setBy(this.#turn.now + OUTAGE_MS)
  }

  /** There is a gateway. */
  end(): void {
    this.#isLong = false
    this.#alarm.clear()
  }
}

/** How a worker leaves. */
export interface Leaving {
  /** Whether results may still be on their way. */
  readonly isPatient?: boolean
  /** Whether results and output are no longer awaited. */
  readonly isUrgent?: boolean
}

// When an agent ends on its own: after a time without tasks, or in time before its time limit. Both
// concern all of its workers together, because only the whole agent frees a machine or a job.

/** What limits the life of an agent. */
export interface AgentLimits {
  /** All of its workers have been idle for this long; 0 = no limit. */
  readonly idleTimeoutMs: number
  /** When it started. */
  readonly startedAt: InstantMs
  /** When it must have ended; Infinity = never. */
  readonly endsAt: InstantMs
  /** How long running tasks get to finish. */
  readonly drainMs: number
}

/** What follows from the limits: it ends now, for this reason, or they are looked at again. */
type AgentVerdict = { readonly endsBecause: string } | { readonly nextLookAt: InstantMs }

/**
 * Whether an agent ends now. `idleSince`: since when each worker has had no task; undefined for one
 * that has a task, or no scheduler. `nextLookAt` is Infinity if nothing limits its life.
 */
export function agentVerdict(
  limits: AgentLimits,
  idleSince: readonly (InstantMs | undefined)[],
  now: InstantMs,
): AgentVerdict {
  const drainAt = drainsAt(limits)
  if (now >= drainAt) return { endsBecause: 'the time limit is near' }
  const { idleTimeoutMs } = limits
  if (idleTimeoutMs === 0) return { nextLookAt: drainAt }
  // A worker that is busy now may become idle immediately: not earlier than this.
  const idleAt =
    Math.max(limits.startedAt, ...idleSince.map((since) => since ?? now)) + idleTimeoutMs
  const isIdle = idleSince.length > 0 && !idleSince.includes(undefined)
  if (isIdle && now >= idleAt) return { endsBecause: `no task for ${idleTimeoutMs / 1_000} s` }
  return { nextLookAt: Math.min(drainAt, Math.max(idleAt, now + 1)) }
}

/** Running tasks get `drainMs`, but the agent works for at least half of its life. */
function drainsAt({ startedAt, endsAt, drainMs }: AgentLimits): InstantMs {
  return endsAt - Math.min(drainMs, Math.max(0, (endsAt - startedAt) / 2))
}

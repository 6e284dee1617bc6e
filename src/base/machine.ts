// The interface of all code that makes decisions. A machine receives facts and the time, and
// answers with actions; it has no side effects, so that a test, the simulator and a shell can drive
// the same code.

// Deadlines.

/** The earlier of two instants; undefined means never. */
export function earliest(
  a: InstantMs | undefined,
  b: InstantMs | undefined,
): InstantMs | undefined {
  if (a === undefined) return b
  return b === undefined ? a : Math.min(a, b)
}

/** A point in time in milliseconds, from a monotonic clock. Not a date. */
export type InstantMs = number

/** A state machine: in this project, every decision is made by one. */
export interface Machine<Event, Action> {
  /**
   * Applies one event. Never blocks, never reads a clock, never throws because of a peer's message.
   */
  handle(event: Event, now: InstantMs, act: (action: Action) => void): void
  /** When a `tick` must be handled next, or undefined while there is nothing to wait for. */
  readonly deadline: InstantMs | undefined
  /** Throws if the tables disagree. For tests and simulation. */
  checkInvariants(): void
}

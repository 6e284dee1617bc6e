// The one shape in which this project makes decisions. A machine is told facts and the time, and
// answers with actions; it never touches the world, so that a test, the simulator and a shell can
// drive the same code.

// What is due first.

/** The earlier of two instants; undefined stands for never. */
export function earliest(
  a: InstantMs | undefined,
  b: InstantMs | undefined,
): InstantMs | undefined {
  if (a === undefined) return b
  return b === undefined ? a : Math.min(a, b)
}

/** A point in time in milliseconds, from any clock that never goes back. Not a date. */
export type InstantMs = number

/** A state machine: the only shape in which this project makes decisions. */
export interface Machine<Event, Action> {
  /**
   * Applies one event. Never waits, never reads a clock, never throws because of what a peer sent.
   */
  handle(event: Event, now: InstantMs, act: (action: Action) => void): void
  /** When a `tick` must be handled next, or undefined while there is nothing to wait for. */
  readonly deadline: InstantMs | undefined
  /** Throws if the tables disagree. For tests and simulation. */
  checkInvariants(): void
}

// How far the clock of another machine is from that of this one, by one question and its answer.

/** A difference of clocks. */
export interface ClockDifference {
  /** How far the other clock is ahead of that of this machine, in milliseconds. */
  readonly aheadMs: number
  /**
   * Known up to this, in milliseconds: half of the way there and back, and what clocks of whole
   * milliseconds leave out.
   */
  readonly errorMs: number
}

/**
 * The other clock showed `theirs` when this one showed `ours` (milliseconds since 1970), half way
 * between a question and its answer that were `roundTripMs` apart.
 */
export function clockDifference(
  theirs: number,
  ours: number,
  roundTripMs: number,
): ClockDifference {
  return { aheadMs: round(theirs - ours), errorMs: round(roundTripMs / 2 + 1) }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}

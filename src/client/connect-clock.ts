// How far the clock of another machine is from that of this one, by one question and its answer,
// and what is said of that.

import { counted } from '../base/counted.js'

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

/** Clocks that are set by the network differ by less; above this logs and certificates mislead. */
const FAR_OFF_MS = 5_000

/** Whether the clocks differ by so much that somebody should set them. */
export function isFarOff({ aheadMs, errorMs }: ClockDifference): boolean {
  return Math.abs(aheadMs) - errorMs > FAR_OFF_MS
}

/** `is 3 days ahead of that here (± 1.5 ms)`. */
export function clockText({ aheadMs, errorMs }: ClockDifference): string {
  const difference = Math.abs(aheadMs)
  const side = aheadMs < 0 ? 'behind' : 'ahead of'
  const what =
    difference <= errorMs ? 'agrees with that here' : `is ${spanText(difference)} ${side} that here`
  return `${what} (± ${errorMs} ms)`
}

const SPANS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const

/** In the largest unit of which there are two: more precise nobody needs it. */
function spanText(ms: number): string {
  const [unitMs, unit] = SPANS.find(([each]) => ms >= 2 * each) ?? [1, undefined]
  if (unit === undefined || ms < 10_000) return `${ms} ms`
  return counted(Math.round(ms / unitMs), unit)
}

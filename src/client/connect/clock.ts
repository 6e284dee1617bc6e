// The difference between the clock of another machine and that of this one, measured by a question
// and its answer.

import { counted } from '../../base/text.js'

/** A difference of clocks. */
export interface ClockDifference {
  /** How far the other clock is ahead of that of this machine, in milliseconds. */
  readonly aheadMs: number
  /**
   * The measurement error at most, in milliseconds: half of the round trip, and the resolution of
   * the clocks.
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
  return { aheadMs: tenths(theirs - ours), errorMs: tenths(roundTripMs / 2 + 1) }
}

/** Rounds to tenths. */
export function tenths(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** Synchronized clocks differ by less. Above this, times in logs and certificates mislead. */
const FAR_OFF_MS = 5_000

/** Whether the clocks should be set. */
export function isFarOff({ aheadMs, errorMs }: ClockDifference): boolean {
  return Math.abs(aheadMs) - errorMs > FAR_OFF_MS
}

/** `is 3 days ahead of the local clock (± 1.5 ms)`. */
export function clockText({ aheadMs, errorMs }: ClockDifference): string {
  const difference = Math.abs(aheadMs)
  const side = aheadMs < 0 ? 'behind' : 'ahead of'
  const what =
    difference <= errorMs
      ? 'agrees with the local clock'
      : `is ${spanText(difference)} ${side} the local clock`
  return `${what} (± ${errorMs} ms)`
}

const SPANS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const

/** In the largest unit of which there are two, which is precise enough. */
function spanText(ms: number): string {
  const [unitMs, unit] = SPANS.find(([each]) => ms >= 2 * each) ?? [1, undefined]
  if (unit === undefined || ms < 10_000) return `${ms} ms`
  return counted(Math.round(ms / unitMs), unit)
}

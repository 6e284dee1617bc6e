// What is due first.

import type { InstantMs } from './machine.js'

/** The earlier of two instants; undefined stands for never. */
export function earliest(
  a: InstantMs | undefined,
  b: InstantMs | undefined,
): InstantMs | undefined {
  if (a === undefined) return b
  return b === undefined ? a : Math.min(a, b)
}

// The median, for the programs of `npm run measure`.

/** The middle one of some numbers; of two in the middle, their mean. */
export function medianOf(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

// The nearest of the names that exist to one that does not: most unknown names are slips.

/** So many changes make another word, for a name of this length. */
const distanceLimit = (name: string): number => Math.max(1, Math.floor(name.length / 3))

/** `; is it loadBalanceMs?`, for the end of an error; nothing if no name is near. */
export function hintAt(name: string, known: readonly string[]): string {
  const near = nearestName(name, known)
  return near === undefined ? '' : `; is it ${near}?`
}

/**
 * The one of `known` that `name` was most likely meant to be: the same but for case, dashes and
 * underscores, else the one that is the fewest changes of a character away, else one that begins
 * so or that `name` begins with. Undefined if none is near. The first of equals.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const plain = plainName(name)
  if (plain === '') return undefined
  const same = known.find((other) => plainName(other) === plain)
  if (same !== undefined) return same
  const near = nearestByChanges(plain, known)
  if (near !== undefined) return near
  return known.find((other) => {
    const text = plainName(other)
    return text.startsWith(plain) || plain.startsWith(text)
  })
}

function nearestByChanges(plain: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = distanceLimit(plain) + 1
  for (const other of known) {
    const changes = changesBetween(plain, plainName(other), least)
    if (changes < least) [best, least] = [other, changes]
  }
  return best
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/**
 * How many characters must be inserted, left out, replaced or swapped with their neighbour to make
 * `b` of `a`; `limit` if it is not less.
 */
function changesBetween(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit) return limit
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const next = [row]
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      let least = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      )
      const isSwap = column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (isSwap && row > 1) least = Math.min(least, (before[column - 2] ?? 0) + 1)
      next.push(least)
    }
    before = last
    last = next
  }
  return Math.min(limit, last[b.length] ?? limit)
}

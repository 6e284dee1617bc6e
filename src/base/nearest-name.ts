// Finds the existing name closest to an unknown one: most unknown names are typing errors.

/** The most edits between a typing error and the name meant, for a name of this length. */
const distanceLimit = (name: string): number => Math.max(1, Math.floor(name.length / 3))

/**
 * The minimum length for a typing error in one word of a name: `--tiemout` of `--timeout-seconds`.
 */
const MIN_WORD_LENGTH = 5

const WORD_END = /[^-_](?=[-_])|[a-z\d](?=[A-Z])/g

/** If more names than this share a word, they are not suggested. */
const MAX_SHARERS = 4

/**
 * `; is it loadBalanceMs?`, for the end of an error, or, if only one word of some names is close,
 * `; there are clientTimeoutMs, workerTimeoutMs`. Empty if no name is close.
 */
export function hintAt(name: string, known: readonly string[]): string {
  const near = nearestName(name, known)
  if (near !== undefined) return `; is it ${near}?`
  const sharers = namesWithWord(plainName(name), known)
  if (sharers.length === 1) return `; is it ${sharers[0]}?`
  const isFew = sharers.length > 0 && sharers.length <= MAX_SHARERS
  return isFew ? `; there are ${sharers.join(', ')}` : ''
}

/**
 * The one of `known` that `name` was most likely meant to be: the same except for case, dashes and
 * underscores; otherwise the one with the fewest edits; otherwise the one whose first words match;
 * otherwise one of which `name` is a beginning, or that is a beginning of `name`. Undefined if none
 * is close. The first of equals.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const plain = plainName(name)
  if (plain === '') return undefined
  const same = known.find((other) => plainName(other) === plain)
  if (same !== undefined) return same
  const near = nearestByChanges(plain, known, (other) => [plainName(other)])
  if (near !== undefined) return near
  const isWord = plain.length >= MIN_WORD_LENGTH
  const begun = isWord ? nearestByChanges(plain, known, beginningsOf) : undefined
  if (begun !== undefined) return begun
  return known.find((other) => {
    const text = plainName(other)
    return text.startsWith(plain) || plain.startsWith(text)
  })
}

function nearestByChanges(
  plain: string,
  known: readonly string[],
  formsOf: (name: string) => readonly string[],
): string | undefined {
  let best: string | undefined
  let least = distanceLimit(plain) + 1
  for (const other of known) {
    for (const form of formsOf(other)) {
      const changes = changesBetween(plain, form, least)
      if (changes < least) [best, least] = [other, changes]
    }
  }
  return best
}

/** `worker`, `workertimeout` of `worker-timeout-seconds` or `workerTimeoutMs`: whole words. */
function beginningsOf(name: string): readonly string[] {
  const ends = [...name.matchAll(WORD_END)].map(({ index }) => index + 1)
  return ends.map((end) => plainName(name.slice(0, end)))
}

function namesWithWord(plain: string, known: readonly string[]): readonly string[] {
  if (plain.length < MIN_WORD_LENGTH) return []
  const limit = distanceLimit(plain)
  return known.filter((other) => {
    const words = other.replaceAll(WORD_END, '$& ').split(/[-_ ]+/)
    return words.some((word) => changesBetween(plain, plainName(word), limit + 1) <= limit)
  })
}

function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, '')
}

/**
 * The edit distance from `a` to `b`: inserted, deleted, replaced or transposed characters; `limit`
 * if it is not less.
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

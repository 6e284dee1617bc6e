// Copies that are kept for long and follow values that come often, as the last heartbeat of each of
// thousands of workers. Kept in place of the copy, each new value would survive until the garbage
// collector has moved it twice; a copy that is brought up to date costs it nothing.

type Fields = Record<string, unknown>

/** A copy of plain data. Views of bytes are shared. */
export function ownCopy<T>(value: T): T {
  if (!isPlain(value)) return value
  if (Array.isArray(value)) return value.map(ownCopy) as T
  const copy: Fields = {}
  for (const key of Object.keys(value)) copy[key] = ownCopy(value[key])
  return copy as T
}

/** Makes a copy of `ownCopy` equal to `value`, and keeps those of its parts that need no change. */
export function bringUpToDate<T extends object>(copy: T, value: T): void {
  update(copy as Fields, value as Fields)
}

function update(copy: Fields, value: Fields): void {
  for (const key of Object.keys(value)) {
    const [old, now] = [copy[key], value[key]]
    if (isPlain(old) && isPlain(now) && isAlike(old, now)) update(old, now)
    else if (old !== now) copy[key] = ownCopy(now)
  }
}

/** Whether one can be made into the other: lists of the same length, or two objects. */
function isAlike(old: Fields, now: Fields): boolean {
  if (Array.isArray(old) || Array.isArray(now)) {
    return Array.isArray(old) && Array.isArray(now) && old.length === now.length
  }
  return true
}

function isPlain(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)
}

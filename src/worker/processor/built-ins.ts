// A task may replace methods of built-in objects, for all later tasks of its process and for the
// process itself: without a working Map or Array it would lose functions, arguments and results.

const map = new Map<number, number>()
const set = new Set<number>()
const list: number[] = []
const pattern = /^(a)$/
const same = (value: number): number => value

/** An object that this process needs and of which a method does not work; undefined: all work. */
export function findBrokenBuiltIn(): string | undefined {
  map.clear()
  map.set(1, 2)
  if (map.get(1) !== 2 || !map.has(1) || !map.delete(1) || map.has(1)) return 'Map'
  set.clear()
  set.add(1)
  if (!set.has(1) || !set.delete(1) || set.has(1)) return 'Set'
  if (list.push(1) !== 1 || list.length !== 1 || list.pop() !== 1) return 'Array'
  if (same.call(undefined, 1) !== 1 || same.apply(undefined, [1]) !== 1) return 'Function'
  if (Math.max(1, 2) !== 2 || Math.min(1, 2) !== 1) return 'Math'
  if (pattern.exec('a')?.[1] !== 'a' || pattern.test('b')) return 'RegExp'
  return undefined
}

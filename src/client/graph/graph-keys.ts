// What `get` is given and gives: whether it is a graph and a list of keys, and records of any keys.

/** Throws `TypeError` for what is no record of nodes. */
export function checkGraph(graph: unknown): asserts graph is Readonly<Record<string, unknown>> {
  const isRecord = typeof graph === 'object' && graph !== null && !(Symbol.iterator in graph)
  if (!isRecord) throw wrong('an object of nodes', graph)
}

/** The keys, each once. Throws `TypeError` for what is no array of strings. */
export function checkKeys(keys: unknown): readonly string[] {
  if (!Array.isArray(keys)) throw wrong('an array of keys', keys)
  for (const key of keys as readonly unknown[]) {
    if (typeof key !== 'string') throw wrong('strings as keys', key)
  }
  return [...new Set(keys as readonly string[])]
}

/** An object with these entries as its own properties, whatever their keys are. */
export function toRecord<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  const record: Record<string, T> = {}
  for (const [key, value] of entries) {
    if (key === '__proto__') {
      const attributes = { value, enumerable: true, configurable: true, writable: true }
      Object.defineProperty(record, key, attributes)
    } else {
      record[key] = value
    }
  }
  return record
}

function wrong(expected: string, given: unknown): TypeError {
  return new TypeError(`get: expected ${expected}, got ${titleOf(given)}`)
}

function titleOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return typeof value === 'function' ? 'a function' : typeof value
  const [, name = 'object'] = /^\[object (.*)\]$/.exec(Object.prototype.toString.call(value)) ?? []
  return name === 'Object' ? 'an object' : `an object (${name})`
}

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DeserializeError } from '../base/errors.js'
import { defaultSerializer } from './default-serializer.js'
import { deserializeError, serializeError } from './error-codec.js'

/** Reads bytes that may mean anything: a value or a `DeserializeError`, never something else. */
function read(bytes: Uint8Array): void {
  try {
    defaultSerializer.deserialize(bytes)
  } catch (error) {
    assert.ok(error instanceof DeserializeError, String(error))
  }
}

const shared = new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8])
const cyclic: Record<string, unknown> = { a: 1 }
cyclic['self'] = cyclic

/** One of everything, without functions: a mutated one is other code, and evaluating it may do anything. */
const SEEDS: readonly Uint8Array[] = [
  undefined,
  true,
  5,
  1.5,
  'text',
  '✓✓',
  shared,
  shared.buffer,
  Buffer.from('abc'),
  10n ** 30n,
  cyclic,
  [1.5, 2.5, 3.5, 4.5],
  Object.assign([1], { 9: 1, name: 'x' }),
  { shared: [shared, shared.buffer, new DataView(shared.buffer, 1), Buffer.from('abc')] },
  { map: new Map([[{ k: 1 }, new Set([1, 'a'])]]), date: new Date(0), regexp: /a(b)c/giu },
  { boxed: [Object(1), Object('a')], url: new URL('https://a.example/b'), sqrt: Math.sqrt },
  { error: new AggregateError([new TypeError('x', { cause: { a: 1 } })], 'y') },
  [new DOMException('a', 'AbortError'), { keys: 1, more: 2, again: { keys: 3, more: 4 } }],
].map((value) => defaultSerializer.serialize(value))

test('any bytes give a value or a DeserializeError', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      fc.integer({ min: 1, max: 0x0d }),
      (bytes, tag) => {
        read(bytes)
        if (tag !== 0x0c) read(Uint8Array.of(tag, ...bytes))
      },
    ),
    { numRuns: 3000 },
  )
})

test('every cut of every kind of value gives a value or a DeserializeError', () => {
  for (const seed of SEEDS) {
    for (let length = 0; length < seed.byteLength; length += 1) read(seed.slice(0, length))
  }
})

test('a graph that is cut or has bytes left is always refused', () => {
  const graph = defaultSerializer.serialize({ a: [1, 'b', { c: new Map([[1, 2]]) }], d: shared })
  for (let length = 0; length < graph.byteLength; length += 1) {
    const cut = graph.slice(0, length)
    assert.throws(() => defaultSerializer.deserialize(cut), DeserializeError)
  }
  assert.throws(
    () => defaultSerializer.deserialize(Buffer.concat([graph, graph])),
    DeserializeError,
  )
})

test('every changed byte of every kind of value gives a value or a DeserializeError', () => {
  for (const seed of SEEDS) {
    for (let place = 0; place < seed.byteLength; place += 1) {
      for (const change of [1, 0x80, 0xff, (place * 37) & 0xff]) {
        const changed = Uint8Array.from(seed)
        changed[place] = (changed[place] ?? 0) ^ change
        read(changed)
      }
    }
  }
})

test('several changes at once give a value or a DeserializeError', () => {
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(fc.nat(SEEDS.length - 1), changes, (index, places) => {
      const changed = Uint8Array.from(SEEDS[index] ?? [])
      for (const [place, byte] of places) changed[place % changed.byteLength] = byte
      read(changed)
    }),
    { numRuns: 5000 },
  )
})

test('a short message cannot claim much memory', () => {
  const huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]
  const claims = [
    [0x0d, 0, 0, 0x07, ...huge],
    [0x0d, 0, 0, 0x11, ...huge],
    [0x0d, 0, 0, 0x27, ...huge],
    [0x0d, 0, 0, 0x13, ...huge],
    [0x0d, ...huge],
    [0x0d, 1, ...huge, 0, 1, 0, 0],
  ]
  for (const claim of claims) {
    assert.throws(() => defaultSerializer.deserialize(Uint8Array.from(claim)), DeserializeError)
  }
})

test('a Python pickle is called one', () => {
  const pickle = Uint8Array.of(0x80, 5, 0x4b, 0x10, 0x2e)
  assert.throws(() => defaultSerializer.deserialize(pickle), /DeserializeError: .*Python pickle/)
})

test('a function whose text is no function is refused', () => {
  for (const text of ['1 +', 'nowhere.at.all', '42', '(() => { throw new Error("x") })()']) {
    const bytes = [0x0c, 2, 0, text.length * 2, ...Buffer.from(text)]
    assert.throws(() => defaultSerializer.deserialize(Uint8Array.from(bytes)), DeserializeError)
  }
})

test('deserializeError returns something for any bytes', () => {
  const seed = serializeError(new TypeError('x', { cause: [1] }))
  for (let place = 0; place < seed.byteLength; place += 1) {
    const changed = Uint8Array.from(seed)
    changed[place] = (changed[place] ?? 0) ^ 0xff
    deserializeError(changed)
    deserializeError(seed.slice(0, place))
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sized } from '../base/short-run.kit.js'
import { DeserializeError } from '../base/errors.js'
import { show } from '../base/option.js'
import { defaultSerializer } from './serializer.js'
import { deserializeError, serializeError } from './error-codec.js'
import * as tag from './bytes/tag.js'
import { TwoSides, type Side } from './two-sides.kit.js'

/** Reads arbitrary bytes: the result is a value or a `DeserializeError`, never anything else. */
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

/** One of every kind. */
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
  {
    boxed: [Object(1), Object('a'), Object(Symbol.iterator)],
    url: new URL('https://a.example/b'),
    sqrt: Math.sqrt,
  },
  { error: new AggregateError([new TypeError('x', { cause: { a: 1 } })], 'y') },
  [new DOMException('a', 'AbortError'), { keys: 1, more: 2, again: { keys: 3, more: 4 } }],
  [Symbol('own'), Object.freeze({ [Symbol.toStringTag]: 'x' }), Object.create({ inherited: 1 })],
  [Object.assign(new Date(0), { note: 1 }), Object.assign(Object.create(null) as object, { a: 1 })],
  Object.defineProperty({ a: 1 }, 'hidden', { value: 2 }),
].map((value) => defaultSerializer.serialize(value))

test('any bytes give a value or a DeserializeError', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 64 }),
      fc.integer({ min: 1, max: 0x0f }),
      (bytes, tag) => {
        read(bytes)
        read(Uint8Array.of(tag, ...bytes))
      },
    ),
    { numRuns: sized(3_000, 500) },
  )
})

test('every truncation of every kind of value gives a value or a DeserializeError', () => {
  for (const seed of SEEDS) {
    for (let length = 0; length < seed.byteLength; length += 1) read(seed.slice(0, length))
  }
})

test('a graph that is truncated or has extra bytes is always refused', () => {
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
    { numRuns: sized(5_000, 800) },
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

test('a Python pickle is recognized', () => {
  const pickle = Uint8Array.of(0x80, 5, 0x4b, 0x10, 0x2e)
  assert.throws(() => defaultSerializer.deserialize(pickle), /DeserializeError: .*Python pickle/)
  for (const value of [null, new ArrayBuffer(1), 'text']) {
    const message = `expected bytes in a Uint8Array, got ${show(value)}`
    const name = 'DeserializeError'
    assert.throws(() => defaultSerializer.deserialize(value as never), { name, message })
  }
})

test('an error that is a Python pickle: who probably ran the task, and what to do', () => {
  const error = deserializeError(Uint8Array.of(0x80, 5, 0x4b, 0x10, 0x2e))
  assert.ok(error instanceof DeserializeError)
  assert.match(error.message, /^the task failed, .* a Python worker has probably run the task, /)
  assert.match(
    error.message,
    /: connect only JavaScript workers to it, or use the scheduler of this package$/,
  )
  assert.match(String(error.cause), /only Python can read them/)
})

test('deserializeError returns a value for any bytes', () => {
  const seed = serializeError(new TypeError('x', { cause: [1] }))
  for (let place = 0; place < seed.byteLength; place += 1) {
    const changed = Uint8Array.from(seed)
    changed[place] = (changed[place] ?? 0) ^ 0xff
    deserializeError(changed)
    deserializeError(seed.slice(0, place))
  }
})

const rate = 2
let count = 0
class Base {
  static level = [1]
  x = rate
}
class Derived extends Base {
  ['computed'](): number {
    return this.#hidden + (count += 1)
  }
  readonly #hidden = 1
}
class Registered extends Base {}
class Replaced extends Base {
  readonly #own = 1
  use(): number {
    return this.#own
  }
  get [Symbol.toStringTag](): string {
    return `${this.#own} of ${super.propertyIsEnumerable('x')}`
  }
}
// oxlint-disable-next-line typescript/unbound-method -- it is replaced by what calls it
const { use } = Replaced.prototype
Replaced.prototype.use = function () {
  return Reflect.apply(use, this, [])
}
Object.defineProperty(Replaced.prototype, Symbol.toStringTag, {
  ...Object.getOwnPropertyDescriptor(Replaced.prototype, Symbol.toStringTag),
  set: () => {},
})
const list = [1, 2]
const task = Object.assign((n: number) => [rate, list, count, new Derived(), n], { note: 'x' })

/** Messages with code. A changed one contains other code, but too little to do anything. */
function shipments(): Uint8Array[] {
  const { here } = new TwoSides()
  here.codecs.register(Registered, { serialize: () => list, deserialize: () => new Registered() })
  const bound = task.bind({ self: 1 }, 2)
  const values = [
    task,
    [new Base(), new Base()],
    Derived,
    {
      bound,
      get a() {
        return rate
      },
    },
    new Registered(),
    Replaced,
    { use },
  ]
  return values.map((value) => here.serializer.serialize(value))
}

test('every truncation of a message with code is refused', () => {
  const { there } = new TwoSides()
  for (const bytes of shipments()) {
    for (let length = 0; length < bytes.byteLength; length += 1) {
      assert.throws(() => there.serializer.deserialize(bytes.slice(0, length)), DeserializeError)
    }
    assert.doesNotThrow(() => there.serializer.deserialize(bytes))
  }
})

test('every changed byte of a message with code gives a value or a DeserializeError', () => {
  for (const bytes of shipments()) {
    const { there } = new TwoSides()
    for (let place = 0; place < bytes.byteLength; place += 1) {
      for (const change of [1, 0x80, (place * 37) & 0xff]) {
        const changed = Uint8Array.from(bytes)
        changed[place] = (changed[place] ?? 0) ^ change
        readBy(there, changed)
      }
    }
    assert.doesNotThrow(() => there.serializer.deserialize(bytes))
  }
})

test('several changes of messages with code give a value or a DeserializeError', () => {
  const seeds = shipments()
  const { there } = new TwoSides()
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 6 })
  fc.assert(
    fc.property(fc.nat(seeds.length - 1), changes, (index, places) => {
      const changed = Uint8Array.from(seeds[index] ?? [])
      for (const [place, byte] of places) changed[place % changed.byteLength] = byte
      readBy(there, changed)
    }),
    { numRuns: sized(1_000, 200) },
  )
  // By another reader: a class that was changed keeps its first identification.
  const other = new TwoSides().there
  for (const bytes of seeds) assert.doesNotThrow(() => other.serializer.deserialize(bytes))
})

function readBy({ serializer }: Side, bytes: Uint8Array): void {
  try {
    serializer.deserialize(bytes)
  } catch (error) {
    assert.ok(error instanceof DeserializeError, String(error))
  }
}

/** A graph of these bytes; texts are short, with one byte per unit. */
function graph(...parts: readonly (number | string)[]): Uint8Array {
  const bytes = parts.flatMap((part) =>
    typeof part === 'number' ? [part] : [part.length * 2, ...Buffer.from(part, 'latin1')],
  )
  return Uint8Array.of(tag.MESSAGE_GRAPH, 0, 0, ...bytes)
}

const { VALUE_NATIVE, VALUE_RECORD, VALUE_WRAPPED, VALUE_PROTOTYPE, VALUE_REFERENCE } = tag

test('built-ins of every process cannot be changed by a message', () => {
  const before = Object.getOwnPropertyNames(Object.prototype)
  const attempts = [
    graph(VALUE_WRAPPED, 4, VALUE_NATIVE, 'Object.prototype', 0, 1, 0, 'polluted', 0, 0x81),
    graph(VALUE_WRAPPED, 2, VALUE_NATIVE, 'Math', VALUE_RECORD, 0, 0, 0),
    graph(VALUE_WRAPPED, 8, VALUE_NATIVE, 'Object', 3),
    graph(VALUE_WRAPPED, 4, VALUE_PROTOTYPE, VALUE_NATIVE, 'Array', 0, 1, 0, 'polluted', 0, 0x81),
    graph(VALUE_WRAPPED, 4, VALUE_WRAPPED, 4, VALUE_RECORD),
    graph(VALUE_WRAPPED, 4, VALUE_REFERENCE, 0),
  ]
  for (const bytes of attempts) {
    assert.throws(() => defaultSerializer.deserialize(bytes), DeserializeError)
  }
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), before)
  assert.ok(!Object.isFrozen(Object) && !('polluted' in []))
  const own = defaultSerializer.deserialize(
    graph(
      VALUE_RECORD,
      0,
      2,
      0,
      '__proto__',
      0,
      'constructor',
      0,
      VALUE_RECORD,
      0x81,
      0,
      1,
      0,
      'polluted',
      0,
      0x81,
    ),
  ) as Record<string, unknown>
  assert.deepEqual(Object.keys(own), ['__proto__', 'constructor'])
  assert.ok(!('polluted' in {}) && !('polluted' in own))
})

test('objects cannot inherit from themselves', () => {
  const self = graph(VALUE_WRAPPED, 2, VALUE_RECORD, 0, 0, 0, VALUE_REFERENCE, 0)
  assert.throws(() => defaultSerializer.deserialize(self), DeserializeError)
})

test('a member that the text of its class does not define is refused', () => {
  const { VALUE_MEMBER, VALUE_TEXT } = tag
  const fromArray = [VALUE_MEMBER, VALUE_NATIVE, 'Array']
  for (const parts of [
    [...fromArray, 1, VALUE_TEXT, 'from'],
    [...fromArray, 0, VALUE_TEXT, 'at'],
    [...fromArray, 0, VALUE_TEXT, '__proto__'],
    [...fromArray, 0xff, VALUE_TEXT, 'at'],
    [...fromArray, 6, VALUE_TEXT, 'at'],
    [...fromArray, 2, 0x81],
    [...fromArray, 2, VALUE_RECORD],
    [VALUE_MEMBER, VALUE_NATIVE, 'Math.sqrt', 0, VALUE_TEXT, 'at'],
    [VALUE_MEMBER, VALUE_RECORD, 0, VALUE_TEXT, 'at'],
    [VALUE_MEMBER, VALUE_REFERENCE, 0, 0, VALUE_TEXT, 'at'],
  ]) {
    assert.throws(() => defaultSerializer.deserialize(graph(...parts)), DeserializeError)
  }
})

test('infinite nesting is refused, and does not crash', () => {
  const depth = 1_000_000
  for (const part of [tag.VALUE_PROTOTYPE, tag.VALUE_BOUND, tag.VALUE_MEMBER]) {
    const parts = part === tag.VALUE_BOUND ? [part, 0] : [part]
    const bytes = Buffer.concat([
      graph(),
      Buffer.from(Array.from({ length: depth }, () => parts).flat()),
    ])
    assert.throws(() => defaultSerializer.deserialize(bytes), DeserializeError)
  }
})

test('a class that extends itself is refused', () => {
  const { here, there } = new TwoSides()
  const bytes = Buffer.from(here.serializer.serialize([Derived, Base]))
  const text = bytes.toString('latin1')
  const ids = [...new Set(text.match(/[\w-]{16}\.\w/g))]
  assert.equal(ids.length, 3)
  for (const id of ids) {
    const changed = ids.reduce((all, other) => all.replaceAll(other, id), text)
    readBy(there, Buffer.from(changed, 'latin1'))
  }
  const [derived = '', base = ''] = ids
  const swapped = text.slice(0, 60) + text.slice(60).replaceAll(base, derived)
  readBy(there, Buffer.from(swapped, 'latin1'))
  assert.doesNotThrow(() => there.serializer.deserialize(bytes))
})

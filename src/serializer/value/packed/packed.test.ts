import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DeserializeError } from '../../../base/errors.js'
import { sized } from '../../../base/short-run.kit.js'
import { differenceOf } from '../../strict-walk.kit.js'
import { defaultCodec } from '../../task-codec.js'
import { PackedReader, SERIALIZED } from './reader.js'
import { PackedWriter, type ValueTarget } from './writer.js'

const LIMIT = 1 << 20

/** Packed bytes of `count` entries, not checked. */
function readerOf(packed: Buffer, count: number): PackedReader {
  const headEnd = 4 + packed.readUInt32LE(0)
  const layout = { headAt: 4, headEnd, entriesAt: headEnd + 4 * (count + 1) }
  return new PackedReader(packed, layout, defaultCodec)
}

/** Of one entry without shapes. */
function layoutOfOne(): { headAt: number; headEnd: number; entriesAt: number } {
  return { headAt: 4, headEnd: 4, entriesAt: 12 }
}

/** One entry without shapes. */
function packOne(entry: Buffer): Buffer {
  const begin = Buffer.alloc(12)
  begin.writeUInt32LE(entry.byteLength, 8)
  return Buffer.concat([begin, entry])
}

function packEach(values: readonly unknown[], target: ValueTarget = defaultCodec): Buffer {
  const writer = new PackedWriter(target)
  for (const value of values) {
    writer.beginEntry()
    assert.equal(writer.value(value, LIMIT), undefined)
    writer.endEntry()
  }
  return writer.finish()
}

/** The kind of the value of the only entry. */
function kindOf(value: unknown): number {
  const packed = packEach([value])
  return packed[4 + packed.readUInt32LE(0) + 8] as number
}

function isPlain(value: unknown): boolean {
  return kindOf(value) !== SERIALIZED
}

test('small plain values are written plainly', () => {
  const plain = [
    undefined,
    null,
    true,
    false,
    0,
    -0,
    127,
    128,
    -1,
    2 ** 31,
    1.5,
    NaN,
    '',
    'text',
    'x'.repeat(300),
    'ü✓😀',
    10n,
    -(2n ** 63n),
    [],
    [1, 2, 3],
    [0.5, 1],
    ['a', null, undefined],
    {},
    { id: 1, name: 'a', values: [1, 2, { x: [] }] },
    JSON.parse('{"a":1,"b":{"c":"d"}}'),
    new Uint8Array([1, 2]),
    new Float64Array([0.5]),
    Buffer.from('abc'),
    { bytes: new Uint8Array(3) },
  ]
  const reader = readerOf(packEach(plain), plain.length)
  for (const [index, value] of plain.entries()) {
    assert.ok(isPlain(value), `value ${index}`)
    assert.equal(differenceOf(value, reader.value(index)), undefined)
  }
})

class Point {
  x = 1
}

/** Objects that look plain but are more. */
function oddities(): readonly unknown[] {
  const shared = { a: 1 }
  const cycle: Record<string, unknown> = { a: 1 }
  cycle['self'] = cycle
  const memory = new ArrayBuffer(8)
  const large = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, index]))
  return [
    [shared, shared],
    cycle,
    new Point(),
    new Date(5),
    new Map([[1, 2]]),
    new Set([1]),
    /a/g,
    new Error('bad'),
    Symbol.iterator,
    'a\ud800b',
    2n ** 63n,
    Object.freeze({ a: 1 }),
    Object.seal([1]),
    Object.preventExtensions({ id: 1, name: 'a' }),
    Object.create(null),
    Object.defineProperty({ a: 1 }, 'hidden', { value: 1, enumerable: false }),
    Object.defineProperty({ a: 1 }, 'b', { value: 1, enumerable: true, writable: false }),
    { [Symbol.for('key')]: 1 },
    JSON.parse('{"__proto__":1}'),
    { 1: 'element', a: 2 },
    // oxlint-disable-next-line no-sparse-arrays -- holes are the point
    [1, , 3], // prettier-ignore
    Object.assign([1, 2], { extra: true }),
    Object.defineProperty([1], 'length', { writable: false }),
    (function (..._args: number[]) {
      return arguments
    })(1, 2),
    Object(1),
    Object.setPrototypeOf(new Map([[1, 2]]), Object.prototype),
    process.env,
    Math,
    [new Uint8Array(memory), new Uint8Array(memory)],
    new DataView(memory),
    large,
    { 'a\ud800': 1 },
    Array.from({ length: 30 }, () => ({ a: 1 })),
  ]
}

test('whatever is more than plain is left to the serializer', () => {
  for (const [index, value] of oddities().entries()) {
    assert.equal(kindOf(value), SERIALIZED, `value ${index}`)
    assert.equal(kindOf({ inside: value }), SERIALIZED, `value ${index} in an object`)
  }
})

test('objects that share a shape with plain ones keep what they are', () => {
  const usual = Array.from({ length: 8 }, (_, index) => ({ id: index, name: `n${index}` }))
  const frozen = Object.freeze({ id: 1, name: 'a' })
  const withElement = { id: 1, name: 'a', 0: 'element' }
  let count = 0
  const withGetter = {
    id: 1,
    get name(): string {
      count += 1
      return 'computed'
    },
  }
  const values = [...usual, frozen, ...usual, withElement, ...usual, withGetter, ...usual]
  const reader = readerOf(packEach(values), values.length)
  for (const [index, value] of values.entries()) {
    const there = reader.value(index)
    if (value !== withGetter) assert.equal(differenceOf(value, there), undefined)
    else assert.ok('get' in (Object.getOwnPropertyDescriptor(there, 'name') ?? {}))
  }
  assert.equal(count, 0)
})

test('an object that changes between two entries is written as it is each time', () => {
  const writer = new PackedWriter(defaultCodec)
  const reused: Record<string, unknown> = { id: 1, name: 'a' }
  const others = [
    { id: 2, name: 'b' },
    { id: 3, name: 'c' },
    { id: 4, name: 'd' },
  ]
  const expected: unknown[] = []
  const add = (value: unknown): void => {
    writer.beginEntry()
    writer.value(value, LIMIT)
    writer.endEntry()
    expected.push(structuredClone(value))
  }
  for (const other of others) {
    add(reused)
    add(other)
    reused[`extra${other.id}`] = true
    Object.assign(other, { extra2: true })
    add(other)
    add(reused)
  }
  const packed = writer.finish()
  const reader = readerOf(packed, expected.length)
  for (const [index, value] of expected.entries()) {
    assert.equal(differenceOf(value, reader.value(index)), undefined)
  }
})

test('any values arrive as the serializer alone would send them', () => {
  const leaf = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.string(),
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.boolean(),
    fc.bigInt(),
    fc.constantFrom(undefined, null, -0, '\ud800'),
    fc.uint8Array({ maxLength: 20 }),
    fc.date(),
    fc.constant([]).map(() => new Point()),
    fc.constantFrom(...oddities().slice(2, 20)),
  )
  const { value: node } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.array(tie('value'), { maxLength: 5 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c', '0', '__proto__', 'constructor'), tie('value'), {
        noNullPrototype: true,
        maxKeys: 4,
      }),
      fc.record(
        { id: fc.integer(), name: fc.string(), values: tie('value') },
        { noNullPrototype: true },
      ),
      tie('value').map((item) => [item, item]),
    ),
  }))
  const property = fc.property(fc.array(node, { maxLength: 20 }), (values) => {
    const reader = readerOf(packEach(values), values.length)
    for (const [index, value] of values.entries()) {
      const there = defaultCodec.deserialize(defaultCodec.serialize(value))
      assert.equal(differenceOf(there, reader.value(index)), undefined)
    }
  })
  fc.assert(property, { numRuns: 300 })
})

test('a serializer of the user writes everything itself', () => {
  const own = { serialize: (value: unknown) => Buffer.from(JSON.stringify(value)) }
  const packed = packEach([1, 'a', { b: 1 }], own)
  const text = packed.subarray(4 + 16).toString('latin1')
  assert.equal(text, '\x0f\x01\0\0\x001\x0f\x03\0\0\0"a"\x0f\x07\0\0\0{"b":1}')
})

test('an entry has the values of all arguments', () => {
  const writer = new PackedWriter(defaultCodec)
  for (const args of [[1, 'two', { a: 3 }], [], [new Date(4)]]) {
    writer.beginEntry()
    for (const value of args) writer.value(value, LIMIT)
    writer.endEntry()
  }
  assert.equal(writer.count, 3)
  const reader = readerOf(writer.finish(), 3)
  assert.deepEqual(reader.values(2), [new Date(4)])
  assert.deepEqual(reader.values(0), [1, 'two', { a: 3 }])
  assert.deepEqual(reader.values(1), [])
  assert.throws(() => reader.value(0), DeserializeError)
  assert.throws(() => reader.value(1), DeserializeError)
  assert.equal(writer.count, 0)
})

test('arguments that a task shares with others are read by whoever has them', () => {
  const bytes = defaultCodec.serialize('s')
  const entry = Buffer.from([12, 1, 14, bytes.length, 0, 0, 0, ...bytes, 12, 2, 12, 0, 128])
  const packed = packOne(entry)
  const order: unknown[] = []
  const noted = (value: unknown): unknown => {
    order.push(value)
    return value
  }
  const others = {
    inputCount: 2,
    isShared: (index: number): boolean => index === 1,
    input: (index: number): unknown => noted(`object ${index}`),
    shared: (part: Uint8Array): unknown => noted([defaultCodec.deserialize(part)]),
  }
  const reader = new PackedReader(packed, layoutOfOne(), defaultCodec, others)
  // Number 2 is an attachment of the function.
  assert.deepEqual(reader.values(0), ['object 1', ['s'], 'object 0', 0])
  // What is older than the task comes last.
  assert.deepEqual(order, ['object 0', 'object 1', ['s']])
  others.shared = () => assert.fail('unreadable')
  assert.throws(() => reader.values(0), { message: 'unreadable' })
  assert.equal(reader.lastAt, 1)
  const results = new PackedReader(packed, layoutOfOne(), defaultCodec)
  assert.throws(() => results.values(0), DeserializeError)
  const short = packOne(entry.subarray(0, 5))
  const cut = new PackedReader(short, layoutOfOne(), defaultCodec, others)
  assert.throws(() => cut.values(0), { message: 'a packed value ends too early' })
})

test('a dropped entry leaves nothing behind', () => {
  const writer = new PackedWriter(defaultCodec)
  const add = (value: unknown): Uint8Array | undefined => {
    writer.beginEntry()
    return writer.value(value, 100)
  }
  add({ a: 1 })
  writer.endEntry()
  add({ b: 1 })
  writer.dropEntry()
  add({ c: 1 })
  writer.endEntry()
  writer.dropEntry()
  const large = add('x'.repeat(200))
  assert.deepEqual(large, defaultCodec.serialize('x'.repeat(200)))
  writer.dropEntry()
  assert.throws(() => add(new WeakMap()))
  writer.dropEntry()
  assert.deepEqual(writer.finish(), packEach([{ a: 1 }]))
})

test('bytes that a task may write to are its own', () => {
  const packed = packEach([new Uint8Array([1, 2, 3]), Buffer.from('abc')])
  const before = Buffer.from(packed)
  const reader = readerOf(packed, 2)
  for (const index of [0, 1]) (reader.value(index) as Uint8Array).fill(9)
  assert.deepEqual(packed, before)
})

test('any bytes are a value or a DeserializeError', () => {
  const shapes = packEach([
    { a: 1, b: [1, 'x'] },
    { c: new Uint8Array(4), d: new Date(1) },
  ])
  const property = fc.property(
    fc.uint8Array({ maxLength: 60 }),
    fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 5 }),
    (body, changes) => {
      const changed = Buffer.from(shapes)
      const entriesAt = 4 + changed.readUInt32LE(0) + 12
      for (const [at, byte] of changes) {
        changed[entriesAt + (at % (changed.byteLength - entriesAt))] = byte
        changed[4 + (at % changed.readUInt32LE(0))] = byte
      }
      tryReading(readerOf(changed, 2), 2)
      const head = shapes.subarray(4, 4 + shapes.readUInt32LE(0))
      const packed = Buffer.concat([Buffer.alloc(4), head, Buffer.alloc(8), body])
      packed.writeUInt32LE(head.byteLength, 0)
      packed.writeUInt32LE(body.byteLength, 4 + head.byteLength + 4)
      tryReading(readerOf(packed, 1), 1)
    },
  )
  fc.assert(property, { numRuns: sized(3_000, 600) })
})

function tryReading(reader: PackedReader, count: number): void {
  for (let index = 0; index < count; index += 1) {
    try {
      reader.values(index)
    } catch (error) {
      assert.ok(error instanceof DeserializeError, String(error))
    }
  }
}

test('deep nesting is refused', () => {
  const array = Buffer.from([8, 1, 0, 0, 0])
  const body = Buffer.concat(Array.from({ length: 100_000 }, () => array))
  const packed = Buffer.concat([Buffer.alloc(12), body])
  packed.writeUInt32LE(body.byteLength, 8)
  assert.throws(() => readerOf(packed, 1).value(0), /nested too deeply/)
})

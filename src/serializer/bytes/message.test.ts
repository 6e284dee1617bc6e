import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultCodec } from '../task-codec.js'
import { TYPED_ARRAYS } from '../value/shape.js'
import { memorySize, plainMemoryOf } from './message.js'

const BYTES = 24

/** A buffer of bytes that begin with `first`. */
function memory(first: number): ArrayBuffer {
  return Uint8Array.from({ length: BYTES }, (_, index) => first + index).buffer
}

const KINDS: readonly (readonly [name: string, make: (buffer: ArrayBuffer) => object])[] = [
  ['ArrayBuffer', (buffer) => buffer],
  ['Buffer', (buffer) => Buffer.from(buffer)],
  ['part of a Uint8Array', (buffer) => new Uint8Array(buffer, 3, 5)],
  ...TYPED_ARRAYS.map((View) => [View.name, (buffer: ArrayBuffer) => new View(buffer)] as const),
]

test('the bytes of plain memory end with it, and depend on nothing but it and its class', () => {
  const begins = new Set<string>()
  for (const [name, make] of KINDS) {
    const texts = [1, 2].map((first) => {
      const value = make(memory(first))
      const plain = plainMemoryOf(value)
      assert.ok(plain !== undefined, name)
      assert.equal(memorySize(value), plain.content.byteLength)
      const bytes = Buffer.from(defaultCodec.serialize(value))
      const start = bytes.length - plain.content.length
      assert.ok(bytes.subarray(start).equals(plain.content), name)
      return `${plain.kind} ${plain.content.length} ${bytes.toString('hex', 0, start)}`
    })
    assert.equal(texts[0], texts[1], name)
    begins.add(texts[0] ?? '')
  }
  assert.equal(begins.size, KINDS.length)
})

class OwnArray extends Float64Array {}

const OTHERS: readonly (readonly [name: string, value: unknown])[] = [
  ['a number', 7],
  ['nothing', null],
  ['an object', { byteLength: 5 }],
  ['a DataView', new DataView(memory(1))],
  ['part of a typed array', new Int16Array(memory(1), 2, 2)],
  ['a subclass', new OwnArray(3)],
  ['a Float64Array with a property', Object.assign(new Float64Array(3), { more: 1 })],
  ['a Uint8Array with a property', Object.assign(new Uint8Array(3), { more: 1 })],
  ['one whose buffer has a property', withBufferProperty()],
  ['a shared memory', new Uint8Array(new SharedArrayBuffer(3))],
  ['a shared memory of floats', new Float64Array(new SharedArrayBuffer(16))],
  ['one without a prototype', Object.setPrototypeOf(new Float64Array(3), null)],
]

function withBufferProperty(): Float64Array {
  const array = new Float64Array(3)
  Object.assign(array.buffer, { more: 1 })
  return array
}

for (const [name, value] of OTHERS) {
  test(`not plain memory: ${name}`, () => assert.equal(plainMemoryOf(value), undefined))
}

test('the size is that of a view or buffer, whatever it says itself', () => {
  const lying = Object.defineProperty(new Uint8Array(5), 'byteLength', { value: 99 })
  assert.deepEqual([lying, new DataView(memory(1)), 'text', null].map(memorySize), [5, BYTES, 0, 0])
})

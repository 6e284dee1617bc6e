import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TwoSides } from '../two-sides.kit.js'

type View = Uint8Array | Float64Array | DataView

const sides = new TwoSides()

function sizeOf(value: unknown): number {
  return sides.here.serializer.serialize(value).byteLength
}

test('a view carries the bytes that it shows, and nothing else of its buffer', () => {
  const numbers = Float64Array.from({ length: 100_000 }, (_, index) => index)
  const bytes = new Uint8Array(numbers.buffer)
  const few = numbers.subarray(500, 1500)
  assert.ok(sizeOf(few) < 9_000)
  assert.ok(sizeOf([few, bytes.subarray(0, 100)]) < 9_000)
  assert.ok(sizeOf({ view: new DataView(numbers.buffer, 3, 100) }) < 200)
  assert.deepEqual(sides.send(few), few)
  assert.deepEqual(sides.send([few])[0]?.buffer.byteLength, 8_000)
  assert.deepEqual(sides.send(bytes.subarray(3, 5)), bytes.subarray(3, 5))
  class Sample extends Float64Array {}
  const sample = new Sample(numbers.buffer, 80, 10)
  assert.ok(sizeOf([sample]) < 1_000)
  const copy = sides.send([sample])[0] as Sample
  assert.deepEqual([...copy], [...sample])
  assert.equal(copy.constructor.name, 'Sample')
})

test('bytes between views of one buffer are not sent', () => {
  const memory = Buffer.from('first, a secret, last')
  const views = [new Uint8Array(memory.buffer, memory.byteOffset, 5), memory.subarray(17)] as const
  assert.ok(!Buffer.from(sides.here.serializer.serialize(views)).includes('secret'))
  const [first, last] = sides.send(views)
  assert.deepEqual([Buffer.from(first).toString(), last.toString()], ['first', 'last'])
  assert.notEqual(first.buffer, last.buffer)
})

test('views that overlap in a chain share memory afterwards, with correct alignment', () => {
  const memory = new ArrayBuffer(4_096)
  const bytes = new Uint8Array(memory, 1_003, 14)
  const words = new Uint16Array(memory, 1_016, 6)
  const numbers = new Float64Array(memory, 1_024, 2)
  const apart = new Float64Array(memory, 1_040, 2)
  const value = { numbers, words, bytes, apart }
  assert.ok(sizeOf(value) < 200)
  const copy = sides.send(value)
  assert.equal(copy.bytes.buffer, copy.words.buffer)
  assert.equal(copy.words.buffer, copy.numbers.buffer)
  assert.notEqual(copy.numbers.buffer, copy.apart.buffer)
  for (const each of [value, copy]) {
    each.bytes[13] = 0x77
    each.words[5] = 0x1234
    each.apart[0] = 1
  }
  assert.deepEqual(copy, value)
  assert.equal(copy.words[0], 0x77)
  assert.notEqual(copy.numbers[0], 0)
})

test('a buffer that is part of the value carries all its bytes, and views stay in their places', () => {
  const memory = new ArrayBuffer(1_000)
  const value = { view: new Float64Array(memory, 80, 2), memory, last: Buffer.from(memory, 990) }
  const copy = sides.send(value)
  assert.equal(copy.memory.byteLength, 1_000)
  assert.ok(copy.view.buffer === copy.memory && copy.last.buffer === copy.memory)
  assert.deepEqual([copy.view.byteOffset, copy.last.byteOffset], [80, 990])
  assert.ok(Buffer.isBuffer(copy.last))
})

test('an empty view carries nothing and is empty', () => {
  const memory = new ArrayBuffer(100_000)
  const empty = [new Float64Array(memory, 64, 0), new Uint8Array(memory, 100_000)] as const
  assert.ok(sizeOf(empty) < 100)
  assert.deepEqual(sides.send(empty), empty)
  const [inside] = sides.send([new Float64Array(memory, 64, 0), new Uint8Array(memory, 3, 90)])
  assert.equal(inside?.length, 0)
})

test('a view that tracks the size of its buffer does so afterwards, from its offset on', () => {
  const memory = resizable(1_000, 2_000)
  const follower = new Float64Array(memory, 960)
  const fixed: Uint8Array<ResizableBuffer> = new Uint8Array(memory, 100, 10)
  assert.ok(sizeOf([follower, fixed]) < 200)
  const copy = sides.send({ follower, fixed })
  const [grown, other] = [copy.follower.buffer, copy.fixed.buffer]
  assert.equal(grown.maxByteLength, 1_040)
  grown.resize(1_040)
  assert.deepEqual([follower.length, copy.follower.length], [5, 130])
  assert.equal(other.maxByteLength, 10)
  const unborn = new Uint8Array(resizable(0, 8))
  const born = sides.send({ unborn }).unborn
  born.buffer.resize(8)
  assert.equal(born.length, 8)
})

/** Not yet declared in TypeScript's library. */
interface ResizableBuffer extends ArrayBuffer {
  readonly maxByteLength: number
  resize(byteLength: number): void
}

function resizable(byteLength: number, maxByteLength: number): ResizableBuffer {
  return Reflect.construct(ArrayBuffer, [byteLength, { maxByteLength }]) as ResizableBuffer
}

test('random views of random buffers show and share the same afterwards', () => {
  fc.assert(
    fc.property(arbitraryViews(), arbitraryWrites(), ({ views, isWhole }, writes) => {
      const memories = isWhole ? [...new Set(views.map(({ buffer }) => buffer))] : []
      const value = { list: views, map: new Map(views.map((view) => [view, { view }])), memories }
      const copy = sides.send(value)
      assert.deepEqual(copy.list, views)
      assert.deepEqual(copy.memories, memories)
      assert.deepEqual([...copy.map.keys()], copy.list)
      for (const { at, offset, content } of writes) {
        for (const list of [views, copy.list]) write(list[at % list.length], offset, content)
        assert.deepEqual(copy.list, views)
      }
      for (const [index, view] of copy.list.entries()) {
        if (!isWhole) break
        assert.equal(view.byteOffset, views[index]?.byteOffset)
        assert.equal(
          view.buffer,
          copy.memories[memories.indexOf(views[index]?.buffer as ArrayBuffer)],
        )
      }
    }),
    { numRuns: 300 },
  )
})

function write(view: View | undefined, offset: number, content: number): void {
  if (view === undefined || view.byteLength === 0) return
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength)
  bytes[offset % bytes.length] = content
}

interface Views {
  readonly views: readonly View[]
  readonly isWhole: boolean
}

const FACTORIES = [Uint8Array, Uint16Array, Float32Array, Float64Array, BigInt64Array, DataView]

function arbitraryViews(): fc.Arbitrary<Views> {
  const place = fc.record({
    memory: fc.nat(2),
    kind: fc.nat(FACTORIES.length),
    offset: fc.nat(99),
    length: fc.nat(12),
  })
  return fc
    .record({ places: fc.array(place, { minLength: 1, maxLength: 12 }), isWhole: fc.boolean() })
    .map(({ places, isWhole }) => {
      const memories = [200, 203, 200].map(
        (size) => Uint8Array.from({ length: size }, (_, i) => i).buffer,
      )
      const views = places.map(({ memory, kind, offset, length }) => {
        const source = memories[memory] as ArrayBuffer
        const factory = FACTORIES[kind] as typeof Float64Array | undefined
        if (factory === undefined) return Buffer.from(source, offset, length)
        const size = factory.BYTES_PER_ELEMENT ?? 1
        return new factory(source, offset - (offset % size), length)
      })
      return { views, isWhole }
    })
}

function arbitraryWrites(): fc.Arbitrary<
  readonly { readonly at: number; readonly offset: number; readonly content: number }[]
> {
  const write = fc.record({ at: fc.nat(11), offset: fc.nat(200), content: fc.nat(255) })
  return fc.array(write, { maxLength: 12 })
}

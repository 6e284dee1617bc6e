import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MAX_CONTROL_BYTES } from './frames.js'
import { controlBytes, FrameBatch, FrameParser } from './pipe.js'

type Kind = 'message' | `task ${number}` | 'control'

function parse(chunks: readonly Uint8Array[]): [Kind, Buffer][] {
  const frames: [Kind, Buffer][] = []
  const parser = new FrameParser({
    onMessage: (bytes, unitNumber) => {
      frames.push([unitNumber === undefined ? 'message' : `task ${unitNumber}`, bytes])
    },
    onControl: (bytes) => void frames.push(['control', bytes]),
  })
  for (const chunk of chunks) parser.feed(chunk)
  return frames
}

test('frames do not depend on chunk boundaries', () => {
  const message = fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 3 })
  const tasks = fc.array(fc.nat(), { maxLength: 2_000 })
  const frame = fc.oneof(
    message,
    fc.record({ message, units: fc.nat() }),
    tasks.map((numbers) => ({ numbers })),
  )
  const cuts = fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 8 }), cuts, (frames, sizes) => {
      const batch = new FrameBatch()
      const expected: [string, string][] = []
      for (const each of frames) {
        if ('numbers' in each) {
          const retract = { type: 'retract', tasks: each.numbers } as const
          batch.addControl(retract)
          expected.push(['control', JSON.stringify(retract)])
        } else {
          const [pieces, units] = 'units' in each ? [each.message, each.units] : [each]
          batch.addMessage(pieces, units)
          const kind = units === undefined ? 'message' : `task ${units}`
          expected.push([kind, Buffer.concat(pieces).toString('latin1')])
        }
      }
      const bytes = batch.bytes
      const stream = Buffer.concat(batch.take())
      assert.equal(stream.length, bytes)
      assert.equal(batch.bytes, 0)
      const chunks: Buffer[] = []
      for (let at = 0, turn = 0; at < stream.length; turn += 1) {
        const size = sizes[turn % sizes.length] ?? 1
        chunks.push(stream.subarray(at, at + size))
        at += size
      }
      const parsed = parse(chunks)
      assert.deepEqual(
        parsed.map(([kind, content]) => [kind, content.toString('latin1')]),
        expected,
      )
    }),
    { numRuns: 100 },
  )
})

test('a header may be split anywhere', () => {
  const batch = new FrameBatch()
  batch.addMessage(Buffer.from('one'))
  batch.addControl({ type: 'end' })
  batch.addMessage(Buffer.alloc(0))
  batch.addMessage(Buffer.from('two'), 258)
  const stream = Buffer.concat(batch.take())
  for (let cut = 0; cut <= stream.length; cut += 1) {
    const frames = parse([stream.subarray(0, cut), stream.subarray(cut)])
    assert.deepEqual(
      frames.map(([kind, bytes]) => `${kind} ${String(bytes)}`),
      ['message one', 'control {"type":"end"}', 'message ', 'task 258 two'],
    )
  }
})

test('large pieces are not copied, and taken pieces do not change', () => {
  const batch = new FrameBatch()
  const large = Buffer.alloc(20_000, 1)
  batch.addMessage([Buffer.from('small'), large])
  const first = batch.take()
  assert.equal(first[1], large)
  const before = Buffer.concat(first)
  for (let count = 0; count < 20; count += 1) batch.addMessage(Buffer.alloc(10_000, 9))
  assert.deepEqual(Buffer.concat(first), before)
  assert.equal(parse(batch.take()).length, 20)
})

test('a large frame is collected in one buffer of its own size', () => {
  const size = 40 * 1024 ** 2
  const batch = new FrameBatch()
  batch.addMessage(Buffer.alloc(size, 5))
  const stream = Buffer.concat(batch.take())
  const chunks: Buffer[] = []
  for (let at = 0; at < stream.length; at += 65_536) chunks.push(stream.subarray(at, at + 65_536))
  const [[, bytes] = assert.fail()] = parse(chunks)
  assert.equal(bytes.length, size)
  assert.equal(bytes.buffer.byteLength, size)
  assert.equal(bytes[size - 1], 5)
})

test('a length without the bytes that it announces costs little memory', () => {
  const parser = new FrameParser({ onMessage: () => assert.fail(), onControl: () => assert.fail() })
  const before = process.memoryUsage().arrayBuffers
  parser.feed(Buffer.from([255, 255, 255, 255, 0, 1, 2, 3]))
  assert.ok(process.memoryUsage().arrayBuffers - before < 2 * 1024 ** 2)
})

test('a control frame alone has the same form', () => {
  const batch = new FrameBatch()
  batch.addControl({ type: 'pulse' })
  assert.deepEqual(controlBytes({ type: 'pulse' }), Buffer.concat(batch.take()))
})

test('a control frame that is too long is refused by its header', () => {
  const header = Buffer.from([0, 0, 0, 0, 1])
  header.writeUInt32LE(MAX_CONTROL_BYTES + 1)
  assert.throws(() => parse([header]), { name: 'ProtocolError' })
  assert.throws(() => parse([header.subarray(0, 3), header.subarray(3)]), { name: 'ProtocolError' })
})

test('an unknown kind, or a task too short for its units, is refused immediately', () => {
  for (const chunks of [
    [Buffer.from([1, 0, 0, 0, 3, 0])],
    [Buffer.from([3, 0, 0, 0, 2, 0])],
    [Buffer.from([1, 0, 0, 0]), Buffer.from([77, 0])],
    [Buffer.from('this is not a frame')],
  ]) {
    assert.throws(() => parse(chunks), { name: 'ProtocolError' })
  }
})

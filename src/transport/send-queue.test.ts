import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FLUSH_BYTES, LARGE_PIECE_BYTES, SendQueue, SlabPool } from './send-queue.js'
import type { IncomingMessage, OutgoingFrame } from './options.js'
import { FrameParser } from './zmtp/frame.js'

const LIMITS = { maxFrameBytes: 2 ** 31, maxFramesPerMessage: 1000 }

/**
 * What a peer reads from some bytes: its messages as text; throws unless they end with a message.
 */
function read(bytes: Uint8Array): string[] {
  const parser = new FrameParser(LIMITS, () => assert.fail('no command was sent'))
  const messages: IncomingMessage[] = []
  parser.allowMessages()
  parser.feed(Buffer.from(bytes), 0, messages)
  assert.equal(parser.isInsideMessage, false)
  return messages.map((each) => textOf(each instanceof Uint8Array ? [each] : each))
}

function textOf(frames: readonly OutgoingFrame[]): string {
  const joined = frames.map((frame) =>
    Buffer.concat(frame instanceof Uint8Array ? [frame] : frame).toString('latin1'),
  )
  return joined.join('|')
}

function takeAll(queue: SendQueue, batchBytes: number): Buffer {
  const runs: Uint8Array[] = []
  while (queue.bytes > 0) runs.push(...queue.takeBatch(batchBytes))
  return Buffer.concat(runs)
}

const piece = fc
  .oneof(
    { weight: 6, arbitrary: fc.nat(300) },
    { weight: 1, arbitrary: fc.nat(9000) },
    {
      weight: 1,
      arbitrary: fc.integer({ min: LARGE_PIECE_BYTES - 2, max: LARGE_PIECE_BYTES + 2 }),
    },
  )
  .map((size) => Buffer.alloc(size, 97 + (size % 26)))
const frame = fc.oneof(piece, fc.array(piece, { maxLength: 4 }))
const message = fc.array(frame, { minLength: 1, maxLength: 4 })

test('property: a peer reads what was pushed, however much is taken at a time', () => {
  const batch = fc.integer({ min: 1, max: 40_000 })
  fc.assert(
    fc.property(fc.array(message, { maxLength: 30 }), batch, (messages, batchBytes) => {
      const queue = new SendQueue(new SlabPool())
      for (const frames of messages) queue.pushMessage(frames)
      const expectedBytes = queue.bytes
      const bytes = takeAll(queue, batchBytes)
      assert.equal(bytes.length, expectedBytes)
      assert.equal(queue.bytes, 0)
      assert.equal(queue.isBetweenMessages, true)
      assert.deepEqual(read(bytes), messages.map(textOf))
    }),
    { numRuns: 100 },
  )
})

test('property: after a restart, exactly the messages not started remain', () => {
  const batch = fc.integer({ min: 1, max: 60_000 })
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 12 }),
      batch,
      fc.nat(3),
      (messages, size, batches) => {
        const queue = new SendQueue(new SlabPool())
        for (const frames of messages) queue.pushMessage(frames)
        const taken: Uint8Array[] = []
        for (let count = 0; count < batches && queue.bytes > 0; count += 1) {
          taken.push(...queue.takeBatch(size))
        }
        const begun = countBegun(Buffer.concat(taken))
        queue.restart()
        queue.pushMessage([Buffer.from('later')])
        assert.equal(queue.isBetweenMessages, true)
        const expected = [...messages.slice(begun).map(textOf), 'later']
        assert.deepEqual(read(takeAll(queue, 2 ** 30)), expected)
      },
    ),
    { numRuns: 100 },
  )
})

/** How many messages have at least one byte in `bytes`. */
function countBegun(bytes: Buffer): number {
  const parser = new FrameParser(LIMITS, () => {})
  const messages: IncomingMessage[] = []
  parser.allowMessages()
  parser.feed(bytes, 0, messages)
  return messages.length + (parser.isInsideMessage ? 1 : 0)
}

test('small messages are copied: they may be changed after the push', () => {
  const queue = new SendQueue(new SlabPool())
  const bytes = Buffer.from('before')
  queue.push(bytes, false)
  queue.push([Buffer.from('x'), bytes], false)
  bytes.fill(0)
  assert.deepEqual(read(queue.takeSlab()), ['before', 'xbefore'])
})

test('large pieces are not copied', () => {
  const queue = new SendQueue(new SlabPool())
  const large = Buffer.alloc(LARGE_PIECE_BYTES)
  queue.push([Buffer.from('x'), large, Buffer.from('y')], false)
  assert.equal(queue.isOneRun, false)
  const runs = queue.takeBatch(2 ** 30)
  assert.equal(runs.length, 3)
  assert.equal(runs[1], large)
})

test('small messages are one run of bytes as long as it is written in time', () => {
  const queue = new SendQueue(new SlabPool())
  const bytes = Buffer.alloc(LARGE_PIECE_BYTES - 1)
  for (let round = 0; round < 3; round += 1) {
    while (queue.bytes < FLUSH_BYTES) queue.push(bytes, false)
    assert.equal(queue.isOneRun, true)
    assert(queue.takeSlab().length >= FLUSH_BYTES)
    queue.recycle()
  }
})

test('a slab is reused once it was written, not before', () => {
  const queue = new SendQueue(new SlabPool())
  queue.push(Buffer.from('one'), false)
  const first = queue.takeSlab()
  queue.push(Buffer.from('two'), false)
  const second = queue.takeSlab()
  assert.deepEqual(read(Buffer.concat([first, second])), ['one', 'two'])
  queue.recycle()
  queue.push(Buffer.from('six'), false)
  const third = queue.takeSlab()
  assert.equal(third.byteOffset, first.byteOffset)
  assert.equal(third.buffer, first.buffer)
})

test('after a restart, bytes that a write may still read are left alone', () => {
  const queue = new SendQueue(new SlabPool())
  queue.push(Buffer.from('in flight'), false)
  const inFlight = queue.takeSlab()
  queue.push(Buffer.from('kept'), false)
  queue.restart()
  for (let count = 0; count < 1000; count += 1) queue.push(Buffer.alloc(100), false)
  assert.deepEqual(read(inFlight), ['in flight'])
  assert.equal(read(takeAll(queue, 2 ** 30))[0], 'kept')
})

test('clear drops everything', () => {
  const queue = new SendQueue(new SlabPool())
  queue.push(Buffer.alloc(50_000), false)
  queue.push(Buffer.from('small'), false)
  queue.takeBatch(1000)
  queue.wantsDrain = true
  queue.clear()
  assert.equal(queue.bytes, 0)
  assert.equal(queue.wantsDrain, false)
  assert.equal(queue.isBetweenMessages, true)
  queue.push(Buffer.from('next'), false)
  assert.deepEqual(read(queue.takeSlab()), ['next'])
})

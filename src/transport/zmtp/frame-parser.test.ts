import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ProtocolError } from '../../base/errors.js'
import type { IncomingMessage } from '../options.js'
import {
  EAGER_BYTES,
  frameRoom,
  FLAG_COMMAND,
  FLAG_MORE,
  FrameParser,
  headerBytes,
  writeHeader,
} from './frame.js'

const LIMITS = { maxFrameBytes: 4 * 1024 ** 3 - 1, maxFramesPerMessage: 8 }

function frame(body: Uint8Array, flags = 0): Buffer {
  const bytes = Buffer.alloc(headerBytes(body.length) + body.length)
  bytes.set(body, writeHeader(bytes, 0, body.length, flags))
  return bytes
}

function message(parts: readonly Uint8Array[]): Buffer {
  const last = parts.length - 1
  return Buffer.concat(parts.map((part, index) => frame(part, index < last ? FLAG_MORE : 0)))
}

/** A parser that accepts messages, and its output. */
function openParser(limits = LIMITS): {
  readonly parser: FrameParser
  readonly messages: IncomingMessage[]
  readonly commands: string[]
} {
  const commands: string[] = []
  const parser = new FrameParser(limits, (body) => commands.push(body.toString('latin1')))
  parser.allowMessages()
  return { parser, messages: [], commands }
}

/** A message as a list of frames as latin1. */
function shown(incoming: IncomingMessage): string[] {
  const frames: readonly Buffer[] = incoming instanceof Uint8Array ? [incoming] : incoming
  return frames.map((each) => each.toString('latin1'))
}

test('property: messages are the same however their bytes are cut', () => {
  const size = fc.oneof(fc.constantFrom(0, 1, 254, 255, 256, 257), fc.nat(600))
  const body = size.map((length) => Buffer.alloc(length, length % 251))
  const item = fc.oneof(
    { weight: 4, arbitrary: fc.array(body, { minLength: 1, maxLength: 4 }) },
    { weight: 1, arbitrary: body.map((bytes) => ({ command: bytes })) },
  )
  const cuts = fc.array(fc.oneof(fc.nat(12), fc.nat(1500)), { minLength: 1, maxLength: 50 })
  fc.assert(
    fc.property(fc.array(item, { maxLength: 12 }), cuts, (items, sizes) => {
      const bytes = Buffer.concat(
        items.map((each) =>
          Array.isArray(each) ? message(each) : frame(each.command, FLAG_COMMAND),
        ),
      )
      const { parser, messages, commands } = openParser()
      let at = 0
      for (let index = 0; at < bytes.length; index += 1) {
        const end = at + 1 + (sizes[index % sizes.length] as number)
        // A separate chunk and a start within it, as sockets and sessions provide them.
        parser.feed(Buffer.concat([Buffer.from('skip'), bytes.subarray(at, end)]), 4, messages)
        at = end
      }
      const expected = items.filter((each) => Array.isArray(each))
      assert.deepEqual(
        messages.map(shown),
        expected.map((parts) => parts.map((part) => part.toString('latin1'))),
      )
      const expectedCommands = items.flatMap((each) => (Array.isArray(each) ? [] : [each.command]))
      assert.deepEqual(
        commands,
        expectedCommands.map((each) => each.toString('latin1')),
      )
      assert.equal(parser.isInsideMessage, false)
    }),
  )
})

test('one byte at a time, long frames included', () => {
  const bytes = Buffer.concat([
    message([Buffer.alloc(300, 1)]),
    message([Buffer.from('a'), Buffer.alloc(0)]),
  ])
  const { parser, messages } = openParser()
  for (const [index, byte] of bytes.entries()) {
    parser.feed(Buffer.from([byte]), 0, messages)
    const isBetween = index === 308 || index === bytes.length - 1
    assert.equal(parser.isInsideMessage, !isBetween, `after byte ${index}`)
  }
  assert.deepEqual(messages.map(shown), [['\x01'.repeat(300)], ['a', '']])
})

test('a short body in a long header is accepted', () => {
  const { parser, messages } = openParser()
  parser.feed(Buffer.from('02000000000000000161', 'hex'), 0, messages)
  assert.deepEqual(messages.map(shown), [['a']])
})

test('small frames are views of the chunk, which is not copied', () => {
  const chunk = message([Buffer.from('abc')])
  const { parser, messages } = openParser()
  parser.feed(chunk, 0, messages)
  assert.equal((messages[0] as Buffer).buffer, chunk.buffer)
})

test('a large frame has memory of its own, of exactly its size', () => {
  const body = Buffer.alloc(3 * 1024 ** 2 + 17, 7)
  body.write('begin')
  body.write('end', body.length - 3)
  const bytes = message([body])
  const { parser, messages } = openParser()
  for (let at = 0; at < bytes.length; at += 65_536)
    parser.feed(bytes.subarray(at, at + 65_536), 0, messages)
  const got = messages[0] as Buffer
  assert.equal(messages.length, 1)
  assert(got.equals(body))
  assert.equal(got.buffer.byteLength, body.length)
})

test('a declared length costs no memory before the bytes arrive', () => {
  const before = process.memoryUsage().arrayBuffers
  const parsers = Array.from({ length: 100 }, () => openParser())
  // 2 GiB each.
  const start = Buffer.from('020000000080000000ff', 'hex')
  for (const { parser, messages } of parsers) parser.feed(start, 0, messages)
  const grown = process.memoryUsage().arrayBuffers - before
  assert(grown <= 110 * 1024 ** 2, `${grown} bytes`)
  assert(parsers.every(({ parser }) => parser.isInsideMessage))
})

/** Feeds a parser whose sink keeps what it is given; reads of this size. */
function feedLong(
  bytes: Buffer,
  readBytes: number,
): { readonly messages: IncomingMessage[]; readonly taken: string[]; readonly heads: Buffer[] } {
  const taken: string[] = []
  const heads: Buffer[] = []
  const messages: IncomingMessage[] = []
  const ignore = (): void => {}
  const parser = new FrameParser(LIMITS, ignore, (head, size) => {
    heads.push(head)
    // Whether it takes the frame is in the first byte.
    if (head[0] === 0) return undefined
    taken.push(`${size} ${head.toString('latin1')}`)
    return (part) => (taken[taken.length - 1] += part.toString('latin1'))
  })
  parser.allowMessages()
  const memory = Buffer.alloc(readBytes)
  for (let at = 0; at < bytes.length; at += readBytes) {
    const read = memory.subarray(0, bytes.copy(memory, 0, at))
    const filled = parser.fill(read, messages)
    if (filled < read.length) parser.feed(Buffer.from(read.subarray(filled)), 0, messages)
  }
  assert.equal(parser.isInsideMessage, false)
  return { messages, taken, heads }
}

test('a sink takes the rest of a long message, in whose place its beginning is delivered', () => {
  const long = (first: number, size: number): Buffer => Buffer.alloc(size, first).fill('x', 1)
  const [taken, kept, next] = [long(1, 200_001), long(0, 150_000), long(2, 65_537)]
  const small = Buffer.from('small')
  const bytes = Buffer.concat([taken, small, kept, next, small].map((body) => message([body])))
  for (const readBytes of [1_000, 50_000, 65_536, 1_000_000]) {
    const got = feedLong(bytes, readBytes)
    // A frame that arrives in one piece needs no memory of its own.
    if (readBytes === 1_000_000) assert.deepEqual(got.heads, [])
    else {
      const [first, , third] = got.heads
      assert.equal(got.heads.length, 3)
      assert.deepEqual(
        got.taken,
        [taken, next].map((body) => `${body.length} ${body.toString('latin1')}`),
      )
      assert.equal(got.messages[0], first)
      assert.equal(got.messages[3], third)
      assert((first as Buffer).length <= EAGER_BYTES)
    }
    assert((got.messages[2] as Buffer).equals(kept))
    assert.deepEqual(
      [1, 4].map((at) => String(got.messages[at])),
      ['small', 'small'],
    )
  }
})

test('a message of several frames is not offered to a sink', () => {
  const parts = [Buffer.alloc(200_000, 1), Buffer.alloc(200_000, 2)]
  const { heads, messages } = feedLong(message(parts), 1_000)
  assert.deepEqual(heads, [])
  assert.deepEqual(messages, [parts])
})

test('a frame of 256 MiB is moved once while it arrives, and gets no gigabyte for its header', () => {
  const arrived = EAGER_BYTES + 1_000
  assert.equal(frameRoom(2 ** 28, arrived), 2 ** 28)
  assert(frameRoom(2 ** 32 - 1, arrived) < 2 ** 29)
  assert.equal(frameRoom(2 ** 32 - 1, 2 ** 24), 2 ** 32 - 1)
})

const refused: readonly (readonly [name: string, hex: string, why: RegExp])[] = [
  ['reserved flag bits', '0800', /wrong frame flags 0x8/],
  ['all flag bits', 'ff00', /wrong frame flags 0xff/],
  ['a command with more frames', '0500', /wrong frame flags 0x5/],
  ['a frame of 4 GiB', '020000000100000000', /4294967296 bytes; at most 4294967295/],
  ['a frame of 2^63 bytes', '028000000000000000', /a frame of 922337203685477\d+ bytes/],
  ['a frame of 2^64 - 1 bytes', '02ffffffffffffffff', /a frame of \d+ bytes/],
  ['a command of 65,537 bytes', '060000000000010001', /a command of 65537 bytes; at most 65536/],
]

for (const [name, hex, why] of refused) {
  test(`refused: ${name}, in one chunk, after a message, and byte by byte`, () => {
    const bytes = Buffer.from(hex, 'hex')
    const matches = (error: unknown): boolean =>
      error instanceof ProtocolError && why.test(error.message)
    const whole = openParser()
    assert.throws(() => whole.parser.feed(bytes, 0, whole.messages), matches)
    const after = openParser()
    const chunk = Buffer.concat([message([Buffer.from('good')]), bytes])
    assert.throws(() => after.parser.feed(chunk, 0, after.messages), matches)
    assert.deepEqual(after.messages.map(shown), [['good']])
    const slow = openParser()
    assert.throws(() => {
      for (const byte of bytes) slow.parser.feed(Buffer.from([byte]), 0, slow.messages)
    }, matches)
  })
}

test('a frame just over the limit is refused, one of its size accepted', () => {
  const { parser, messages } = openParser({ maxFrameBytes: 300, maxFramesPerMessage: 2 })
  parser.feed(message([Buffer.alloc(300)]), 0, messages)
  assert.equal(messages.length, 1)
  assert.throws(() => parser.feed(message([Buffer.alloc(301)]), 0, messages), /at most 300/)
})

test('endless frames of one message are refused at the limit', () => {
  const { parser, messages } = openParser({ maxFrameBytes: 300, maxFramesPerMessage: 2 })
  parser.feed(message([Buffer.from('a'), Buffer.from('b')]), 0, messages)
  assert.deepEqual(messages.map(shown), [['a', 'b']])
  const more = frame(Buffer.from('a'), FLAG_MORE)
  parser.feed(Buffer.concat([more, more]), 0, messages)
  assert.throws(() => parser.feed(more, 0, messages), /more than 2 frames/)
})

test('before messages are allowed, only commands are', () => {
  const commands: string[] = []
  const parser = new FrameParser(LIMITS, (body) => commands.push(body.toString()))
  parser.feed(frame(Buffer.from('hello'), FLAG_COMMAND), 0, [])
  assert.deepEqual(commands, ['hello'])
  assert.throws(() => parser.feed(frame(Buffer.alloc(0)), 0, []), /a message before READY/)
})

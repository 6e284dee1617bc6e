// Properties of the codec by itself: encoding and decoding returns the same message.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { joinBytes } from '#src/base/bytes.js'
import { decode, encode, encodeFrame, type Message } from '#src/wire/message.js'
import { comparable } from './comparable.js'
import { anyMessage } from './message-arbitrary.js'

const RUNS = { numRuns: 1000 }

function frameOf(message: Message): Uint8Array {
  const frame = encodeFrame(message)
  return frame instanceof Uint8Array ? frame : joinBytes(frame)
}

describe('any message', () => {
  test('decodes to the encoded message', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        assert.deepEqual(comparable(decode(encode(message))), comparable(message))
      }),
      RUNS,
    )
  })

  test('decodes from a position that is not a multiple of 8', () => {
    fc.assert(
      fc.property(anyMessage, fc.integer({ min: 1, max: 7 }), (message, offset) => {
        const frame = Buffer.concat([Buffer.alloc(offset, 0xff), encode(message)]).subarray(offset)
        assert.deepEqual(comparable(decode(frame)), comparable(message))
      }),
      RUNS,
    )
  })

  test('decodes from a plain Uint8Array', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const frame = Uint8Array.from(encode(message))
        assert.deepEqual(comparable(decode(frame)), comparable(message))
      }),
      { numRuns: 200 },
    )
  })

  test('is the same with extra bytes after its last segment', () => {
    fc.assert(
      fc.property(anyMessage, fc.integer({ min: 1, max: 5 }), (message, words) => {
        const frame = Buffer.concat([encode(message), Buffer.alloc(words * 8, 0xff)])
        assert.deepEqual(comparable(decode(frame)), comparable(message))
      }),
      { numRuns: 200 },
    )
  })

  test('has byte strings of any size in a frame', () => {
    const large = fc.integer({ min: 16_380, max: 16_400 }).map((length) => Buffer.alloc(length, 7))
    const sizes = fc.array(fc.oneof(large, fc.uint8Array({ maxLength: 9 })), { maxLength: 6 })
    fc.assert(
      fc.property(sizes, sizes, anyMessage, (objectNames, chunks, like) => {
        const message: Message = {
          kind: 'objectResponse',
          responseType: 'content',
          objectContent: {
            objectIds: like.kind === 'objectRequest' ? like.objectIds : [],
            objectTypes: ['object'],
            objectNames,
            objectBytes: [chunks, [], chunks],
          },
        }
        const frame = frameOf(message)
        assert.deepEqual(comparable(decode(frame)), comparable(message))
        assert.equal(frame.byteLength, encode(message).byteLength)
      }),
      { numRuns: 200 },
    )
  })

  test('is sent on as the bytes in which it arrived', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const frame = encode(message)
        const decoded = decode(frame)
        assert.equal(decoded.bytes, frame)
        assert.equal(encode(decoded), frame)
        assert.equal(encodeFrame(decoded), frame)
      }),
      { numRuns: 200 },
    )
  })
})

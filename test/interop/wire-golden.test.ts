// The bytes of real 1.9.9 processes, read and written.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { joinBytes } from '#src/base/bytes.js'
import { decode, encode, encodeFrame, type Message } from '#src/wire/message.js'
import { comparable } from './comparable.js'
import { GOLDEN_MESSAGES, goldenTwoSegments } from './golden-messages.js'

/** The message without its source frame, so that it has to be encoded. */
function fresh(message: Message): Message {
  return { ...message, bytes: undefined }
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

describe('golden messages', () => {
  for (const { name, bytes, message } of GOLDEN_MESSAGES) {
    test(`${name}: decodes to its fields`, () => {
      assert.deepEqual(comparable(decode(bytes)), comparable(message))
    })

    test(`${name}: encodes to its bytes`, () => {
      assert.equal(hexOf(encode(message)), hexOf(bytes))
      assert.equal(hexOf(encode(fresh(decode(bytes)))), hexOf(bytes))
    })

    test(`${name}: is one piece as a frame`, () => {
      const frame = encodeFrame(message)
      assert.ok(frame instanceof Uint8Array)
      assert.equal(hexOf(frame), hexOf(bytes))
    })
  }

  test('there is one of every kind', () => {
    const kinds = new Set(GOLDEN_MESSAGES.map(({ message }) => message.kind))
    assert.equal(kinds.size, 24)
  })

  test('two segments decode like one', () => {
    const { bytes, message } = goldenTwoSegments()
    assert.deepEqual(comparable(decode(bytes)), comparable(message))
    assert.deepEqual(comparable(decode(encode(message))), comparable(message))
  })

  test('a byte string of 16 KiB is referenced by a frame, not copied', () => {
    const { message } = goldenTwoSegments()
    const frame = encodeFrame(message)
    assert.ok(!(frame instanceof Uint8Array))
    assert.equal(frame.length, 2)
    assert.ok(message.kind === 'objectInstruction')
    assert.equal(frame[1], message.objectContent.objectBytes[0]?.[0])
    assert.deepEqual(comparable(decode(joinBytes(frame))), comparable(message))
  })
})

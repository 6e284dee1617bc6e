import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BYTES } from '../../base/bytes.js'
import { objectId } from '../../base/ids.js'
import { encode } from '../../wire/message.js'
import { Arrivals } from './arrival.js'

const ID = objectId('o'.repeat(24))
const CONTENT = Buffer.from(Array.from({ length: 300 }, (_, index) => 1 + (index % 250)))

/** A response with the content, whose name does not end with a word. */
const RESPONSE = Buffer.from(
  encode({
    kind: 'objectResponse',
    responseType: 'content',
    objectContent: {
      objectIds: [ID],
      objectTypes: ['object'],
      objectNames: [Buffer.from('name')],
      objectBytes: [[CONTENT]],
    },
  }),
)

test('wherever the first part of a message ends, its content arrives unchanged, or not here', () => {
  let kept = 0
  for (let length = 1; length < RESPONSE.byteLength; length += 1) {
    const pieces: Buffer[] = []
    const content = {
      write: (bytes: Uint8Array) => void pieces.push(Buffer.from(bytes)),
      finish: () => ({ type: 'object' as const, chunks: [Buffer.concat(pieces)] }),
      drop: () => {},
    }
    const store = { open: () => content, drop: () => {} }
    const arrivals = new Arrivals(() => ({ byteLength: CONTENT.byteLength, store }))
    const head = Buffer.from(RESPONSE.subarray(0, length))
    const sink = arrivals.begin(head, RESPONSE.byteLength)
    if (sink === undefined) continue
    sink(RESPONSE.subarray(length))
    const [bytes = NO_BYTES] = arrivals.finish(head)?.part.chunks ?? []
    assert.deepEqual(Buffer.from(bytes), CONTENT, `the first part has ${length} bytes`)
    kept += 1
  }
  assert(kept >= CONTENT.byteLength)
})

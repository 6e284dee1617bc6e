// The conformance matrix: each role of ours against libzmq's, over each carrier, in each direction.
// Every row is a test, so that a run prints the matrix.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { libzmqTest } from './libzmq.js'
import {
  CARRIERS,
  ourDealerTheirRouter,
  ourPubTheirSub,
  ourRouterTheirDealer,
  ourSubTheirPub,
  type Carrier,
  type Frames,
  type Pair,
  type Side,
} from './zmtp-harness.js'

interface Role {
  readonly name: string
  readonly open: (t: TestContext, carrier: Carrier) => Promise<Pair>
  /** The sender. */
  readonly senders: readonly Side[]
}

const BOTH: readonly Side[] = ['ours', 'theirs']

const ROLES: readonly Role[] = [
  { name: 'our ROUTER bound, their DEALER', open: ourRouterTheirDealer, senders: BOTH },
  { name: 'our DEALER, their ROUTER bound', open: ourDealerTheirRouter, senders: BOTH },
  { name: 'our PUB bound, their SUB', open: ourPubTheirSub, senders: ['ours'] },
  { name: 'our SUB, their PUB bound', open: ourSubTheirPub, senders: ['theirs'] },
]

/** Bytes that differ from place to place, and from message to message. */
function body(size: number, seed: number): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  for (let at = 0; at < size; at += 1) bytes[at] = (at * 7 + (at >> 8) * 13 + seed) % 256
  return bytes
}

const MIB = 1024 ** 2

const ROWS: readonly (readonly [name: string, messages: () => readonly Frames[]])[] = [
  ['an empty message', () => [[body(0, 1)], [body(1, 2)]]],
  ['1 byte', () => [[body(1, 3)]]],
  ['255 bytes, the longest short frame', () => [[body(255, 4)]]],
  ['256 bytes, the shortest long frame', () => [[body(256, 5)]]],
  ['65,535 bytes', () => [[body(65_535, 6)]]],
  ['1 MiB', () => [[body(MIB, 7)]]],
  ['20 MiB', () => [[body(20 * MIB, 8)]]],
  ['two frames', () => [[body(10, 9), body(300, 10)]]],
  ['eight frames, some empty', () => [[0, 1, 0, 255, 256, 0, 70_000, 0].map(body)]],
  [
    'large and small ones mixed',
    () => [0, 3 * MIB, 1, 100_000, 16_384, 2, 65_536].map((size) => [body(size, size)]),
  ],
  [
    '10,000 messages in order',
    () => Array.from({ length: 10_000 }, (_, index) => [body(index % 300, index)]),
  ],
]

for (const carrier of CARRIERS) {
  for (const { name: role, open, senders } of ROLES) {
    for (const sender of senders) {
      for (const [row, messages] of ROWS) {
        const way = sender === 'ours' ? 'ours to theirs' : 'theirs to ours'
        libzmqTest(`${carrier} | ${role} | ${way} | ${row}`, async (t) => {
          const pair = await open(t, carrier)
          const sent = messages()
          const { received } = sender === 'ours' ? pair.theirs : pair.ours
          for (const frames of sent) await pair[sender].send(frames)
          await received.until('all have come', (events) => events.length >= sent.length)
          assertSame(received.events, sent)
        })
      }
    }
  }
}

/** Like `deepEqual`, which takes seconds for megabytes. */
function assertSame(got: readonly Frames[], expected: readonly Frames[]): void {
  assert.equal(got.length, expected.length)
  for (const [index, frames] of expected.entries()) {
    const sizes = (each: Frames | undefined): number[] => (each ?? []).map(({ length }) => length)
    assert.deepEqual(sizes(got[index]), sizes(frames), `message ${index}`)
    const isSame = frames.every((frame, at) => got[index]?.[at]?.equals(frame))
    assert(isSame, `message ${index} differs`)
  }
}

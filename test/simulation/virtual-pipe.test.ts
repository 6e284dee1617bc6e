// The simulated network itself: what it promises to the machines.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from './random.js'
import { VirtualClock } from './virtual-clock.js'
import { VirtualPipe } from './virtual-pipe.js'

test('frames that are sent during a stall arrive in order', () => {
  const clock = new VirtualClock()
  const arrived: string[] = []
  const reader = {
    whenReading: (read: () => void) => read(),
    onFrame: ({ bytes }: { readonly bytes: Uint8Array }) => {
      arrived.push(Buffer.from(bytes).toString())
    },
    onProgress: () => {},
  }
  const settings = {
    minDelayMs: 1,
    maxDelayMs: 1,
    bytesPerMs: 1e6,
    windowBytes: 1e6,
    highWaterMarkBytes: 1e6,
    readGapMs: 0,
  }
  const pipe = new VirtualPipe(clock, new Random(1), settings, { reader, onWritten: () => {} })
  pipe.stall(100)
  // The second one is in transit when the first one has met the stall, and the third one is sent.
  for (const [at, text] of [
    [10, 'a'],
    [10.5, 'b'],
    [11.2, 'c'],
  ] as const) {
    clock.at(at, () => pipe.send('message', Buffer.from(text)))
  }
  while (clock.step(1_000));
  assert.deepEqual(arrived, ['a', 'b', 'c'])
})

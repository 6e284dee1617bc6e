import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Delivery, ReadTurn } from './delivery.js'
import type { IncomingMessage } from './options.js'

/** Many more than are delivered between two checks of the clock. */
const MANY = 1000

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

function messages(from: number, count: number): readonly Buffer[] {
  return Array.from({ length: count }, (_, index) => Buffer.from(String(from + index)))
}

/** A delivery with its own clock, and what it did. */
class Scene {
  now = 0
  /** How long the delivery of one message takes. */
  costMs = 0
  readonly turns: ReadTurn = new ReadTurn(() => this.now)
  readonly seen: number[] = []
  readonly batches: number[] = []
  readonly holds: string[] = []
  readonly delivery: Delivery<undefined> = new Delivery(
    this.turns,
    {
      deliver: (_, batch) => this.#take(batch),
      hold: () => this.holds.push('hold'),
      release: () => this.holds.push('release'),
    },
    undefined,
  )
  failsAt: number | undefined
  stopsAt: number | undefined

  #take(batch: readonly IncomingMessage[]): void {
    this.batches.push(batch.length)
    for (const message of batch) this.seen.push(Number(String(message)))
    this.now += this.costMs * batch.length
    if (this.stopsAt !== undefined && this.seen.length >= this.stopsAt) {
      this.stopsAt = undefined
      this.delivery.stop()
    }
    if (this.failsAt !== undefined && this.seen.length >= this.failsAt) {
      this.failsAt = undefined
      throw new Error('the owner fails')
    }
  }
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index)
}

test('what fits into one turn is delivered immediately', () => {
  const scene = new Scene()
  scene.delivery.add(messages(0, 3))
  assert.deepEqual(scene.seen, upTo(3))
  assert.deepEqual(scene.batches, [3])
  scene.delivery.add(messages(3, MANY))
  assert.deepEqual(scene.seen, upTo(MANY + 3))
  assert.deepEqual(scene.holds, [])
})

test('the rest is delivered in later turns, in order, with reading paused', async () => {
  const scene = new Scene()
  scene.costMs = 0.1
  scene.delivery.add(messages(0, MANY))
  assert(scene.delivery.isHeld)
  assert.deepEqual(scene.holds, ['hold'])
  let before = scene.seen.length
  assert(before > 0 && before < MANY)
  // Read before the pause took effect.
  scene.delivery.add(messages(MANY, MANY))
  assert.equal(scene.seen.length, before)
  while (scene.delivery.isHeld) {
    await turn()
    const { length } = scene.seen
    assert(length > before && length - before < MANY / 4, 'each turn does a part')
    before = length
  }
  assert.deepEqual(scene.seen, upTo(2 * MANY))
  assert.deepEqual(scene.holds, ['hold', 'release'])
})

test('after others have used up the turn, even a read without messages waits', async () => {
  const scene = new Scene()
  assert.equal(scene.turns.isOver, false)
  scene.now += 1000
  scene.delivery.add([])
  assert.deepEqual(scene.holds, ['hold'])
  await turn()
  assert.deepEqual(scene.holds, ['hold', 'release'])
  assert.deepEqual(scene.batches, [])
})

test('after an owner throws, the rest follows in the next turn, nothing twice', async () => {
  const scene = new Scene()
  scene.failsAt = 100
  assert.throws(() => scene.delivery.add(messages(0, MANY)), /the owner fails/)
  assert(scene.delivery.isHeld)
  while (scene.delivery.isHeld) await turn()
  assert.deepEqual(scene.seen, upTo(MANY))
})

test('a closing connection delivers everything, even to an owner that throws', async () => {
  const scene = new Scene()
  scene.costMs = 1
  scene.delivery.add(messages(0, MANY))
  assert(scene.seen.length < MANY)
  scene.failsAt = scene.seen.length + 1
  assert.throws(() => scene.delivery.flush(), /the owner fails/)
  assert.deepEqual(scene.seen, upTo(MANY))
  await turn()
  assert.deepEqual(scene.holds, ['hold', 'release'])
  assert.deepEqual(scene.seen, upTo(MANY))
})

test('while it is stopped, nothing is delivered and reading is paused', async () => {
  const scene = new Scene()
  scene.stopsAt = 1
  scene.delivery.add(messages(0, 40))
  assert.deepEqual(scene.batches, [32])
  scene.delivery.add(messages(40, 10))
  await turn()
  assert.deepEqual([scene.seen.length, scene.holds], [32, ['hold']])
  assert(scene.delivery.isStopped && scene.delivery.isHeld)
  scene.delivery.start()
  assert.equal(scene.seen.length, 32)
  await turn()
  assert.deepEqual(scene.seen, upTo(50))
  assert.deepEqual(scene.holds, ['hold', 'release'])
  scene.delivery.add(messages(50, 1))
  assert.deepEqual(scene.seen, upTo(51))
})

test('it can be stopped with nothing queued, and while it waits for its turn', async () => {
  const scene = new Scene()
  scene.delivery.stop()
  scene.delivery.start()
  scene.delivery.stop()
  await turn()
  assert.deepEqual(scene.holds, ['hold'])
  scene.delivery.start()
  scene.delivery.start()
  await turn()
  assert.deepEqual(scene.holds, ['hold', 'release'])
  scene.costMs = 0.1
  scene.delivery.add(messages(0, MANY))
  scene.delivery.stop()
  const { length } = scene.seen
  await turn()
  await turn()
  assert.equal(scene.seen.length, length)
  scene.delivery.start()
  while (scene.delivery.isHeld) await turn()
  assert.deepEqual(scene.seen, upTo(MANY))
})

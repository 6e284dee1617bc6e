import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PullPace } from './window.js'

/** Pulls from an iterator that takes `inputMs` for each input until the turn is over. */
class Pulls {
  reads = 0
  inputMs: number
  readonly #pace = new PullPace(() => {
    this.reads += 1
    return this.#nowMs
  })
  #nowMs = 0

  constructor(inputMs: number) {
    this.inputMs = inputMs
  }

  /** Pulls up to `most` inputs; returns how many. */
  pull(most = Infinity): number {
    let count = 0
    this.#pace.begin()
    while (count < most && !this.#pace.isSpent) {
      const inputs = Math.min(most - count, this.#pace.ahead)
      count += inputs
      this.#nowMs += inputs * this.inputMs
      this.#pace.count(inputs)
    }
    this.#pace.end()
    return count
  }

  turn(): void {
    this.#pace.reset()
  }
}

test('a slow iterator is pulled for four milliseconds in a turn, from the first input on', () => {
  const pulls = new Pulls(1)
  assert.equal(pulls.pull(), 4)
  assert.equal(pulls.pull(), 0)
  pulls.turn()
  assert.equal(pulls.pull(), 4)
})

test('the pulls of one turn share the time', () => {
  const pulls = new Pulls(1)
  const counts = [1, 1, 1, 1, 1].map((most) => pulls.pull(most))
  assert.deepEqual(counts, [1, 1, 1, 1, 0])
})

test('an input that takes longer is the only one', () => {
  const pulls = new Pulls(50)
  assert.equal(pulls.pull(), 1)
  pulls.turn()
  assert.equal(pulls.pull(), 1)
})

test('a fast iterator costs one look at the clock for 64 inputs', () => {
  const pulls = new Pulls(0.000_1)
  assert.equal(pulls.pull(6_400), 6_400)
  assert.ok(pulls.reads <= 110, `${pulls.reads} looks`)
})

test('an iterator that becomes slow is noticed', () => {
  const pulls = new Pulls(0.001)
  pulls.pull(3_000)
  pulls.turn()
  pulls.inputMs = 1
  const first = pulls.pull()
  pulls.turn()
  assert.ok(first <= 64, `${first} inputs`)
  assert.equal(pulls.pull(), 4)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InstantMs, Machine } from '../base/machine.js'
import { type Clock, Driver } from './driver.js'

/** Time that is moved by the test. */
class HandClock implements Clock {
  #now = 0
  #timers: { readonly at: number; readonly callback: () => void }[] = []

  now(): InstantMs {
    return this.#now
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  get timerCount(): number {
    return this.#timers.length
  }

  moveTo(now: number): void {
    this.#now = now
    const due = this.#timers.filter((timer) => timer.at <= now)
    this.#timers = this.#timers.filter((timer) => timer.at > now)
    for (const timer of due) timer.callback()
  }
}

type Event = 'tick' | 'start' | 'later' | 'never' | 'fail'

class Probe implements Machine<Event, string> {
  deadline: InstantMs | undefined

  handle(event: Event, now: InstantMs, act: (action: string) => void): void {
    if (event === 'fail') throw new Error('a bug')
    if (event === 'start') this.deadline = now + 10
    if (event === 'later' && this.deadline !== undefined) this.deadline += 10
    if (event === 'never' || event === 'tick') this.deadline = undefined
    act(`${event}@${now}`)
  }

  checkInvariants(): void {}
}

function setUp(): {
  driver: Driver<Event, string>
  clock: HandClock
  actions: string[]
  faults: unknown[]
} {
  const clock = new HandClock()
  const actions: string[] = []
  const faults: unknown[] = []
  const driver = new Driver<Event, string>({
    machine: new Probe(),
    tick: 'tick',
    perform: (action) => actions.push(action),
    onFault: (error) => faults.push(error),
    clock,
  })
  return { driver, clock, actions, faults }
}

test('a machine gets its tick at its deadline, not before', () => {
  const { driver, clock, actions } = setUp()
  driver.handle('start')
  clock.moveTo(9)
  assert.deepEqual(actions, ['start@0'])
  clock.moveTo(10)
  assert.deepEqual(actions, ['start@0', 'tick@10'])
})

test('a deadline that moves later fires later; one that is removed does not fire', () => {
  const { driver, clock, actions } = setUp()
  driver.handle('start')
  driver.handle('later')
  clock.moveTo(10)
  assert.deepEqual(actions, ['start@0', 'later@0'])
  clock.moveTo(20)
  assert.deepEqual(actions, ['start@0', 'later@0', 'tick@20'])
  driver.handle('start')
  driver.handle('never')
  clock.moveTo(100)
  assert.deepEqual(actions.slice(3), ['start@20', 'never@20'])
})

test('a machine that throws is stopped and reported', () => {
  const { driver, clock, actions, faults } = setUp()
  driver.handle('start')
  driver.handle('fail')
  driver.handle('start')
  clock.moveTo(50)
  assert.deepEqual(actions, ['start@0'])
  assert.equal(faults.length, 1)
  assert.equal(clock.timerCount, 0)
})

test('a stopped driver has no timer and handles nothing', () => {
  const { driver, clock, actions } = setUp()
  driver.handle('start')
  driver.stop()
  driver.stop()
  assert.equal(clock.timerCount, 0)
  driver.handle('start')
  assert.deepEqual(actions, ['start@0'])
})

// When an idle processor is asked to collect garbage.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Turn } from '../../../base/machine.js'
import type { WorkerAction, WorkerCoreOptions } from '../events.js'
import { ScriptedWorker, resultOf, taskOf } from '../scripted-worker.test.js'
import { IdleCollection, type IdleCollectionOptions } from './slot.js'

const REST_MS = 500
const GIB = 2 ** 30

/** Heartbeats, and what scripted schedulers do not answer, are not in the way. */
const QUIET = { heartbeatIntervalMs: 3_600_000, deathTimeoutMs: 86_400_000 }

/** An idle collection, its clock, and the thresholds in bytes of its requests. */
class Fixture {
  readonly collection: IdleCollection
  readonly #turn = new Turn<WorkerAction>()
  readonly #asked: number[] = []

  constructor(options: Partial<IdleCollectionOptions>) {
    const never = { garbageCollectIntervalMs: 0, trimMemoryThresholdBytes: 0 }
    this.collection = new IdleCollection(this.#turn, { ...never, ...options })
    this.#setTime(0)
    this.collection.onProcessorStarted()
    this.collection.update(true)
  }

  /** When it is called next. */
  get deadline(): number | undefined {
    return this.#turn.nextAlarmAt
  }

  /** What is requested while the processor rests for this long. */
  rest(ms: number): number[] {
    const end = this.#turn.now + ms
    this.collection.update(true)
    this.#ringUntil(end)
    return this.#asked.splice(0)
  }

  work(ms: number): void {
    this.collection.update(false)
    this.#ringUntil(this.#turn.now + ms)
    assert.deepEqual(this.#asked, [], 'never while it works')
  }

  #ringUntil(end: number): void {
    for (let at = this.deadline; at !== undefined && at <= end; at = this.deadline) {
      this.#setTime(Math.max(this.#turn.now, at))
      this.#turn.ring()
    }
    this.#setTime(end)
  }

  #setTime(now: number): void {
    this.#turn.begin(now, (action) => {
      if (action.type === 'collectGarbage') this.#asked.push(action.aboveBytes)
    })
  }
}

test('a processor that has worked collects garbage once it rests, no more often than said', () => {
  const fixture = new Fixture({ garbageCollectIntervalMs: 30_000 })
  fixture.work(60_000)
  assert.deepEqual(fixture.rest(REST_MS - 1), [], 'the next task may be on its way')
  assert.deepEqual(fixture.rest(1), [0])
  fixture.work(1_000)
  assert.deepEqual(fixture.rest(28_999), [])
  assert.deepEqual(fixture.rest(1), [0])
  assert.deepEqual(fixture.rest(3_600_000), [], 'it has not worked since')
})

test('the interval begins with the processor, which has nothing to collect before it works', () => {
  const fixture = new Fixture({ garbageCollectIntervalMs: 30_000 })
  assert.deepEqual(fixture.rest(20_000), [])
  fixture.work(1)
  assert.deepEqual(fixture.rest(9_998), [])
  assert.deepEqual(fixture.rest(1), [0])
  fixture.work(10)
  fixture.collection.onProcessorStarted()
  assert.deepEqual(fixture.rest(3_600_000), [], 'this one has not worked')
})

test('short rests between tasks are no time to collect garbage', () => {
  const fixture = new Fixture({ garbageCollectIntervalMs: 100 })
  for (let i = 0; i < 100; i += 1) {
    fixture.work(100)
    assert.deepEqual(fixture.rest(REST_MS - 1), [])
  }
})

test('what holds much memory may be asked sooner, but not all the time', () => {
  const fixture = new Fixture({ garbageCollectIntervalMs: 60_000, trimMemoryThresholdBytes: GIB })
  fixture.work(100)
  assert.deepEqual(fixture.rest(1_000), [GIB])
  fixture.work(100)
  assert.deepEqual(fixture.rest(4_000), [])
  assert.deepEqual(fixture.rest(1_000), [GIB])
  assert.deepEqual(fixture.rest(60_000), [0], 'the interval is over')
  assert.deepEqual(fixture.rest(60_000), [])
})

test('with 0 neither is ever done', () => {
  const fixture = new Fixture({})
  fixture.work(100)
  assert.equal(fixture.deadline, undefined)
  assert.deepEqual(fixture.rest(3_600_000), [])
})

/** A worker that collects garbage each second. */
function collectingWorker(options: Partial<WorkerCoreOptions> = {}): ScriptedWorker {
  return ScriptedWorker.ready({ ...QUIET, garbageCollectIntervalMs: 1_000, ...options })
}

test('a worker asks its processor when no task is left', () => {
  const worker = collectingWorker()
  worker.pass(10_000)
  worker.run('a')
  assert.deepEqual(worker.pass(10_000), [], 'a runs')
  worker.answer(resultOf('a'))
  assert.deepEqual(worker.pass(REST_MS - 1), [])
  assert.deepEqual(worker.pass(1), ['collectGarbage'])
  assert.deepEqual(worker.pass(10_000), [])
})

test('a worker leaves its processor alone while a task waits for others', () => {
  const worker = collectingWorker()
  worker.run('a')
  worker.update('a', 'waiting')
  assert.deepEqual(worker.pass(60_000), [])
  worker.update('a', 'resumed')
  worker.answer(resultOf('a'))
  assert.deepEqual(worker.pass(REST_MS), ['collectGarbage'])
})

test('a worker leaves its processor alone while a task fetches what it needs', () => {
  const worker = collectingWorker()
  worker.run('a')
  worker.answer(resultOf('a'))
  worker.receive(taskOf('b', { fn: 'another' }))
  assert.deepEqual(worker.pass(60_000), [])
})

test('a task that comes when garbage was due goes first', () => {
  const worker = collectingWorker()
  worker.run('a')
  worker.answer(resultOf('a'))
  worker.now += 10_000
  assert.deepEqual(worker.receive(taskOf('b')), ['dispatch b'])
})

// How long one client waits for another, with workers on a virtual clock.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, objectId } from '../../base/ids.js'
import { decode, encode, type Message } from '../../wire/message.js'
import type { SchedulerAction } from './events.js'
import { child, instruction, result, task, withPeers } from './scheduler.kit.js'

/** The measured work that a worker holds, in milliseconds (core/scheduler/worker/pool.ts). */
const WINDOW_MS = 20

/** Workers that run their tasks in order, each for `taskMs`. */
class Simulation {
  readonly #scheduler
  readonly #taskMs: number
  readonly #queues = new Map<string, string[]>()
  /** When the first task in a worker's queue finishes. */
  readonly #ends = new Map<string, number>()
  /** When each task's result reached its client. */
  readonly finished = new Map<string, number>()
  now = 0

  constructor(workerCount: number, taskMs: number) {
    const workers = Array.from({ length: workerCount }, (_, index) => `W${index}`)
    this.#scheduler = withPeers({ clients: ['A', 'B'], workers })
    this.#scheduler.receive('B', instruction('create', 'B', ['g']))
    this.#taskMs = taskMs
    for (const worker of workers) this.#queues.set(worker, [])
  }

  say(from: string, message: Message): void {
    const decoded = decode(encode(message))
    const event = { type: 'messageReceived', from: identity(from), message: decoded } as const
    this.#scheduler.machine.handle(event, this.now, (action) => this.#onAction(action))
  }

  /** Lets time pass until all of these have ended, or nothing more happens. */
  runUntil(ids: readonly string[]): void {
    while (!ids.every((id) => this.finished.has(id)) && this.#ends.size > 0) this.#step()
    this.#scheduler.machine.checkInvariants()
  }

  /** Lets this many tasks finish. */
  run(count: number): void {
    for (let left = count; left > 0; left -= 1) this.#step()
  }

  #step(): void {
    const [worker, at] = [...this.#ends].reduce((a, b) => (b[1] < a[1] ? b : a))
    this.now = at
    const queue = this.#queues.get(worker) as string[]
    const id = queue.shift() as string
    if (queue.length === 0) this.#ends.delete(worker)
    else this.#ends.set(worker, at + this.#taskMs)
    this.say(worker, result(id, 'success', this.#taskMs / 1000))
  }

  #onAction(action: SchedulerAction): void {
    if (action.type !== 'forward') return
    const message = decode(action.bytes)
    if (message.kind === 'taskResult') this.finished.set(message.taskId, this.now)
    if (message.kind !== 'task') return
    const queue = this.#queues.get(action.to) as string[]
    if (queue.push(message.taskId) === 1) this.#ends.set(action.to, this.now + this.#taskMs)
  }
}

const TEN = Array.from({ length: 10 }, (_, index) => `b${index}`)

/** How long ten tasks of B take that arrive while A has `backlog` tasks waiting. */
function delayMs(options: {
  readonly workers: number
  readonly taskMs: number
  readonly backlog: number
  readonly isNewFunction?: boolean
}): number {
  const simulation = new Simulation(options.workers, options.taskMs)
  for (let i = 0; i < options.backlog; i += 1) simulation.say('A', task(`a${i}`, 'A'))
  // By then the function is measured, and the workers hold as many tasks as they may.
  simulation.run(options.workers * 4)
  const start = simulation.now
  const fn = options.isNewFunction === true ? { funcObjectId: objectId('g') } : {}
  for (const id of TEN) simulation.say('B', { ...task(id, 'B'), ...fn })
  simulation.runUntil(TEN)
  return Math.max(...TEN.map((id) => simulation.finished.get(id) ?? Infinity)) - start
}

for (const [workers, taskMs] of [
  [1, 1],
  [4, 1],
  [4, 7],
  [3, 50],
  [16, 0.25],
] as const) {
  test(`ten tasks of a second client wait little: ${workers} workers, tasks of ${taskMs} ms`, () => {
    const backlogMs = Math.max(WINDOW_MS, taskMs)
    // The clients take turns: B's ten are among the next twenty, after the tasks that workers hold.
    const boundMs = backlogMs + (Math.ceil(20 / workers) + 1) * taskMs
    const delay = delayMs({ workers, taskMs, backlog: 2000 })
    assert.ok(delay <= boundMs, `${delay} ms, more than ${boundMs}`)
  })
}

test('the number of waiting tasks of the first client does not affect the second', () => {
  const delays = [300, 3000, 30_000].map((backlog) => delayMs({ workers: 4, taskMs: 2, backlog }))
  assert.deepEqual(delays, [delays[0], delays[0], delays[0]])
})

test('ten tasks of an unmeasured function wait little longer', () => {
  for (const [workers, taskMs] of [
    [1, 1],
    [4, 1],
    [4, 7],
  ] as const) {
    // The first one needs an idle worker; then the function is measured, as above.
    const boundMs = 2 * (WINDOW_MS + taskMs) + (Math.ceil(20 / workers) + 1) * taskMs
    const delay = delayMs({ workers, taskMs, backlog: 2000, isNewFunction: true })
    assert.ok(delay <= boundMs, `${delay} ms with ${workers} workers, more than ${boundMs}`)
  }
})

test('children run before waiting top-level tasks of any client', () => {
  const simulation = new Simulation(2, 5)
  for (let i = 0; i < 200; i += 1) simulation.say('A', task(`a${i}`, 'A'))
  simulation.run(20)
  const children = Array.from({ length: 30 }, (_, index) => `c${index}`)
  const before = simulation.finished.size
  for (const id of children) simulation.say('B', child(id, 'B', 'a199'))
  simulation.runUntil(children)
  // Only tasks that workers already hold come before them: four tasks each fill the window.
  assert.ok(simulation.finished.size - before <= children.length + 2 * 5)
})

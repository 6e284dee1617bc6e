// Slices of runs in a processor: what each task sees, and what is reported of it, is the same as if
// it had arrived alone.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type TaskId, taskId } from '../../base/ids.js'
import type { TaskResult } from '../../wire/message.js'
import { countOf, layoutOf, nthTaskId } from '../../wire/run.js'
import { pack } from '../../wire/run.kit.js'
import { PackedReader } from '../../serializer/value/packed/reader.js'
import { runnableTask, type RunnableFacts } from '../runnable-task.kit.js'
import { PackedArguments } from './call.js'
import { StoredObject } from './objects.js'
import { Setup } from './runner.kit.js'

const FIRST = taskId('\0\0middle-bytes\0\0')

function nth(n: number): TaskId {
  return nthTaskId(FIRST, n)
}

/** A runner that gets slices. The argument of each task is its index. */
class SliceSetup extends Setup {
  #next = 0

  constructor() {
    super()
    for (let index = 0; index < 64; index += 1) this.codec.values.set(String(index), index)
  }

  /** Adds `count` tasks with the next ids. */
  addSlice(fn: string, count: number, facts: RunnableFacts = {}): void {
    const first = this.#next
    this.#next += count
    const entries = Array.from({ length: count }, (_, n) => {
      const text = Buffer.from(String(first + n))
      return Buffer.concat([Buffer.from([15, text.length, 0, 0, 0]), text])
    })
    const object = new StoredObject([Buffer.from(fn)])
    const task = runnableTask(nth(first), fn, this.codec, { fn: object, ...facts })
    const { attempt, keepsResult } = task
    const packed = { taskId: nth(first), attempt, keepsResult, count, packed: pack(entries) }
    this.runner.addSlice(task, new PackedArguments(packed))
  }

  /** All answers, one line for each task: its number, and its result or status. */
  get answers(): string[] {
    return this.outbox.results.flatMap((result) => this.#linesOf(result))
  }

  #linesOf(result: TaskResult): string[] {
    const count = countOf(result)
    const numbers = Array.from({ length: count }, (_, n) => numberOf(nthTaskId(result.taskId, n)))
    if (result.packed.byteLength === 0) return numbers.map((n) => `${n} ${result.status}`)
    assert.equal(result.status, 'success')
    const source = {
      deserialize: (bytes: Uint8Array) => Buffer.from(bytes).toString(),
      serialize: () => assert.fail(),
    }
    const layout = layoutOf(result.packed, count)
    const reader = new PackedReader(result.packed, layout, source)
    return numbers.map((n, index) => `${n} = ${String(reader.value(index))}`)
  }
}

function numberOf(id: TaskId): number {
  return Buffer.from(id, 'latin1').readUInt16BE(14)
}

async function settle(setup: SliceSetup): Promise<void> {
  for (let turn = 0; turn < 1_000 && !setup.runner.isIdle; turn += 1) await nextTurn()
  setup.runner.flush()
}

test('results of a slice leave in one message, with the duration of each task', () => {
  const setup = new SliceSetup()
  setup.define('double', (n: number) => {
    setup.now += 0.25 * (n + 1)
    return 2 * n
  })
  setup.addSlice('double', 4, { attempt: 2 })
  setup.runner.run()
  assert.deepEqual(setup.answers, ['0 = 0', '1 = 2', '2 = 4', '3 = 6'])
  const durations = setup.outbox.results.flatMap(({ metadata, attempt }) => {
    assert.equal(attempt, 2)
    const bytes = Buffer.from(metadata)
    return Array.from({ length: bytes.length / 4 }, (_, n) => bytes.readFloatBE(4 * n))
  })
  assert.deepEqual(
    durations,
    [1, 2, 3, 4].map((n) => Math.fround(0.00025 * n)),
  )
  assert.equal(setup.outbox.batches.length, 1)
  assert.equal(setup.runner.isIdle, true)
})

test('results do not wait for long, and the event loop gets its turn', async () => {
  const setup = new SliceSetup()
  let turns = 0
  setup.define('short', (n: number) => {
    setup.now += 0.15
    return n
  })
  setup.addSlice('short', 64)
  setup.runner.run()
  setImmediate(() => (turns += 1))
  assert.equal(setup.answers.length, 27, '4 ms')
  await settle(setup)
  assert.equal(setup.answers.length, 64)
  assert.equal(turns, 1)
  const counts = setup.outbox.results.map(({ count }) => count)
  assert.deepEqual(counts, [27, 27, 10])
})

test('few results wait behind those of other tasks, which the guardian could not send', () => {
  const setup = new SliceSetup()
  const left: number[] = []
  setup.define('quick', (n: number) => {
    if (n >= 60) left.push(setup.outbox.bytes)
    setup.now += 0.001
    return n
  })
  const fn = new StoredObject([Buffer.from('quick')])
  for (const [attempt, count] of [10, 10, 40, 1, 1].entries()) {
    setup.addSlice('quick', count, { attempt, fn })
  }
  setup.runner.run()
  assert.deepEqual(left, [2, 0], 'messages of 10 results each; with those of the other 40: none')
})

test('a task that throws fails alone', () => {
  const setup = new SliceSetup()
  setup.define('odd', (n: number) => {
    if (n % 2 === 0) throw new RangeError(`even ${n}`)
    return n
  })
  setup.addSlice('odd', 5)
  setup.runner.run()
  assert.deepEqual(setup.answers, ['0 failed', '1 = 1', '2 failed', '3 = 3', '4 failed'])
  const texts = setup.outbox.results.flatMap(({ error }) => error.map(({ message }) => message))
  assert.deepEqual(texts, ['even 0', 'even 2', 'even 4'])
  assert.equal(setup.runner.exitNote, 'nothing')
})

test('results that cannot be serialized, or are large', () => {
  const setup = new SliceSetup()
  setup.runner.setHost({
    address: '',
    worker: setup.runner.host.worker,
    inlineLimitBytes: 10,
    taskTimeoutMs: 0,
  })
  setup.define('mixed', (n: number) => (n === 1 ? Symbol('no') : n === 2 ? 'x'.repeat(20) : n))
  setup.addSlice('mixed', 4, { keepsResult: true })
  setup.runner.run()
  assert.deepEqual(setup.answers, ['0 = 0', '1 failed', '2 success', '3 = 3'])
  assert.equal(setup.kept.size, 1)
  const lengths = setup.outbox.results.map(({ inlineResults }) => inlineResults[0]?.byteLength ?? 0)
  assert.equal(lengths[2], 22)
})

test('each task sees its own id, number and state', async () => {
  const setup = new SliceSetup()
  const ids: string[] = []
  setup.define('who', (n: number) => {
    ids.push(setup.scope.taskId)
    assert.equal(setup.scope.context.attempt, 1)
    setup.scope.context.setProgress(n, 10)
    return setup.scope.context.name
  })
  setup.addSlice('who', 3, { name: 'me' })
  setup.runner.run()
  await settle(setup)
  assert.deepEqual(ids, [nth(0), nth(1), nth(2)])
  assert.deepEqual(setup.answers, ['0 = "me"', '1 = "me"', '2 = "me"'])
  assert.equal(setup.outbox.story.filter((line) => line.includes('progress')).length, 3)
})

test('tasks do not see the asynchronous state of each other', () => {
  const setup = new SliceSetup()
  const storage = new AsyncLocalStorage<number>()
  const seen: (number | undefined)[] = []
  setup.define('enter', (n: number) => {
    seen.push(storage.getStore())
    storage.enterWith(n)
  })
  setup.addSlice('enter', 3)
  setup.runner.run()
  assert.deepEqual(seen, [undefined, undefined, undefined])
})

test('asynchronous tasks run one after the other', async () => {
  const setup = new SliceSetup()
  let running = 0
  setup.define('later', async (n: number) => {
    running += 1
    assert.equal(running, 1)
    await nextTurn()
    running -= 1
    if (n === 2) throw new Error('no')
    return n === 1 ? setup.scope.taskId.length : n
  })
  setup.addSlice('later', 4)
  setup.addSlice('later', 2)
  setup.runner.run()
  assert.deepEqual(setup.runner.exitNote, { taskIds: [nth(0)] })
  assert.equal(setup.statusOf(0).isStarted, true)
  assert.equal(setup.runner.isIdle, false)
  await settle(setup)
  assert.deepEqual(setup.answers, ['0 = 0', '1 = 16', '2 failed', '3 = 3', '4 = 4', '5 = 5'])
})

test('while a task of a slice waits for its children, the next one runs', async () => {
  const setup = new SliceSetup()
  const ends: (() => void)[] = []
  setup.define('parent', async (n: number) => {
    const { scope } = setup
    scope.childStarted()
    await new Promise<void>((resolve) => ends.push(resolve))
    assert.equal(setup.scope, scope)
    scope.childEnded()
    return n
  })
  setup.addSlice('parent', 3)
  setup.runner.run()
  for (let turn = 0; turn < 10; turn += 1) await nextTurn()
  assert.equal(ends.length, 3)
  assert.deepEqual(
    [0, 1, 2].map((number) => setup.statusOf(number).isStarted),
    [true, true, true],
  )
  for (const end of ends.reverse()) {
    end()
    for (let turn = 0; turn < 3; turn += 1) await nextTurn()
  }
  await settle(setup)
  assert.deepEqual([...setup.answers].sort(), ['0 = 0', '1 = 1', '2 = 2'])
  const waits = setup.outbox.story.filter((line) => line.includes('waiting'))
  assert.equal(waits.length, 3)
})

test('tasks that were taken back or stopped do not run', async () => {
  const setup = new SliceSetup()
  setup.define('one', () => 1)
  setup.addSlice('one', 8)
  assert.equal(setup.taker.retract(1), true)
  assert.equal(setup.taker.retract(7), true)
  setup.runner.stop(nth(3), 'cancelled', 2)
  setup.runner.stop(nth(7), 'cancelled')
  setup.runner.run()
  await settle(setup)
  const answers = setup.answers.filter((line) => !line.includes('='))
  assert.deepEqual(answers, ['3 canceled', '4 canceled'])
  const ran = setup.answers.filter((line) => line.includes('='))
  assert.deepEqual(ran, ['0 = 1', '2 = 1', '5 = 1', '6 = 1'])
  assert.equal(setup.taker.retract(5), false)
})

test('a stopped task that has started learns of it', async () => {
  const setup = new SliceSetup()
  setup.define('listen', async (n: number) => {
    if (n !== 1) return n
    const { signal } = setup.scope.context
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    throw signal.reason
  })
  setup.addSlice('listen', 3)
  setup.runner.run()
  await nextTurn()
  assert.equal(setup.statusOf(1).isListening, true)
  setup.runner.stop(nth(0), 'timedOut', 3)
  await settle(setup)
  assert.deepEqual(setup.answers, ['0 = 0', '2 canceled', '1 failed'])
})

test('profiled tasks have whole profiles, and refused tasks fail', () => {
  const setup = new SliceSetup()
  setup.define('one', () => 1)
  setup.addSlice('one', 3, { isProfiled: true })
  setup.runner.run()
  assert.deepEqual(setup.answers, ['0 = 1', '1 = 1', '2 = 1'])
  assert.equal(setup.outbox.results[0]?.metadata.byteLength, 48)
  const refusal = { payload: Buffer.from('r'), text: { name: 'E', message: '', stack: '' } }
  setup.addSlice('one', 2, { refusal })
  setup.runner.run()
  assert.deepEqual(setup.answers.slice(3), ['3 failed', '4 failed'])
})

test('an urgent task runs between the tasks of a slice', async () => {
  const setup = new SliceSetup()
  const order: (number | string)[] = []
  setup.define('slow', (n: number) => {
    setup.now += 3
    order.push(n)
  })
  setup.define('urgent', () => order.push('urgent'))
  setup.addSlice('slow', 3)
  setup.runner.run()
  setup.add('u', 'urgent', { priority: 1 })
  await settle(setup)
  assert.deepEqual(order, [0, 'urgent', 1, 2])
})

test('a mutable function is new for each task', () => {
  const setup = new SliceSetup()
  let copies = 0
  setup.codec.isSteady = false
  setup.define('fresh', () => 1)
  setup.codec.onRead = (name) => (copies += name === 'fresh' ? 1 : 0)
  setup.addSlice('fresh', 3)
  setup.runner.run()
  assert.equal(copies, 3)
})

test('the result of a task that has sent something else is sent at once', () => {
  const setup = new SliceSetup()
  setup.define('tell', (n: number) => {
    if (n === 1) setup.scope.context.setProgress(1, 2)
    return n
  })
  setup.addSlice('tell', 4)
  setup.runner.run()
  assert.deepEqual(setup.answers, ['0 = 0', '1 = 1', '2 = 2', '3 = 3'])
  const batches = setup.outbox.batches.map((batch) =>
    batch.map((told) => ('count' in told ? told.count : 'progress')),
  )
  assert.deepEqual(batches, [['progress'], [2], [2]])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { NO_BYTES } from '../base/bytes.js'
import { taskId } from '../base/ids.js'
import type { Serializer } from '../serializer/serializer.js'
import type { OutgoingFrame } from '../transport/socket.js'
import { decode, type TaskResult } from '../wire/message.js'
import type { Outbox } from './outbox.js'
import { StoredObject } from './stored-object.js'
import { TaskMeter } from './task-meter.js'
import { TaskRunner, type RunnableTask } from './task-runner.js'

/** Functions and values by their name in a table: no bytes need to be made. */
class TableSerializer implements Serializer {
  readonly values = new Map<string, unknown>()

  serialize(value: unknown): Uint8Array {
    if (typeof value === 'symbol') throw new TypeError('symbols cannot travel')
    return Buffer.from(JSON.stringify(value) ?? '')
  }

  deserialize(bytes: Uint8Array): unknown {
    const name = Buffer.from(bytes).toString()
    if (!this.values.has(name)) throw new TypeError(`no ${name}`)
    return this.values.get(name)
  }
}

/** An outbox that notes what leaves it together. */
class FakeOutbox {
  readonly batches: TaskResult[][] = []
  #waiting: TaskResult[] = []

  get bytes(): number {
    return this.#waiting.length
  }

  add(_kind: number, frame: OutgoingFrame): void {
    const pieces = frame instanceof Uint8Array ? [frame] : frame
    const message = decode(Buffer.concat(pieces))
    assert.equal(message.kind, 'taskResult')
    this.#waiting.push(message)
  }

  flush(): void {
    if (this.#waiting.length > 0) this.batches.push(this.#waiting)
    this.#waiting = []
  }

  get results(): TaskResult[] {
    return this.batches.flat()
  }
}

class Setup {
  readonly serializer = new TableSerializer()
  readonly outbox = new FakeOutbox()
  readonly progress = new Int32Array(new SharedArrayBuffer(4))
  readonly runner = new TaskRunner({
    serializer: this.serializer,
    outbox: this.outbox as unknown as Outbox,
    meter: new TaskMeter(() => this.now),
    progress: this.progress,
  })
  now = 1000
  readonly #objects = new Map<string, StoredObject>()

  /** A function under a name, as one object. */
  define(name: string, fn: (...args: never[]) => unknown): void {
    this.serializer.values.set(name, fn)
    this.#objects.set(name, new StoredObject([Buffer.from(name)]))
  }

  add(id: string, fn: string, more: Partial<RunnableTask> = {}): void {
    const object = this.#objects.get(fn) ?? new StoredObject([Buffer.from(fn)])
    const task = { id: taskId(id), isProfiled: false, fn: object, inputs: [], refusal: undefined }
    this.runner.add({ ...task, isSkipped: false, ...more })
  }

  get lines(): string[] {
    return this.outbox.results.map(({ taskId: id, status, inlineResults }) => {
      return `${id} ${status} ${Buffer.concat(inlineResults).toString()}`
    })
  }
}

test('tasks run in order, and their results leave together', () => {
  const setup = new Setup()
  setup.define('one', () => 1)
  setup.serializer.values.set('argument', 20)
  setup.define('double', (x: number) => 2 * x)
  setup.add('warm', 'one')
  setup.runner.run()
  const inputs = [new StoredObject([Buffer.from('argument')])]
  for (const id of ['a', 'b', 'c']) setup.add(id, 'one')
  setup.add('d', 'double', { inputs })
  setup.runner.run()
  assert.deepEqual(setup.lines.slice(1), [
    'a success 1',
    'b success 1',
    'c success 1',
    'd success 40',
  ])
  assert.equal(setup.outbox.batches.length, 3)
  assert.equal(setup.progress[0], 10)
})

test('each result has the profile of its task', () => {
  const setup = new Setup()
  setup.define('spin', () => {
    const { user, system } = process.cpuUsage()
    const end = user + system + 20_000
    for (let used = 0; used < end; used = process.cpuUsage().user + process.cpuUsage().system);
    setup.now += 30
  })
  setup.add('a', 'spin')
  setup.runner.run()
  const [result] = setup.outbox.results
  const metadata = Buffer.from(result?.metadata ?? NO_BYTES)
  assert.equal(metadata.length, 16)
  assert.equal(metadata.readFloatBE(0), Math.fround(0.03))
  assert.ok(metadata.readFloatBE(12) >= 0.02)
})

test('whatever a task throws is its result', () => {
  const setup = new Setup()
  setup.define('fail', () => {
    throw new RangeError('no')
  })
  setup.define('symbol', () => Symbol('s'))
  setup.define('getter', () => {
    return {
      get then(): never {
        throw new Error('not thenable')
      },
    }
  })
  for (const name of ['fail', 'symbol', 'getter', 'unknown']) setup.add(name, name)
  setup.serializer.values.set('number', 5)
  setup.add('number', 'number')
  setup.define('one', () => 1)
  setup.add('argument', 'one', { inputs: [Buffer.from('nothing')] })
  setup.add('refused', 'one', { refusal: Buffer.from('refusal') })
  setup.runner.run()
  assert.deepEqual(
    setup.outbox.results.map(({ status }) => status),
    new Array(7).fill('failed'),
  )
  assert.equal(setup.lines.at(-1), 'refused failed refusal')
})

test('a task that waits holds up the next, but not the results before it', async () => {
  const setup = new Setup()
  let release = (): void => {}
  setup.define('wait', () => new Promise<void>((resolve) => (release = resolve)))
  setup.define('one', () => 1)
  setup.add('warm', 'one')
  setup.runner.run()
  setup.add('a', 'one')
  setup.add('b', 'wait')
  setup.add('c', 'one')
  setup.runner.run()
  assert.equal(setup.runner.running, 'b')
  assert.equal(setup.progress[0], 5)
  await nextTurn()
  assert.deepEqual(setup.lines.slice(1), ['a success 1'])
  setup.add('d', 'one')
  setup.runner.run()
  release()
  await nextTurn()
  await nextTurn()
  assert.deepEqual(setup.lines.slice(1), [
    'a success 1',
    'b success ',
    'c success 1',
    'd success 1',
  ])
  assert.equal(setup.runner.running, undefined)
})

test('promises that are rejected and thenables that are odd', async () => {
  const setup = new Setup()
  setup.define('reject', () => Promise.reject(new Error('no')))
  setup.define('twice', () => ({
    then: (resolve: (value: number) => void, reject: (error: Error) => void) => {
      resolve(1)
      resolve(2)
      reject(new Error('no'))
    },
  }))
  setup.define('throws', () => ({
    then: () => {
      throw new Error('no')
    },
  }))
  for (const name of ['reject', 'twice', 'throws']) setup.add(name, name)
  setup.runner.run()
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  const states = setup.lines.map((line) => line.split(' ', 2).join(' '))
  assert.deepEqual(states, ['reject failed', 'twice success', 'throws failed'])
})

test('skipped tasks are answered in their turn without running', () => {
  const setup = new Setup()
  let count = 0
  setup.define('count', () => (count += 1))
  for (const id of ['a', 'b', 'c']) setup.add(id, 'count')
  setup.runner.skip(taskId('b'))
  setup.runner.skip(taskId('unknown'))
  setup.runner.run()
  assert.deepEqual(setup.lines, ['a success 1', 'b canceled ', 'c success 2'])
  assert.equal(setup.progress[0], 6)
})

test('a result leaves before a function that was never measured, or is slow, is called', () => {
  const setup = new Setup()
  const seen: number[] = []
  setup.define('one', () => 1)
  setup.define('look', () => {
    seen.push(setup.outbox.results.length)
    if (seen.length === 2) setup.now += 0.5
  })
  for (const id of ['a', 'b']) {
    setup.add(id, 'one')
    setup.runner.run()
  }
  for (const id of ['c', 'd', 'e']) {
    setup.add(`${id}1`, 'one')
    setup.add(`${id}2`, 'look')
    setup.runner.run()
  }
  // At first nothing is known, then it was quick (one result is held), then it was slow.
  assert.deepEqual(seen, [3, 4, 7])
})

test('after a long task, and after a long burst, the event loop has its turn', async () => {
  const setup = new Setup()
  setup.define('long', () => void (setup.now += 2))
  setup.define('short', () => void (setup.now += 0.6))
  setup.add('a', 'long')
  setup.add('b', 'long')
  setup.runner.run()
  assert.deepEqual(setup.lines, ['a success '])
  await nextTurn()
  assert.deepEqual(setup.lines, ['a success ', 'b success '])
  for (let id = 0; id < 30; id += 1) setup.add(String(id), 'short')
  setup.runner.run()
  assert.equal(setup.outbox.results.length - 2, 9)
  setup.runner.run()
  assert.equal(setup.outbox.results.length - 2, 9)
  for (let turn = 0; turn < 60; turn += 1) await nextTurn()
  assert.equal(setup.outbox.results.length, 32)
})

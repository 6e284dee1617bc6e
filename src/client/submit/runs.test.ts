import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SerializeError } from '../../base/errors.js'
import { defaultSerializer, type Serializer } from '../../serializer/serializer.js'
import { codecOf } from '../../serializer/task-codec.js'
import type { Task } from '../../wire/message.js'
import { countOf } from '../../wire/run.js'
import type { Future } from '../future/future.js'
import { gather } from '../future/gather.js'
import { asCompleted } from '../future/wait.js'
import type { TaskOptions } from './task-options.js'
import { testClient, type TestClient, turn, until } from '../memory-link.test.kit.js'

const double = (x: number): number => 2 * x
const add = (a: number, b: number): number => a + b

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

/** How many tasks each message had. */
function counts(client: TestClient): readonly number[] {
  const tasks: readonly Task[] = client.scheduler.received.filter(
    ({ kind }) => kind === 'task',
  ) as readonly Task[]
  return tasks.map((task) => countOf(task))
}

test('the submits of one turn are one run', async () => {
  const client = testClient()
  const futures = range(50).map((x) => client.submitter.submit(double, [x]))
  assert.deepEqual(await Promise.all(futures), range(50).map(double))
  assert.deepEqual(counts(client), [50])
  await turn()
  assert.equal(await client.submitter.submit(double, [1]), 2)
  assert.deepEqual(counts(client), [50, 1])
  assert.deepEqual(client.scheduler.faults, [])
})

test('runs end where the function or the options change', async () => {
  const client = testClient()
  const view = client.with({ priority: 1 })
  const futures = [
    ...[1, 2].map((x) => client.submitter.submit(double, [x])),
    ...[3, 4, 5].map((x) => view.submit(double, [x])),
    ...[6, 7].map((x) => view.submit(add, [x, 1])),
  ]
  assert.deepEqual(await gather(futures), [2, 4, 6, 8, 10, 7, 8])
  assert.deepEqual(counts(client), [2, 3, 2])
})

test('equal options keep a run, wherever they come from', async () => {
  const client = testClient()
  const options = { priority: 1, retries: 2, timeoutMs: 500, maxWorkerDeaths: 1, name: 'one' }
  const capabilities = { gpu: 1, disk: -1 }
  const changes: readonly TaskOptions[] = [
    { priority: 2 },
    { retries: 3 },
    { timeoutMs: 400 },
    { maxWorkerDeaths: 2 },
    { name: 'other' },
    { profiling: true },
    { capabilities: { gpu: 2, disk: -1 } },
    { capabilities: { gpu: 1 } },
  ]
  const submit = (changed: TaskOptions = {}): Future<unknown> => {
    const view = client.with({ ...options, capabilities: { ...capabilities }, ...changed })
    return view.submit(double, [1])
  }
  await gather([
    ...range(20).map(() => submit()),
    ...changes.flatMap((changed) => [submit(changed), submit(changed)]),
  ])
  assert.deepEqual(counts(client), [20, ...changes.map(() => 2)])
})

test('a function is sent as it is at each submit', async () => {
  const client = testClient()
  let factor = 1
  const scale = (x: number): number => factor * x
  const futures = range(6).map((x) => {
    if (x === 3) factor = 10
    return client.submitter.submit(scale, [x])
  })
  assert.deepEqual(await gather(futures), [0, 1, 2, 30, 40, 50])
})

test('arguments travel as they are when they are submitted', async () => {
  const client = testClient()
  const input = { x: 1 }
  const xOf = (value: { x: number }): number => value.x
  const first = client.submitter.submit(xOf, [input])
  input.x = 2
  const second = client.submitter.submit(xOf, [input])
  assert.deepEqual(await gather([first, second]), [1, 2])
})

test('a future of the run can be an argument at once', async () => {
  const client = testClient()
  const first = client.submitter.submit(double, [1])
  const second = client.submitter.submit(double, [2])
  const sum = client.submitter.submit(add, [first, second])
  assert.equal(await sum, 6)
  assert.deepEqual(client.scheduler.faults, [])
})

test('a future of a run can be cancelled before and after it is sent', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const futures = range(5).map((x) => client.submitter.submit(double, [x]))
  assert.equal(futures[1]?.cancel('early'), true)
  await assert.rejects(Promise.resolve(futures[1]), { name: 'TaskCancelledError' })
  await until(() => client.scheduler.unfinished.size === 4)
  futures[3]?.cancel()
  assert.equal(futures[3]?.state, 'cancelled')
  await until(() => client.scheduler.unfinished.size === 3)
  client.scheduler.release()
  const rest = [0, 2, 4].flatMap((index) => futures[index] ?? [])
  assert.deepEqual(await gather(rest), [0, 4, 8])
})

test('an argument that cannot be sent rejects only its future', async () => {
  const client = testClient()
  const futures = [1, new WeakMap(), 3].map((x) => client.submitter.submit(double, [x]))
  const [first, bad, last] = await Promise.allSettled(futures)
  assert.deepEqual([first?.status, last?.status], ['fulfilled', 'fulfilled'])
  assert(bad?.status === 'rejected' && bad.reason instanceof SerializeError)
  assert.equal(bad.reason.path[0], 'argument 1')
})

test('a serializer may submit', async () => {
  const acts: (() => void)[] = []
  const serializer: Serializer = {
    serialize(value) {
      acts.shift()?.()
      return defaultSerializer.serialize(value)
    },
    deserialize: (bytes) => defaultSerializer.deserialize(bytes),
  }
  const { submitter, scheduler } = testClient({ clientCodec: codecOf(serializer) })
  const inner: Promise<unknown>[] = []
  const act = (): unknown => inner.push(submitter.submit(double, [21]))
  // Those of the function, and of three arguments.
  acts.push(act, act, act, act)
  const futures = [1, 2, 3].map((x) => submitter.submit(double, [x]))
  assert.deepEqual(await Promise.all(futures), [2, 4, 6])
  assert.deepEqual(await Promise.all(inner), [42, 42, 42, 42])
  assert.deepEqual(scheduler.faults, [])
})

test('each future of a run has its own profile and error', async () => {
  const client = testClient()
  const odd = (x: number): number => {
    if (x % 2 === 1) throw new RangeError(`odd ${x}`)
    return x
  }
  const futures = range(4).map((x) => client.submitter.submit(odd, [x]))
  const outcomes = await Promise.allSettled(futures)
  assert.deepEqual(
    outcomes.map((outcome) =>
      outcome.status === 'fulfilled' ? outcome.value : String(outcome.reason),
    ),
    [0, 'RangeError: odd 1', 2, 'RangeError: odd 3'],
  )
  assert.deepEqual(futures[2]?.profile, { durationMs: 1.5, worker: 'worker 1' })
  const explanation = await futures[2]?.explain()
  assert.equal(explanation?.state, 'done')
})

test('closing the client ends futures that were not sent', async () => {
  const client = testClient({ isConnected: false })
  const futures = range(3).map((x) => client.submitter.submit(double, [x]))
  assert.equal(client.connection.unfinishedTasks, 3)
  void client.connection.close()
  for (const future of futures) {
    await assert.rejects(Promise.resolve(future), { name: 'TaskCancelledError' })
  }
})

test('futures of a run that nobody awaits are done all the same', async () => {
  const client = testClient()
  const futures = range(3).map((x) => client.submitter.submit(double, [x]))
  await until(() => futures.every(({ state }) => state === 'done'))
  const indices: number[] = []
  for await (const { index } of asCompleted(futures)) indices.push(index)
  assert.deepEqual(indices, [0, 1, 2])
  assert.equal(client.link.isRef, false)
})

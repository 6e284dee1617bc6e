// The time limits of a task: its own, and that of its worker.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  Client,
  currentTask,
  registerClass,
  SchedulerClusterCombo,
  TaskTimeoutError,
  type ComboOptions,
} from 'scaler-ts'

async function setUp(context: TestContext, options: ComboOptions): Promise<Client> {
  const cluster = await SchedulerClusterCombo.start({ workers: 1, cancelGraceMs: 0, ...options })
  context.after(() => cluster.shutdown())
  const client = await Client.connect(cluster.address)
  context.after(() => client.close())
  return client
}

/** The error of a task that never ends. */
async function failureOf(task: PromiseLike<unknown>): Promise<Error> {
  try {
    await task
  } catch (error) {
    assert.ok(error instanceof TaskTimeoutError, String(error))
    return error
  }
  return assert.fail('it has ended by itself')
}

const spin = (): never => {
  for (;;);
}

const WORKERS_LIMIT = /ran for longer than the 200 ms that its worker allows to any task$/

test('a busy loop without a limit of its own ends after the limit of its worker', async (context) => {
  const client = await setUp(context, { taskTimeoutMs: 200 })
  assert.match((await failureOf(client.submit(spin))).message, WORKERS_LIMIT)
  assert.equal(await client.submit(() => 'free'), 'free')
})

test("the shorter limit counts, the task's or the worker's", async (context) => {
  const client = await setUp(context, { taskTimeoutMs: 200 })
  const patient = client.with({ timeoutMs: 3_600_000 })
  assert.match((await failureOf(patient.submit(spin))).message, WORKERS_LIMIT)
  const own = await failureOf(client.with({ timeoutMs: 50 }).submit(spin))
  assert.match(own.message, /ran for longer than its 50 ms$/)
})

test('a task that listens learns which limit was exceeded', async (context) => {
  // Importing the package comes first: only then does it listen.
  const client = await setUp(context, { taskTimeoutMs: 4_000, cancelGraceMs: 60_000 })
  // It survives its failure, and passes the recorded reason to the next task.
  const failure = client.submit(async () => {
    const { currentTask } = await import('scaler-ts')
    const { signal } = currentTask()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    process.env['HEARD'] = String((signal.reason as Error).message)
  })
  const { message } = await failureOf(failure)
  assert.match(message, /the 4000 ms that its worker allows to any task$/)
  assert.equal(await client.submit(() => process.env['HEARD']), message)
})

test('a task may wait for any time: only its running time counts', async (context) => {
  const client = await setUp(context, { taskTimeoutMs: 2_000 })
  const naps = Array.from({ length: 30 }, () =>
    client.submit(async () => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      return 1
    }),
  )
  assert.equal((await Promise.all(naps)).length, 30)
})

class SlowToRead {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

registerClass(SlowToRead, {
  serialize: ({ value }) => value,
  deserialize: (value) => {
    for (const end = Date.now() + 500; Date.now() < end;);
    return new SlowToRead(value)
  },
})

test('the time for reading a task does not count', async (context) => {
  const client = await setUp(context, {})
  const slow = new SlowToRead(7)
  assert.equal(
    await client.with({ timeoutMs: 100 }).submit(({ value }: SlowToRead) => value, slow),
    7,
  )
})

test('an attempt in a new process has its full time', async (context) => {
  const client = await setUp(context, { spareProcessors: 0 })
  const attempt = (): number => {
    const count = currentTask().attempt
    for (; count < 3;);
    return count
  }
  assert.equal(await client.with({ timeoutMs: 100, retries: 2 }).submit(attempt), 3)
})

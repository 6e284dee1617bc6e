// Tasks that no worker can run, among tasks that work: each fails alone, and the same processor
// continues.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, DeserializeError, SchedulerClusterCombo, SerializeError } from 'scaler-ts'

/** The outcome of a future: its value, or the name of its error. */
async function outcome(future: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await future
  } catch (error) {
    return (error as Error).name
  }
}

const pid = (): number => process.pid

test('a thousand tasks that fail in all ways do not affect those between them', async () => {
  await using client = await Client.local({ workers: 1 })
  const processor = await client.submit(pid)
  const unreturnable = (): unknown => new WeakMap()
  const throwing = (): never => {
    throw new RangeError('thrown')
  }
  const unspeakable = (): never => {
    throw Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        throw new TypeError('no message')
      },
    })
  }
  const frozen = (): never => {
    const error = new EvalError('frozen')
    Object.freeze(error)
    throw error
  }
  const kinds = [unreturnable, throwing, unspeakable, frozen]
  const names = ['SerializeError', 'RangeError', 'Error', 'EvalError']
  const tasks: Promise<unknown>[] = []
  const expected: unknown[] = []
  for (let index = 0; index < 1_000; index += 1) {
    tasks.push(outcome(client.submit(kinds[index % 4] ?? pid)), outcome(client.submit(pid)))
    expected.push(names[index % 4], processor)
  }
  assert.deepEqual(await Promise.all(tasks), expected)
})

test('a value that cannot travel fails the future with its path, in a map, too', async () => {
  await using client = await Client.local({ workers: 1 })
  const use = (value: unknown): unknown => value
  const check = (path: readonly string[]) => (error: unknown) => {
    assert.ok(error instanceof SerializeError)
    assert.deepEqual(error.path, path)
    return true
  }
  const bad = { list: [1, new WeakSet()] }
  await assert.rejects(client.submit(use, bad), check(['argument 1', 'list', '[1]']))
  await assert.rejects(client.map(use, [1, bad]), check(['input 1', 'list', '[1]']))
  await assert.rejects(
    client.starmap(use, [[bad]]),
    check(['input 0', 'argument 1', 'list', '[1]']),
  )
  await assert.rejects(
    client.submit(() => ({ bad: new WeakSet() })),
    check(['result', 'bad']),
  )
  assert.equal(await client.submit(use, 1), 1)
})

test('a function that misreports its own text runs as it is', async () => {
  await using client = await Client.local({ workers: 1 })
  const liar = Object.defineProperty((x: number) => x + 1, 'toString', {
    value: () => '() => process.exit(1)',
  })
  assert.equal(await client.submit(liar, 1), 2)
})

test('the context of one task does not reach the next', async () => {
  await using client = await Client.local({ workers: 1 })
  const enter = async (): Promise<unknown> => {
    const { AsyncLocalStorage } = await import('node:async_hooks')
    const shared = globalThis as { testStorage?: InstanceType<typeof AsyncLocalStorage> }
    shared.testStorage ??= new AsyncLocalStorage()
    const before = shared.testStorage.getStore()
    shared.testStorage.enterWith('left behind')
    return before
  }
  const enterAtOnce = (): unknown => {
    const shared = globalThis as {
      testStorage?: { enterWith(x: unknown): void; getStore(): unknown }
    }
    const before = shared.testStorage?.getStore()
    shared.testStorage?.enterWith('left behind')
    return before
  }
  const tasks = [enter, enterAtOnce, enterAtOnce, enter, enterAtOnce]
  const found = await Promise.all(tasks.map((task) => client.submit(task)))
  assert.deepEqual(found, [undefined, undefined, undefined, undefined, undefined])
})

test('the stack of an error shows the frames of the task, and nothing of the library', async () => {
  await using client = await Client.local({ workers: 1 })
  const fail = (): never => {
    throw new Error('no', { cause: new Error('inner') })
  }
  const later = async (): Promise<never> => {
    await Promise.resolve()
    throw new Error('later')
  }
  for (const task of [fail, later]) {
    const error = await client.submit(task).then(
      () => assert.fail('it did not throw'),
      (reason: unknown) => reason as Error,
    )
    const remote = error.stack?.split('--- on the worker ---')[1] ?? ''
    assert.match(remote, new RegExp(`at (async )?${task.name} `))
    const inner = error.cause instanceof Error ? (error.cause.stack ?? '') : ''
    assert.doesNotMatch(remote + inner, /node:internal|node:async_hooks|\/dist\/|task-runner/)
  }
})

test('bytes that are not a function fail the task, and the next one runs', async () => {
  // The serializer writes bytes that no worker can read, as if a message had been damaged.
  const damaging = {
    serialize: (value: unknown): Uint8Array => Buffer.from([typeof value === 'function' ? 12 : 13]),
    deserialize(bytes: Uint8Array): unknown {
      throw new TypeError(`no value in ${bytes.length} bytes`)
    },
  }
  await using cluster = await SchedulerClusterCombo.start({ workers: 1 })
  await using client = await Client.connect(cluster.address)
  await using damaged = await Client.connect(cluster.address, { serializer: damaging })
  const processor = await client.submit(pid)
  await assert.rejects(damaged.submit(pid), DeserializeError)
  assert.equal(await client.submit(pid), processor)
})

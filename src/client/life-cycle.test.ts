import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ClientClosedError,
  ClientShutdownError,
  ConnectError,
  DisconnectedError,
  ProtectedModeError,
  TaskCancelledError,
} from '../base/errors.js'
import { identity } from '../base/ids.js'
import { ManualClock, testClient, turn, until } from './memory-link.test.kit.js'

const double = (x: number): number => 2 * x

/** The error of a cancelled future. */
async function cancelError(future: PromiseLike<unknown>): Promise<TaskCancelledError> {
  const error: unknown = await future.then(undefined, (reason: unknown) => reason)
  assert(error instanceof TaskCancelledError)
  return error
}

test('clear cancels futures and maps; the client remains usable', async () => {
  const client = testClient()
  const { submitter, scheduler } = client
  scheduler.isHolding = true
  const future = submitter.submit(double, [1])
  const map = submitter.map(double, [1, 2], {}, false)
  await until(() => scheduler.unfinished.size === 3)
  await client.connection.clear()
  assert.equal(future.state, 'cancelled')
  assert.match((await cancelError(future)).message, /its client was cleared/)
  assert.match((await cancelError(map)).message, /its client was cleared/)
  await until(() => scheduler.unfinished.size === 0)
  assert.equal(scheduler.objects.size, 1, 'the serializer')
  scheduler.isHolding = false
  assert.equal(await submitter.submit(double, [4]), 8)
  assert.deepEqual(scheduler.faults, [])
})

test('clear has an error for each of the first tasks, and one for all others', async () => {
  const client = testClient()
  const { submitter, scheduler } = client
  scheduler.isHolding = true
  const count = 100
  const futures = Array.from({ length: count }, (_, number) => submitter.submit(double, [number]))
  await until(() => scheduler.unfinished.size === count)
  await client.connection.clear()
  const errors = await Promise.all(futures.map(cancelError))
  assert.match(
    errors[0]?.message ?? '',
    /^task [\da-f]+ \(double\) was cancelled: its client was cle/,
  )
  assert.notEqual(errors[0], errors[1])
  assert.equal(errors.at(-1)?.message, 'the task was cancelled: its client was cleared')
  assert.equal(errors.at(-1), errors.at(-2))
  const future = submitter.submit(double, [1])
  await client.connection.clear()
  assert.notEqual(await cancelError(future), errors.at(-1))
})

test('a map that only waits for its consumer is cancelled as well', async () => {
  const client = testClient()
  const map = client.submitter.map(double, [1, 2, 3], { concurrency: 1 }, false)
  const results = map[Symbol.asyncIterator]()
  assert.equal((await results.next()).value, 2)
  await until(() => client.connection.unfinishedTasks === 0)
  await client.connection.clear()
  const rest = async (): Promise<void> => {
    while ((await results.next()).done !== true);
  }
  await assert.rejects(rest, TaskCancelledError)
})

test('clear resolves immediately without a scheduler, and rejects after close', async () => {
  const client = testClient({ isConnected: false })
  const future = client.submitter.submit(double, [1])
  await client.connection.clear()
  await cancelError(future)
  const closing = client.connection.close()
  await assert.rejects(client.connection.clear(), ClientClosedError)
  await closing
})

test('clear does not wait for a connection that is lost meanwhile', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  await until(() => client.scheduler.heartbeats > 0)
  const future = client.submitter.submit(double, [1])
  await until(() => client.scheduler.unfinished.size === 1)
  client.link.isFull = true
  const large = client.submitter.submit((text: string) => text.length, ['x'.repeat(2 ** 21)])
  await turn()
  const cleared = client.connection.clear()
  client.link.lose()
  await cleared
  assert.equal(client.link.isRef, false)
  for (const ended of [future, large]) await cancelError(ended)
})

test('shutdown stops the cluster and closes the client, with all unfinished work', async () => {
  const client = testClient()
  const { connection, submitter, scheduler } = client
  scheduler.isHolding = true
  const future = submitter.submit(double, [1])
  const map = submitter.map(double, [1], {}, false)
  await until(() => scheduler.unfinished.size === 2)
  const both = [connection.shutdown(), connection.shutdown()]
  assert.equal(client.link.isRef, true)
  await Promise.all(both)
  assert.equal(scheduler.kinds.filter((kind) => kind === 'clientDisconnect').length, 1)
  for (const ended of [future, map]) {
    const error = await cancelError(ended)
    assert.match(error.message, /the cluster was shut down/)
    assert(error.cause instanceof ClientShutdownError)
  }
  await assert.rejects(submitter.submit(double, [1]), ClientClosedError)
  await assert.rejects(connection.shutdown(), ClientClosedError)
  assert.equal(client.link.isClosed, true)
})

test('a protected scheduler refuses, and the client remains usable', async () => {
  const client = testClient()
  client.scheduler.isProtected = true
  await assert.rejects(client.connection.shutdown(), ProtectedModeError)
  assert.equal(client.connection.isClosed, false)
  assert.equal(await client.submitter.submit(double, [4]), 8)
  client.scheduler.isProtected = false
  await client.connection.shutdown()
})

test('a shutdown without an answer is given up; it may have reached a scheduler that was there', async () => {
  for (const errorClass of [ConnectError, DisconnectedError]) {
    const clock = new ManualClock()
    const isKnown = errorClass === DisconnectedError
    const client = testClient({ clock, isConnected: isKnown })
    if (isKnown) {
      await client.submitter.submit(double, [1])
      client.link.lose()
    }
    const text = isKnown ? /^it is unknown whether the cluster was shut/ : /^the cluster was not/
    const isRejected = assert.rejects(client.connection.shutdown(), (error: Error) => {
      return error instanceof errorClass && text.test(error.message)
    })
    assert.equal(client.link.isRef, true)
    clock.advance(61_000)
    await isRejected
    assert.equal(client.link.isRef, false)
    assert.equal(client.connection.isClosed, false)
    await client.connection.close()
  }
})

test('closing while a shutdown is under way answers it', async () => {
  const client = testClient()
  client.scheduler.isMute = true
  const isRejected = assert.rejects(client.connection.shutdown(), ClientClosedError)
  await client.connection.close()
  await isRejected
})

test('disconnecting with many tasks queued is one message', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const futures = Array.from({ length: 500 }, (_, index) =>
    client.submitter.submit(double, [index]),
  )
  await until(() => client.scheduler.unfinished.size === 500)
  const before = client.scheduler.received.length
  await client.connection.close()
  await turn()
  assert.deepEqual(client.scheduler.kinds.slice(before), ['clientDisconnect'])
  for (const future of futures) assert.equal(future.state, 'cancelled')
})

test('progress reaches the future while its task runs', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = client.submitter.submit(double, [1])
  const told: [number, number][] = []
  const stop = future.onProgress((done, total) => told.push([done, total]))
  assert.equal(future.progress, undefined)
  await until(() => client.scheduler.unfinished.size === 1)
  const [task] = client.scheduler.unfinished.values()
  assert(task !== undefined)
  client.scheduler.report(task, 1, 3)
  await until(() => told.length === 1)
  assert.deepEqual(future.progress, { done: 1, total: 3 })
  client.scheduler.report(task, 2, 3)
  await until(() => told.length === 2)
  stop()
  client.scheduler.report(task, 3, 3)
  client.scheduler.release()
  await future
  assert.deepEqual(future.progress, { done: 3, total: 3 })
  assert.deepEqual(told, [
    [1, 3],
    [2, 3],
  ])
})

test('the profile of a future names its worker', async () => {
  const client = testClient()
  const future = client.submitter.submit(double, [1])
  await future
  assert.equal(future.profile?.worker, identity('worker 1'))
})

test('cancel works in the same tick, twice, and after the end', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  const before = client.scheduler.received.length
  const future = client.submitter.submit(double, [2])
  assert.equal(future.cancel('why'), true)
  assert.equal(future.cancel('again'), false)
  assert.equal((await cancelError(future)).cause, 'why')
  await turn()
  await turn()
  assert.equal(client.scheduler.received.length, before)
  const done = client.submitter.submit(double, [3])
  assert.equal(await done, 6)
  assert.equal(done.cancel(), false)
})

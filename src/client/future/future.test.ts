import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import {
  ClientClosedError,
  ConfigError,
  DisconnectedError,
  MissingObjectError,
  NoWorkerError,
  SerializeError,
  TaskCancelledError,
  TaskNotFoundError,
  TimeoutError,
  WorkerDiedError,
} from '../../base/errors.js'
import type { Future } from './future.js'
import { REMOTE_SEPARATOR } from '../../runtime/call-site.js'
import { testClient, turn, until, type TestClient } from '../memory-link.test.kit.js'

const double = (x: number): number => 2 * x
const boom = (): never => {
  throw new RangeError('boom')
}

function submit<T>(client: TestClient, fn: (...args: never[]) => T, ...args: unknown[]): Future<T> {
  return client.submitter.submit(fn, args) as Future<T>
}

test('a future resolves with the value that the function returned', async () => {
  const client = testClient()
  const future = submit(client, double, 21)
  assert.equal(await future, 42)
  assert.equal(future.state, 'done')
  assert.equal(await future, 42, 'and again')
  assert.deepEqual(client.scheduler.faults, [])
})

test('a future rejects with the error that the function threw', async () => {
  const client = testClient()
  const future = submit(client, boom)
  await assert.rejects(future, { name: 'RangeError', message: 'boom' })
  assert.equal(future.state, 'failed')
})

test('the stack of a remote error leads to the submit, and has the remote frames below', async () => {
  const client = testClient()
  const error = await submit(client, boom).catch((reason: unknown) => reason)
  assert(error instanceof Error)
  const [local, remote] = (error.stack ?? '').split(REMOTE_SEPARATOR)
  assert.match(local ?? '', /^RangeError: boom\n {4}at .*future\.test/)
  assert.doesNotMatch(local ?? '', /submitter/)
  assert.match(remote ?? '', /at boom/)
})

test('a function may be asynchronous', async () => {
  const future = submit(testClient(), async (x: number) => Promise.resolve(x + 1), 1)
  assert.equal(await future, 2)
})

test('a thrown value that is not an error arrives unchanged', async () => {
  const future = submit(testClient(), () => {
    // oxlint-disable-next-line typescript/only-throw-error -- that is what is tested
    throw { code: 7 }
  })
  await assert.rejects(future, (reason) => {
    assert.deepEqual(reason, { code: 7 })
    return true
  })
})

test('futures work with all functions that take promises', async () => {
  const client = testClient()
  const good = (): Future<number> => submit(client, double, 1)
  const bad = (): Future<never> => submit(client, boom)
  assert.deepEqual(await Promise.all([good(), good()]), [2, 2])
  assert.equal(await Promise.race([good(), good()]), 2)
  assert.equal(await Promise.any([bad(), good()]), 2)
  const [first, second] = await Promise.allSettled([good(), bad()])
  assert.deepEqual(first, { status: 'fulfilled', value: 2 })
  assert.equal(second.status, 'rejected')
  await assert.rejects(Promise.all([good(), bad()]), RangeError)
  assert.equal(await Promise.resolve(good()), 2)
})

test('then, catch and finally are those of a promise', async () => {
  const client = testClient()
  assert.equal(await submit(client, double, 1).then((x) => x + 1), 3)
  assert.equal(await submit(client, boom).catch(() => 'caught'), 'caught')
  assert.equal(await submit(client, boom).then(undefined, () => 'caught'), 'caught')
  let count = 0
  assert.equal(await submit(client, double, 1).finally(() => (count += 1)), 2)
  await assert.rejects(
    submit(client, boom).finally(() => (count += 1)),
    RangeError,
  )
  assert.equal(count, 2)
  assert.equal(Object.prototype.toString.call(submit(client, double, 1)), '[object Future]')
})

test('a future shows its id and state', async () => {
  const future = submit(testClient(), double, 1)
  assert.match(future.id, /^[0-9a-f]{32}$/)
  assert.equal(inspect(future), `Future { ${future.id}, pending }`)
  await future
  assert.equal(inspect(future), `Future { ${future.id}, done }`)
})

test('a future is pending until its task has been sent, and queued until a worker has started it', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = submit(client, double, 1)
  assert.equal(future.state, 'pending')
  await until(() => client.scheduler.unfinished.size === 1)
  assert.equal(future.state, 'queued')
  client.scheduler.release()
  await future
  assert.equal(future.state, 'done')
})

test('the profile is there once the future has ended', async () => {
  const future = submit(testClient(), double, 1)
  assert.equal(future.profile, undefined)
  await future
  assert.deepEqual(future.profile, { durationMs: 1.5, worker: 'worker 1' })
})

test('submitted values travel as they are at that moment', async () => {
  const client = testClient({ isConnected: false })
  const argument = { x: 1 }
  const future = submit(client, (value: { x: number }) => value.x, argument)
  argument.x = 2
  client.link.connect()
  assert.equal(await future, 1)
})

test('an argument that cannot travel fails the future, which names its position', async () => {
  const client = testClient()
  const future = submit(client, double, 1, { inner: new WeakMap() })
  await assert.rejects(future, (error) => {
    assert(error instanceof SerializeError)
    assert.equal(error.path[0], 'argument 2')
    return true
  })
  assert.equal(future.state, 'failed')
  assert.equal(client.connection.unfinishedTasks, 0)
})

test('a function that cannot travel fails the future', async () => {
  const future = submit<number>(testClient(), new Proxy(double, {}))
  await assert.rejects(future, SerializeError)
})

test('anything but a function is refused immediately', () => {
  const { submitter } = testClient()
  assert.throws(() => submitter.submit('f' as never, []), TypeError)
})

test('a cancelled future is rejected immediately, with the reason as cause', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = submit(client, double, 1)
  await until(() => client.scheduler.unfinished.size === 1)
  const reason = new Error('changed my mind')
  assert.equal(future.cancel(reason), true)
  assert.equal(future.state, 'cancelled')
  await assert.rejects(future, (error) => {
    assert(error instanceof TaskCancelledError)
    assert.equal(error.cause, reason)
    assert.equal(error.message, `task ${future.id} (double) was cancelled`)
    assert.match(error.stack ?? '', /future\.test/)
    return true
  })
  await until(() => client.scheduler.unfinished.size === 0)
})

test('whatever was given as the reason is the cause, null too', async () => {
  const client = testClient()
  for (const reason of [null, 0, '', false]) {
    const future = submit(client, double, 1)
    future.cancel(reason)
    await assert.rejects(future, { name: 'TaskCancelledError', cause: reason })
    const aborted = client.with({ signal: AbortSignal.abort(reason) }).submit(double, [1])
    await assert.rejects(aborted, { name: 'TaskCancelledError', cause: reason })
  }
})

test('a settled future cannot be cancelled', async () => {
  const client = testClient()
  const [done, failed, cancelled] = [
    submit(client, double, 1),
    submit(client, boom),
    submit(client, boom),
  ]
  assert.equal(cancelled.cancel(), true)
  assert.equal(cancelled.cancel(), false)
  await Promise.allSettled([done, failed])
  assert.equal(done.cancel(), false)
  assert.equal(failed.cancel(), false)
  assert.equal(done.state, 'done')
})

test('a task that is submitted and cancelled in one turn is never sent', async () => {
  const client = testClient()
  await submit(client, double, 1)
  const before = client.scheduler.received.length
  submit(client, double, 2).cancel()
  await turn()
  await turn()
  assert.equal(client.scheduler.received.length, before)
})

for (const [status, errorClass] of [
  ['canceled', DisconnectedError],
  ['notFound', TaskNotFoundError],
  ['workerDied', WorkerDiedError],
  ['noWorker', NoWorkerError],
] as const) {
  test(`a task refused with ${status} fails its future with ${errorClass.name}`, async () => {
    const client = testClient()
    client.scheduler.isHolding = true
    const future = submit(client, double, 1)
    await until(() => client.scheduler.unfinished.size === 1)
    for (const task of client.scheduler.unfinished.values()) client.scheduler.refuse(task, status)
    await assert.rejects(future, errorClass)
    assert.equal(future.state, 'failed')
    assert.equal(future.profile, undefined)
  })
}

test('a result that the scheduler has lost fails its future', async () => {
  const client = testClient()
  const future = submit(client, () => 'x'.repeat(20_000))
  const { scheduler } = client
  const handle = scheduler.handle.bind(scheduler)
  scheduler.handle = (from, message) => {
    if (message.kind === 'objectRequest') scheduler.objects.clear()
    handle(from, message)
  }
  await assert.rejects(future, MissingObjectError)
})

test('result() is the result as an ordinary promise', async () => {
  const future = submit(testClient(), double, 4)
  const promise = future.result()
  assert(promise instanceof Promise)
  assert.equal(await promise, 8)
  assert.equal(await future.result({ timeoutMs: 0 }), 8, 'it is there: there is no wait')
})

test('result() gives up after timeoutMs and leaves the task alone', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = submit(client, double, 4)
  await assert.rejects(future.result({ timeoutMs: 5 }), TimeoutError)
  assert.notEqual(future.state, 'cancelled')
  client.scheduler.release()
  assert.equal(await future, 8)
})

test('the error of result() says why the task waits, as the scheduler knows it', async () => {
  const client = testClient()
  Object.assign(client.scheduler, { isHolding: true, isBusy: true })
  const future = submit(client, double, 4)
  let error: unknown
  // In a process that stalls, the answer may come after a time limit.
  for (let left = 100; left > 0; left -= 1) {
    error = await future.result({ timeoutMs: 40 }).catch((reason: unknown) => reason)
    if (error instanceof TimeoutError && error.reason !== undefined) break
  }
  assert(error instanceof TimeoutError)
  assert.equal(error.reason, 'all-busy')
  assert.match(error.message, /it continues: all workers .* are busy \(all-busy\)$/)
  client.scheduler.release()
  assert.equal(await future, 8)
})

test('result() gives up when its signal is aborted, with the reason', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = submit(client, double, 4)
  const abort = new AbortController()
  const promise = future.result({ signal: abort.signal })
  abort.abort('enough')
  await assert.rejects(promise, (reason) => reason === 'enough')
  await assert.rejects(
    future.result({ signal: AbortSignal.abort('early') }),
    (reason) => reason === 'early',
  )
  client.scheduler.release()
  assert.equal(await future, 8)
  assert.equal(await future.result({ signal: new AbortController().signal, timeoutMs: 1_000 }), 8)
})

test('result() refuses bad options', async () => {
  const client = testClient()
  const future = submit(client, double, 4)
  for (const timeoutMs of [-1, NaN, Infinity, '5', null]) {
    await assert.rejects(future.result({ timeoutMs: timeoutMs as number }), ConfigError)
  }
  await assert.rejects(future.result({ signal: {} as AbortSignal }), ConfigError)
  await assert.rejects(future.result({ timeout: 5 } as never), /unknown result option timeout/)
  for (const wrong of [null, 5, []]) {
    await assert.rejects(future.result(wrong as never), /result options: expected an object/)
  }
  assert.throws(() => future.onProgress(5 as never), TypeError)
  await future
})

test('closing the client cancels unfinished work', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const future = submit(client, double, 1)
  await until(() => client.scheduler.unfinished.size === 1)
  await client.connection.close()
  assert.equal(future.state, 'cancelled')
  await assert.rejects(future, (error) => {
    assert(error instanceof TaskCancelledError)
    assert(error.cause instanceof ClientClosedError)
    return true
  })
})

test('a closed client rejects every future immediately', async () => {
  const client = testClient()
  await client.connection.close()
  const future = submit(client, double, 1)
  assert.equal(future.state, 'failed')
  await assert.rejects(future, ClientClosedError)
  assert.equal(client.link.isRef, false)
})

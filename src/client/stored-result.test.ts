import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClientClosedError, MissingObjectError, TimeoutError } from '../base/errors.js'
import { collectGarbage, untilCollected } from '../base/finalization.test.kit.js'
import { asCompleted, wait } from './future/wait.js'
import type { Future } from './future/future.js'
import { gather } from './future/gather.js'
import { testClient, turn, until, type TestClient } from './memory-link.test.kit.js'

const LARGE = 20_000
const text = (length: number): string => 'x'.repeat(length)

function submit(client: TestClient, length = LARGE): Future<string> {
  return client.submitter.submit(text, [length]) as Future<string>
}

function requests({ scheduler }: TestClient): number {
  return scheduler.kinds.filter((kind) => kind === 'objectRequest').length
}

/** Whether the scheduler has a large object. */
function isStored({ scheduler }: TestClient): boolean {
  return [...scheduler.objects.values()].some((content) => content.byteLength >= LARGE)
}

test('a large result is fetched on the first request, once, and then deleted', async () => {
  const client = testClient()
  const future = submit(client)
  await until(() => future.state === 'done')
  assert.deepEqual(future.profile, { durationMs: 1.5, worker: 'worker 1' })
  assert.equal(requests(client), 0)
  assert.equal(future.cancel(), false)
  const [one, other] = await Promise.all([future, future.result({ timeoutMs: 1_000 })])
  assert.equal(one, text(LARGE))
  assert.equal(other, one)
  assert.equal(requests(client), 1)
  await until(() => !isStored(client))
})

test('gather() fetches large results', async () => {
  const client = testClient()
  const futures = [submit(client), submit(client)]
  await until(() => futures[0]?.state === 'done')
  assert.deepEqual(await gather(futures), [text(LARGE), text(LARGE)])
})

test('a result that is already awaited is running until its value is here', async () => {
  const client = testClient()
  const future = submit(client)
  const value = future.result()
  await until(() => requests(client) === 1)
  assert.equal(future.state, 'running')
  assert.equal((await value).length, LARGE)
  assert.equal(future.state, 'done')
})

test('a stored result does not keep the process alive, fetching it does', async () => {
  const client = testClient()
  const future = submit(client)
  assert.equal(client.link.isRef, true)
  await until(() => future.state === 'done')
  assert.equal(client.link.isRef, false)
  const value = future.result()
  assert.equal(client.link.isRef, true)
  await value
  assert.equal(client.link.isRef, false)
})

test('wait counts it as settled, and fetches nothing', async () => {
  const client = testClient()
  const { done, pending } = await wait([submit(client), submit(client, LARGE + 1)])
  assert.equal(done.size, 2)
  assert.equal(pending.size, 0)
  assert.equal(requests(client), 0)
})

test('asCompleted fetches it when its record is requested', async () => {
  const client = testClient()
  const futures = [submit(client), submit(client, LARGE + 1)]
  await wait(futures)
  let count = 0
  for await (const record of asCompleted(futures)) {
    count += 1
    assert.equal(record.status === 'fulfilled' && record.value.length, LARGE + record.index)
    assert.equal(requests(client), count)
  }
  assert.equal(count, 2)
})

test('a time limit covers fetching, too', async () => {
  const client = testClient()
  const future = submit(client)
  await until(() => future.state === 'done')
  client.link.lose()
  await assert.rejects(future.result({ timeoutMs: 5 }), TimeoutError)
  client.link.connect()
  assert.equal((await future).length, LARGE)
})

test('maps always fetch their results', async () => {
  const client = testClient()
  assert.deepEqual(
    (await client.submitter.map(text, [LARGE, 3], {}, false)).map((one) => (one as string).length),
    [LARGE, 3],
  )
})

test('failures are always fetched', async () => {
  const client = testClient()
  const future = client.submitter.submit(
    (length: number) => {
      throw new Error('x'.repeat(length))
    },
    [LARGE],
  )
  await until(() => future.state === 'failed')
  await assert.rejects(future, { message: text(LARGE) })
})

test('it is deleted when the future is garbage collected', async () => {
  const client = testClient()
  let future: Future<string> | undefined = submit(client)
  await until(() => future?.state === 'done')
  assert.equal(isStored(client), true)
  future = undefined
  await untilCollected(() => !isStored(client))
})

test('it is kept as long as the future is referenced, and is not fetched twice', async () => {
  const client = testClient()
  const future = submit(client)
  await until(() => future.state === 'done')
  for (let round = 0; round < 5; round += 1) {
    collectGarbage()
    await turn()
  }
  assert.equal(isStored(client), true)
  assert.equal((await future).length, LARGE)
})

test('a future that is referenced only by a pending promise gets its value', async () => {
  const client = testClient()
  const value = (async () => {
    const future = submit(client)
    await until(() => future.state === 'done')
    return future.result()
  })()
  await until(() => requests(client) === 1)
  collectGarbage()
  assert.equal((await value).length, LARGE)
})

test('after the client was closed it is not available', async () => {
  const client = testClient()
  const future = submit(client)
  await until(() => future.state === 'done')
  await client.connection.close()
  assert.equal(future.state, 'done')
  await assert.rejects(future, ClientClosedError)
  await assert.rejects(future, ClientClosedError)
})

test('while the client is being closed it is not available', async () => {
  const client = testClient()
  const future = submit(client)
  await until(() => future.state === 'done')
  const isRejected = assert.rejects(future.result(), ClientClosedError)
  await client.connection.close()
  await isRejected
  assert.equal(future.state, 'failed')
  assert.equal(client.link.isRef, false)
})

test('after the client was cleared it is not available', async () => {
  const client = testClient()
  const future = submit(client)
  await until(() => future.state === 'done')
  await client.connection.clear()
  await assert.rejects(future, MissingObjectError)
  await until(() => !isStored(client))
})

test('the task runs again if the scheduler has lost the result', async () => {
  const client = testClient()
  const future = submit(client)
  await until(() => future.state === 'done')
  client.link.lose()
  client.scheduler.restart('scheduler-id-002')
  client.link.connect()
  assert.equal((await future).length, LARGE)
  assert.deepEqual(client.scheduler.faults, [])
  assert.equal(client.link.isRef, false)
})

test('and stays in the cluster again unless it is requested', async () => {
  const client = testClient()
  const future = submit(client)
  await until(() => future.state === 'done')
  client.link.lose()
  client.scheduler.restart('scheduler-id-002')
  client.link.connect()
  await until(() => isStored(client))
  await turn()
  assert.equal(requests(client), 0)
  assert.equal(client.link.isRef, false)
  assert.equal((await future).length, LARGE)
})

import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test } from 'node:test'
import { TaskCancelledError } from '../base/errors.js'
import { testClient, turn, until } from './memory-link.test.kit.js'
import { SignalWatches } from './submit/signal.js'

const double = (x: number): number => 2 * x

function listeners(signal: AbortSignal): number {
  return getEventListeners(signal, 'abort').length
}

function isCancelledBecauseOf(cause: unknown): (error: unknown) => boolean {
  return (error) => {
    assert(error instanceof TaskCancelledError)
    assert.equal(error.cause, cause)
    return true
  }
}

test('a signal cancels everything submitted under it, with its reason as the cause', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const abort = new AbortController()
  const view = client.with({ signal: abort.signal })
  const futures = [view.submit(double, [1]), view.submit(double, [2])]
  const map = view.map(double, [3, 4], {}, false)
  const other = client.submitter.submit(double, [5])
  await until(() => client.scheduler.unfinished.size === 5)
  const reason = new Error('enough')
  abort.abort(reason)
  for (const future of futures) {
    assert.equal(future.state, 'cancelled')
    await assert.rejects(future, isCancelledBecauseOf(reason))
  }
  await assert.rejects(map, isCancelledBecauseOf(reason))
  await until(() => client.scheduler.unfinished.size === 1)
  assert.equal(listeners(abort.signal), 0)
  client.scheduler.release()
  assert.equal(await other, 10)
})

test('with an aborted signal everything is cancelled immediately, and nothing is sent', async () => {
  const client = testClient()
  await client.submitter.submit(double, [1])
  const before = client.scheduler.received.length
  const view = client.with({ signal: AbortSignal.abort('early') })
  const future = view.submit(double, [1])
  assert.equal(future.state, 'cancelled')
  await assert.rejects(future, isCancelledBecauseOf('early'))
  let pulled = 0
  const inputs = (function* () {
    pulled += 1
    yield 1
  })()
  await assert.rejects(view.map(double, inputs, {}, false), isCancelledBecauseOf('early'))
  assert.equal(pulled, 0)
  assert.throws(() => view.submit('f' as never, []), TypeError)
  await turn()
  await turn()
  assert.equal(client.scheduler.received.length, before)
  assert.equal(client.link.isRef, false)
})

test('any one of several signals cancels', async () => {
  for (const which of [0, 1]) {
    const client = testClient()
    client.scheduler.isHolding = true
    const aborts = [new AbortController(), new AbortController()] as const
    const view = client.with({ signal: aborts[0].signal }, { signal: aborts[1].signal })
    const future = view.submit(double, [1])
    aborts[which]?.abort(which)
    await assert.rejects(future, isCancelledBecauseOf(which))
    assert.deepEqual(
      aborts.map(({ signal }) => listeners(signal)),
      [0, 0],
    )
  }
})

test('many tasks, of many views, under one signal share one listener, and leave none', async () => {
  const client = testClient()
  const { signal } = new AbortController()
  const futures = Array.from({ length: 200 }, (_, index) =>
    client.with({ signal }).submit(double, [index]),
  )
  const map = client.with({ signal }).map(double, [1, 2, 3], {}, false)
  assert.equal(listeners(signal), 1)
  await Promise.all([...futures, map])
  assert.equal(listeners(signal), 0)
})

test('views of several clients share one listener', async () => {
  const { signal } = new AbortController()
  const clients = [1, 2, 3].map(() => testClient())
  const futures = clients.map((client) => client.with({ signal }).submit(double, [1]))
  assert.equal(listeners(signal), 1)
  await Promise.all(futures)
  assert.equal(listeners(signal), 0)
})

test('waits for the results of many futures share one listener, and leave nothing when they end', async (context) => {
  const client = testClient()
  const warnings = context.mock.method(process, 'emitWarning', () => {})
  client.scheduler.isHolding = true
  const { signal } = new AbortController()
  const futures = Array.from({ length: 2_000 }, (_, x) => client.submitter.submit(double, [x]))
  const results = futures.map((future) => future.result({ signal, timeoutMs: 600_000 }))
  const again = futures.slice(0, 11).map((future) => future.result({ signal }))
  assert.equal(listeners(signal), 1)
  await until(() => client.scheduler.unfinished.size === 2_000)
  client.scheduler.release()
  assert.equal((await Promise.all(results))[1_999], 3_998)
  await Promise.all(again)
  assert.equal(listeners(signal), 0)
  assert.equal(warnings.mock.callCount(), 0)
})

test('a signal ends waits for results with its reason, and the tasks continue', async () => {
  const client = testClient()
  client.scheduler.isHolding = true
  const abort = new AbortController()
  const futures = [1, 2, 3].map((x) => client.submitter.submit(double, [x]))
  const results = futures.map((future) => future.result({ signal: abort.signal }))
  const reason = new Error('enough')
  abort.abort(reason)
  for (const result of results) await assert.rejects(result, (error) => error === reason)
  assert.equal(listeners(abort.signal), 0)
  await until(() => client.scheduler.unfinished.size === 3)
  client.scheduler.release()
  assert.deepEqual(await Promise.all(futures), [2, 4, 6])
})

test('100,000 tasks under one signal share one listener, and leave none', () => {
  const watches = new SignalWatches()
  const { signal } = new AbortController()
  const members = Array.from({ length: 100_000 }, () => ({ cancel: () => {} }))
  for (const member of members) watches.of(signal).add(member)
  assert.equal(listeners(signal), 1)
  for (const member of members) watches.of(signal).delete(member)
  assert.equal(listeners(signal), 0)
})

test('members of a signal may leave while it cancels', () => {
  const abort = new AbortController()
  const watch = new SignalWatches().of(abort.signal)
  const cancelled: number[] = []
  const members = [0, 1, 2].map((index) => ({
    cancel: () => {
      cancelled.push(index)
      for (const member of members) watch.delete(member)
    },
  }))
  for (const member of members) watch.add(member)
  abort.abort()
  assert.deepEqual(cancelled, [0, 1, 2])
  assert.equal(listeners(abort.signal), 0)
})

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { TaskCancelledError } from '../../base/errors.js'
import { testClient, until, type TestClient } from '../memory-link.test.kit.js'
import type { Future } from './future.js'
import { gather } from './gather.js'

const identity = (x: unknown): unknown => x

const held: TestClient[] = []
// Unsettled futures keep a process alive.
after(() => Promise.all(held.map(({ connection }) => connection.close())))

/** Three tasks that end when the test says so. */
async function threeHeld(): Promise<{
  readonly futures: readonly Future<unknown>[]
  readonly end: (index: number, status?: 'success' | 'failed') => void
}> {
  const client = testClient()
  held.push(client)
  client.scheduler.isHolding = true
  const futures = [0, 1, 2].map((x) => client.submitter.submit(identity, [x]))
  await until(() => client.scheduler.unfinished.size === 3)
  const { tasks } = client.scheduler
  const end = (index: number, status: 'success' | 'failed' = 'success'): void => {
    const task = tasks[index]
    const argument = task?.functionArgs[0]?.data
    assert(task !== undefined && argument !== undefined)
    client.scheduler.finish(task, status, argument)
  }
  return { futures, end }
}

test('gather() returns the results in the order of the futures', async () => {
  const { futures, end } = await threeHeld()
  const all = gather([...futures, ...futures.slice(0, 1)])
  for (const index of [2, 0, 1]) end(index)
  assert.deepEqual(await all, [0, 1, 2, 0])
  assert.deepEqual(await gather(new Set(futures)), [0, 1, 2])
  assert.deepEqual(await gather([]), [])
})

test('gather() rejects with the first failure, and the other tasks continue', async () => {
  const { futures, end } = await threeHeld()
  const all = gather(futures)
  futures[1]?.cancel('enough')
  await assert.rejects(all, TaskCancelledError)
  end(0)
  end(2)
  assert.deepEqual(await gather([futures[0], futures[2]] as Future<unknown>[]), [0, 2])
  await assert.rejects(gather(futures), TaskCancelledError)
})

test('gather() takes futures and nothing else', async () => {
  for (const wrong of [undefined, null, 5, [1], [Promise.resolve(1)], {}]) {
    const name = 'TypeError'
    await assert.rejects(gather(wrong as never), { name, message: /expected futures/ })
  }
})

// A scheduler that is killed: one that is restarted, and one that is not.

import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { currentClient, currentTask, type Client, type Future } from 'scaler-ts'
import { TestCluster } from '../chaos/cluster.js'
import { describeState, isIdle } from '../chaos/monitor.js'
import { sized } from '#src/base/short-run.kit.js'
import { until } from './condition.js'

const square = async (x: number): Promise<number> => {
  await delay(4)
  return x * x
}
const inputs = Array.from({ length: 400 }, (_, index) => index)
const squares = inputs.map((x) => x * x)

/**
 * Reports its start, waits until it may end, and reports its end. It takes so long that its result
 * is worth keeping: tasks under 50 ms are faster to run again.
 */
const guarded = async (folder: string, name: string): Promise<string> => {
  appendFileSync(join(folder, `${name}-begun`), 'x')
  const begun = performance.now()
  while (!existsSync(join(folder, 'go')) || performance.now() - begun < 100) await delay(5)
  appendFileSync(join(folder, `${name}-ended`), 'x')
  return name
}

/** How often a task has started, or ended. */
function countOf(cluster: TestCluster, file: string): number {
  const path = join(cluster.folder, file)
  return existsSync(path) ? readFileSync(path, 'utf8').length : 0
}

function go(cluster: TestCluster): void {
  writeFileSync(join(cluster.folder, 'go'), '')
}

/** Two tasks that have started and wait, one on each worker. */
async function startGuarded(cluster: TestCluster, client: Client): Promise<Future<string>[]> {
  const futures = ['one', 'two'].map((name) => client.submit(guarded, cluster.folder, name))
  await until('both run', () => ['one', 'two'].every((name) => countOf(cluster, `${name}-begun`)))
  return futures
}

test('kill -9 of the scheduler with tasks, graphs and objects costs no result', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [2] })
  const client = cluster.client()
  const futures = inputs.map((x) => client.submit(square, x))
  const table = client.sendObject(inputs)
  const at = (values: readonly number[], index: number): number => values[index] ?? -1
  const looks = inputs.slice(0, 50).map((x) => client.submit(at, table, x))
  const add = async (a: number, b: number): Promise<number> => {
    await delay(4)
    return a + b
  }
  const graph: Record<string, unknown> = { n0: 0, one: 1 }
  for (let index = 1; index <= 60; index += 1) graph[`n${index}`] = [add, `n${index - 1}`, 'one']
  const chain = client.get(graph, ['n60', 'n30'])
  const large = client.submit((size: number) => new Uint8Array(size).fill(3), 300_000)
  const followed = client.submit((bytes: Uint8Array) => bytes.length, large)
  await futures[40]
  const ends: number[] = []
  for (const future of futures) void future.then(() => ends.push(performance.now()))
  await cluster.scheduler.kill()
  await cluster.restartScheduler()
  const begun = performance.now()
  assert.deepEqual(await Promise.all(futures), squares)
  // The pace of the second half of the remaining ones gives the duration of their work.
  const left = ends.filter((end) => end > begun)
  const [middle = 0, last = 0] = [left[left.length >> 1], left.at(-1)]
  const beyondMs = last - begun - 2 * (last - middle)
  t.diagnostic(`${left.length} tasks were left; ${Math.round(beyondMs)} ms beyond their work`)
  assert.deepEqual(await Promise.all(looks), inputs.slice(0, 50))
  assert.deepEqual(await chain, { n60: 60, n30: 30 })
  assert.equal(await followed, 300_000)
  assert.deepEqual(await large, new Uint8Array(300_000).fill(3))
  t.diagnostic(
    `all of it had resolved ${Math.round(performance.now() - begun)} ms after its return`,
  )
  assert.equal(await client.submit(at, table, 399), 399, 'the object is still there')
  await client.disconnect()
  await cluster.monitor.until('empty tables', isIdle)
})

test('tasks that ran while the scheduler was restarted do not run twice', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1, 1] })
  const client = cluster.client()
  const futures = await startGuarded(cluster, client)
  const queued = inputs.slice(0, 20).map((x) => client.submit(square, x))
  await cluster.scheduler.kill()
  await cluster.restartScheduler()
  await cluster.monitor.until('both are known to run again', ({ taskManager, workerManager }) => {
    return workerManager.workers.length === 2 && taskManager.running >= 2
  })
  go(cluster)
  assert.deepEqual(await Promise.all(futures), ['one', 'two'])
  assert.deepEqual(await Promise.all(queued), squares.slice(0, 20))
  const counts = ['one-begun', 'one-ended', 'two-begun', 'two-ended'].map((file) =>
    countOf(cluster, file),
  )
  assert.deepEqual(counts, [1, 1, 1, 1])
  await cluster.removeFile('go', 'one-begun', 'one-ended', 'two-begun', 'two-ended')
})

test('tasks that ended while there was no scheduler do not run twice', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1, 1] })
  const client = cluster.client()
  const futures = await startGuarded(cluster, client)
  await cluster.scheduler.kill()
  go(cluster)
  await until('both have ended', () => {
    return ['one', 'two'].every((name) => countOf(cluster, `${name}-ended`) === 1)
  })
  await cluster.restartScheduler()
  assert.deepEqual(await Promise.all(futures), ['one', 'two'])
  assert.deepEqual([countOf(cluster, 'one-begun'), countOf(cluster, 'two-begun')], [1, 1])
  await cluster.removeFile('go', 'one-begun', 'one-ended', 'two-begun', 'two-ended')
})

test('a restart of the scheduler does not give a task more retries', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client()
  /** Reports its attempt, and fails; its second run waits until it may end. */
  const failing = async (folder: string): Promise<void> => {
    const { attempt } = currentTask()
    appendFileSync(join(folder, 'attempts'), String(attempt))
    while (attempt === 2 && !existsSync(join(folder, 'go'))) await delay(5)
    throw new Error('failed')
  }
  const future = client.with({ retries: 2 }).submit(failing, cluster.folder)
  await until('it runs again', () => countOf(cluster, 'attempts') === 2)
  await cluster.scheduler.kill()
  await cluster.restartScheduler()
  await cluster.monitor.until('it is known to run', ({ taskManager }) => taskManager.running >= 1)
  go(cluster)
  await assert.rejects(future, { message: 'failed' })
  assert.equal(readFileSync(join(cluster.folder, 'attempts'), 'utf8'), '123')
  await cluster.removeFile('go', 'attempts')
})

test('nested tasks survive a restart of the scheduler', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [2] })
  const client = cluster.client()
  const parent = async (base: number): Promise<number> => {
    const child = async (x: number): Promise<number> => {
      await delay(15)
      return base + x
    }
    const values = await currentClient().map(child, [1, 2, 3, 4, 5, 6])
    return values.reduce((sum, value) => sum + value, 0)
  }
  const futures = [10, 20, 30, 40, 50, 60].map((base) => client.submit(parent, base))
  await futures[0]
  await cluster.scheduler.kill()
  await cluster.restartScheduler()
  assert.deepEqual(
    await Promise.all(futures),
    [10, 20, 30, 40, 50, 60].map((base) => 6 * base + 21),
  )
  await client.disconnect()
  // The clients of the processors go with them.
  await cluster.agents[0]?.kill()
  await cluster.monitor.until('empty tables', isIdle)
})

test('a scheduler that is killed again and again costs no result', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [2] })
  const client = cluster.client()
  let ended = 0
  const futures = inputs.map((x) => client.submit(square, x))
  for (const future of futures) void future.then(() => (ended += 1))
  for (let round = 1; round <= sized(5, 2); round += 1) {
    const before = ended
    await until('some more results', () => ended >= Math.min(before + 20, inputs.length))
    await cluster.scheduler.kill()
    await cluster.restartScheduler()
  }
  assert.deepEqual(await Promise.all(futures), squares)
})

test('cancels take effect across a restart of the scheduler', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1, 1] })
  const client = cluster.client()
  const futures = await startGuarded(cluster, client)
  await cluster.scheduler.kill()
  futures[0]?.cancel()
  await assert.rejects(Promise.resolve(futures[0]), { name: 'TaskCancelledError' })
  await cluster.restartScheduler()
  assert.equal(await client.submit(square, 9), 81, 'the worker of the cancelled one is free')
  await cluster.monitor.until('only the other one runs', (state) => {
    assert.ok(state.taskManager.running <= 3, describeState(state))
    return state.taskManager.running === 1
  })
  go(cluster)
  assert.equal(await futures[1], 'two')
  assert.equal(countOf(cluster, 'one-ended'), 0)
  assert.deepEqual([countOf(cluster, 'one-begun'), countOf(cluster, 'two-begun')], [1, 1])
  await cluster.removeFile('go', 'one-begun', 'two-begun', 'two-ended')
})

test('when the scheduler never comes back, futures fail with DisconnectedError after timeoutMs', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client({ timeoutMs: 600 })
  const futures = [1, 2, 3].map((x) => client.submit(() => delay(1e8, x)))
  const child = { leaf: [() => delay(1e8)] }
  const graph = client.get(child, ['leaf'])
  const all = [...futures, graph.futures.leaf]
  await until('one runs', () => all.some((future) => future.state === 'running'))
  const begun = performance.now()
  await cluster.scheduler.kill()
  for (const future of [...futures, graph]) {
    await assert.rejects(Promise.resolve(future), { name: 'DisconnectedError' })
  }
  // The silence may have begun with the last echo, one heartbeat (200 ms) ago.
  assert.ok(performance.now() - begun >= 390, 'not before its time')
  await assert.rejects(Promise.resolve(client.submit(square, 1)), { name: 'DisconnectedError' })
})

test('when the scheduler never returns, workers exit with code 1 and say why', async (t) => {
  const cluster = await TestCluster.start(t, {
    agents: [2],
    // Includes the time that their processors may take to start.
    agentArgs: ['--death-timeout-seconds', '5'],
  })
  await cluster.scheduler.kill()
  const agent = cluster.agents[0]
  assert.deepEqual(await agent?.ended, { code: 1, signal: null })
  assert.match(agent?.stderr ?? '', /^scaler_cluster: [^\n]*scheduler[^\n]*\n$/)
  const reasons = agent?.lines.filter((line) =>
    /Worker\[\d\] ended: .*scheduler/.test(String(line['message'])),
  )
  assert.equal(reasons?.length, 2, 'each worker has a line in the log')
})

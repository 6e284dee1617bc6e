// Processes that stop for a while (SIGSTOP), as on a host that sleeps, and continue.

import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { TestCluster } from '../chaos/cluster.js'
import { NO_PROCESS_TABLE, descendantsOf } from '../chaos/process-table.js'
import type { Program } from '../chaos/program.js'
import { until } from './condition.js'

const skip = NO_PROCESS_TABLE
/** Some seconds of silence are enough, so that no test takes a minute. */
const QUICK = ['--worker-timeout-seconds', '2']
const PROGRAM = fileURLToPath(new URL('../chaos/program/large-results.js', import.meta.url))

/** Records its process, and returns it once it may end. */
const guarded = async (folder: string): Promise<number> => {
  appendFileSync(join(folder, 'runs'), `${process.pid} `)
  while (!existsSync(join(folder, `go-${process.pid}`))) await delay(5)
  return process.pid
}

/** One function, so that only the first round trip has setup costs. */
const same = (x: number): number => x

function runsOf(cluster: TestCluster): number[] {
  const path = join(cluster.folder, 'runs')
  const text = existsSync(path) ? readFileSync(path, 'utf8').trim() : ''
  return text === '' ? [] : text.split(' ').map(Number)
}

/** The median and the longest of them. */
function spread(delays: readonly number[]): string {
  const sorted = delays.toSorted((a, b) => a - b)
  const [median = 0, longest = 0] = [sorted[sorted.length >> 1], sorted.at(-1)]
  return `${median.toFixed(1)} ms, the longest ${longest.toFixed(1)} ms`
}

function agentOf(cluster: TestCluster, pid: number): Program {
  const agent = cluster.agents.find((program) => descendantsOf(program.pid).includes(pid))
  assert.ok(agent, `the agent of ${pid}`)
  return agent
}

test(
  'a frozen host is given up; its late results are refused; once thawed it works again',
  { skip },
  async (t) => {
    const cluster = await TestCluster.start(t, { agents: [1, 1], schedulerArgs: QUICK })
    const client = cluster.client()
    const future = client.submit(guarded, cluster.folder)
    await until('it runs', () => runsOf(cluster).length === 1)
    const [first = 0] = runsOf(cluster)
    const frozen = agentOf(cluster, first)
    frozen.freeze()
    await until('it runs elsewhere', () => runsOf(cluster).length === 2)
    const [, second = 0] = runsOf(cluster)
    assert.notEqual(agentOf(cluster, second), frozen)
    writeFileSync(join(cluster.folder, `go-${first}`), '')
    frozen.thaw()
    // The other worker is busy: only the frozen one can run this.
    const next = await client.submit(() => process.pid)
    assert.equal(agentOf(cluster, next), frozen)
    await cluster.monitor.until('both work', (state) => state.workerManager.workers.length === 2)
    assert.ok(['queued', 'running'].includes(future.state), future.state)
    writeFileSync(join(cluster.folder, `go-${second}`), '')
    assert.equal(await future, second)
    assert.deepEqual(runsOf(cluster), [first, second])
    await cluster.removeFile('runs', `go-${first}`, `go-${second}`)
  },
)

test('a frozen worker with a full socket delays no other peer', { skip }, async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1, 1] })
  const client = cluster.client()
  const pid = await client.submit(() => process.pid)
  const frozen = agentOf(cluster, pid)
  frozen.freeze()
  const victims = Array.from({ length: 40 }, (_, index) => {
    const bytes = new Uint8Array(2 ** 20).fill(index)
    return client.submit((given: Uint8Array) => given.reduce((sum, byte) => sum + byte, 0), bytes)
  })
  const other = cluster.client()
  // Messages to the frozen worker wait; all others must not.
  const quick = (): Promise<number> => {
    return Promise.any([0, 1, 2].map((x) => other.submit(same, x)))
  }
  await quick()
  const delays: number[] = []
  for (let round = 0; round < 60; round += 1) {
    const begun = performance.now()
    await quick()
    delays.push(performance.now() - begun)
  }
  t.diagnostic(`60 round trips took ${spread(delays)}`)
  frozen.thaw()
  const sums = await Promise.all(victims)
  assert.deepEqual(
    sums,
    victims.map((_, index) => index * 2 ** 20),
  )
})

test(
  'a frozen client with a full socket delays no other peer, and loses nothing',
  { skip },
  async (t) => {
    const cluster = await TestCluster.start(t, { agents: [2] })
    const frozen = cluster.run('client', [PROGRAM, cluster.address])
    await frozen.line((line) => line['event'] === 'submitted')
    frozen.freeze()
    const client = cluster.client()
    // Requests of the other one are served first.
    assert.equal(await client.submit(same, 1), 1)
    const delays: number[] = []
    for (let round = 0; round < 100; round += 1) {
      const begun = performance.now()
      assert.equal(await client.submit(same, round), round)
      delays.push(performance.now() - begun)
    }
    t.diagnostic(`100 round trips took ${spread(delays)}`)
    frozen.thaw()
    const { wrong } = await frozen.line((line) => line['event'] === 'done')
    assert.equal(wrong, 0)
    assert.equal((await frozen.ended).code, 0)
  },
)

test(
  'a scheduler that stood still gives up no peer because of it, and loses nothing',
  { skip },
  async (t) => {
    const cluster = await TestCluster.start(t, {
      agents: [1, 1],
      schedulerArgs: [...QUICK, '--client-timeout-seconds', '2'],
    })
    const client = cluster.client()
    const long = client.submit(guarded, cluster.folder)
    await until('it runs', () => runsOf(cluster).length === 1)
    const before = await cluster.monitor.until('two workers', ({ workerManager }) => {
      return workerManager.workers.length === 2
    })
    cluster.scheduler.freeze()
    const futures = Array.from({ length: 100 }, (_, x) => client.submit((y: number) => y + 1, x))
    // Time itself is tested: longer than any allowed silence.
    await delay(4_000)
    cluster.scheduler.thaw()
    assert.deepEqual(
      await Promise.all(futures),
      futures.map((_, x) => x + 1),
    )
    const after = await cluster.monitor.next()
    const ids = ({ workerManager }: typeof after): string[] =>
      workerManager.workers.map((worker) => worker.workerId).toSorted()
    assert.deepEqual(ids(after), ids(before))
    const [pid = 0] = runsOf(cluster)
    writeFileSync(join(cluster.folder, `go-${pid}`), '')
    // Had it run twice, its second run would wait for ever.
    await until('its only run ends', () => long.state === 'done')
    assert.equal(await long, pid)
    assert.deepEqual(runsOf(cluster), [pid])
    await cluster.removeFile('runs', `go-${pid}`)
  },
)

test(
  'a scheduler that stood still until its worker had closed the connection runs no task twice',
  { skip },
  async (t) => {
    const cluster = await TestCluster.start(t, { agents: [1, 1] })
    const client = cluster.client()
    const long = client.submit(guarded, cluster.folder)
    await until('it runs', () => runsOf(cluster).length === 1)
    const [pid = 0] = runsOf(cluster)
    const closed = agentOf(cluster, pid).line((line) => {
      return String(line['message']).startsWith('lost the connection')
    })
    cluster.scheduler.freeze()
    await closed
    cluster.scheduler.thaw()
    // The other worker is idle, and would get it.
    assert.equal(await client.submit(same, 1), 1)
    await cluster.scheduler.line((line) => line['message'] === 'worker returned with tasks')
    writeFileSync(join(cluster.folder, `go-${pid}`), '')
    await until('its only run ends', () => long.state === 'done')
    assert.equal(await long, pid)
    assert.deepEqual(runsOf(cluster), [pid])
    await cluster.removeFile('runs', `go-${pid}`)
  },
)

test('busy loops on every worker change nothing, however long they take', { skip }, async (t) => {
  // A minute of it with a timeout of a minute is equivalent to 4 seconds with 2.
  const cluster = await TestCluster.start(t, { agents: [2], schedulerArgs: QUICK })
  const client = cluster.client()
  const loop = (path: string): number => {
    appendFileSync(path, `${process.pid} `)
    const end = performance.now() + 4_000
    while (performance.now() < end);
    return process.pid
  }
  const path = join(cluster.folder, 'runs')
  const futures = [1, 2].map(() => client.submit(loop, path))
  const queued = client.submit((x: number) => x, 7)
  const workers = new Set<string>()
  let states = 0
  const watch = cluster.monitor.until('they have ended', ({ workerManager }) => {
    states += 1
    for (const { workerId } of workerManager.workers) workers.add(workerId)
    assert.equal(workerManager.workers.length, 2)
    return futures.every((future) => future.state === 'done')
  })
  const pids = await Promise.all(futures)
  await watch
  assert.deepEqual(new Set(runsOf(cluster)), new Set(pids))
  assert.equal(runsOf(cluster).length, 2)
  assert.equal(await queued, 7)
  assert.equal(workers.size, 2)
  assert.ok(states >= 2)
  await cluster.removeFile('runs')
})

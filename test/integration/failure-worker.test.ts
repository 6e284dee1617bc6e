// Workers that are killed, with all their tasks.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { TestCluster } from '../chaos/cluster.js'
import { NO_PROCESS_TABLE, descendantsOf, stateOf } from '../chaos/process-table.js'
import { isIdle } from '../chaos/monitor.js'
import { isAlive, until } from './condition.js'

const TASKS = 2_000
const TASK_MS = 4

const square = async (x: number): Promise<number> => {
  await delay(TASK_MS)
  return x * x
}
const inputs = Array.from({ length: TASKS }, (_, index) => index)
const squares = inputs.map((x) => x * x)

test('kill -9 of an agent with 2,000 tasks in flight costs no result', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [2, 2] })
  const client = cluster.client()
  const futures = inputs.map((x) => client.submit(square, x))
  const ends: number[] = []
  for (const future of futures) void future.then(() => ends.push(performance.now()))
  await until('work goes on everywhere', () => ends.length >= 100)
  const left = TASKS - ends.length
  const begun = performance.now()
  await cluster.agents[0]?.kill()
  assert.deepEqual(await Promise.all(futures), squares)
  // The pace of the remaining workers, after recovery, gives the duration of the work.
  const [middle = 0, last = 0] = [ends.at(TASKS - left / 2), ends.at(-1)]
  const beyondMs = last - begun - 2 * (last - middle)
  t.diagnostic(`${left} tasks were left; ${Math.round(beyondMs)} ms beyond their work`)
})

test('when all workers are killed, their tasks wait for new ones', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1, 1] })
  const client = cluster.client()
  const futures = inputs.slice(0, 300).map((x) => client.submit(square, x))
  await futures[50]
  await Promise.all(cluster.agents.map((agent) => agent.kill()))
  await cluster.startAgent(2)
  assert.deepEqual(await Promise.all(futures), squares.slice(0, 300))
})

test('an agent that is killed repeatedly costs no result, and no task is answered twice', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1, 2] })
  const client = cluster.client().with({ maxWorkerDeaths: 1_000 })
  const answers = new Map<number, number>()
  const futures = inputs.slice(0, 800).map((x) => client.submit(square, x))
  for (const [x, future] of futures.entries()) {
    void future.then((value) => {
      assert.equal(value, x * x)
      answers.set(x, (answers.get(x) ?? 0) + 1)
    })
  }
  for (let round = 1; round <= 4; round += 1) {
    await until('some more results', () => answers.size >= round * 80)
    await cluster.agents.at(round === 1 ? 0 : -1)?.kill()
    await cluster.startAgent(1)
  }
  await Promise.all(futures)
  assert.equal(answers.size, 800)
  assert.ok([...answers.values()].every((count) => count === 1))
})

test('a task that takes each of its workers down fails with WorkerDiedError', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client()
  const future = client.with({ maxWorkerDeaths: 1 }).submit(async () => {
    process.kill(process.ppid, 'SIGKILL')
    await delay(1e8)
  })
  const failed = assert.rejects(future, { name: 'WorkerDiedError' })
  await cluster.agents[0]?.ended
  await cluster.startAgent(1)
  await cluster.agents[1]?.ended
  await failed
  await cluster.startAgent(1)
  assert.equal(await client.submit(square, 5), 25, 'the next task is none the worse')
})

for (const signal of ['SIGKILL', 'SIGTERM', 'SIGINT'] as const) {
  const title = `what tasks have started ends when their agent gets ${signal}`
  test(title, { skip: NO_PROCESS_TABLE }, async (t) => {
    const workers = 4
    const cluster = await TestCluster.start(t, { agents: [workers] })
    const client = cluster.client()
    const note = join(cluster.folder, 'pids')
    const task = async (path: string): Promise<void> => {
      const children = [
        spawn('sleep', ['1000'], { stdio: 'ignore' }),
        spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' }),
      ]
      appendFileSync(path, `${children.map((child) => child.pid).join(' ')} `)
      await delay(1e8)
    }
    const futures = Array.from({ length: workers }, () => client.submit(task, note))
    for (const future of futures) future.catch(() => {})
    const pids = (): number[] => {
      return existsSync(note) ? readFileSync(note, 'utf8').trim().split(' ').map(Number) : []
    }
    await until('they have started', () => pids().length === 2 * workers)
    const agent = cluster.agents[0]
    const below = descendantsOf(agent?.pid ?? 0)
    assert.ok(pids().every((pid) => below.includes(pid)))
    for (const future of futures) future.cancel()
    agent?.signal(signal)
    await agent?.ended
    await until('the end of all', () => !below.some(isRunning))
    await cluster.removeFile('pids')
  })
}

/** A process that has ended may wait for its parent to read its status. */
function isRunning(pid: number): boolean {
  return isAlive(pid) && stateOf(pid) !== 'Z'
}

test('an agent that is killed with its tasks leaves no trace in the scheduler', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1, 1] })
  const client = cluster.client()
  const large = client.sendObject(new Uint8Array(100_000).fill(7))
  const sum = async (bytes: Uint8Array, x: number): Promise<number> => {
    await delay(TASK_MS)
    return bytes.reduce((total, byte) => total + byte, x)
  }
  const futures = inputs.slice(0, 200).map((x) => client.submit(sum, large, x))
  await futures[20]
  await cluster.agents[0]?.kill()
  assert.deepEqual(
    await Promise.all(futures),
    inputs.slice(0, 200).map((x) => 700_000 + x),
  )
  await client.clear()
  await client.disconnect()
  await cluster.monitor.until('empty tables', isIdle)
})

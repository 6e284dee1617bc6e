// `future.explain()`, for tasks in every state, on real clusters.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { Client, Cluster, Scheduler, WorkerDiedError, type TaskExplanation } from 'scaler-ts'
import { startCommand } from '../package/command.js'
import { RouterScheduler } from './client-scheduler.js'
import { until } from './condition.js'
import { pathFor } from './worker-agent-setup.js'

const forEver = (): Promise<never> => new Promise(() => {})
const add = (a: number, b: number): number => a + b

function outcomesOf({ attempts }: TaskExplanation): string[] {
  return attempts.map(({ outcome }) => outcome)
}

async function startScheduler(): Promise<Scheduler> {
  return Scheduler.start({ address: 'tcp://127.0.0.1:0' })
}

test('a task without a scheduler, and without a worker, says so', async () => {
  await using client = new Client('tcp://127.0.0.1:1')
  const lonely = client.submit(add, 1, 2)
  const local = await lonely.explain()
  assert.deepEqual(
    { task: local.task, state: local.state, reason: local.reason, attempts: local.attempts },
    { task: lonely.id, state: 'pending', reason: 'no-scheduler', attempts: [] },
  )
  assert.match(local.text, /^no scheduler answers at tcp:\/\/127\.0\.0\.1:1/)
  await using scheduler = await startScheduler()
  await using other = await Client.connect(scheduler.address)
  const waiting = other.submit(add, 1, 2)
  const { state, reason } = await waiting.explain()
  assert.deepEqual({ state, reason }, { state: 'queued', reason: 'no-worker' })
})

test('it reports required capabilities that no worker offers, and busy workers for other tasks', async () => {
  await using client = await Client.local({ workers: 1 })
  const running = client.submit(forEver)
  await until('it runs', () => running.state === 'running')
  const needy = client.with({ capabilities: { tpu: 1, linux: -1 } }).submit(add, 1, 2)
  const { reason, needs, text } = await needy.explain()
  assert.equal(reason, 'no-capability')
  assert.match(needs ?? '', /tpu=1/)
  assert.match(text, /tpu=1/)
  const found = await running.explain()
  const [attempt] = found.attempts
  assert.deepEqual(
    [found.state, found.reason, outcomesOf(found)],
    ['running', undefined, ['running']],
  )
  assert.match(attempt?.worker ?? '', /^\d+\|.*\|[0-9a-f]+$/)
  assert.ok(attempt?.startedAt instanceof Date && attempt.durationMs >= 250)
})

test('a task that needs a future, and a node that needs others, name them', async () => {
  await using client = await Client.local({ workers: 1 })
  const slow = client.submit(forEver)
  const dependent = client.submit(add, 1, slow)
  const found = await dependent.explain()
  assert.deepEqual([found.reason, found.dependsOn], ['dependency', [slow.id]])
  const graph = client.get({ a: [forEver], b: [add, 'a', 'a'] }, ['a', 'b'])
  const node = graph.futures.b
  await until('the cluster has it', () => node.state === 'queued')
  const inside = await node.explain()
  assert.deepEqual([inside.state, inside.reason], ['queued', 'dependency'])
  assert.deepEqual(new Set(inside.dependsOn), new Set([graph.futures.a.id]))
  graph.cancel()
  slow.cancel()
})

test('failed attempts and lost workers are reported, while the task runs and afterwards', async (t) => {
  await using client = await Client.local({ workers: 1 })
  const path = pathFor(t, 'tries')
  const third = async (file: string): Promise<string> => {
    const { appendFileSync, existsSync: exists, readFileSync } = await import('node:fs')
    appendFileSync(file, 'x')
    if (readFileSync(file).length < 3) throw new Error('not yet')
    while (!exists(`${file}.go`)) await new Promise((resolve) => setTimeout(resolve, 5))
    return 'done'
  }
  const future = client.with({ retries: 5 }).submit(third, path)
  await until('it runs', () => future.state === 'running')
  const before = await future.explain()
  assert.deepEqual(outcomesOf(before), ['retried', 'retried', 'running'])
  writeFileSync(`${path}.go`, '')
  assert.equal(await future, 'done')
  const after = await future.explain()
  assert.equal(after.state, 'done')
  assert.deepEqual(outcomesOf(after), ['retried', 'retried', 'success'])
  assert.equal(after.attempts[2]?.worker, future.profile?.worker)
})

test('a task that takes down too many workers reports each of them', async (t) => {
  await using scheduler = await startScheduler()
  await using client = await Client.connect(scheduler.address)
  const future = client.with({ maxWorkerDeaths: 1 }).submit(() => {
    process.kill(process.ppid, 'SIGKILL')
    return new Promise(() => {})
  })
  const pids: string[] = []
  for (let count = 1; count <= 2; count += 1) {
    const agent = startCommand(t, 'scaler-cluster', ['-n', '1', scheduler.address])
    await agent.ended
    pids.push(String(agent.pid))
    await until('the scheduler knows', async () => {
      return outcomesOf(await future.explain()).join() === pids.map(() => 'worker-lost').join()
    })
  }
  await assert.rejects(future, WorkerDiedError)
  const { attempts } = await future.explain()
  assert.deepEqual(
    attempts.map(({ worker }) => worker.split('|')[0]),
    pids,
  )
})

test('a task that is cancelled while it runs reports that attempt; a finished one its start', async () => {
  await using client = await Client.local({ workers: 1 })
  const future = client.submit(forEver)
  await until('it runs', () => future.state === 'running')
  const [running] = (await future.explain()).attempts
  future.cancel()
  const early = await future.explain()
  const graph = client.get({ a: [forEver] }, ['a'])
  const node = graph.futures.a
  await until('the node runs', () => node.state === 'running')
  graph.cancel()
  for (const found of [early, await future.explain(), await node.explain()]) {
    assert.equal(found.state, 'cancelled')
    assert.deepEqual(outcomesOf(found), ['cancelled'])
    assert.equal(found.attempts[0]?.worker, running?.worker)
    assert.ok(found.attempts[0]?.startedAt instanceof Date)
  }
  const before = Date.now()
  const done = client.submit(add, 1, 2)
  await done
  const [last] = (await done.explain()).attempts
  const startedAt = last?.startedAt?.getTime() ?? 0
  assert.ok(startedAt >= before - 5 && startedAt <= Date.now(), String(startedAt - before))
  await assert.rejects(future)
  await assert.rejects(graph)
})

test('a scheduler of 1.9.9 is not asked', async () => {
  const old = await RouterScheduler.start({ id: '' })
  const client = new Client(old.address)
  const future = client.submit(add, 1, 2)
  const found = await future.explain()
  assert.deepEqual([found.task, found.attempts], [future.id, []])
  assert.deepEqual(old.fake.faults, [])
  future.cancel()
  const { state, attempts } = await future.explain()
  assert.deepEqual([state, attempts], ['cancelled', []])
  await assert.rejects(future)
  await client.close()
  await old.stop()
})

test('a newly submitted task reports no false reason', async () => {
  await using scheduler = await startScheduler()
  const cluster = await Cluster.start({ address: scheduler.address, workers: 1 })
  await using client = await Client.connect(scheduler.address)
  const future = client.submit(add, 1, 2)
  assert.equal(await future, 3)
  const { state, reason, text, attempts } = await future.explain()
  assert.deepEqual([state, reason, text, attempts.length], ['done', undefined, '', 1])
  assert.equal(attempts[0]?.outcome, 'success')
  await cluster.shutdown()
})

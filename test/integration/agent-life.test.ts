// Workers that end on their own: after a time without tasks, and before their time limit.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { Client, Cluster, Scheduler } from 'scaler-ts'
import { TestCluster } from '../chaos/cluster.js'
import { until } from './condition.js'
import { pathFor } from './worker-agent-setup.js'

const waitFor = async (ms: number): Promise<number> => {
  const { setTimeout } = await import('node:timers/promises')
  return setTimeout(ms, ms)
}

const waitForFile = async (path: string): Promise<string> => {
  const { existsSync } = await import('node:fs')
  const { setTimeout } = await import('node:timers/promises')
  while (!existsSync(path)) await setTimeout(20)
  return path
}

test('an agent without tasks for a while exits with code 0', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const client = cluster.client()
  // Longer than the timeout: a busy agent stays.
  const future = client.submit(waitFor, 4_000)
  const agent = cluster.startAgentInBackground(2, ['--idle-timeout-seconds', '3'])
  await agent.line(({ message }) => message === 'Cluster: leaving, no task for 3 s')
  const end = await agent.line(({ message }) => message === 'scaler_cluster: stopped')
  assert.equal(end['reason'], 'no task for 3 s')
  assert.deepEqual(await agent.ended, { code: 0, signal: null })
  assert.equal(await future.result({ timeoutMs: 1_000 }), 4_000)
  assert.deepEqual((await client.info()).lost, { count: 0, workers: [] })
})

test('an agent at its end gives back what it cannot finish', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const client = cluster.client()
  const path = pathFor(t, 'go')
  const futures = [1, 2].map(() => client.submit(waitForFile, path))
  const limits = ['--lifetime-seconds', '6', '--drain-seconds', '0.5']
  const agent = cluster.startAgentInBackground(1, limits)
  await agent.line(({ message }) => message === 'Cluster: leaving, the time limit is near')
  assert.deepEqual(await agent.ended, { code: 0, signal: null })
  writeFileSync(path, '')
  await cluster.startAgent(1)
  assert.deepEqual(await Promise.all(futures), [path, path])
  assert.equal((await client.info()).lost?.count, 0)
})

test('a signal for all processes of a job fails no task: it runs elsewhere', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client()
  const path = pathFor(t, 'go')
  const { pid } = await client.submit(() => ({ pid: process.pid }))
  const future = client.submit(waitForFile, path)
  await until('it runs', () => future.state === 'running')
  process.kill(pid, 'SIGTERM')
  const [agent] = cluster.agents
  agent?.signal('SIGTERM')
  await agent?.ended
  await cluster.startAgent(1)
  writeFileSync(path, '')
  assert.equal(await future, path)
})

test('a processor that alone is ended by a signal fails its task', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [1] })
  const client = cluster.client()
  const { pid } = await client.submit(() => ({ pid: process.pid }))
  const future = client.submit(waitForFile, pathFor(t, 'go'))
  await until('it runs', () => future.state === 'running')
  process.kill(pid, 'SIGTERM')
  await assert.rejects(future.result(), { code: 'ERR_SCALER_PROCESSOR_DIED' })
})

test('a cluster that is shut down twice lets its running tasks end', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  await using client = await Client.connect(scheduler.address)
  const cluster = await Cluster.start({ address: scheduler.address, workers: 1, drainMs: 60_000 })
  const path = pathFor(t, 'go')
  const future = client.submit(waitForFile, path)
  await until('it runs', () => future.state === 'running')
  const ends = [cluster.shutdown(), cluster.shutdown()]
  await until(
    'it leaves',
    async () => (await client.info()).hosts[0]?.workers[0]?.state === 'leaving',
  )
  writeFileSync(path, '')
  assert.equal(await future, path)
  await Promise.all([...ends, cluster.shutdown()])
})

// Workers that are asked to leave: started tasks end, the others run elsewhere, and nothing runs
// twice.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import type { Client, Future } from 'scaler-ts'
import { TestCluster } from '../chaos/cluster.js'
import type { Program } from '../chaos/program.js'
import { until } from './condition.js'
import { pathFor } from './worker-agent-setup.js'

/** A worker gets many of these at once when their function has proved to be quick. */
const TASKS = 40

/**
 * Records which agent starts it, then blocks its thread until it may continue. Without a name it is
 * quick.
 */
const hold = async (name: string, folder: string): Promise<string> => {
  if (name === '') return name
  const { appendFileSync, existsSync: exists } = await import('node:fs')
  appendFileSync(`${folder}.begun`, `${name} ${process.ppid}\n`)
  while (!exists(`${folder}.go`));
  return name
}

interface Stage {
  readonly cluster: TestCluster
  readonly client: Client
  readonly path: string
  readonly leaving: Program
}

/** Two agents, of which the first will leave, and a client that both have worked for. */
async function setStage(t: TestContext, agentArgs: readonly string[] = []): Promise<Stage> {
  const cluster = await TestCluster.start(t, { agents: [1, 1], agentArgs })
  const client = cluster.client()
  const path = pathFor(t, 'drain')
  await client.map((name: string) => name, ['a', 'b'])
  const [leaving] = cluster.agents
  assert.ok(leaving)
  return { cluster, client, path, leaving }
}

/** Which agent has started which tasks, so far. */
function begunIn(path: string): { readonly name: string; readonly agent: number }[] {
  const file = `${path}.begun`
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const lines = text.split('\n').filter((line) => line.length > 0)
  return lines.map((line) => {
    const [name = '', agent] = line.split(' ')
    return { name, agent: Number(agent) }
  })
}

/** A task on each of both agents: resolves when both have started. */
async function occupyBoth({ client, path }: Stage): Promise<Future<string>[]> {
  const futures = ['left', 'right'].map((name) => client.submit(hold, name, path))
  await until('both have begun', () => begunIn(path).length === 2)
  return futures
}

function isLeavingLine(line: Readonly<Record<string, unknown>>): boolean {
  return /^shutting down: waiting up to [\d.]+ s for \d+ running tasks?; a second signal/.test(
    String(line['message']),
  )
}

test('on scale-down no running task is discarded, and none runs twice', async (t) => {
  const { client, path, leaving } = await setStage(t)
  await Promise.all(Array.from({ length: 600 }, () => client.submit(hold, '', path)))
  const names = Array.from({ length: TASKS }, (_, index) => String(index))
  const futures = names.map((name) => client.submit(hold, name, path))
  await until('both have begun', () => begunIn(path).length === 2)
  leaving.signal('SIGTERM')
  await leaving.line(isLeavingLine)
  writeFileSync(`${path}.go`, '')
  assert.deepEqual(await Promise.all(futures), names)
  assert.deepEqual(await leaving.ended, { code: 143, signal: null })
  const begun = begunIn(path)
  const order = (a: string, b: string): number => Number(a) - Number(b)
  assert.deepEqual(begun.map(({ name }) => name).sort(order), names)
  assert.equal(begun.filter(({ agent }) => agent === leaving.pid).length, 1)
})

test('a second signal stops immediately, and its tasks run elsewhere', async (t) => {
  const stage = await setStage(t)
  const { path, leaving } = stage
  const futures = await occupyBoth(stage)
  leaving.signal('SIGTERM')
  // Some programs send the same signal twice at the same time: that counts as one.
  leaving.signal('SIGTERM')
  await leaving.line(isLeavingLine)
  leaving.signal('SIGINT')
  const last = await leaving.line(({ message }) => String(message).endsWith(': stopped'))
  assert.equal(last['reason'], 'SIGINT, the second signal')
  assert.deepEqual(await leaving.ended, { code: 130, signal: null })
  assert.equal(begunIn(path).length, 2)
  writeFileSync(`${path}.go`, '')
  assert.deepEqual(await Promise.all(futures), ['left', 'right'])
  assert.equal(begunIn(path).length, 3)
})

test('when the drain time is over the agent stops, and its tasks run elsewhere', async (t) => {
  const stage = await setStage(t, ['--drain-seconds', '0.2'])
  const { path, leaving } = stage
  const futures = await occupyBoth(stage)
  leaving.signal('SIGINT')
  const line = await leaving.line(
    ({ message }) => message === 'leaving while tasks are still running',
  )
  assert.deepEqual([line['name'], line['tasks'], line['attempt']], ['hold', 1, 1])
  assert.deepEqual(await leaving.ended, { code: 130, signal: null })
  assert.equal(begunIn(path).length, 2)
  writeFileSync(`${path}.go`, '')
  assert.deepEqual(await Promise.all(futures), ['left', 'right'])
  assert.equal(begunIn(path).length, 3)
})

test('an agent without running tasks stops immediately', async (t) => {
  const { leaving } = await setStage(t)
  leaving.signal('SIGTERM')
  assert.deepEqual(await leaving.ended, { code: 143, signal: null })
  assert.ok(!leaving.lines.some((line) => String(line['message']).startsWith('leaving')))
})

test('without drain time an agent leaves immediately', async (t) => {
  const stage = await setStage(t, ['--drain-seconds', '0'])
  const futures = await occupyBoth(stage)
  stage.leaving.signal('SIGTERM')
  assert.deepEqual(await stage.leaving.ended, { code: 143, signal: null })
  writeFileSync(`${stage.path}.go`, '')
  assert.deepEqual(await Promise.all(futures), ['left', 'right'])
})

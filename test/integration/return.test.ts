// Workers that lose their scheduler for a moment: running tasks continue, and are reported, with
// real processors and real connections.

import assert from 'node:assert/strict'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { until } from './condition.js'
import type { FakeScheduler, SentTask } from './fake-scheduler.js'
import { pathFor, setUp } from './worker-agent-setup.js'

/** Records its start, blocks its thread until it may continue, and records its end. */
const hold = async (path: string): Promise<string> => {
  const { appendFileSync: append, existsSync: exists } = await import('node:fs')
  append(`${path}.begun`, 'x')
  while (!exists(path));
  append(`${path}.ended`, 'x')
  return 'done'
}

/** Cuts the connection and waits until the worker is back. Returns the tasks that it reports. */
async function blink(scheduler: FakeScheduler): Promise<readonly string[]> {
  const [worker] = scheduler.workers
  assert.ok(worker !== undefined)
  const beats = scheduler.heartbeats.length
  scheduler.disconnect(worker)
  await until('the worker is back', () => scheduler.heartbeats.length > beats)
  return scheduler.heartbeats[beats]?.heartbeat.tasks ?? []
}

/** Sends a task as after the loss of a worker. */
function sendAgain(scheduler: FakeScheduler, { message }: SentTask, attempt: number): void {
  scheduler.send({ ...message, attempt })
}

function countIn(file: string): number {
  return existsSync(file) ? readFileSync(file, 'utf8').length : 0
}

test('a task that runs while the connection is lost is reported, and runs only once', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const task = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  assert.deepEqual(await blink(scheduler), [task.id])
  sendAgain(scheduler, task, 1)
  appendFileSync(path, '')
  const { value, result } = await task.outcome
  assert.equal(value, 'done')
  assert.equal(result.attempt, 1)
  assert.equal(countIn(`${path}.begun`), 1)
})

test('a task that ends before its scheduler asks is answered without running again', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const task = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  assert.deepEqual(await blink(scheduler), [task.id])
  writeFileSync(path, '')
  await until('it has ended', () => countIn(`${path}.ended`) === 1)
  // One more that is answered: by then the first result has arrived, too.
  assert.equal((await scheduler.submit(() => 1, []).outcome).value, 1)
  assert.ok(scheduler.isOpen(task.id))
  sendAgain(scheduler, task, 2)
  const { value, result } = await task.outcome
  assert.equal(value, 'done')
  assert.equal(result.attempt, 2)
  assert.equal(countIn(`${path}.begun`), 1)
})

test('a task that is no longer needed is stopped when the scheduler says so', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const task = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  assert.deepEqual(await blink(scheduler), [task.id])
  const next = scheduler.submit(() => 2, [])
  scheduler.cancel(task.id, true)
  assert.equal((await task.outcome).status, 'canceled')
  assert.equal((await next.outcome).value, 2)
})

test('tasks that a busy processor has not started are given back, and never run', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const quick = async (file: string, isQuick: boolean): Promise<string> => {
    if (isQuick) return 'quick'
    const { appendFileSync: append, existsSync: exists } = await import('node:fs')
    append(`${file}.begun`, 'x')
    while (!exists(file));
    return 'done'
  }
  const warm = Array.from({ length: 300 }, () => scheduler.submit(quick, [path, true]))
  await Promise.all(warm.map(({ outcome }) => outcome))
  const tasks = Array.from({ length: 20 }, () => scheduler.submit(quick, [path, false]))
  await until('the first runs', () => countIn(`${path}.begun`) === 1)
  for (const { id } of tasks.slice(1)) scheduler.cancel(id, false)
  const rest = await Promise.all(tasks.slice(1).map(({ outcome }) => outcome))
  assert.deepEqual(new Set(rest.map(({ status }) => status)), new Set(['canceled']))
  writeFileSync(path, '')
  assert.equal((await tasks[0]?.outcome)?.value, 'done')
  assert.equal((await scheduler.submit(() => 1, []).outcome).value, 1)
  assert.equal(countIn(`${path}.begun`), 1)
})

test('an agent that leaves notifies the scheduler, gives back waiting tasks, and ends running ones', async (context) => {
  const { scheduler, agent } = await setUp(context, { drainMs: 20_000 })
  const path = pathFor(context, 'go')
  const running = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  const waiting = scheduler.submit(hold, [path])
  const stopped = agent.stop()
  assert.equal((await waiting.outcome).status, 'canceled')
  assert.equal(scheduler.heartbeats.at(-1)?.heartbeat.isLeaving, true)
  assert.equal((await scheduler.submit(() => 1, []).outcome).status, 'canceled')
  writeFileSync(path, '')
  assert.equal((await running.outcome).value, 'done')
  await stopped
  assert.equal(scheduler.disconnects.length, 1)
  assert.equal(countIn(`${path}.begun`), 1)
})

test('an agent leaves a 1.9.9 scheduler immediately: it would continue to send tasks', async (context) => {
  const { scheduler, agent } = await setUp(context, { drainMs: 20_000 }, { features: 0 })
  const path = pathFor(context, 'go')
  const running = scheduler.submit(hold, [path])
  await until('it runs', () => countIn(`${path}.begun`) === 1)
  await agent.stop()
  assert.equal(scheduler.disconnects.length, 1)
  assert.ok(scheduler.isOpen(running.id))
  assert.ok(scheduler.heartbeats.every(({ heartbeat }) => !heartbeat.isLeaving))
})

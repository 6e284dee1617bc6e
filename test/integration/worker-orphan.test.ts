// Whatever happens to an agent, none of its processes is left.

import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { isAlive, until } from './condition.js'
import { FakeScheduler } from './fake-scheduler.js'

const AGENT = fileURLToPath(new URL('./agent-process.js', import.meta.url))

interface Setup {
  readonly scheduler: FakeScheduler
  readonly agent: ChildProcess
}

async function setUp(context: TestContext): Promise<Setup> {
  const scheduler = await FakeScheduler.start()
  const agent = spawn(process.execPath, [AGENT, scheduler.address], { stdio: 'inherit' })
  context.after(async () => {
    agent.kill('SIGKILL')
    await scheduler.close()
  })
  await scheduler.registered(2)
  return { scheduler, agent }
}

function countBusy(scheduler: FakeScheduler): number {
  const last = new Map(scheduler.heartbeats.map(({ from, heartbeat }) => [from, heartbeat]))
  return [...last.values()].filter(({ processors }) => processors[0]?.hasTask === true).length
}

test('kill -9 of the agent ends processors in a busy loop and their child processes', async (context) => {
  const { scheduler, agent } = await setUp(context)
  const start = async (): Promise<number> => {
    const { spawn: run } = await import('node:child_process')
    const child = run(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
    return child.pid ?? 0
  }
  const [first, second] = scheduler.workers
  const { value: grandchild } = await scheduler.submit(start, [], { worker: first }).outcome
  assert.ok(typeof grandchild === 'number' && isAlive(grandchild))
  const spin = (): never => {
    for (;;);
  }
  scheduler.submit(spin, [], { worker: first })
  scheduler.submit(spin, [], { worker: second })
  await until('both are busy', () => countBusy(scheduler) === 2)
  const pids = [...scheduler.processorIds, grandchild]
  assert.equal(pids.length, 3)
  agent.kill('SIGKILL')
  await until('all processes have ended', () => pids.every((pid) => !isAlive(pid)))
})

test('kill -9 of the agent ends idle processors', async (context) => {
  const { scheduler, agent } = await setUp(context)
  const pids = [...scheduler.processorIds]
  assert.equal(pids.length, 2)
  agent.kill('SIGKILL')
  await until('all processes have ended', () => pids.every((pid) => !isAlive(pid)))
})

test('a child of a task that dies does not outlive it', async (context) => {
  const { scheduler } = await setUp(context)
  const start = async (): Promise<number> => {
    const { spawn: run } = await import('node:child_process')
    const child = run(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' })
    return child.pid ?? 0
  }
  const [worker] = scheduler.workers
  const { value: grandchild } = await scheduler.submit(start, [], { worker }).outcome
  assert.ok(typeof grandchild === 'number' && isAlive(grandchild))
  const { status } = await scheduler.submit(() => process.exit(1), [], { worker }).outcome
  assert.equal(status, 'failed')
  await until('the child has ended', () => !isAlive(grandchild))
})

test('the agent ends by itself when the scheduler shuts down', async (context) => {
  const { scheduler, agent } = await setUp(context)
  const exited = once(agent, 'exit')
  for (const worker of scheduler.workers) {
    scheduler.send({ kind: 'clientDisconnect', disconnectType: 'shutdown' }, worker)
  }
  assert.deepEqual(await exited, [0, null])
})

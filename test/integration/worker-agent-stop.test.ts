// How real tasks are asked to stop, exceed their time limit, and are stopped by force.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { taskScopes, type TaskContext } from '#src/runtime/task-scope.js'
import { isAlive, until } from './condition.js'
import type { FakeScheduler } from './fake-scheduler.js'
import { childProcesses, pathFor, setUp } from './worker-agent-setup.js'

const PACKAGE = import.meta.resolve('scaler-ts')

interface Package {
  readonly currentTask: () => TaskContext
}

const spin = (): never => {
  for (;;);
}

/** Ends by itself on request, and writes the reason to a file. */
const listen = async (url: string, file: string): Promise<void> => {
  const { currentTask } = (await import(url)) as Package
  const { writeFileSync } = await import('node:fs')
  const { signal } = currentTask()
  writeFileSync(`${file}.started`, '')
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => {
      writeFileSync(file, String((signal.reason as Error).name))
      resolve()
    })
  })
}

const one = (): number => 1

function isBusy(scheduler: FakeScheduler): boolean {
  return scheduler.heartbeats.at(-1)?.heartbeat.processors[0]?.hasTask === true
}

test('a task that listens to its signal is asked to stop, and its processor survives', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'reason')
  const task = scheduler.submit(listen, [PACKAGE, path])
  await until('it listens', () => existsSync(`${path}.started`))
  const next = scheduler.submit(one, [])
  scheduler.cancel(task.id, true)
  assert.equal((await task.outcome).status, 'canceled')
  assert.equal((await next.outcome).value, 1)
  const { readFileSync } = await import('node:fs')
  assert.equal(readFileSync(path, 'utf8'), 'TaskCancelledError')
  assert.equal(scheduler.processorIds.size, 1)
})

test('a task that listens but does not end is stopped after its grace time', async (context) => {
  const { scheduler } = await setUp(context, { cancelGraceMs: 200 })
  const path = pathFor(context, 'started')
  const deaf = async (url: string, file: string): Promise<never> => {
    const { currentTask } = (await import(url)) as Package
    const { writeFileSync } = await import('node:fs')
    currentTask().signal.addEventListener('abort', () => {})
    writeFileSync(file, '')
    return new Promise(() => {})
  }
  const task = scheduler.submit(deaf, [PACKAGE, path])
  await until('it listens', () => existsSync(path))
  const next = scheduler.submit(one, [])
  const before = performance.now()
  scheduler.cancel(task.id, true)
  assert.equal((await next.outcome).value, 1)
  assert.ok(performance.now() - before >= 190)
})

test('a busy loop beside waiting tasks is stopped, and those run again', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const wait = async (file: string): Promise<string> => {
    const { existsSync: exists } = await import('node:fs')
    taskScopes.current?.childStarted()
    while (!exists(file)) await new Promise((resolve) => setTimeout(resolve, 5))
    return 'done'
  }
  const waiting = scheduler.submit(wait, [path])
  await until('it waits', () => scheduler.waitsOf(waiting.id) === 1)
  const loop = async (file: string): Promise<never> => {
    const { writeFileSync } = await import('node:fs')
    writeFileSync(file, '')
    for (;;);
  }
  const stuck = scheduler.submit(loop, [`${path}.loop`])
  await until('the loop runs', () => existsSync(`${path}.loop`))
  scheduler.cancel(stuck.id, true)
  // It waited, is counted for its own time again, and waits again.
  await until('it waits again', () => scheduler.waitsOf(waiting.id) === 2)
  const { writeFileSync } = await import('node:fs')
  writeFileSync(path, '')
  assert.equal((await waiting.outcome).value, 'done')
  await until('the next processor was shown', () => scheduler.processorIds.size === 2)
})

test('a task that exceeds its time limit fails, whatever it does', async (context) => {
  const { scheduler } = await setUp(context, { cancelGraceMs: 100 })
  const path = pathFor(context, 'reason')
  const extension = { timeoutMs: 200 }
  const never = (): Promise<never> => new Promise(() => {})
  for (const fn of [spin, never]) {
    const { status, value, profile } = await scheduler.submit(fn, [], { extension }).outcome
    assert.equal(status, 'failed')
    assert.equal((value as Error).name, 'TaskTimeoutError')
    assert.match((value as Error).message, /ran for longer than its 200 ms/)
    assert.ok((profile?.durationSeconds ?? 0) >= 0.19)
  }
  // It has to be imported first, in a new process.
  const patience = { timeoutMs: 2_000 }
  const listens = await scheduler.submit(listen, [PACKAGE, path], { extension: patience }).outcome
  assert.equal((listens.value as Error).name, 'TaskTimeoutError')
  await until('it was told why', () => existsSync(path))
  const quick = await scheduler.submit(one, [], { extension }).outcome
  assert.equal(quick.value, 1)
})

test('time in the queue does not count', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const hold = async (file: string): Promise<void> => {
    const { existsSync: exists } = await import('node:fs')
    while (!exists(file));
  }
  const warm = Array.from({ length: 300 }, () => scheduler.submit(one, []))
  await Promise.all(warm.map(({ outcome }) => outcome))
  const holding = scheduler.submit(hold, [path])
  const timed = scheduler.submit(one, [], { extension: { timeoutMs: 1 } })
  await until('the first runs', () => isBusy(scheduler))
  const beats = scheduler.heartbeats.length
  await until('some time has passed', () => scheduler.heartbeats.length >= beats + 4)
  const { writeFileSync } = await import('node:fs')
  writeFileSync(path, '')
  await holding.outcome
  const { status, value } = await timed.outcome
  // It may have taken its millisecond itself on a slow machine, but not a longer one.
  if (status === 'failed') assert.match(String(value), /TaskTimeoutError/)
  else assert.equal(value, 1)
})

test('reports of a task reach its agent and its scheduler', async (context) => {
  const { scheduler, log } = await setUp(context, { workerNames: ['speaker'] })
  const speak = async (url: string): Promise<unknown> => {
    const task = ((await import(url)) as Package).currentTask()
    task.log.warn('half way', { percent: 50 })
    task.setProgress(1, 2)
    task.setProgress(2, 2)
    return [task.id, task.name, task.attempt]
  }
  const sent = scheduler.submit(speak, [PACKAGE], { extension: { attempt: 1 } })
  const hexId = Buffer.from(sent.id, 'latin1').toString('hex')
  assert.deepEqual((await sent.outcome).value, [hexId, 'speak', 2])
  assert.deepEqual(scheduler.updatesOf(sent.id), ['progress 1 of 2', 'progress 2 of 2'])
  const line = log.lines.find(({ text }) => text === 'half way')
  assert.equal(line?.level, 'warn')
  assert.match(String(line.fields['worker']), /^\d+\|speaker\|[0-9a-f]{32}$/)
  assert.equal(line.fields['task'], hexId)
  assert.equal(line.fields['percent'], 50)
  assert.equal(typeof line.fields['processorId'], 'number')
})

test('the peak memory of a task is in its profile', async (context) => {
  const { scheduler } = await setUp(context)
  const peak = async (megabytes: number, forMs: number): Promise<void> => {
    const { setFlagsFromString } = await import('node:v8')
    const { runInNewContext } = await import('node:vm')
    let bytes: Uint8Array | undefined = new Uint8Array(megabytes * 1024 ** 2).fill(1)
    const end = performance.now() + forMs
    // Only another thread can measure it meanwhile.
    while (performance.now() < end) bytes[0] = 2
    bytes = undefined
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    for (let round = 0; round < 5; round += 1) {
      collect()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  // The first raises the kernel's maximum, which then shows nothing of the second.
  await scheduler.submit(peak, [200, 0]).outcome
  const { profile } = await scheduler.submit(peak, [100, 400], { profiling: true }).outcome
  assert.ok((profile?.peakMemoryBytes ?? 0) > 80 * 1024 ** 2, String(profile?.peakMemoryBytes))
})

const skip = process.platform === 'linux' ? false : 'reads /proc'

test('a spare takes the place of a killed processor', { skip }, async (context) => {
  const others = new Set(childProcesses())
  const { scheduler, agent } = await setUp(context, { spareProcessors: 2 })
  const mine = (): number[] => childProcesses().filter((pid) => !others.has(pid))
  // Until there is work, spares are not needed.
  const first = (await scheduler.submit(() => process.pid, []).outcome).value
  await until('there are three processors', () => mine().length === 3)
  const path = pathFor(context, 'busy')
  const loop = async (file: string): Promise<never> => {
    const { writeFileSync } = await import('node:fs')
    writeFileSync(file, '')
    for (;;);
  }
  const stuck = scheduler.submit(loop, [path])
  await until('the loop runs', () => existsSync(path))
  await until('the spares are there', () => mine().length >= 3)
  const spares = mine().filter((pid) => pid !== first)
  scheduler.cancel(stuck.id, true)
  const pid = await scheduler.submit(() => process.pid, []).outcome
  assert.ok(spares.includes(pid.value as number))
  await until('it is replaced', () => mine().length === 3)
  const all = mine()
  await agent.stop()
  assert.deepEqual(all.filter(isAlive), [])
})

test(
  'a spare that exits by itself is replaced; none is kept where none is configured',
  { skip },
  async (context) => {
    const others = new Set(childProcesses())
    const mine = (): number[] => childProcesses().filter((pid) => !others.has(pid))
    const { scheduler, log } = await setUp(context, { spareProcessors: 1 })
    await scheduler.submit(() => 1, []).outcome
    await until('there are two', () => mine().length === 2)
    const [spare = 0] = mine().filter((pid) => !scheduler.processorIds.has(pid))
    process.kill(spare, 'SIGKILL')
    await until('it is missed', () => log.lines.some(({ text }) => /spare processor/.test(text)))
    await until('there are two again', () => mine().length === 2 && !mine().includes(spare))
  },
)

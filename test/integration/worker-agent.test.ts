// Agents and processors for real, with a scheduler controlled by the test.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { OUR_FEATURES } from '#src/base/features.js'
import { idToHex, taskId } from '#src/base/ids.js'
import { sized } from '#src/base/short-run.kit.js'
import { Agent } from '#src/worker/agent/agent.js'
import type { AgentOptions } from '#src/worker/agent/options.js'
import { isAlive, until } from './condition.js'
import { FakeScheduler } from './fake-scheduler.js'
import { LineLogger, pathFor, setUp, type LogLine } from './worker-agent-setup.js'

test('a worker describes itself in its heartbeats', async (context) => {
  const { scheduler } = await setUp(context, { workerNames: ['left.1'] })
  await until('two heartbeats', () => scheduler.heartbeats.length >= 2)
  const { from, heartbeat } = scheduler.heartbeats.at(-1) ?? assert.fail()
  assert.match(from, new RegExp(`^${process.pid}\\|left\\.1\\|[0-9a-f]{32}$`))
  assert.equal(heartbeat.runtime, `node/${process.versions.node}`)
  assert.equal(heartbeat.features, OUR_FEATURES)
  assert.equal(heartbeat.queuedTasks, 0)
  assert.ok(heartbeat.agent.rss > 10_000_000)
  assert.ok(heartbeat.rssFree > 0)
  const [processor, ...others] = heartbeat.processors
  assert.deepEqual(others, [])
  assert.equal(processor?.initialized, true)
  assert.equal(processor.hasTask, false)
  assert.ok(isAlive(processor.pid))
  if (process.platform === 'linux') assert.ok(processor.resource.rss > 10_000_000)
})

test('functions run with inline and stored arguments, sync and async', async (context) => {
  const { scheduler } = await setUp(context)
  const add = (a: number, b: number): number => a + b
  const plain = await scheduler.submit(add, [1, 2]).outcome
  assert.equal(plain.status, 'success')
  assert.equal(plain.value, 3)
  assert.ok((plain.profile?.durationSeconds ?? -1) >= 0)
  const stored = await scheduler.submit(add, [3, 4], { asObjects: true }).outcome
  assert.equal(stored.value, 7)
  const later = async (text: string): Promise<string> => {
    await new Promise((resolve) => setTimeout(resolve, 5))
    return `${text}!`
  }
  assert.equal((await scheduler.submit(later, ['hello']).outcome).value, 'hello!')
  const fail = (): never => {
    throw new RangeError('out of range')
  }
  const failed = await scheduler.submit(fail, []).outcome
  assert.equal(failed.status, 'failed')
  assert.ok(failed.value instanceof RangeError)
  const reject = (): Promise<never> => Promise.reject(new TypeError('not so'))
  const rejected = await scheduler.submit(reject, []).outcome
  assert.ok(rejected.value instanceof TypeError)
})

test('a 1.9.9 scheduler gets results as objects', async (context) => {
  const { scheduler } = await setUp(context, {}, { features: 0 })
  const double = (x: number): number => 2 * x
  const { value } = await scheduler.submit(double, [21], { asObjects: true }).outcome
  assert.equal(value, 42)
  const kinds = scheduler.messages.map(({ kind }) => kind).filter((kind) => !/eartbeat/.test(kind))
  assert.deepEqual(kinds, ['objectRequest', 'objectInstruction', 'taskResult'])
})

test('thousands of tiny tasks are all answered, in order', async (context) => {
  const { scheduler } = await setUp(context)
  const tasks = Array.from({ length: sized(10_000, 2_000) }, (_, index) => {
    return scheduler.submit((x: number) => x + 1, [index])
  })
  const outcomes = await Promise.all(tasks.map(({ outcome }) => outcome))
  for (const [index, { status, value, order }] of outcomes.entries()) {
    assert.equal(status, 'success')
    assert.equal(value, index + 1)
    assert.equal(order, index + 1)
  }
})

test('results and arguments of 64 MiB travel', async (context) => {
  const { scheduler } = await setUp(context)
  const size = 64 * 1024 ** 2
  const make = (length: number): Uint8Array => new Uint8Array(length).fill(7)
  const { value } = await scheduler.submit(make, [size]).outcome
  assert.ok(value instanceof Uint8Array)
  assert.equal(value.length, size)
  assert.equal(value[size - 1], 7)
  const sum = (bytes: Uint8Array): number => (bytes[0] ?? 0) + (bytes.at(-1) ?? 0) + bytes.length
  const total = await scheduler.submit(sum, [value], { asObjects: true }).outcome
  assert.equal(total.value, size + 14)
})

test('arguments are created anew for each task', async (context) => {
  const { scheduler } = await setUp(context)
  const grow = (list: number[]): number => list.push(0)
  const outcomes = [0, 1, 2].map(
    () => scheduler.submit(grow, [[1, 2]], { asObjects: true }).outcome,
  )
  for (const { value } of await Promise.all(outcomes)) assert.equal(value, 3)
})

test('unreadable or unsendable values fail their task, and the worker continues', async (context) => {
  const { scheduler } = await setUp(context)
  const double = (x: number): number => 2 * x
  const good = scheduler.submit(double, [1])
  const functionId = [...scheduler.objects.keys()].at(-1) ?? assert.fail()
  const garbage = Buffer.from([250, 1, 2, 3])
  const badArgument = await scheduler.submitStored(functionId, [garbage]).outcome
  assert.equal(badArgument.status, 'failed')
  assert.equal((badArgument.value as Error).name, 'DeserializeError')
  const badFunction = scheduler.storeObject(garbage)
  for (let round = 0; round < 2; round += 1) {
    const { value } = await scheduler.submitStored(badFunction, []).outcome
    assert.equal((value as Error).name, 'DeserializeError')
  }
  const stuck = await scheduler.submit(() => ({ waits: new WeakMap([[{}, 1]]) }), []).outcome
  assert.equal(stuck.status, 'failed')
  assert.equal((stuck.value as Error).name, 'SerializeError')
  assert.equal((await good.outcome).value, 2)
  assert.equal(scheduler.processorIds.size, 1)
})

test('a missing object fails its task with its id', async (context) => {
  for (const features of [0, 1]) {
    const { scheduler } = await setUp(context, {}, { features })
    const sent = scheduler.submitStored('gone', [])
    const { status, value } = await sent.outcome
    assert.equal(status, 'failed')
    assert.equal((value as Error).name, 'MissingObjectError')
    assert.match((value as Error).message, new RegExp(Buffer.from('gone').toString('hex')))
  }
})

test('heartbeats continue while user code never returns', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const spin = async (file: string): Promise<string> => {
    const { existsSync } = await import('node:fs')
    while (!existsSync(file));
    return 'seen'
  }
  const { outcome } = scheduler.submit(spin, [path])
  const isBusy = (): boolean => {
    return scheduler.heartbeats.at(-1)?.heartbeat.processors[0]?.hasTask === true
  }
  await until('the worker says that it is busy', isBusy)
  const count = scheduler.heartbeats.length
  await until('ten heartbeats more', () => scheduler.heartbeats.length >= count + 10)
  writeFileSync(path, '')
  assert.equal((await outcome).value, 'seen')
})

test('a task that takes its process down fails with the cause', async (context) => {
  const { scheduler } = await setUp(context)
  const cases: [
    name: string,
    fn: () => unknown,
    code: number | undefined,
    signal: string | undefined,
  ][] = [
    ['kill', () => process.kill(process.pid, 'SIGKILL'), undefined, 'SIGKILL'],
    ['exit 0', () => process.exit(0), 0, undefined],
    ['exit 3', () => process.exit(3), 3, undefined],
    ['abort', () => process.abort(), undefined, 'SIGABRT'],
    [
      'throw in a callback',
      () => {
        setTimeout(() => {
          throw new Error('too late')
        }, 1)
        return new Promise(() => {})
      },
      1,
      undefined,
    ],
    [
      'unhandled rejection',
      () => {
        void Promise.reject(new Error('nobody cares'))
        return new Promise(() => {})
      },
      1,
      undefined,
    ],
  ]
  for (const [name, fn, exitCode, signal] of cases) {
    const { status, value } = await scheduler.submit(fn, []).outcome
    assert.equal(status, 'failed', name)
    const error = value as Error & { exitCode?: number; signal?: string; stderr?: string }
    assert.equal(error.name, 'ProcessorDiedError', name)
    assert.equal(error.exitCode, exitCode, name)
    assert.equal(error.signal, signal, name)
    if (name === 'throw in a callback') assert.match(error.stderr ?? '', /too late/)
    if (name === 'unhandled rejection') assert.match(error.stderr ?? '', /nobody cares/)
  }
  const alive = await scheduler.submit(() => 'alive', []).outcome
  assert.equal(alive.value, 'alive')
})

test('a process that a task leaves dying affects no other task', async (context) => {
  const { scheduler } = await setUp(context)
  const bomb = (): string => {
    setImmediate(() => process.exit(7))
    return 'done'
  }
  const tasks = [scheduler.submit(bomb, [])]
  for (let index = 0; index < 20; index += 1)
    tasks.push(scheduler.submit((x: number) => x, [index]))
  const [first, ...others] = await Promise.all(tasks.map(({ outcome }) => outcome))
  assert.equal(first?.value, 'done')
  assert.deepEqual(
    others.map(({ value }) => value),
    Array.from({ length: 20 }, (_, index) => index),
  )
})

test('among tiny tasks only the one that killed the processor fails, however it dies', async (context) => {
  const { scheduler } = await setUp(context)
  for (const fatal of ['exit', 'kill'] as const) {
    const work = (x: number, how: string): number => {
      if (x % 100 === 50) {
        if (how === 'exit') process.exit(9)
        process.kill(process.pid, 'SIGKILL')
      }
      return x
    }
    const tasks = Array.from({ length: 300 }, (_, x) => scheduler.submit(work, [x, fatal]))
    const outcomes = await Promise.all(tasks.map(({ outcome }) => outcome))
    for (const [x, { status, value }] of outcomes.entries()) {
      if (x % 100 === 50) assert.equal((value as Error).name, 'ProcessorDiedError')
      else assert.equal(value, x, `${fatal} ${status} ${x}`)
    }
  }
})

test('a result does not wait for a long task behind it', async (context) => {
  const { scheduler } = await setUp(context)
  const path = pathFor(context, 'go')
  const warm = Array.from({ length: 200 }, () => scheduler.submit(() => 'tiny', []))
  await Promise.all(warm.map(({ outcome }) => outcome))
  const tiny = scheduler.submit(() => 'tiny', [])
  const spin = async (file: string): Promise<string> => {
    const { existsSync } = await import('node:fs')
    while (!existsSync(file));
    return 'long'
  }
  const long = scheduler.submit(spin, [path])
  assert.equal((await tiny.outcome).value, 'tiny')
  writeFileSync(path, '')
  assert.equal((await long.outcome).value, 'long')
})

test('output of tasks is logged with their id and the name of their worker', async (context) => {
  const { scheduler, log } = await setUp(context, { workerNames: ['printer'] })
  const print = (): void => {
    console.log('to stdout: über €')
    console.error('to stderr\nsecond line')
    process.stdout.write('no end')
  }
  const { id, outcome } = scheduler.submit(print, [])
  await outcome
  await scheduler.submit(() => process.exit(0), []).outcome
  await until('the last line', () => log.lines.some(({ text }) => text === 'no end'))
  const find = (text: string): LogLine | undefined => log.lines.find((line) => line.text === text)
  for (const [text, level] of [
    ['to stdout: über €', 'info'],
    ['to stderr', 'warn'],
    ['second line', 'warn'],
  ] as const) {
    const line = find(text)
    assert.equal(line?.level, level, text)
    assert.match(String(line.fields['worker']), /^\d+\|printer\|[0-9a-f]{32}$/)
    assert.equal(typeof line.fields['processorId'], 'number')
    assert.equal(line.fields['task'], idToHex(taskId(id)))
    assert.equal(line.fields['attempt'], 1)
  }
})

test('force cancels a busy loop, and its neighbours are not affected', async (context) => {
  const { scheduler } = await setUp(context)
  const spin = (): never => {
    for (;;);
  }
  const stuck = scheduler.submit(spin, [])
  const others = [1, 2, 3].map((x) => scheduler.submit((y: number) => y, [x]))
  await until('the worker is busy', () => {
    return scheduler.heartbeats.at(-1)?.heartbeat.processors[0]?.hasTask === true
  })
  scheduler.cancel(stuck.id, false)
  assert.equal((await stuck.outcome).status, 'notFound')
  scheduler.cancel(stuck.id, true)
  const values = await Promise.all(others.map(async ({ outcome }) => (await outcome).value))
  assert.deepEqual(values, [1, 2, 3])
})

test('force reaches a task that looked tiny and never ends', async (context) => {
  const { scheduler } = await setUp(context)
  const work = (isLong: boolean): number => {
    while (isLong);
    return 1
  }
  const warm = Array.from({ length: 300 }, () => scheduler.submit(work, [false]))
  await Promise.all(warm.map(({ outcome }) => outcome))
  const before = Array.from({ length: 5 }, () => scheduler.submit(work, [false]))
  const stuck = scheduler.submit(work, [true])
  const behind = Array.from({ length: 5 }, () => scheduler.submit(work, [false]))
  await until('the worker is busy', () => {
    return scheduler.heartbeats.at(-1)?.heartbeat.processors[0]?.hasTask === true
  })
  scheduler.cancel(stuck.id, true)
  assert.equal((await stuck.outcome).status, 'canceled')
  for (const { outcome } of [...before, ...behind]) assert.equal((await outcome).value, 1)
})

test('a lost connection is restored, with the same processor', async (context) => {
  const { scheduler } = await setUp(context)
  await scheduler.submit(() => 1, []).outcome
  const worker = await scheduler.registered()
  const count = scheduler.heartbeats.length
  scheduler.disconnect(worker)
  await until('a heartbeat on a new connection', () => scheduler.heartbeats.length > count)
  await scheduler.registered()
  assert.equal((await scheduler.submit(() => 2, []).outcome).value, 2)
  assert.equal(scheduler.processorIds.size, 1)
})

test('user code that writes into the pipes ends only its own task', async (context) => {
  const { scheduler } = await setUp(context)
  const scribble = async (): Promise<void> => {
    const { writeSync } = await import('node:fs')
    writeSync(5, 'this is no frame of any kind that there is')
    await new Promise(() => {})
  }
  const { value } = await scheduler.submit(scribble, []).outcome
  assert.equal((value as Error).name, 'ProcessorDiedError')
  for (const fd of [3, 4, 5]) {
    const close = async (pipe: number): Promise<void> => {
      const { closeSync, openSync } = await import('node:fs')
      closeSync(pipe)
      openSync('/dev/null', 'w')
      await new Promise(() => {})
    }
    const closed = await scheduler.submit(close, [fd]).outcome
    assert.equal((closed.value as Error).name, 'ProcessorDiedError', String(fd))
  }
  assert.equal((await scheduler.submit(() => 'alive', []).outcome).value, 'alive')
})

test('a Python task is refused in a form that Python can read', async (context) => {
  const { scheduler } = await setUp(context)
  const sent = scheduler.submit(() => 1, [])
  await sent.outcome
  for (const [id, chunks] of scheduler.objects) {
    if (String(chunks[0]) === 'scaler-ts/default') scheduler.objects.set(id, [Buffer.of(0x80, 5)])
  }
  const ids = [...scheduler.objects.keys()]
  const worker = await scheduler.registered()
  scheduler.disconnect(worker)
  const count = scheduler.heartbeats.length
  await until('a heartbeat on a new connection', () => scheduler.heartbeats.length > count)
  const { status, value } = await scheduler.submitStored(ids.at(-1) ?? '', []).outcome
  assert.equal(status, 'failed')
  assert.match(String(value), /^cbuiltins\nRuntimeError\n\(S'[^']+'\ntR\.$/)
})

test('stopping notifies the scheduler and leaves nothing behind', async (context) => {
  const { scheduler, agent } = await setUp(context, { workers: 3 })
  await scheduler.registered(3)
  const spin = (): never => {
    for (;;);
  }
  scheduler.submit(spin, [], { worker: scheduler.workers[1] })
  scheduler.submit(() => new Promise((resolve) => setTimeout(resolve, 1e6)), [], {
    worker: scheduler.workers[2],
  })
  await until('two workers are busy', () => {
    const last = scheduler.heartbeats.slice(-3)
    return last.filter(({ heartbeat }) => heartbeat.processors[0]?.hasTask === true).length === 2
  })
  const pids = [...scheduler.processorIds]
  assert.equal(pids.length, 3)
  await Promise.all([agent.stop(), agent.stop()])
  assert.deepEqual(await agent.ended, { reason: 'stopped', isFailure: false })
  assert.equal(scheduler.disconnects.length, 3)
  assert.deepEqual(pids.filter(isAlive), [])
})

test('a shutdown by the scheduler ends the agent', async (context) => {
  const { scheduler, agent } = await setUp(context)
  const pids = [...scheduler.processorIds]
  scheduler.send({ kind: 'clientDisconnect', disconnectType: 'shutdown' })
  const end = await agent.ended
  assert.deepEqual(end, { reason: 'the scheduler is shutting down the cluster', isFailure: false })
  assert.deepEqual(pids.filter(isAlive), [])
})

test('without a scheduler the agent exits after its death timeout and says why', async () => {
  const scheduler = await FakeScheduler.start()
  const { address } = scheduler
  await scheduler.close()
  const agent = await Agent.start({ address, workers: 1, deathTimeoutMs: 700 })
  await assert.rejects(agent.ready, { name: 'DisconnectedError' })
  const end = await agent.ended
  assert.equal(end.isFailure, true)
  assert.match(end.reason, /700 ms/)
})

test('a missing scheduler is reported once, with the address and the reason', async (context) => {
  const log = new LineLogger()
  const options = { address: 'tcp://127.0.0.1:1', workers: 2, logger: log }
  const agent = await Agent.start(options)
  context.after(() => agent.stop())
  const isReport = ({ text }: LogLine): boolean => /cannot connect/.test(text)
  await until('four attempts', () => log.lines.filter(isReport).length >= 4)
  const warnings = log.lines.filter(isReport).filter(({ level }) => level === 'warn')
  assert.equal(warnings.length, 1)
  assert.equal(warnings[0]?.fields['address'], 'tcp://127.0.0.1:1')
  assert.match(String(warnings[0]?.fields['reason']), /ECONNREFUSED|refused/)
})

test('stopping an agent that never connected works, too', async () => {
  const agent = await Agent.start({ address: 'tcp://127.0.0.1:1', workers: 2 })
  await agent.stop()
  assert.deepEqual(await agent.ended, { reason: 'stopped', isFailure: false })
  await assert.rejects(agent.ready, { name: 'DisconnectedError' })
})

test('processors that cannot start are reported and retried', async (context) => {
  const scheduler = await FakeScheduler.start()
  const log = new LineLogger()
  const { address } = scheduler
  // Unlike an option that Node does not know: with that none would ever start.
  const execArgv = ['--import', 'data:text/javascript,throw new Error("not today")']
  const options = { address, workers: 1, logger: log, execArgv }
  const agent = await Agent.start(options)
  context.after(async () => {
    await agent.stop()
    await scheduler.close()
  })
  const isReported = (line: LogLine): boolean => /finished a task: .*not today/.test(line.text)
  const ends = (): number => log.lines.filter(({ text }) => /exited with code 1/.test(text)).length
  await until('another attempt', () => ends() >= 2)
  assert.equal(log.lines.filter(isReported).length, 1)
  assert.ok(log.lines.some(({ text }) => /not today/.test(text)))
  assert.equal(scheduler.heartbeats.length, 0)
})

test('a profile has CPU time and memory on request', async (context) => {
  const { scheduler } = await setUp(context)
  const work = (): number => {
    const lists: number[][] = []
    for (let round = 0; round < 200; round += 1) {
      lists.push(Array.from({ length: 10_000 }, (_, index) => index * round))
    }
    return lists.length
  }
  const { profile } = await scheduler.submit(work, [], { profiling: true }).outcome
  assert.ok(profile !== undefined)
  assert.ok(profile.durationSeconds > 0.001)
  assert.ok(profile.cpuSeconds > 0)
  assert.ok(profile.peakMemoryBytes > 1_000_000)
  const without = await scheduler.submit(work, []).outcome
  assert.ok((without.profile?.cpuSeconds ?? 0) > 0)
  assert.equal(without.profile?.peakMemoryBytes, 0)
})

test('bad options are refused by name', async () => {
  const good = { address: 'tcp://127.0.0.1:1', workers: 1 }
  const bad: [Partial<AgentOptions>, RegExp][] = [
    [{ address: 'nonsense' }, /nonsense/],
    [{ workers: 0 }, /workers/],
    [{ workers: 5000 }, /workers/],
    [{ workerNames: ['a', 'b'] }, /workerNames/],
    [{ workerNames: ['a|b'] }, /workerNames/],
    [{ workerNames: [''] }, /workerNames/],
    [{ heartbeatIntervalMs: 1 }, /heartbeatIntervalMs/],
    [{ deathTimeoutMs: Number.NaN }, /deathTimeoutMs/],
    [{ inlineLimitBytes: -1 }, /inlineLimitBytes/],
    [{ killDelayMs: 0.5 }, /killDelayMs/],
    [{ cancelGraceMs: -1 }, /cancelGraceMs/],
    [{ drainMs: -1 }, /drainMs/],
    [{ drainMs: 3_600_001 }, /drainMs/],
    [{ spareProcessors: 17 }, /spareProcessors/],
    [{ objectCacheBytes: 2 ** 41 }, /objectCacheBytes/],
    [{ objectDirectory: 'relative' }, /option objectDirectory: expected an absolute path/],
    [{ cwd: '/no/such/folder' }, /cwd/],
    [{ execArgv: 'text' as unknown as string[] }, /execArgv/],
    [{ nonsense: 1 } as Partial<AgentOptions>, /nonsense/],
  ]
  for (const [options, message] of bad) {
    await assert.rejects(Agent.start({ ...good, ...options }), { name: 'ConfigError', message })
  }
})

// The commands of operators on a real cluster.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { Client, Cluster, Scheduler, TaskCancelledError } from 'scaler-ts'
import { until } from '../integration/condition.js'
import { pathFor } from '../integration/worker-agent-setup.js'
import { runCommand, startCommand } from './command.js'

const price = (x: number): number => {
  if (x < 0) throw new RangeError(`no price for ${x}`)
  return x
}

const endless = async (): Promise<void> => {
  await new Promise(() => setInterval(() => {}, 1_000))
}

/** Runs a command and returns its exit code and output. */
async function run(t: TestContext, ...args: readonly string[]): Promise<readonly unknown[]> {
  const { code, stdout, stderr } = await runCommand(t, 'scaler', args)
  return [code, stdout, stderr]
}

test('explain: a waiting, a running and a failed task, and unknown ids', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using _cluster = await Cluster.start({ address, workers: 1 })
  await using client = new Client(address)
  const failed = client.submit(price, -1)
  await assert.rejects(failed, RangeError)
  const waiting = client.with({ capabilities: { gpu: 1 } }).submit(price, 1)
  const forever = client.submit(endless)
  await until('the task runs', () => forever.state === 'running', 60_000)
  const explain = (id: string, ...more: string[]): Promise<readonly unknown[]> =>
    run(t, 'explain', id, '--address', address, ...more)

  const [, text] = await explain(waiting.id)
  assert.match(
    String(text),
    /^[0-9a-f]{32} \(price\(\)\): waiting for .+\n {2}reason {3}no-capability: .+gpu=1\n/,
  )
  const [code, json] = await explain(forever.id.slice(0, 8), '--json')
  const { task, state, attempts } = JSON.parse(String(json)) as Record<string, unknown>
  assert.deepEqual([code, task, state], [0, forever.id, 'running'])
  assert.equal((attempts as { outcome: string }[])[0]?.outcome, 'running')
  const [, story] = await explain(failed.id)
  assert.match(
    String(story),
    /: failed .+ ago\n(.*\n)* {2}attempt {2}failed, .+\n {2}error {4}RangeError: no price for -1\n/,
  )
  for (const where of [[address], ['--monitor-address', scheduler.monitorAddress ?? '']]) {
    const [given] = await run(t, 'explain', forever.id, ...where)
    assert.equal(given, 0, where.join(' '))
  }
  assert.deepEqual(await explain('abcdef0123'), [
    1,
    '',
    'scaler explain: task abcdef0123 is unknown: the scheduler knows unfinished tasks once it has them, and the last 1,000 failed ones\n',
  ])
  const shortened = 'scaler explain: task "a": expected 4 to 64 digits of the id\n'
  assert.deepEqual(await explain('a'), [2, '', shortened])
  const misspelt = 'scaler explain: task "zz": expected the hexadecimal digits of an id\n'
  assert.deepEqual(await explain('zz'), [2, '', misspelt])
})

test('cancel: tasks of another client; a protected scheduler refuses', async (t) => {
  for (const isProtected of [false, true]) {
    await using scheduler = await Scheduler.start({
      address: 'tcp://127.0.0.1:0',
      protected: isProtected,
    })
    const { address } = scheduler
    await using client = new Client(address)
    const future = client.submit(price, 1)
    const outcome = future.then(
      () => 'done',
      (error: unknown) => error,
    )
    await until('it is queued', () => future.state === 'queued', 60_000)
    const result = await run(t, 'cancel', future.id, 'abcdef0123', '--address', address)
    if (isProtected) {
      assert.deepEqual(result.slice(0, 2), [1, ''])
      assert.match(String(result[2]), /protected mode/)
      assert.equal(future.state, 'queued')
      future.cancel()
      await outcome
    } else {
      assert.deepEqual(result.slice(0, 2), [1, `cancelled ${future.id} (price())\n`])
      assert.match(String(result[2]), /^scaler cancel: task abcdef0123 is unknown/)
      const error = await outcome
      assert.ok(error instanceof TaskCancelledError)
      assert.match(error.message, /cancelled by an operator/)
      const other = client.submit(price, 2)
      const rejected = assert.rejects(other, TaskCancelledError)
      await until('it is queued', () => other.state === 'queued', 60_000)
      const begin = other.id.slice(0, 30)
      const [, json] = await run(t, 'cancel', begin, '--json', '--address', address)
      assert.deepEqual(JSON.parse(String(json)), [{ task: other.id, cancelled: true }])
      await rejected
    }
  }
})

const noisy = async (): Promise<void> => {
  process.stdout.write('hello\u0001\nwor')
  process.stdout.write('ld\n')
  process.stderr.write('oh\n')
  await new Promise(() => setInterval(() => {}, 1_000))
}

test('logs: the lines of a worker, whatever its client does with them', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using _cluster = await Cluster.start({ address, workers: 2, workerNames: ['a', 'b'] })
  for (const output of ['off', 'log', 'forward'] as const) {
    await using client = new Client(address, { output })
    const future = client.submit(noisy)
    await until('the task runs', () => future.state === 'running', 60_000)
    const { attempts } = await future.explain()
    const worker = attempts[0]?.worker ?? ''
    const lines = async (...more: string[]): Promise<readonly unknown[]> => {
      return run(t, 'logs', worker, '--address', address, '--lines', '3', ...more)
    }
    const [code, text] = await lines()
    assert.equal(code, 0)
    assert.match(String(text), /^\S+Z stdout hello\\u0001\n\S+Z stdout world\n\S+Z stderr oh\n$/)
    const [, json] = await lines('--json')
    assert.deepEqual(
      (JSON.parse(String(json)) as { text: string }[]).map((line) => line.text),
      ['hello\u0001', 'world', 'oh'],
    )
    future.cancel()
    await assert.rejects(future)
  }
  const [unknown, , why] = await run(t, 'logs', 'nobody', '--address', address)
  assert.deepEqual(
    [unknown, why],
    [1, 'scaler logs: worker nobody is unknown: see scaler workers\n'],
  )
  const [unclear, , several] = await run(t, 'logs', String(process.pid), '--address', address)
  assert.equal(unclear, 1)
  assert.match(String(several), /could be one of several: \d+\|[ab]\|\w+, \d+\|[ab]\|\w+\n$/)
})

test('drain: running tasks finish, the worker does not return; others fail in words', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using cluster = await Cluster.start({ address, workers: 2, workerNames: ['a', 'b'] })
  await using client = new Client(address)
  const file = pathFor(t, 'finish')
  const future = client.submit(async (path: string) => {
    const { existsSync: exists } = await import('node:fs')
    while (!exists(path)) await new Promise((resolve) => setTimeout(resolve, 5))
    return process.ppid
  }, file)
  await until('the task runs', () => future.state === 'running', 60_000)
  const worker = (await future.explain()).attempts[0]?.worker ?? ''
  const misspelt = await run(t, 'drain', worker, 'nobody', '--address', address)
  assert.deepEqual(misspelt.slice(0, 2), [1, ''])
  assert.match(
    String(misspelt[2]),
    /^scaler drain: worker nobody is unknown: see scaler workers; no worker was drained\n$/,
  )
  assert.deepEqual(await run(t, 'drain', worker, worker, '--address', address), [
    0,
    `draining ${worker}: 1 running task has up to 60 min\n`,
    '',
  ])
  const { hosts } = await client.info()
  assert.equal(hosts[0]?.workers.find(({ id }) => id === worker)?.state, 'leaving')
  const rest = await run(t, 'drain', hosts[0]?.host ?? '', '--address', address, '--json')
  const results = JSON.parse(String(rest[1])) as { draining: boolean; running: string[] }[]
  assert.ok(results.every(({ draining }) => draining))
  assert.deepEqual(new Set(results.map(({ running }) => running.length)), new Set([0, 1]))
  writeFileSync(file, '')
  assert.equal(await future, process.pid)
  assert.deepEqual(await cluster.ended, { reason: 'drained by an operator', isFailure: false })
})

test('drain: after the grace time, tasks run elsewhere; a protected scheduler refuses', async (t) => {
  for (const isProtected of [false, true]) {
    await using scheduler = await Scheduler.start({
      address: 'tcp://127.0.0.1:0',
      protected: isProtected,
    })
    const { address } = scheduler
    await using cluster = await Cluster.start({ address, workers: 1, workerNames: ['a'] })
    await using client = new Client(address)
    const future = client.submit(endless)
    await until('the task runs', () => future.state === 'running', 60_000)
    const end = await run(t, 'drain', 'a', '--grace-seconds', '0', '--address', address)
    if (isProtected) {
      assert.match(String(end[2]), /protected mode, in which operators cannot drain a worker/)
      assert.deepEqual([end[0], future.state], [1, 'running'])
    } else {
      assert.equal(end[0], 0)
      await cluster.ended
      await until('it waits again', () => future.state === 'queued', 60_000)
    }
    future.cancel()
    await assert.rejects(future)
  }
})

const loop = (path: string): void => {
  const { existsSync: exists } = process.getBuiltinModule('node:fs')
  while (!exists(path));
}

test('stack: a stuck loop by its task and its worker, and a task that waits', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using _cluster = await Cluster.start({ address, workers: 1, workerNames: ['a'] })
  await using client = new Client(address)
  const stack = (...args: string[]): Promise<readonly unknown[]> =>
    run(t, 'stack', ...args, '--address', address)
  const path = pathFor(t, 'loop')
  const stuck = client.submit(loop, path)
  await until('the loop runs', () => stuck.state === 'running', 60_000)
  const [code, text] = await stack(stuck.id.slice(0, 8))
  assert.equal(code, 0)
  assert.match(
    String(text),
    /^\d+\|a\|\w+: running JavaScript\n {2}task {5}\w+ \(loop\(\)\), running for .+ s\n {2}stack {4}/,
  )
  assert.match(String(text), / loop \(\/.+cli-operate\.test\.[jt]s:\d+:\d+\)\n$/)
  const [jsonCode, json, problem] = await stack('a', '--json')
  assert.deepEqual([jsonCode, problem], [0, ''])
  const found = JSON.parse(String(json)) as {
    readonly tasks: { readonly task: string }[]
    readonly stack: { readonly function: string }[]
  }
  assert.deepEqual([found.tasks[0]?.task, found.stack.at(-1)?.function], [stuck.id, 'loop'])
  const queued = client.submit(endless)
  const [notYet, , why] = await stack(queued.id)
  assert.ok(notYet === 1 ? /no worker has it/.test(String(why)) : notYet === 0)
  writeFileSync(path, '')
  await stuck
  await until('the other runs', () => queued.state === 'running', 60_000)
  const [, waits] = await stack('a')
  assert.match(String(waits), /: no JavaScript is running: .+\n {2}task {5}\w+ \(endless\(\)\)/)
  queued.cancel()
  await assert.rejects(queued)
  const [none, , unknown] = await stack('abcdef0123')
  assert.deepEqual([none, /task abcdef0123 is unknown/.test(String(unknown))], [1, true])
})

test('stack: each question is answered if the agent is frozen or dies', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  const agent = startCommand(t, 'scaler-cluster', ['-n', '1', '--worker-names', 'a', address])
  await using client = new Client(address)
  const future = client.submit(endless)
  await until('it runs', () => future.state === 'running', 60_000)
  process.kill(agent.pid, 'SIGSTOP')
  const [code, , why] = await run(t, 'stack', 'a', '--address', address)
  assert.equal(code, 1)
  assert.match(String(why), /worker a: (the worker has left|it has not answered within 5 s)\n$/)
  const again = run(t, 'stack', 'a', '--address', address)
  process.kill(agent.pid, 'SIGKILL')
  assert.deepEqual((await again).slice(0, 2), [1, ''])
})

test('every command on two agents, before and after one is killed and the scheduler restarts', async (t) => {
  const first = startCommand(t, 'scaler-scheduler', ['tcp://127.0.0.1:0'])
  const listening = await first.line(({ message }) => /address is/.test(String(message)))
  const address = /tcp:\S+/.exec(String(listening['message']))?.[0] ?? ''
  const agents = ['left', 'right'].map((name) => {
    const options = ['-n', '1', '--worker-names', name, '--heartbeat-interval', '0.2']
    return startCommand(t, 'scaler-cluster', [...options, address])
  })
  await using client = new Client(address, { name: 'shop' })
  const stuck = client.submit(function loop(): never {
    const cell = new Int32Array(new SharedArrayBuffer(4))
    // Blocks its process as a busy loop does, but leaves the processor to others.
    for (;;) Atomics.wait(cell, 0, 0, 20)
  })
  const waiting = client.with({ capabilities: { gpu: 1 } }).submit(price, 1)
  await assert.rejects(client.submit(price, -1), RangeError)
  const show = async (...args: readonly string[]): Promise<string> => {
    const [code, stdout, stderr] = await run(t, ...args, '--address', address)
    assert.deepEqual([code, stderr], [0, ''])
    return String(stdout)
  }
  const list = async (...args: readonly string[]): Promise<string> => {
    const [code, stdout, stderr] = await run(t, ...args, address)
    assert.deepEqual([code, stderr], [0, ''])
    return String(stdout)
  }
  const shows = async (text: RegExp, ...args: readonly string[]): Promise<void> => {
    await until(`${args[0]} shows ${text}`, async () => text.test(await list(...args)), 60_000)
  }
  const checkAll = async (): Promise<void> => {
    await shows(/^loop\(\) +running +1 /m, 'tasks')
    await shows(/^price\(\) +no-capability +1 /m, 'tasks')
    assert.match(
      await list('status'),
      /^attention: 1 task of price\(\) waits: no worker offers gpu=1/,
    )
    assert.match(await list('clients'), /^shop \(\d+\) /m)
    assert.match(await show('explain', waiting.id), /reason {3}no-capability/)
    assert.match(await show('explain', stuck.id), /attempt {2}running/)
    assert.match(await show('stack', stuck.id), /stack {4}loop \(/)
  }
  await shows(/\|right\|/, 'workers')
  await checkAll()
  assert.match(await list('failures'), /^price\(\) RangeError: no price for -1/m)
  const holder = /\|(left|right)\|/.exec(await list('workers', '--filter', 'state=busy'))?.[1]
  const [held, other] = holder === 'left' ? agents : agents.toReversed()
  const otherName = holder === 'left' ? 'right' : 'left'

  // The agent with the stuck task is killed: the other one gets the task.
  assert.ok(held !== undefined && other !== undefined)
  process.kill(held.pid, 'SIGKILL')
  await shows(new RegExp(`\\|${otherName}\\|.* busy `), 'workers')
  await checkAll()
  const status = await list('status')
  assert.match(status, new RegExp(`^attention: 1 worker was lost .*: ${holder} on `, 'm'))
  const had = `loop\\(\\) ${stuck.id.slice(0, 8)} `
  assert.match(status, new RegExp(`^lost workers.*\n\\d+\\|${holder}\\|.* ${had}`, 'm'))
  assert.match(await show('explain', stuck.id), /attempt {2}.*died|attempt {2}.*lost/)

  // The next scheduler knows what its peers tell it, and no failures from before.
  process.kill(first.pid, 'SIGKILL')
  await first.ended
  startCommand(t, 'scaler-scheduler', [address])
  await shows(new RegExp(`\\|${otherName}\\|.* busy `), 'workers')
  await checkAll()
  assert.equal(await list('failures'), 'no failures\n')
  assert.match(await show('logs', otherName), /\[INFO\] registered with the scheduler/)
  assert.match(await show('cancel', stuck.id, waiting.id), /(cancelled .*\n){2}/)
  for (const future of [stuck, waiting]) await assert.rejects(future, TaskCancelledError)
  assert.match(await show('drain', otherName), /^draining .*: no task/)
  await shows(/^no workers$/m, 'workers')
})

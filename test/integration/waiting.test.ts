// Waiting is never silent: real processes, their output while tasks wait, and their output while
// all is well.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client, Cluster, Scheduler, SchedulerClusterCombo, TimeoutError } from 'scaler-ts'
import { until as untilBy } from './condition.js'

/** Programs have to start, and then to wait for five seconds. */
const DEADLINE_MS = 60_000

const PROGRAM = fileURLToPath(new URL('./program/waiting-client.js', import.meta.url))

interface Program {
  /** Its output so far. */
  readonly stdout: () => string
  readonly stderr: () => string
  readonly ended: Promise<number | null>
  readonly say: (text: string) => void
}

function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  return untilBy(what, isTrue, DEADLINE_MS)
}

/** A program that has a client; see program/waiting-client.ts. */
function start(context: TestContext, what: string, address: string): Program {
  const child = spawn(process.execPath, [PROGRAM, what, address])
  const text = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (text.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (text.stderr += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  context.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    stdout: () => text.stdout,
    stderr: () => text.stderr,
    ended,
    say: (words) => child.stdin.write(words),
  }
}

interface Warning {
  readonly code: string
  readonly detail: string
  readonly message: string
}

/** The process warnings of a program. */
function warningsOf(program: Program): Warning[] {
  const lines = program.stdout().split('\n')
  return lines.flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Warning] : []))
}

/** A scheduler in this process, and its log at `warn` and above. */
async function startScheduler(
  context: TestContext,
): Promise<{ readonly scheduler: Scheduler; readonly lines: string[] }> {
  const lines: string[] = []
  const note = (text: string, fields?: object): void => {
    lines.push(`${text} ${JSON.stringify(fields)}`)
  }
  const logger = { debug: () => {}, info: () => {}, warn: note, error: note }
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0', logger })
  context.after(() => scheduler.close())
  return { scheduler, lines }
}

test('a client at a dead port reports it after five seconds, once', async (context) => {
  const { scheduler } = await startScheduler(context)
  const { address } = scheduler
  await scheduler.close()
  const program = start(context, 'submit', address)
  await until('it warns', () => warningsOf(program).length > 0)
  const [warning] = warningsOf(program)
  assert.equal(warning?.code, 'SCALER_WAITING')
  assert.equal(warning?.detail, 'no-scheduler')
  assert.match(warning?.message ?? '', /^one task has waited for \d+ s: no scheduler answers at /)
  assert.ok(warning?.message.includes(`${address} (connect ECONNREFUSED`), warning?.message)
  // Output that the process prints by itself.
  await until('it is printed', () => program.stderr().includes('\nno-scheduler\n'))
  assert.match(program.stderr(), /\[SCALER_WAITING\] ScalerWarning: one task has waited/)
})

test('Client.connect reports it, too, while it tries', async (context) => {
  const { scheduler } = await startScheduler(context)
  const { address } = scheduler
  await scheduler.close()
  const program = start(context, 'connect', address)
  await until('it warns', () => warningsOf(program).length > 0)
  assert.match(
    warningsOf(program)[0]?.message ?? '',
    /^the client has waited for \d+ s: no scheduler/,
  )
})

test('without workers the client reports it, and so does the scheduler', async (context) => {
  const { scheduler, lines } = await startScheduler(context)
  const program = start(context, 'submit', scheduler.address)
  await until('it warns', () => warningsOf(program).length > 0 && lines.length > 0)
  const [warning] = warningsOf(program)
  assert.equal(warning?.code, 'SCALER_WAITING')
  assert.equal(warning?.detail, 'no-worker')
  const what = `the scheduler at ${scheduler.address} has no worker that accepts tasks`
  assert.ok(warning?.message.includes(what), warning?.message)
  assert.ok(warning?.message.endsWith(`scaler_cluster ${scheduler.address}`), warning?.message)
  const fields = { reason: 'no-worker', runtime: 'javascript', tasks: 1 }
  const line = `tasks wait: no connected worker can run them ${JSON.stringify(fields)}`
  assert.deepEqual(lines, [line])
  const cluster = await Cluster.start({ address: scheduler.address, workers: 1 })
  context.after(() => cluster.shutdown())
  await until('its task runs', () => program.stdout().includes('got 42'))
  assert.equal(warningsOf(program).length, 1)
})

test('while all is well nothing is printed, however long a task takes', async (context) => {
  const { scheduler, lines } = await startScheduler(context)
  const cluster = await Cluster.start({ address: scheduler.address, workers: 1 })
  context.after(() => cluster.shutdown())
  const program = start(context, 'long', scheduler.address)
  assert.equal(await program.ended, 0)
  assert.equal(program.stdout(), 'got 1\ngot 2\n')
  assert.equal(program.stderr(), '')
  assert.deepEqual(lines, [])
})

test('a client with no unfinished work is silent and keeps nothing alive', async (context) => {
  const program = start(context, 'idle', 'tcp://127.0.0.1:1')
  assert.equal(await program.ended, 0)
  assert.ok(!program.stderr().includes('SCALER_WAITING'), program.stderr())
})

test('the error of a time limit says why the task waits', async (context) => {
  const { scheduler } = await startScheduler(context)
  await using client = new Client(scheduler.address)
  const future = client.submit((x: number) => x, 1)
  let error: unknown
  await until('the reason is known', async () => {
    error = await future.result({ timeoutMs: 100 }).catch((reason: unknown) => reason)
    return error instanceof TimeoutError && error.reason === 'no-worker'
  })
  assert.ok(error instanceof TimeoutError)
  assert.equal(error.reason, 'no-worker')
  assert.ok(error.message.endsWith('has no worker that accepts tasks (no-worker)'), error.message)
})

test('a future is queued until a worker has started it, and again when its worker is lost', async (context) => {
  const { scheduler } = await startScheduler(context)
  await using client = new Client(scheduler.address)
  const future = client.submit(() => new Promise<number>(() => {}))
  assert.equal(future.state, 'pending')
  await until('the scheduler has it', () => future.state === 'queued')
  const cluster = await Cluster.start({ address: scheduler.address, workers: 1 })
  context.after(() => cluster.shutdown())
  await until('a worker has begun it', () => future.state === 'running')
  await cluster.shutdown()
  await until('it waits again', () => future.state === 'queued')
  future.cancel()
  await assert.rejects(future, { name: 'TaskCancelledError' })
})

test('a graph shows which of its targets is running', async (context) => {
  const { scheduler } = await startScheduler(context)
  const cluster = await Cluster.start({ address: scheduler.address, workers: 1 })
  context.after(() => cluster.shutdown())
  await using client = new Client(scheduler.address)
  const forever = (): Promise<number> => new Promise(() => {})
  const graph = client.get({ a: [forever], b: [(x: number) => x, 'a'] }, ['a', 'b'])
  await until('it runs', () => graph.futures.a.state === 'running')
  assert.equal(graph.futures.b.state, 'queued')
  graph.cancel()
  await assert.rejects(graph)
})

test('a full queue makes a map, submits and graphs wait: nothing fails', async (context) => {
  const limits = { maxNumberOfTasksWaiting: 3, perWorkerQueueSize: 1 }
  const cluster = await SchedulerClusterCombo.start({ workers: 2, ...limits })
  context.after(() => cluster.shutdown())
  await using client = new Client(cluster.address)
  await using other = new Client(cluster.address)
  const inc = (x: number): number => x + 1
  const inputs = Array.from({ length: 60 }, (_, index) => index)
  const graphs = inputs
    .slice(0, 20)
    .map((a) => client.get({ a, b: [inc, 'a'], c: [inc, 'b'] }, ['c']))
  const futures = inputs.map((x) => other.submit(inc, x))
  const values = await client.map(inc, inputs)
  assert.deepEqual(values, inputs.map(inc))
  assert.deepEqual(await Promise.all(futures), inputs.map(inc))
  const ends = await Promise.all(graphs)
  assert.deepEqual(
    ends.map(({ c }) => c),
    inputs.slice(0, 20).map((x) => x + 2),
  )
})

test('tasks that a full queue holds back here wait with the reason limit', async (context) => {
  const limits = { maxNumberOfTasksWaiting: 0, perWorkerQueueSize: 1 }
  const cluster = await SchedulerClusterCombo.start({ workers: 1, ...limits })
  context.after(() => cluster.shutdown())
  const program = start(context, 'full', cluster.address)
  await until('it warns', () => warningsOf(program).length > 0)
  const [warning] = warningsOf(program)
  assert.equal(warning?.detail, 'limit')
  assert.match(
    warning?.message ?? '',
    /^2 tasks have waited .*: the queue of the scheduler at .* is full;/,
  )
  assert.ok(program.stdout().includes('limit pending'), program.stdout())
  assert.ok(program.stdout().includes('progress limit'), program.stdout())
})

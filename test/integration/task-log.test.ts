// Tasks in logs: at DEBUG each step of each task, and at any level the cause of a processor's
// death.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type * as scaler from 'scaler-ts'
import { Client, ProcessorDiedError, TaskCancelledError, TaskTimeoutError } from 'scaler-ts'
import { Scheduler } from '#src/scheduler/scheduler.js'
import { Agent } from '#src/worker/agent/agent.js'
import { until } from './condition.js'
import { Listener } from './listener.js'

interface Setup {
  readonly client: Client
  readonly logs: Readonly<Record<'client' | 'scheduler' | 'agent', Listener>>
}

async function setUp(context: TestContext): Promise<Setup> {
  const logs = { client: new Listener(), scheduler: new Listener(), agent: new Listener() }
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0', logger: logs.scheduler })
  const { address } = scheduler
  const agent = await Agent.start({ address, workers: 1, logger: logs.agent })
  const client = new Client(address, { logger: logs.client })
  context.after(async () => {
    await client.close()
    await agent.stop()
    await scheduler.close()
  })
  return { client, logs }
}

/** The texts of the lines about a task, each of which must have its id and its name. */
function stepsOf({ lines }: Listener, id: string, name: string): string[] {
  const about = lines.filter((line) => line.includes(id))
  for (const line of about) assert.ok(line.includes(`"name":"${name}"`), line)
  return about.map((line) => line.slice(0, line.indexOf(' {')))
}

test('at DEBUG every part logs each step of each task, by its id and name', async (t) => {
  const { client, logs } = await setUp(t)
  const future = client.submit(function price(x: number) {
    return x * 2
  }, 4)
  assert.equal(await future, 8)
  await until('the scheduler has told', () => logs.scheduler.lines.length > 0)
  const { id } = future
  assert.deepEqual(stepsOf(logs.client, id, 'price'), [
    'debug task submitted',
    'debug task sent to the scheduler',
    'debug result of a task arrived',
  ])
  assert.deepEqual(stepsOf(logs.scheduler, id, 'price'), [
    'debug task waits for a worker',
    'debug task sent to a worker',
    'debug task succeeded',
  ])
  const [received = '', ...steps] = logs.agent.lines.filter((line) => line.includes(id))
  // The agent does not know the name of the function yet, because it has not seen its bytes.
  assert.match(received, /^debug task received/)
  assert.deepEqual(
    steps.map((line) => line.slice(0, line.indexOf(' {'))),
    [
      'debug task waits for its turn',
      'debug task passed to the processor',
      'debug task answered by the processor',
    ],
  )
  assert.equal(fieldsOf(received)['name'], undefined)
  for (const line of steps) assert.ok(line.includes('"name":"price"'), line)
  for (const line of [received, ...steps]) assert.equal(fieldsOf(line)['attempt'], 1)
})

test('the scheduler says where a task ran, for how long and why it failed; each log has the worker', async (t) => {
  const { client, logs } = await setUp(t)
  await client.submit(() => 1)
  const failing = client.with({ retries: 1 }).submit(function fails() {
    throw new Error('a secret')
  })
  await assert.rejects(failing)
  const find = ({ lines }: Listener, start: string): Fields => {
    const line = lines.find((each) => each.startsWith(start))
    assert.ok(line !== undefined, `${start} in ${lines.join('\n')}`)
    return fieldsOf(line)
  }
  const { worker } = find(logs.agent, 'info Worker[0] started')
  assert.match(String(worker), /^\d+\|/)
  const succeeded = find(logs.scheduler, 'debug task succeeded')
  const failed = find(logs.scheduler, 'debug task failed')
  for (const fields of [succeeded, failed, find(logs.scheduler, 'debug task sent to a worker')]) {
    assert.equal(fields['worker'], worker)
  }
  for (const { durationMs } of [succeeded, failed]) assert.ok(Number(durationMs) > 0)
  assert.deepEqual([succeeded['cause'], failed['cause']], [undefined, 'error'])
  const again = logs.agent.lines.filter((line) => line.startsWith('debug task received'))
  assert.deepEqual(
    again.map((line) => fieldsOf(line)['attempt']),
    [1, 1, 2],
  )
  for (const { lines } of Object.values(logs)) assert.doesNotMatch(lines.join('\n'), /secret/)
})

test('a function without a name has none in any log', async (t) => {
  const { client, logs } = await setUp(t)
  const future = client.submit(
    (
      () => () =>
        1
    )(),
  )
  await future
  await client.with({ name: '<mine>' }).submit(
    (
      () => () =>
        2
    )(),
  )
  for (const { lines } of Object.values(logs)) {
    const about = lines.filter((line) => line.includes(future.id))
    assert.ok(about.length >= 3)
    for (const line of about) assert.ok(!('name' in fieldsOf(line)), line)
    assert.ok(lines.some((line) => fieldsOf(line)['name'] === '<mine>'))
  }
})

test('lines that a task logs have its id like other lines', async (t) => {
  const { client, logs } = await setUp(t)
  const packageUrl = import.meta.resolve('scaler-ts')
  const future = client.submit(async (url: string) => {
    const { currentTask } = (await import(url)) as typeof scaler
    currentTask().log.info('half way', { percent: 50 })
  }, packageUrl)
  await future
  await until('the line', () => logs.agent.lines.some((line) => line.startsWith('info half way')))
  const line = logs.agent.lines.find((each) => each.startsWith('info half way')) ?? ''
  const { task, taskId, percent } = fieldsOf(line)
  assert.deepEqual([task, taskId, percent], [future.id, undefined, 50])
})

test('a cancelled task is cancelled in the log, too', async (t) => {
  const { client, logs } = await setUp(t)
  const blocker = client.submit(() => new Promise(() => {}))
  await until('it runs', () => blocker.state === 'running')
  blocker.cancel()
  await assert.rejects(blocker, TaskCancelledError)
  const isSaid = (line: string): boolean => line.startsWith('debug task is being cancelled')
  await until('it is said', () => logs.scheduler.lines.some(isSaid))
  for (const { lines } of Object.values(logs)) {
    assert.ok(!lines.some((line) => /^\w+ [^{]*canceled/.test(line)), lines.join('\n'))
  }
})

type Fields = Readonly<Record<string, unknown>>

function fieldsOf(line: string): Fields {
  return JSON.parse(line.slice(line.indexOf(' {'))) as Fields
}

test('lines that are not logged at DEBUG are not even formatted', async (t) => {
  const { scheduler } = { scheduler: new Listener() }
  const logger = {
    debug: scheduler.debug.bind(scheduler),
    info: scheduler.info.bind(scheduler),
    warn: scheduler.warn.bind(scheduler),
    error: scheduler.error.bind(scheduler),
    isLevelEnabled: (level: string) => level !== 'debug',
  }
  await using client = await Client.local({ workers: 1, logger })
  const future = client.submit(() => 1)
  assert.equal(await future, 1)
  assert.deepEqual(
    scheduler.lines.filter((line) => line.includes(future.id)),
    [],
  )
  t.diagnostic(`${scheduler.lines.length} lines`)
  assert.ok(scheduler.lines.length > 0)
})

test('the end of a processor is a line with its cause, and the task and function', async (t) => {
  const { client, logs } = await setUp(t)
  const sleep = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 600_000))
  const spin = (): never => {
    for (;;);
  }
  const exits = client.submit(function exits() {
    process.exit(3)
  })
  await assert.rejects(exits, ProcessorDiedError)
  const killed = client.submit(function killed() {
    process.kill(process.pid, 'SIGKILL')
    return sleep()
  })
  await assert.rejects(killed, ProcessorDiedError)
  const late = client.with({ timeoutMs: 100, name: 'the late one' }).submit(spin)
  await assert.rejects(late, TaskTimeoutError)
  const cancelled = client.submit(spin)
  await until('it runs', () => cancelled.state === 'running')
  cancelled.cancel()
  await assert.rejects(cancelled, TaskCancelledError)
  const isEnd = (line: string): boolean => / the processor (exited|was killed|ran out)/.test(line)
  await until('all have ended', () => logs.agent.lines.filter(isEnd).length === 4)
  const ends = logs.agent.lines.filter(isEnd).map((line) => {
    const { task, name, cause } = JSON.parse(line.slice(line.indexOf('{'))) as Record<
      string,
      string
    >
    return [line.slice(0, line.indexOf(' {')), task, name, cause]
  })
  assert.deepEqual(ends, [
    ['warn the processor exited with code 3', exits.id, 'exits', 'exit'],
    ['warn the processor was killed by SIGKILL', killed.id, 'killed', 'signal'],
    ['info the processor was killed by SIGTERM', late.id, 'the late one', 'time limit'],
    ['info the processor was killed by SIGTERM', cancelled.id, 'spin', 'cancel'],
  ])
})

test('a ProcessorDiedError names the function, the cause, and the last line on stderr', async (t) => {
  const { client } = await setUp(t)
  const messageOf = async (future: PromiseLike<unknown>): Promise<string> => {
    const error: unknown = await future.then(
      () => assert.fail('it has returned'),
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof ProcessorDiedError, String(error))
    return error.message.replace(/^task [0-9a-f]+ /, '')
  }
  const forever = (): Promise<never> => new Promise(() => {})
  await client.submit(() => process.stderr.write('words of a task that has ended\n'))
  assert.equal(
    await messageOf(
      client.submit(function isSilent() {
        process.exit(4)
      }),
    ),
    '(isSilent): the process that ran it exited with code 4',
  )
  assert.equal(
    await messageOf(
      client.submit(function leaves() {
        process.stderr.write('first words\nlast words\n')
        process.exit(3)
      }),
    ),
    '(leaves): the process that ran it exited with code 3: last words',
  )
  assert.equal(
    await messageOf(
      client.submit(function rejects() {
        void Promise.reject(Object.assign(new TypeError('no price'), { detail: 1 }))
        return forever()
      }),
    ),
    '(rejects): the process that ran it exited with code 1: TypeError: no price',
  )
})

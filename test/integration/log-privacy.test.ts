// Content that must not be in a log: arguments, results, captured variables, errors and keys belong
// to the users. Every part logs at its lowest level; all user data contains a mark.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import {
  Client,
  currentClient,
  literal,
  ProcessorDiedError,
  TaskCancelledError,
  TaskTimeoutError,
  type Serializer,
} from 'scaler-ts'
import { Scheduler } from '#src/scheduler/scheduler.js'
import { Agent } from '#src/worker/agent/agent.js'
import { until } from './condition.js'
import { Listener } from './listener.js'

const MARK = 'S3CR3T'
/** The mark as text, in JSON, and in bytes that are shown as hex or base64 at any offset. */
const FORMS = [
  MARK,
  Buffer.from(MARK).toString('hex'),
  ...[0, 1, 2].map((offset) => Buffer.from(MARK).subarray(offset).toString('base64').slice(0, 5)),
]

interface Setup {
  readonly address: string
  readonly client: Client
  readonly log: Listener
}

async function setUp(context: TestContext): Promise<Setup> {
  const log = new Listener()
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0', logger: log })
  const { address } = scheduler
  const agent = await Agent.start({ address, workers: 1, logger: log })
  const client = new Client(address, { logger: log })
  context.after(async () => {
    await client.close()
    await agent.stop()
    await scheduler.close()
  })
  return { address, client, log }
}

function assertSilent(log: Listener): void {
  for (const line of log.lines) {
    for (const form of FORMS) assert.ok(!line.includes(form), `the log tells too much: ${line}`)
  }
}

const LIMIT = { timeout: 120_000 }

test('values of successful tasks are in no log', LIMIT, async (context) => {
  const { client, log } = await setUp(context)
  const captured = { key: `${MARK}-captured`, [`${MARK}-key`]: 1 }
  const tell = (text: string): string => `${text} ${captured.key} ${MARK}-result`
  for (const size of [1, 20_000]) {
    const argument = `${MARK}-argument`.repeat(size)
    assert.ok((await client.submit(tell, argument)).startsWith(argument))
    assert.equal((await client.map(tell, [argument, argument])).length, 2)
  }
  const reference = client.sendObject({ text: `${MARK}-object` })
  assert.equal((await client.submit(({ text }) => text, reference)).length, 13)
  const nested = async (text: string): Promise<string> => {
    return (await currentClient().submit((inner: string) => `${inner}!`, text)).slice(0, 6)
  }
  assert.equal(await client.submit(nested, `${MARK}-nested`), MARK)
  const graph = { [`${MARK}-a`]: `${MARK}-data`, b: [tell, `${MARK}-a`], c: [tell, literal(MARK)] }
  await client.get(graph, ['b', 'c'])
  assert.ok(
    log.lines.some((line) => line.includes('worker connected')),
    'there is a log',
  )
  assertSilent(log)
})

test('errors of tasks are in no log', LIMIT, async (context) => {
  const { client, log } = await setUp(context)
  const fail = (text: string): never => {
    const cause = new TypeError(`${text}-cause`)
    throw Object.assign(new RangeError(`${text}-message`, { cause }), { detail: `${text}-detail` })
  }
  const failing = client.with({ retries: 1 })
  await assert.rejects(failing.submit(fail, MARK), RangeError)
  await assert.rejects(failing.map(fail, [MARK, MARK]), RangeError)
  await assert.rejects(
    client.submit((text: string) => {
      // A thrown value may be of any type.
      const thrown: unknown = `${text}-thrown`
      throw thrown
    }, MARK),
    (thrown) => thrown === `${MARK}-thrown`,
  )
  await assert.rejects(client.submit((text: string) => ({ [text]: new WeakRef({}) }), MARK))
  await assert.rejects(client.submit((text: string) => import(`./${text}.js`), MARK))
  await assert.rejects(client.get({ [`${MARK}-x`]: [fail, literal(MARK)] }, [`${MARK}-x`]))
  await assert.rejects(client.get({ a: [fail, `${MARK}-missing`] }, ['a']))
  assertSilent(log)
})

test(
  'tasks that are stopped by force leave none of their data in a log',
  LIMIT,
  async (context) => {
    const { client, log } = await setUp(context)
    const sleep = (text: string): Promise<string> => {
      return new Promise((resolve) => setTimeout(() => resolve(text), 600_000))
    }
    const running = client.submit(sleep, `${MARK}-cancelled`)
    await until('it runs', () => running.state === 'running')
    running.cancel(new Error(`${MARK}-reason`))
    await assert.rejects(running, TaskCancelledError)
    await assert.rejects(client.with({ timeoutMs: 50 }).submit(sleep, MARK), TaskTimeoutError)
    const mortal = client.with({ maxWorkerDeaths: 0 })
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const die = (how: NodeJS.Signals, text: string): Promise<string> => {
        process.kill(process.pid, how)
        return new Promise((resolve) => setTimeout(() => resolve(text), 600_000))
      }
      await assert.rejects(mortal.submit(die, signal, MARK), ProcessorDiedError)
    }
    const exit = (text: string): void => process.exit(text.length)
    await assert.rejects(mortal.submit(exit, MARK), ProcessorDiedError)
    assert.ok(log.lines.length > 0)
    assertSilent(log)
  },
)

test("errors of a user's serializer are in no log", LIMIT, async (context) => {
  const { address, log } = await setUp(context)
  const serializer: Serializer = {
    serialize: (value) => Buffer.from(JSON.stringify(value) ?? ''),
    deserialize: (bytes) => {
      throw new Error(`S3CR3T-${bytes.length}`)
    },
  }
  await using client = new Client(address, { serializer, logger: log })
  await assert.rejects(client.submit((text: string) => text, MARK))
  assertSilent(log)
})

test(
  'output that a task prints or logs itself is passed on, because it is meant to be read',
  LIMIT,
  async (context) => {
    const { client, log } = await setUp(context)
    await client.submit((text: string) => {
      console.log(`${text} on stdout`)
      console.error(`${text} on stderr`)
    }, 'words')
    const has = (start: string) => () => log.lines.some((line) => line.startsWith(start))
    await until('stdout is passed on', has('info words on stdout {'))
    await until('stderr is passed on', has('warn words on stderr {'))
    const line = log.lines.find((text) => text.includes('on stdout')) ?? ''
    assert.match(line, /"processorId":\d+/)
  },
)

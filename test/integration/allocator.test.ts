// Allocators in a program: their options, their log, and how they end.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import {
  Allocator,
  type AllocatorStartOptions,
  Client,
  ConfigError,
  type LogFields,
  Scheduler,
} from 'scaler-ts'
import { until } from './condition.js'
import { pathFor } from './worker-agent-setup.js'

interface Line {
  readonly level: string
  readonly text: string
  readonly fields: LogFields
}

interface Setup {
  readonly client: Client
  readonly lines: readonly Line[]
  /** Starts an allocator of workers here. */
  readonly start: (options?: Partial<AllocatorStartOptions>) => Promise<Allocator>
}

/** A scheduler, a client, and allocators that end with the test. */
async function setUp(t: TestContext): Promise<Setup> {
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  t.after(() => scheduler.close())
  const { address } = scheduler
  const client = await Client.connect(address)
  t.after(() => client.close())
  const lines: Line[] = []
  const add =
    (level: string) =>
    (text: string, fields: LogFields = {}) => {
      lines.push({ level, text, fields })
    }
  const logger = { debug() {}, info: add('info'), warn: add('warn'), error: add('error') }
  const start = async (options: Partial<AllocatorStartOptions> = {}): Promise<Allocator> => {
    const log = options.loggingPaths === undefined ? { logger } : {}
    const allocator = await Allocator.start({ provider: 'local', address, ...log, ...options })
    t.after(() => allocator.stop())
    return allocator
  }
  return { client, lines, start }
}

test('a bad option is refused by name, at the place of the call, before anything starts', async () => {
  const good = { provider: 'local', address: 'tcp://127.0.0.1:1' } as const
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ provider: undefined }, /^option provider: expected text, got nothing$/],
    [{ provider: 'cloud' }, /^option provider: expected local, /],
    [{ address: undefined }, /^option address: expected text, got nothing$/],
    [{ address: 'nowhere' }, /^address "nowhere": /],
    [{ maxWorkers: 0 }, /^option maxWorkers: expected a whole number from 1 to 100000, got 0$/],
    [{ maxWorker: 1 }, /^unknown allocator option maxWorker; is it maxWorkers\?$/],
    [{ logger: {} }, /^option logger: expected an object with debug, /],
    [{ loggingLevel: 'LOUD' }, /loggingLevel/],
  ]
  for (const [options, message] of wrong) {
    await assert.rejects(Allocator.start({ ...good, ...options }), (error) => {
      assert.ok(error instanceof ConfigError, String(error))
      assert.match(error.message, message)
      assert.match(error.stack?.split('\n')[1] ?? '', /allocator\.test/)
      return true
    })
  }
  const Constructor = Allocator as unknown as new () => unknown
  assert.throws(() => new Constructor(), /use await Allocator\.start\(options\)/)
})

test('its decisions are in its log, and in what the cluster tells', async (t) => {
  const { client, lines, start } = await setUp(t)
  const allocator = await start({ name: 'night', dryRun: true, maxWorkers: 3 })
  const allocatorOf = async () => (await client.info()).allocators?.[0]
  await until('it has decided', async () => (await allocatorOf())?.reason === 'no work')
  const future = client.submit(Math.sqrt, 16)
  const isStart = ({ text }: Line): boolean => text.startsWith('start ')
  await until('it would start a worker', () => lines.some(isStart))
  const { level, text, fields } = lines.find(isStart) as Line
  assert.deepEqual(
    [level, text],
    ['info', 'start 1 unit: 1 task waits: 1 worker needed, 1 missing'],
  )
  assert.deepEqual(fields, {
    provider: 'local',
    waitingTasks: 1,
    waitingSeconds: 0,
    workers: 0,
    pending: 1,
  })
  const info = await client.info()
  assert.deepEqual(
    info.allocators?.map(({ name, provider, room, running, paused }) => {
      return { name, provider, room, running, paused }
    }),
    [{ name: 'night', provider: 'local', room: 3, running: 0, paused: false }],
  )
  assert.deepEqual(info.hosts, [], 'a dry run starts nothing')
  future.cancel()
  await allocator.stop()
  await until('it has left', async () => (await client.info()).allocators?.length === 0)
})

test('it stops once, however often that is requested, and says why it has ended', async (t) => {
  const { start } = await setUp(t)
  const allocator = await start()
  await Promise.all([allocator.stop(), allocator.stop(), allocator[Symbol.asyncDispose]()])
  assert.deepEqual(await allocator.ended, { reason: 'stopped', isFailure: false })
  await allocator.stop()
})

test('it waits for a scheduler, and stops without one', async () => {
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await scheduler.close()
  const allocator = await Allocator.start({ provider: 'local', address })
  await allocator.stop()
  assert.deepEqual(await allocator.ended, { reason: 'stopped', isFailure: false })
})

test('without a logger, its log goes where the logging options say', async (t) => {
  const { client, start } = await setUp(t)
  const path = pathFor(t, 'log')
  const allocator = await start({ loggingPaths: [path], dryRun: true })
  const isAnnounced = async () => (await client.info()).allocators?.length === 1
  await until('it is announced', isAnnounced)
  await allocator.stop()
  assert.ok(existsSync(path))
  assert.match(readFileSync(path, 'utf8'), /wait: /)
})

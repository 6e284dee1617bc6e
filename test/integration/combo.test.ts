// Local clusters: starting and stopping them, and wrong options.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  Client,
  ClientShutdownError,
  Cluster,
  ConfigError,
  Scheduler,
  SchedulerClusterCombo,
  TaskCancelledError,
} from 'scaler-ts'
import { sized } from '#src/base/short-run.kit.js'

test('a combo has its address, and can be stopped twice', async () => {
  const cluster = await SchedulerClusterCombo.start({ workers: 1 })
  assert.match(cluster.address, /^tcp:\/\/127\.0\.0\.1:\d+$/)
  assert.match(cluster.monitorAddress, /^tcp:\/\/127\.0\.0\.1:\d+$/)
  assert.notEqual(cluster.address, cluster.monitorAddress)
  assert.equal(cluster.metricsAddress, '')
  await Promise.all([cluster.shutdown(), cluster.shutdown()])
  await cluster.shutdown()
})

test('a combo passes what its parts log to the given logger', async () => {
  const lines: string[] = []
  const add = (text: string): void => void lines.push(text)
  const logger = { debug: add, info: add, warn: add, error: add }
  await using cluster = await SchedulerClusterCombo.start({ workers: 1, logger })
  await using client = await Client.connect(cluster.address, { output: 'log' })
  await client.submit(() => console.log('hello from a task'))
  await client.close()
  await cluster.shutdown()
  assert.ok(lines.includes('worker connected'), lines.join('\n'))
  assert.ok(
    lines.some((line) => line.includes('hello from a task')),
    lines.join('\n'),
  )
})

test('a wrong option is refused by name before anything starts', async () => {
  const wrong: readonly (readonly [string, unknown])[] = [
    ['workers', 0],
    ['workers', -1],
    ['workers', 1.5],
    ['heartbeatIntervalMs', 0],
    ['deathTimeoutMs', 'never'],
    ['inlineLimitBytes', -1],
    ['cancelGraceMs', -1],
    ['spareProcessors', 17],
    ['objectCacheBytes', 1.5],
    ['perWorkerQueueSize', 0],
    ['clientTimeoutMs', 1],
    ['wrkers', 1],
  ]
  for (const [name, value] of wrong) {
    await assert.rejects(SchedulerClusterCombo.start({ workers: 1, [name]: value }), (error) => {
      assert.ok(error instanceof ConfigError, `${name}: ${String(error)}`)
      assert.match(error.message, new RegExp(name))
      return true
    })
  }
  await assert.rejects(
    SchedulerClusterCombo.start({ workers: 1, workerNames: ['a', 'b'] }),
    ConfigError,
  )
})

test('an address in use is reported, and nothing is left behind', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  await assert.rejects(
    SchedulerClusterCombo.start({ workers: 1, address: scheduler.address }),
    /EADDRINUSE|in use/,
  )
})

test('scheduler and workers can run in this process', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using cluster = await Cluster.start({ address, workers: 2, workerNames: ['left', 'right'] })
  await using client = new Client(address)
  assert.deepEqual(await client.map((x: number) => x + 1, [1, 2, 3]), [2, 3, 4])
  await cluster.shutdown()
  assert.equal((await cluster.ended).isFailure, false)
})

test('new starts nothing, and the error says what to call instead', () => {
  const start = (): unknown => Reflect.construct(SchedulerClusterCombo, [{ workers: 1 }])
  assert.throws(start, { name: 'TypeError', message: /starts nothing; use await .*\.start/ })
})

const COUNT = sized(100_000, 20_000)

test(
  `${COUNT} tasks wait for the first worker and then all finish`,
  { timeout: 120_000 },
  async () => {
    await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
    await using client = await Client.connect(scheduler.address)
    const increment = (x: number): number => x + 1
    const futures = Array.from({ length: COUNT }, (_, i) => client.submit(increment, i))
    await using cluster = await Cluster.start({ address: scheduler.address, workers: 1 })
    const results = await Promise.all(futures)
    assert.deepEqual(
      results,
      Array.from({ length: COUNT }, (_, i) => i + 1),
    )
    await cluster.shutdown()
  },
)

test('a shutdown by one client ends the tasks of others, which continue with the next scheduler', async () => {
  const first = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = first
  await using _workers = await Cluster.start({ address, workers: 1 })
  await using other = await Client.connect(address)
  const task = other.submit(async () => new Promise(() => setInterval(() => {}, 1_000)))
  const ended = assert.rejects(task, (error: Error) => {
    return error instanceof TaskCancelledError && error.cause instanceof ClientShutdownError
  })
  const graph = other.get({ never: [async () => new Promise(() => {})] }, ['never'])
  const graphEnded = assert.rejects(graph, TaskCancelledError)
  await using client = await Client.connect(address)
  await client.shutdown()
  await Promise.all([ended, graphEnded, first.ended])
  await using _next = await Scheduler.start({ address })
  await using _others = await Cluster.start({ address, workers: 1 })
  assert.equal(await other.submit(Math.sqrt, 16), 4)
})

test('the tasks of lost workers move to others', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  await using client = await Client.connect(scheduler.address)
  const first = await Cluster.start({ address: scheduler.address, workers: 1 })
  const futures = Array.from({ length: 50 }, (_, i) => client.submit((x: number) => x * 2, i))
  await first.shutdown()
  await using second = await Cluster.start({ address: scheduler.address, workers: 1 })
  assert.deepEqual(
    await Promise.all(futures),
    Array.from({ length: 50 }, (_, i) => i * 2),
  )
  await second.shutdown()
})

test('clusters inside clusters are limited in depth', async (t) => {
  const text = `
    import { Client } from 'scaler-ts'
    try {
      await Client.local({ workers: 1 })
    } catch (error) {
      console.log(error.code, error.message)
    }
  `
  const folder = await mkdtemp(join(dirname(fileURLToPath(import.meta.url)), 'depth-'))
  t.after(() => rm(folder, { recursive: true }))
  const program = join(folder, 'program.mjs')
  await writeFile(program, text)
  const env = { ...process.env, SCALER_EMBEDDED_DEPTH: '3' }
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env })
  assert.match(stdout, /^ERR_SCALER_CONFIG a cluster nested in 3 others: /)
})

test('workers have the environment of the program, with its certificates', async () => {
  const path = fileURLToPath(import.meta.url)
  const before = process.env['NODE_EXTRA_CA_CERTS']
  process.env['NODE_EXTRA_CA_CERTS'] = path
  try {
    await using client = await Client.local({ workers: 1 })
    const seen = await client.submit(() => {
      return Object.entries(process.env).filter(([name]) => name.endsWith('_EXTRA_CA_CERTS'))
    })
    assert.deepEqual(seen, [['NODE_EXTRA_CA_CERTS', path]])
  } finally {
    if (before === undefined) delete process.env['NODE_EXTRA_CA_CERTS']
    else process.env['NODE_EXTRA_CA_CERTS'] = before
  }
})

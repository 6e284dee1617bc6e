// Tasks that require capabilities of some workers, and units of them, on real clusters.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  Client,
  Cluster,
  ConfigError,
  currentTask,
  Scheduler,
  SchedulerClusterCombo,
} from 'scaler-ts'
import { startCommand } from '../package/command.js'
import { until } from './condition.js'

/** The units of a task, and when it had them. */
interface Stay {
  readonly units: readonly number[]
  readonly from: number
  readonly to: number
}

async function stay(): Promise<Stay> {
  const units = currentTask().capabilities['gpu'] ?? []
  const from = Date.now()
  await new Promise((resolve) => setTimeout(resolve, 60))
  return { units, from, to: Date.now() }
}

/** The most units in use at the same time. */
function mostAtOnce(stays: readonly Stay[]): number {
  return Math.max(
    ...stays.map(
      ({ from }) => stays.filter((other) => other.from <= from && from < other.to).length,
    ),
  )
}

test('the workers of an agent share its units, and each unit has one owner', async () => {
  await using client = await Client.local({ workers: 4, capabilities: ['gpu=2', 'linux'] })
  const some = client.with({ capabilities: { gpu: 1, linux: -1 } })
  const stays = await Promise.all(Array.from({ length: 12 }, () => some.submit(stay)))
  assert.equal(mostAtOnce(stays), 2)
  for (const one of stays) {
    assert.equal(one.units.length, 1)
    const others = stays.filter((each) => each !== one && each.from < one.to && one.from < each.to)
    assert.ok(others.every(({ units }) => units[0] !== one.units[0]))
  }
  const all = await client.with({ capabilities: { gpu: 2 } }).submit(stay)
  assert.deepEqual(all.units, [0, 1])
  const read = (): unknown => currentTask().capabilities
  assert.deepEqual(await client.with({ capabilities: { linux: -1 } }).submit(read), { linux: [] })
  assert.deepEqual(await client.submit(read), {})
  assert.deepEqual(await client.map(read, [1, 2]), [{}, {}])
})

test('a map, a graph, and tasks inside tasks have units, too', async () => {
  await using client = await Client.local({ workers: 2, capabilities: { gpu: 2 } })
  const some = client.with({ capabilities: { gpu: 1 } })
  const unit = (): number | undefined => currentTask().capabilities['gpu']?.[0]
  assert.ok((await some.map(unit, [1, 2, 3])).every((number) => number === 0 || number === 1))
  const { a } = await some.get({ a: [unit] }, ['a'])
  assert.ok(a === 0 || a === 1)
  const outer = async (inner: Client): Promise<unknown[]> => {
    const own = currentTask().capabilities['gpu']?.[0]
    return [
      own,
      await inner
        .with({ capabilities: { gpu: 1 } })
        .submit(() => currentTask().capabilities['gpu']?.[0]),
    ]
  }
  assert.deepEqual(
    (await some.submit(outer, client)).toSorted((a, b) => Number(a) - Number(b)),
    [0, 1],
  )
})

test('units come back when a task fails, ends its process, is cancelled, or takes too long', async () => {
  await using client = await Client.local({
    workers: 2,
    capabilities: { gpu: 1 },
    killDelayMs: 100,
  })
  const some = client.with({ capabilities: { gpu: 1 } })
  const forEver = (): Promise<never> => new Promise(() => {})
  await assert.rejects(
    some
      .submit(() => {
        throw new Error('no')
      })
      .result(),
    /no/,
  )
  await assert.rejects(some.submit(() => process.exit(3)).result(), { name: 'ProcessorDiedError' })
  await assert.rejects(some.with({ timeoutMs: 50 }).submit(forEver).result(), {
    name: 'TaskTimeoutError',
  })
  const cancelled = some.submit(forEver)
  await until('it runs', () => cancelled.state === 'running')
  cancelled.cancel()
  assert.deepEqual((await some.submit(stay)).units, [0])
})

test('a task that no worker can run waits, is reported, and runs when a suitable worker comes', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  await using cluster = await Cluster.start({ address, workers: 1, capabilities: { gpu: 1 } })
  assert.ok(cluster)
  await using client = await Client.connect(address)
  const warning = once(process, 'warning') as Promise<[Error & { code: string; detail: string }]>
  const waiting = client.with({ capabilities: { tpu: 1 } }).submit(() => 7)
  assert.equal(
    (
      await client.map(
        (n: number) => n,
        Array.from({ length: 100 }, (_, n) => n),
      )
    ).length,
    100,
  )
  const [{ message, code, detail }] = await warning
  assert.deepEqual([code, detail], ['SCALER_WAITING', 'no-capability'])
  assert.match(
    message,
    /one task has waited for 5 s: .* offers the required capabilities: tpu=1; start one/,
  )
  await assert.rejects(waiting.result({ timeoutMs: 1 }), { reason: 'no-capability' })
  startCommand(t, 'scaler-cluster', ['-n', '1', '--capabilities', 'tpu=4,linux', address])
  assert.equal(await waiting, 7)
})

test('the reason of a time limit is that of its own task', async () => {
  await using client = await Client.local({ workers: 1 })
  const warning = once(process, 'warning')
  const busy = client.submit(() => new Promise<never>(() => {}))
  const lacking = client.with({ capabilities: { tpu: 1 } }).submit(() => 1)
  const queued = client.submit(() => 2)
  await warning
  await assert.rejects(queued.result({ timeoutMs: 1_000 }), { reason: 'all-busy' })
  await assert.rejects(lacking.result({ timeoutMs: 1_000 }), { reason: 'no-capability' })
  for (const future of [busy, lacking, queued]) {
    future.cancel()
    await assert.rejects(future, { code: 'ERR_SCALER_TASK_CANCELLED' })
  }
})

test('a warning counts all tasks that lack something, and names the first needs', async () => {
  await using client = await Client.local({ workers: 1, capabilities: { gpu: 1 } })
  const warning = once(process, 'warning') as Promise<[Error]>
  const needs = ['a', 'b', 'c', 'd', 'e']
  const waiting = needs.map((name) =>
    client.with({ capabilities: { [name]: 1 } }).submit(() => name),
  )
  const [{ message }] = await warning
  const named =
    /5 tasks have waited for 5 s: .* required capabilities: ([a-e]=1; ){2}[a-e]=1 and 2 more; start/
  assert.match(message, named)
  for (const future of waiting) future.cancel()
})

test('a task waits for units of another one that a restarted scheduler does not know yet', async () => {
  await using first = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = first
  await using cluster = await Cluster.start({ address, workers: 2, capabilities: { gpu: 1 } })
  assert.ok(cluster)
  await using client = await Client.connect(address)
  const some = client.with({ capabilities: { gpu: 1 } })
  const long = some.submit(async () => {
    const from = Date.now()
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    return { units: currentTask().capabilities['gpu'] ?? [], from, to: Date.now() }
  })
  await until('it runs', () => long.state === 'running')
  await first.close()
  await using second = await Scheduler.start({ address })
  assert.ok(second)
  const stays = await Promise.all([long, some.submit(stay), some.submit(stay)])
  assert.equal(mostAtOnce(stays), 1)
})

const WRONG: readonly (readonly [unknown, RegExp])[] = [
  [
    ['gpu=1.5'],
    /^option capabilities: expected a whole number of gpu from 0 to 100000, got "gpu=1.5"$/,
  ],
  [['gpu=100001'], /^option capabilities: expected a whole number of gpu from 0 to 100000/],
  [['gpu=-1'], /^option capabilities: expected names such as linux, or gpu=2 with a number/],
  [['a b'], /^option capabilities: expected names/],
  [[''], /^option capabilities: expected names/],
  [['gpu', 'gpu=1'], /^option capabilities: expected each name once/],
  [{ gpu: 0.5 }, /^option capabilities.gpu: expected a whole number/],
  [{ gpu: '1' }, /^option capabilities.gpu: expected a whole number/],
  [5, /^option capabilities: expected a list of strings, got 5/],
  [
    Array.from({ length: 65 }, (_, index) => `n${index}`),
    /^option capabilities: expected at most 64 names/,
  ],
]

for (const [capabilities, message] of WRONG) {
  test(`an agent refuses to offer ${JSON.stringify(capabilities).slice(0, 40)}`, async () => {
    const options = { workers: 1, capabilities } as { workers: number; capabilities: string[] }
    await assert.rejects(SchedulerClusterCombo.start(options), { name: 'ConfigError', message })
  })
}

test('a task cannot require zero units, fractions, or anything but a number', async () => {
  await using client = new Client('tcp://127.0.0.1:1')
  for (const amount of [0, 0.5, -2, '1', null, undefined, Number.NaN]) {
    assert.throws(() => client.with({ capabilities: { gpu: amount as number } }), ConfigError)
  }
})

// Local clusters whose number of workers follows the work.

import assert from 'node:assert/strict'
import { appendFileSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Client, ConfigError, type ComboOptions, SchedulerClusterCombo } from 'scaler-ts'
import { descendantsOf, NO_PROCESS_TABLE } from '../chaos/process-table.js'
import { workersOf } from './allocation.js'
import { until } from './condition.js'
import { pathFor } from './worker-agent-setup.js'

/** A task that takes some time. */
const nap = async (ms: number, path?: string): Promise<number> => {
  const { setTimeout } = await import('node:timers/promises')
  await setTimeout(ms)
  if (path !== undefined) appendFileSync(path, `${ms}\n`)
  return ms
}

/** The scheduler and the agent of this process, and whatever else it has started. */
function processes(): number {
  return descendantsOf(process.pid).length
}

test(
  'workers come with the work, as many as it needs, and leave',
  { skip: NO_PROCESS_TABLE },
  async () => {
    const before = processes()
    await using client = await Client.local({ workers: { min: 0, max: 3, idleMs: 1_000 } })
    assert.equal(await workersOf(client), 0)
    assert.equal(processes(), before + 2, 'the scheduler and the agent')
    const results = client.map(nap, new Array<number>(9).fill(1_500))
    await until('three workers', async () => (await workersOf(client)) === 3)
    assert.deepEqual(await results, new Array<number>(9).fill(1_500))
    await until('all workers have left', async () => (await workersOf(client)) === 0)
    const { allocators = [], lost } = await client.info()
    assert.deepEqual(lost, { count: 0, workers: [] })
    assert.deepEqual(
      allocators.map(({ name, provider, running, problem }) => [name, provider, running, problem]),
      [['embedded', 'local', 0, '']],
    )
    await until('their processes have ended', () => processes() === before + 2)
    assert.equal(await client.submit(Math.sqrt, 16), 4, 'and others come')
  },
)

test('the minimum is there from the start, and stays', async () => {
  await using cluster = await SchedulerClusterCombo.start({
    workers: { min: 2, max: 2, idleMs: 1_000 },
  })
  await using client = await Client.connect(cluster.address)
  assert.equal(await workersOf(client), 2)
  await client.map(nap, [1, 2, 3, 4])
  const samples: number[] = []
  for await (const event of client.events()) {
    if (event.type !== 'sample') continue
    samples.push(event.info.hosts.flatMap(({ workers }) => workers).length)
    if (samples.length > 3) break
  }
  assert.deepEqual(new Set(samples), new Set([2]))
})

test('nested tasks end with one worker at most', async () => {
  await using client = await Client.local({ workers: { max: 1 } })
  const fibonacci = async (inner: Client, n: number): Promise<number> => {
    if (n < 2) return n
    const parts = [n - 1, n - 2].map((part) => inner.submit(fibonacci, inner, part))
    return (await Promise.all(parts)).reduce((sum, part) => sum + part, 0)
  }
  assert.equal(await client.submit(fibonacci, client, 6), 8)
  assert.ok((await workersOf(client)) <= 1)
})

test('workers that leave while tasks come lose none, and run none twice', async (t) => {
  const path = pathFor(t, 'runs')
  await using client = await Client.local({ workers: { max: 3, idleMs: 1_000 } })
  for (let round = 0; round < 4; round += 1) {
    const ms = Array.from({ length: 12 }, (_, at) => 100 * round + at)
    assert.deepEqual(
      await client.starmap(
        nap,
        ms.map((each) => [each, path] as const),
      ),
      ms,
    )
    // The first of them is about to leave.
    await until('a worker leaves', async () => (await workersOf(client)) < 3)
  }
  const ran = readFileSync(path, 'utf8').trim().split('\n')
  assert.deepEqual([ran.length, new Set(ran).size], [48, 48])
})

test('many workers that become idle together leave together', async (t) => {
  const path = pathFor(t, 'over')
  await using client = await Client.local({ workers: { max: 20, idleMs: 1_000 } })
  const waitFor = async (file: string): Promise<boolean> => {
    const { existsSync } = await import('node:fs')
    const { setTimeout } = await import('node:timers/promises')
    while (!existsSync(file)) await setTimeout(50)
    return true
  }
  const results = client.map(waitFor, new Array<string>(20).fill(path))
  const isFull = async (): Promise<boolean> => (await workersOf(client)) === 20
  await until('twenty workers', isFull, 60_000)
  appendFileSync(path, '')
  assert.deepEqual(await results, new Array<boolean>(20).fill(true))
  await until('all workers have left', async () => (await workersOf(client)) === 0)
})

test('a processor that cannot start is reported, and refused at once if one is needed', async () => {
  const wrong = { execArgv: ['--no-such-option'] }
  await assert.rejects(Client.local({ ...wrong, workers: { min: 1, max: 1 } }), /no-such-option/)
  await using client = await Client.local({ ...wrong, workers: { max: 1 } })
  const future = client.submit(Math.sqrt, 16)
  const problem = async (): Promise<string> => (await client.info()).allocators?.[0]?.problem ?? ''
  await until('the problem', async () => (await problem()).includes('no-such-option'))
  future.cancel()
})

test('wrong ranges are refused by name', async () => {
  const wrong: readonly (readonly [ComboOptions, RegExp])[] = [
    [{ workers: { min: -1 } }, /^option workers.min: .*from 0 to 4096, got -1$/],
    [{ workers: { max: 0 } }, /^option workers.max: .*from 1 to 4096, got 0$/],
  ]
  for (const [options, message] of wrong) {
    const isRight = (error: unknown): boolean => {
      return error instanceof ConfigError && message.test(error.message)
    }
    await assert.rejects(Client.local(options), isRight)
    await assert.rejects(SchedulerClusterCombo.start(options), isRight)
  }
})

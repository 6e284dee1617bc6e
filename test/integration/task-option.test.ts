// Task options, cancelling and objects on a real cluster.

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import {
  Client,
  ConfigError,
  currentTask,
  MissingObjectError,
  ProcessorDiedError,
  SerializeError,
  TaskCancelledError,
  TaskTimeoutError,
  type TaskOptions,
} from 'scaler-ts'

let client: Client
before(async () => {
  client = await Client.local({ workers: 1 })
})
after(() => client.close())

const double = (x: number): number => 2 * x
const forever = (): never => {
  for (;;);
}

test('a task that runs for too long fails, and its worker survives', async () => {
  await assert.rejects(client.with({ timeoutMs: 50 }).submit(forever), TaskTimeoutError)
  const pending = (): Promise<never> => new Promise(() => {})
  await assert.rejects(client.with({ timeoutMs: 50 }).submit(pending), TaskTimeoutError)
  assert.equal(await client.submit(double, 2), 4)
})

test('a task that listens to its signal is notified, and may end in its own way', async () => {
  const listens = async (): Promise<string> => {
    const { signal } = currentTask()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return 'never seen'
  }
  const future = client.with({ timeoutMs: 50 }).submit(listens)
  await assert.rejects(future, TaskTimeoutError)
  assert.equal(await client.submit(double, 2), 4)
})

test('time in the queue does not count', async () => {
  const busy = (ms: number): number => {
    const end = Date.now() + ms
    while (Date.now() < end);
    return ms
  }
  const first = client.submit(busy, 400)
  const second = client.with({ timeoutMs: 300 }).submit(double, 1)
  assert.equal(await second, 2)
  assert.equal(await first, 400)
})

test('retries: the attempts are counted, the last failure counts', async () => {
  const flaky = (): number => {
    const { attempt } = currentTask()
    if (attempt < 3) throw new Error(`attempt ${attempt}`)
    return attempt
  }
  assert.equal(await client.with({ retries: 2 }).submit(flaky), 3)
  await assert.rejects(client.with({ retries: 1 }).submit(flaky), { message: 'attempt 2' })
  await assert.rejects(client.submit(flaky), { message: 'attempt 1' })
})

test('retries: time limits and dying processes count', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'retries-'))
  t.after(() => rm(folder, { recursive: true }))
  const slowAtFirst = async (marker: string): Promise<string> => {
    const { existsSync, writeFileSync } = await import('node:fs')
    if (existsSync(marker)) return 'at last'
    writeFileSync(marker, '')
    return new Promise(() => {})
  }
  const patient = client.with({ retries: 1, timeoutMs: 2_000 })
  assert.equal(await patient.submit(slowAtFirst, join(folder, 'marker')), 'at last')
  const diesAtFirst = (): number => {
    const { attempt } = currentTask()
    if (attempt === 1) process.exit(3)
    return attempt
  }
  assert.equal(await client.with({ retries: 1 }).submit(diesAtFirst), 2)
  await assert.rejects(client.submit(diesAtFirst), ProcessorDiedError)
})

test('priority: more urgent tasks run first', async () => {
  const order: string[] = []
  const busy = (): void => {
    const end = Date.now() + 200
    while (Date.now() < end);
  }
  const holder = client.submit(busy)
  const low = client.with({ priority: -5 }).submit(busy)
  const high = client.with({ priority: 5 }).submit(double, 1)
  const note = (name: string) => (): void => void order.push(name)
  await Promise.all([holder.then(note('holder')), low.then(note('low')), high.then(note('high'))])
  assert.deepEqual(order, ['holder', 'high', 'low'])
})

test('a signal cancels, with its reason as the cause', async () => {
  const aborter = new AbortController()
  const view = client.with({ signal: aborter.signal })
  const running = view.submit(forever)
  const queued = view.submit(double, 1)
  aborter.abort('enough')
  for (const future of [running, queued, view.submit(double, 2)]) {
    await assert.rejects(future, (error) => {
      assert.ok(error instanceof TaskCancelledError)
      assert.equal(error.cause, 'enough')
      return true
    })
    assert.equal(future.state, 'cancelled')
  }
  assert.equal(await client.submit(double, 3), 6)
})

test('cancel: in the same tick, twice, after the end', async () => {
  const future = client.submit(double, 1)
  assert.equal(future.cancel(), true)
  assert.equal(future.cancel(), false)
  await assert.rejects(future, TaskCancelledError)
  const ended = client.submit(double, 2)
  assert.equal(await ended, 4)
  assert.equal(ended.cancel(), false)
  assert.equal(ended.state, 'done')
})

test('cancel: maps and graphs', async () => {
  const map = client.map(forever, [1, 2, 3])
  assert.equal(map.cancel('map'), true)
  await assert.rejects(map, TaskCancelledError)
  const graph = client.get({ a: [forever] }, ['a'])
  assert.equal(graph.cancel('graph'), true)
  await assert.rejects(graph, TaskCancelledError)
  assert.equal(await client.submit(double, 5), 10)
})

test('disconnect with 20,000 tasks queued leaves nothing behind', async () => {
  const other = await Client.connect(client.address)
  const futures = Array.from({ length: 20_000 }, (_, i) => other.submit(double, i))
  const first = other.submit(forever)
  await other.disconnect()
  await assert.rejects(first, TaskCancelledError)
  const settled = await Promise.allSettled(futures)
  assert.equal(settled.length, 20_000)
  assert.equal(await client.submit(double, 6), 12)
})

test('options are checked, and named', () => {
  const wrong: [TaskOptions, string][] = [
    [{ timeoutMs: 0 }, 'timeoutMs'],
    [{ timeoutMs: Number.NaN }, 'timeoutMs'],
    [{ retries: -1 }, 'retries'],
    [{ retries: 1.5 }, 'retries'],
    [{ maxWorkerDeaths: -1 }, 'maxWorkerDeaths'],
    [{ priority: 0.5 }, 'priority'],
    [{ priority: 2 ** 40 }, 'priority'],
    [{ name: 7 as never }, 'name'],
    [{ profiling: 'yes' as never }, 'profiling'],
    [{ signal: {} as never }, 'signal'],
    [{ capabilities: { gpu: -2 } }, 'capabilities'],
    [{ capabilities: [] as never }, 'capabilities'],
    [{ timeout: 5 } as never, 'timeout'],
  ]
  for (const [options, name] of wrong) {
    assert.throws(
      () => client.with(options),
      (error) => error instanceof ConfigError && error.message.includes(name),
      JSON.stringify(options),
    )
  }
})

test('a view is the same client, and views chain', async () => {
  const view = client.with({ name: 'a', retries: 1 }).with({ name: 'b' })
  assert.equal(view.identity, client.identity)
  assert.equal(view.address, client.address)
  const about = (): unknown => [currentTask().name, currentTask().attempt]
  assert.deepEqual(await view.submit(about), ['b', 1])
  assert.deepEqual(await view.map(() => currentTask().name, [1]), ['b'])
})

test('a future as an argument: small and large results, failures', async () => {
  const make = (length: number): string => 'x'.repeat(length)
  const lengthOf = (text: string): number => text.length
  for (const length of [3, 1_000_000]) {
    const made = client.submit(make, length)
    const before = client.submit(lengthOf, made)
    assert.equal(await before, length)
    assert.equal(await client.submit(lengthOf, made), length, 'it has ended')
    assert.equal((await made).length, length)
    assert.equal(await client.submit(lengthOf, made), length, 'it was read')
    assert.deepEqual(await client.map(lengthOf, [made, client.submit(make, 2)]), [length, 2])
  }
  const failing = client.submit((): string => {
    throw new RangeError('first')
  })
  await assert.rejects(client.submit(lengthOf, failing), { name: 'RangeError', message: 'first' })
  await assert.rejects(failing, RangeError)
})

test('references: by name, shared, released, of others, inside of values', async () => {
  const reference = client.sendObject({ list: [1, 2, 3] }, { name: 'list' })
  assert.equal(reference.name, 'list')
  const last = (value: { list: number[] }): number | undefined => value.list.at(-1)
  assert.deepEqual(await client.map(last, [reference, reference]), [3, 3])
  const nested = client.submit((values: unknown[]) => values.length, [reference])
  await assert.rejects(nested, SerializeError)
  await using other = await Client.connect(client.address)
  await assert.rejects(other.submit(last, reference))
  reference.release()
  await assert.rejects(client.submit(last, reference), MissingObjectError)
})

test('clear cancels unfinished work, deletes objects, and leaves the client usable', async () => {
  await using own = await Client.connect(client.address)
  const reference = own.sendObject([1, 2, 3])
  const stuck = own.submit(() => new Promise(() => {}))
  await own.clear()
  await assert.rejects(stuck, TaskCancelledError)
  await assert.rejects(
    own.submit((list: number[]) => list.length, reference),
    MissingObjectError,
  )
  assert.equal(await own.submit(double, 4), 8)
})

test('a profile has time, processor time, memory, and the worker', async () => {
  const fill = (bytes: number): number => new Uint8Array(bytes).fill(1).length
  const future = client.with({ profiling: true }).submit(fill, 100_000_000)
  await future
  const { profile } = future
  assert.ok(profile !== undefined)
  assert.ok(profile.durationMs > 0)
  assert.ok((profile.cpuTimeMs ?? 0) > 0)
  assert.ok((profile.peakMemoryBytes ?? 0) > 80_000_000, `${profile.peakMemoryBytes} bytes`)
  assert.match(profile.worker ?? '', /^\d+\|[^|]+\|[0-9a-f]{32}$/)
})

test('tasks that travel together have profiles of their own', async () => {
  const profiled = client.with({ profiling: true })
  const work = (n: number): number => {
    if (n !== 25) return n
    const bytes = new Uint8Array(100_000_000).fill(1)
    const end = process.cpuUsage().user + 30_000
    while (process.cpuUsage().user < end) bytes[0] = n
    return bytes.length
  }
  // From now on it is known to be short, so that several tasks are handed over at a time.
  await Promise.all(Array.from({ length: 200 }, () => profiled.submit(work, 0)))
  const futures = Array.from({ length: 50 }, (_, n) => profiled.submit(work, n))
  await Promise.all(futures)
  for (const [n, { profile }] of futures.entries()) {
    const { durationMs = 0, cpuTimeMs = 0, peakMemoryBytes = 0 } = profile ?? {}
    const text = `${n}: ${durationMs} ms, ${cpuTimeMs} ms of CPU time, ${peakMemoryBytes} bytes`
    assert.equal(cpuTimeMs >= 29, n === 25, text)
    assert.equal(peakMemoryBytes > 80_000_000, n === 25, text)
    assert.ok(profile?.cpuTimeMs !== undefined && peakMemoryBytes > 0, text)
  }
})

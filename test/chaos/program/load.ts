// The loads of the chaos: pieces of work with known results. Each resolves when all of its futures
// have settled correctly, and throws otherwise.

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { currentClient, currentTask, ProcessorDiedError, type Client } from 'scaler-ts'
import type { Random } from '../random.js'

/** A piece of work. Its random parts are drawn before it begins. */
export type Load = (client: Client, random: Random) => Promise<void>

function range(count: number, from = 0): number[] {
  return Array.from({ length: count }, (_, index) => from + index)
}

const mix = (x: number, salt: number): number => ((x * 2_654_435_761) ^ salt) >>> 0

async function mapLoad(client: Client, random: Random): Promise<void> {
  const salt = random.below(1e6)
  const inputs = range(20 + random.below(300), salt)
  const results = await client.map((x: number) => mix(x, salt), inputs)
  assert.deepEqual(
    results,
    inputs.map((x) => mix(x, salt)),
  )
}

async function unorderedLoad(client: Client, random: Random): Promise<void> {
  const inputs = range(20 + random.below(60), random.below(1000))
  const pause = async (x: number): Promise<number> => {
    await delay(x % 7)
    return -x
  }
  const seen = new Map<number, number>()
  for await (const [index, value] of client.map(pause, inputs, { ordered: false })) {
    assert.ok(!seen.has(index), `item ${index} came twice`)
    seen.set(index, value)
  }
  assert.deepEqual(
    range(inputs.length).map((index) => seen.get(index)),
    inputs.map((x) => -x),
  )
}

async function submitLoad(client: Client, random: Random): Promise<void> {
  const inputs = range(5 + random.below(30), random.below(1000))
  const task = async (x: number, ms: number): Promise<string> => {
    await delay(ms)
    return `${x}:${ms}`
  }
  const pauses = inputs.map(() => random.below(30))
  const priority = random.below(3)
  const view = client.with({ priority })
  const futures = inputs.map((x, index) => view.submit(task, x, pauses[index] ?? 0))
  assert.deepEqual(
    await Promise.all(futures),
    inputs.map((x, index) => `${x}:${pauses[index]}`),
  )
}

async function slowLoad(client: Client, random: Random): Promise<void> {
  const ms = 300 + random.below(1_500)
  const isBusy = random.chance(0.3)
  const task = async (time: number, busy: boolean): Promise<number> => {
    const end = performance.now() + time
    if (busy) while (performance.now() < end);
    else await delay(time)
    return time + 1
  }
  assert.equal(await client.submit(task, ms, isBusy), ms + 1)
}

async function graphLoad(client: Client, random: Random): Promise<void> {
  const count = 20 + random.below(100)
  const add = (a: number, b: number): number => (a + b) % 1_000_003
  const graph: Record<string, unknown> = { n0: 1, n1: 2 }
  const values = [1, 2]
  for (let index = 2; index < count; index += 1) {
    const [left, right] = [random.below(index), Math.max(0, index - 1 - random.below(3))]
    graph[`n${index}`] = [add, `n${left}`, `n${right}`]
    values.push(add(values[left] ?? 0, values[right] ?? 0))
  }
  const last = count - 1
  const asked = [last, random.below(count)]
  const results = await client.get(
    graph,
    asked.map((index) => `n${index}`),
  )
  for (const index of asked) assert.equal(results[`n${index}`], values[index])
}

/** Layers of short calls, which travel in runs; every seventh waits or takes a while. */
async function layersLoad(client: Client, random: Random): Promise<void> {
  const [depth, width] = [2 + random.below(8), 20 + random.below(200)]
  const call = (a: number, b: number): number | Promise<number> => {
    const sum = (a + b) % 1_000_003
    if (sum % 7 !== 0) return sum
    for (const end = performance.now() + (sum % 5); performance.now() < end;);
    return sum % 2 === 0 ? sum : new Promise((resolve) => setTimeout(resolve, sum % 11, sum))
  }
  const graph: Record<string, unknown> = {}
  let values = range(width, random.below(1e6)).map((seed) => (3 * seed) % 1_000_003)
  for (const [index, value] of values.entries()) graph[`0-${index}`] = value
  for (let layer = 1; layer <= depth; layer += 1) {
    values = values.map((value, index) => {
      const other = random.below(width)
      graph[`${layer}-${index}`] = [call, `${layer - 1}-${index}`, `${layer - 1}-${other}`]
      return (value + (values[other] ?? 0)) % 1_000_003
    })
  }
  const results = await client.get(
    graph,
    values.map((_, index) => `${depth}-${index}`),
  )
  assert.deepEqual(
    values.map((_, index) => results[`${depth}-${index}`]),
    values,
  )
}

/** Thousands of calls of a function that was never measured before; some take a while. */
async function manyLoad(client: Client, random: Random): Promise<void> {
  const salt = random.below(1e6)
  const task = (x: number): string => {
    const value = (x * 31 + salt) % 100_003
    if (value % 500 === 0) {
      for (const end = performance.now() + 20; performance.now() < end;);
    }
    return `${x}:${value}`
  }
  const inputs = range(1_000 + random.below(20_000))
  const results = await client.map(task, inputs)
  assert.deepEqual(
    results,
    inputs.map((x) => `${x}:${(x * 31 + salt) % 100_003}`),
  )
}

async function nestedLoad(client: Client, random: Random): Promise<void> {
  const depth = 1 + random.below(3)
  const width = 2 + random.below(2)
  const tree = async (below: number, children: number): Promise<number> => {
    if (below === 0) return 1
    const inputs = Array.from({ length: children }, (): [number, number] => [below - 1, children])
    const counts = await currentClient().starmap(tree, inputs)
    return counts.reduce((sum, count) => sum + count, 0)
  }
  assert.equal(await client.submit(tree, depth, width), width ** depth)
}

async function objectLoad(client: Client, random: Random): Promise<void> {
  const size = 20_000 + random.below(300_000)
  const bytes = new Uint8Array(size).fill(random.below(256))
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  const object = client.sendObject(bytes)
  const task = (given: Uint8Array, x: number): number =>
    given.reduce((total, byte) => total + byte, x)
  const futures = range(1 + random.below(12)).map((x) => client.submit(task, object, x))
  assert.deepEqual(
    await Promise.all(futures),
    futures.map((_, x) => sum + x),
  )
}

async function dependencyLoad(client: Client, random: Random): Promise<void> {
  const size = random.chance(0.5) ? 10 : 60_000
  const make = (length: number, value: number): number[] => new Array<number>(length).fill(value)
  const step = async (given: readonly number[], more: number): Promise<number[]> => {
    await delay(2)
    return given.map((value) => value + more)
  }
  let future = client.submit(make, size, 1)
  const steps = 1 + random.below(5)
  for (let index = 0; index < steps; index += 1) future = client.submit(step, future, index)
  const total = client.submit(
    (given: readonly number[]) => given.reduce((a, b) => a + b, 0),
    future,
  )
  assert.equal(await total, size * (1 + (steps * (steps - 1)) / 2))
}

async function largeLoad(client: Client, random: Random): Promise<void> {
  const size = 100_000 + random.below(2_000_000)
  const value = random.below(256)
  const task = (length: number, byte: number): Uint8Array => new Uint8Array(length).fill(byte)
  const result = await client.submit(task, size, value)
  const expected = createHash('sha1').update(task(size, value)).digest('hex')
  assert.equal(createHash('sha1').update(result).digest('hex'), expected)
}

async function uploadLoad(client: Client, random: Random): Promise<void> {
  const bytes = new Uint8Array(100_000 + random.below(1_500_000)).fill(random.below(256))
  const digest = (given: Uint8Array): string => createHash('sha1').update(given).digest('hex')
  assert.equal(await client.submit(digest, bytes), digest(bytes))
}

/** No unit of an agent has two tasks at a time: each has a lock that goes with its process. */
async function unitsLoad(client: Client, random: Random): Promise<void> {
  const units = random.below(3)
  const view = client.with({ capabilities: units === 0 ? { linux: -1 } : { gpu: units } })
  const task = async (ms: number): Promise<number> => {
    const { createServer } = await import('node:net')
    const numbers = currentTask().capabilities['gpu'] ?? []
    const locks = numbers.map(() => createServer())
    try {
      for (const [at, lock] of locks.entries()) {
        await new Promise<void>((resolve, reject) => {
          lock.once('error', reject).listen(`\0scaler-${process.ppid}-${numbers[at]}`, resolve)
        })
      }
      await delay(ms)
    } finally {
      await Promise.all(locks.map((lock) => new Promise((resolve) => lock.close(resolve))))
    }
    return numbers.length
  }
  const pauses = range(2 + random.below(12)).map(() => random.below(60))
  assert.deepEqual(
    await Promise.all(pauses.map((ms) => view.submit(task, ms))),
    pauses.map(() => units),
  )
}

/** Cancelled futures have a result or were cancelled; the others have results. */
async function cancelLoad(client: Client, random: Random): Promise<void> {
  const task = async (x: number): Promise<number> => {
    await delay(10 + (x % 5) * 20)
    return x + 1
  }
  const futures = range(4 + random.below(20)).map((x) => client.submit(task, x))
  const chosen = futures.map(() => random.chance(0.5))
  const pauseMs = random.below(150)
  const ends = Promise.allSettled(futures)
  await delay(pauseMs)
  for (const [x, future] of futures.entries()) if (chosen[x] === true) future.cancel()
  for (const [x, end] of (await ends).entries()) {
    if (end.status === 'fulfilled') assert.equal(end.value, x + 1)
    else if (chosen[x] !== true || nameOf(end.reason) !== 'TaskCancelledError') throw end.reason
  }
}

async function graphCancelLoad(client: Client, random: Random): Promise<void> {
  const step = async (x: number): Promise<number> => {
    await delay(5)
    return x + 1
  }
  const graph: Record<string, unknown> = { n0: 0 }
  for (let index = 1; index <= 30; index += 1) graph[`n${index}`] = [step, `n${index - 1}`]
  const future = client.get(graph, ['n30'])
  const end = Promise.allSettled([future])
  const pauseMs = random.below(200)
  await delay(pauseMs)
  future.cancel()
  const [outcome] = await end
  if (outcome.status === 'fulfilled') assert.equal(outcome.value['n30'], 30)
  else if (nameOf(outcome.reason) !== 'TaskCancelledError') throw outcome.reason
}

async function timeoutLoad(client: Client, random: Random): Promise<void> {
  const view = client.with({ timeoutMs: 50 + random.below(200) })
  const isBusy = random.chance(0.5)
  const stuck = view.submit(async (busy: boolean) => {
    for (; busy;);
    await delay(1e8)
  }, isBusy)
  await fails(stuck, 'TaskTimeoutError')
}

async function retryLoad(client: Client, random: Random): Promise<void> {
  const task = (x: number): number => {
    if (Math.random() < 0.5) throw new Error('this time not')
    return x
  }
  const inputs = range(1 + random.below(10))
  const view = client.with({ retries: 100 })
  assert.deepEqual(await Promise.all(inputs.map((x) => view.submit(task, x))), inputs)
}

async function errorLoad(client: Client, random: Random): Promise<void> {
  const x = random.below(1_000)
  const task = (y: number): never => {
    throw new RangeError(`boom ${y}`)
  }
  const error = await fails(client.submit(task, x), 'RangeError')
  assert.equal((error as Error).message, `boom ${x}`)
}

async function exitLoad(client: Client): Promise<void> {
  await client
    .submit(() => process.exit(3))
    .then(
      () => assert.fail('it has returned'),
      (error: unknown) => {
        if (!(error instanceof ProcessorDiedError)) throw error
      },
    )
}

async function fails(future: PromiseLike<unknown>, name: string): Promise<unknown> {
  const [end] = await Promise.allSettled([future])
  assert.ok(end !== undefined && end.status === 'rejected', `no ${name}`)
  if (nameOf(end.reason) !== name) throw end.reason
  return end.reason
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : String(error)
}

/** All kinds of work, each with its frequency. */
export const LOADS: Readonly<Record<string, { readonly run: Load; readonly weight: number }>> = {
  map: { run: mapLoad, weight: 10 },
  'unordered map': { run: unorderedLoad, weight: 6 },
  submit: { run: submitLoad, weight: 10 },
  slow: { run: slowLoad, weight: 5 },
  graph: { run: graphLoad, weight: 8 },
  layers: { run: layersLoad, weight: 6 },
  many: { run: manyLoad, weight: 4 },
  nested: { run: nestedLoad, weight: 6 },
  object: { run: objectLoad, weight: 6 },
  dependency: { run: dependencyLoad, weight: 6 },
  'large result': { run: largeLoad, weight: 4 },
  'large argument': { run: uploadLoad, weight: 4 },
  cancel: { run: cancelLoad, weight: 5 },
  'graph cancel': { run: graphCancelLoad, weight: 3 },
  timeout: { run: timeoutLoad, weight: 2 },
  retry: { run: retryLoad, weight: 3 },
  units: { run: unitsLoad, weight: 6 },
  error: { run: errorLoad, weight: 3 },
  exit: { run: exitLoad, weight: 1 },
}

/**
 * Whether an error was caused by the chaos itself: the process that ran the task was killed,
 * directly or by another task in it. Tasks have no retries here, so that no other error is hidden.
 */
export function isCollateral(error: unknown): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if (at.name !== 'ProcessorDiedError') continue
    const { signal, exitCode } = at as ProcessorDiedError
    return signal === 'SIGKILL' || exitCode === 3
  }
  return false
}

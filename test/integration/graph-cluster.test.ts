// Graphs on real clusters, from the call of `get` to the freed memory of the scheduler.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Client, GraphCycleError, GraphKeyError, literal, TaskCancelledError } from 'scaler-ts'

const inc = (x: number): number => x + 1
const add = (a: number, b: number): number => a + b
const minus = (a: number, b: number): number => a - b
const fail = (x: number): never => {
  throw new RangeError(`failed at ${x}`)
}

describe('get', () => {
  let client: Client
  before(async () => {
    client = await Client.local({ workers: 2 })
  })
  after(() => client.close())

  test('returns the requested values, and computes only the nodes that they need', async () => {
    const graph = {
      a: 2,
      b: 2,
      c: [inc, 'a'],
      d: [add, 'a', 'b'],
      e: [minus, 'd', 'c'],
      f: add,
      broken: [fail, 'a'],
    }
    assert.deepEqual(await client.get(graph, ['e']), { e: 1 })
    const all = await client.get(graph, ['a', 'b', 'c', 'd', 'e', 'f'])
    assert.deepEqual(all, { a: 2, b: 2, c: 3, d: 4, e: 1, f: add })
  })

  test('the same key twice, literals, references, futures and functions as values', async () => {
    const call = (fn: (x: number) => number, x: number): number => fn(x)
    const text = (value: string, n: number): string => value.repeat(n)
    const reference = client.sendObject([10, 20, 30])
    const at = (list: readonly number[], index: number): number | undefined => list[index]
    const graph = {
      one: 1,
      two: [add, 'one', 'one'],
      four: [add, 'two', 'two'],
      inc,
      five: [call, 'inc', 'four'],
      text: [text, literal('ab'), 3],
      list: reference,
      second: [at, 'list', 1],
      third: [at, reference, 2],
      later: [inc, client.submit(inc, 6)],
    }
    const keys = ['two', 'four', 'five', 'text', 'second', 'third', 'later', 'list'] as const
    assert.deepEqual(await client.get(graph, keys), {
      two: 2,
      four: 4,
      five: 5,
      text: 'ababab',
      second: 20,
      third: 30,
      later: 8,
      list: [10, 20, 30],
    })
  })

  test('no keys give an empty record', async () => {
    assert.deepEqual(await client.get({ a: [fail, 1] }, []), {})
  })

  test('a failing node fails its dependants, and nothing else', async () => {
    const graph = {
      one: 1,
      bad: [fail, 'one'],
      worse: [inc, 'bad'],
      good: [inc, 'one'],
      both: [add, 'good', 'worse'],
    }
    const run = client.get(graph, ['worse', 'good', 'both'])
    assert.equal(await run.futures.good, 2)
    for (const key of ['worse', 'both'] as const) {
      const error = await run.futures[key].catch((reason: unknown) => reason)
      assert.ok(error instanceof RangeError)
      assert.equal(error.message, 'failed at 1')
      assert.equal((error as RangeError & { nodeKey?: string }).nodeKey, 'bad')
      assert.match(error.stack ?? '', /node "bad"/)
    }
    await assert.rejects(run, RangeError)
    assert.equal(await client.submit(inc, 1), 2, 'the client stays usable')
  })

  test('missing keys and cycles are named', async () => {
    await assert.rejects(client.get({ a: [inc, 'b'] }, ['a']), (error) => {
      assert.ok(error instanceof GraphKeyError)
      assert.match(error.message, /"?b"?.*"?a"?/)
      return true
    })
    await assert.rejects(client.get({ a: 1 }, ['z' as 'a']), GraphKeyError)
    const cycle = { a: [inc, 'c'], b: [inc, 'a'], c: [inc, 'b'] }
    await assert.rejects(client.get(cycle, ['a']), (error) => {
      assert.ok(error instanceof GraphCycleError)
      assert.match(error.message, /a -> .* -> a|c -> .* -> c|b -> .* -> b/)
      return true
    })
  })

  test('a graph can be cancelled while it runs', async () => {
    const forever = (): Promise<never> => new Promise(() => {})
    const graph = { a: [forever], b: [(x: number) => x, 'a'], c: [inc, 1] }
    const run = client.get(graph, ['b', 'c'])
    assert.equal(await run.futures.c, 2)
    assert.equal(run.cancel('enough'), true)
    await assert.rejects(run, (error) => {
      assert.ok(error instanceof TaskCancelledError)
      assert.equal(error.cause, 'enough')
      return true
    })
    assert.deepEqual(await client.map(inc, [1, 2, 3]), [2, 3, 4])
  })

  test('large intermediate results stay in the cluster', async () => {
    const make = (count: number): Uint8Array => new Uint8Array(count).fill(1)
    const grow = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes.length * 2).fill(2)
    const size = (a: Uint8Array, b: Uint8Array): number => a.length + b.length
    const graph = { a: [make, 1_000_000], b: [grow, 'a'], size: [size, 'a', 'b'] }
    assert.deepEqual(await client.get(graph, ['size']), { size: 3_000_000 })
    const { b } = await client.get(graph, ['b'])
    assert.equal(b.length, 2_000_000)
  })

  test('a wide layer graph, a long chain and a random graph', async () => {
    const layers: Record<string, unknown> = { start: 0 }
    for (let layer = 0; layer < 10; layer += 1) {
      for (let i = 0; i < 100; i += 1) {
        const from = layer === 0 ? 'start' : `n${layer - 1}_${(i * 7 + 1) % 100}`
        layers[`n${layer}_${i}`] = [inc, from]
      }
    }
    assert.deepEqual(await client.get(layers, ['n9_0', 'n9_99']), { n9_0: 10, n9_99: 10 })

    const chain: Record<string, unknown> = { n0: 0 }
    for (let i = 1; i <= 3_000; i += 1) chain[`n${i}`] = [inc, `n${i - 1}`]
    assert.deepEqual(await client.get(chain, ['n3000']), { n3000: 3_000 })

    // Links whose results are promises, large, classes, or errors.
    const kinds = [
      (list: readonly number[]): number[] => [...list, list.length],
      async (list: readonly number[]): Promise<number[]> => Promise.resolve([...list, list.length]),
      (list: readonly number[]): number[] => [...list, ...Array<number>(3_000).fill(0)],
      (list: readonly number[]): number[] => list.filter((n) => n !== 0),
    ]
    const mixed: Record<string, unknown> = { m0: [() => [9]] }
    for (let i = 1; i <= 400; i += 1) mixed[`m${i}`] = [kinds[i % 4], `m${i - 1}`]
    const { m400 } = (await client.get(mixed, ['m400'])) as { m400: number[] }
    assert.deepEqual(m400.slice(0, 3), [9, 1, 2])
    for (let i = 201; i < 400; i += 1) mixed[`m${i}`] = [i === 300 ? fail : inc, `m${i - 1}`]
    await assert.rejects(client.get(mixed, ['m399']), /failed at/)

    let seed = 7
    const random = (below: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
      return Math.floor((seed / 2 ** 32) * below)
    }
    const sum = (a: number, b: number, c: number): number => (a + b + c) % 1_000_003
    const graph: Record<string, unknown> = { n0: 1, n1: 2, n2: 3 }
    const expected = [1, 2, 3]
    for (let i = 3; i < 2_000; i += 1) {
      const inputs = [random(i), random(i), random(i)] as const
      graph[`n${i}`] = [sum, ...inputs.map((n) => `n${n}`)]
      expected.push(sum(...(inputs.map((n) => expected[n]) as [number, number, number])))
    }
    assert.deepEqual(await client.get(graph, ['n1999', 'n1000']), {
      n1999: expected[1999],
      n1000: expected[1000],
    })
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GraphCycleError, GraphKeyError } from '../../base/errors.js'
import { isCall, literal, plainValue } from './reading.js'
import { planGraph, type GraphPlan } from './plan.js'

const join = (...parts: unknown[]): string => `(${parts.join(' ')})`

/** The keys of all calls in their order. */
function orderOf(graph: Record<string, unknown>, keys: readonly string[]): string[] {
  const plan = planGraph(graph, keys)
  return Array.from(plan.order, (node) => plan.keys[node] ?? assert.fail())
}

/** The values of the requested keys when the calls are run in the order of the plan. */
function run(plan: GraphPlan): unknown[] {
  const values = plan.nodes.map((node) => (isCall(node) ? undefined : plainValue(node)))
  const isThere = plan.nodes.map((node) => !isCall(node))
  for (const node of plan.order) {
    const [fn, ...args] = plan.nodes[node] as [typeof join, ...unknown[]]
    let at = plan.starts[node] ?? 0
    const given = args.map((argument) => {
      if (typeof argument !== 'string') return plainValue(argument)
      const input = plan.inputs[at++] ?? assert.fail()
      assert(isThere[input], 'a call before its input')
      return values[input]
    })
    assert(!isThere[node], 'a call twice')
    values[node] = fn(...given)
    isThere[node] = true
  }
  return Array.from(plan.requested, (node) => values[node])
}

test('a graph is reduced to the nodes that are needed, and calls come after their inputs', () => {
  const graph = {
    a: 2,
    b: [join, 'a', 'a'],
    c: [join, 'b', 'd'],
    d: [join, 'a'],
    unused: [join, 'missing'],
  }
  const plan = planGraph(graph, ['c', 'a', 'c'])
  assert.deepEqual(plan.keys, ['c', 'a', 'b', 'd'])
  assert.deepEqual([...plan.requested], [0, 1])
  assert.deepEqual(orderOf(graph, ['c']), ['b', 'd', 'c'])
  assert.deepEqual(run(plan), ['((2 2) (2))', 2])
})

test('strings are keys, everything else is passed as it is', () => {
  const graph = {
    text: 'a text',
    list: ['text', join],
    call: [join, 'text', literal('text'), ['text'], 7, literal([join])],
    quoted: literal([join, 'text']),
    fn: join,
    empty: [],
    none: [join],
  }
  const [call, quoted, list, fn, empty, none] = run(
    planGraph(graph, ['call', 'quoted', 'list', 'fn', 'empty', 'none']),
  )
  assert.equal(call, `(a text text text 7 ${String(join)})`)
  assert.deepEqual(quoted, [join, 'text'])
  assert.equal(list, graph.list)
  assert.equal(fn, join)
  assert.deepEqual(empty, [])
  assert.equal(none, '()')
})

test('the longest path comes first, and the rest of a branch directly after it', () => {
  const graph = {
    short: [join],
    long1: [join],
    long2: [join, 'long1'],
    long3: [join, 'long2'],
    middle1: [join],
    middle2: [join, 'middle1'],
    sum: [join, 'short', 'middle2', 'long3'],
  }
  const long = ['long1', 'long2', 'long3']
  const middle = ['middle1', 'middle2']
  assert.deepEqual(orderOf(graph, ['sum']), [...long, ...middle, 'short', 'sum'])
  assert.deepEqual(orderOf(graph, ['short', 'middle2', 'long3']), [...long, ...middle, 'short'])
  const sums: Record<string, unknown> = { ...graph }
  for (let i = 0; i < 40; i += 1) sums[`x${i}`] = [join]
  sums['wide'] = [join, ...Array.from({ length: 40 }, (_, i) => `x${i}`), 'long3', 'x3']
  const wide = orderOf(sums, ['wide'])
  assert.deepEqual(wide.slice(0, 5), [...long, 'x0', 'x1'])
  assert.equal(wide.length, 44)
})

test('any text is a key, if it is an own enumerable property', () => {
  const graph = JSON.parse('{"__proto__": 1, "constructor": 2, "": 3, "0": 4}') as Record<
    string,
    unknown
  >
  graph['toString'] = [join, '__proto__', 'constructor', '', '0']
  assert.deepEqual(run(planGraph(graph, ['toString', ''])), ['(1 2 3 4)', 3])
  const hidden = Object.defineProperty({ y: [join, 'x'] }, 'x', { value: 1 })
  for (const key of ['__proto__', 'constructor', 'hasOwnProperty', 'x']) {
    assert.throws(() => planGraph(hidden, [key]), { name: 'GraphKeyError', key })
  }
  Object.setPrototypeOf(graph, null)
  assert.deepEqual(run(planGraph(graph, ['0'])), [4])
})

test('a missing key is named with the node that needs it', () => {
  const graph = { d: [join, 'b'], b: [join, 'x y'] }
  assert.throws(
    () => planGraph(graph, ['d']),
    (error) => {
      assert(error instanceof GraphKeyError)
      assert.equal(error.message, 'the graph has no node "x y", which the node "b" needs')
      assert.deepEqual([error.key, error.neededBy], ['x y', 'b'])
      return true
    },
  )
  assert.throws(() => planGraph(graph, ['q']), {
    code: 'ERR_SCALER_GRAPH_KEY',
    message: 'the graph has no node "q", which was requested',
    neededBy: undefined,
  })
})

test('a cycle is printed', () => {
  const graph = {
    x: [join, 'c'],
    a: [join, 'b'],
    b: [join, 'c'],
    c: [join, 'a'],
    own: [join, 'own'],
  }
  assert.throws(
    () => planGraph(graph, ['x']),
    (error) => {
      assert(error instanceof GraphCycleError)
      assert.equal(error.message, 'the graph has a cycle: c -> a -> b -> c')
      assert.deepEqual(error.cycle, ['c', 'a', 'b', 'c'])
      return true
    },
  )
  assert.throws(() => planGraph(graph, ['own']), { message: 'the graph has a cycle: own -> own' })
  assert.doesNotThrow(() => planGraph({ ...graph, fine: 1 }, ['fine']))
})

test('a long cycle is printed in part', () => {
  const graph: Record<string, unknown> = {}
  const count = 100_000
  for (let i = 0; i < count; i += 1) graph[`n${i}`] = [join, `n${(i + 1) % count}`]
  assert.throws(
    () => planGraph(graph, ['n0']),
    (error) => {
      assert(error instanceof GraphCycleError)
      assert.equal(error.cycle.length, count + 1)
      assert.match(error.message, /: n0 -> n1 -> .* -> n9 -> … 99981 more … -> n99991 -> .* -> n0$/)
      return true
    },
  )
})

test('errors of getters are passed on', () => {
  const graph = {
    get x(): never {
      throw new RangeError('no')
    },
  }
  assert.throws(() => planGraph(graph, ['x']), RangeError)
})

test('a chain of 100,000 and a node with 100,000 inputs are planned', () => {
  const graph: Record<string, unknown> = { n0: 1 }
  const keys: string[] = []
  for (let i = 1; i <= 100_000; i += 1) {
    graph[`n${i}`] = [join, `n${i - 1}`]
    keys.push(`n${i}`)
  }
  graph['all'] = [join, ...keys.toReversed()]
  assert.deepEqual(orderOf(graph, ['all']), [...keys, 'all'])
})

/** A random node: its inputs are earlier nodes, or keys without meaning. */
const nodes = fc.array(
  fc.oneof(
    fc.record({ value: fc.oneof(fc.integer(), fc.string(), fc.constant(join)) }),
    fc.record({ uses: fc.array(fc.oneof(fc.nat(), fc.constant('text')), { maxLength: 5 }) }),
  ),
  { maxLength: 30 },
)

test('a plan computes the same values as a naive evaluation', () => {
  fc.assert(
    fc.property(
      nodes,
      fc.array(fc.nat(), { maxLength: 5 }),
      fc.boolean(),
      (made, wanted, isTurned) => {
        const keyOf = (index: number): string => `k${index}`
        const entries = made.map((node, index): [string, unknown] => {
          if ('value' in node) return [keyOf(index), node.value]
          const args = node.uses.map((use) => {
            if (use === 'text') return literal(use)
            return index === 0 ? use : keyOf(Number(use) % index)
          })
          return [keyOf(index), [join, ...args]]
        })
        const graph = Object.fromEntries(isTurned ? entries.toReversed() : entries)
        const keys = made.length === 0 ? [] : wanted.map((number) => keyOf(number % made.length))
        const naive = (key: string): unknown => {
          const node = graph[key]
          if (!isCall(node)) return plainValue(node)
          const [, ...args] = node
          return join(
            ...args.map((arg) => (typeof arg === 'string' ? naive(arg) : plainValue(arg))),
          )
        }
        const plan = planGraph(graph, keys)
        assert.deepEqual(run(plan), [...new Set(keys)].map(naive))
        for (const [position, node] of plan.order.entries()) {
          assert.equal(plan.positions[node], position)
        }
      },
    ),
    { numRuns: 300 },
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { testClient, type TestClient } from '../memory-link.test.kit.js'
import { isCall, literal, Literal } from './reading.js'

/** Called on the "worker": values and results are plain, so that they can be compared. */
const gather = (...parts: unknown[]): unknown => (parts.length > 6 ? parts.length : parts)
const fail = (...parts: unknown[]): never => {
  throw new RangeError(`failed with ${parts.length}`)
}

type Input = number | 'literal' | 'number' | 'list' | 'reference' | 'future'

type Node =
  | { readonly kind: 'call'; readonly inputs: readonly Input[]; readonly isBad: boolean }
  | { readonly kind: 'number' | 'text' | 'list' | 'literal' | 'reference' | 'future' }

const node: fc.Arbitrary<Node> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('call'),
      inputs: fc.array(
        fc.oneof(
          { weight: 3, arbitrary: fc.nat(20) },
          {
            weight: 1,
            arbitrary: fc.constantFrom('literal', 'number', 'list', 'reference', 'future'),
          },
        ),
        { maxLength: 4 },
      ),
      isBad: fc.nat(12).map((n) => n === 0),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('number', 'text', 'list', 'literal', 'reference', 'future'),
    }),
  },
)

/** The stand-in for a value in a graph, and the value. */
interface Stand {
  readonly given: unknown
  readonly value: unknown
}

/** The stand-ins for some value of each kind. */
function standIns(client: TestClient): Readonly<Record<string, Stand>> {
  const future = client.submitter.submit(gather, ['from a task'])
  const reference = client.parts.references.send(['from an object'], {})
  return {
    number: { given: 7, value: 7 },
    text: { given: 'k0', value: 'k0' },
    list: { given: ['k0', gather.length], value: ['k0', gather.length] },
    literal: { given: literal('k1'), value: 'k1' },
    reference: { given: reference, value: ['from an object'] },
    future: { given: future, value: ['from a task'] },
  }
}

/** The graph, in which a node uses earlier ones, and the value of each stand-in. */
function build(
  nodes: readonly Node[],
  stands: Readonly<Record<string, Stand>>,
): Record<string, unknown> {
  const graph: Record<string, unknown> = {}
  for (const [index, made] of nodes.entries()) {
    if (made.kind !== 'call') {
      graph[`k${index}`] = stands[made.kind]?.given
      continue
    }
    const args = made.inputs.map((input) => {
      if (typeof input !== 'number') return stands[input]?.given
      return index === 0 ? input : `k${input % index}`
    })
    graph[`k${index}`] = [made.isBad ? fail : gather, ...args]
  }
  return graph
}

class Failed {}

/** The obvious way: every use of a node computes it anew. */
function evaluate(graph: Record<string, unknown>, key: string, stands: readonly Stand[]): unknown {
  const value = (given: unknown): unknown => {
    if (given instanceof Literal) return given.value
    const stand = stands.find((one) => one.given === given)
    return stand === undefined ? given : stand.value
  }
  const made = graph[key]
  if (!isCall(made)) return value(made)
  const [fn, ...args] = made
  const inputs = args.map((argument) =>
    typeof argument === 'string' ? evaluate(graph, argument, stands) : value(argument),
  )
  if (fn === fail || inputs.some((input) => input instanceof Failed)) return new Failed()
  return gather(...inputs)
}

for (const takesGraphs of [true, false]) {
  const way = takesGraphs ? 'in parts' : 'as tasks'
  test(`property: a graph that travels ${way} gives the same as a naive evaluation`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(node, { minLength: 1, maxLength: 14, size: 'max' }),
        fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }),
        async (nodes, wanted) => {
          const client = testClient({ takesGraphs, inlineLimitBytes: 40 })
          const stands = standIns(client)
          const graph = build(nodes, stands)
          const keys = wanted.map((index) => `k${index % nodes.length}`)
          const run = client.submitter.get(graph, keys)
          for (const key of keys) {
            const expected = evaluate(graph, key, Object.values(stands))
            const future = run.futures[key] ?? assert.fail(key)
            if (expected instanceof Failed) await assert.rejects(future, RangeError)
            else assert.deepEqual(await future, expected)
          }
          assert.deepEqual(client.scheduler.faults, [])
          await client.connection.close()
        },
      ),
      { numRuns: 60 },
    )
  })
}

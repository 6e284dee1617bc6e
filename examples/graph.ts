// Calls that depend on each other's results. The graph says what to compute; the cluster decides
// when and where. Run it: `npm run build && node build/examples/graph.js`.

import { Client } from 'scaler-ts'

const inc = (i: number): number => i + 1
const add = (a: number, b: number): number => a + b
const minus = (a: number, b: number): number => a - b

// A value stands for itself. An array with a function first is a call of it; a string among the
// arguments is the key of another node, whose result is passed.
const graph = {
  a: 2,
  b: 2,
  c: [inc, 'a'], // c = a + 1 = 2 + 1 = 3
  d: [add, 'a', 'b'], // d = a + b = 2 + 2 = 4
  e: [minus, 'd', 'c'], // e = d - c = 4 - 3 = 1
  f: add,
}

await using client = await Client.local({ workers: 1 })

// Only the requested nodes are returned, and only what they need is computed.
const { e } = await client.get(graph, ['e'])
console.log(e) // 1
console.log(await client.get(graph, ['a', 'b', 'c', 'd', 'e', 'f']))
// { a: 2, b: 2, c: 3, d: 4, e: 1, f: [Function: add] }

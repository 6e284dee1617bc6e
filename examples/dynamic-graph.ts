// A graph that is built inside a task, because only the task knows what to compute. Run
// it: `npm run build && node build/examples/dynamic-graph.js`.

import { Client } from 'scaler-ts'

const minus = (a: number, b: number): number => a - b

/** For illustration only: a subtraction is too little work for a task. */
const fibonacci = async (client: Client, n: number): Promise<number> => {
  if (n < 2) return n
  const graph = { n, one: 1, two: 2, last: [minus, 'n', 'one'], beforeLast: [minus, 'n', 'two'] }
  const { last, beforeLast } = await client.get(graph, ['last', 'beforeLast'])
  const a = client.submit(fibonacci, client, last)
  const b = client.submit(fibonacci, client, beforeLast)
  return (await a) + (await b)
}

await using client = await Client.local({ workers: 2 })

console.log(await client.submit(fibonacci, client, 8)) // 21

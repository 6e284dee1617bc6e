// A graph whose calls compute further graphs. While a call waits for its graph, the worker runs
// other calls, so one worker is enough for any depth. Run it:
// `npm run build && node build/examples/nested-graph.js`.

import { Client, currentClient } from 'scaler-ts'

const add = (a: number, b: number): number => a + b

/** The graph for one number contains calls of this function. */
const fibonacci = async (n: number): Promise<number> => {
  if (n < 2) return n
  const graph = { a: [fibonacci, n - 1], b: [fibonacci, n - 2], sum: [add, 'a', 'b'] }
  const { sum } = await currentClient().get(graph, ['sum'])
  return sum
}

await using client = await Client.local({ workers: 1 })

const graph = { small: [fibonacci, 5], large: [fibonacci, 8], sum: [add, 'small', 'large'] }
console.log(await client.get(graph, ['small', 'large', 'sum'])) // { small: 5, large: 21, sum: 26 }

// Tasks that submit tasks: a tree of them, on one worker and on four.

import type { Client } from 'scaler-ts'
import { timeMs, type Benchmark, type Sample } from './benchmark.js'
import { withClient } from './cluster.js'

const DEPTH = 16
const RESULT = 987
/** One task per call of the function. */
const TASKS = 3_193

const fibonacci = async (client: Client, n: number): Promise<number> => {
  if (n < 2) return n
  const a = client.submit(fibonacci, client, n - 1)
  const b = client.submit(fibonacci, client, n - 2)
  return (await a) + (await b)
}

/** `fibonacci(16)`, every call of it a task. */
export const nested: Benchmark = {
  name: 'nested',
  run: async () => [...(await measure(1)), ...(await measure(4))],
}

function measure(workers: number): Promise<readonly Sample[]> {
  return withClient(workers, async (client) => {
    await client.submit(fibonacci, client, 4)
    const tookMs = await timeMs(async () => {
      const result = await client.submit(fibonacci, client, DEPTH)
      if (result !== RESULT) throw new Error(`fibonacci(${DEPTH}) returned ${result}`)
    })
    const on = `${workers} worker${workers === 1 ? '' : 's'}`
    return [
      { name: `nested fibonacci(${DEPTH}), ${on}`, unit: 'ms', value: tookMs },
      { name: `nested tasks, ${on}`, unit: 'tasks/s', value: (TASKS / tookMs) * 1_000 },
    ]
  })
}

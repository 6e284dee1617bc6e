// Tasks that submit tasks, to any depth, on any number of workers: one is enough, because a
// worker runs other tasks while one waits for its children. Run it:
// `npm run build && node build/examples/nested.js`.

import { Client, currentClient } from 'scaler-ts'

/** A client can be passed as an argument: in the task, it is a client of the same scheduler. */
const fibonacci = async (client: Client, n: number): Promise<number> => {
  if (n < 2) return n
  const a = client.submit(fibonacci, client, n - 1)
  const b = client.submit(fibonacci, client, n - 2)
  return (await a) + (await b)
}

/** The same without passing a client. */
const fibonacciToo = async (n: number): Promise<number> => {
  if (n < 2) return n
  const results = await currentClient().map(fibonacciToo, [n - 1, n - 2])
  return results.reduce((sum, result) => sum + result, 0)
}

await using client = await Client.local({ workers: 1 })

console.log(await client.submit(fibonacci, client, 8)) // 21
console.log(await client.submit(fibonacciToo, 8)) // 21

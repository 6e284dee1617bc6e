// A client with work of every kind in progress until it is ended: tasks, graphs, nested tasks,
// objects, cancels. Argument: the scheduler's address.

import { setTimeout as delay } from 'node:timers/promises'
import { Client, currentClient } from 'scaler-ts'

const client = new Client(process.argv[2] ?? '')
const slow = async (x: number): Promise<number> => {
  await delay(5)
  return x
}
const add = (a: number, b: number): number => a + b
const nested = async (depth: number): Promise<number> => {
  if (depth === 0) return 1
  const values = await currentClient().map(nested, [depth - 1, depth - 1])
  return values.reduce((sum, value) => sum + value, 0)
}
const chain: Record<string, unknown> = { n0: 1 }
for (let index = 1; index < 40; index += 1) chain[`n${index}`] = [add, `n${index - 1}`, 'n0']

for (;;) {
  const object = client.sendObject(new Uint8Array(50_000))
  const ends: PromiseLike<unknown>[] = [
    client.map(slow, [1, 2, 3, 4, 5, 6, 7, 8]),
    client.get(chain, ['n39']),
    client.submit(nested, 3),
    client.submit((bytes: Uint8Array) => bytes.length, object),
  ]
  const cancelled = client.submit(slow, 9)
  cancelled.cancel()
  ends.push(
    cancelled.then(
      () => 0,
      () => 0,
    ),
  )
  await Promise.all(ends)
}

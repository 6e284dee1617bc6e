// A client with tasks of all kinds for some seconds, which checks all results and says whether its
// wall clock has jumped. Argument: the scheduler's address.

import { setTimeout as delay } from 'node:timers/promises'
import { Client, TaskTimeoutError, currentClient } from 'scaler-ts'

const ROUNDS = 12

const client = await Client.connect(process.argv[2] ?? '', { timeoutMs: 3_000 })
const slow = async (x: number): Promise<number> => {
  await delay(20)
  return x + 1
}
const nested = async (x: number): Promise<number> => {
  const [a = 0, b = 0] = await currentClient().map((y: number) => y * 2, [x, x + 1])
  return a + b
}
const stuck = client.with({ timeoutMs: 200 }).submit(() => new Promise<never>(() => {}))
const late = stuck.then(
  () => 'no error',
  (error: unknown) => (error instanceof TaskTimeoutError ? 'late' : String(error)),
)
let wrong = 0
let hasJumped = false
let clock = Date.now()
for (let round = 0; round < ROUNDS; round += 1) {
  const inputs = Array.from({ length: 20 }, (_, index) => 100 * round + index)
  const results = await client.map(slow, inputs)
  wrong += results.filter((value, index) => value !== (inputs[index] ?? 0) + 1).length
  if ((await client.submit(nested, round)) !== 4 * round + 2) wrong += 1
  const sum = await client.get({ a: round, b: [slow, 'a'], c: [slow, 'b'] }, ['c'])
  if (sum.c !== round + 2) wrong += 1
  hasJumped ||= Math.abs(Date.now() - clock) > 3_600_000
  clock = Date.now()
}
if ((await late) !== 'late') wrong += 1
await client.disconnect()
process.stdout.write(`${JSON.stringify({ event: 'done', wrong, hasJumped })}\n`)

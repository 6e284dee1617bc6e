// A client in a separate process that submits one no-op after the other until it is asked to stop;
// then it reports to its parent how long each has taken.

import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'scaler-ts'

/** Enough for the compilers of all processes: the first round trips are measured by `start-up`. */
const WARM_UP_TASKS = 3_000
const PAUSE_MS = 20

const noop = (): void => {}

const client = await Client.connect(process.argv[2] ?? '')
for (let count = 0; count < WARM_UP_TASKS; count += 1) await client.submit(noop)
let isStopped = false
process.once('message', () => {
  isStopped = true
})
process.send?.([])
const times: number[] = []
while (!isStopped) {
  const start = performance.now()
  await client.submit(noop)
  times.push(performance.now() - start)
  await wait(PAUSE_MS)
}
await client.close()
process.send?.(times, () => process.disconnect())

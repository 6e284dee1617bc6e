// A client in a separate process that submits one no-op after the other until its parent sends
// 'stop'; then it reports how long each has taken, since 'again' if that was sent.

import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'scaler-ts'

/** Enough for the compilers of all processes: the first round trips are measured by `start-up`. */
const WARM_UP_TASKS = 3_000
const PAUSE_MS = 20

const noop = (): void => {}

const client = await Client.connect(process.argv[2] ?? '')
for (let count = 0; count < WARM_UP_TASKS; count += 1) await client.submit(noop)
let isStopped = false
let times: number[] = []
process.on('message', (order) => {
  if (order === 'again') times = []
  else isStopped = true
})
process.send?.([])
while (!isStopped) {
  const start = performance.now()
  await client.submit(noop)
  times.push(performance.now() - start)
  await wait(PAUSE_MS)
}
await client.close()
process.send?.(times, () => process.disconnect())

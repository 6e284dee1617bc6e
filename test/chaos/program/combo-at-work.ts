// A user's program with a cluster of its own, working until it is ended.

import { setTimeout as delay } from 'node:timers/promises'
import { Client, SchedulerClusterCombo } from 'scaler-ts'

const cluster = await SchedulerClusterCombo.start({ workers: 2 })
const client = await Client.connect(cluster.address)
for (;;) {
  const loop = client.submit(() => {
    for (;;);
  })
  await client.submit(() => delay(20))
  loop.cancel()
}

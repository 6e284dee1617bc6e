// Three ways to clean up: clear a client, disconnect it, or shut down the whole cluster. Run it:
// `npm run build && node build/examples/disconnect.js`.

import { Client, ClientClosedError, ProtectedModeError, SchedulerClusterCombo } from 'scaler-ts'

await using cluster = await SchedulerClusterCombo.start({ workers: 1 })
const client = await Client.connect(cluster.address)

// Cancels all unfinished tasks and deletes all objects. The client stays usable.
await client.clear()
console.log(await client.submit(Math.sqrt, 16)) // 4

// Clients can stop a cluster only if its scheduler is not protected. That of a combo is protected.
try {
  await client.shutdown()
} catch (error) {
  console.log(error instanceof ProtectedModeError) // true
}

// Closes this client. The scheduler and its workers keep running.
await client.disconnect()
try {
  await client.submit(Math.sqrt, 16)
} catch (error) {
  console.log(error instanceof ClientClosedError) // true
}

await using open = await SchedulerClusterCombo.start({ workers: 1, protected: false })
const last = await Client.connect(open.address)
await last.shutdown()
console.log('the second cluster has stopped') // the second cluster has stopped

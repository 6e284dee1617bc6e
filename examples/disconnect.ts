// How a client lets go: of what it owns, of the scheduler, or of the whole cluster. Run it:
// `npm run build && node build/examples/disconnect.js`.

import { Client, ClientClosedError, ProtectedModeError, SchedulerClusterCombo } from 'scaler-ts'

await using cluster = await SchedulerClusterCombo.start({ workers: 1 })
const client = await Client.connect(cluster.address)

// All unfinished tasks are cancelled, all objects deleted. The client can go on.
await client.clear()
console.log(await client.submit(Math.sqrt, 16)) // 4

// Clients may stop the cluster only where its scheduler is not protected. A combo's is.
try {
  await client.shutdown()
} catch (error) {
  console.log(error instanceof ProtectedModeError) // true
}

// The end of this client. The scheduler and its workers live on, for others.
await client.disconnect()
try {
  await client.submit(Math.sqrt, 16)
} catch (error) {
  console.log(error instanceof ClientClosedError) // true
}

await using open = await SchedulerClusterCombo.start({ workers: 1, protected: false })
const last = await Client.connect(open.address)
await last.shutdown()
console.log('the second cluster has ended') // the second cluster has ended

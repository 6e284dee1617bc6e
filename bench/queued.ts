// The memory that waiting tasks need: many tasks are submitted while there is no worker, then one
// comes, and all of them have to finish.

import { EventEmitter, once } from 'node:events'
import { Client } from 'scaler-ts'
import { decode } from '#src/wire/message.js'
import { SubSocket } from '#src/transport/sub.js'
import { inputs, type Benchmark } from './benchmark.js'
import { BenchCluster } from './cluster.js'
import { hasProcessCost, residentBytes } from './process-cost.js'

const TASKS = 100_000
const QUEUED_TIMEOUT_MS = 120_000
const noop = <T>(input: T): T => input

/** Bytes of the scheduler per waiting task. */
export const queuedTasks: Benchmark = {
  name: 'queued',
  run: async ({ payloadBytes }) => {
    const name = 'scheduler memory per queued task'
    if (!hasProcessCost) {
      return [{ name, unit: 'bytes', value: undefined, note: 'needs /proc (Linux)' }]
    }
    const cluster = await BenchCluster.start()
    try {
      const client = await Client.connect(cluster.address)
      try {
        const before = residentBytes(cluster.schedulerPid)
        // Not with map, which would not send so many ahead.
        const futures = Array.from(inputs(TASKS, payloadBytes), (input) =>
          client.submit(noop, input),
        )
        await untilQueued(cluster.monitorAddress, TASKS)
        const after = residentBytes(cluster.schedulerPid)
        await cluster.startWorkers(1)
        await Promise.all(futures)
        return [{ name, unit: 'bytes', value: (after - before) / TASKS }]
      } finally {
        await client.close()
      }
    } finally {
      await cluster.stop()
    }
  },
}

/** Resolves when the scheduler says that so many tasks wait. */
async function untilQueued(monitorAddress: string, tasks: number): Promise<void> {
  const events = new EventEmitter()
  const monitor = new SubSocket(monitorAddress, {
    onMessages: (messages) => {
      for (const frames of messages) {
        const message = decode(frames instanceof Uint8Array ? frames : Buffer.concat(frames))
        if (message.kind !== 'stateScheduler') continue
        if (message.taskManager.unassigned >= tasks) events.emit('queued')
      }
    },
    onConnect: () => {},
    onDisconnect: () => {},
    onConnectFailed: () => {},
  })
  monitor.subscribe(Buffer.alloc(0))
  try {
    await once(events, 'queued', { signal: AbortSignal.timeout(QUEUED_TIMEOUT_MS) })
  } finally {
    await monitor.close()
  }
}

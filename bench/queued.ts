// The memory that waiting tasks and waiting nodes of graphs need: many are submitted while there is
// no worker; then one starts, and all of them have to finish.

import { EventEmitter, once } from 'node:events'
import { Client } from 'scaler-ts'
import { decode, type Message } from '#src/wire/message.js'
import { SubSocket } from '#src/transport/sub.js'
import { inputs, type Benchmark, type Sample } from './benchmark.js'
import { BenchCluster } from './cluster.js'
import { random } from './graph.js'
import { hasProcessCost, residentBytes } from './process-cost.js'

const TASKS = 100_000
const NODES = 300_000
const QUEUED_TIMEOUT_MS = 120_000
/** After this many statuses, one per second, without another part, the graph is complete. */
const STEADY_STATUSES = 3
const noop = <T>(input: T): T => input

/** The status that the scheduler publishes. */
type Status = Extract<Message, { readonly kind: 'stateScheduler' }>

/** Bytes of the scheduler per waiting task, and per waiting node of a graph. */
export const queuedTasks: Benchmark = {
  name: 'queued',
  run: async ({ payloadBytes }) => [
    await memoryPerItem('scheduler memory per queued task', TASKS, (client) => {
      // Not with map, which would not send all of them in advance.
      const submit = (input: number | Uint8Array): Promise<unknown> => client.submit(noop, input)
      return {
        ended: Promise.all(Array.from(inputs(TASKS, payloadBytes), submit)),
        isThere: (status) => status.taskManager.unassigned >= TASKS,
      }
    }),
    await memoryPerItem('scheduler memory per waiting node', NODES, (client) => {
      const { graph, keys } = random(NODES)
      return { ended: client.get(graph, keys), isThere: newSteadiness() }
    }),
  ],
}

/** Submitted work: when it has finished, and whether the scheduler has received all of it. */
interface Work {
  readonly ended: PromiseLike<unknown>
  readonly isThere: (status: Status) => boolean
}

async function memoryPerItem(
  name: string,
  items: number,
  submit: (client: Client) => Work,
): Promise<Sample> {
  if (!hasProcessCost) {
    return { name, unit: 'bytes', value: undefined, note: 'needs /proc (Linux)' }
  }
  const cluster = await BenchCluster.start()
  try {
    const client = await Client.connect(cluster.address)
    try {
      const before = residentBytes(cluster.schedulerPid)
      const { ended, isThere } = submit(client)
      await untilStatus(cluster.monitorAddress, isThere)
      const after = residentBytes(cluster.schedulerPid)
      await cluster.startWorkers(1)
      await ended
      return { name, unit: 'bytes', value: (after - before) / items }
    } finally {
      await client.close()
    }
  } finally {
    await cluster.stop()
  }
}

/** Whether parts of graphs have arrived, but none recently. */
function newSteadiness(): (status: Status) => boolean {
  let last = 0
  let statuses = 0
  return ({ binder }) => {
    const parts = binder.received.find(({ client }) => client === 'GraphTask')?.number ?? 0
    statuses = parts === last ? statuses + 1 : 0
    last = parts
    return parts > 0 && statuses >= STEADY_STATUSES
  }
}

/** Resolves when a status of the scheduler matches. */
async function untilStatus(
  monitorAddress: string,
  isWanted: (status: Status) => boolean,
): Promise<void> {
  const events = new EventEmitter()
  const monitor = new SubSocket(monitorAddress, {
    onMessages: (messages) => {
      for (const frames of messages) {
        const message = decode(frames instanceof Uint8Array ? frames : Buffer.concat(frames))
        if (message.kind === 'stateScheduler' && isWanted(message)) events.emit('wanted')
      }
    },
    onConnect: () => {},
    onDisconnect: () => {},
    onConnectFailed: () => {},
  })
  monitor.subscribe(Buffer.alloc(0))
  try {
    await once(events, 'wanted', { signal: AbortSignal.timeout(QUEUED_TIMEOUT_MS) })
  } finally {
    await monitor.close()
  }
}

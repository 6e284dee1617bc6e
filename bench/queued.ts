// The memory that waiting tasks and waiting nodes of graphs need: many are submitted while there is
// no worker, then one comes, and all of them have to finish.

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
/** So many statuses, one a second, without another part of a graph: all of it has come. */
const STEADY_STATUSES = 3
const noop = <T>(input: T): T => input

/** What the scheduler publishes about itself. */
type Status = Extract<Message, { readonly kind: 'stateScheduler' }>

/** Bytes of the scheduler per waiting task, and per waiting node of a graph. */
export const queuedTasks: Benchmark = {
  name: 'queued',
  run: async ({ payloadBytes }) => [
    await memoryPerItem('scheduler memory per queued task', TASKS, (client) => {
      // Not with map, which would not send so many ahead.
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

/** What has been submitted: when it has ended, and whether the scheduler has all of it. */
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

/** Whether nothing but heartbeats has come for a while, after something has. */
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

/** Resolves when the scheduler's status is wanted. */
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

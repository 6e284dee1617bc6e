// The memory that waiting tasks and waiting nodes of graphs need, of scheduler and client: many are
// submitted while there is no worker; then one starts, and all of them have to finish. Tasks of one
// function wait in runs, tasks of two functions in turn wait alone.

import { EventEmitter, once } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Client } from 'scaler-ts'
import { decode, type Message } from '#src/wire/message.js'
import { SubSocket } from '#src/transport/sub.js'
import { inputs, type Benchmark, type Sample } from './benchmark.js'
import { BenchCluster } from './cluster.js'
import { random } from './graph.js'
import { hasProcessCost, residentBytes } from './process-cost.js'

const TASKS = 100_000
/** Submitted before, so that the memory of compiled code is not counted. */
const EARLIER = 2_000
const NODES = 300_000
const QUEUED_TIMEOUT_MS = 120_000
/** After this many statuses, one per second, without another part, the graph is complete. */
const STEADY_STATUSES = 3
const noop = <T>(input: T): T => input
const other = <T>(input: T): T => input

/** The status that the scheduler publishes. */
type Status = Extract<Message, { readonly kind: 'stateScheduler' }>

/** Bytes of scheduler and client per waiting task, and per waiting node of a graph. */
export const queuedTasks: Benchmark = {
  name: 'queued',
  run: async ({ payloadBytes }) => {
    const submitted = (fns: readonly (typeof noop)[]) => (client: Client, count: number) => {
      // Not with map, which would not send all of them in advance.
      const futures = Array.from(inputs(count, payloadBytes), (input, at) => {
        return client.submit(fns[at % fns.length] ?? noop, input)
      })
      return {
        ended: () => Promise.all(futures),
        isThere: (status: Status) => status.taskManager.unassigned >= count,
      }
    }
    return [
      ...(await memoryPerItem('queued task', TASKS, submitted([noop]))),
      ...(await memoryPerItem('queued task, alone', TASKS, submitted([noop, other]))),
      ...(await memoryPerItem('waiting node', NODES, (client, count) => {
        const { graph, keys } = random(count)
        const ended = client.get(graph, keys)
        return { ended: () => ended, isThere: newSteadiness() }
      })),
    ]
  },
}

/** Submitted work: when it has finished, and whether the scheduler has received all of it. */
interface Work {
  readonly ended: () => PromiseLike<unknown>
  readonly isThere: (status: Status) => boolean
}

async function memoryPerItem(
  what: string,
  items: number,
  submit: (client: Client, count: number) => Work,
): Promise<Sample[]> {
  const samples = (scheduler?: number, client?: number): Sample[] => {
    const note = scheduler === undefined ? { note: 'needs /proc (Linux)' } : {}
    return [
      { name: `scheduler memory per ${what}`, unit: 'bytes', value: scheduler, ...note },
      { name: `client memory per ${what}`, unit: 'bytes', value: client, ...note },
    ]
  }
  if (!hasProcessCost) return samples()
  const cluster = await BenchCluster.start()
  try {
    const client = await Client.connect(cluster.address)
    try {
      const earlier = submit(client, EARLIER)
      await untilStatus(cluster.monitorAddress, earlier.isThere)
      const before = residentBytes(cluster.schedulerPid)
      const ownBefore = ownBytes()
      const { ended, isThere } = submit(client, items)
      await untilStatus(cluster.monitorAddress, isThere)
      const after = residentBytes(cluster.schedulerPid)
      const ownAfter = ownBytes()
      await cluster.startWorkers(1)
      await Promise.all([earlier.ended(), ended()])
      return samples((after - before) / items, (ownAfter - ownBefore) / items)
    } finally {
      await client.close()
    }
  } finally {
    await cluster.stop()
  }
}

/** What this process keeps, without garbage. */
function ownBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
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

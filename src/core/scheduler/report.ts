// What a scheduler tells of itself to a client that asks: docs/protocol.md#report.

import type { InstantMs } from '../../base/machine.js'
import { identity, type Identity } from '../../base/ids.js'
import type {
  ClientHeartbeat,
  ClientReport,
  PeerInfo,
  RunningTask,
  WorkerReport,
} from '../../wire/message.js'
import type { ClientEntry, Runtime, WorkerEntry } from './entries.js'
import type { CoreReport } from './events.js'
import { workerStatus } from './publication.js'
import type { SchedulerState } from './state.js'
import { waitingCounts } from './waiting-counts.js'
import { titleOf } from './task-fields.js'

/** So many workers, and so many clients, are told of one by one. */
export const MAX_ROWS = 1_000

/** More than any peer of ours tells: what others tell must not make a report too long to send. */
const MOST = { characters: 256, capabilities: 64, running: 32 } as const

/** 32 bits. */
const MAX_MS = 2 ** 32 - 1

const NOBODY: Identity = identity('')

/** For a client that has asked. */
export function reportFor(
  state: SchedulerState,
  runtime: Runtime,
  { wantsPeers }: Pick<ClientHeartbeat, 'wantsPeers'>,
): CoreReport {
  const workers = [...state.workers.values()]
  const suitable = workers.filter((worker) => worker.runtime === runtime && !worker.isLeaving)
  const idle = suitable.filter((worker) => worker.assigned.size === 0)
  const clients = [...state.clients.values()].filter(({ isVisitor }) => !isVisitor)
  const rows = wantsPeers ? MAX_ROWS : 0
  return {
    workers: workers.length,
    suitable: suitable.length,
    idle: idle.length,
    clients: clients.length,
    workerReports: workerRows(state, workers.slice(0, rows)),
    clientReports: clientRows(clients.slice(0, rows)),
    waiting: wantsPeers ? waitingCounts(state) : [],
  }
}

/** What is told of workers. */
export function workerRows(
  state: SchedulerState,
  workers: readonly WorkerEntry[],
): readonly WorkerReport[] {
  return workers.map((worker) => workerReport(state, worker))
}

/** What is told of clients. */
export function clientRows(clients: readonly ClientEntry[]): readonly ClientReport[] {
  return clients.map(clientReport)
}

function workerReport(state: SchedulerState, worker: WorkerEntry): WorkerReport {
  const { heartbeat, info, isLeaving } = worker
  const { runtime, agentId, capabilities } = heartbeat
  return {
    worker: workerStatus(state, worker, state.now),
    runtime: clipped(runtime),
    agentId: clipped(agentId),
    capabilities: capabilities.slice(0, MOST.capabilities).map(({ name, value }) => {
      return { name: clipped(name), value }
    }),
    isLeaving,
    info: info === undefined ? [] : [info],
    running: runningOf(state, worker, state.now),
  }
}

/** Of what it has said last, what it has not answered since. */
function runningOf(
  state: SchedulerState,
  worker: WorkerEntry,
  now: InstantMs,
): readonly RunningTask[] {
  const sinceMs = Math.floor(now - worker.lastHeartbeat)
  return worker.heartbeat.running.slice(0, MOST.running).flatMap(({ taskId, forMS }) => {
    const task = state.tasks.get(taskId)
    if (task?.worker !== worker) return []
    const name = clipped(titleOf(task.extra?.name ?? '', task.function))
    return [{ taskId, forMS: Math.min(forMS + sinceMs, MAX_MS), name }]
  })
}

function clientReport({ identity: client, ...entry }: ClientEntry): ClientReport {
  return {
    client,
    runtime: clipped(entry.runtimeText),
    info: entry.info === undefined ? [] : [entry.info],
    tasks: entry.tasks.size + entry.graphs.size,
    worker: entry.host?.identity ?? NOBODY,
  }
}

/** What is kept of what a peer tells of itself; undefined: it tells nothing. */
export function keptInfo([info]: readonly PeerInfo[]): PeerInfo | undefined {
  if (info === undefined) return undefined
  const { name, host, machineId, version, allocation } = info
  return {
    ...info,
    name: clipped(name),
    host: clipped(host),
    machineId: clipped(machineId),
    version: clipped(version),
    allocation: clipped(allocation),
  }
}

function clipped(text: string): string {
  return text.slice(0, MOST.characters)
}

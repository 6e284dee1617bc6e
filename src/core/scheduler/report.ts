// What a scheduler tells of itself to a client that asks: docs/protocol.md#report.

import type { InstantMs } from '../../base/machine.js'
import { identity, type Identity } from '../../base/ids.js'
import type {
  ClientHeartbeat,
  ClientReport,
  RunningTask,
  WorkerReport,
} from '../../wire/message.js'
import type { ClientEntry, Runtime, WorkerEntry } from './entries.js'
import type { CoreReport } from './events.js'
import { workerStatus } from './publication.js'
import type { SchedulerState } from './state.js'
import { titleOf } from './task-fields.js'

/** So many workers, and so many clients, are told of one by one. */
const MAX_ROWS = 1_000

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
    workerReports: workers.slice(0, rows).map((worker) => workerReport(state, worker)),
    clientReports: clients.slice(0, rows).map(clientReport),
  }
}

function workerReport(state: SchedulerState, worker: WorkerEntry): WorkerReport {
  const { heartbeat, info, isLeaving } = worker
  const { runtime, agentId, capabilities } = heartbeat
  return {
    worker: workerStatus(state, worker, state.now),
    runtime,
    agentId,
    capabilities,
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
  return worker.heartbeat.running.flatMap(({ taskId, forMS }) => {
    const task = state.tasks.get(taskId)
    if (task?.worker !== worker) return []
    const name = titleOf(task.extra?.name ?? '', task.function)
    return [{ taskId, forMS: Math.min(forMS + sinceMs, MAX_MS), name }]
  })
}

function clientReport({ identity: client, ...entry }: ClientEntry): ClientReport {
  return {
    client,
    runtime: entry.runtimeText,
    info: entry.info === undefined ? [] : [entry.info],
    tasks: entry.tasks.size + entry.graphs.size,
    worker: entry.host?.identity ?? NOBODY,
  }
}

// The workers and clients that a scheduler knows, host by host, and why tasks wait there: for
// people and as JSON.

import { idToHex } from '../../base/ids.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type { ClientReport, PeerInfo, SchedulerReport, WorkerReport } from '../../wire/message.js'
import { waitingReasonOf } from '../../wire/wait-reason.js'

/** A machine that has workers. */
export interface FoundHost {
  /** Its name; '' of workers that do not say where they are, as those of 1.9.9. */
  readonly host: string
  /** '' where it is not known. */
  readonly machineId: string
  readonly workers: readonly FoundWorker[]
}

/** A worker. Times are in milliseconds, those of day as ISO 8601. */
export interface FoundWorker {
  readonly id: string
  readonly name: string
  /** 0 where it is not known. */
  readonly pid: number
  /** Of this package; '' of a 1.9.9 one. */
  readonly version: string
  /** `node/20.20.2`, or `python`. */
  readonly runtime: string
  readonly agentId: string
  /** How many it has of each, together with the others of its agent; -1: any number. */
  readonly capabilities: Readonly<Record<string, number>>
  readonly isLeaving: boolean
  readonly startedAt: string | undefined
  /** When whatever has started it ends it. */
  readonly endsAt: string | undefined
  readonly allocation: string
  /** Unfinished tasks that it has. */
  readonly tasks: number
  /** Of them those that have run for a while. */
  readonly running: readonly FoundTask[]
}

/** A task that runs. */
export interface FoundTask {
  readonly task: string
  readonly name: string
  readonly forMs: number
}

/** A client. */
export interface FoundClient {
  readonly id: string
  /** '' of a client inside of a task, and of a 1.9.9 one. */
  readonly name: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly runtime: string
  readonly startedAt: string | undefined
  /** Unfinished tasks and graphs. */
  readonly tasks: number
  /** The worker inside of whose tasks it lives; '' of none. */
  readonly worker: string
}

/** Tasks of one function that wait for the same reason. */
export interface FoundWaiting {
  readonly reason: WaitingReason
  /** What they ask for: `gpu=1`; '' nothing. */
  readonly needs: string
  /** The name of their function; '' where it has none. */
  readonly function: string
  readonly tasks: number
  /** For how long the first of them has waited, about; 0 where that is not measured. */
  readonly forMs: number
}

/** Hosts by name, each with its workers in the order in which they came. */
export function foundHosts({ workerReports }: SchedulerReport): readonly FoundHost[] {
  const hosts = new Map<string, { host: string; machineId: string; workers: FoundWorker[] }>()
  for (const report of workerReports) {
    const { host = '', machineId = '' } = report.info[0] ?? {}
    const key = JSON.stringify([host, machineId])
    let found = hosts.get(key)
    if (found === undefined) hosts.set(key, (found = { host, machineId, workers: [] }))
    found.workers.push(foundWorker(report))
  }
  return [...hosts.values()].sort((a, b) => (a.host < b.host ? -1 : a.host > b.host ? 1 : 0))
}

/** Clients in the order in which they came. */
export function foundClients({ clientReports }: SchedulerReport): readonly FoundClient[] {
  return clientReports.map(foundClient)
}

/** Why tasks wait; the most first. */
export function foundWaiting({ waiting }: SchedulerReport): readonly FoundWaiting[] {
  return waiting.map(({ reason, forMS: forMs, ...same }) => {
    return { ...same, reason: waitingReasonOf(reason), forMs }
  })
}

function foundWorker(report: WorkerReport): FoundWorker {
  const { worker, agentId, isLeaving, runtime, info } = report
  const [about] = info
  return {
    id: worker.workerId,
    name: about?.name ?? '',
    pid: about?.pid ?? 0,
    version: about?.version ?? '',
    runtime: runtime === '' ? 'python' : runtime,
    agentId,
    capabilities: Object.fromEntries(report.capabilities.map(({ name, value }) => [name, value])),
    isLeaving,
    ...timesOf(about),
    allocation: about?.allocation ?? '',
    tasks: worker.sent,
    running: report.running.map(({ taskId, name, forMS }) => {
      return { task: idToHex(taskId), name, forMs: forMS }
    }),
  }
}

function foundClient({ client, runtime, info, tasks, worker }: ClientReport): FoundClient {
  const [about] = info
  return {
    id: client,
    name: about?.name ?? '',
    host: about?.host ?? '',
    pid: about?.pid ?? 0,
    version: about?.version ?? '',
    runtime: runtime === '' ? 'python' : runtime,
    startedAt: timesOf(about).startedAt,
    tasks,
    worker,
  }
}

function timesOf(info: PeerInfo | undefined): {
  readonly startedAt: string | undefined
  readonly endsAt: string | undefined
} {
  return { startedAt: timeOf(info?.startedMS ?? 0), endsAt: timeOf(info?.endsMS ?? 0) }
}

/** What another process says may be anything. */
function timeOf(ms: number): string | undefined {
  const date = new Date(ms)
  return ms === 0 || Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

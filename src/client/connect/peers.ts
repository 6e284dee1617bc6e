// The workers (by host) and clients that a scheduler reports, and why tasks wait, in the form that
// `scaler doctor` prints.

import { idToHex } from '../../base/ids.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type { ClientReport, PeerInfo, SchedulerReport, WorkerReport } from '../../wire/message.js'
import { waitingReasonOf } from '../../wire/wait-reason.js'
import { pythonNameIn } from '../monitor/worker-report.js'

/** A host with workers. */
export interface FoundHost {
  /** Its name; for workers of 1.9.9 their name, by default that of the host; '' if unknown. */
  readonly host: string
  /** '' if unknown. */
  readonly machineId: string
  readonly workers: readonly FoundWorker[]
}

/** A worker. Durations are in milliseconds, points in time in ISO 8601. */
export interface FoundWorker {
  readonly id: string
  readonly name: string
  /** 0 if unknown. */
  readonly pid: number
  /** Of this package; '' for a 1.9.9 worker. */
  readonly version: string
  /** `node/20.20.2`, or `python`. */
  readonly runtime: string
  readonly agentId: string
  /** The units of each, shared with the other workers of its agent; -1: any number. */
  readonly capabilities: Readonly<Record<string, number>>
  readonly isLeaving: boolean
  readonly startedAt: string | undefined
  /** When its allocation ends. */
  readonly endsAt: string | undefined
  readonly allocation: string
  /** Its unfinished tasks. */
  readonly tasks: number
  /** Those of them that have run for a while. */
  readonly running: readonly FoundTask[]
}

/** A running task. */
interface FoundTask {
  readonly task: string
  readonly name: string
  readonly forMs: number
}

/** A client. */
export interface FoundClient {
  readonly id: string
  /** '' for a nested client, and for a 1.9.9 client. */
  readonly name: string
  readonly host: string
  readonly pid: number
  readonly version: string
  readonly runtime: string
  readonly startedAt: string | undefined
  /** Unfinished tasks and graphs. */
  readonly tasks: number
  /** For a nested client, the worker of its task; else ''. */
  readonly worker: string
}

/** Tasks of one function that wait for the same reason. */
export interface FoundWaiting {
  readonly reason: WaitingReason
  /** The capabilities that they require: `gpu=1`; '' if none. */
  readonly needs: string
  /** The name of their function, or ''. */
  readonly function: string
  /** Absent: they need a worker of Node. */
  readonly runtime?: 'python'
  readonly tasks: number
  /** How long the first of them has waited, approximately; 0 if unknown. */
  readonly forMs: number
}

/** Hosts by name, each with its workers in order of arrival. */
export function foundHosts({ workerReports }: SchedulerReport): readonly FoundHost[] {
  const hosts = new Map<string, { host: string; machineId: string; workers: FoundWorker[] }>()
  for (const report of workerReports) {
    const { host = pythonNameIn(report.worker.workerId), machineId = '' } = report.info[0] ?? {}
    const key = JSON.stringify([host, machineId])
    let found = hosts.get(key)
    if (found === undefined) hosts.set(key, (found = { host, machineId, workers: [] }))
    found.workers.push(foundWorker(report))
  }
  return [...hosts.values()].sort((a, b) => (a.host < b.host ? -1 : a.host > b.host ? 1 : 0))
}

/** Clients in order of arrival. */
export function foundClients({ clientReports }: SchedulerReport): readonly FoundClient[] {
  return clientReports.map(foundClient)
}

/** Why tasks wait, in order of their number. */
export function foundWaiting({ waiting }: SchedulerReport): readonly FoundWaiting[] {
  return waiting.map(({ reason, needs, function: name, tasks, forMS: forMs, isPython }) => ({
    reason: waitingReasonOf(reason),
    needs,
    function: name,
    ...(isPython ? { runtime: 'python' } : {}),
    tasks,
    forMs,
  }))
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

/** Undefined for 0, and for a number that is not a time: another process may send anything. */
function timeOf(ms: number): string | undefined {
  const date = new Date(ms)
  return ms === 0 || Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

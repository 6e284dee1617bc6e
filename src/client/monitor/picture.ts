// What a monitor knows: puts the reports of a scheduler together, and says in users' words what
// has changed. docs/protocol.md#monitors

import { idToHex } from '../../base/ids.js'
import type {
  AllocatorStatus,
  BinderStatus,
  ClientReport,
  FunctionReport,
  LostWorker as SentLoss,
  MonitorReport,
  MonitorState,
  PeerChange,
  SchedulerReport,
  TaskEvent,
  TaskFailure,
  TaskStatus,
  WaitingCount,
  WorkerReport,
} from '../../wire/message.js'
import { waitingReasonOf } from '../../wire/wait-reason.js'
import { attemptsFrom } from '../explanation.js'
import type {
  AllocatorInfo,
  ConnectedClient,
  ClusterEvent,
  ClusterInfo,
  FailureInfo,
  ObjectTotals,
  FunctionInfo,
  HostInfo,
  LostWorker,
  MessageTotals,
  TaskCounts,
  TaskEnd,
  TaskEnded,
  WaitingInfo,
  WorkerInfo,
} from './cluster-info.js'
import { type GraphInfo, GraphInfos } from './graph-info.js'
import { Rows } from './rows.js'
import { pythonNameIn, workerStateOf } from './worker-report.js'

/** As many failures as a scheduler keeps. */
const MAX_FAILURES = 1_000

/** What one scheduler has reported so far. Times are milliseconds since 1970, by this machine. */
export class ClusterPicture {
  readonly #address: string | undefined
  readonly #published: string | undefined
  readonly #workers = new Rows<WorkerReport, WorkerInfo>(workerInfo)
  readonly #clients = new Rows<ClientReport, ConnectedClient>(clientInfo)
  readonly #failures: FailureInfo[] = []
  readonly #graphs = new GraphInfos()
  #report: SchedulerReport | undefined
  #state: MonitorState | undefined

  /**
   * `address`: where clients connect, as its user knows it. `published`: the reports are made from
   * what a scheduler of Python Scaler publishes there, which tells less.
   */
  constructor(address: string | undefined, published?: string) {
    this.#address = address
    this.#published = published
  }

  /** The scheduler was replaced by another one, which has already said what it is. */
  ofNextScheduler(): ClusterPicture {
    const next = new ClusterPicture(this.#address, this.#published)
    next.#report = this.#report
    return next
  }

  /** Whether there is a report about everything: all workers and clients have been listed. */
  get isComplete(): boolean {
    return this.#state !== undefined && this.#workers.isComplete && this.#clients.isComplete
  }

  /** Those that have not ended, and the last ones that have; for a monitor that requests them. */
  get graphs(): readonly GraphInfo[] {
    return this.#graphs.all
  }

  /** How many graphs have not ended. */
  get graphCount(): number {
    return this.#state?.graphCount ?? 0
  }

  /** The scheduler has said what it is. */
  onEcho(report: SchedulerReport): void {
    this.#report = report
  }

  /** Adds a report, and passes on what has happened since the last one. */
  onReport(report: MonitorReport, time: number, emit: (event: ClusterEvent) => void): void {
    for (const failure of report.failures) {
      this.#failures.push(failureInfo(failure, time))
      if (this.#failures.length > MAX_FAILURES) this.#failures.shift()
    }
    if (report.lostEvents > 0) emit({ type: 'lost', count: report.lostEvents })
    let told = 0
    for (const change of report.peers) {
      for (const event of report.events.slice(told, change.after)) emit(taskEnded(event, time))
      told = Math.max(told, change.after)
      this.#onPeer(change, emit)
    }
    for (const event of report.events.slice(told)) emit(taskEnded(event, time))
    for (const state of report.states) this.#onState(state, report.hasAllPeers, time, emit)
  }

  /** Everything that is known. Call it only once there is a state. */
  info(time: number): ClusterInfo | undefined {
    const state = this.#state
    if (state === undefined) return undefined
    const report = this.#report
    const info = {
      time: new Date(time),
      scheduler: {
        address: this.#address,
        monitorAddress: report?.monitorAddress,
        version: report?.version,
        uptimeS: round(state.uptimeMS / 1_000, 1),
        cpu: percent(state.scheduler.cpu),
        rssBytes: state.scheduler.rss,
        turnP99Ms: round(state.turnP99MS, 2),
        freeBytes: state.rssFree,
        messages: messageTotals(state.binder),
      },
      tasks: taskCounts(state),
      rates: {
        submitted: round(state.submittedPerS, 1),
        ended: round(state.endedPerS, 1),
        failed: round(state.failedPerS, 1),
      },
      waiting: state.waitingCounts.map(waitingInfo),
      hosts: hostsOf(this.#workers.reports),
      lost: {
        count: state.lost,
        workers: state.lostWorkers.map((loss) => lostWorker(loss, time)),
      },
      clients: this.#clients.infos,
      functions: state.functions.map(functionInfo),
      failures: [...this.#failures],
      objects: objectTotals(state),
      allocators: state.allocators.map(allocatorInfo),
      storageServers: state.storageServers.map(({ objectBytes: bytes, ...server }) => {
        return { ...server, bytes }
      }),
    }
    return this.#published === undefined ? info : withoutUnknown(info, this.#published)
  }

  #onPeer({ hasLeft, worker, client }: PeerChange, emit: (event: ClusterEvent) => void): void {
    const change = hasLeft ? 'left' : 'joined'
    // It may have left before it was listed.
    const isUnlisted = hasLeft && !this.isComplete
    for (const report of worker) {
      const isNew = this.#workers.note(report.worker.workerId, report, hasLeft)
      if (isNew || isUnlisted) emit({ type: 'worker', change, worker: workerInfo(report) })
    }
    for (const report of client) {
      const isNew = this.#clients.note(report.client, report, hasLeft)
      if (isNew || isUnlisted) emit({ type: 'client', change, client: clientInfo(report) })
    }
  }

  /** `hasChanges`: changes say who comes and goes; otherwise states are compared. */
  #onState(
    state: MonitorState,
    hasChanges: boolean,
    time: number,
    emit: (event: ClusterEvent) => void,
  ): void {
    const wasComplete = this.isComplete
    this.#state = state
    this.#graphs.update(state.graphs, time)
    const { workerReports, clientReports } = state
    const workers = this.#workers.update(
      workerReports.map((report) => [report.worker.workerId, report]),
      { first: state.firstWorker, total: state.workers },
      hasChanges,
    )
    const clients = this.#clients.update(
      clientReports.map((report) => [report.client, report]),
      { first: state.firstClient, total: state.clients },
      hasChanges,
    )
    // Those that are there at the beginning have not joined now.
    if (wasComplete) {
      for (const worker of workers.joined) emit({ type: 'worker', change: 'joined', worker })
      for (const client of clients.joined) emit({ type: 'client', change: 'joined', client })
    }
    for (const worker of workers.left) emit({ type: 'worker', change: 'left', worker })
    for (const client of clients.left) emit({ type: 'client', change: 'left', client })
    const info = this.isComplete ? this.info(time) : undefined
    if (info !== undefined) emit({ type: 'sample', info })
  }
}

/** What is never published is not known. */
function withoutUnknown(info: ClusterInfo, monitorAddress: string): ClusterInfo {
  const { scheduler, clients, rates } = info
  const unknown = { version: undefined, uptimeS: undefined, turnP99Ms: undefined }
  return {
    ...info,
    scheduler: { ...scheduler, ...unknown, monitorAddress },
    // Before the second report.
    rates: rates === undefined || Number.isNaN(rates.ended) ? undefined : rates,
    lost: undefined,
    allocators: undefined,
    storageServers: undefined,
    clients: clients.map((client) => ({ ...client, bytes: undefined })),
    objects: { ...UNKNOWN_OBJECTS, count: info.objects.count },
  }
}

function waitingInfo({ reason, needs, isPython, tasks, forMS, ...row }: WaitingCount): WaitingInfo {
  return {
    reason: waitingReasonOf(reason),
    requirement: needs,
    function: row.function,
    ...(isPython ? { runtime: 'python' } : {}),
    count: tasks,
    seconds: round(forMS / 1_000, 1),
  }
}

function allocatorInfo({
  offers,
  isPaused,
  decision,
  why,
  ...status
}: AllocatorStatus): AllocatorInfo {
  return {
    ...status,
    runtime: status.runtime === 'python' ? 'python' : 'javascript',
    offers: Object.fromEntries(offers.map(({ name, value }) => [name, value])),
    paused: isPaused,
    reason: why,
    action: decision === 'backOff' ? 'back-off' : decision,
  }
}

/** A scheduler that counts has received something: older ones send nothing here. */
function messageTotals({ sent, received }: BinderStatus): MessageTotals | undefined {
  if (received.length === 0) return undefined
  const totals = (pairs: typeof sent): Readonly<Record<string, number>> => {
    return Object.fromEntries(pairs.map(({ client: name, number }) => [name, number]))
  }
  return { sent: totals(sent), received: totals(received) }
}

function taskCounts({ waiting, running, ended }: MonitorState): TaskCounts {
  const counts = new Map<TaskStatus, number>(ended.map(({ status, tasks }) => [status, tasks]))
  const of = (...statuses: readonly TaskStatus[]): number => {
    return statuses.reduce((sum, status) => sum + (counts.get(status) ?? 0), 0)
  }
  return {
    waiting,
    running,
    success: of('success'),
    failed: of('failed', 'workerDied'),
    canceled: of('canceled'),
    notFound: of('notFound'),
  }
}

/**
 * Workers on one machine have the same machine id; containers on it have host names of their own.
 * Workers of Python Scaler do not tell their host, but their name, by default that of the host, is
 * in their identity: they belong to the machine of this host name, if there is only one.
 */
function hostsOf(reports: readonly WorkerReport[]): readonly HostInfo[] {
  const hosts = new Map<string, WorkerReport[]>()
  const machines = new Map<string, string>()
  for (const { machineId, host } of reports.flatMap(({ info }) => info)) {
    machines.set(host, (machines.get(host) ?? machineId) === machineId ? machineId : '')
  }
  for (const report of reports) {
    const [info] = report.info
    const host = info?.host ?? pythonNameIn(report.worker.workerId)
    const machineId = info?.machineId ?? machines.get(host) ?? ''
    const key = `${machineId} ${host}`
    const known = hosts.get(key)
    if (known === undefined) hosts.set(key, [report])
    else known.push(report)
  }
  return [...hosts.values()].map(hostInfo)
}

function hostInfo(reports: readonly WorkerReport[]): HostInfo {
  const agents = new Map(reports.map((report) => [agentKey(report), report.worker.agent.cpu]))
  const processors = reports.flatMap(({ worker }) => worker.processorStatuses)
  const cpus = [...agents.values(), ...processors.map(({ resource }) => resource.cpu)]
  return {
    host:
      reports[0]?.info[0]?.host ??
      reports
        .slice(0, 1)
        .map(({ worker }) => pythonNameIn(worker.workerId))
        .join(''),
    address: reports.find(({ address }) => address !== '')?.address,
    cpu: percent(cpus.reduce((sum, cpu) => sum + cpu, 0)),
    freeBytes: reports.at(-1)?.worker.rssFree ?? 0,
    workers: reports.map(workerInfo),
  }
}

function lostWorker({ worker, tasks, agoMS, ...loss }: SentLoss, time: number): LostWorker {
  const { name, host, cause, hasReturned, taskCount } = loss
  return {
    time: new Date(time - agoMS),
    id: worker,
    name,
    host: host || pythonNameIn(worker),
    cause,
    hasReturned,
    tasks: tasks.map(({ taskId, name: title }) => ({ task: idToHex(taskId), name: title })),
    taskCount,
  }
}

/** The workers of one agent all report its process. */
function agentKey({ agentId, worker }: WorkerReport): string {
  return agentId === '' ? worker.workerId : agentId
}

function workerInfo(report: WorkerReport): WorkerInfo {
  const { worker, capabilities, running } = report
  const [info] = report.info
  const resources = worker.processorStatuses.map(({ resource }) => resource)
  return {
    id: worker.workerId,
    name: info?.name ?? '',
    state: workerStateOf(report),
    capabilities: Object.fromEntries(capabilities.map(({ name, value }) => [name, value])),
    running: running.map(({ taskId, forMS, ...task }) => {
      return { task: idToHex(taskId), name: task.name, function: task.function, sinceMs: forMS }
    }),
    queued: Math.max(0, worker.sent - running.length),
    cpu: percent(resources.reduce((sum, { cpu }) => sum + cpu, 0)),
    rssBytes: resources.reduce((sum, { rss }) => sum + rss, 0),
    lagMs: round(worker.lagUS / 1_000, 2),
    agentCpu: percent(worker.agent.cpu),
    agentRssBytes: worker.agent.rss,
    freeBytes: worker.rssFree,
    free: worker.free,
    sent: worker.sent,
    suspended: worker.suspended,
    itl: worker.itl,
    silentS: worker.lastS,
    version: info?.version,
    ...((info?.allocation ?? '') === '' ? {} : { allocation: info?.allocation }),
    endsAt: info === undefined || info.endsMS === 0 ? undefined : new Date(info.endsMS),
  }
}

function clientInfo({ client, info: [info], ...report }: ClientReport): ConnectedClient {
  const { tasks, objectBytes, worker } = report
  return {
    id: client,
    name: info?.name ?? '',
    host: info?.host ?? '',
    unfinished: tasks,
    bytes: objectBytes,
    worker: worker === '' ? undefined : worker,
  }
}

function functionInfo(report: FunctionReport): FunctionInfo {
  const { name, ended, failed, measured, peakBytes } = report
  const known = (ms: number): number | undefined => (measured === 0 ? undefined : round(ms, 3))
  return {
    name,
    count: ended,
    failed,
    meanMs: known(report.totalMS / measured),
    p50Ms: known(report.p50MS),
    p90Ms: known(report.p90MS),
    p99Ms: known(report.p99MS),
    maxMs: known(report.longestMS),
    peakBytes: peakBytes === 0 ? undefined : peakBytes,
  }
}

function failureInfo(failure: TaskFailure, time: number): FailureInfo {
  const [error] = failure.error
  return {
    time: new Date(time - failure.agoMS),
    task: idToHex(failure.taskId),
    name: failure.name || failure.function,
    function: failure.function,
    client: failure.client === '' ? undefined : failure.client,
    worker: failure.worker === '' ? undefined : failure.worker,
    errorName: error?.name ?? (failure.status === 'workerDied' ? 'WorkerDiedError' : ''),
    message: error?.message ?? '',
    stack: error?.stack ?? '',
    attempts: failure.attempts,
  }
}

function taskEnded(event: TaskEvent, time: number): TaskEnded {
  const { queuedAgoMS, startAgoMS, endAgoMS, durationMS } = event
  const waitedUntil = startAgoMS === 0 ? endAgoMS : startAgoMS
  return {
    type: 'task',
    time: new Date(time - endAgoMS),
    task: idToHex(event.taskId),
    name: event.name || event.function,
    function: event.function,
    client: event.client === '' ? undefined : event.client,
    worker: event.worker === '' ? undefined : event.worker,
    status: event.status as TaskEnd,
    queuedMs: queuedAgoMS === 0 ? undefined : round(Math.max(0, queuedAgoMS - waitedUntil), 3),
    durationMs: durationMS === 0 ? undefined : round(durationMS, 3),
    errorName: event.errorName,
    attempts: event.attempts,
    past: attemptsFrom(event.past, time),
  }
}

/** Messages count a thousandth of a core. */
function percent(cpu: number): number {
  return round(cpu / 10, 1)
}

function round(value: number, digits: number): number {
  const factor = 10 ** digits
  return Math.round(value * factor) / factor
}

const UNKNOWN_OBJECTS: Omit<ObjectTotals, 'count'> = {
  bytes: undefined,
  serverBytes: undefined,
  limitBytes: undefined,
  diskBytes: undefined,
  refused: undefined,
  diskError: undefined,
}

/** A scheduler without limits says nothing about them. */
function objectTotals(state: MonitorState): ObjectTotals {
  const { objects: count, objectBytes, objectLimitBytes: limitBytes } = state
  const serverBytes = state.storageServers.reduce((sum, server) => sum + server.objectBytes, 0)
  const stored = { count, bytes: objectBytes + serverBytes, serverBytes }
  if (limitBytes === 0) return { ...UNKNOWN_OBJECTS, ...stored }
  const { objectDiskBytes: diskBytes, objectsRefused: refused, diskError } = state
  return { ...stored, limitBytes, diskBytes, refused, diskError }
}

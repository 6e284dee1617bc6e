// What a scheduler of Python Scaler tells: it publishes its state once a second and each change of
// a task. This turns both into the reports that our own schedulers send. docs/protocol.md#monitor

import { asBuffer } from '../../base/bytes.js'
import { type Identity, identity, type TaskId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type {
  Message,
  MonitorReport,
  MonitorState,
  RunningTask,
  StateScheduler,
  StateTask,
  TaskEvent,
  TaskStatus,
  WorkerReport,
} from '../../wire/message.js'
import { durationMsOf, peakBytesOf } from '../../wire/metadata.js'
import { countTask, emptyTally, functionReports, type FunctionTally } from '../function-tally.js'

/** The most tasks that are remembered until they end; messages about their ends may be lost. */
const MAX_TASKS = 100_000

/** The most events that wait for the next report. */
const MAX_EVENTS = 10_000

/** The most functions that are counted, and reported. */
const MAX_FUNCTIONS = { counted: 1_000, reported: 200 } as const

/** Statuses of a task that has not ended. */
const STEPS: ReadonlySet<TaskStatus> = new Set(['inactive', 'running', 'canceling'] as const)

/** A task that was published and has not ended. */
interface OpenTask {
  readonly queuedAt: InstantMs
  readonly name: string
  worker: Identity
  sentAt: InstantMs
  attempts: number
}

/** A task that has ended since the last report. */
interface EndedTask {
  readonly event: TaskEvent
  readonly queuedAt: InstantMs
  readonly startAt: InstantMs
  readonly endAt: InstantMs
}

const NOTHING: OpenTask = { queuedAt: 0, name: '', worker: identity(''), sentAt: 0, attempts: 0 }

/** Follows what is published at one address. */
export class PublishedState {
  readonly #tasks = new Map<TaskId, OpenTask>()
  readonly #functions = new Map<string, FunctionTally>()
  #ended: EndedTask[] = []
  #lostEvents = 0
  #last: { readonly at: InstantMs; readonly state: StateScheduler } | undefined

  /** Returns a report for each state of the scheduler, with all tasks that have ended before. */
  handle(message: Message, now: InstantMs): MonitorReport | undefined {
    if (message.kind === 'stateTask') this.#onTask(message, now)
    return message.kind === 'stateScheduler' ? this.#report(message, now) : undefined
  }

  #onTask(message: StateTask, now: InstantMs): void {
    const { taskId, status, worker } = message
    if (!STEPS.has(status)) return this.#onEnd(message, now)
    if (status === 'canceling') return
    const task = this.#tasks.get(taskId) ?? this.#add(message, now)
    task.worker = worker
    if (status !== 'running') return
    task.sentAt = now
    task.attempts += 1
  }

  #add({ taskId, functionName }: StateTask, now: InstantMs): OpenTask {
    const task = { ...NOTHING, queuedAt: now, name: textOf(functionName) }
    this.#tasks.set(taskId, task)
    const [oldest] = this.#tasks.keys()
    if (this.#tasks.size > MAX_TASKS && oldest !== undefined) this.#tasks.delete(oldest)
    return task
  }

  #onEnd({ taskId, status, metadata, functionName }: StateTask, now: InstantMs): void {
    const task = this.#tasks.get(taskId) ?? NOTHING
    this.#tasks.delete(taskId)
    const name = textOf(functionName)
    const durationMs = durationMsOf(metadata)
    this.#count(name, status, durationMs, peakBytesOf(metadata))
    if (this.#ended.length >= MAX_EVENTS) {
      this.#lostEvents += 1
      return
    }
    const event = {
      taskId,
      name: '',
      function: name,
      client: NOTHING.worker,
      worker: task.worker,
      status,
      queuedAgoMS: 0,
      startAgoMS: 0,
      endAgoMS: 0,
      durationMS: durationMs ?? 0,
      errorName: '',
      attempts: task.attempts,
      past: [],
    }
    this.#ended.push({ event, queuedAt: task.queuedAt, startAt: task.sentAt, endAt: now })
  }

  #count(
    name: string,
    status: TaskStatus,
    durationMs: number | undefined,
    peakBytes: number,
  ): void {
    let tally = this.#functions.get(name)
    if (tally === undefined && this.#functions.size < MAX_FUNCTIONS.counted) {
      tally = emptyTally(name)
      this.#functions.set(name, tally)
    }
    const cost = durationMs === undefined ? undefined : { durationMs, peakBytes }
    if (tally !== undefined) countTask(tally, status, cost)
  }

  #report(state: StateScheduler, now: InstantMs): MonitorReport {
    const events = this.#ended.map(({ event, queuedAt, startAt, endAt }) => {
      const ago = (at: InstantMs): number => (at === 0 ? 0 : now - at)
      const startAgoMS = ago(startAt)
      return { ...event, queuedAgoMS: ago(queuedAt), startAgoMS, endAgoMS: now - endAt }
    })
    const lostEvents = this.#lostEvents
    this.#ended = []
    this.#lostEvents = 0
    const states = [this.#monitorState(state, now)]
    this.#last = { at: now, state }
    const none = { failures: [], lostFailures: 0, peers: [], hasAllPeers: false }
    return { kind: 'monitorReport', states, events, lostEvents, ...none }
  }

  #monitorState(state: StateScheduler, now: InstantMs): MonitorState {
    const { taskManager, workerManager, clientManager } = state
    const running = this.#running(now)
    const workerReports = workerManager.workers.map((worker): WorkerReport => {
      const unknown = { runtime: '', agentId: '', capabilities: [], isLeaving: false, address: '' }
      const busy = worker.itl[1] === '1' ? running.get(worker.workerId) : undefined
      return { worker, ...unknown, info: [], running: busy === undefined ? [] : [busy] }
    })
    const clientReports = clientManager.clientToNumOfTask.map(({ client, numTask }) => {
      const unknown = { runtime: '', info: [], worker: NOTHING.worker, objectBytes: 0 }
      return { client, tasks: numTask, ...unknown }
    })
    return {
      scheduler: state.scheduler,
      rssFree: state.rssFree,
      waiting: taskManager.unassigned,
      running: taskManager.running,
      ended: (['success', 'failed', 'canceled', 'notFound'] as const).map((status) => {
        return { status, tasks: taskManager[status] }
      }),
      workers: workerReports.length,
      firstWorker: 0,
      workerReports,
      clients: clientReports.length,
      firstClient: 0,
      clientReports,
      functions: functionReports(this.#functions.values(), MAX_FUNCTIONS.reported),
      waitingCounts: [],
      objects: state.objectManager.numberOfObjects,
      objectBytes: 0,
      objectLimitBytes: 0,
      objectDiskBytes: 0,
      objectsRefused: 0,
      diskError: '',
      uptimeMS: 0,
      ...this.#rates(state, now),
      turnP99MS: 0,
      binder: state.binder,
      lost: 0,
      lostWorkers: [],
      graphCount: 0,
      graphs: [],
      allocators: [],
      storageServers: [],
    }
  }

  /** The oldest task of each worker: it runs its tasks in order. */
  #running(now: InstantMs): ReadonlyMap<Identity, RunningTask> {
    const running = new Map<Identity, RunningTask>()
    for (const [taskId, { worker, name, sentAt }] of this.#tasks) {
      if (worker === '' || running.has(worker)) continue
      running.set(worker, { taskId, name, function: name, forMS: now - sentAt })
    }
    return running
  }

  /** NaN in the first report. */
  #rates(
    state: StateScheduler,
    now: InstantMs,
  ): Pick<MonitorState, 'submittedPerS' | 'endedPerS' | 'failedPerS'> {
    const last = this.#last
    const seconds = last === undefined ? 0 : (now - last.at) / 1_000
    const rate = (countOf: (state: StateScheduler) => number): number => {
      if (last === undefined || seconds <= 0) return NaN
      return Math.max(0, countOf(state) - countOf(last.state)) / seconds
    }
    return {
      submittedPerS: rate(submitted),
      endedPerS: rate(ended),
      failedPerS: rate(({ taskManager }) => taskManager.failed),
    }
  }
}

function textOf(bytes: Uint8Array): string {
  return asBuffer(bytes).toString()
}

function ended({ taskManager }: StateScheduler): number {
  const { success, failed, canceled, notFound } = taskManager
  return success + failed + canceled + notFound
}

function submitted(state: StateScheduler): number {
  return ended(state) + state.taskManager.unassigned + state.taskManager.running
}

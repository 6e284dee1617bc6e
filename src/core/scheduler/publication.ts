// What the scheduler publishes to subscribers, the monitors of 1.9.9: each state change of a task,
// workers that connect and disconnect, and once a second the state of everything.
// docs/protocol.md#monitor
// At log level debug, each state change of a task is logged as well.

import { latin1ToBytes, NO_BYTES } from '../../base/bytes.js'
import { identity, taskLogFields } from '../../base/ids.js'
import type { LogFields } from '../../base/logger.js'
import type { InstantMs, Turn } from '../../base/machine.js'
import type {
  BinderStatus,
  Message,
  Resource,
  StateScheduler,
  Task,
  TaskStatus,
  WorkerHeartbeat,
  WorkerStatus,
} from '../../wire/message.js'
import { durationMsOf } from '../../wire/metadata.js'
import { nthTaskId, sliceProfiles } from '../../wire/run.js'
import type { ClientEntry, TaskEntry, WorkerEntry } from './entries.js'
import type { SchedulerAction } from './events.js'
import type { MessageCounts } from './output.js'
import type { SchedulerState } from './state.js'
import { extraOf, taskFields, titleOf } from './task/extra.js'
import { heldCount } from './worker/load.js'

// Limits on event messages: more than a reader could follow is not sent.

/** Messages per millisecond. */
const RATE = 2

/** Maximum burst after a pause, in messages. */
const BURST = 6_000

/** The number of events of a task with a typical life. */
const EVENTS_PER_TASK = 3

const UNFINISHED: ReadonlySet<TaskStatus> = new Set(['inactive', 'running', 'canceling'])

/** A rate limit that allows a burst after a pause (a token bucket). */
export class Budget {
  readonly #perMs: number
  readonly #burst: number
  #left: number
  #at: InstantMs = 0

  constructor(perMs: number, burst: number) {
    this.#perMs = perMs
    this.#burst = burst
    this.#left = burst
  }

  /** Whether the budget allows `count` now. */
  has(count: number, now: InstantMs): boolean {
    return this.room(now) >= count
  }

  /** How much the budget allows now. */
  room(now: InstantMs): number {
    this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs)
    this.#at = now
    return this.#left
  }

  /** Takes `count` from the budget. */
  spend(count: number): void {
    this.#left -= count
  }
}

/**
 * Limits the task events for subscribers of the monitor address, who receive everything that is
 * published. Above the limit only some tasks are published, each from its beginning to its end.
 * docs/protocol.md#monitor
 */
export class EventBudget {
  readonly #turn: Turn<SchedulerAction>
  readonly #messages = new Budget(RATE, BURST)

  constructor(turn: Turn<SchedulerAction>) {
    this.#turn = turn
  }

  /** Takes `count` from the budget, if it allows that now. */
  take(count: number): boolean {
    const mayTell = this.#messages.has(count, this.#turn.now)
    if (mayTell) this.#messages.spend(count)
    return mayTell
  }

  /** Whether to publish a step of a task. All steps of a published task are published. */
  takeStep(task: TaskEntry, status: TaskStatus): boolean {
    if (task.extra?.isPublished === true) return true
    const isUnfinished = UNFINISHED.has(status)
    if (!this.take((isUnfinished ? EVENTS_PER_TASK : 1) * task.count)) return false
    if (isUnfinished) extraOf(task).isPublished = true
    return true
  }
}

// Events.

const CONNECTED = latin1ToBytes('connected')
const DISCONNECTED = latin1ToBytes('disconnected')
const NO_WORKER = identity('')
/** The rest of a profile that has only the duration. */
const NO_USAGE: Uint8Array = new Uint8Array(12)
const UNKNOWN_FUNCTION = latin1ToBytes('<Unknown>')

/** How a task ended, besides its status. */
interface TaskEnd {
  readonly metadata: Uint8Array
  /** The worker that had it last. */
  readonly worker: WorkerEntry | undefined
}

const NOT_ENDED: TaskEnd = { metadata: NO_BYTES, worker: undefined }

/** Publishes a new status of a task. Includes its worker only while it runs. */
export function publishTask(
  state: SchedulerState,
  task: TaskEntry,
  status: TaskStatus,
  end: TaskEnd = NOT_ENDED,
): void {
  if (state.options.logsTasks === true) tellTask(state, { task, status, end })
  const { output, eventBudget } = state
  if (!output.hasSubscribers || !eventBudget.takeStep(task, status)) return
  const worker = status === 'running' ? (task.worker?.identity ?? NO_WORKER) : NO_WORKER
  for (let at = 0; at < task.count; at += 1) {
    output.publish({
      kind: 'stateTask',
      taskId: nthTaskId(task.id, at),
      functionName: nameOf(task),
      status,
      worker,
      metadata: profileOf(end.metadata, task.count, at),
    })
  }
}

/** Subscribers know only profiles of 16 bytes. */
function profileOf(metadata: Uint8Array, count: number, at: number): Uint8Array {
  const profile = count === 1 ? metadata : sliceProfiles(metadata, count, at, at + 1)
  if (profile.byteLength !== 4) return profile
  return Buffer.concat([profile, NO_USAGE])
}

const STEPS: Readonly<Record<TaskStatus, string>> = {
  inactive: 'task waits for a worker',
  running: 'task sent to a worker',
  canceling: 'task is being cancelled',
  success: 'task succeeded',
  failed: 'task failed',
  canceled: 'task cancelled',
  notFound: 'task not found',
  workerDied: 'task failed: too many workers were lost with it',
  noWorker: 'task refused: too many tasks wait',
}

/** Why a task failed, as far as the scheduler knows: it never decodes an error. */
const CAUSES: Partial<Readonly<Record<TaskStatus, string>>> = {
  failed: 'error',
  workerDied: 'worker died',
}

/** A state change of a task. */
interface Step {
  readonly task: TaskEntry
  readonly status: TaskStatus
  readonly end: TaskEnd
}

function tellTask(state: SchedulerState, { task, status, end }: Step): void {
  const worker = (task.worker ?? end.worker)?.identity
  const durationMs = task.count === 1 ? durationMsOf(end.metadata) : undefined
  const cause = CAUSES[status]
  state.turn.log('debug', STEPS[status], {
    ...taskFields(task),
    ...(task.client === undefined ? {} : { client: task.client.identity }),
    ...(worker === undefined ? {} : { worker }),
    ...(durationMs === undefined ? {} : { durationMs: Math.round(durationMs * 1e3) / 1e3 }),
    ...(cause === undefined ? {} : { cause }),
  })
}

/** The fields of a log line about a refused task. */
export function refusedFields(
  state: SchedulerState,
  { identity: client }: ClientEntry,
  { taskId, name, funcObjectId }: Task,
): LogFields {
  return { ...taskLogFields(taskId, titleOf(name, state.objects.get(funcObjectId))), client }
}

/** The name of the task, or that of its function. */
function nameOf(task: TaskEntry): Uint8Array {
  const name = task.extra?.name ?? ''
  return name === '' ? (task.function?.name ?? UNKNOWN_FUNCTION) : Buffer.from(name)
}

/** Publishes that a worker connected or disconnected. */
export function publishWorker(
  state: SchedulerState,
  worker: WorkerEntry,
  isConnected: boolean,
): void {
  if (!state.output.hasSubscribers) return
  const message = isConnected ? CONNECTED : DISCONNECTED
  state.output.publish({ kind: 'stateWorker', workerId: worker.identity, message })
}

/** Publishes the state of everything, with the resource usage of the scheduler process. */
export function publishScheduler(
  state: SchedulerState,
  scheduler: Resource,
  rssFree: number,
): void {
  if (!state.output.hasSubscribers) return
  state.output.publish(stateScheduler(state, scheduler, rssFree))
}

function stateScheduler(
  state: SchedulerState,
  scheduler: Resource,
  rssFree: number,
): StateScheduler {
  let assigned = 0
  const workers: WorkerStatus[] = []
  for (const worker of state.workers.values()) {
    assigned += worker.taskCount
    workers.push(workerStatus(state, worker))
  }
  const busyClients = [...state.clients.values()].filter(
    ({ taskCount, graphs }) => taskCount + graphs.size > 0,
  )
  const ended = (status: TaskStatus): number => state.ended.get(status) ?? 0
  return {
    kind: 'stateScheduler',
    binder: binderStatus(state),
    scheduler,
    rssFree,
    clientManager: {
      clientToNumOfTask: busyClients.map((client) => ({
        client: client.identity,
        numTask: client.taskCount + client.graphs.size,
      })),
    },
    objectManager: { numberOfObjects: state.objects.count },
    taskManager: {
      unassigned: state.waitingCount + state.graphWork.ready,
      running: assigned,
      success: ended('success'),
      failed: ended('failed'),
      canceled: ended('canceled'),
      notFound: ended('notFound'),
    },
    workerManager: { workers },
  }
}

/** The last report of a worker about itself, and its assigned tasks. */
export function workerStatus(state: SchedulerState, worker: WorkerEntry): WorkerStatus {
  const { heartbeat } = worker
  const maxTasks = state.options.perWorkerQueueSize
  return {
    workerId: worker.identity,
    agent: heartbeat.agent,
    rssFree: heartbeat.rssFree,
    free: worker.isLeaving ? 0 : Math.max(0, maxTasks - heldCount(worker, maxTasks)),
    sent: worker.taskCount,
    queued: heartbeat.queuedTasks,
    suspended: heartbeat.processors.filter((processor) => processor.suspended).length,
    lagUS: heartbeat.latencyUS,
    lastS: Math.min(255, Math.floor((state.turn.now - worker.lastHeartbeat) / 1000)),
    itl: itl(heartbeat),
    processorStatuses: heartbeat.processors,
  }
}

/** Flags of the active processor: initialized, has a task, holds the task lock. */
function itl(heartbeat: WorkerHeartbeat): string {
  const active = heartbeat.processors.find((processor) => !processor.suspended)
  const flags = [active?.initialized === true, active?.hasTask === true, heartbeat.taskLock]
  return flags.map((flag) => (flag ? '1' : '0')).join('')
}

/** How many messages there have been, by kind. */
export function binderStatus({ received, output }: SchedulerState): BinderStatus {
  return { received: pairs(received), sent: pairs(output.sent) }
}

/** Monitors use the struct names of messages: `TaskResult` for `taskResult`. */
function pairs(counts: MessageCounts): { readonly client: string; readonly number: number }[] {
  return [...counts].map(([kind, number]) => ({ client: structName(kind), number }))
}

function structName(kind: Message['kind']): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1)
}

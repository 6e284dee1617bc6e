// What the scheduler tells its monitors: each step of a task, workers that come and go, and once a
// second the state of everything. docs/protocol.md#monitor
// Each step of a task is a line of the log, too, where lines for DEBUG are written.

import { latin1ToBytes, NO_BYTES } from '../../base/bytes.js'
import { identity, idToHex } from '../../base/ids.js'
import type { LogFields } from '../../base/logger.js'
import type { InstantMs } from '../../base/machine.js'
import type {
  Message,
  Resource,
  StateScheduler,
  Task,
  TaskStatus,
  WorkerHeartbeat,
  WorkerStatus,
} from '../../wire/message.js'
import type { ClientEntry, TaskEntry, WorkerEntry } from './entries.js'
import type { MessageCounts } from './output.js'
import type { SchedulerState } from './state.js'
import { activeCount } from './worker-pool.js'

const CONNECTED = latin1ToBytes('connected')
const DISCONNECTED = latin1ToBytes('disconnected')
const NO_WORKER = identity('')
const UNKNOWN_FUNCTION = latin1ToBytes('<Unknown>')

/** A task has got a new status. The worker is named only while it runs. */
export function publishTask(
  state: SchedulerState,
  task: TaskEntry,
  status: TaskStatus,
  metadata: Uint8Array = NO_BYTES,
): void {
  if (state.options.tellsTasks === true) tellTask(state, task, status)
  if (!state.output.hasSubscribers) return
  state.output.publish({
    kind: 'stateTask',
    taskId: task.id,
    functionName: nameOf(task),
    status,
    worker: status === 'running' && task.worker !== undefined ? task.worker.identity : NO_WORKER,
    metadata,
  })
}

const STEPS: Readonly<Record<TaskStatus, string>> = {
  inactive: 'task waits for a worker',
  running: 'task sent to a worker',
  canceling: 'task is being canceled',
  success: 'task succeeded',
  failed: 'task failed',
  canceled: 'task canceled',
  notFound: 'task not found',
  workerDied: 'task failed: too many workers were lost with it',
  noWorker: 'task refused: too many tasks wait',
}

function tellTask(state: SchedulerState, task: TaskEntry, status: TaskStatus): void {
  const worker = status === 'running' ? { worker: task.worker?.identity } : {}
  const owner = task.client === undefined ? {} : { client: task.client.identity }
  state.output.log('debug', STEPS[status], { ...taskFields(task), ...owner, ...worker })
}

/** What a line about a task says of it. */
export function taskFields(task: TaskEntry): LogFields {
  return { task: idToHex(task.id), name: Buffer.from(nameOf(task)).toString() }
}

/** The same of one that is not taken. */
export function refusedFields(
  state: SchedulerState,
  { identity: client }: ClientEntry,
  { taskId, name, funcObjectId }: Task,
): LogFields {
  const called = name === '' ? state.objects.get(funcObjectId)?.name : Buffer.from(name)
  return { task: idToHex(taskId), name: Buffer.from(called ?? UNKNOWN_FUNCTION).toString(), client }
}

/** The name that the task came with, or that of its function. */
function nameOf(task: TaskEntry): Uint8Array {
  const name = task.extra?.name ?? ''
  return name === '' ? (task.function?.name ?? UNKNOWN_FUNCTION) : Buffer.from(name)
}

/** A worker has come or gone. */
export function publishWorker(
  state: SchedulerState,
  worker: WorkerEntry,
  isConnected: boolean,
): void {
  if (!state.output.hasSubscribers) return
  const message = isConnected ? CONNECTED : DISCONNECTED
  state.output.publish({ kind: 'stateWorker', workerId: worker.identity, message })
}

/** The state of everything, with what the scheduler's own process uses. */
export function publishScheduler(
  state: SchedulerState,
  now: InstantMs,
  scheduler: Resource,
  rssFree: number,
): void {
  if (!state.output.hasSubscribers) return
  state.output.publish(stateScheduler(state, now, scheduler, rssFree))
}

function stateScheduler(
  state: SchedulerState,
  now: InstantMs,
  scheduler: Resource,
  rssFree: number,
): StateScheduler {
  let assigned = 0
  const workers: WorkerStatus[] = []
  for (const worker of state.workers.values()) {
    assigned += worker.assigned.size
    workers.push(workerStatus(state, worker, now))
  }
  const busyClients = [...state.clients.values()].filter(
    ({ tasks, graphs }) => tasks.size + graphs.size > 0,
  )
  const ended = (status: TaskStatus): number => state.ended.get(status) ?? 0
  return {
    kind: 'stateScheduler',
    binder: { received: pairs(state.received), sent: pairs(state.output.sent) },
    scheduler,
    rssFree,
    clientManager: {
      clientToNumOfTask: busyClients.map((client) => ({
        client: client.identity,
        numTask: client.tasks.size + client.graphs.size,
      })),
    },
    objectManager: { numberOfObjects: state.objects.size },
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

function workerStatus(state: SchedulerState, worker: WorkerEntry, now: InstantMs): WorkerStatus {
  const { heartbeat, assigned } = worker
  return {
    workerId: worker.identity,
    agent: heartbeat.agent,
    rssFree: heartbeat.rssFree,
    free: worker.isLeaving
      ? 0
      : Math.max(0, state.options.perWorkerQueueSize - activeCount(worker)),
    sent: assigned.size,
    queued: heartbeat.queuedTasks,
    suspended: heartbeat.processors.filter((processor) => processor.suspended).length,
    lagUS: heartbeat.latencyUS,
    lastS: Math.min(255, Math.floor((now - worker.lastHeartbeat) / 1000)),
    itl: itl(heartbeat),
    processorStatuses: heartbeat.processors,
  }
}

/** Initialized, has a task, holds the task lock: of the processor that is not suspended. */
function itl(heartbeat: WorkerHeartbeat): string {
  const active = heartbeat.processors.find((processor) => !processor.suspended)
  const flags = [active?.initialized === true, active?.hasTask === true, heartbeat.taskLock]
  return flags.map((flag) => (flag ? '1' : '0')).join('')
}

/** Monitors know the messages by the names of their structs: `taskResult` is `TaskResult`. */
function pairs(counts: MessageCounts): { readonly client: string; readonly number: number }[] {
  return [...counts].map(([kind, number]) => ({ client: structName(kind), number }))
}

function structName(kind: Message['kind']): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1)
}

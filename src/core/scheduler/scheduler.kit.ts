// For tests: a scheduler with a manual clock, short constructors for messages of peers, and actions
// as short lines, so that a test compares all of them and an unexpected action fails it.

import { bytesToLatin1, latin1ToBytes, NO_BYTES } from '../../base/bytes.js'
import { FEATURE_WAITING, OUR_FEATURES } from '../../base/features.js'
import { identity, objectId, schedulerId, taskId, type Identity } from '../../base/ids.js'
import { encodeProfileResult, encodeTaskFlags } from '../../wire/metadata.js'
import {
  type ClientHeartbeat,
  decode,
  encode,
  type Message,
  type ObjectInstruction,
  PLAIN_CLIENT_HEARTBEAT,
  PLAIN_HEARTBEAT,
  PLAIN_RESULT,
  PLAIN_TASK,
  type SharedObject,
  type Task,
  type TaskCancel,
  type TaskResult,
  type TaskStatus,
  type TaskUpdate,
  type WorkerHeartbeat,
} from '../../wire/message.js'
import { countOf, nthTaskId } from '../../wire/run.js'
import { pack } from '../../wire/run.kit.js'
import type { SchedulerAction, SchedulerCoreOptions } from './events.js'
import { SchedulerMachine } from './scheduler-machine.js'

const IDLE = { cpu: 0, rss: 0 }

/**
 * The invariants are checked after each of this many events, then after each second one, and so on:
 * a check reads all tables, so that thousands of events with a check each would take minutes.
 */
const CHECKED_EVENTS = 200

/** A peer of ours, or (with features 0 and no runtime) one of 1.9.9. */
export interface PeerKind {
  readonly features: number
  readonly runtime: string
}

/** A peer of this version. */
export const OURS: PeerKind = { features: OUR_FEATURES, runtime: 'node/20.19.0' }
/** An older peer of ours, without support for waiting reasons and room. */
export const OLDER: PeerKind = { ...OURS, features: OUR_FEATURES & ~FEATURE_WAITING }

/** A peer of 1.9.9. */
export const PYTHON: PeerKind = { features: 0, runtime: '' }

/** The first message of a client; `worker`: the worker in whose tasks it is nested. */
export function clientHeartbeat(kind: PeerKind = OURS, worker = ''): ClientHeartbeat {
  const host = identity(worker)
  return {
    kind: 'clientHeartbeat',
    resource: IDLE,
    latencyUS: 0,
    ...PLAIN_CLIENT_HEARTBEAT,
    worker: host,
    ...kind,
  }
}

/** The first message of a worker. */
export function workerHeartbeat(kind: PeerKind = OURS): WorkerHeartbeat {
  return {
    kind: 'workerHeartbeat',
    agent: IDLE,
    rssFree: 0,
    queuedTasks: 0,
    latencyUS: 0,
    taskLock: true,
    processors: [],
    ...PLAIN_HEARTBEAT,
    ...kind,
  }
}

/** A task without arguments. */
export function task(id: string, source: string, priority = 0): Task {
  return {
    kind: 'task',
    taskId: taskId(id),
    source: identity(source),
    metadata: encodeTaskFlags({ profiling: false, priority }),
    funcObjectId: objectId('f'),
    functionArgs: [],
    ...PLAIN_TASK,
  }
}

/** A run of tasks; entry `at` of its packed arguments is the text of `at`. */
export function run(first: string, source: string, count: number, priority = 0): Task {
  const entries = Array.from({ length: count }, (_, at) => Buffer.from(String(at)))
  return { ...task(first, source, priority), count, packed: pack(entries) }
}

/** Consecutive tasks succeeded, each after so many seconds. */
export function results(first: string, count: number, seconds = 0.000_01): TaskResult {
  const { metadata, ...plain } = result(first, 'success', seconds)
  const entries = Array.from({ length: count }, (_, at) => Buffer.from(`r${at}`))
  const durations = Buffer.concat(entries.map(() => metadata.subarray(0, 4)))
  return { ...plain, results: [], metadata: durations, count, packed: pack(entries) }
}

/** A task that was submitted by another task. */
export function child(id: string, source: string, parent: string, priority = 1): Task {
  return { ...task(id, source, priority), parentTaskId: taskId(parent) }
}

/** A client cancels a task. */
export function cancel(id: string, force = false): TaskCancel {
  return {
    kind: 'taskCancel',
    taskId: taskId(id),
    count: 0,
    flags: { force, retrieveTaskObject: false },
  }
}

/** An update from a running task. */
export function update(id: string, what: TaskUpdate['update'], done = 0, total = 0): TaskUpdate {
  return { kind: 'taskUpdate', taskId: taskId(id), update: what, done, total }
}

/** The result of a task; success and failed have an object with the value. */
export function result(id: string, status: TaskStatus = 'success', seconds = 1): TaskResult {
  const hasEnded = status === 'success' || status === 'failed'
  return {
    kind: 'taskResult',
    taskId: taskId(id),
    status,
    metadata: hasEnded
      ? encodeProfileResult({ durationSeconds: seconds, peakMemoryBytes: 0, cpuSeconds: 0 })
      : NO_BYTES,
    results: hasEnded ? [objectId(`r-${id}`)] : [],
    ...PLAIN_RESULT,
  }
}

/** A client stores or deletes objects. */
export function instruction(
  type: ObjectInstruction['instructionType'],
  user: string,
  ids: readonly string[],
): ObjectInstruction {
  const isCreate = type === 'create'
  return {
    kind: 'objectInstruction',
    instructionType: type,
    objectUser: identity(user),
    objectContent: {
      objectIds: ids.map(objectId),
      objectTypes: isCreate ? ids.map(() => 'object' as const) : [],
      objectNames: isCreate ? ids.map((id) => latin1ToBytes(`name of ${id}`)) : [],
      objectBytes: isCreate ? ids.map((id) => [latin1ToBytes(`content of ${id}`)]) : [],
    },
  }
}

/** A client says or asks something about an object with a name. */
export function shared(type: SharedObject['type'], name: string, id = ''): SharedObject {
  return { kind: 'sharedObject', type, name, objectId: objectId(id), sizeBytes: 0 }
}

/** A scheduler under test. */
export class TestScheduler {
  readonly machine: SchedulerMachine
  now = 0
  #actions: SchedulerAction[] = []
  #eventCount = 0
  /** Events since the invariants were last checked. */
  #uncheckedCount = 0
  /** The attempt of each assigned Task, by worker and task. */
  readonly #attempts = new Map<string, number>()

  constructor(options: Partial<SchedulerCoreOptions> = {}) {
    this.machine = new SchedulerMachine({
      schedulerId: schedulerId('S'),
      clientTimeoutMs: 60_000,
      workerTimeoutMs: 60_000,
      workerSilenceMs: 60_000,
      loadBalanceMs: 100,
      perWorkerQueueSize: 1000,
      maxNumberOfTasksWaiting: -1,
      isProtected: false,
      ...options,
    })
  }

  /** Receives a message, encoded and decoded. Results get the attempt of the assigned task. */
  receive(from: string, message: Message): this {
    if (message.kind !== 'taskResult') return this.receiveAsIs(from, message)
    const attempt = this.#attempts.get(`${from} ${message.taskId}`) ?? message.attempt
    return this.receiveAsIs(from, { ...message, attempt })
  }

  /** Like `receive`, without changing the attempt of a result. */
  receiveAsIs(from: string, message: Message): this {
    const decoded = decode(encode(message))
    return this.handle({ type: 'messageReceived', from: identity(from), message: decoded })
  }

  /** The attempt of a task that a worker has. */
  attemptOf(worker: string, id: string): number {
    return this.#attempts.get(`${worker} ${id}`) ?? 0
  }

  handle(event: Parameters<SchedulerMachine['handle']>[0]): this {
    this.machine.handle(event, this.now, (action) => this.#onAction(action))
    this.#eventCount += 1
    this.#uncheckedCount += 1
    if (this.#uncheckedCount * CHECKED_EVENTS > this.#eventCount) this.#check()
    return this
  }

  #check(): void {
    this.#uncheckedCount = 0
    this.machine.checkInvariants()
  }

  /** Lets time pass, with every tick that falls due. */
  moveTo(now: number): this {
    for (
      let at = this.machine.deadline;
      at !== undefined && at <= now;
      at = this.machine.deadline
    ) {
      this.now = Math.max(at, this.now)
      this.handle({ type: 'tick' })
    }
    this.now = now
    return this
  }

  /** All actions since the last call, without log lines. */
  actions(): readonly SchedulerAction[] {
    if (this.#uncheckedCount > 0) this.#check()
    const actions = this.#actions.filter((action) => action.type !== 'log')
    this.#actions = []
    return actions
  }

  /** The log lines since the last call of `actions`. */
  logs(): readonly string[] {
    return this.logActions().map(({ text }) => text)
  }

  /** The same, with level and fields. */
  logActions(): readonly (SchedulerAction & { readonly type: 'log' })[] {
    return this.#actions.filter((action) => action.type === 'log')
  }

  /** The actions since the last call as lines: `W1 <- task t1`. */
  lines(): readonly string[] {
    return this.actions().map(describe)
  }

  describe(action: SchedulerAction): string {
    return describe(action)
  }

  #onAction(action: SchedulerAction): void {
    this.#actions.push(action)
    // Messages that a test passes without bytes are forwarded empty.
    if (action.type !== 'forward' || action.bytes.byteLength === 0) return
    const message = decode(action.bytes)
    if (message.kind !== 'task') return
    for (let at = 0; at < countOf(message); at += 1) {
      const id = nthTaskId(message.taskId, at)
      this.#attempts.set(`${action.to} ${id}`, message.attempt)
    }
  }
}

/** One action as a short line. */
function describe(action: SchedulerAction): string {
  switch (action.type) {
    case 'send':
      return `${action.to} <- ${describeMessage(action.message)}`
    case 'forward':
      return `${action.to} <- ${describeMessage(decode(action.bytes))}`
    case 'report': {
      const { workers, suitable, idle } = action.report.report
      return `${action.to} <- report ${workers} ${suitable} ${idle}`
    }
    case 'passOutput':
      return `${action.message.client} <- ${describeMessage(action.message)}`
    case 'publish':
      return `monitor <- ${describeMessage(action.message)}`
    case 'stop':
      return 'stop'
    case 'moveToDisk':
      return `move ${action.move}`
    case 'removeFile':
      return `remove ${action.path}`
    case 'removeStored':
      return `remove ${action.content.id} at ${action.content.address}`
    case 'disconnect':
      return `disconnect ${action.peer}`
    case 'log':
      return `log ${action.text}`
  }
}

function times({ count }: { readonly count: number }): string {
  return count > 1 ? `*${count}` : ''
}

function describeMessage(message: Message): string {
  switch (message.kind) {
    case 'task':
      return `task ${message.taskId}${times(message)}`
    case 'taskResult':
      return `result ${message.taskId}${times(message)} ${message.status}`
    case 'taskOutput':
      return `output ${message.taskId}`
    case 'taskUpdate':
      return `${message.update} ${message.taskId} ${message.done}/${message.total}`
    case 'taskRoom':
      return `room ${message.tasks}`
    case 'taskCancel':
      return `cancel ${message.taskId}${times(message)}${message.flags.force ? ' by force' : ''}`
    case 'objectInstruction':
      return `${message.instructionType} ${message.objectContent.objectIds.join(' ')}`
    case 'objectResponse':
      return `${message.responseType} ${message.objectContent.objectIds.join(' ')}`
    case 'sharedObject':
      return [message.type, message.name, message.objectId].join(' ').trimEnd()
    case 'objectLoss': {
      const { objectIds, graphTaskIds, nodeTaskIds, results } = message
      const kept = results.map(({ taskId: id }) => id)
      const lists = [objectIds, graphTaskIds, nodeTaskIds, kept]
      return `lost ${lists.map((ids) => ids.join(' ')).join('; ')}`
    }
    case 'clientHeartbeatEcho': {
      const why = message.waiting.map(({ reason, tasks, forMS, needs }) => {
        return ` ${reason} ${tasks} ${forMS}${needs === '' ? '' : ` (${needs})`}`
      })
      return `echo ${message.schedulerId}${why.join('')}`.trimEnd()
    }
    case 'workerHeartbeatEcho':
      return `echo ${message.schedulerId}`.trimEnd()
    case 'clientDisconnect':
      return message.disconnectType
    case 'clientShutdownResponse':
      return message.accepted ? 'accepted' : 'refused'
    case 'stateTask':
      return `task ${message.taskId} ${message.status} ${message.worker}`.trimEnd()
    case 'stateWorker':
      return `worker ${message.workerId} ${bytesToLatin1(message.message)}`
    default:
      return message.kind
  }
}

/** A scheduler with workers, and clients of ours that have stored the function of `task`. */
export function withPeers(
  peers: { readonly clients?: readonly string[]; readonly workers?: readonly string[] },
  options: Partial<SchedulerCoreOptions> = {},
): TestScheduler {
  const scheduler = new TestScheduler(options)
  for (const client of peers.clients ?? []) {
    scheduler
      .receive(client, clientHeartbeat())
      .receive(client, instruction('create', client, ['f']))
  }
  for (const worker of peers.workers ?? []) scheduler.receive(worker, workerHeartbeat())
  scheduler.actions()
  return scheduler
}

/** The identity of a name. */
export function peer(name: string): Identity {
  return identity(name)
}

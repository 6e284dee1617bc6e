// A worker's core with a scheduler and a processor played by the test: what the tests of this
// folder have in common.

import assert from 'node:assert/strict'
import { latin1ToBytes } from '../../base/bytes.js'
import type { ProcessorDeath } from '../../base/errors.js'
import { identity, objectId, taskId, type Identity, type ObjectId } from '../../base/ids.js'
import {
  encode,
  type Message,
  type ObjectInstruction,
  type ObjectResponse,
  type OutputPlace,
  PLAIN_RESULT,
  PLAIN_TASK,
  type Task,
  type TaskArgument,
  type TaskResult,
  type TaskUpdateType,
} from '../../wire/message.js'
import { encodeProfileResult, encodeTaskFlags } from '../../wire/metadata.js'
import { FEATURE_WAITING, OUR_FEATURES } from '../../base/features.js'
import type { LastRun, RunStatus, WorkerAction, WorkerCoreOptions, WorkerEvent } from './events.js'
import { WorkerMachine } from './worker-machine.js'

export const WORKER: Identity = identity('1|worker|00')
export const CLIENT: Identity = identity('2|Client|00')

/** Serializer of `CLIENT`. */
export const SERIALIZER: ObjectId = objectId('serializer of 2|Client|00')

export const KILLED: ProcessorDeath = { signal: 'SIGKILL', stderr: 'last words' }

/** What a test cares about in a task. */
export interface TaskFacts {
  readonly source?: Identity
  readonly fn?: string
  readonly objects?: readonly string[]
  readonly priority?: number
  readonly parent?: string
  readonly timeoutMs?: number
  readonly attempt?: number
  readonly retries?: number
  readonly output?: OutputPlace
}

/** A Task in its bytes, as the scheduler sends it. */
export function taskOf(id: string, facts: TaskFacts = {}): Task {
  const inline: TaskArgument = { type: 'inline', data: latin1ToBytes('value') }
  const objects = (facts.objects ?? []).map((object): TaskArgument => {
    return { type: 'objectID', data: latin1ToBytes(object) }
  })
  const task: Task = {
    kind: 'task',
    taskId: taskId(id),
    source: facts.source ?? CLIENT,
    metadata: encodeTaskFlags({ profiling: false, priority: facts.priority ?? 0 }),
    funcObjectId: objectId(facts.fn ?? 'fn'),
    functionArgs: [inline, ...objects],
    ...PLAIN_TASK,
    parentTaskId: taskId(facts.parent ?? ''),
    timeoutMs: facts.timeoutMs ?? 0,
    attempt: facts.attempt ?? 0,
    output: facts.output ?? PLAIN_TASK.output,
    retries: facts.retries ?? 0,
  }
  return { ...task, bytes: encode(task) }
}

/** What the processor answers. */
export function resultOf(
  id: string,
  facts: {
    durationMs?: number
    status?: TaskResult['status']
    chunks?: readonly Uint8Array[]
    keptAs?: string
    attempt?: number
  } = {},
): TaskResult {
  const durationSeconds = (facts.durationMs ?? 0.01) / 1000
  return {
    kind: 'taskResult',
    taskId: taskId(id),
    status: facts.status ?? 'success',
    metadata: encodeProfileResult({ durationSeconds, peakMemoryBytes: 0, cpuSeconds: 0 }),
    ...PLAIN_RESULT,
    attempt: facts.attempt ?? 0,
    results: facts.keptAs === undefined ? [] : [objectId(facts.keptAs)],
    inlineResults: facts.chunks ?? [latin1ToBytes(`result of ${id}`)],
  }
}

/** All of these objects, as a scheduler sends them. */
export function objectsOf(...ids: string[]): ObjectResponse {
  return {
    kind: 'objectResponse',
    responseType: 'content',
    objectContent: {
      objectIds: ids.map(objectId),
      objectTypes: ids.map(() => 'object' as const),
      objectNames: ids.map(latin1ToBytes),
      objectBytes: ids.map((id) => [latin1ToBytes(id)]),
    },
  }
}

/** None of these objects exist. */
export function missingOf(...ids: string[]): ObjectResponse {
  return {
    kind: 'objectResponse',
    responseType: 'objectNotExist',
    objectContent: {
      objectIds: ids.map(objectId),
      objectTypes: [],
      objectNames: [],
      objectBytes: [],
    },
  }
}

/** These objects were deleted. */
export function deletionOf(...ids: string[]): ObjectInstruction {
  const objectContent = missingOf(...ids).objectContent
  return { kind: 'objectInstruction', instructionType: 'delete', objectUser: WORKER, objectContent }
}

/** What a scheduler of ours understands, but for what beginnings.test.ts is about. */
const FEATURES = OUR_FEATURES & ~FEATURE_WAITING

/** An echo of a scheduler of ours, or of a 1.9.9 one. */
export function echoOf(features: number = FEATURES): Message {
  return { kind: 'workerHeartbeatEcho', schedulerId: '' as never, features }
}

/** One line per action: all that a test has to compare. */
export function showAction(action: WorkerAction): string {
  switch (action.type) {
    case 'send':
      return `send ${showMessage(action.message)}`
    case 'sendToProcessor':
      return `tell ${showMessage(action.message)}`
    case 'dispatch':
      return 'dispatch'
    case 'stopTask':
      return `stop ${action.taskId} ${action.reason}`
    case 'askStatus':
      return `ask ${action.dispatchNumber}`
    case 'retractTasks':
      return `retract ${action.dispatchNumbers.join()}`
    case 'startProcessor':
      return `start ${action.processor}`
    case 'log':
      return `log ${action.level}`
    case 'end':
      return `end ${action.reason}${action.isFailure ? ' (failure)' : ''}`
    default:
      return action.type
  }
}

function showMessage(message: Message): string {
  switch (message.kind) {
    case 'taskResult':
      return message.results.length > 0
        ? `${message.taskId} ${message.status} ${message.results.join()}`
        : `${message.taskId} ${message.status}`
    case 'taskUpdate':
      return `${message.taskId} ${message.update}`
    case 'objectRequest':
      return `request ${message.objectIds.join()}`
    case 'objectInstruction':
      return `${message.instructionType} ${message.objectContent.objectIds.join()}`
    case 'objectResponse':
      return `objects ${message.objectContent.objectIds.join()}`
    default:
      return message.kind
  }
}

const NOT_BEGUN = {
  isStarted: false,
  isListening: false,
  isAlone: false,
  hasGivenUp: false,
  runningMs: 0,
}

/** A machine, its time, and all that it has answered so far. */
export class ScriptedWorker {
  readonly machine: WorkerMachine
  now = 1000
  /** Tasks that were handed to the processor, by what the machine was given as their bytes. */
  readonly #ids = new Map<string, string>()
  #resultIds = 0

  constructor(options: Partial<WorkerCoreOptions> = {}) {
    this.machine = new WorkerMachine({
      identity: WORKER,
      runtime: 'node/20.0.0',
      heartbeatIntervalMs: 2000,
      deathTimeoutMs: 300_000,
      drainMs: 20_000,
      inlineLimitBytes: 120,
      cancelGraceMs: 1000,
      objectCacheBytes: 1e9,
      serializerIdOf: (source) => objectId(`serializer of ${source}`),
      newResultId: () => objectId(`R${(this.#resultIds += 1)}`),
      encodeError: (error) => latin1ToBytes(`${error.name}: ${error.message}`),
      ...options,
    })
  }

  /** Connected, registered with a scheduler that takes inline results, and processor 1 is ready. */
  static ready(options: Partial<WorkerCoreOptions> = {}): ScriptedWorker {
    const worker = new ScriptedWorker(options)
    worker.handle({ type: 'started' })
    worker.handle({ type: 'connected' })
    worker.handle({ type: 'processorReady', processor: 1, pid: 77 })
    worker.receive(echoOf())
    return worker
  }

  /** One event; the tables must agree after it, and what was due must be done. */
  handle(event: WorkerEvent): WorkerAction[] {
    const actions: WorkerAction[] = []
    this.machine.handle(event, this.now, (action) => actions.push(action))
    this.machine.checkInvariants()
    const isDue = event.type === 'tick' && (this.machine.deadline ?? Infinity) <= this.now
    assert.ok(!isDue, 'a tick has left something due: the driver would never rest')
    return actions
  }

  /** The same, as lines; without those of the log. Dispatched tasks are shown by their id. */
  show(event: WorkerEvent): string[] {
    return this.handle(event)
      .filter((action) => action.type !== 'log')
      .map((action) => this.#show(action))
  }

  receive(message: Message): string[] {
    if (message.kind === 'task') this.#ids.set(hex(encode(message)), message.taskId)
    return this.show({ type: 'messageReceived', message })
  }

  /** A task whose objects the processor gets at once. */
  run(id: string, facts: TaskFacts = {}): string[] {
    this.receive(taskOf(id, facts))
    const objects = [SERIALIZER, facts.fn ?? 'fn', ...(facts.objects ?? [])]
    return this.receive(objectsOf(...objects))
  }

  answer(result: TaskResult, processor = 1): string[] {
    return this.show({ type: 'taskAnswered', processor, result })
  }

  /** The processor says that a task waits, goes on, or how far it is. */
  update(id: string, update: TaskUpdateType, processor = 1): string[] {
    const message = { kind: 'taskUpdate', taskId: taskId(id), update, done: 1, total: 2 } as const
    return this.show({ type: 'taskUpdated', processor, update: message })
  }

  /** The guardian says how far a task is: without more it has not begun. */
  tell(dispatchNumber: number, status: Partial<RunStatus> = {}, processor = 1): string[] {
    return this.show({
      type: 'statusReported',
      processor,
      status: { ...NOT_BEGUN, dispatchNumber, taskNumber: dispatchNumber, ...status },
    })
  }

  /** The processor answers a `retractTasks`. */
  retracted(asked: readonly number[], retracted: readonly number[], processor = 1): string[] {
    return this.show({ type: 'tasksRetracted', processor, asked, retracted })
  }

  die(lastRun: LastRun, death: ProcessorDeath = KILLED, processor = 1): string[] {
    // Long enough for the tasks that were dispatched last.
    this.now += 5
    return this.show({ type: 'processorExited', processor, death, lastRun })
  }

  /** Moves on to the machine's deadline, at most by `byMs`. */
  pass(byMs: number): string[] {
    const lines: string[] = []
    const end = this.now + byMs
    for (;;) {
      const { deadline } = this.machine
      if (deadline === undefined || deadline > end) break
      this.now = Math.max(deadline, this.now)
      lines.push(...this.show({ type: 'tick' }))
    }
    this.now = end
    return lines
  }

  #show(action: WorkerAction): string {
    if (action.type !== 'dispatch') return showAction(action)
    return `dispatch ${this.#ids.get(hex(action.bytes)) ?? '?'}`
  }
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

// For tests of the client's core: a machine with a clock moved by hand, and what it has answered.

import { NO_BYTES } from '../../base/bytes.js'
import { FEATURE_INLINE, FEATURE_TASK_UPDATES } from '../../base/features.js'
import {
  identity,
  objectId,
  schedulerId,
  taskId,
  type Identity,
  type ObjectId,
  type TaskId,
} from '../../base/ids.js'
import { type Message, PLAIN_RESULT, type TaskResult, type TaskUpdate } from '../../wire/message.js'
import { SERIALIZER_SUFFIX } from '../../wire/object-content.js'
import { isBlockId, MAX_RUN_TASKS, nthTaskId, placeInBlock } from '../../wire/run.js'
import { pack, unpack } from '../../wire/run.kit.js'
import { ClientMachine } from './client-machine.js'
import type {
  ArgumentSource,
  ClientAction,
  ClientCoreOptions,
  ClientEvent,
  TaskOptions,
  TaskSubmission,
} from './events.js'

/** The identity of the client under test. */
export const ME: Identity = identity('1|Client|me')
/** The id of its serializer. */
export const SERIALIZER_ID: ObjectId = objectId(`prefix__${SERIALIZER_SUFFIX}`)

/** What has become of a task, by name. */
export type Outcome = string

/** A machine, and everything around it that a test decides. */
export class Harness {
  readonly machine: ClientMachine<string>
  now = 1_000
  actions: ClientAction<string>[] = []
  /** How each owner's task ended; a second end is noted, too. */
  readonly ends: [owner: string, outcome: Outcome][] = []
  /** Results that are kept in the cluster are asked for at once. */
  isEager = true
  /** What a scheduler says that is asked whether it still has what the client has stored. */
  remembers: boolean | 'says nothing' = true
  #nextTask = 0

  constructor(options: Partial<ClientCoreOptions> = {}) {
    this.machine = new ClientMachine({
      identity: ME,
      serializer: { id: SERIALIZER_ID, name: Buffer.from('serializer'), content: Buffer.from('s') },
      timeoutMs: 60_000,
      heartbeatIntervalMs: 2_000,
      inlineLimitBytes: 100,
      reconnect: true,
      objectIdOf: (content) =>
        objectId(`object:${Buffer.from(content).toString('latin1').slice(0, 17)}`),
      // Each task has one argument, whose packed form is its serialized one.
      serializedValues: (packed) => unpack(packed, 1),
      ...options,
    })
  }

  /** Handles an event and, mostly, checks the tables. Returns the actions it caused. */
  handle(event: ClientEvent<string>, isChecked = true): ClientAction<string>[] {
    const actions: ClientAction<string>[] = []
    const offered: string[] = []
    this.machine.handle(event, this.now, (action) => {
      actions.push(action)
      if (action.type === 'offerResult') offered.push(nameOfTask(action))
      if (action.type === 'endTask') {
        for (let index = 0; index < action.count; index += 1) {
          const id = nthTaskId(action.taskId, index)
          this.ends.push([nameOfTask({ owner: action.owner, taskId: id }), action.reason])
        }
      }
      if (action.type === 'finishTask') {
        const text = Buffer.from(action.payload).toString()
        this.ends.push([nameOfTask(action), `${action.isSuccess ? 'value' : 'error'} ${text}`])
      }
      if (action.type === 'finishRun') {
        for (const [index, entry] of unpack(action.packed, action.count).entries()) {
          const name = nameOfTask({ owner: action.owner, taskId: nthTaskId(action.taskId, index) })
          this.ends.push([name, `value ${Buffer.from(entry).toString()}`])
        }
      }
    })
    if (isChecked) this.machine.checkInvariants()
    this.actions.push(...actions)
    for (const owner of this.isEager ? offered : []) actions.push(...this.want(owner))
    return actions
  }

  /** Handles a message from the scheduler. */
  receive(message: Message): ClientAction<string>[] {
    return this.handle({ type: 'messageReceived', message })
  }

  /** Lets time pass, with a tick whenever one is due. */
  advance(durationMs: number): ClientAction<string>[] {
    const actions: ClientAction<string>[] = []
    const end = this.now + durationMs
    for (;;) {
      const { deadline } = this.machine
      if (deadline === undefined || deadline > end) break
      this.now = Math.max(this.now, deadline)
      actions.push(...this.handle({ type: 'tick' }))
    }
    this.now = end
    return actions
  }

  /** Connects and has a scheduler answer. '' = one of version 1.9.9. */
  open(scheduler = 'S1', features: number = featuresOf(scheduler)): ClientAction<string>[] {
    return [...this.handle({ type: 'connected' }), ...this.echo(scheduler, features)]
  }

  echo(scheduler = 'S1', features: number = featuresOf(scheduler)): ClientAction<string>[] {
    const id = schedulerId(scheduler)
    const actions = this.receive({
      kind: 'clientHeartbeatEcho',
      schedulerId: id,
      features,
      reports: [],
      waiting: [],
    })
    const isAsked = sent(actions).some(
      (message) => message.kind === 'objectRequest' && message.objectIds.includes(SERIALIZER_ID),
    )
    return isAsked ? [...actions, ...this.answer()] : actions
  }

  /** The scheduler says whether it still has what the client has stored. */
  answer(): ClientAction<string>[] {
    if (this.remembers === 'says nothing') return []
    return this.receive(objectResponse(SERIALIZER_ID, this.remembers ? 's' : undefined))
  }

  /** Submits a task; its id is `owner`. */
  submit(
    owner: string,
    args: readonly ArgumentSource[] = [],
    functionName = 'f',
  ): ClientAction<string>[] {
    return this.handle({ type: 'taskSubmitted', task: submission(owner, args, functionName) })
  }

  /** Submits a run of tasks with these arguments. The name of a task is its id. */
  submitRun(
    first: TaskId,
    args: readonly string[],
    attachments: readonly string[] = [],
  ): ClientAction<string>[] {
    const packed = pack(args.map((text) => Buffer.from(text)))
    const run = { count: args.length, packed }
    const task = { ...submission(first, [], 'f', attachments), owner: RUN, run }
    return this.handle({ type: 'taskSubmitted', task })
  }

  /** Says that the transport has room: what waits is sent. */
  flush(): ClientAction<string>[] {
    return this.handle({ type: 'writable' })
  }

  /** Submits a task under a new name, and returns the name. */
  submitAny(args: readonly ArgumentSource[] = []): string {
    const owner = `t${this.#nextTask}`
    this.#nextTask += 1
    this.submit(owner, args)
    return owner
  }

  /** Somebody asks for a result that is kept in the cluster. */
  want(owner: string): ClientAction<string>[] {
    return this.handle({ type: 'resultRequested', taskId: taskId(owner), owner })
  }

  /** A result that is kept in the cluster will never be requested. */
  drop(owner: string): ClientAction<string>[] {
    return this.handle({ type: 'resultDropped', taskId: taskId(owner) })
  }

  cancel(owner: string): ClientAction<string>[] {
    return this.handle({ type: 'cancelRequested', taskId: taskId(owner) })
  }

  disconnect(reason = 'reset'): ClientAction<string>[] {
    return this.handle({ type: 'disconnected', reason })
  }

  /** How the task of an owner ended, if it has. */
  endOf(owner: string): Outcome | undefined {
    return this.ends.find(([name]) => name === owner)?.[1]
  }
}

/** The owner of all runs. */
export const RUN = 'run'

/** The id of a task in a run: of one of 64 blocks, at a place. */
export function runTaskId(place: number, block = 0): TaskId {
  const number = block * MAX_RUN_TASKS + place
  const digits = String.fromCharCode(number >>> 8, number & 0xff)
  return taskId(`${digits}middle-bytes${digits}`)
}

function nameOfTask({ owner, taskId: id }: { owner: string; taskId: TaskId }): string {
  return owner === RUN ? id : owner
}

/** The values of consecutive tasks in one message. */
export function runResult(first: TaskId, values: readonly string[]): TaskResult {
  const packed = pack(values.map((value) => Buffer.from(value)))
  return taskResult(first, { count: values.length, packed })
}

/** Options that say nothing. */
export const NO_OPTIONS: TaskOptions = {
  flags: Buffer.alloc(5),
  plainFlags: Buffer.alloc(5),
  parentTaskId: taskId(''),
  name: '',
  timeoutMs: 0,
  retries: 0,
  workerDeathLimit: 0,
  capabilities: [],
  output: 'log',
  outputClient: identity(''),
  traceContext: '',
}

/** The result of another task as an argument. */
export function resultOf(owner: string): ArgumentSource {
  return { type: 'task', taskId: taskId(owner) }
}

/** A task without options. */
export function submission(
  owner: string,
  args: readonly ArgumentSource[] = [],
  functionName = 'f',
  attachmentNames: readonly string[] = [],
): TaskSubmission<string> {
  const name = Buffer.from(functionName)
  return {
    taskId: taskId(owner),
    function: { id: objectId(`function:${functionName}`), name, content: name },
    attachments: attachmentNames.map((attachment) => {
      const bytes = Buffer.from(attachment)
      return { id: objectId(`attachment:${attachment}`), name: bytes, content: bytes }
    }),
    args,
    options: NO_OPTIONS,
    owner,
  }
}

/** A TaskResult; fields that are not given are empty. */
export function taskResult(owner: string, fields: Partial<TaskResult>): TaskResult {
  return {
    kind: 'taskResult',
    taskId: taskId(owner),
    status: 'success',
    metadata: NO_BYTES,
    results: [],
    ...PLAIN_RESULT,
    ...fields,
  }
}

/** News of a task that has not ended. */
export function taskUpdate(owner: string, update: TaskUpdate['update']): TaskUpdate {
  return { kind: 'taskUpdate', taskId: taskId(owner), update, done: 0, total: 0 }
}

/** A result inside the message. */
export function inlineResult(owner: string, value = 'ok'): TaskResult {
  return taskResult(owner, { inlineResults: [Buffer.from(value)] })
}

/** A result that is an object. */
export function storedResult(owner: string, id: string): TaskResult {
  return taskResult(owner, { results: [objectId(id)] })
}

/** The answer to a request for one object; undefined = the scheduler does not have it. */
export function objectResponse(id: string, content: string | undefined): Message {
  const isThere = content !== undefined
  return {
    kind: 'objectResponse',
    responseType: 'content',
    objectContent: {
      objectIds: [objectId(id)],
      objectTypes: isThere ? ['object'] : [],
      objectNames: isThere ? [NO_BYTES] : [],
      objectBytes: isThere ? [[Buffer.from(content)]] : [],
    },
  }
}

/** The messages among some actions. */
export function sent(actions: readonly ClientAction<string>[]): Message[] {
  return actions.flatMap((action) => (action.type === 'send' ? [action.message] : []))
}

/** What was sent, in short: `create f`, `task t0`, `cancel! t0`, `get r1`, `delete r1`. */
export function summary(actions: readonly ClientAction<string>[]): string[] {
  return actions.flatMap((action) => {
    if (action.type === 'send') return [summaryOf(action.message)]
    return action.type === 'sendHeartbeat' ? ['heartbeat'] : []
  })
}

/** The ids of some strings, for comparisons. */
export function ids(...texts: string[]): TaskId[] {
  return texts.map((text) => taskId(text))
}

function summaryOf(message: Message): string {
  switch (message.kind) {
    case 'task':
      return `task ${nameInRun(message)}`
    case 'taskCancel':
      return `cancel${message.flags.force ? '!' : ''} ${nameInRun(message)}`
    case 'objectRequest':
      return `get ${message.objectIds.map(nameOf).join(' ')}`
    case 'objectInstruction': {
      const { objectIds, objectNames } = message.objectContent
      const names = objectNames.map((name) => Buffer.from(name).toString())
      const isCreate = message.instructionType === 'create'
      return `${message.instructionType} ${(isCreate ? names : objectIds).join(' ')}`
    }
    case 'sharedObject':
      return [message.type, message.name, message.objectId].filter((text) => text !== '').join(' ')
    case 'clientDisconnect':
      return message.disconnectType === 'shutdown' ? 'shutdown' : 'goodbye'
    default:
      return message.kind
  }
}

/** The id of a task; of those in runs, their places: `5` or `5-7`. */
function nameInRun({ taskId: id, count }: { taskId: TaskId; count: number }): string {
  if (!isBlockId(id)) return id
  const place = placeInBlock(id)
  return count > 1 ? `${place}-${place + count - 1}` : String(place)
}

function nameOf(id: ObjectId): string {
  return id === SERIALIZER_ID ? 'serializer' : id
}

function featuresOf(scheduler: string): number {
  return scheduler === '' ? 0 : FEATURE_INLINE | FEATURE_TASK_UPDATES
}

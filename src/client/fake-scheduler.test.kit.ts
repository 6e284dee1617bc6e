// For tests of the client: a scheduler that runs the functions itself, in this process, and records
// violations of the protocol. Independent of sockets, so that it serves tests with and without
// them.

import { NO_BYTES, bytesToLatin1 } from '../base/bytes.js'
import {
  FEATURE_GRAPHS,
  FEATURE_INLINE,
  FEATURE_PEERS,
  FEATURE_RUNS,
  FEATURE_SHARED,
  FEATURE_TASK_UPDATES,
} from '../base/features.js'
import {
  identity,
  objectId,
  schedulerId,
  type Identity,
  type ObjectId,
  type TaskId,
} from '../base/ids.js'
import { serializeError } from '../serializer/error-codec.js'
import { defaultCodec, type TaskCodec } from '../serializer/task-codec.js'
import {
  type ClientHeartbeat,
  type Message,
  type ObjectInstruction,
  type ObjectRequest,
  PLAIN_RESULT,
  type SchedulerReport,
  type SharedObject,
  type Task,
  type TaskStatus,
} from '../wire/message.js'
import { joinChunks, splitChunks } from '../wire/object-content.js'
import { PackedReader } from '../serializer/value/packed/reader.js'
import { PackedWriter } from '../serializer/value/packed/writer.js'
import { countOf, layoutOf, mayBeginRun, nthTaskId } from '../wire/run.js'
import { FakeGraphs } from './graph/fake-graphs.kit.js'

const NO_REPORT: SchedulerReport = {
  version: '',
  runtime: '',
  clockMS: 0,
  monitorAddress: '',
  workers: 0,
  suitable: 0,
  idle: 0,
  workerReports: [],
  clientReports: [],
  clients: 0,
  waiting: [],
  freeBytes: 0,
}

/** The kind of scheduler. */
export interface FakeSchedulerOptions {
  /** Its id; '' = it behaves as version 1.9.9. Default: `scheduler-id-001`. */
  readonly id?: string
  /** Results up to this size travel inside the TaskResult, if it is not a 1.9.9 one. */
  readonly inlineLimitBytes?: number
  /** False: it gets single tasks only, like an older one. */
  readonly takesRuns?: boolean
  /** Whether it accepts graphs. By default they arrive as tasks. */
  readonly takesGraphs?: boolean
  /** The codec of the client, if it is not the default one. */
  readonly clientCodec?: TaskCodec
  /** The codec of its functions. Default: that of the default serializer. */
  readonly codec?: TaskCodec
}

type AnyFunction = (...args: unknown[]) => unknown

function busy(id: TaskId): Message {
  const [state, reason] = ['waiting', 'allBusy'] as const
  const rest = { needs: '', forMS: 0, dependsOn: [], attempts: [] }
  return { kind: 'taskExplanation', taskId: id, state, reason, ...rest }
}

/** One scheduler for any number of clients. */
export class FakeScheduler {
  /** All messages but heartbeats. */
  readonly received: Message[] = []
  /** All tasks, those of runs one by one. */
  readonly tasks: Task[] = []
  /** Violations of the protocol by clients. */
  readonly faults: string[] = []
  readonly objects: Map<ObjectId, Uint8Array> = new Map()
  /** The objects that clients find by a name; undefined: as a scheduler that shares none. */
  names: Map<string, ObjectId> | undefined
  /** Unfinished tasks, in order of arrival. */
  readonly unfinished: Map<TaskId, Task> = new Map()
  readonly graphs: FakeGraphs | undefined
  heartbeats = 0
  /** Heartbeats are not answered. */
  isMute = false
  /** Tasks are not run until `release`. */
  isHolding = false
  /** It says that all workers are busy, if it is asked about a task, and only then. */
  isBusy = false
  /** Clients may not shut the cluster down. */
  isProtected = false
  /** The size of all objects that clients have sent, in bytes. */
  uploadedBytes = 0
  /** The last heartbeat. */
  heartbeat: ClientHeartbeat | undefined
  /** The number of workers in reports; undefined: as a scheduler that makes none. */
  workers: number | undefined
  /** The duration in the profiles of tasks, in milliseconds. */
  durationMs = 1.5
  /** The most tasks that were unfinished at the same time. */
  maxUnfinished = 0
  id: string
  readonly #inlineLimitBytes: number
  readonly #codec: TaskCodec
  readonly #send: (to: Identity, message: Message) => void
  /** Clients that have sent a heartbeat over their connection. */
  readonly #clients = new Set<Identity>()
  #resultCount = 0
  /** The contents of all results: nodes of graphs may need them after their client has deleted them. */
  readonly #results = new Map<ObjectId, Uint8Array>()
  readonly #takesRuns: boolean
  readonly #isForeign: boolean
  /** Tasks that came packed. */
  readonly #packed = new Set<TaskId>()
  /** Values of such tasks that are sent together, in order of completion. */
  #values: { readonly task: Task; readonly payload: Uint8Array }[] = []

  constructor(send: (to: Identity, message: Message) => void, options: FakeSchedulerOptions = {}) {
    this.#send = send
    this.id = options.id ?? 'scheduler-id-001'
    this.#inlineLimitBytes = options.inlineLimitBytes ?? 8_192
    this.#codec = options.codec ?? defaultCodec
    this.#takesRuns = options.takesRuns ?? true
    this.#isForeign = options.clientCodec !== undefined
    if (options.takesGraphs !== true) return
    this.graphs = new FakeGraphs({
      run: (task) => this.#onTask(task.source, task),
      drop: (id) => this.unfinished.delete(id),
      copyOf: (id) => this.#storeResult(this.#results.get(id) ?? NO_BYTES),
      send,
    })
  }

  get isOurs(): boolean {
    return this.id !== ''
  }

  /** The kinds of all received messages, except heartbeats. */
  get kinds(): string[] {
    return this.received.map((message) =>
      message.kind === 'objectInstruction' ? message.instructionType : message.kind,
    )
  }

  /** Forgets everything, as after a restart. */
  restart(id: string = this.id): void {
    this.id = id
    this.objects.clear()
    this.unfinished.clear()
    this.#packed.clear()
    this.#values = []
    this.#clients.clear()
  }

  /** A client's connection ended. */
  onDisconnect(client: Identity): void {
    this.#clients.delete(client)
  }

  /** Runs the held tasks. */
  release(): void {
    this.isHolding = false
    for (const task of this.unfinished.values()) void this.#run(task)
  }

  handle(from: Identity, message: Message): void {
    if (message.kind === 'clientHeartbeat') {
      this.heartbeat = message
      this.#onHeartbeat(from)
      return
    }
    this.received.push(message)
    if (!this.#clients.has(from)) this.faults.push(`${message.kind} before a heartbeat`)
    switch (message.kind) {
      case 'task':
        return this.#onTask(from, message)
      case 'objectInstruction':
        return this.#onInstruction(from, message)
      case 'objectRequest':
        return this.#onRequest(from, message)
      case 'sharedObject':
        return this.#onShared(from, message)
      case 'taskCancel':
        for (let index = 0; index < countOf(message); index += 1) {
          const task = this.unfinished.get(nthTaskId(message.taskId, index))
          if (task !== undefined) this.refuse(task, 'canceled')
        }
        return
      case 'taskInquiry':
        return this.#send(from, busy(message.taskId))
      case 'graphTask':
        if (this.graphs === undefined) this.faults.push('a graph')
        return this.graphs?.onPart(message)
      case 'graphTaskCancel':
        return this.graphs?.onCancel(message.taskId)
      case 'clientDisconnect':
        if (message.disconnectType === 'disconnect') this.#clients.delete(from)
        else this.#send(from, { kind: 'clientShutdownResponse', accepted: !this.isProtected })
        return
      default:
        this.faults.push(`unexpected ${message.kind}`)
    }
  }

  /** Reports the progress of a task to the client. */
  report(task: Task, done: number, total: number): void {
    const { taskId, source } = task
    this.#send(source, { kind: 'taskUpdate', taskId, update: 'progress', done, total })
  }

  /** Ends a task without a result. */
  refuse(task: Task, status: TaskStatus): void {
    this.unfinished.delete(task.taskId)
    this.#reply(task, { status, results: [], inlineResults: [] })
  }

  /** Ends a task with a value or an error. */
  finish(task: Task, status: 'success' | 'failed', payload: Uint8Array): void {
    if (!this.unfinished.delete(task.taskId)) return
    if (this.isOurs && payload.byteLength <= this.#inlineLimitBytes) {
      if (status === 'success' && this.#packed.delete(task.taskId)) {
        return this.#sendLater(task, payload)
      }
      this.#reply(task, { status, results: [], inlineResults: [payload] })
      return
    }
    const id = this.#storeResult(payload)
    this.#reply(task, { status, results: [id], inlineResults: [] })
  }

  #sendLater(task: Task, payload: Uint8Array): void {
    if (this.#values.push({ task, payload }) === 1) setImmediate(() => this.#sendValues())
  }

  /** Values of consecutive tasks are sent in one message. */
  #sendValues(): void {
    const values = this.#values
    this.#values = []
    let first = values[0]
    let writer = new PackedWriter(this.#codec)
    for (const [index, { task, payload }] of values.entries()) {
      first ??= values[index]
      writer.beginEntry()
      this.#write(writer, payload)
      writer.endEntry()
      const next = values[index + 1]?.task.taskId
      if (first === undefined) continue
      const id = first.task.taskId
      const { count } = writer
      if (mayBeginRun(id, count + 1) && next === nthTaskId(id, count)) continue
      this.#sendRun(task.source, id, count, writer.finish())
      first = undefined
      writer = new PackedWriter(this.#codec)
    }
  }

  /** Tests finish tasks with any bytes. */
  #write(writer: PackedWriter, payload: Uint8Array): void {
    if (this.#isForeign) return writer.serialized(payload)
    try {
      writer.value(this.#codec.deserialize(payload), Infinity)
    } catch {
      writer.serialized(payload)
    }
  }

  #sendRun(to: Identity, id: TaskId, count: number, packed: Uint8Array): void {
    const metadata = Buffer.alloc(16 * count)
    for (let index = 0; index < count; index += 1)
      metadata.writeFloatBE(this.durationMs / 1_000, 16 * index)
    const worker = identity('worker 1')
    const about = { taskId: id, status: 'success', metadata, results: [], count, packed } as const
    this.#send(to, { kind: 'taskResult', ...PLAIN_RESULT, worker, ...about })
  }

  #storeResult(content: Uint8Array): ObjectId {
    this.#resultCount += 1
    const id = objectId(`result ${this.#resultCount}`.padEnd(24))
    this.objects.set(id, content)
    this.#results.set(id, content)
    return id
  }

  #onHeartbeat(from: Identity): void {
    this.heartbeats += 1
    this.#clients.add(from)
    if (this.isMute) return
    const graphs = this.graphs === undefined ? 0 : FEATURE_GRAPHS
    const runs = this.#takesRuns ? FEATURE_RUNS : 0
    const shared = this.names === undefined ? 0 : FEATURE_SHARED
    const peers = this.isBusy ? FEATURE_PEERS : 0
    const ours = FEATURE_INLINE | FEATURE_TASK_UPDATES | graphs | runs | shared | peers
    const features = this.isOurs ? ours : 0
    this.#send(from, {
      kind: 'clientHeartbeatEcho',
      schedulerId: schedulerId(this.id),
      features,
      reports: this.#reports(),
      waiting: [],
    })
  }

  #reports(): readonly SchedulerReport[] {
    const { workers } = this
    if (workers === undefined || this.heartbeat?.wantsReport !== true) return []
    return [{ ...NO_REPORT, workers, suitable: workers }]
  }

  #onTask(from: Identity, task: Task): void {
    if (task.source !== from) this.faults.push('a task with a foreign source')
    if (task.packed.byteLength > 0) return this.#onRun(from, task)
    this.tasks.push(task)
    if (this.unfinished.has(task.taskId)) {
      if (!this.isOurs) this.faults.push('the same task twice')
      return
    }
    this.unfinished.set(task.taskId, task)
    this.maxUnfinished = Math.max(this.maxUnfinished, this.unfinished.size)
    if (!this.isHolding) void this.#run(task)
  }

  #onRun(from: Identity, task: Task): void {
    const count = countOf(task)
    const reader = new PackedReader(task.packed, layoutOf(task.packed, count), this.#codec)
    if (!mayBeginRun(task.taskId, count)) this.faults.push('a run with unsuitable ids')
    for (let index = 0; index < count; index += 1) {
      const taskId = nthTaskId(task.taskId, index)
      const args = reader
        .serialized(index)
        .map((bytes) => ({ type: 'inline', data: bytes }) as const)
      this.#packed.add(taskId)
      const functionArgs = [...args, ...task.functionArgs]
      this.#onTask(from, { ...task, taskId, functionArgs, count: 0, packed: NO_BYTES })
    }
  }

  #onShared(from: Identity, { type, name, objectId: id }: SharedObject): void {
    const known = this.names?.get(name)
    if (type === 'publish' || type === 'restore') {
      this.names?.set(name, id)
      const published = { type: 'published', name, objectId: id, sizeBytes: 0 } as const
      return this.#send(from, { kind: 'sharedObject', ...published })
    }
    if (type === 'remove') this.names?.delete(name)
    if (type !== 'find' && type !== 'remove') return
    const outcome = type === 'find' ? 'found' : 'removed'
    const answer = known === undefined ? 'missing' : outcome
    const sizeBytes = known === undefined ? 0 : (this.objects.get(known)?.byteLength ?? 0)
    const sent = { type: answer, name, objectId: known ?? objectId(''), sizeBytes } as const
    this.#send(from, { kind: 'sharedObject', ...sent })
  }

  #onInstruction(from: Identity, message: ObjectInstruction): void {
    const { objectIds, objectBytes } = message.objectContent
    if (message.objectUser !== from) this.faults.push('an object with a foreign user')
    for (const [index, id] of objectIds.entries()) {
      if (message.instructionType === 'delete') this.objects.delete(id)
      else this.#store(id, joinChunks(objectBytes[index] ?? []))
    }
  }

  #store(id: ObjectId, content: Uint8Array): void {
    this.uploadedBytes += content.byteLength
    this.objects.set(id, Buffer.from(content))
  }

  #onRequest(from: Identity, message: ObjectRequest): void {
    const found = message.objectIds.filter((id) => this.objects.has(id))
    const isMissing = found.length < message.objectIds.length
    this.#send(from, {
      kind: 'objectResponse',
      responseType: isMissing && this.isOurs ? 'objectNotExist' : 'content',
      objectContent: {
        objectIds: message.objectIds,
        objectTypes: found.map(() => 'object'),
        objectNames: found.map(() => NO_BYTES),
        objectBytes: found.map((id) => splitChunks(this.objects.get(id) ?? NO_BYTES)),
      },
    })
  }

  async #run(task: Task): Promise<void> {
    try {
      const codec = this.#codec
      const functionBytes = this.#object(task.funcObjectId)
      const inputs = task.functionArgs.map((argument) => {
        const isInline = argument.type === 'inline' || argument.type === 'sharedInline'
        if (!isInline) return this.#object(objectId(bytesToLatin1(argument.data)))
        if (!this.isOurs) this.faults.push('an inline argument')
        return argument.data
      })
      const attachments = inputs.splice(inputs.length - codec.attachmentCount(functionBytes))
      const stored = attachments.map((bytes) => ({ bytes, token: bytes }))
      const { value: fn } = codec.deserializeFunction(functionBytes, stored)
      const args = inputs.map((bytes) => codec.deserialize(bytes))
      // A task that throws ends no earlier than those that came before it.
      const value = await Promise.resolve().then(() => (fn as AnyFunction)(...args))
      this.finish(task, 'success', codec.serialize(value))
    } catch (error) {
      this.finish(task, 'failed', serializeError(error))
    }
  }

  #object(id: ObjectId): Uint8Array {
    const bytes = this.objects.get(id) ?? this.#results.get(id)
    if (bytes !== undefined) return bytes
    this.faults.push('an object is missing')
    throw new Error(`missing object ${id}`)
  }

  #reply(
    task: Task,
    result: {
      readonly status: TaskStatus
      readonly results: readonly ObjectId[]
      readonly inlineResults: readonly Uint8Array[]
    },
  ): void {
    if (this.graphs?.onEnd(task, result) === true) return
    // In the order in which tasks end.
    this.#sendValues()
    const metadata = Buffer.alloc(result.status === 'success' ? 16 : 0)
    if (metadata.length > 0) metadata.writeFloatBE(this.durationMs / 1_000, 0)
    const { taskId } = task
    const told = this.isOurs ? { worker: identity('worker 1') } : {}
    const plain = { kind: 'taskResult', ...PLAIN_RESULT, ...told } as const
    this.#send(task.source, { ...plain, taskId, metadata, ...result })
  }
}

// A scheduler controlled by a test: it talks to real workers over a real socket, and sends them
// tasks on request.

import { OUR_FEATURES } from '#src/base/features.js'
import {
  identity,
  objectId,
  schedulerId,
  taskId,
  type Identity,
  type TaskId,
} from '#src/base/ids.js'
import { deserializeError } from '#src/serializer/error-codec.js'
import { defaultSerializer } from '#src/serializer/serializer.js'
import { RouterSocket } from '#src/transport/router.js'
import type { IncomingMessage } from '#src/transport/options.js'
import {
  decode,
  encodeFrame,
  type Message,
  type ObjectContent,
  type ObjectRequest,
  PLAIN_TASK,
  type Task,
  type TaskArgument,
  type TaskResult,
  type WorkerHeartbeat,
} from '#src/wire/message.js'
import { decodeProfileResult, encodeTaskFlags, type ProfileResult } from '#src/wire/metadata.js'
import { serializerIdOf } from '#src/worker/object-ids.js'
import { until } from './condition.js'

const CLIENT: Identity = identity('1|Client|00112233445566778899aabbccddeeff')

/** How a task of a test ended. */
export interface Outcome {
  readonly status: TaskResult['status']
  /** The result, or the error. */
  readonly value: unknown
  readonly profile: ProfileResult | undefined
  /** Its position among all outcomes. */
  readonly order: number
  readonly result: TaskResult
}

/** A task that was sent. */
export interface SentTask {
  readonly id: string
  readonly taskId: TaskId
  /** The message, to be sent again. */
  readonly message: Task
  readonly outcome: Promise<Outcome>
}

/** A heartbeat and its sender. */
export interface SeenHeartbeat {
  readonly from: Identity
  readonly heartbeat: WorkerHeartbeat
}

/** The options of a task. */
export interface SendOptions {
  readonly worker?: Identity | undefined
  /** Arguments travel as objects, not inside the task. */
  readonly asObjects?: boolean
  readonly profiling?: boolean
  readonly source?: Identity
  readonly priority?: number
  /** Fields that a 1.9.9 scheduler does not know. */
  readonly extension?: Partial<Omit<Task, 'kind' | 'bytes'>>
}

/** The options of the scheduler. */
export interface FakeSchedulerOptions {
  /** Like one of ours by default. 0: like 1.9.9. */
  readonly features?: number
  readonly address?: string
}

/** A scheduler for one test. */
export class FakeScheduler {
  readonly heartbeats: SeenHeartbeat[] = []
  readonly messages: Message[] = []
  readonly disconnects: Identity[] = []
  /** Objects by id, as latin1. */
  readonly objects: Map<string, readonly Uint8Array[]> = new Map()
  readonly #features: number
  readonly #open = new Map<string, (outcome: Outcome) => void>()
  readonly #connected = new Set<Identity>()
  #router: RouterSocket | undefined
  #taskCount = 0
  #outcomeCount = 0

  private constructor(features: number) {
    this.#features = features
    this.objects.set(serializerIdOf(CLIENT), [Buffer.from('scaler-ts/default')])
  }

  static async start(options: FakeSchedulerOptions = {}): Promise<FakeScheduler> {
    const scheduler = new FakeScheduler(options.features ?? OUR_FEATURES)
    scheduler.#router = await RouterSocket.bind(options.address ?? 'tcp://127.0.0.1:0', {
      onMessages: (from, messages) => scheduler.#onMessages(from, messages),
      onConnect: (peer) => void scheduler.#connected.add(peer),
      onDisconnect: (peer) => void scheduler.#connected.delete(peer),
      onDrain: () => {},
      onProgress: () => {},
    })
    return scheduler
  }

  get address(): string {
    return this.#socket.address
  }

  /** Workers that are connected and have sent a heartbeat. */
  get workers(): Identity[] {
    const registered = new Set(this.heartbeats.map(({ from }) => from))
    return [...this.#connected].filter((peer) => registered.has(peer))
  }

  /**
   * The reports of running tasks, in order: `waiting`, `resumed`, `progress 1 of 2`. Without
   * `running`, which is only sent for tasks that have run for some time.
   */
  updatesOf(id: string): string[] {
    return this.messages.flatMap((message) => {
      if (message.kind !== 'taskUpdate' || message.taskId !== id) return []
      const { update, done, total } = message
      if (update === 'running') return []
      return [update === 'progress' ? `progress ${done} of ${total}` : update]
    })
  }

  /** How often a task has reported that it waits for its child tasks. */
  waitsOf(id: string): number {
    return this.updatesOf(id).filter((update) => update === 'waiting').length
  }

  /** The process ids of all processors that workers have reported. */
  get processorIds(): Set<number> {
    const all = this.heartbeats.flatMap(({ heartbeat }) => heartbeat.processors)
    return new Set(all.map(({ pid }) => pid))
  }

  async registered(count = 1): Promise<Identity> {
    await until(`${count} workers have registered`, () => this.workers.length >= count)
    return this.workers[0] as Identity
  }

  send(message: Message, worker: Identity | undefined = this.workers[0]): void {
    if (worker === undefined) throw new Error('there is no worker')
    this.#socket.send(worker, encodeFrame(message))
  }

  /** Sends a task and returns its outcome later. */
  submit<A extends unknown[]>(
    fn: (...args: A) => unknown,
    args: A,
    options: SendOptions = {},
  ): SentTask {
    const functionId = this.#store(defaultSerializer.serialize(fn))
    return this.submitStored(
      functionId,
      args.map((arg) => defaultSerializer.serialize(arg)),
      options,
    )
  }

  /** The same, with arguments that are stored objects. */
  submitWith(fn: (...args: never[]) => unknown, objectIds: readonly string[]): SentTask {
    const functionId = this.#store(defaultSerializer.serialize(fn))
    const functionArgs = objectIds.map((id): TaskArgument => {
      return { type: 'objectID', data: Buffer.from(id, 'latin1') }
    })
    return this.submitStored(functionId, [], { extension: { functionArgs } })
  }

  /** Whether a task has not been answered. */
  isOpen(id: string): boolean {
    return this.#open.has(id)
  }

  /** The same, for a function and arguments in their bytes. */
  submitStored(
    functionId: string,
    args: readonly Uint8Array[],
    options: SendOptions = {},
  ): SentTask {
    const id = String((this.#taskCount += 1)).padStart(16, '0')
    const outcome = new Promise<Outcome>((resolve) => this.#open.set(id, resolve))
    const functionArgs = args.map((bytes): TaskArgument => {
      return options.asObjects === true
        ? { type: 'objectID', data: Buffer.from(this.#store(bytes), 'latin1') }
        : { type: 'inline', data: bytes }
    })
    const task: Task = {
      kind: 'task',
      taskId: taskId(id),
      source: options.source ?? CLIENT,
      metadata: encodeTaskFlags({
        profiling: options.profiling ?? false,
        priority: options.priority ?? 0,
      }),
      funcObjectId: objectId(functionId),
      functionArgs,
      ...PLAIN_TASK,
      ...options.extension,
    }
    this.send(task, options.worker)
    return { id, taskId: taskId(id), message: task, outcome }
  }

  cancel(id: string, force: boolean): void {
    this.send({
      kind: 'taskCancel',
      taskId: taskId(id),
      count: 0,
      flags: { force, retrieveTaskObject: false },
    })
  }

  /** Stores bytes as an object, under an id that depends on the bytes. */
  #store(bytes: Uint8Array): string {
    const known = [...this.objects].find(
      ([, [chunk]]) => chunk !== undefined && isEqual(chunk, bytes),
    )
    const id = known?.[0] ?? `object ${this.objects.size}`
    this.objects.set(id, [bytes])
    return id
  }

  /** An object with these bytes. */
  storeObject(bytes: Uint8Array): string {
    return this.#store(bytes)
  }

  disconnect(worker: Identity): void {
    this.#socket.disconnect(worker, 'the test wants it')
  }

  close(): Promise<void> {
    return this.#socket.close()
  }

  get #socket(): RouterSocket {
    if (this.#router === undefined) throw new Error('not bound')
    return this.#router
  }

  #onMessages(from: Identity, messages: readonly IncomingMessage[]): void {
    for (const frame of messages) this.#onMessage(from, decode(Buffer.from(frame as Buffer)))
  }

  #onMessage(from: Identity, message: Message): void {
    this.messages.push(message)
    switch (message.kind) {
      case 'workerHeartbeat':
        this.heartbeats.push({ from, heartbeat: message })
        return this.send(
          {
            kind: 'workerHeartbeatEcho',
            schedulerId: schedulerId(this.#features === 0 ? '' : 'test'),
            features: this.#features,
          },
          from,
        )
      case 'objectRequest':
        return this.#onObjectRequest(from, message)
      case 'objectInstruction':
        return this.#onCreate(message.objectContent)
      case 'taskResult':
        return this.#onTaskResult(message)
      case 'disconnectRequest':
        this.disconnects.push(message.worker)
        return this.send({ kind: 'disconnectResponse', worker: message.worker }, from)
      default:
    }
  }

  /** As in docs/protocol.md#objects: existing and missing objects, each in a message. */
  #onObjectRequest(from: Identity, { objectIds }: ObjectRequest): void {
    const there = objectIds.filter((id) => this.objects.has(id))
    const missing = objectIds.filter((id) => !this.objects.has(id))
    const none = { objectTypes: [], objectNames: [], objectBytes: [] }
    const content: ObjectContent = {
      objectIds: there,
      objectTypes: there.map(() => 'object' as const),
      objectNames: there.map(() => Buffer.from('name')),
      objectBytes: there.map((id) => this.objects.get(id) ?? []),
    }
    if (this.#features === 0) {
      const objectContent = { ...content, objectIds }
      this.send({ kind: 'objectResponse', responseType: 'content', objectContent }, from)
      return
    }
    this.send({ kind: 'objectResponse', responseType: 'content', objectContent: content }, from)
    if (missing.length === 0) return
    const objectContent = { objectIds: missing, ...none }
    this.send({ kind: 'objectResponse', responseType: 'objectNotExist', objectContent }, from)
  }

  /** What is on a server is not fetched from there. */
  #onCreate({ objectIds, objectTypes, objectBytes }: ObjectContent): void {
    for (const [index, id] of objectIds.entries()) {
      this.objects.set(id, objectTypes[index] === 'stored' ? [] : (objectBytes[index] ?? []))
    }
  }

  #onTaskResult(result: TaskResult): void {
    const { taskId: id, status, results, inlineResults, metadata } = result
    const resolve = this.#open.get(id)
    this.#open.delete(id)
    const [objectResult] = results
    const chunks =
      objectResult === undefined ? inlineResults : (this.objects.get(objectResult) ?? [])
    const order = (this.#outcomeCount += 1)
    resolve?.({
      status,
      value: readValue(status, chunks),
      profile: decodeProfileResult(metadata),
      order,
      result,
    })
  }
}

function readValue(status: TaskResult['status'], chunks: readonly Uint8Array[]): unknown {
  const bytes = Buffer.concat(chunks)
  if (bytes.length === 0) return undefined
  if (status === 'success') return defaultSerializer.deserialize(bytes)
  if (status !== 'failed') return undefined
  // Other runtimes' content is shown as it is.
  return bytes[0] === 'c'.charCodeAt(0) ? bytes.toString() : deserializeError(bytes)
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

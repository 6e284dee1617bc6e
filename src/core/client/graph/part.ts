// A part of a graph as a message: some consecutive calls, and which of them are targets.
// docs/protocol.md#graph-parts

import { assert } from '../../../base/assert.js'
import { copyOf, latin1ToBytes, NO_BYTES } from '../../../base/bytes.js'
import type { Identity, ObjectId, TaskId } from '../../../base/ids.js'
import type { GraphTask, Task, TaskArgument, TaskResult } from '../../../wire/message.js'
import { argumentName } from '../../../wire/object-content.js'
import type { ClientCoreOptions, GraphSubmission, TaskOptions } from '../events.js'
import type { ClientObject, ClientObjectTable } from '../objects.js'
import { ResultInput } from '../task/task.js'
import type { GraphNodes } from './nodes.js'

// The contents of a graph: its calls, and the objects that they use, each held once until the graph
// ends.

/** The objects of a function: its own, then its attachments. */
interface FunctionObjects {
  readonly function: ClientObject
  readonly attachments: readonly ClientObject[]
}

/**
 * Results of other tasks that arrived in messages are copied into each call that uses them, up to
 * this many bytes.
 */
const MAX_COPIED_BYTES = 256

/** The contents of one graph. */
export class GraphContents<Owner> {
  readonly graphId: TaskId
  readonly options: TaskOptions
  readonly nodes: GraphNodes
  readonly #coreOptions: ClientCoreOptions
  readonly #objects: ClientObjectTable
  readonly #functions: FunctionObjects[] = []
  /** Undefined: it does not exist, and no call that needs it is ever sent. */
  readonly #sources: (ClientObject | ResultInput<Owner> | Uint8Array | undefined)[] = []
  readonly #used: ClientObject[] = []
  /** Results of calls that need not be made again, by position: bytes, or the id of an object. */
  readonly #kept = new Map<number, Uint8Array | ObjectId>()
  #hasResults = false

  constructor(
    submission: GraphSubmission<Owner>,
    coreOptions: ClientCoreOptions,
    objects: ClientObjectTable,
  ) {
    this.graphId = submission.graphId
    this.options = submission.options
    this.nodes = submission.nodes
    this.#coreOptions = coreOptions
    this.#objects = objects
    for (const { function: fn, attachments } of this.nodes.functions) {
      this.#functions.push({
        function: this.#keep(objects.use(fn, 'function')),
        attachments: attachments.map((value) => this.#keep(objects.use(value, 'attachment'))),
      })
    }
    for (const source of this.nodes.sources) {
      if (source.type === 'shared') {
        this.#sources.push(this.#settled(source.content))
        continue
      }
      const value = source.type === 'value' ? source.value : undefined
      const pinned = source.type === 'object' ? objects.pinned(source.id)?.value : undefined
      const held = value ?? pinned
      this.#sources.push(held && this.#keep(objects.use(held, 'argument')))
    }
  }

  /** The number of uses of objects. For tests. */
  get objectUses(): number {
    return this.#used.length
  }

  /** Whether any source is the result of a task outside of the graph. */
  get hasResults(): boolean {
    return this.#hasResults
  }

  /** Sets the result that a source refers to. */
  setResult(source: number, input: ResultInput<Owner>): void {
    this.#hasResults = true
    this.#sources[source] = input
  }

  functionOf(position: number): FunctionObjects {
    const found = this.#functions[this.nodes.functionOf(position)]
    assert(found !== undefined, 'a call has no function')
    return found
  }

  /** A value that is not stored in the nodes: bytes, or an object. */
  sourceAt(number: number): Uint8Array | ClientObject | ResultInput<Owner> {
    const source = this.#sources[number]
    assert(source !== undefined, 'a call was sent though its input does not exist')
    if (!(source instanceof ResultInput) || source.content === undefined) return source
    const settled = this.#settled(source.content)
    this.#sources[number] = settled
    return settled
  }

  /** Whether the value of a source is shared by all tasks: a result or a pinned object. */
  isShared(number: number): boolean {
    return this.nodes.sources[number]?.type !== 'value'
  }

  /** Whether the scheduler keeps results of calls for this client. */
  get hasKept(): boolean {
    return this.#kept.size > 0
  }

  /** The result of a call that need not be made again. */
  keptAt(position: number): Uint8Array | ObjectId | undefined {
    return this.#kept.get(position)
  }

  /** The graph was dropped, but this result is still there. False: it is not that of a call. */
  keep({ taskId, results: [id], inlineResults: [bytes] }: TaskResult): boolean {
    const position = this.nodes.positionOf(taskId)
    const result = bytes === undefined ? id : copyOf(bytes)
    if (position === undefined || result === undefined) return false
    if (!(result instanceof Uint8Array)) this.#objects.keepResult(result)
    this.#kept.set(position, result)
    return true
  }

  /** These objects are lost. Returns the calls whose results they are. */
  loseKept(lost: ReadonlySet<ObjectId>): readonly number[] {
    const calls: number[] = []
    for (const [position, result] of this.#kept) {
      if (result instanceof Uint8Array || !lost.has(result)) continue
      this.#kept.delete(position)
      calls.push(position)
    }
    return calls
  }

  /** Another scheduler has none of them. */
  forgetKept(): void {
    this.#kept.clear()
  }

  /** Releases all objects. */
  release(): void {
    for (const object of this.#used) this.#objects.release(object)
    this.#used.length = 0
    for (const result of this.#kept.values()) {
      if (!(result instanceof Uint8Array)) this.#objects.removeResult(result)
    }
    this.#kept.clear()
  }

  #keep(object: ClientObject): ClientObject {
    this.#used.push(object)
    return object
  }

  /** The content of a result: the bytes, or an object. */
  #settled(content: Uint8Array): Uint8Array | ClientObject {
    if (content.byteLength <= MAX_COPIED_BYTES) return content
    const id = this.#coreOptions.objectIdOf(content)
    const value = { id, name: argumentName('', id), content }
    return this.#keep(this.#objects.use(value, 'argument'))
  }
}

/** A part is sent when it has this many calls, or this many bytes. */
const MAX_PART_NODES = 200
const MAX_PART_BYTES = 64 * 1024
/** The approximate size of a call without its arguments, and of an argument, in bytes. */
const NODE_BYTES = 160
const ARGUMENT_BYTES = 24

/** A part under construction. */
export class GraphPart<Owner> {
  readonly #contents: GraphContents<Owner>
  readonly #source: Identity
  readonly #nodes: Task[] = []
  readonly #targets: TaskId[] = []
  /** The approximate size. */
  bytes = 0
  /** The objects that must be sent before it. */
  readonly objects: Set<ClientObject> = new Set()

  constructor(contents: GraphContents<Owner>, source: Identity) {
    this.#contents = contents
    this.#source = source
  }

  get isFull(): boolean {
    return this.#nodes.length >= MAX_PART_NODES || this.bytes >= MAX_PART_BYTES
  }

  /** Whether it has no calls. */
  get isEmpty(): boolean {
    return this.#nodes.length === 0
  }

  /** Adds a call. */
  add(position: number, isTarget: boolean): void {
    const { nodes, options } = this.#contents
    const taskId = nodes.idOf(position)
    const { function: fn, attachments } = this.#contents.functionOf(position)
    this.objects.add(fn)
    const functionArgs: TaskArgument[] = []
    const end = nodes.argsStart(position + 1)
    for (let at = nodes.argsStart(position); at < end; at += 1) {
      functionArgs.push(this.#argument(nodes.argAt(at)))
    }
    for (const attachment of attachments) functionArgs.push(this.#object(attachment))
    if (isTarget) this.#targets.push(taskId)
    this.bytes += NODE_BYTES
    this.#nodes.push({
      kind: 'task',
      taskId,
      source: this.#source,
      metadata: options.flags,
      funcObjectId: fn.value.id,
      functionArgs,
      capabilities: options.capabilities,
      parentTaskId: options.parentTaskId,
      name: options.name,
      timeoutMs: options.timeoutMs,
      retries: options.retries,
      workerDeathLimit: options.workerDeathLimit,
      attempt: 0,
      keepsResult: false,
      mayHaveRun: false,
      output: options.output,
      outputClient: options.outputClient,
      traceContext: options.traceContext,
      count: 0,
      packed: NO_BYTES,
    })
  }

  /** The message. `isOpen`: more parts of the same graph follow. */
  message(isOpen: boolean): GraphTask {
    return {
      kind: 'graphTask',
      taskId: this.#contents.graphId,
      source: this.#source,
      targets: this.#targets,
      graph: this.#nodes,
      isOpen,
    }
  }

  #argument(argument: number): TaskArgument {
    const { nodes } = this.#contents
    if (argument >= 0) {
      const kept = this.#contents.keptAt(argument)
      if (kept === undefined) return this.#id('task', nodes.idOf(argument))
      if (kept instanceof Uint8Array) return this.#inline(kept, 'sharedInline')
      return this.#id('sharedObjectID', kept)
    }
    const number = nodes.sourceOf(~argument)
    if (number === undefined) return this.#inline(nodes.bytesOf(~argument))
    const source = this.#contents.sourceAt(number)
    if (source instanceof Uint8Array) return this.#inline(source, 'sharedInline')
    if (!(source instanceof ResultInput)) {
      return this.#object(source, this.#contents.isShared(number))
    }
    const { result } = source.task
    assert(result !== undefined, 'a call was sent before its input is ready')
    return this.#id('sharedObjectID', result.objectId)
  }

  #object(object: ClientObject, isShared = false): TaskArgument {
    this.objects.add(object)
    return this.#id(isShared ? 'sharedObjectID' : 'objectID', object.value.id)
  }

  #id(type: 'task' | 'objectID' | 'sharedObjectID', id: TaskId | ObjectId): TaskArgument {
    this.bytes += id.length + ARGUMENT_BYTES
    return { type, data: latin1ToBytes(id) }
  }

  #inline(bytes: Uint8Array, type: 'inline' | 'sharedInline' = 'inline'): TaskArgument {
    this.bytes += bytes.byteLength + ARGUMENT_BYTES
    return { type, data: bytes }
  }
}

// A part of a graph as a message: some of its calls, one behind the other, and which of them are
// targets. docs/protocol.md#graph-parts

import { assert } from '../../base/assert.js'
import { latin1ToBytes } from '../../base/bytes.js'
import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { GraphTask, Task, TaskArgument } from '../../wire/message.js'
import type { GraphContents } from './graph-contents.js'
import type { ClientObject } from './object-table.js'
import { ResultInput } from './task-record.js'

/** A part is sent when it has so many calls, or so many bytes. */
const MAX_PART_NODES = 200
const MAX_PART_BYTES = 64 * 1024
/** Roughly what a call takes beside its arguments, and what an argument takes, in bytes. */
const NODE_BYTES = 160
const ARGUMENT_BYTES = 24

/** One part in the making. */
export class GraphPart<Owner> {
  readonly #contents: GraphContents<Owner>
  readonly #source: Identity
  readonly #nodes: Task[] = []
  readonly #targets: TaskId[] = []
  /** Roughly what it takes. */
  bytes = 0
  /** What has to be there before it. */
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
    })
  }

  /** The message. `isOpen`: others of the same graph follow. */
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
    if (argument >= 0) return this.#id('task', nodes.idOf(argument))
    const number = nodes.sourceOf(~argument)
    if (number === undefined) return this.#inline(nodes.bytesOf(~argument))
    const source = this.#contents.sourceAt(number)
    if (source instanceof Uint8Array) return this.#inline(source, 'sharedInline')
    if (!(source instanceof ResultInput)) return this.#object(source)
    const { result } = source.task
    assert(result !== undefined, 'a call was sent before what it needs')
    return this.#id('sharedObjectID', result.objectId)
  }

  #object(object: ClientObject): TaskArgument {
    this.objects.add(object)
    return this.#id(object.isShared ? 'sharedObjectID' : 'objectID', object.value.id)
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

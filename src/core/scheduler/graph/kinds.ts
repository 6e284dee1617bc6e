// What nodes of a graph have in common, stored once: functions, and all fields of a Task besides
// its id, name and arguments.

import { asBuffer, copyOf } from '../../../base/bytes.js'
import type { ObjectId } from '../../../base/ids.js'
import type { Task } from '../../../wire/message.js'

/** The part of a Task that other nodes are likely to share. */
export type NodeOptions = Pick<
  Task,
  | 'source'
  | 'metadata'
  | 'capabilities'
  | 'parentTaskId'
  | 'timeoutMs'
  | 'retries'
  | 'workerDeathLimit'
  | 'output'
  | 'outputClient'
  | 'traceContext'
>

/** The shared data of similar nodes, and how many of them have no task yet. */
export interface NodeKind {
  readonly functionId: ObjectId
  readonly options: NodeOptions
  /** The number that wait for inputs. */
  waiting: number
  /** The number that are ready to run. */
  ready: number
  /** Whether the result of any of them was an object. */
  hasObjects: boolean
  /** Whether all their results were so small that nodes keep them in themselves. */
  isTiny: boolean
}

/** Functions with options, by number. */
export class NodeKindTable {
  readonly #kinds: NodeKind[] = []
  readonly #numbers = new Map<string, number>()
  /** The last kind of each function, which its next node nearly always has. */
  readonly #last = new Map<ObjectId, number>()

  /** The number of a node's function and options. */
  add(task: Task): number {
    const last = this.#last.get(task.funcObjectId)
    if (last !== undefined && isEqual(this.get(last).options, task)) return last
    const number = this.#find(task)
    this.#last.set(task.funcObjectId, number)
    return number
  }

  /** All kinds. */
  get all(): readonly NodeKind[] {
    return this.#kinds
  }

  /** The kind with a number. */
  get(number: number): NodeKind {
    return this.#kinds[number] as NodeKind
  }

  #find(task: Task): number {
    const key = keyOf(task)
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    const number = this.#kinds.length
    this.#numbers.set(key, number)
    const options = this.#optionsOf(task)
    this.#kinds.push({
      functionId: task.funcObjectId,
      options,
      waiting: 0,
      ready: 0,
      hasObjects: false,
      isTiny: true,
    })
    return number
  }

  /** Kinds that differ only in their functions share their options. */
  #optionsOf(task: Task): NodeOptions {
    const previous = this.#kinds.at(-1)?.options
    return previous !== undefined && isEqual(previous, task) ? previous : optionsOf(task)
  }
}

function optionsOf(task: Task): NodeOptions {
  return {
    source: task.source,
    metadata: copyOf(task.metadata),
    capabilities: task.capabilities,
    parentTaskId: task.parentTaskId,
    timeoutMs: task.timeoutMs,
    retries: task.retries,
    workerDeathLimit: task.workerDeathLimit,
    output: task.output,
    outputClient: task.outputClient,
    traceContext: task.traceContext,
  }
}

/** Always false for nodes with capabilities: these are compared by key. */
function isEqual(a: NodeOptions, b: NodeOptions): boolean {
  return (
    a.timeoutMs === b.timeoutMs &&
    a.retries === b.retries &&
    a.workerDeathLimit === b.workerDeathLimit &&
    a.source === b.source &&
    a.parentTaskId === b.parentTaskId &&
    a.output === b.output &&
    a.outputClient === b.outputClient &&
    a.traceContext === b.traceContext &&
    a.capabilities.length === 0 &&
    b.capabilities.length === 0 &&
    asBuffer(a.metadata).equals(b.metadata)
  )
}

function keyOf(task: Task): string {
  const { source, metadata, capabilities, parentTaskId, output, outputClient, traceContext } = task
  const numbers = [task.timeoutMs, task.retries, task.workerDeathLimit]
  const needs = capabilities.map(({ name, value }) => [name, value])
  const flags = asBuffer(metadata).toString('hex')
  const places = [source, parentTaskId, output, outputClient, traceContext]
  return JSON.stringify([task.funcObjectId, places, flags, numbers, needs])
}

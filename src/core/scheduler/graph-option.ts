// What the nodes of a graph have in common, kept once: functions, and everything that a Task says
// beside its id, its name and its arguments.

import type { ObjectId } from '../../base/ids.js'
import { asBuffer, copyOf } from '../../base/bytes.js'
import type { Task } from '../../wire/message.js'

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
>

/** What a node is beside its id and its arguments, and how many such nodes have no task yet. */
export interface NodeKind {
  readonly functionId: ObjectId
  readonly options: NodeOptions
  /** So many wait for inputs. */
  waiting: number
  /** So many could run. */
  ready: number
}

/** Functions with options, by number. */
export class NodeKindTable {
  readonly #kinds: NodeKind[] = []
  readonly #numbers = new Map<string, number>()
  /** By function: the kind seen last, which the next node that calls it nearly always is. */
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

  /** What a number stands for. */
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
    this.#kinds.push({ functionId: task.funcObjectId, options, waiting: 0, ready: 0 })
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
  }
}

/** Nodes with capabilities are compared by their keys. */
function isEqual(a: NodeOptions, b: NodeOptions): boolean {
  return (
    a.timeoutMs === b.timeoutMs &&
    a.retries === b.retries &&
    a.workerDeathLimit === b.workerDeathLimit &&
    a.source === b.source &&
    a.parentTaskId === b.parentTaskId &&
    a.output === b.output &&
    a.outputClient === b.outputClient &&
    a.capabilities.length === 0 &&
    b.capabilities.length === 0 &&
    asBuffer(a.metadata).equals(b.metadata)
  )
}

function keyOf(task: Task): string {
  const { source, metadata, capabilities, parentTaskId, output, outputClient } = task
  const numbers = [task.timeoutMs, task.retries, task.workerDeathLimit]
  const needs = capabilities.map(({ name, value }) => [name, value])
  const flags = asBuffer(metadata).toString('hex')
  const places = [source, parentTaskId, output, outputClient]
  return JSON.stringify([task.funcObjectId, places, flags, numbers, needs])
}

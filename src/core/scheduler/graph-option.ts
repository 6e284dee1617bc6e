// What the nodes of a graph have in common, kept once: functions, and everything that a Task says
// beside its id, its name, its function and its arguments.

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
>

/** Functions and options by number. */
export class NodeOptionTable {
  readonly #functions: ObjectId[] = []
  readonly #functionNumbers = new Map<ObjectId, number>()
  readonly #options: NodeOptions[] = []
  readonly #optionNumbers = new Map<string, number>()
  /** The options seen last, which the next node has nearly always. */
  #last: NodeOptions | undefined
  #lastNumber = 0

  /** The number of a function. */
  addFunction(id: ObjectId): number {
    const known = this.#functionNumbers.get(id)
    if (known !== undefined) return known
    this.#functionNumbers.set(id, this.#functions.length)
    return this.#functions.push(id) - 1
  }

  functionOf(number: number): ObjectId {
    return this.#functions[number] as ObjectId
  }

  /** The number of a node's options. */
  addOptions(task: Task): number {
    if (this.#last !== undefined && isEqual(this.#last, task)) return this.#lastNumber
    const key = keyOf(task)
    let number = this.#optionNumbers.get(key)
    if (number === undefined) {
      number = this.#options.push(optionsOf(task)) - 1
      this.#optionNumbers.set(key, number)
    }
    this.#last = this.#options[number]
    this.#lastNumber = number
    return number
  }

  optionsOf(number: number): NodeOptions {
    return this.#options[number] as NodeOptions
  }
}

function optionsOf(task: Task): NodeOptions {
  const { source, capabilities, parentTaskId, timeoutMs, retries, workerDeathLimit } = task
  const metadata = copyOf(task.metadata)
  return { source, metadata, capabilities, parentTaskId, timeoutMs, retries, workerDeathLimit }
}

/** Nodes with capabilities are compared by their keys. */
function isEqual(a: NodeOptions, b: NodeOptions): boolean {
  return (
    a.timeoutMs === b.timeoutMs &&
    a.retries === b.retries &&
    a.workerDeathLimit === b.workerDeathLimit &&
    a.source === b.source &&
    a.parentTaskId === b.parentTaskId &&
    a.capabilities.length === 0 &&
    b.capabilities.length === 0 &&
    asBuffer(a.metadata).equals(b.metadata)
  )
}

function keyOf(task: Task): string {
  const { source, metadata, capabilities, parentTaskId } = task
  const numbers = [task.timeoutMs, task.retries, task.workerDeathLimit]
  const needs = capabilities.map(({ name, value }) => [name, value])
  return JSON.stringify([source, parentTaskId, asBuffer(metadata).toString('hex'), numbers, needs])
}

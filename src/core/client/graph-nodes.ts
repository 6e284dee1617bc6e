// The calls of a graph, in flat arrays: a graph may have millions of them, and its client keeps
// them until it has ended, because a scheduler that was restarted needs them again.

import { assert } from '../../base/assert.js'
import { taskId, type TaskId } from '../../base/ids.js'
import { IntList } from '../../base/int-list.js'
import type { ArgumentSource, StoredValue } from './submission.js'

/** What is stored in the scheduler for a function. */
export interface GraphFunction {
  readonly function: StoredValue
  /** Big values of the function, which reach the worker as further arguments. */
  readonly attachments: readonly StoredValue[]
}

/** An argument that is no other node: as for any task, or a value that is stored as an object. */
export type GraphSource = ArgumentSource | { readonly type: 'value'; readonly value: StoredValue }

/** Small values share chunks of memory: from the first size, doubled up to the second, in bytes. */
const FIRST_CHUNK_BYTES = 1024
const MAX_CHUNK_BYTES = 1024 ** 2
/** Instead of a chunk: the value is a source. */
const NO_CHUNK = -1

/** Behind the bytes that the ids of all nodes share there are so many for the position. */
const POSITION_BYTES = 4

/** The id of the node at a position of the graph whose ids begin so. */
export function nodeId(prefix: string, position: number): TaskId {
  const upper = String.fromCharCode(position >>> 24, (position >>> 16) & 0xff)
  return taskId(prefix + upper + String.fromCharCode((position >>> 8) & 0xff, position & 0xff))
}

/** The position of the node with an id; undefined if it is of another graph. */
export function nodePosition(prefix: string, id: TaskId): number | undefined {
  if (id.length !== prefix.length + POSITION_BYTES || !id.startsWith(prefix)) return undefined
  let position = 0
  for (let at = prefix.length; at < id.length; at += 1) {
    position = position * 256 + id.charCodeAt(at)
  }
  return position
}

/**
 * Calls in an order in which each comes after those that it needs; a call is named by its position
 * in this order. An argument is the position of a call, or `~` the number of a value.
 */
export class GraphNodes {
  readonly functions: GraphFunction[] = []
  /** The sources that are not bytes. */
  readonly sources: Exclude<GraphSource, Uint8Array>[] = []
  readonly #idPrefix: string
  readonly #functionOf = new IntList()
  /** Where the arguments of a call begin. */
  readonly #starts = new IntList()
  readonly #args = new IntList()
  readonly #chunks: Buffer[] = []
  #chunkUsed = 0
  /** By value: its chunk, where in it, how long; or `NO_CHUNK` and the number of its source. */
  readonly #valueChunks = new IntList()
  readonly #valueOffsets = new IntList()
  readonly #valueBytes = new IntList()

  /** `idPrefix`: 12 bytes that no other graph has. */
  constructor(idPrefix: string) {
    this.#idPrefix = idPrefix
  }

  /** How many calls there are. */
  get count(): number {
    return this.#functionOf.length
  }

  /** The id of the task that is the call at a position. */
  idOf(position: number): TaskId {
    return nodeId(this.#idPrefix, position)
  }

  /** The position of the call with an id; undefined if it is none of this graph. */
  positionOf(id: TaskId): number | undefined {
    const position = nodePosition(this.#idPrefix, id)
    return position === undefined || position >= this.count ? undefined : position
  }

  /** Adds a function; returns its number. */
  addFunction(fn: GraphFunction): number {
    return this.functions.push(fn) - 1
  }

  /** Adds a value, of which small bytes are copied; returns its number. */
  addValue(source: GraphSource): number {
    const number = this.#valueChunks.length
    if (source instanceof Uint8Array) {
      this.#addBytes(source)
    } else {
      this.#valueChunks.push(NO_CHUNK)
      this.#valueOffsets.push(this.sources.push(source) - 1)
      this.#valueBytes.push(0)
    }
    return number
  }

  /** Adds a call after all others; its arguments follow. Returns its position. */
  addCall(functionNumber: number): number {
    const position = this.#functionOf.length
    this.#functionOf.push(functionNumber)
    this.#starts.push(this.#args.length)
    return position
  }

  /** Adds an argument of the last call: the result of an earlier one. */
  addCallArgument(position: number): void {
    this.#args.push(position)
  }

  /** Adds an argument of the last call: a value. */
  addValueArgument(number: number): void {
    this.#args.push(~number)
  }

  /** No more is added: gives back the room that was kept for it. */
  trim(): void {
    for (const list of [this.#functionOf, this.#starts, this.#args]) list.trim()
    for (const list of [this.#valueChunks, this.#valueOffsets, this.#valueBytes]) list.trim()
  }

  /** The number of the function of a call. */
  functionOf(position: number): number {
    return this.#functionOf.at(position)
  }

  /** The function of a call. */
  functionAt(position: number): GraphFunction {
    const fn = this.functions[this.functionOf(position)]
    assert(fn !== undefined, 'a call of no function')
    return fn
  }

  /** Where the arguments of a call begin; those of the next one begin where they end. */
  argsStart(position: number): number {
    return position < this.count ? this.#starts.at(position) : this.#args.length
  }

  /** One argument: the position of a call, or `~` the number of a value. */
  argAt(at: number): number {
    return this.#args.at(at)
  }

  /** The number of the source of a value; undefined if the value is bytes. */
  sourceOf(value: number): number | undefined {
    return this.#valueChunks.at(value) === NO_CHUNK ? this.#valueOffsets.at(value) : undefined
  }

  /** The bytes of a value that has no source: a view. */
  bytesOf(value: number): Uint8Array {
    const chunk = this.#chunks[this.#valueChunks.at(value)]
    const start = this.#valueOffsets.at(value)
    return chunk?.subarray(start, start + this.#valueBytes.at(value)) ?? Buffer.alloc(0)
  }

  /** What all values take that are bytes. */
  get valueBytes(): number {
    let bytes = this.#chunkUsed
    for (const chunk of this.#chunks.slice(0, -1)) bytes += chunk.byteLength
    return bytes
  }

  #addBytes(bytes: Uint8Array): void {
    let chunk = this.#chunks.at(-1)
    if (chunk === undefined || chunk.byteLength - this.#chunkUsed < bytes.byteLength) {
      const next = chunk === undefined ? FIRST_CHUNK_BYTES : chunk.byteLength * 2
      const size = Math.max(bytes.byteLength, Math.min(next, MAX_CHUNK_BYTES))
      chunk = Buffer.allocUnsafeSlow(size)
      this.#chunks.push(chunk)
      this.#chunkUsed = 0
    }
    chunk.set(bytes, this.#chunkUsed)
    this.#valueChunks.push(this.#chunks.length - 1)
    this.#valueOffsets.push(this.#chunkUsed)
    this.#valueBytes.push(bytes.byteLength)
    this.#chunkUsed += bytes.byteLength
  }
}

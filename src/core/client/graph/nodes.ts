// The calls of a graph, in flat arrays: a graph may have millions of calls, and its client keeps
// them until it has ended because a restarted scheduler needs them again.

import { assert } from '../../../base/assert.js'
import { taskId, type TaskId } from '../../../base/ids.js'
import { IntList } from '../../../base/collection/int-list.js'
import { isBlockId, numberAtEnd } from '../../../wire/run.js'
import type { ArgumentSource, StoredValue } from '../events.js'

// Which results of outside tasks, and which objects, the targets of a graph depend on, directly or
// through other nodes. Most graphs have no such dependencies; then this costs nothing.

const NOTHING = 0

/**
 * Sets of sources: a set is one source, or the union of two other sets. So a chain of nodes that
 * adds nothing shares one set, and one that adds a source per node needs one union per node.
 */
class SourceSets {
  readonly #left = new IntList()
  readonly #right = new IntList()
  /** The last walk that visited each set. */
  #seenBy = new Int32Array(0)
  #walk = 0

  constructor() {
    // Set 0 is empty.
    this.#add(0, 0)
  }

  ofSource(source: number): number {
    return this.#add(~source, 0)
  }

  union(one: number, other: number): number {
    if (one === other || other === NOTHING) return one
    return one === NOTHING ? other : this.#add(one, other)
  }

  /** The sources in a set. */
  list(set: number): number[] {
    if (set === NOTHING) return []
    if (this.#seenBy.length < this.#left.length) this.#seenBy = new Int32Array(this.#left.length)
    this.#walk += 1
    const sources: number[] = []
    const open = [set]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (this.#seenBy[next] === this.#walk) continue
      this.#seenBy[next] = this.#walk
      const left = this.#left.at(next)
      if (left < 0) sources.push(~left)
      else open.push(this.#right.at(next), left)
    }
    return sources
  }

  #add(left: number, right: number): number {
    this.#left.push(left)
    this.#right.push(right)
    return this.#left.length - 1
  }
}

/**
 * Calls `onNeeds` for each of some calls with the numbers of the sources that it depends on, among
 * those for which `isMeant`.
 */
export function needsOf(
  nodes: GraphNodes,
  positions: Iterable<number>,
  isMeant: (source: number) => boolean,
  onNeeds: (position: number, sources: readonly number[]) => void,
): void {
  const sets = new SourceSets()
  const ofSource = nodes.sources.map((_, source) =>
    isMeant(source) ? sets.ofSource(source) : NOTHING,
  )
  const ofNode = new Int32Array(nodes.count)
  for (let position = 0; position < nodes.count; position += 1) {
    let set = NOTHING
    const end = nodes.argsStart(position + 1)
    for (let at = nodes.argsStart(position); at < end; at += 1) {
      const argument = nodes.argAt(at)
      if (argument >= 0) set = sets.union(set, ofNode[argument] ?? NOTHING)
      else set = sets.union(set, ofSource[nodes.sourceOf(~argument) ?? -1] ?? NOTHING)
    }
    ofNode[position] = set
  }
  for (const position of positions) onNeeds(position, sets.list(ofNode[position] ?? NOTHING))
}

/** The stored objects of a function. */
interface GraphFunction {
  readonly function: StoredValue
  /** Large values captured by the function, which reach the worker as additional arguments. */
  readonly attachments: readonly StoredValue[]
}

/** An argument that is not another node: as for any task, or a value stored as an object. */
type GraphSource = ArgumentSource | { readonly type: 'value'; readonly value: StoredValue }

/**
 * Small values share chunks of memory: the first has the first size, and each next one twice as
 * much up to the second, in bytes.
 */
const FIRST_CHUNK_BYTES = 1024
const MAX_CHUNK_BYTES = 1024 ** 2
/** Instead of a chunk: the value is a source. */
const NO_CHUNK = -1

// The ids of calls. Calls of one function that may be ready together have consecutive numbers, so
// that a scheduler can send them as a run (docs/protocol.md#runs): the number of a call follows the
// layers of the graph, its position the best order of execution.

/** The length of the part of an id that all calls of a graph share. */
const PREFIX_LENGTH = 10

/** The id of the node with a number: the lower half of the number, the prefix, the number. */
function nodeId(prefix: string, number: number): TaskId {
  const lower = String.fromCharCode((number >>> 8) & 0xff, number & 0xff)
  const upper = String.fromCharCode(number >>> 24, (number >>> 16) & 0xff)
  return taskId(lower + prefix + upper + lower)
}

/** The number of the node with an id; undefined if it belongs to another graph. */
export function nodeNumber(prefix: string, id: TaskId): number | undefined {
  if (prefix.length !== PREFIX_LENGTH || !isBlockId(id)) return undefined
  return id.startsWith(prefix, 2) ? numberAtEnd(id) : undefined
}

/**
 * The numbers of calls, by position: in order of their layer, then of their function, then of their
 * position.
 */
function numberCalls(nodes: GraphNodes): Int32Array {
  const layers = new Int32Array(nodes.count)
  const functions = new Int32Array(nodes.count)
  for (let position = 0; position < nodes.count; position += 1) {
    let layer = 0
    const end = nodes.argsStart(position + 1)
    for (let at = nodes.argsStart(position); at < end; at += 1) {
      const input = nodes.argAt(at)
      if (input >= 0) layer = Math.max(layer, (layers[input] ?? 0) + 1)
    }
    layers[position] = layer
    functions[position] = nodes.functionOf(position)
  }
  const order = sortedBy(layers, sortedBy(functions, Int32Array.from(layers.keys())))
  const numbers = new Int32Array(nodes.count)
  for (const [number, position] of order.entries()) numbers[position] = number
  return numbers
}

/** Some positions by their small keys; those of equal keys keep their order. */
function sortedBy(keys: Int32Array, positions: Int32Array): Int32Array {
  let highest = 0
  for (const key of keys) highest = Math.max(highest, key)
  const next = new Int32Array(highest + 2)
  for (const key of keys) next[key + 1] = (next[key + 1] ?? 0) + 1
  for (let key = 0; key <= highest; key += 1)
    next[key + 1] = (next[key + 1] ?? 0) + (next[key] ?? 0)
  const sorted = new Int32Array(positions.length)
  for (const position of positions) {
    const key = keys[position] ?? 0
    const at = next[key] ?? 0
    sorted[at] = position
    next[key] = at + 1
  }
  return sorted
}

/**
 * Calls in an order in which each one comes after the calls that it needs; calls are identified by
 * their positions in this order. An argument is the position of a call, or `~` the number of a
 * value.
 */
export class GraphNodes {
  readonly functions: GraphFunction[] = []
  /** The sources that are not bytes. */
  readonly sources: Exclude<GraphSource, Uint8Array>[] = []
  readonly #idPrefix: string
  readonly #functionOf = new IntList()
  /** The first argument of each call. */
  readonly #starts = new IntList()
  readonly #args = new IntList()
  readonly #chunks: Buffer[] = []
  #chunkUsed = 0
  /** For each value: its chunk, offset and length; or `NO_CHUNK` and the number of its source. */
  readonly #valueChunks = new IntList()
  readonly #valueOffsets = new IntList()
  readonly #valueBytes = new IntList()
  /** Undefined before `finish`: the number of a call is its position. */
  #numbers: Int32Array | undefined
  /** By number. */
  #positions: Int32Array | undefined

  /** `idPrefix`: 10 bytes, unique to this graph. */
  constructor(idPrefix: string) {
    this.#idPrefix = idPrefix
  }

  /** The number of calls. */
  get count(): number {
    return this.#functionOf.length
  }

  /** The number in the id of the call at a position. */
  numberOf(position: number): number {
    return this.#numbers?.[position] ?? position
  }

  /** The id of the task for the call at a position. */
  idOf(position: number): TaskId {
    return nodeId(this.#idPrefix, this.numberOf(position))
  }

  /** The position of the call with an id; undefined if it is not in this graph. */
  positionOf(id: TaskId): number | undefined {
    const number = nodeNumber(this.#idPrefix, id)
    if (number === undefined || number >= this.count) return undefined
    return this.#positions?.[number] ?? number
  }

  /** Adds a function; returns its number. */
  addFunction(fn: GraphFunction): number {
    return this.functions.push(fn) - 1
  }

  /** Adds a value, copying bytes; returns its number. */
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

  /** Adds a call at the end; its arguments follow. Returns its position. */
  addCall(functionNumber: number): number {
    const position = this.#functionOf.length
    this.#functionOf.push(functionNumber)
    this.#starts.push(this.#args.length)
    return position
  }

  /** Adds an argument to the last call: the result of an earlier one. */
  addCallArgument(position: number): void {
    this.#args.push(position)
  }

  /** Adds an argument to the last call: a value. */
  addValueArgument(number: number): void {
    this.#args.push(~number)
  }

  /** Nothing more will be added: numbers the calls, and frees reserved memory. */
  finish(): void {
    this.#numbers = numberCalls(this)
    this.#positions = new Int32Array(this.count)
    for (const [position, number] of this.#numbers.entries()) this.#positions[number] = position
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
    assert(fn !== undefined, 'a call has no function')
    return fn
  }

  /**
   * The index of a call's first argument, which is also the end of the previous call's arguments.
   */
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

// The dependents of the calls of a graph. Created only when a target is cancelled.

/** The calls of a graph that need others. */
export class GraphDependents {
  /** The direct users of call n are `#users[#starts[n]]` to before `#starts[n + 1]`. */
  readonly #starts: Int32Array
  readonly #users: Int32Array
  /** By position: whether it was taken. */
  readonly #taken: Uint8Array

  /** Reads every argument of every call once. */
  constructor(nodes: GraphNodes) {
    this.#starts = new Int32Array(nodes.count + 1)
    this.#taken = new Uint8Array(nodes.count)
    forEachUse(nodes, (input) => {
      this.#starts[input + 1] = (this.#starts[input + 1] ?? 0) + 1
    })
    for (let position = 0; position < nodes.count; position += 1) {
      this.#starts[position + 1] = (this.#starts[position + 1] ?? 0) + (this.#starts[position] ?? 0)
    }
    const next = this.#starts.slice()
    this.#users = new Int32Array(this.#starts[nodes.count] ?? 0)
    forEachUse(nodes, (input, user) => {
      const at = next[input] ?? 0
      this.#users[at] = user
      next[input] = at + 1
    })
  }

  /**
   * The calls that need the one at `position`, directly or through others, except those taken
   * before: taking all of them one by one visits every use once.
   */
  take(position: number): number[] {
    const found: number[] = []
    const open = [position]
    for (let call = open.pop(); call !== undefined; call = open.pop()) {
      for (let at = this.#starts[call] ?? 0; at < (this.#starts[call + 1] ?? 0); at += 1) {
        const user = this.#users[at] ?? 0
        if (this.#taken[user] === 1) continue
        this.#taken[user] = 1
        found.push(user)
        open.push(user)
      }
    }
    return found
  }
}

function forEachUse(nodes: GraphNodes, onUse: (input: number, user: number) => void): void {
  for (let user = 0; user < nodes.count; user += 1) {
    const end = nodes.argsStart(user + 1)
    for (let at = nodes.argsStart(user); at < end; at += 1) {
      const input = nodes.argAt(at)
      if (input >= 0) onUse(input, user)
    }
  }
}

// The nodes of one graph as flat tables, 64 bytes each. Nodes are numbered in order of arrival. The
// inputs of a node are the nodes whose results it needs, in the order of its arguments, repeated if
// used more than once. Each such use is an edge; the edges that lead to one input form a linked
// list of its dependents.
//
// In a large graph nearly every access to another node misses all caches. Related data is therefore
// stored together in as few bytes as possible: a node, its first edges and, once it has ended and
// no longer needs these, its result if that is small.

import { assert } from '../../../base/assert.js'
import type { TaskId } from '../../../base/ids.js'
import type { Task, TaskArgument } from '../../../wire/message.js'
import type { AnyValues, ArgumentPacker } from '../../../wire/run.js'
import { NodeIndex, NONE } from './index.js'
import { type NodeKind, NodeKindTable } from './kinds.js'
import { NodeArgumentStore, Records } from './store.js'

/**
 * The states of a node; the final states come last. WAITING: it waits for inputs.
 */
export const WAITING = 0
/** All its inputs have succeeded. */
export const READY = 1
/** It has a task, which is queued or assigned to a worker. */
export const STARTED = 2
/** It succeeded. */
export const SUCCEEDED = 3
/** It or one of its inputs failed. */
export const FAILED = 4
/** It is no longer needed. */
export const DROPPED = 5

/** The client requested its result. */
export const IS_TARGET = 0x100
/** The client cancelled it. */
export const IS_UNWANTED = 0x200
/** All nodes that needed it ended without it, while the graph was open. */
export const IS_LOOSE = 0x400
/** Its worker was asked to keep the result. */
export const KEEPS_RESULT = 0x800

/** The field CONTENT is the handle of its arguments. */
const HAS_ARGUMENTS = 0x1000
/** Its value is stored in place of its edges; its outcome is the size in bytes. */
export const HOLDS_VALUE = 0x2000
/** That value is the id of an object. */
export const IS_OBJECT = 0x4000

const STATE_MASK = 0xff

/** The fields of a node: 64 bytes in total. */
const STATE = 0
/**
 * The number of its edges to unfinished inputs. Once it has ended: the next node on a list
 * (`NodeTable.chain`), plus 1.
 */
const PENDING = 1
/** The number of edges from unfinished nodes to it. */
const NEEDED = 2
/** The first edge to it from a node that has not been notified of its end. */
const DEPENDENTS = 3
const EDGE_COUNT = 4
/** The index of its edges from number `EDGES_HERE` on, which are consecutive. */
const MORE_EDGES = 5
const KIND = 6
/** The handle of its arguments; once it has ended, its outcome. */
const CONTENT = 7
/** Its first edges, two fields each: the input, and the next edge to that input. */
const EDGES = 8
const EDGES_HERE = 4
const NODE_FIELDS: number = EDGES + 2 * EDGES_HERE
const EDGE_BYTES: number = 2 * EDGES_HERE * 4

/** The fields of a further edge: the input, the next edge to that input, the node it is from. */
const FROM = 0
const NEXT = 1
const TO = 2
const EDGE_FIELDS = 3

/**
 * The name of an edge, which is never 0. For edges in the record of their node: node * 4 + the
 * number of the edge + 1; for others: this constant + their index.
 */
const FURTHER = 2 ** 31

/** All nodes of one graph. */
export class NodeTable {
  readonly #nodes = new Records(NODE_FIELDS)
  readonly #index = new NodeIndex()
  readonly #more = new Records(EDGE_FIELDS)
  readonly #kinds = new NodeKindTable()
  readonly #arguments = new NodeArgumentStore()
  readonly #counts = [0, 0, 0, 0, 0, 0]

  /** How many nodes there are in each state, by its number. */
  get counts(): readonly number[] {
    return this.#counts
  }

  get count(): number {
    return this.#nodes.count
  }

  /** The node of an id; `NONE` for an unknown one. */
  find(id: TaskId): number {
    return this.#index.find(id)
  }

  /** The same for an id in bytes. */
  findBytes(id: Uint8Array): number {
    return this.#index.findBytes(id)
  }

  idOf(node: number): TaskId {
    return this.#index.idOf(node)
  }

  /** The number in the id of a node; `NONE` if its id cannot be in a run. */
  numberOf(node: number): number {
    return this.#index.numberOf(node)
  }

  /** The node with this number in its id; `NONE` if there is none. */
  atNumber(number: number): number {
    return this.#index.atNumber(number)
  }

  /** All kinds of nodes. */
  get kinds(): readonly NodeKind[] {
    return this.#kinds.all
  }

  kindOf(node: number): NodeKind {
    return this.#kinds.get(this.#nodes.get(node, KIND))
  }

  /** Adds a node without edges. Add its edges with `addEdge` before the next node's. */
  add(task: Task): number {
    this.#index.add(task.taskId)
    const node = this.#nodes.add()
    const kind = this.#kinds.add(task)
    this.#nodes.set(node, KIND, kind)
    this.#kinds.get(kind).waiting += 1
    this.#count(WAITING, 1)
    const handle = this.#arguments.add(task)
    if (handle === 0) return node
    this.#nodes.set(node, CONTENT, handle)
    this.#nodes.set(node, STATE, HAS_ARGUMENTS)
    return node
  }

  /** Records that `node` needs the result of `input`, and waits if that has not ended. */
  addEdge(node: number, input: number): void {
    const edge = this.#nextEdge(node)
    this.#setEdge(edge, FROM, input)
    this.#nodes.increase(input, NEEDED, 1)
    if (this.hasEnded(input)) return
    this.#nodes.increase(node, PENDING, 1)
    this.#setEdge(edge, NEXT, this.#nodes.get(input, DEPENDENTS))
    this.#nodes.set(input, DEPENDENTS, edge)
  }

  stateOf(node: number): number {
    return this.#nodes.get(node, STATE) & STATE_MASK
  }

  setState(node: number, state: number): void {
    const before = this.#nodes.get(node, STATE)
    this.#nodes.set(node, STATE, (before & ~STATE_MASK) | state)
    this.#count(before & STATE_MASK, -1)
    this.#count(state, 1)
    const kind = this.kindOf(node)
    if ((before & STATE_MASK) === WAITING) kind.waiting -= 1
    else if ((before & STATE_MASK) === READY) kind.ready -= 1
    if (state === READY) kind.ready += 1
  }

  #count(state: number, change: number): void {
    this.#counts[state] = (this.#counts[state] ?? 0) + change
  }

  hasEnded(node: number): boolean {
    return this.stateOf(node) >= SUCCEEDED
  }

  has(node: number, flag: number): boolean {
    return (this.#nodes.get(node, STATE) & flag) !== 0
  }

  raise(node: number, flag: number): void {
    this.#nodes.set(node, STATE, this.#nodes.get(node, STATE) | flag)
  }

  lower(node: number, flag: number): void {
    this.#nodes.set(node, STATE, this.#nodes.get(node, STATE) & ~flag)
  }

  pendingOf(node: number): number {
    return this.#nodes.get(node, PENDING)
  }

  /** Counts an input as finished. Returns how many are left. */
  decreasePending(node: number): number {
    return this.#nodes.increase(node, PENDING, -1)
  }

  neededBy(node: number): number {
    return this.#nodes.get(node, NEEDED)
  }

  /** Counts a node that no longer needs it. Returns how many are left. */
  decreaseNeeded(node: number): number {
    return this.#nodes.increase(node, NEEDED, -1)
  }

  inputCount(node: number): number {
    return this.#nodes.get(node, EDGE_COUNT)
  }

  /** The input of one of its edges. */
  input(node: number, index: number): number {
    if (index < EDGES_HERE) return this.#nodes.get(node, EDGES + 2 * index + FROM)
    return this.#more.get(this.#nodes.get(node, MORE_EDGES) + index - EDGES_HERE, FROM)
  }

  /** Removes its last edge and returns the input; `NONE` when no edge is left. */
  takeInput(node: number): number {
    const count = this.#nodes.get(node, EDGE_COUNT)
    if (count === 0) return NONE
    this.#nodes.set(node, EDGE_COUNT, count - 1)
    return this.input(node, count - 1)
  }

  /** The first edge on the list of its dependents; 0 at the end. */
  firstEdgeTo(node: number): number {
    return this.#nodes.get(node, DEPENDENTS)
  }

  /** The next edge on that list; 0 at the end. */
  nextEdge(edge: number): number {
    if (edge >= FURTHER) return this.#more.get(edge - FURTHER, NEXT)
    return this.#nodes.get((edge - 1) >>> 2, EDGES + 2 * ((edge - 1) & 3) + NEXT)
  }

  /** The node that an edge belongs to. */
  dependentOf(edge: number): number {
    return edge >= FURTHER ? this.#more.get(edge - FURTHER, TO) : (edge - 1) >>> 2
  }

  /** Removes a dependent from the list; `NONE` once it is empty. */
  takeDependent(node: number): number {
    const edge = this.#nodes.get(node, DEPENDENTS)
    if (edge === 0) return NONE
    this.#nodes.set(node, DEPENDENTS, this.nextEdge(edge))
    return this.dependentOf(edge)
  }

  /** The outcome that `setOutcome` set; 0 if none. Valid only once it has ended. */
  outcomeOf(node: number): number {
    return this.#nodes.get(node, CONTENT)
  }

  /** Sets its outcome. Its arguments must have been released. */
  setOutcome(node: number, outcome: number): void {
    this.#nodes.set(node, CONTENT, outcome)
  }

  /**
   * Stores a small result in the node itself; its outcome is then the size in bytes. Returns false
   * if there is no room.
   */
  putValue(node: number, value: Uint8Array, isObject: boolean): boolean {
    if (value.byteLength === 0 || value.byteLength > EDGE_BYTES) return false
    if (this.inputCount(node) > 0) return false
    this.raise(node, isObject ? HOLDS_VALUE | IS_OBJECT : HOLDS_VALUE)
    this.setOutcome(node, value.byteLength)
    this.#nodes.buffer(node).set(value, this.#nodes.start(node, EDGES))
    return true
  }

  /** The same for the value that was found, which is not an object. */
  putFound(node: number, { bytes, start, end }: AnyValues): boolean {
    const length = end - start
    if (length === 0 || length > EDGE_BYTES || this.inputCount(node) > 0) return false
    this.raise(node, HOLDS_VALUE)
    this.setOutcome(node, length)
    const memory = this.#nodes.buffer(node)
    const at = this.#nodes.start(node, EDGES)
    for (let n = 0; n < length; n += 1) memory[at + n] = bytes[start + n] as number
    return true
  }

  /** Adds the value that it holds to the arguments of another node. */
  packValue(node: number, packer: ArgumentPacker): void {
    const start = this.#nodes.start(node, EDGES)
    packer.addShared(this.#nodes.buffer(node), start, start + this.outcomeOf(node))
  }

  /** Whether all its arguments are results of other nodes, and it has no name. */
  hasOnlyInputs(node: number): boolean {
    return !this.has(node, HAS_ARGUMENTS)
  }

  /** The value that `putValue` stored, as a view. */
  valueOf(node: number): Buffer {
    const start = this.#nodes.start(node, EDGES)
    return this.#nodes.buffer(node).subarray(start, start + this.outcomeOf(node))
  }

  /** The next node on the list of finished nodes; `NONE` at the end. */
  chained(node: number): number {
    return this.#nodes.get(node, PENDING) - 1
  }

  chain(node: number, next: number): void {
    this.#nodes.set(node, PENDING, next + 1)
  }

  /** Its name and arguments; `inputs` returns the arguments for its edges. */
  readArguments(
    node: number,
    inputs: (index: number) => TaskArgument,
  ): Pick<Task, 'name' | 'functionArgs'> {
    const handle = this.has(node, HAS_ARGUMENTS) ? this.#nodes.get(node, CONTENT) : 0
    return this.#arguments.read(handle, this.inputCount(node), inputs)
  }

  /** Releases its arguments. Safe to call twice. */
  releaseArguments(node: number): void {
    if (!this.has(node, HAS_ARGUMENTS)) return
    this.#arguments.release(this.#nodes.get(node, CONTENT))
    this.#nodes.set(node, CONTENT, 0)
    this.lower(node, HAS_ARGUMENTS)
  }

  /** Throws if ids, nodes or edge counts disagree. */
  checkInvariants(): void {
    this.#index.checkInvariants()
    const needed = new Map<number, number>()
    for (let node = 0; node < this.count; node += 1) {
      let pending = 0
      for (let index = 0; index < this.inputCount(node); index += 1) {
        const input = this.input(node, index)
        needed.set(input, (needed.get(input) ?? 0) + 1)
        if (!this.hasEnded(input)) pending += 1
      }
      const counted = this.pendingOf(node)
      assert(this.hasEnded(node) || counted >= pending, 'a node waits for too few inputs')
      assert(this.stateOf(node) !== READY || counted === 0, 'a ready node waits')
    }
    for (let node = 0; node < this.count; node += 1) {
      assert(this.neededBy(node) === (needed.get(node) ?? 0), 'dependents are miscounted')
    }
  }

  /** Adds an edge to a node and returns its name. */
  #nextEdge(node: number): number {
    const number = this.#nodes.increase(node, EDGE_COUNT, 1) - 1
    if (number < EDGES_HERE) return node * EDGES_HERE + number + 1
    const index = this.#more.add()
    if (number === EDGES_HERE) this.#nodes.set(node, MORE_EDGES, index)
    this.#more.set(index, TO, node)
    return FURTHER + index
  }

  #setEdge(edge: number, field: number, value: number): void {
    if (edge >= FURTHER) this.#more.set(edge - FURTHER, field, value)
    else this.#nodes.set((edge - 1) >>> 2, EDGES + 2 * ((edge - 1) & 3) + field, value)
  }
}

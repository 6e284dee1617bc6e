// The state of one graph. The modules that change it are part.ts (nodes arrive), task.ts (nodes
// start), settle.ts (nodes end) and graph.ts (the life of the graph).

import { assert } from '../../../base/assert.js'
import type { Identity, TaskId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type { TaskResult } from '../../../wire/message.js'
import type { ClientEntry, ObjectEntry, TaskEntry } from '../entries.js'
import { NONE, ReadySet } from './index.js'
import {
  DROPPED,
  FAILED,
  IS_TARGET,
  NodeTable,
  READY,
  STARTED,
  SUCCEEDED,
  WAITING,
} from './nodes.js'
import { EARLY_MS } from './outcome.js'
import { GraphShape } from './shape.js'
import { ValueStore } from './store.js'
import type { SchedulerState } from '../state.js'

/** A node that ran and failed. */
export interface Failure {
  /** Its result, in its own memory. */
  readonly result: TaskResult
  /** The error, if it is a stored object. */
  readonly error: Pick<ObjectEntry, 'type' | 'name' | 'chunks'> | undefined
}

/** The nodes of a graph that are ready. */
export class ReadyNodes {
  readonly #nodes: NodeTable
  readonly #ready = new ReadySet()
  /** The numbers of those whose results are tiny, as far as is known. */
  readonly #numbers = new ReadySet()

  constructor(nodes: NodeTable) {
    this.#nodes = nodes
  }

  /** The one that was sent first; `NONE`: there is none. */
  get first(): number {
    return this.#ready.first
  }

  get size(): number {
    return this.#ready.size
  }

  has(node: number): boolean {
    return this.#ready.has(node)
  }

  add(node: number): void {
    this.#ready.add(node)
    const number = this.#nodes.numberOf(node)
    if (number !== NONE && this.#nodes.kindOf(node).isTiny) this.#numbers.add(number)
  }

  remove(node: number): void {
    this.#ready.remove(node)
    const number = this.#nodes.numberOf(node)
    if (number !== NONE && this.#numbers.has(number)) this.#numbers.remove(number)
  }

  /**
   * Where a run begins instead of at this node, the first one: in the first layer that is ready. A
   * graph that is run layer by layer makes longer runs, but keeps more results: only tiny ones.
   */
  firstOfRun(node: number): number {
    return this.isTiny(node) ? this.#nodes.atNumber(this.#numbers.first) : node
  }

  /** Whether the result of a ready node is tiny, as far as is known. */
  isTiny(node: number): boolean {
    const number = this.#nodes.numberOf(node)
    return number !== NONE && this.#numbers.has(number)
  }

  /** Throws if the sets disagree. */
  checkInvariants(): void {
    this.#ready.checkInvariants()
    this.#numbers.checkInvariants()
    assert(this.#numbers.size <= this.#ready.size, 'numbers of nodes that are not ready')
  }
}

/** The tables of one graph. */
export class GraphTables {
  readonly state: SchedulerState
  readonly client: ClientEntry
  readonly id: TaskId
  /** When its first nodes arrived. */
  readonly begunAt: InstantMs
  readonly nodes: NodeTable = new NodeTable()
  /** Undefined: there are many nodes, and no monitor wanted graphs when they arrived. */
  shape: GraphShape | undefined = new GraphShape()
  /** Values of succeeded nodes, by outcome. */
  readonly values: ValueStore = new ValueStore()
  /** Failures of failed nodes, by outcome minus 1. */
  readonly failures: Failure[] = []
  /** Invariant: the nodes whose state is ready. */
  readonly ready: ReadyNodes
  /**
   * Queued tasks of nodes that no worker has had yet. Invariant: the queue has them in reverse
   * order, so the last one is first there, and precedes each ready node.
   */
  readonly queued: TaskEntry[] = []
  /** Objects that its nodes need, or may need. Invariant: each has this graph among its users. */
  readonly objects: Set<ObjectEntry> = new Set()
  objectBytes = 0
  /** Whether more nodes may arrive. */
  isOpen = true
  /** Whether any of its tasks has been queued before. */
  hasBegun = false
  /** The first finished node whose effects are pending; the head of a chain. */
  ended: number = NONE
  /** The number of unfinished nodes. */
  unfinished = 0
  /** No result is sent to its client before this time. */
  readonly tellsFrom: InstantMs
  /** Nodes before this one have been swept since the graph was closed. */
  swept = 0

  constructor(state: SchedulerState, client: ClientEntry, id: TaskId) {
    this.state = state
    this.client = client
    this.id = id
    this.begunAt = state.turn.now
    this.ready = new ReadyNodes(this.nodes)
    this.tellsFrom = client.features === 0 ? state.turn.now + EARLY_MS : -Infinity
  }

  /** The client that uses its objects. */
  get identity(): Identity {
    return this.client.identity
  }

  /** The errors in files that were kept for dependents are not needed any more. */
  releaseErrors(): void {
    for (const { id } of this.objects) this.state.objects.delete(this, [id])
  }
}

/** The targets that have not ended. */
export function unendedTargets({ nodes }: GraphTables): readonly TaskId[] {
  const ids: TaskId[] = []
  for (let node = 0; node < nodes.count; node += 1) {
    if (nodes.has(node, IS_TARGET) && !nodes.hasEnded(node)) ids.push(nodes.idOf(node))
  }
  return ids
}

// Invariants of the tables of a graph. For tests and simulation.

/** Throws if the tables disagree. `isAlive`: the graph is not cancelled. */
export function checkGraph(graph: GraphTables, isAlive: boolean): void {
  const { nodes, state } = graph
  for (const entry of graph.objects) assert(entry.users.has(graph), 'a graph lost an object')
  if (!isAlive) return
  nodes.checkInvariants()
  graph.ready.checkInvariants()
  checkNodes(graph)
  for (const [index, task] of graph.queued.entries()) {
    const after = graph.queued[index + 1]?.node?.rank ?? -1
    const isKnown = state.tasks.has(task)
    assert(isKnown && task.state === 'inactive', 'a queued node is not inactive')
    assert((task.node?.rank ?? -1) >= after, 'the queued nodes are out of order')
  }
  const front = graph.queued.at(-1)?.node?.rank
  const { first } = graph.ready
  if (first === NONE) return
  assert(front !== undefined && front <= first, 'a ready node is not queued')
}

function checkNodes(graph: GraphTables): void {
  const { nodes, state } = graph
  let unfinished = 0
  const left = new Map(nodes.kinds.map((kind) => [kind, [0, 0] as [number, number]]))
  for (let node = 0; node < nodes.count; node += 1) {
    const nodeState = nodes.stateOf(node)
    if (!nodes.hasEnded(node)) unfinished += 1
    const counts = left.get(nodes.kindOf(node))
    if (counts !== undefined && nodeState === WAITING) counts[0] += 1
    if (counts !== undefined && nodeState === READY) counts[1] += 1
    assert((nodeState === READY) === graph.ready.has(node), 'a ready node is not in the set')
    const task = state.tasks.peek(nodes.idOf(node))
    const isThere = task?.count === 1 ? task.node?.index === node : task?.node !== undefined
    if (nodeState === STARTED) assert(isThere, 'a started node has no task')
    if (nodeState === DROPPED) assert(!graph.isOpen, 'a node was dropped too early')
    if (nodeState === FAILED) assert(nodes.outcomeOf(node) !== 0, 'a node failed for no reason')
    if (nodeState === SUCCEEDED) checkValue(graph, node)
  }
  assert(unfinished === graph.unfinished, 'the unfinished nodes are miscounted')
  for (const [{ waiting, ready }, counts] of left) {
    assert(waiting === counts[0] && ready === counts[1], 'a kind miscounts its nodes')
  }
}

/** Throws if a result that may be needed is missing, or an unneeded one is kept. */
function checkValue({ nodes, isOpen, swept, ended }: GraphTables, node: number): void {
  const hasValue = nodes.outcomeOf(node) !== 0
  const isNeeded = isOpen || nodes.neededBy(node) > 0 || nodes.has(node, IS_TARGET)
  assert(!isNeeded || hasValue, 'a needed result is missing')
  const isSettled = ended < 0 && swept === nodes.count
  assert(isNeeded || !hasValue || !isSettled, 'an unneeded result is kept')
}

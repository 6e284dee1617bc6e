// A graph, from its first part to its last result: nodes of a client that depend on each other.
// docs/protocol.md#graph, docs/protocol.md#graph-parts
//
// Graphs use tasks, never the other way round: what happens to the task of a node is recorded as a
// fact, and applied here once the event is handled.

import { FEATURE_OPERATORS, hasFeature } from '../../../base/features.js'
import { idToHex, NO_TASK, type ObjectId, type TaskId } from '../../../base/ids.js'
import type {
  GraphReport,
  GraphTask,
  GraphTaskCancel,
  TaskResult,
  TaskStatus,
} from '../../../wire/message.js'
import type { ClientEntry, GraphNode, ObjectUser, TaskEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { adopt, leaveParent } from '../task/family.js'
import { addChild, parentLink } from '../task/links.js'
import { sendStatus, statusResult, stopLinks } from '../task/task.js'
import { holdsBack, roomFor, spendRoom } from '../worker/waiting-limit.js'
import { NONE } from './index.js'
import type { NodeKind } from './kinds.js'
import { followLinks, sendLinks } from './links.js'
import { DROPPED, IS_LOOSE, IS_TARGET, IS_UNWANTED, STARTED, SUCCEEDED } from './nodes.js'
import { NO_SALVAGE, type Salvage, salvageOf, type SalvageRoom } from './outcome.js'
import { addPart } from './part.js'
import {
  cancelNode,
  endUnstarted,
  failNode,
  freeValue,
  leaveQueue,
  settle,
  stopTask,
  succeedNode,
  succeedWith,
  sweep,
  tell,
} from './settle.js'
import { resultOfOne, valuesOf } from './run.js'
import { graphReport, type ReportRoom } from './shape.js'
import { checkGraph, GraphTables, unendedTargets } from './tables.js'
import { fillQueue } from './task.js'
import { MESSAGE_COST, STEP_COST, type Worklist } from './work.js'

/** Maximum number of nodes listed in `needsOf`. */
const MAX_NEEDS = 20

/** A graph of a client. It stays in the client's table until no further part can arrive. */
export class Graph implements Worklist {
  readonly id: TaskId
  /** The task that submitted it. Set only by `adopt` and `leaveParent`. */
  parent: TaskEntry | undefined
  readonly #state: SchedulerState
  readonly #client: ClientEntry
  #tables: GraphTables
  /** Set once it is cancelled or refused: none of its nodes is started anymore. */
  #abortStatus: TaskStatus | undefined
  /** Nodes before this one were aborted. */
  #abortedCount = 0
  /** The client received the result of the graph, or has left. */
  #isOver = false
  /** The client lost its connection and may have missed results: it will resend the graph. */
  #isUnacknowledged = false

  /** Adds itself to the table of its client. */
  constructor(state: SchedulerState, client: ClientEntry, id: TaskId) {
    this.#state = state
    this.#client = client
    this.id = id
    this.#tables = new GraphTables(state, client, id)
    client.graphs.set(id, this)
    state.graphWork.graphs.add(this)
  }

  /** A part arrives: the first, the next, or a repeated one. */
  add(message: GraphTask): void {
    const tables = this.#tables
    if (this.#abortStatus !== undefined) {
      this.#refuseTargets(message, this.#abortStatus)
      if (message.isOpen) return
      tables.isOpen = false
      if (this.#isOver) this.#leave()
      return
    }
    const trouble = addPart(tables, message)
    if (!message.isOpen) {
      tables.isOpen = false
      this.#isUnacknowledged = false
    }
    if (trouble === undefined) this.#work()
    else {
      const fields = { graph: idToHex(this.id), client: this.#client.identity }
      this.#state.blame(`refused a graph with ${trouble}`, fields)
      this.#abort('notFound')
    }
  }

  /** Refuses the graph when its first part arrives: none of its nodes will run. */
  refuse(message: GraphTask, status: TaskStatus): void {
    this.#tables.isOpen = message.isOpen
    this.#refuseTargets(message, status)
    this.#abort(status)
  }

  /** The client cancels the graph: no further part will follow. */
  cancelByClient(): void {
    this.#tables.isOpen = false
    if (this.#isOver) this.#leave()
    else this.#abort('canceled')
  }

  /** The task that submitted it did not succeed: it is cancelled. Its client is notified. */
  onParentFailed(): void {
    if (!this.#isOver) this.#abort('canceled')
  }

  /** Its client cancels a target. Returns false if there is no such target. */
  cancelTarget(id: TaskId): boolean {
    const tables = this.#tables
    const { nodes } = tables
    const node = nodes.find(id)
    if (this.#abortStatus !== undefined || node === NONE || !nodes.has(node, IS_TARGET))
      return false
    if (nodes.hasEnded(node)) {
      nodes.lower(node, IS_TARGET)
      nodes.raise(node, IS_UNWANTED | IS_LOOSE)
      if (nodes.stateOf(node) === SUCCEEDED) freeValue(tables, node)
    } else {
      cancelNode(tables, node)
    }
    this.#work()
    return true
  }

  /** An operator cancels an unfinished node, which gets this result. False: there is none. */
  cancelUnfinished(result: TaskResult): boolean {
    const tables = this.#tables
    const node = this.#abortStatus === undefined ? tables.nodes.find(result.taskId) : NONE
    if (node === NONE || tables.nodes.hasEnded(node)) return false
    const isToldWhy = hasFeature(this.#client.features, FEATURE_OPERATORS)
    cancelNode(tables, node, isToldWhy ? result : { ...result, error: [] })
    this.#work()
    return true
  }

  /** The name of the function of a node; empty: it has none, or it is unknown. */
  functionOf(id: TaskId): string {
    const { nodes, state } = this.#tables
    const node = nodes.find(id)
    if (node === NONE) return ''
    const fn = state.objects.get(nodes.kindOf(node).functionId)
    return fn === undefined ? '' : state.functions.of(fn).name
  }

  /** Whose graph it is. */
  get client(): ClientEntry {
    return this.#client
  }

  /** What its client waits for: the targets that have not ended, then the graph. */
  get awaited(): readonly TaskId[] {
    return this.#isOver ? [] : [...unendedTargets(this.#tables), this.id]
  }

  /** The first few nodes that a node waits for; undefined: there is no such node. */
  needsOf(id: TaskId): readonly TaskId[] | undefined {
    const { nodes } = this.#tables
    const node = nodes.find(id)
    if (node === NONE || nodes.hasEnded(node)) return undefined
    const needs: TaskId[] = []
    for (let index = 0; index < nodes.inputCount(node) && needs.length < MAX_NEEDS; index += 1) {
      const input = nodes.input(node, index)
      if (!nodes.hasEnded(input)) needs.push(nodes.idOf(input))
    }
    return needs
  }

  /** The task of a node has left the queue. What else happened to it is reported later. */
  onTaskTaken(task: TaskEntry): void {
    leaveQueue(this.#tables, task)
  }

  /** The task of a node was assigned to a worker. */
  onTaskAssigned(task: TaskEntry): void {
    const tables = this.#tables
    if (this.#abortStatus !== undefined) return
    if (task.count === 1) sendLinks(tables, task)
    fillQueue(tables, this)
    if (tables.ended !== NONE) this.#work()
  }

  /** The task of a node, or those of several nodes, has ended and left all tables. */
  onTaskEnded(task: TaskEntry, result: TaskResult): void {
    const tables = this.#tables
    const { nodes } = tables
    leaveQueue(tables, task)
    const isDead = this.#isOver || this.#abortStatus !== undefined
    const values = valuesOf(task, result)
    const first = isDead ? NONE : (task.node?.index ?? NONE)
    const number = first === NONE || task.count === 1 ? NONE : nodes.numberOf(first)
    for (let at = 0; at < task.count; at += 1) {
      const node = at === 0 || first === NONE ? first : nodes.atNumber(number + at)
      const isFound = values?.find(at) === true
      const isPlain = node !== NONE && !nodes.has(node, IS_TARGET) && !nodes.hasEnded(node)
      if (isFound && isPlain) succeedWith(tables, node, values)
      else
        this.#onNodeEnded(task, node, resultOfOne(task, result, at, isFound ? values : undefined))
    }
    this.#work()
  }

  #onNodeEnded(task: TaskEntry, node: number, result: TaskResult): void {
    const tables = this.#tables
    if (node === NONE || tables.nodes.hasEnded(node)) {
      stopLinks(this.#state, task)
      this.#state.objects.delete(this.#client, result.results)
    } else if (result.status === 'success') {
      succeedNode(tables, node, result)
      followLinks(tables, this, task)
    } else {
      failNode(tables, node, result)
      stopLinks(this.#state, task)
    }
  }

  /** The entry of some nodes was shortened. Returns what belongs to the entry of the others. */
  onCut(entry: TaskEntry, rest: TaskEntry): GraphNode {
    const { nodes, queued } = this.#tables
    const at = queued.indexOf(entry)
    if (at >= 0) queued.splice(at, 0, rest)
    const rank = entry.node?.rank ?? 0
    return { graph: this, index: nodes.find(rest.id), rank, input: undefined, links: undefined }
  }

  /** Its client lost its connection, and may reconnect. */
  onLinkLost(): void {
    this.#isUnacknowledged = true
  }

  /** Its client has left: no results are sent anymore. The caller ends its tasks. */
  forget(): void {
    this.#noteEnd('canceled')
    this.#abortStatus = 'canceled'
    this.#isOver = true
    leaveParent(this)
    this.#work()
  }

  /**
   * Objects that it needs are lost: its client will send it again. Returns what the client needs to
   * know of its results. The caller ends its tasks.
   */
  drop(lost: ReadonlySet<ObjectId>, room: SalvageRoom): Salvage {
    const isRunning = this.#abortStatus === undefined
    const salvage = isRunning ? salvageOf(this.#tables, lost, room) : NO_SALVAGE
    this.#tables.isOpen = false
    this.forget()
    // Cancelling the rest may take several turns.
    this.#client.graphs.delete(this.id)
    return salvage
  }

  /** Whether it is among the users of an object. */
  isAmong(users: ReadonlySet<ObjectUser>): boolean {
    return users.has(this.#tables)
  }

  advance(): boolean {
    const tables = this.#tables
    if (this.#abortStatus !== undefined) return this.#abortAll(this.#abortStatus)
    do {
      const isSettled = settle(tables) && sweep(tables)
      fillQueue(tables, this)
      if (!isSettled) return false
    } while (tables.ended !== NONE)
    if (tables.unfinished > 0 || tables.isOpen || this.#isUnacknowledged) return true
    const hasFailed = tables.failures.some(({ result }) => result.status !== 'canceled')
    this.#finish(hasFailed ? 'failed' : 'success')
    return true
  }

  /** Whether its client received its result, or has left. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The number of ready nodes that are not queued. */
  get readyCount(): number {
    return this.#abortStatus === undefined ? this.#tables.ready.size : 0
  }

  /** The kinds of its nodes, with the numbers of nodes without a task. */
  get kinds(): readonly NodeKind[] {
    return this.#abortStatus === undefined ? this.#tables.nodes.kinds : []
  }

  /** What monitors see of it; undefined once it has ended. */
  report(room: ReportRoom): GraphReport | undefined {
    const status = this.#abortStatus === undefined ? 'running' : 'canceling'
    return this.#isOver ? undefined : graphReport(this.#tables, status, room)
  }

  /** Throws if its tables disagree. */
  checkInvariants(): void {
    checkGraph(this.#tables, this.#abortStatus === undefined)
  }

  /** Handles a change. The queue is filled first, because the rest may take several turns. */
  #work(): void {
    if (this.#abortStatus === undefined) fillQueue(this.#tables, this)
    this.#state.graphWork.begin(this)
  }

  /** Cancels or refuses the graph: its unfinished nodes end with `status`. */
  #abort(status: TaskStatus): void {
    if (this.#abortStatus !== undefined) return
    this.#abortStatus = status
    this.#work()
  }

  /** Refuses the targets of a part that are not nodes; the others end with the graph. */
  #refuseTargets(message: GraphTask, status: TaskStatus): void {
    for (const id of message.targets) {
      const isNode = this.#tables.nodes.find(id) !== NONE
      if (!isNode) sendStatus(this.#state, this.#client, statusResult(id, status))
    }
  }

  /** Ends all unfinished nodes. Returns false if the budget of this turn is spent first. */
  #abortAll(status: TaskStatus): boolean {
    const tables = this.#tables
    const { graphWork, objects } = this.#state
    const count = this.#isOver ? 0 : tables.nodes.count
    for (; this.#abortedCount < count; this.#abortedCount += 1) {
      if (graphWork.left <= 0) return false
      graphWork.left -= STEP_COST
      this.#abortNode(this.#abortedCount, status)
    }
    for (const { id } of tables.objects) {
      if (graphWork.left <= 0) return false
      graphWork.left -= MESSAGE_COST
      objects.delete(tables, [id])
    }
    this.#finish(status)
    return true
  }

  #abortNode(node: number, status: TaskStatus): void {
    const tables = this.#tables
    const { nodes } = tables
    if (nodes.hasEnded(node)) return
    const isStarted = nodes.stateOf(node) === STARTED
    const task = isStarted ? this.#state.tasks.get(nodes.idOf(node)) : undefined
    nodes.setState(node, DROPPED)
    tables.unfinished -= 1
    if (!isStarted) endUnstarted(tables, node, status)
    if (task !== undefined) stopTask(tables, task)
    if (!nodes.has(node, IS_TARGET)) return
    this.#state.graphWork.left -= MESSAGE_COST
    tell(tables, statusResult(nodes.idOf(node), status))
  }

  /** For monitors that want graphs. */
  #noteEnd(status: TaskStatus): void {
    if (!this.#isOver)
      this.#state.monitors.onGraphEnded((room) => graphReport(this.#tables, status, room))
  }

  #finish(status: TaskStatus): void {
    this.#noteEnd(status)
    this.#tables.releaseErrors()
    leaveParent(this)
    if (!this.#isOver) tell(this.#tables, statusResult(this.id, status))
    this.#isOver = true
    // Parts that are still in transit must not create a new graph.
    if (!this.#tables.isOpen || this.#client.hasLeft) this.#leave()
    else this.#clear()
  }

  #leave(): void {
    this.#clear()
    const { graphs } = this.#client
    if (graphs.get(this.id) === this) graphs.delete(this.id)
    this.#state.graphWork.graphs.delete(this)
  }

  /** Frees the tables: tasks that are being cancelled may refer to the graph for a long time. */
  #clear(): void {
    const { isOpen } = this.#tables
    this.#tables = new GraphTables(this.#state, this.#client, this.id)
    this.#tables.isOpen = isOpen
  }
}

// Messages from clients about graphs. docs/protocol.md#graph

/** A client sends a graph, or a part of one. Repeated nodes are ignored. */
export function onGraphTask(state: SchedulerState, client: ClientEntry, message: GraphTask): void {
  const known = client.graphs.get(message.taskId)
  if (known === undefined) beginGraph(state, client, message)
  else known.add(message)
}

/** A client cancels a target of one of its graphs. Returns false if there is no such target. */
export function cancelTarget(state: SchedulerState, client: ClientEntry, id: TaskId): boolean {
  const task = state.tasks.get(id)
  if (task?.node !== undefined) return task.client === client && task.node.graph.cancelTarget(id)
  if (task !== undefined) return false
  for (const graph of client.graphs.values()) {
    if (graph.cancelTarget(id)) return true
  }
  return false
}

/** A client cancels a graph. */
export function onGraphTaskCancel(
  state: SchedulerState,
  client: ClientEntry,
  message: GraphTaskCancel,
): void {
  const graph = client.graphs.get(message.taskId)
  if (graph === undefined) sendStatus(state, client, statusResult(message.taskId, 'notFound'))
  else graph.cancelByClient()
}

/** `message`: the first part. All its nodes name the task that submitted it, if any. */
function beginGraph(state: SchedulerState, client: ClientEntry, message: GraphTask): void {
  const graph = new Graph(state, client, message.taskId)
  const parentId = message.graph[0]?.parentTaskId ?? NO_TASK
  const parent = parentId === '' ? undefined : state.tasks.get(parentId)
  const link = parent === undefined ? parentLink(client, parentId) : undefined
  spendRoom(state, client)
  if (parent === undefined && link === undefined && roomFor(state, client) < 1) {
    if (!holdsBack(client)) return graph.refuse(message, 'noWorker')
    // This one is accepted: its parts may be in transit. Its nodes are queued two at a time.
    state.output.send(client.identity, { kind: 'taskRoom', tasks: 0 })
  }
  // A graph submitted by a task that is being cancelled is cancelled with it.
  if (parent?.state === 'canceling') {
    graph.refuse(message, 'canceled')
    return
  }
  if (parent !== undefined) adopt(parent, graph)
  if (link !== undefined) addChild(link, graph)
  graph.add(message)
}

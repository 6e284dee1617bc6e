// One graph, from its first part to its last result: nodes of a client that depend on each other.
// docs/protocol.md#graph, docs/protocol.md#graph-parts

import type { TaskId } from '../../base/ids.js'
import { idToHex } from '../../base/ids.js'
import type { GraphTask, TaskResult, TaskStatus } from '../../wire/message.js'
import type { ClientEntry, GraphEntry, Runtime, TaskEntry } from './entries.js'
import { leaveParent } from './family.js'
import { checkGraph } from './graph-check.js'
import { NONE } from './graph-index.js'
import type { NodeKind } from './graph-option.js'
import { addPart } from './graph-part.js'
import {
  cancelNode,
  endUnstarted,
  failNode,
  freeValue,
  settle,
  stopTask,
  succeedNode,
  sweep,
  tell,
} from './graph-settle.js'
import { DROPPED, IS_LOOSE, IS_TARGET, IS_UNWANTED, STARTED, SUCCEEDED } from './graph-table.js'
import { GraphTables } from './graph-tables.js'
import { fillQueue, leaveQueue } from './graph-task.js'
import { MESSAGE_COST, STEP_COST, type GraphWorklist } from './graph-work.js'
import type { SchedulerState } from './state.js'
import { sendStatus, statusResult } from './task.js'

/** So many of the nodes are named that another one waits for. */
const MAX_NEEDS = 20

/** A graph of a client. It stays in the client's table until no further part can follow. */
export class Graph implements GraphEntry, GraphWorklist {
  readonly id: TaskId
  parent: TaskEntry | undefined
  readonly #state: SchedulerState
  readonly #client: ClientEntry
  #tables: GraphTables
  /** Why it comes to nothing: cancelled, or refused. Nothing of it is started any more. */
  #verdict: TaskStatus | undefined
  /** Nodes before this one have been told the verdict. */
  #judged = 0
  /** The client has been told how the graph ended, or has left. */
  #isOver = false
  /** The client lost its link and may have missed something: it will send the graph again. */
  #isDoubtful = false

  /** Enters the table of its client. */
  constructor(state: SchedulerState, client: ClientEntry, id: TaskId) {
    this.#state = state
    this.#client = client
    this.id = id
    this.#tables = new GraphTables(state, client, id)
    client.graphs.set(id, this)
    state.graphWork.graphs.add(this)
  }

  /** A part arrives: the first, the next, or one that had come before. */
  add(message: GraphTask): void {
    const tables = this.#tables
    if (this.#verdict !== undefined) {
      this.#refuseTargets(message, this.#verdict)
      if (message.isOpen) return
      tables.isOpen = false
      if (this.#isOver) this.#leave()
      return
    }
    const trouble = addPart(tables, message)
    if (!message.isOpen) {
      tables.isOpen = false
      this.#isDoubtful = false
    }
    if (trouble === undefined) this.#work()
    else {
      const fields = { graph: idToHex(this.id), client: this.#client.identity }
      this.#state.output.log('warn', `refused a graph with ${trouble}`, fields)
      this.#abort('notFound')
    }
  }

  /** The first part arrives, and nothing of the graph shall run. */
  refuse(message: GraphTask, verdict: TaskStatus): void {
    this.#tables.isOpen = message.isOpen
    this.#refuseTargets(message, verdict)
    this.#abort(verdict)
  }

  /** The client gives the graph up: no part will follow. */
  cancelByClient(): void {
    this.#tables.isOpen = false
    if (this.#isOver) this.#leave()
    else this.#abort('canceled')
  }

  cancel(): void {
    if (!this.#isOver) this.#abort('canceled')
  }

  cancelTarget(id: TaskId): boolean {
    const tables = this.#tables
    const { nodes } = tables
    const node = nodes.find(id)
    if (this.#verdict !== undefined || node === NONE || !nodes.has(node, IS_TARGET)) return false
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

  onTaken(task: TaskEntry): void {
    const tables = this.#tables
    leaveQueue(tables, task)
    if (this.#verdict !== undefined) return
    fillQueue(tables, this)
    if (tables.ended !== NONE) this.#work()
  }

  onEnded(task: TaskEntry, result: TaskResult): void {
    const tables = this.#tables
    const node = task.node?.index ?? NONE
    leaveQueue(tables, task)
    if (this.#isOver || this.#verdict !== undefined || tables.nodes.hasEnded(node)) {
      this.#state.objects.delete(this.#client, result.results)
      return
    }
    if (result.status === 'success') succeedNode(tables, node, result)
    else failNode(tables, node, result)
    this.#work()
  }

  onLinkLost(): void {
    this.#isDoubtful = true
  }

  forget(): void {
    this.#verdict = 'canceled'
    this.#isOver = true
    leaveParent(this)
    this.#work()
  }

  advance(): boolean {
    const tables = this.#tables
    if (this.#verdict !== undefined) return this.#judge(this.#verdict)
    do {
      const isSettled = settle(tables) && sweep(tables)
      fillQueue(tables, this)
      if (!isSettled) return false
    } while (tables.ended !== NONE)
    if (tables.unfinished > 0 || tables.isOpen || this.#isDoubtful) return true
    const hasFailed = tables.failures.some(({ result }) => result.status !== 'canceled')
    this.#finish(hasFailed ? 'failed' : 'success')
    return true
  }

  get runtime(): Runtime {
    return this.#client.runtime
  }

  get readyCount(): number {
    return this.#verdict === undefined ? this.#tables.ready.size : 0
  }

  get kinds(): readonly NodeKind[] {
    return this.#verdict === undefined ? this.#tables.nodes.kinds : []
  }

  checkInvariants(): void {
    checkGraph(this.#tables, this.#verdict === undefined)
  }

  /** Something has changed. Where the consequences have to wait, workers do not. */
  #work(): void {
    if (this.#verdict === undefined) fillQueue(this.#tables, this)
    this.#state.graphWork.begin(this)
  }

  /** A client that cancels or a graph that cannot be: nothing that has not ended will. */
  #abort(verdict: TaskStatus): void {
    if (this.#verdict !== undefined) return
    this.#verdict = verdict
    this.#work()
  }

  /** Targets of a part that are no nodes: those that are will be told with all others. */
  #refuseTargets(message: GraphTask, verdict: TaskStatus): void {
    for (const id of message.targets) {
      const isNode = this.#tables.nodes.find(id) !== NONE
      if (!isNode) sendStatus(this.#state, this.#client, id, verdict)
    }
  }

  /** Ends all that has not ended. False: the turn is over before all is done. */
  #judge(verdict: TaskStatus): boolean {
    const tables = this.#tables
    const { graphWork, objects } = this.#state
    const count = this.#isOver ? 0 : tables.nodes.count
    for (; this.#judged < count; this.#judged += 1) {
      if (graphWork.left <= 0) return false
      graphWork.left -= STEP_COST
      this.#judgeNode(this.#judged, verdict)
    }
    for (const { id } of tables.objects) {
      if (graphWork.left <= 0) return false
      graphWork.left -= MESSAGE_COST
      objects.delete(tables, [id])
    }
    this.#finish(verdict)
    return true
  }

  #judgeNode(node: number, verdict: TaskStatus): void {
    const tables = this.#tables
    const { nodes } = tables
    if (nodes.hasEnded(node)) return
    const task =
      nodes.stateOf(node) === STARTED ? this.#state.tasks.get(nodes.idOf(node)) : undefined
    nodes.setState(node, DROPPED)
    tables.unfinished -= 1
    if (task === undefined) endUnstarted(tables, node, verdict)
    else stopTask(this.#state, task)
    if (!nodes.has(node, IS_TARGET)) return
    this.#state.graphWork.left -= MESSAGE_COST
    tell(tables, statusResult(nodes.idOf(node), verdict))
  }

  #finish(status: TaskStatus): void {
    const { isOpen } = this.#tables
    leaveParent(this)
    if (!this.#isOver) tell(this.#tables, statusResult(this.id, status))
    this.#isOver = true
    // Parts that are on their way must not make a new graph.
    if (!isOpen || this.#client.hasLeft) this.#leave()
    else this.#clear()
  }

  #leave(): void {
    this.#clear()
    this.#client.graphs.delete(this.id)
    this.#state.graphWork.graphs.delete(this)
  }

  /** Tasks that are being cancelled may refer to the graph for long: they hold nothing of it. */
  #clear(): void {
    const { isOpen } = this.#tables
    this.#tables = new GraphTables(this.#state, this.#client, this.id)
    this.#tables.isOpen = isOpen
  }
}

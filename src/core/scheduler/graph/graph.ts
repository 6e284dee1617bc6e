// One graph, from its first part to its last result: nodes of a client that depend on each other.
// docs/protocol.md#graph, docs/protocol.md#graph-parts

import { assert } from '../../../base/assert.js'
import { idToHex, type TaskId } from '../../../base/ids.js'
import type { GraphTask, GraphTaskCancel, TaskResult, TaskStatus } from '../../../wire/message.js'
import type { ClientEntry, GraphEntry, Runtime, TaskEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { adopt, leaveParent } from '../task/family.js'
import { assignWaiting, sendStatus, statusResult } from '../task/task.js'
import { holdsBack, spendRoom, takesMore } from '../worker/load.js'
import { NONE } from './index.js'
import {
  DROPPED,
  FAILED,
  IS_LOOSE,
  IS_TARGET,
  IS_UNWANTED,
  type NodeKind,
  READY,
  STARTED,
  SUCCEEDED,
  WAITING,
} from './nodes.js'
import { addPart } from './part.js'
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
} from './settle.js'
import { GraphTables } from './tables.js'
import { fillQueue, leaveQueue } from './task.js'
import { type GraphWorklist, MESSAGE_COST, STEP_COST } from './work.js'

// What must hold in the tables of a graph, whatever has happened. For tests and simulation.

/** Throws if the tables disagree. `isAlive`: nobody has cancelled the graph. */
function checkGraph(graph: GraphTables, isAlive: boolean): void {
  const { nodes, state } = graph
  for (const entry of graph.objects) assert(entry.users.has(graph), 'a graph lost an object')
  if (!isAlive) return
  nodes.checkInvariants()
  graph.ready.checkInvariants()
  checkNodes(graph)
  for (const [index, task] of graph.queued.entries()) {
    const after = graph.queued[index + 1]?.node?.index ?? -1
    const isKnown = state.tasks.get(task.id) === task
    assert(isKnown && task.state === 'inactive', 'a node queues without waiting')
    assert((task.node?.index ?? -1) > after, 'the nodes of a graph queue in a wrong order')
  }
  const front = graph.queued.at(-1)?.node?.index
  const first = graph.ready.first
  assert(first < 0 || (front !== undefined && front < first), 'a ready node waits for nothing')
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
    const task = state.tasks.get(nodes.idOf(node))
    if (nodeState === STARTED) assert(task?.node?.index === node, 'a started node has no task')
    if (nodeState === DROPPED) assert(!graph.isOpen, 'a node was dropped too early')
    if (nodeState === FAILED) assert(nodes.outcomeOf(node) !== 0, 'a node failed for no reason')
    if (nodeState === SUCCEEDED) checkValue(graph, node)
  }
  assert(unfinished === graph.unfinished, 'the unfinished nodes are miscounted')
  for (const [{ waiting, ready }, counts] of left) {
    assert(waiting === counts[0] && ready === counts[1], 'a kind miscounts its nodes')
  }
}

/** Results are there for as long as something may need them, and no longer. */
function checkValue({ nodes, isOpen, swept, ended }: GraphTables, node: number): void {
  const hasValue = nodes.outcomeOf(node) !== 0
  const isNeeded = isOpen || nodes.neededBy(node) > 0 || nodes.has(node, IS_TARGET)
  assert(!isNeeded || hasValue, 'a result is gone that is needed')
  const isSettled = ended < 0 && swept === nodes.count
  assert(isNeeded || !hasValue || !isSettled, 'a result stays that nothing needs')
}

/** So many of the nodes are named that another one waits for. */
const MAX_NEEDS = 20

/** A graph of a client. It stays in the client's table until no further part can follow. */
class Graph implements GraphEntry, GraphWorklist {
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

// What clients say about graphs. docs/protocol.md#graph

/** A client sends a graph, or a part of one. What it has sent before makes nothing new. */
export function onGraphTask(state: SchedulerState, client: ClientEntry, message: GraphTask): void {
  const known = client.graphs.get(message.taskId)
  if (known === undefined) beginGraph(state, client, message)
  else known.add(message)
  assignWaiting(state, state.pools[client.runtime])
}

/** A client gives a graph up. */
export function onGraphTaskCancel(
  state: SchedulerState,
  client: ClientEntry,
  message: GraphTaskCancel,
): void {
  const graph = client.graphs.get(message.taskId)
  if (graph === undefined) sendStatus(state, client, message.taskId, 'notFound')
  else graph.cancelByClient()
  assignWaiting(state, state.pools[client.runtime])
}

function beginGraph(state: SchedulerState, client: ClientEntry, message: GraphTask): void {
  const graph = new Graph(state, client, message.taskId)
  const parent = parentOf(state, message)
  spendRoom(state, client)
  if (parent === undefined && !takesMore(state, client)) {
    if (!holdsBack(client)) return graph.refuse(message, 'noWorker')
    // This one is taken: parts of it may be on their way. Its nodes wait here, two at a time.
    state.output.send(client.identity, { kind: 'taskRoom', tasks: 0 })
  }
  // What a task submits while it is being cancelled has no chance.
  if (parent?.state === 'canceling') {
    graph.refuse(message, 'canceled')
    return
  }
  if (parent !== undefined) adopt(parent, graph)
  graph.add(message)
}

/** The task inside which a graph was built: all its nodes name the same. */
function parentOf(state: SchedulerState, message: GraphTask): TaskEntry | undefined {
  const id = message.graph[0]?.parentTaskId ?? ''
  return id === '' ? undefined : state.tasks.get(id)
}

// How nodes of a graph end, and the consequences: their dependents become ready or fail, and their
// inputs are freed or dropped. A finished node goes on a chain, which is processed edge by edge, so
// that no step depends on the number of connected nodes.

import { unreachable } from '../../../base/assert.js'
import { latin1ToBytes, NO_BYTES } from '../../../base/bytes.js'
import { identity } from '../../../base/ids.js'
import type { TaskResult, TaskStatus } from '../../../wire/message.js'
import type { AnyValues } from '../../../wire/run.js'
import type { TaskEntry } from '../entries.js'
import {
  failedResult,
  failureOf,
  keepBytes,
  keepValue,
  objectOf,
  releaseValue,
  sendResult,
} from './outcome.js'
import { NONE } from './index.js'
import {
  DROPPED,
  FAILED,
  IS_LOOSE,
  IS_TARGET,
  IS_UNWANTED,
  KEEPS_RESULT,
  type NodeTable,
  READY,
  STARTED,
  SUCCEEDED,
  WAITING,
} from './nodes.js'
import type { SchedulerState } from '../state.js'
import type { GraphTables } from './tables.js'
import { MESSAGE_COST, STEP_COST } from './work.js'
import { MAX_LINKS } from '../task/links.js'
import { cancelTask, count, statusResult, stopAll } from '../task/task.js'

/** A node has succeeded. */
export function succeedNode(graph: GraphTables, node: number, result: TaskResult): void {
  const { nodes } = graph
  const isTarget = nodes.has(node, IS_TARGET)
  if (isTarget) tell(graph, result)
  const isNeeded = graph.isOpen || nodes.neededBy(node) > 0
  if (result.inlineResults.length === 0) takeObject(graph, node, result, isNeeded)
  if (isNeeded || isTarget) keepValue(graph, node, result)
  end(graph, node, SUCCEEDED)
}

/** The same for a node that is not a target, when only the value of its result was looked up. */
export function succeedWith(graph: GraphTables, node: number, value: AnyValues): void {
  const isNeeded = graph.isOpen || graph.nodes.neededBy(node) > 0
  if (isNeeded) keepBytes(graph, node, value)
  end(graph, node, SUCCEEDED)
}

/** A node has failed, or could not be run: its dependents fail too. */
export function failNode(graph: GraphTables, node: number, result: TaskResult): void {
  const failure = failureOf(graph, result)
  graph.failures.push(failure)
  if (graph.nodes.has(node, IS_TARGET)) tell(graph, result)
  else graph.state.objects.delete(graph.client, result.results)
  graph.nodes.setOutcome(node, graph.failures.length)
  end(graph, node, FAILED)
}

/** A node that was not started fails because of another node with this outcome. */
export function failUnstarted(graph: GraphTables, node: number, outcome: number): void {
  const { nodes, failures } = graph
  const failure = failures[outcome - 1]
  if (failure === undefined) return
  endUnstarted(graph, node, failure.result.status)
  nodes.setOutcome(node, outcome)
  if (nodes.has(node, IS_TARGET)) {
    graph.state.graphWork.left -= MESSAGE_COST
    tell(graph, failedResult(graph, failure, nodes.idOf(node)))
  }
  end(graph, node, FAILED)
}

/**
 * Drops an unfinished node whose result is no longer needed. A running one is stopped only with
 * `force`; otherwise it continues, and its result is discarded.
 */
export function dropNode(graph: GraphTables, node: number, force: boolean): void {
  const { nodes, state } = graph
  const before = nodes.stateOf(node)
  const task = before === STARTED ? state.tasks.get(nodes.idOf(node)) : undefined
  if (task?.worker !== undefined && !force) return
  if (before === READY) graph.ready.remove(node)
  if (before !== STARTED) endUnstarted(graph, node, 'canceled')
  end(graph, node, DROPPED)
  if (task !== undefined) stopTask(graph, task)
}

/**
 * A client or an operator cancels an unfinished node: the client is notified immediately, and the
 * dependents of the node end the same way.
 */
export function cancelNode(
  graph: GraphTables,
  node: number,
  result: TaskResult = statusResult(graph.nodes.idOf(node), 'canceled'),
): void {
  const { nodes, state } = graph
  const before = nodes.stateOf(node)
  const task = before === STARTED ? state.tasks.get(nodes.idOf(node)) : undefined
  if (before === READY) graph.ready.remove(node)
  if (before === WAITING) stopLink(graph, node)
  if (before !== STARTED) endUnstarted(graph, node, 'canceled')
  nodes.raise(node, IS_UNWANTED)
  failNode(graph, node, result)
  nodes.lower(node, IS_TARGET)
  if (task !== undefined) stopTask(graph, task)
}

/**
 * Stops a waiting node if a worker has it behind the task before it, with those behind it, which
 * end the same way: they might run there even before the scheduler learns that they can.
 */
function stopLink({ nodes, state }: GraphTables, node: number): void {
  for (let at = node, steps = 0; at !== NONE && steps < MAX_LINKS; steps += 1) {
    if (nodes.pendingOf(at) !== 1) return
    at = pendingInput(nodes, at)
    const task = at === NONE || nodes.stateOf(at) !== STARTED ? undefined : nodes.idOf(at)
    if (task === undefined) continue
    const links = state.tasks.peek(task)?.node?.links
    if (links !== undefined) stopAll(state, links.worker, links.cut(nodes.idOf(node)))
    return
  }
}

function pendingInput(nodes: NodeTable, node: number): number {
  for (let index = 0; index < nodes.inputCount(node); index += 1) {
    const input = nodes.input(node, index)
    if (!nodes.hasEnded(input)) return input
  }
  return NONE
}

/** Cancels the task of a node that has ended, by force: clients of 1.9.9 never cancel nodes. */
export function stopTask(graph: GraphTables, task: TaskEntry): void {
  leaveQueue(graph, task)
  cancelTask(graph.state, task, true)
}

/** Removes the task of a node that has left the queue for good. */
export function leaveQueue(graph: GraphTables, task: TaskEntry): void {
  if (graph.queued.at(-1) === task) {
    graph.queued.pop()
    return
  }
  const at = graph.queued.lastIndexOf(task)
  if (at >= 0) graph.queued.splice(at, 1)
}

/** Releases all inputs of a node. */
export function leaveInputs(graph: GraphTables, node: number): void {
  const { nodes } = graph
  for (let input = nodes.takeInput(node); input !== NONE; input = nodes.takeInput(node)) {
    leaveInput(graph, node, input)
  }
}

/** Frees the result of a succeeded node if it is no longer needed. */
export function freeValue(graph: GraphTables, node: number): void {
  const { nodes, state } = graph
  if (nodes.outcomeOf(node) === 0 || graph.isOpen || nodes.neededBy(node) > 0) return
  const id = objectOf(graph, node)
  if (id !== undefined) {
    state.objects.delete(graph, [id])
    state.graphWork.left -= MESSAGE_COST
  }
  // A client that lost its connection requests its targets again.
  if (!nodes.has(node, IS_TARGET)) releaseValue(graph, node)
}

/** Applies the effects of finished nodes. Returns false if the budget of this turn is spent. */
export function settle(graph: GraphTables): boolean {
  const { nodes, state } = graph
  while (graph.ended !== NONE) {
    if (state.graphWork.left <= 0) return false
    state.graphWork.left -= STEP_COST
    const node = graph.ended
    const dependent = nodes.takeDependent(node)
    if (dependent !== NONE) {
      tellDependent(graph, node, dependent)
      continue
    }
    const input = nodes.takeInput(node)
    if (input !== NONE) leaveInput(graph, node, input)
    else graph.ended = nodes.chained(node)
  }
  return true
}

/**
 * After a graph is closed, frees the results that were kept only for possible later parts. Returns
 * false if the budget of this turn is spent first.
 */
export function sweep(graph: GraphTables): boolean {
  const { nodes, state } = graph
  if (graph.isOpen) return true
  for (; graph.swept < nodes.count; graph.swept += 1) {
    if (state.graphWork.left <= 0) return false
    state.graphWork.left -= STEP_COST
    const node = graph.swept
    if (nodes.neededBy(node) > 0) continue
    if (nodes.stateOf(node) === SUCCEEDED) freeValue(graph, node)
    else if (!nodes.hasEnded(node) && nodes.has(node, IS_LOOSE) && !nodes.has(node, IS_TARGET)) {
      dropNode(graph, node, nodes.has(node, IS_UNWANTED))
    }
  }
  return true
}

/** Sends a client the result of a target. */
export function tell(graph: GraphTables, result: TaskResult): void {
  const { state, client, tellsFrom } = graph
  if (state.turn.now < tellsFrom) state.earlyResults.hold(client, result, tellsFrom)
  else sendResult(state.output, client, result)
}

/** Counts and publishes the end of a node that never became a task. */
export function endUnstarted(graph: GraphTables, node: number, status: TaskStatus): void {
  const { nodes, state } = graph
  nodes.releaseArguments(node)
  count(state, status)
  publishNodeEnd(graph, node, status)
}

function end(graph: GraphTables, node: number, state: number): void {
  graph.nodes.setState(node, state)
  graph.unfinished -= 1
  graph.nodes.chain(node, graph.ended)
  graph.ended = node
}

/** Transfers a result object to the graph while nodes need it; targets stay the client's. */
function takeObject(graph: GraphTables, node: number, result: TaskResult, isNeeded: boolean): void {
  const { objects, workers } = graph.state
  const [id] = result.results
  const entry = id === undefined ? undefined : objects.get(id)
  if (entry === undefined) return
  graph.nodes.kindOf(node).hasObjects = true
  if (isNeeded) objects.use(graph, entry)
  const worker = workers.get(result.worker)
  // Also if it is no longer needed, so that the worker is notified of its deletion.
  if (graph.nodes.has(node, KEEPS_RESULT) && worker !== undefined) objects.hold(worker, entry)
  if (!graph.nodes.has(node, IS_TARGET)) objects.delete(graph.client, [entry.id])
}

function tellDependent(graph: GraphTables, node: number, dependent: number): void {
  const { nodes } = graph
  if (nodes.hasEnded(dependent)) return
  if (nodes.stateOf(node) === FAILED) {
    // Inputs that only a cancelled node needs are stopped, and those of its dependents as well.
    if (nodes.has(node, IS_UNWANTED)) nodes.raise(dependent, IS_UNWANTED)
    failUnstarted(graph, dependent, nodes.outcomeOf(node))
  } else if (nodes.decreasePending(dependent) === 0) {
    nodes.setState(dependent, READY)
    graph.ready.add(dependent)
  }
}

/** `node` has ended: it no longer needs `input`. */
function leaveInput(graph: GraphTables, node: number, input: number): void {
  const { nodes } = graph
  if (nodes.decreaseNeeded(input) > 0) return
  if (nodes.stateOf(input) === SUCCEEDED) {
    freeValue(graph, input)
    return
  }
  if (nodes.hasEnded(input)) return
  // All nodes that needed it ended before it did.
  const isUnwanted = nodes.has(node, IS_UNWANTED)
  nodes.raise(input, isUnwanted ? IS_LOOSE | IS_UNWANTED : IS_LOOSE)
  if (!graph.isOpen && !nodes.has(input, IS_TARGET)) dropNode(graph, input, isUnwanted)
}

/** Publishes the end of a node that never became a task. */
function publishNodeEnd(graph: GraphTables, node: number, status: TaskStatus): void {
  const { nodes, state } = graph
  if (!state.output.hasSubscribers || !state.eventBudget.take(1)) return
  state.graphWork.left -= MESSAGE_COST
  const name = state.objects.get(nodes.kindOf(node).functionId)?.name
  state.output.publish({
    kind: 'stateTask',
    taskId: nodes.idOf(node),
    functionName: name ?? latin1ToBytes('<Unknown>'),
    status,
    worker: identity(''),
    metadata: NO_BYTES,
  })
}

/** Applies what has happened to the tasks of nodes. This may cause further facts. */
export function settleGraphs({ graphFacts }: SchedulerState): void {
  // Storing the length of an array, even of an empty one, is a slow call.
  if (graphFacts.length === 0) return
  // First of all: what is queued next may be put beside any task that is still queued.
  for (const fact of graphFacts) if (fact.type !== 'parentFailed') fact.graph.onTaskTaken(fact.task)
  for (const fact of graphFacts) {
    switch (fact.type) {
      case 'taskAssigned':
        fact.graph.onTaskAssigned(fact.task)
        break
      case 'taskEnded':
        fact.graph.onTaskEnded(fact.task, fact.result)
        break
      case 'parentFailed':
        fact.graph.onParentFailed()
        break
      default:
        unreachable(fact)
    }
  }
  graphFacts.length = 0
}

// How nodes of a graph end, and what follows from it: those that depend on them become ready or
// fail, what they needed is freed or dropped. A node that has ended goes on a chain, which is
// worked off edge by edge: no step depends on how many nodes hang together.

import { FEATURE_INLINE, hasFeature } from '../../../base/features.js'
import type { TaskResult, TaskStatus } from '../../../wire/message.js'
import type { TaskEntry } from '../entries.js'
import { failedResult, failureOf, keepValue, objectOf, releaseValue } from './outcome.js'
import { NONE } from './index.js'
import {
  DROPPED,
  FAILED,
  IS_LOOSE,
  IS_TARGET,
  IS_UNWANTED,
  KEEPS_RESULT,
  READY,
  STARTED,
  SUCCEEDED,
} from './nodes.js'
import { sendResult } from '../client/early-results.js'
import type { GraphTables } from './tables.js'
import { MESSAGE_COST, STEP_COST } from './work.js'
import { publishNodeEnd } from '../publication.js'
import type { SchedulerState } from '../state.js'
import { cancelTask, count, statusResult } from '../task/task.js'

/** A node has run well. */
export function succeedNode(graph: GraphTables, node: number, result: TaskResult): void {
  const { nodes } = graph
  const isTarget = nodes.has(node, IS_TARGET)
  if (isTarget) tell(graph, result)
  const isNeeded = graph.isOpen || nodes.neededBy(node) > 0
  if (result.inlineResults.length === 0) takeObject(graph, node, result, isNeeded)
  if (isNeeded || isTarget) keepValue(graph, node, result)
  end(graph, node, SUCCEEDED)
}

/** A node has run and failed, or could not be run: so does all that depends on it. */
export function failNode(graph: GraphTables, node: number, result: TaskResult): void {
  const failure = failureOf(graph, result)
  graph.failures.push(failure)
  if (graph.nodes.has(node, IS_TARGET)) tell(graph, result)
  else graph.state.objects.delete(graph.client, result.results)
  graph.nodes.setOutcome(node, graph.failures.length)
  end(graph, node, FAILED)
}

/** A node that has not been started fails because of another one, whose outcome this is. */
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
 * Nobody wants a node any more that has not ended. One that runs is only stopped with `force`;
 * otherwise it goes on for nobody, and its worker stays as it is.
 */
export function dropNode(graph: GraphTables, node: number, force: boolean): void {
  const { nodes, state } = graph
  const before = nodes.stateOf(node)
  const task = before === STARTED ? state.tasks.get(nodes.idOf(node)) : undefined
  if (task?.worker !== undefined && !force) return
  if (before === READY) graph.ready.remove(node)
  if (task === undefined) endUnstarted(graph, node, 'canceled')
  end(graph, node, DROPPED)
  if (task !== undefined) stopTask(state, task)
}

/**
 * A client cancels a node that has not ended: it is told at once, and all that depends on the node
 * ends so, too.
 */
export function cancelNode(graph: GraphTables, node: number): void {
  const { nodes, state } = graph
  const before = nodes.stateOf(node)
  const task = before === STARTED ? state.tasks.get(nodes.idOf(node)) : undefined
  if (before === READY) graph.ready.remove(node)
  if (task === undefined) endUnstarted(graph, node, 'canceled')
  nodes.raise(node, IS_UNWANTED)
  failNode(graph, node, statusResult(nodes.idOf(node), 'canceled'))
  nodes.lower(node, IS_TARGET)
  if (task !== undefined) stopTask(state, task)
}

/** Cancels the task of a node: by force, where the worker is one of ours. */
export function stopTask(state: SchedulerState, task: TaskEntry): void {
  const features = task.worker?.heartbeat.features ?? 0
  cancelTask(state, task, hasFeature(features, FEATURE_INLINE))
}

/** A node needs none of its inputs any more. */
export function leaveInputs(graph: GraphTables, node: number): void {
  const { nodes } = graph
  for (let input = nodes.takeInput(node); input !== NONE; input = nodes.takeInput(node)) {
    leaveInput(graph, node, input)
  }
}

/** Frees the result of a node that has succeeded, if nothing needs it any more. */
export function freeValue(graph: GraphTables, node: number): void {
  const { nodes, state } = graph
  if (nodes.outcomeOf(node) === 0 || graph.isOpen || nodes.neededBy(node) > 0) return
  const id = objectOf(graph, node)
  if (id !== undefined) {
    state.objects.delete(graph, [id])
    state.graphWork.left -= MESSAGE_COST
  }
  // A client that lost its link asks for its targets again.
  if (!nodes.has(node, IS_TARGET)) releaseValue(graph, node)
}

/** Lets nodes that have ended have their effects. False: the turn is over before all is done. */
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
 * A graph was closed: what was kept only because a later part might have needed it goes, a slice at
 * a time. False: the turn is over before all is done.
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
  if (state.now < tellsFrom) state.earlyResults.hold(client, result, tellsFrom)
  else sendResult(state.output, client, result)
}

/** What is counted and published about a node that ends without ever having been a task. */
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

/** The object of a result is the graph's while nodes need it; that of a target is the client's. */
function takeObject(graph: GraphTables, node: number, result: TaskResult, isNeeded: boolean): void {
  const { objects, workers } = graph.state
  const [id] = result.results
  const entry = id === undefined ? undefined : objects.get(id)
  if (entry === undefined) return
  if (isNeeded) objects.use(graph, entry)
  const worker = workers.get(result.worker)
  // Also what nobody needs any more: so the worker is told that it goes.
  if (graph.nodes.has(node, KEEPS_RESULT) && worker !== undefined) objects.hold(worker, entry)
  if (!graph.nodes.has(node, IS_TARGET)) objects.delete(graph.client, [entry.id])
}

function tellDependent(graph: GraphTables, node: number, dependent: number): void {
  const { nodes } = graph
  if (nodes.hasEnded(dependent)) return
  if (nodes.stateOf(node) === FAILED) {
    // What only a cancelled node needed is stopped: that goes for those that go with it, too.
    if (nodes.has(node, IS_UNWANTED)) nodes.raise(dependent, IS_UNWANTED)
    failUnstarted(graph, dependent, nodes.outcomeOf(node))
  } else if (nodes.decreasePending(dependent) === 0) {
    nodes.setState(dependent, READY)
    graph.ready.add(dependent)
  }
}

/** `node` has ended: it does not need `input` any more. */
function leaveInput(graph: GraphTables, node: number, input: number): void {
  const { nodes } = graph
  if (nodes.decreaseNeeded(input) > 0) return
  if (nodes.stateOf(input) === SUCCEEDED) {
    freeValue(graph, input)
    return
  }
  if (nodes.hasEnded(input)) return
  // All that needed it have ended without it.
  const isUnwanted = nodes.has(node, IS_UNWANTED)
  nodes.raise(input, isUnwanted ? IS_LOOSE | IS_UNWANTED : IS_LOOSE)
  if (!graph.isOpen && !nodes.has(input, IS_TARGET)) dropNode(graph, input, isUnwanted)
}

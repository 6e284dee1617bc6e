// The nodes of a graph arrive, in one message or in parts. Everything that a client sends is
// validated here, before any node runs. docs/protocol.md#graph

import type { TaskId } from '../../../base/ids.js'
import type { GraphTask, Task, TaskResult } from '../../../wire/message.js'
import { failedResult, resultOf } from './outcome.js'
import { NONE } from './index.js'
import type { NodeOptions } from './kinds.js'
import { FAILED, IS_TARGET, IS_UNWANTED, READY, SUCCEEDED } from './nodes.js'
import { failUnstarted, tell } from './settle.js'
import { MAX_DRAWN } from './shape.js'
import type { GraphTables } from './tables.js'
import { MESSAGE_COST } from './work.js'
import { priorityOf } from '../task/arrival.js'
import { sendStatus, statusResult } from '../task/task.js'
import { tellAgain as tellBegun } from '../task/update.js'

/**
 * Adds the new nodes of a message, and sends the results of finished targets, which the client has
 * resent. Returns what is wrong with the part, if anything; then none of its nodes has begun.
 */
export function addPart(graph: GraphTables, message: GraphTask): string | undefined {
  const { nodes } = graph
  const first = nodes.count
  // A closed graph is complete: all nodes that arrive are known.
  const added = graph.isOpen ? addNodes(graph, message.graph) : []
  const trouble = linkNodes(graph, added, first)
  markTargets(graph, message.targets, first)
  if (trouble !== undefined) return trouble
  for (let node = first; node < nodes.count; node += 1) beginNode(graph, node)
  return undefined
}

/** Adds the new nodes of a message, and returns them in order. */
function addNodes(graph: GraphTables, tasks: readonly Task[]): readonly Task[] {
  const { nodes } = graph
  const added: Task[] = []
  for (const task of tasks) {
    if (nodes.find(task.taskId) !== NONE) continue
    nodes.add(task)
    graph.unfinished += 1
    added.push(task)
  }
  return added
}

/** Adds the edges of new nodes, which may lead to any known node. */
function linkNodes(graph: GraphTables, added: readonly Task[], first: number): string | undefined {
  const { nodes } = graph
  if (nodes.count > MAX_DRAWN && !graph.state.monitors.wantsGraphs) graph.shape = undefined
  let hasLaterInput = false
  let checked: NodeOptions | undefined
  for (const [index, task] of added.entries()) {
    const node = first + index
    const { options } = nodes.kindOf(node)
    if (options !== checked && !hasGoodFlags(graph, options)) return 'malformed flags'
    checked = options
    for (const argument of task.functionArgs) {
      if (argument.type !== 'task') continue
      const input = nodes.findBytes(argument.data)
      if (input === NONE) return 'an argument that is not one of its nodes'
      hasLaterInput ||= input >= node
      nodes.addEdge(node, input)
    }
    graph.shape?.add(nodes, node)
  }
  return hasLaterInput && !isAcyclic(graph, first) ? 'a cycle' : undefined
}

function hasGoodFlags(graph: GraphTables, options: NodeOptions): boolean {
  const priority = priorityOf(options.metadata)
  return priority !== undefined && (priority >= 0 || graph.client.runtime !== 'python')
}

/** Whether the nodes from `first` on, which have no earlier dependents, form no cycle. */
function isAcyclic({ nodes }: GraphTables, first: number): boolean {
  const count = nodes.count - first
  const pending = new Uint32Array(count)
  const free: number[] = []
  for (let node = first; node < nodes.count; node += 1) {
    let inputs = 0
    for (let index = 0; index < nodes.inputCount(node); index += 1) {
      if (nodes.input(node, index) >= first) inputs += 1
    }
    pending[node - first] = inputs
    if (inputs === 0) free.push(node)
  }
  let seen = 0
  for (let node = free.pop(); node !== undefined; node = free.pop()) {
    seen += 1
    for (let edge = nodes.firstEdgeTo(node); edge !== 0; edge = nodes.nextEdge(edge)) {
      const dependent = nodes.dependentOf(edge)
      const left = (pending[dependent - first] as number) - 1
      pending[dependent - first] = left
      if (left === 0) free.push(dependent)
    }
  }
  return seen === count
}

function markTargets(graph: GraphTables, targets: readonly TaskId[], first: number): void {
  const { nodes, state, client } = graph
  for (const id of targets) {
    const node = nodes.find(id)
    if (node === NONE) sendStatus(state, client, statusResult(id, 'notFound'))
    else if (node < first && nodes.hasEnded(node)) tellAgain(graph, node)
    else if (!nodes.has(node, IS_UNWANTED)) {
      const task = node < first ? state.tasks.get(id) : undefined
      nodes.raise(node, IS_TARGET)
      if (task?.node !== undefined && task.client === client) tellBegun(state, task)
    }
  }
}

/** Resends the result of a target to a client that lost its connection. */
function tellAgain(graph: GraphTables, node: number): void {
  graph.state.graphWork.left -= MESSAGE_COST
  tell(graph, resultAgain(graph, node))
}

function resultAgain(graph: GraphTables, node: number): TaskResult {
  const { nodes, failures } = graph
  const id = nodes.idOf(node)
  const outcome = nodes.outcomeOf(node)
  const failure = nodes.stateOf(node) === FAILED ? failures[outcome - 1] : undefined
  if (failure !== undefined) return failedResult(graph, failure, id)
  const isKept = nodes.stateOf(node) === SUCCEEDED && outcome !== 0
  // A result that is not kept was cancelled by the client itself.
  return isKept ? resultOf(graph, node) : statusResult(id, 'canceled')
}

/** Sets the state of a new node: ready, waiting, or already failed. */
function beginNode(graph: GraphTables, node: number): void {
  const { nodes } = graph
  publishNode(graph, node)
  const outcome = failedInput(graph, node)
  if (outcome !== 0) failUnstarted(graph, node, outcome)
  else if (nodes.pendingOf(node) === 0) {
    nodes.setState(node, READY)
    graph.ready.add(node)
  }
}

/** The outcome of a failed input; 0 if none has failed. */
function failedInput({ nodes, failures }: GraphTables, node: number): number {
  if (failures.length === 0) return 0
  for (let index = 0; index < nodes.inputCount(node); index += 1) {
    const input = nodes.input(node, index)
    if (nodes.stateOf(input) === FAILED) return nodes.outcomeOf(input)
  }
  return 0
}

/** Publishes a new node. */
function publishNode(graph: GraphTables, node: number): void {
  const { nodes, state } = graph
  if (!state.output.hasSubscribers || !state.eventBudget.take(1)) return
  const inputs = new Set<TaskId>()
  for (let index = 0; index < nodes.inputCount(node); index += 1) {
    inputs.add(nodes.idOf(nodes.input(node, index)))
  }
  state.output.publish({
    kind: 'stateGraphTask',
    graphTaskId: graph.id,
    taskId: nodes.idOf(node),
    nodeTaskType: nodes.has(node, IS_TARGET) ? 'target' : 'normal',
    parentTaskIds: [...inputs],
  })
}

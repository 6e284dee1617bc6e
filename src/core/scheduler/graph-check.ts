// What must hold in the tables of a graph, whatever has happened. For tests and simulation.

import { assert } from '../../base/assert.js'
import { DROPPED, FAILED, IS_TARGET, READY, STARTED, SUCCEEDED, WAITING } from './graph-table.js'
import type { GraphTables } from './graph-tables.js'

/** Throws if the tables disagree. `isAlive`: nobody has cancelled the graph. */
export function checkGraph(graph: GraphTables, isAlive: boolean): void {
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

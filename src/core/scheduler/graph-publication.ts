// What monitors are told about the nodes of graphs. docs/protocol.md#monitor

import { latin1ToBytes, NO_BYTES } from '../../base/bytes.js'
import { identity, type TaskId } from '../../base/ids.js'
import type { TaskStatus } from '../../wire/message.js'
import { IS_TARGET } from './graph-table.js'
import type { GraphTables } from './graph-tables.js'
import { MESSAGE_COST } from './graph-work.js'

/** A node has arrived. */
export function publishNode(graph: GraphTables, node: number): void {
  const { nodes, state } = graph
  if (!state.output.hasSubscribers || !state.eventBudget.take(1, state.now)) return
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

/** A node has ended without ever having been a task. */
export function publishNodeEnd(graph: GraphTables, node: number, status: TaskStatus): void {
  const { nodes, state } = graph
  if (!state.output.hasSubscribers || !state.eventBudget.take(1, state.now)) return
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

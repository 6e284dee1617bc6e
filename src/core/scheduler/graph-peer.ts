// What clients say about graphs. docs/protocol.md#graph

import type { GraphTask, GraphTaskCancel } from '../../wire/message.js'
import type { ClientEntry, TaskEntry } from './entries.js'
import { adopt } from './family.js'
import { Graph } from './graph.js'
import { holdsBack, spendRoom, takesMore } from './room.js'
import type { SchedulerState } from './state.js'
import { assignWaiting, sendStatus } from './task.js'

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

// Chains: a node that needs nothing but the result of one running task, which nothing else needs,
// is sent to the same worker right behind it. This costs no parallelism, as it could not run before
// or beside that task, and it saves the round trip between them. Its links (task/links.ts) become
// tasks when the result of the task before them arrives; if that does not succeed, the worker has
// dropped them. docs/protocol.md#links

import { FEATURE_LINKS, hasFeature } from '../../../base/features.js'
import type { TaskResult } from '../../../wire/message.js'
import type { TaskEntry, WorkerEntry } from '../entries.js'
import { type Link, Links, linksOf, MAX_LINKS } from '../task/links.js'
import { stopAt, takeOver } from '../task/task.js'
import { callSeconds } from '../worker/load.js'
import type { Graph } from './graph.js'
import { NONE } from './index.js'
import { WAITING } from './nodes.js'
import type { GraphTables } from './tables.js'
import { linkMessageOf, startLink } from './task.js'

/** The most work in them: another task may have to wait for it, in seconds. */
const MAX_LINK_SECONDS = 0.005

/** A task was assigned to a worker: sends it the links. */
export function sendLinks(graph: GraphTables, task: TaskEntry): void {
  const { node, worker } = task
  if (node === undefined || worker === undefined) return
  node.links = undefined
  // While a graph is open, further nodes may need the result.
  if (graph.isOpen || !takesLinks(graph, worker)) return
  const links = new Links(worker)
  const most = Math.min(MAX_LINKS, graph.state.options.perWorkerQueueSize - worker.taskCount)
  const room = Math.min(MAX_LINK_SECONDS, worker.windowSeconds - worker.load)
  for (let before = node.index; links.size < most;) {
    const link = linkBehind(graph, worker, before)
    if (link === undefined || links.expectedSeconds + link.expectedSeconds > room) break
    const message = linkMessageOf(graph, link.node, before)
    if (message === undefined) break
    graph.state.output.send(worker.identity, message)
    links.add(link)
    before = link.node
  }
  if (links.size === 0) return
  node.links = links
  graph.state.pools[task.runtime].extend(task, worker, links.expectedSeconds)
}

/** The task of a node has succeeded: the first link behind it is a task now. */
export function followLinks(
  graph: GraphTables,
  owner: Graph,
  task: TaskEntry,
  { inlineResults }: TaskResult,
): void {
  const { state, nodes } = graph
  const links = linksOf(task)
  // Of a result that is an object, the worker could not make an argument: it has returned them.
  if (links === undefined || inlineResults.length !== 1) return
  const { worker } = links
  const link = links.take()
  if (link === undefined || state.workers.get(worker.identity) !== worker) return
  if (nodes.stateOf(link.node) !== WAITING) {
    // It was cancelled.
    stopAt(state, worker, link.id)
    return
  }
  if (state.tasks.peek(link.id) !== undefined) return
  const started = startLink(graph, owner, { node: link.node, before: task.node?.index ?? NONE })
  if (started.node !== undefined) started.node.links = links
  takeOver(state, started, worker)
  state.pools[started.runtime].extend(started, worker, links.expectedSeconds)
}

/** The result of a task is not needed any more: if it has succeeded, the first link runs. */
export function stopLinks(graph: GraphTables, task: TaskEntry, { status }: TaskResult): void {
  const links = linksOf(task)
  const link = links?.take()
  if (status === 'success' && links !== undefined && link !== undefined) {
    stopAt(graph.state, links.worker, link.id)
  }
}

function takesLinks({ client }: GraphTables, { heartbeat, isLeaving }: WorkerEntry): boolean {
  return (
    client.runtime === 'javascript' && !isLeaving && hasFeature(heartbeat.features, FEATURE_LINKS)
  )
}

/** The only node that needs the result of this one, if it needs no other and may follow it. */
function linkBehind(
  { nodes, state }: GraphTables,
  worker: WorkerEntry,
  before: number,
): Link | undefined {
  const edge = nodes.firstEdgeTo(before)
  if (edge === 0 || nodes.nextEdge(edge) !== 0) return undefined
  const node = nodes.dependentOf(edge)
  if (nodes.stateOf(node) !== WAITING || nodes.pendingOf(node) !== 1) return undefined
  const { options, functionId } = nodes.kindOf(node)
  const isAlike = options === nodes.kindOf(before).options && options.capabilities.length === 0
  const id = nodes.idOf(node)
  if (!isAlike || state.tasks.peek(id) !== undefined || state.leases.has(id)) return undefined
  return { node, id, expectedSeconds: callSeconds(state.objects.get(functionId), worker) }
}

// Chains: a node that needs nothing but the result of one running task, which nothing else needs,
// is sent to the same worker right behind it. This costs no parallelism, as it could not run before
// or beside that task, and it saves the round trip between them. Its links (task/links.ts) become
// tasks when the result of the task before them arrives; if that does not succeed, the worker has
// dropped them. docs/protocol.md#links

import { FEATURE_LINKS, hasFeature } from '../../../base/features.js'
import type { TaskEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { adopt, isGraph } from '../task/family.js'
import { type Link, Links, linksOf, MAX_LINKS, mayGetLink, release } from '../task/links.js'
import { onTaskResult } from '../task/result.js'
import { stopAll, stopAt, takeOver } from '../task/task.js'
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
  // The result of a task of a run is packed: its worker does not pass it on.
  if (task.part !== undefined) return
  // While a graph is open, further nodes may need the result.
  if (graph.isOpen || !takesLinks(graph, worker)) return
  // Perhaps it was a link that ended the worker, before the result of this task arrived here.
  if (task.extra !== undefined && task.extra.deaths > 0) return
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
export function followLinks(graph: GraphTables, owner: Graph, task: TaskEntry): void {
  const { state, nodes } = graph
  const links = linksOf(task)
  const link = links?.take()
  if (links === undefined || link === undefined) return
  const { worker } = links
  if (nodes.stateOf(link.node) !== WAITING) {
    // It was dropped, and so were those behind it.
    stopAll(state, worker, [link, ...links.clear()])
    return
  }
  if (state.tasks.peek(link.id) !== undefined) {
    // Another task has its id, so that the node will be refused.
    for (const one of [link, ...links.clear()]) release(state, one)
    return
  }
  const started = startLink(graph, owner, { node: link.node, before: task.node?.index ?? NONE })
  takeOver(state, started, worker)
  if (started.node !== undefined) started.node.links = links
  state.pools[started.runtime].extend(started, worker, links.expectedSeconds)
  takeUp(state, started, worker, link)
}

/** Takes up what has happened to a link before it was a task. */
function takeUp(state: SchedulerState, task: TaskEntry, worker: WorkerEntry, link: Link): void {
  const { id, failure, children } = link
  const holder = state.leases.take(id)
  if (holder !== undefined && holder !== worker) stopAt(state, holder, id)
  for (const child of children ?? []) {
    const isThere = isGraph(child) ? !child.isOver : state.tasks.has(child)
    if (isThere) adopt(task, child)
  }
  if (failure !== undefined) onTaskResult(state, worker.identity, failure)
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
  if (!isAlike || !mayGetLink(worker, id)) return undefined
  if (state.tasks.peek(id) !== undefined || state.leases.has(id)) return undefined
  const expectedSeconds = callSeconds(state.objects.get(functionId), worker)
  return { node, id, expectedSeconds, failure: undefined, children: undefined }
}

// What monitors see of a graph: how far it has come, by layer, and its nodes and edges if there are
// few. A node forgets its inputs when it starts, so they are noted here when it arrives.
// docs/protocol.md#graph-reports

import type { InstantMs } from '../../../base/machine.js'
import type {
  GraphCounts,
  GraphEdge,
  GraphNodeReport,
  GraphNodeState,
  GraphReport,
  TaskStatus,
} from '../../../wire/message.js'
import { History } from '../monitor/history.js'
import type { SchedulerState } from '../state.js'
import { DROPPED, FAILED, type NodeTable, READY, STARTED, SUCCEEDED, WAITING } from './nodes.js'
import type { GraphTables } from './tables.js'

/** Nodes and edges are reported of graphs with at most this many nodes. */
export const MAX_DRAWN = 200

const MAX_EDGES = 1_000
const MAX_LAYERS = 100

/** Limits of one state message. */
const MOST = { graphs: 50, ended: 20, drawn: 2_000, counted: 100_000 } as const

/** How many further nodes a report may list, and visit to count layers. */
export interface ReportRoom {
  drawn: number
  counted: number
}

/** The names of the states of a node, by their numbers. */
const STATES: readonly GraphNodeState[] = [
  ...(['waiting', 'ready', 'running', 'succeeded', 'failed', 'dropped'] as const),
]

/** In which layer each node is, and which nodes it needs. */
export class GraphShape {
  readonly #layers: number[] = []
  /** Pairs of an input and the node that needs it; undefined: too many. */
  #edges: number[] | undefined = []
  /** Whether each node has arrived after its inputs. */
  #isOrdered = true

  /** Adds the next node, whose edges are known. */
  add(nodes: NodeTable, node: number): void {
    let layer = 0
    const inputs = new Set<number>()
    for (let index = 0; index < nodes.inputCount(node); index += 1)
      inputs.add(nodes.input(node, index))
    for (const input of inputs) {
      if (input >= node) this.#isOrdered = false
      layer = Math.max(layer, (this.#layers[input] ?? -1) + 1)
      this.#edges?.push(input, node)
    }
    this.#layers.push(layer)
    if (node >= MAX_DRAWN || (this.#edges?.length ?? 0) > 2 * MAX_EDGES) this.#edges = undefined
  }

  /** Empty if there are too many. */
  get edges(): readonly GraphEdge[] {
    const pairs = this.#edges ?? []
    const edges: GraphEdge[] = []
    for (let at = 0; at < pairs.length; at += 2) {
      edges.push({ input: pairs[at] ?? 0, node: pairs[at + 1] ?? 0 })
    }
    return edges
  }

  /** By node: the length of the longest path that leads to it. Empty if that is not known. */
  get layers(): readonly number[] {
    if (this.#isOrdered) return this.#layers
    return this.#edges === undefined ? [] : longestPaths(this.#layers, this.edges)
  }
}

/** The layers of nodes of which some have arrived before their inputs. There are no cycles. */
function longestPaths(first: readonly number[], edges: readonly GraphEdge[]): readonly number[] {
  const layers = [...first]
  for (let hasChanged = true; hasChanged;) {
    hasChanged = false
    for (const { input, node } of edges) {
      const layer = (layers[input] ?? 0) + 1
      if (layer <= (layers[node] ?? 0)) continue
      layers[node] = layer
      hasChanged = true
    }
  }
  return layers
}

/** The oldest graphs. */
export function graphReports(state: SchedulerState): readonly GraphReport[] {
  const room = newRoom()
  const reports: GraphReport[] = []
  for (const graph of state.graphWork.graphs) {
    const report = graph.report(room)
    if (report !== undefined) reports.push(report)
    if (reports.length >= MOST.graphs) break
  }
  return reports
}

/** The room of one message. */
export function newRoom(): ReportRoom {
  return { drawn: MOST.drawn, counted: MOST.counted }
}

/** What a monitor sees of a graph with this status. Takes what it needs from the room. */
export function graphReport(graph: GraphTables, status: TaskStatus, room: ReportRoom): GraphReport {
  const { nodes, state, client, id, isOpen } = graph
  const { count } = nodes
  const known = graph.shape?.layers ?? []
  // A graph that was refused while it arrived has nodes without edges.
  const layers = known.length === count && count <= room.counted ? known : []
  room.counted -= layers.length
  const isDrawn = layers.length > 0 && count <= MAX_DRAWN && count <= room.drawn
  const drawn = isDrawn ? nodeReports(graph, layers) : []
  room.drawn -= drawn.length
  const waiting = graph.queued.length
  return {
    graphId: id,
    client: client.identity,
    status,
    isOpen,
    begunAgoMS: state.turn.now - graph.begunAt,
    endedAgoMS: 0,
    counts: countsOf(nodes.counts, 0, waiting),
    layers: layerCounts(graph, layers),
    nodes: drawn,
    edges: isDrawn ? (graph.shape?.edges ?? []) : [],
  }
}

/** The last report about a graph, and when that was. */
export interface EndedGraph {
  readonly report: GraphReport
  readonly endAt: InstantMs
}

/** Room for the last graphs that have ended. */
export function endedGraphs(): History<EndedGraph> {
  return new History(MOST.ended)
}

/** The report about a graph that has ended, as it is sent now. */
export function endedReport({ report, endAt }: EndedGraph, now: InstantMs): GraphReport {
  // 0 would mean that it has not ended.
  const endedAgoMS = Math.max(now - endAt, Number.EPSILON)
  return { ...report, begunAgoMS: report.begunAgoMS + endedAgoMS, endedAgoMS }
}

function nodeReports(graph: GraphTables, layers: readonly number[]): readonly GraphNodeReport[] {
  const { nodes, state } = graph
  const queued = queuedNodes(graph)
  return layers.map((layer, node) => {
    const fn = state.objects.get(nodes.kindOf(node).functionId)
    return {
      taskId: nodes.idOf(node),
      function: fn === undefined ? '' : state.functions.of(fn).name,
      layer,
      nodeState: STATES[queued.has(node) ? READY : nodes.stateOf(node)] ?? 'waiting',
    }
  })
}

/** Neighbours are added up until there are at most 100. */
function layerCounts(graph: GraphTables, layers: readonly number[]): readonly GraphCounts[] {
  const { nodes } = graph
  const total = layers.reduce((most, layer) => Math.max(most, layer + 1), 0)
  const perRow = Math.max(1, Math.ceil(total / MAX_LAYERS))
  const rows = Array.from({ length: Math.ceil(total / perRow) }, () => STATES.map(() => 0))
  const queued = queuedNodes(graph)
  for (let node = 0; node < layers.length; node += 1) {
    const row = rows[Math.floor((layers[node] ?? 0) / perRow)]
    const state = queued.has(node) ? READY : nodes.stateOf(node)
    if (row !== undefined) row[state] = (row[state] ?? 0) + 1
  }
  return rows.map((row, at) => countsOf(row, Math.min(perRow, total - at * perRow), 0))
}

/** Nodes that have a task which no worker has had yet. */
function queuedNodes({ queued }: GraphTables): ReadonlySet<number> {
  return new Set(queued.flatMap(({ node }) => (node === undefined ? [] : [node.index])))
}

function countsOf(counts: readonly number[], layers: number, queued: number): GraphCounts {
  const of = (state: number): number => counts[state] ?? 0
  return {
    layers,
    waiting: of(WAITING),
    ready: of(READY) + queued,
    running: of(STARTED) - queued,
    succeeded: of(SUCCEEDED),
    failed: of(FAILED),
    dropped: of(DROPPED),
  }
}

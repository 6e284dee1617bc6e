// What a scheduler reports of graphs, in users' words: those that have not ended, and the last ones
// that have.

import { idToHex, type TaskId } from '../../base/ids.js'
import type { GraphCounts, GraphNodeState, GraphReport, TaskStatus } from '../../wire/message.js'

/** Ended graphs that are remembered. */
const MAX_ENDED = 50

/** Nodes of a graph by state. */
export type NodeCounts = Readonly<Record<GraphNodeState, number>>

/** A graph. */
export interface GraphInfo {
  /** Its id, in hex. */
  readonly id: string
  readonly client: string
  /** `running` or `canceling`; else how it ended. */
  readonly status: TaskStatus
  readonly begun: Date
  readonly ended: Date | undefined
  readonly counts: NodeCounts
  /**
   * By the length of the longest path to them. At most 100: of more layers, as many neighbours as
   * `layers` says are added up. Empty if that is not known.
   */
  readonly layers: readonly (NodeCounts & { readonly layers: number })[]
  /** Empty if there are more than 200. */
  readonly nodes: readonly GraphNodeInfo[]
  /** Pairs of indexes in `nodes`: whose result is needed, and by which. */
  readonly edges: readonly (readonly [input: number, node: number])[]
}

/** A node of a graph. */
export interface GraphNodeInfo {
  /** The id of its task, in hex. */
  readonly task: string
  readonly function: string
  readonly layer: number
  readonly state: GraphNodeState
}

/** The graphs of one scheduler. */
export class GraphInfos {
  #unfinished = new Map<TaskId, GraphInfo>()
  readonly #ended = new Map<TaskId, GraphInfo>()

  /** The oldest unfinished one first, then those that have ended, the last one first. */
  get all(): readonly GraphInfo[] {
    return [...this.#unfinished.values(), ...[...this.#ended.values()].reverse()]
  }

  /** All that a state lists; it came at `time`, in milliseconds since 1970. */
  update(reports: readonly GraphReport[], time: number): void {
    const before = this.#unfinished
    this.#unfinished = new Map()
    for (const report of reports) {
      // By later reports it would seem to have begun a little earlier or later.
      const info = graphInfo(report, time, before.get(report.graphId)?.begun)
      if (info.ended === undefined) this.#unfinished.set(report.graphId, info)
      else this.#ended.set(report.graphId, info)
    }
    for (const oldest of this.#ended.keys()) {
      if (this.#ended.size <= MAX_ENDED) return
      this.#ended.delete(oldest)
    }
  }
}

function graphInfo(report: GraphReport, time: number, begun: Date | undefined): GraphInfo {
  const { graphId, client, status, begunAgoMS, endedAgoMS, counts, layers, nodes, edges } = report
  return {
    id: idToHex(graphId),
    client,
    status,
    begun: begun ?? new Date(time - begunAgoMS),
    ended: endedAgoMS === 0 ? undefined : new Date(time - endedAgoMS),
    counts: nodeCounts(counts),
    layers: layers.map((layer) => ({ ...nodeCounts(layer), layers: layer.layers })),
    nodes: nodes.map(({ taskId, nodeState: state, function: name, layer }) => {
      return { task: idToHex(taskId), function: name, layer, state }
    }),
    edges: edges.map(({ input, node }) => [input, node]),
  }
}

function nodeCounts(counts: GraphCounts): NodeCounts {
  const { waiting, ready, running, succeeded, failed, dropped } = counts
  return { waiting, ready, running, succeeded, failed, dropped }
}

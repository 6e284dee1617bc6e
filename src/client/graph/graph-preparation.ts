// Plans and serializes a graph. What cannot travel fails the requested keys that depend on it, and
// no others: those are planned again without it.

import type { GraphNodes } from '../../core/client/graph/nodes.js'
import { encodeGraph, type GraphCodec } from './graph-encoder.js'
import { planGraph, type GraphPlan } from './graph-plan.js'

/** Why a requested key fails before anything has run. */
export interface NodeFailure {
  /** That of the node that cannot travel. */
  readonly key: string
  readonly error: unknown
}

/** A graph that can be submitted. */
export interface PreparedGraph {
  /** Without the keys that fail, and what only they need. */
  readonly plan: GraphPlan
  readonly nodes: GraphNodes
  /** By requested key. */
  readonly failures: ReadonlyMap<string, NodeFailure>
}

/** Throws `GraphKeyError`, `GraphCycleError`, and what a getter throws. */
export function prepareGraph(
  graph: Readonly<Record<string, unknown>>,
  keys: readonly string[],
  idPrefix: string,
  codec: GraphCodec,
): PreparedGraph {
  const failures = new Map<string, NodeFailure>()
  for (;;) {
    const plan = planGraph(
      graph,
      keys.filter((key) => !failures.has(key)),
    )
    const encoded = encodeGraph(plan, idPrefix, codec)
    if (encoded.failures.size === 0) return { plan, nodes: encoded.nodes, failures }
    addFailures(plan, encoded.failures, failures)
  }
}

/** Finds out which requested keys fail, and because of which node. */
function addFailures(
  plan: GraphPlan,
  failed: ReadonlyMap<number, unknown>,
  failures: Map<string, NodeFailure>,
): void {
  const { keys, starts, inputs, order, requested, positions } = plan
  /** By node: the number of the node because of which it fails, plus 1. */
  const causes = new Int32Array(keys.length)
  for (const node of failed.keys()) causes[node] = node + 1
  for (const node of order) {
    const end = starts[node + 1] ?? 0
    for (let at = starts[node] ?? 0; at < end && causes[node] === 0; at += 1) {
      causes[node] = causes[inputs[at] ?? 0] ?? 0
    }
  }
  for (const node of requested) {
    const cause = (causes[node] ?? 0) - 1
    // A value that cannot travel can be requested all the same.
    if (cause < 0 || positions[node] === -1) continue
    failures.set(keys[node] ?? '', { key: keys[cause] ?? '', error: failed.get(cause) })
  }
}

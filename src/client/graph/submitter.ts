// From a call of `get` to a graph in the core: plans it, serializes it, and makes a future for each
// requested key. Only wrong arguments throw: all other errors reject the futures.

import { randomBytes } from 'node:crypto'
import { bytesToLatin1 } from '../../base/bytes.js'
import type { TaskId } from '../../base/ids.js'
import type { GraphNodes } from '../../core/client/graph/nodes.js'
import { blameCaller, type CallSite } from '../../runtime/call-site.js'
import { findTracing, type SpanEnd } from '../../runtime/tracing.js'
import { argumentName } from '../../wire/object-content.js'
import type { ClientConnection } from '../connection.js'
import { Future } from '../future/future.js'
import type { FutureHome } from '../future/home.js'
import type { FutureState } from '../future/state.js'
import type { TaskIds } from '../ids.js'
import type { ArgumentSources } from '../submit/arguments.js'
import type { FunctionObjects } from '../submit/function-objects.js'
import type { SubmitContext } from '../submit/submitter.js'
import { encodeGraph, type GraphCodec } from './encoder.js'
import { GraphFutures, NodeNames } from './futures.js'
import { type GraphPlan, planGraph } from './plan.js'
import { checkGraph, checkKeys } from './reading.js'
import { GraphFuture, GraphRun } from './run.js'

// Plans and serializes a graph. A node that cannot travel fails the requested keys that depend on
// it, and no others: those are planned again without it.

/** Why a requested key fails before anything has run. */
export interface NodeFailure {
  /** That of the node that cannot travel. */
  readonly key: string
  readonly error: unknown
}

/** A graph that can be submitted. */
interface PreparedGraph {
  /** Without the keys that fail, and the nodes that only they need. */
  readonly plan: GraphPlan
  readonly nodes: GraphNodes
  /** By requested key. */
  readonly failures: ReadonlyMap<string, NodeFailure>
}

/** Throws `GraphKeyError`, `GraphCycleError`, and errors of getters. */
function prepareGraph(
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
    // A value that cannot travel can still be requested.
    if (cause < 0 || positions[node] === -1) continue
    failures.set(keys[node] ?? '', { key: keys[cause] ?? '', error: failed.get(cause) })
  }
}

/** The number of random bytes in the ids of all nodes of one graph: unique for each graph. */
const PREFIX_BYTES = 10

/** Submits a graph. Throws `TypeError` for anything but a graph and a list of keys. */
export function submitGraph(
  graph: unknown,
  keys: unknown,
  parts: GraphParts,
  call: GraphCall,
): GraphFuture<Record<string, unknown>> {
  checkGraph(graph)
  const requested = checkKeys(keys)
  const idPrefix = bytesToLatin1(randomBytes(PREFIX_BYTES))
  const { traceContext } = call.context.options
  const graphCall = { operation: 'get', name: '', traceContext, attributes: {} } as const
  const span = findTracing()?.start(graphCall)
  let prepared: PreparedGraph
  try {
    checkClient(parts.connection)
    prepared = prepareGraph(graph, requested, idPrefix, codecOf(parts))
  } catch (error) {
    span?.end({ outcome: 'failed', error })
    return refusedGraph(requested, blameCaller(error, call.site), parts, call)
  }
  const names = new NodeNames(idPrefix, keysOf(prepared), futureKeysOf(prepared))
  const futures = new GraphFutures(parts, call)
  const targets = addFutures(futures, requested, prepared, names)
  const graphId = parts.ids.next()
  const { connection } = parts
  const run = new GraphRun({ ...call, span, connection, graphId, names, futures })
  const { aborted } = call.context
  if (aborted !== undefined) run.abort(aborted.reason)
  if (aborted === undefined && targets.length > 0) {
    run.begin()
    const options = call.context.optionsIn(span)
    const submission = { graphId, options, nodes: prepared.nodes, targets }
    connection.request({ type: 'graphSubmitted', graph: submission })
  } else span?.end(unsentEnd(aborted, prepared))
  return new GraphFuture(run)
}

function checkClient(connection: ClientConnection): void {
  connection.checkOpen()
  connection.serializer.check()
}

function codecOf({ connection, functions, sources }: GraphParts): GraphCodec {
  return {
    functionObject: (fn) => functions.of(fn),
    source: (value) => sources.of(value),
    store: (content, name) => {
      const id = connection.objectIds.of(content)
      return { id, name: argumentName(name, id), content }
    },
    inlineLimitBytes: connection.settings.inlineLimitBytes,
  }
}

/** Every requested key fails in the same way. */
function refusedGraph(
  keys: readonly string[],
  error: unknown,
  parts: GraphParts,
  call: GraphCall,
): GraphFuture<Record<string, unknown>> {
  const futures = new GraphFutures(parts, call)
  for (const key of keys) futures.addRefused(key, error)
  const names = new NodeNames('', [], new Map())
  const graphId = parts.ids.next()
  const { connection } = parts
  const span = undefined
  return new GraphFuture(new GraphRun({ ...call, span, connection, graphId, names, futures }))
}

/** Of a graph that has nothing to compute. */
function unsentEnd(aborted: AbortSignal | undefined, { failures }: PreparedGraph): SpanEnd {
  const [failure] = failures.values()
  if (aborted !== undefined) return { outcome: 'cancelled', error: undefined }
  return { outcome: failure === undefined ? 'done' : 'failed', error: failure?.error }
}

/** Returns those that have to be computed, with their positions. */
function addFutures(
  futures: GraphFutures,
  requested: readonly string[],
  { plan, nodes, failures }: PreparedGraph,
  names: NodeNames,
): { readonly position: number; readonly owner: FutureState }[] {
  const targets: { readonly position: number; readonly owner: FutureState }[] = []
  // The plan has them in the same order, without those that fail.
  let place = 0
  for (const key of requested) {
    const failure = failures.get(key)
    if (failure !== undefined) {
      futures.addFailure(key, failure)
      continue
    }
    const number = plan.requested[place] ?? 0
    place += 1
    const position = plan.positions[number] ?? 0
    if (position < 0) futures.addValue(key, plan.nodes[number])
    else {
      const owner = futures.addTarget(key, nodes.idOf(position), names)
      targets.push({ position, owner })
    }
  }
  return targets
}

/** The keys of all calls, by the numbers in their ids. */
function keysOf({ plan, nodes }: PreparedGraph): string[] {
  const keys = Array<string>(plan.order.length).fill('')
  for (const [position, node] of plan.order.entries()) {
    keys[nodes.numberOf(position)] = plan.keys[node] ?? ''
  }
  return keys
}

/** The keys of nodes that are futures, by the ids of their tasks. */
function futureKeysOf({ plan }: PreparedGraph): Map<TaskId, string> {
  const keys = new Map<TaskId, string>()
  for (const [number, node] of plan.nodes.entries()) {
    if (!(node instanceof Future)) continue
    keys.set(Future.stateOf(node as Future<unknown>).taskId, plan.keys[number] ?? '')
  }
  return keys
}

// Everything needed to submit a graph, and the circumstances.

/** The objects that all views of one client share to submit with. */
export interface GraphParts {
  readonly connection: ClientConnection
  /** The home of futures that are not watched. */
  readonly home: FutureHome
  readonly functions: FunctionObjects
  readonly ids: TaskIds
  readonly sources: ArgumentSources
}

/** One call of `get`. */
export interface GraphCall {
  readonly context: SubmitContext
  readonly site: CallSite
}

// Ready nodes of one function as a run: consecutive ids, one message, packed arguments, and results
// that come back together. Only short ones, so that none waits long behind another, and only small
// values, whose bytes are copied from the results of other nodes. docs/protocol.md#runs

import { NO_BYTES } from '../../../base/bytes.js'
import type { Task, TaskArgument, TaskResult } from '../../../wire/message.js'
import {
  AnyValues,
  type ArgumentPacker,
  isObjectArgument,
  MAX_RUN_TASKS,
  nthTaskId,
  sliceProfiles,
} from '../../../wire/run.js'
import type { TaskEntry } from '../entries.js'
import { statusResult } from '../task/task.js'
import { runLimit } from '../worker/load.js'
import { NONE } from './index.js'
import { READY } from './nodes.js'
import { objectOf } from './outcome.js'
import type { GraphTables } from './tables.js'

/** Fewer nodes than this start alone if others can follow them as links (links.ts). */
const MIN_BESIDE_LINKS = 16

/** The most objects among the arguments of a node in a run: their numbers are bytes. */
const MAX_OBJECTS = 256

/** Nodes of consecutive numbers. */
interface NodeRange {
  /** The first of them. */
  readonly node: number
  readonly count: number
}

/**
 * What starts next, as far as the arguments of nodes allow: the first ready node, alone or with
 * those behind it; or, if it is short itself, a run in the first layer that is ready.
 */
export function nextRange(graph: GraphTables, first: number): NodeRange {
  const alone = { node: first, count: 1 }
  if (mostInRun(graph, first) === 1) return alone
  const node = graph.ready.firstOfRun(first)
  const count = runLength(graph, node)
  if (count > 1) return { node, count }
  return node === first ? alone : { node: first, count: runLength(graph, first) }
}

/** How many nodes from this one on may be in a run: 1 if it is long, or its result an object. */
function mostInRun({ nodes, state, client }: GraphTables, node: number): number {
  const { functionId, hasObjects } = nodes.kindOf(node)
  const number = nodes.numberOf(node)
  const isPossible = number !== NONE && client.runtime === 'javascript' && !hasObjects
  if (!isPossible || state.runless.size > 0 || state.leases.size > 0) return 1
  const limit = runLimit(state.objects.get(functionId), state.pools[client.runtime].workerCount)
  return Math.min(limit, MAX_RUN_TASKS - (number % MAX_RUN_TASKS))
}

/** How many ready nodes from this one on can be in a run. */
function runLength(graph: GraphTables, first: number): number {
  const { nodes, state } = graph
  const kind = nodes.kindOf(first)
  const number = nodes.numberOf(first)
  const most = mostInRun(graph, first)
  let count = 1
  for (let last = first; count < most; count += 1) {
    const node = nodes.atNumber(number + count)
    // In their order: the entry is queued in the place of its first node.
    if (node < last || nodes.stateOf(node) !== READY || nodes.kindOf(node) !== kind) break
    last = node
  }
  if (count < MIN_BESIDE_LINKS && hasLink(graph, first)) return 1
  return state.tasks.hasAny(nodes.idOf(first), count) ? 1 : count
}

/** Whether the node behind this one may follow it as a link. */
function hasLink({ nodes, isOpen }: GraphTables, node: number): boolean {
  const edge = nodes.firstEdgeTo(node)
  if (isOpen || edge === 0 || nodes.nextEdge(edge) !== 0) return false
  return nodes.pendingOf(nodes.dependentOf(edge)) === 1
}

/** Whether all results that a node needs are values, not objects. */
export function hasSmallInputs(graph: GraphTables, node: number): boolean {
  const { nodes } = graph
  for (let index = 0; index < nodes.inputCount(node); index += 1) {
    if (objectOf(graph, nodes.input(node, index)) !== undefined) return false
  }
  return true
}

/** The Task of a run of nodes. `packed`: their arguments. */
export function taskOfRun(first: Task, packed: ArgumentPacker): Task {
  const functionArgs = first.functionArgs.filter(isObjectArgument)
  // Its results are bytes that other Tasks can contain: docs/protocol.md#runs
  const { count } = packed
  return { ...first, functionArgs, keepsResult: true, count, packed: packed.finish() }
}

/** Whether a call can be in a run with another one: its arguments that are objects are the same. */
export function isAlike(args: readonly TaskArgument[], others: readonly TaskArgument[]): boolean {
  let at = 0
  let objects = 0
  for (const argument of args) {
    if (!isObjectArgument(argument)) continue
    objects += 1
    let other = others[at]
    while (other !== undefined && !isObjectArgument(other)) other = others[(at += 1)]
    if (other === undefined || !isSame(argument, other)) return false
    at += 1
  }
  return objects < MAX_OBJECTS && !others.slice(at).some(isObjectArgument)
}

function isSame(one: TaskArgument, other: TaskArgument): boolean {
  return one.type === other.type && Buffer.compare(one.data, other.data) === 0
}

/** The values that the nodes of an entry returned; undefined: it is another kind of result. */
export function valuesOf(
  { count }: TaskEntry,
  { status, packed }: TaskResult,
): AnyValues | undefined {
  return status === 'success' && packed.byteLength > 0 ? new AnyValues(packed, count) : undefined
}

/** The result of one node of an entry. `found`: what it returned, if it did. */
export function resultOfOne(
  { id, count }: TaskEntry,
  result: TaskResult,
  at: number,
  found: AnyValues | undefined,
): TaskResult {
  if (count === 1 && result.packed.byteLength === 0) return result
  const taskId = nthTaskId(id, at)
  // A worker of another kind may have written it in another way.
  if (result.status === 'success' && found === undefined) return statusResult(taskId, 'canceled')
  return {
    ...result,
    taskId,
    metadata: sliceProfiles(result.metadata, count, at, at + 1),
    inlineResults: found === undefined ? [] : [found.bytes.subarray(found.start, found.end)],
    count: 0,
    packed: NO_BYTES,
    bytes: undefined,
  }
}

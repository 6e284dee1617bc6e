// The results of nodes: those of dependents of a failed node, which repeat its error, the values
// of succeeded ones, and when clients receive them. docs/protocol.md#graph

import { copyOf, latin1ToBytes, NO_BYTES } from '../../../base/bytes.js'
import { FEATURE_INLINE, hasFeature } from '../../../base/features.js'
import { type ObjectId, objectIdOf, type TaskId } from '../../../base/ids.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import { PLAIN_RESULT, type TaskArgument, type TaskResult } from '../../../wire/message.js'
import type { AnyValues, ArgumentPacker } from '../../../wire/run.js'
import type { ClientEntry } from '../entries.js'
import { isElsewhere } from '../object/places.js'
import { NO_LIMITS } from '../object/room.js'
import type { Output } from '../output.js'
import type { SchedulerState } from '../state.js'
import { statusResult } from '../task/task.js'
import { HOLDS_VALUE, IS_OBJECT, IS_TARGET, STARTED, SUCCEEDED } from './nodes.js'
import type { Failure, GraphTables } from './tables.js'

const NO_OBJECTS: readonly ObjectId[] = []

/** Keeps the failure of a node for the results of its dependents. */
export function failureOf(graph: GraphTables, result: TaskResult): Failure {
  const [id] = result.results
  const entry = id === undefined ? undefined : graph.state.objects.get(id)
  const metadata = copyOf(result.metadata)
  const inlineResults = result.inlineResults.map(copyOf)
  const own = { ...result, metadata, inlineResults, bytes: undefined }
  if (entry === undefined || !isElsewhere(entry.type)) {
    const error = entry && { type: entry.type, name: entry.name, chunks: entry.chunks }
    return { result: own, error }
  }
  // The content stays there as long as the graph: the client deletes the object when it has it.
  graph.state.objects.use(graph, entry)
  return { result: own, error: entry }
}

/**
 * The result of a node that failed because of `failure`. The error of another node is repeated: an
 * object is copied for each node, because the client deletes what it receives.
 */
export function failedResult(graph: GraphTables, failure: Failure, id: TaskId): TaskResult {
  const { result } = failure
  if (result.taskId === id) return result
  const { status, inlineResults } = result
  const isOurs = hasFeature(graph.client.features, FEATURE_INLINE)
  const needsCopy = status === 'failed' && inlineResults.length === 0
  const copy = needsCopy ? copyError(graph, failure) : undefined
  // The error object no longer exists: a client would wait for it forever.
  if (needsCopy && copy === undefined) return statusResult(id, 'canceled')
  // A literal without spreads, because this may happen a million times in a row.
  return {
    kind: 'taskResult',
    taskId: id,
    status,
    // The node has not run: only a 1.9.9 client expects the profile of the failed node here.
    metadata: isOurs ? NO_BYTES : result.metadata,
    results: copy === undefined ? NO_OBJECTS : [copy],
    inlineResults,
    worker: PLAIN_RESULT.worker,
    failedTaskId: isOurs ? result.taskId : PLAIN_RESULT.failedTaskId,
    attempt: 0,
    attempts: PLAIN_RESULT.attempts,
    error: status === 'canceled' ? result.error : PLAIN_RESULT.error,
    count: 0,
    packed: NO_BYTES,
    isInFile: false,
  }
}

function copyError(graph: GraphTables, { error }: Failure): ObjectId | undefined {
  if (error === undefined) return undefined
  const { graphWork, objects } = graph.state
  const id = graphWork.nextCopyId()
  objects.copy(graph.client, id, error)
  return id
}

// The results of succeeded nodes. Small ones are kept with the node, where their dependents look
// anyway; others, and those that a client may request again, in the store.

/** Keeps the value of a node's result; for a target, the whole result. */
export function keepValue({ nodes, values }: GraphTables, node: number, result: TaskResult): void {
  const isWhole = nodes.has(node, IS_TARGET)
  const [inline] = result.inlineResults
  const value = inline ?? latin1ToBytes(result.results[0] ?? '')
  if (!isWhole && nodes.putValue(node, value, inline === undefined)) return
  if (!isWhole) nodes.kindOf(node).isTiny = false
  nodes.setOutcome(node, values.add(result, isWhole))
}

/** The same for a value that was found among packed ones. */
export function keepBytes({ nodes, values }: GraphTables, node: number, found: AnyValues): void {
  if (nodes.putFound(node, found)) return
  const { bytes, start, end } = found
  nodes.kindOf(node).isTiny = false
  nodes.setOutcome(node, values.addBytes(bytes.subarray(start, end)))
}

/** Adds the value, which is not an object, to the arguments of a node that needs it. */
export function packValue(
  { nodes, values }: GraphTables,
  node: number,
  packer: ArgumentPacker,
): void {
  if (nodes.has(node, HOLDS_VALUE)) nodes.packValue(node, packer)
  else packer.add({ type: 'sharedInline', data: values.valueOf(nodes.outcomeOf(node)).data })
}

/** The value as an argument of a node that needs it. Its bytes are a view. */
export function argumentOf(graph: GraphTables, node: number): TaskArgument {
  const { nodes, values, client } = graph
  const { isObject, data } = nodes.has(node, HOLDS_VALUE)
    ? { isObject: nodes.has(node, IS_OBJECT), data: nodes.valueOf(node) }
    : values.valueOf(nodes.outcomeOf(node))
  // Other runtimes do not support shared values.
  if (client.runtime !== 'javascript') return { type: isObject ? 'objectID' : 'inline', data }
  return { type: isObject ? 'sharedObjectID' : 'sharedInline', data }
}

/** The id of the object that is the value; undefined for a value that is kept here. */
export function objectOf({ nodes, values }: GraphTables, node: number): ObjectId | undefined {
  if (!nodes.has(node, HOLDS_VALUE)) return values.objectIdOf(nodes.outcomeOf(node))
  return nodes.has(node, IS_OBJECT) ? objectIdOf(nodes.valueOf(node)) : undefined
}

/** The result with the value, for a client that requests it. */
export function resultOf(graph: GraphTables, node: number): TaskResult {
  const { nodes, values } = graph
  const id = nodes.idOf(node)
  if (!nodes.has(node, HOLDS_VALUE)) return values.resultOf(nodes.outcomeOf(node), id)
  const object = objectOf(graph, node)
  const plain = statusResult(id, 'success')
  if (object !== undefined) return { ...plain, results: [object] }
  return { ...plain, inlineResults: [copyOf(nodes.valueOf(node))] }
}

/** Frees a value that is no longer needed. */
export function releaseValue({ nodes, values }: GraphTables, node: number): void {
  if (!nodes.has(node, HOLDS_VALUE)) values.release(nodes.outcomeOf(node))
  nodes.setOutcome(node, 0)
}

// Results of a graph that is dropped, because content is lost that it needs.

/** How many more results, and bytes of those in messages, are kept: other nodes run again. */
export interface SalvageRoom {
  results: number
  bytes: number
}

/** What a client needs to know of the results of a graph that is dropped. */
export interface Salvage {
  /** The nodes whose results are lost, and those that have run and must not run again. */
  readonly lost: readonly TaskId[]
  /** Results that are still there. The client is a user of their objects. */
  readonly results: readonly TaskResult[]
}

/** The graph has no results that matter. */
export const NO_SALVAGE: Salvage = { lost: [], results: [] }

/** Makes the client a user of the results that nodes may still need, except those in `lost`. */
export function salvageOf(
  graph: GraphTables,
  lost: ReadonlySet<ObjectId>,
  room: SalvageRoom,
): Salvage {
  const { nodes } = graph
  const lostNodes: TaskId[] = []
  const results: TaskResult[] = []
  for (let node = 0; node < nodes.count; node += 1) {
    const result = salvage(graph, node, room)
    if (result !== undefined) results.push(result)
    else if (isLost(graph, node, lost) || isSpent(graph, node)) lostNodes.push(nodes.idOf(node))
  }
  return { lost: lostNodes, results }
}

/** The result of a node that need not run again. */
function salvage(graph: GraphTables, node: number, room: SalvageRoom): TaskResult | undefined {
  const { nodes, state, client } = graph
  if (nodes.stateOf(node) !== SUCCEEDED || nodes.outcomeOf(node) === 0) return undefined
  if (room.results <= 0 || !(graph.isOpen || nodes.neededBy(node) > 0)) return undefined
  const object = objectOf(graph, node)
  const entry = object === undefined ? undefined : state.objects.get(object)
  if (object !== undefined) {
    // The client itself deletes the result of a target, once it has the content.
    if (entry?.users.has(graph) !== true || entry.users.has(client)) return undefined
    // It needs the rest for what it sends again.
    const { quotaBytes } = state.options.storage ?? NO_LIMITS
    if (client.objectBytes + entry.bytes > quotaBytes / 2) return undefined
  }
  const result = resultOf(graph, node)
  const bytes = result.inlineResults[0]?.byteLength ?? 0
  if (bytes > room.bytes) return undefined
  room.results -= 1
  room.bytes -= bytes
  if (entry !== undefined) state.objects.use(client, entry)
  return result
}

function isLost(graph: GraphTables, node: number, lost: ReadonlySet<ObjectId>): boolean {
  const { nodes } = graph
  if (nodes.stateOf(node) !== SUCCEEDED || nodes.outcomeOf(node) === 0) return false
  const object = objectOf(graph, node)
  return object !== undefined && lost.has(object)
}

/** Whether a node may have run, has no result that is kept, and must not run a second time. */
function isSpent({ nodes, state, isOpen }: GraphTables, node: number): boolean {
  if (nodes.kindOf(node).options.workerDeathLimit !== 1) return false
  if (nodes.stateOf(node) === SUCCEEDED) return isOpen || nodes.neededBy(node) > 0
  if (nodes.stateOf(node) !== STARTED) return false
  return state.tasks.peek(nodes.idOf(node))?.worker !== undefined
}

// Results that would arrive too early. A 1.9.9 client sends a graph and registers the expected
// results afterwards, in another thread. A result that arrives in between is dropped, and its
// future never settles. Results for such a client are therefore delayed for a short time.

/** The delay after a graph, in milliseconds. Allows for a client on a busy machine. */
export const EARLY_MS = 50

interface EarlyResult {
  readonly client: ClientEntry
  readonly result: TaskResult
  readonly at: InstantMs
}

/** The delayed results. */
export class EarlyResults {
  readonly #state: SchedulerState
  readonly #alarm: Alarm
  #waiting: EarlyResult[] = []

  constructor(state: SchedulerState) {
    this.#state = state
    this.#alarm = state.turn.alarm(() => this.#sendDue())
  }

  /** Delays a result until `at`. */
  hold(client: ClientEntry, result: TaskResult, at: InstantMs): void {
    const bytes = result.bytes === undefined ? undefined : copyOf(result.bytes)
    this.#waiting.push({ client, result: { ...result, bytes }, at })
    this.#alarm.setBy(at)
  }

  /** Sends the results that are due to clients that have not left. */
  #sendDue(): void {
    const { turn, output } = this.#state
    const due = this.#waiting.filter(({ at }) => at <= turn.now)
    this.#waiting = this.#waiting.filter(({ at }) => at > turn.now)
    for (const { at } of this.#waiting) this.#alarm.setBy(at)
    for (const { client, result } of due) {
      if (!client.hasLeft) sendResult(output, client, result)
    }
  }
}

/** Sends a client the result of a graph, or of one of its targets. */
export function sendResult(output: Output, client: ClientEntry, result: TaskResult): void {
  if (result.bytes === undefined) output.send(client.identity, result)
  else output.forward(client.identity, 'taskResult', result.bytes)
}

// Nodes become tasks. Only the next nodes of each graph are in the queue; the others wait here, as
// numbers, so that a node that becomes ready late still runs first if it arrived early.

import { assert } from '../../../base/assert.js'
import { bytesToLatin1, latin1ToBytes, NO_BYTES } from '../../../base/bytes.js'
import { encode, type Task } from '../../../wire/message.js'
import { ArgumentPacker, isObjectArgument } from '../../../wire/run.js'
import type { TaskEntry } from '../entries.js'
import type { Graph } from './graph.js'
import { NONE } from './index.js'
import { argumentOf, packValue } from './outcome.js'
import { endUnstarted, failNode, leaveInputs } from './settle.js'
import { KEEPS_RESULT, STARTED } from './nodes.js'
import { hasSmallInputs, isAlike, nextRange, taskOfRun } from './run.js'
import type { GraphTables } from './tables.js'
import { publishTask, refusedFields } from '../publication.js'
import { newTask, vacates } from '../task/arrival.js'
import { redeemLease, statusResult } from '../task/task.js'
import { largestInput } from '../worker/nearness.js'

/** Minimum number of queued nodes, if enough are ready: with one the queue would often be empty. */
const MIN_QUEUED = 2

/** A run has no more nodes than fit into this, besides the last one: each has all its arguments. */
const MAX_RUN_BYTES = 65_536

/** A node that is about to be a task, or the first of a run, and its place in the queue. */
interface ReadyNode {
  readonly node: number
  readonly rank: number
}

/** Queues ready nodes, unless enough nodes that precede them are already queued. */
export function fillQueue(graph: GraphTables, owner: Graph): void {
  const { ready, queued } = graph
  for (let rank = ready.first; rank !== NONE; rank = ready.first) {
    const front = queued.at(-1)?.node?.rank ?? Infinity
    if (front <= rank && queued.length >= MIN_QUEUED) return
    const { node, count } = nextRange(graph, rank)
    // A run that is made later may be longer.
    if (front <= rank && count > 1) return
    if (count > 1 && startRun(graph, owner, { node, rank, count })) continue
    ready.remove(node)
    startNode(graph, owner, { node, rank })
  }
}

function startNode(graph: GraphTables, owner: Graph, { node, rank }: ReadyNode): void {
  const { state, client, nodes } = graph
  const id = nodes.idOf(node)
  const known = state.tasks.get(id)
  if (known !== undefined && !vacates(state, known)) {
    const fields = refusedFields(state, client, taskOf(graph, node))
    state.blame('refused a graph node whose id is already used by a task', fields)
    endUnstarted(graph, node, 'notFound')
    failNode(graph, node, statusResult(id, 'notFound'))
    return
  }
  const task = addTask(graph, owner, { node, rank })
  enqueue(graph, task)
  publishTask(state, task, 'inactive')
  if (state.leases.size > 0) redeemLease(state, task)
}

/** Starts a ready node and those behind it, `count` at most, if they can be a run. */
function startRun(
  graph: GraphTables,
  owner: Graph,
  { node: first, rank, count }: ReadyNode & { readonly count: number },
): boolean {
  const { state, client, nodes } = graph
  const begin = taskOf(graph, first)
  const packed = packReady(graph, first, { most: count, begin })
  if (packed.count < 2) return false
  const task = newTask(state, client, taskOfRun(begin, packed))
  assert(task !== undefined, 'a node was not validated on arrival')
  task.node = { graph: owner, index: first, rank, input: undefined, links: undefined }
  const number = nodes.numberOf(first)
  for (let at = 0; at < task.count; at += 1) {
    const node = nodes.atNumber(number + at)
    graph.ready.remove(node)
    nodes.raise(node, KEEPS_RESULT)
    nodes.setState(node, STARTED)
    nodes.releaseArguments(node)
    leaveInputs(graph, node)
  }
  state.tasks.add(task)
  client.taskCount += task.count
  enqueue(graph, task)
  publishTask(state, task, 'inactive')
  return true
}

/** The arguments of nodes from a ready one on, whose Task is `begin`, that can be in one run. */
function packReady(
  graph: GraphTables,
  first: number,
  { most, begin }: { readonly most: number; readonly begin: Task },
): ArgumentPacker {
  const { nodes } = graph
  const packer = new ArgumentPacker()
  const number = nodes.numberOf(first)
  const isPlain = begin.name === '' && !begin.functionArgs.some(isObjectArgument)
  for (let at = 0; at < most && packer.byteLength < MAX_RUN_BYTES; at += 1) {
    const node = nodes.atNumber(number + at)
    if (!hasSmallInputs(graph, node)) break
    if (nodes.hasOnlyInputs(node)) {
      if (!isPlain) break
      for (let index = 0; index < nodes.inputCount(node); index += 1) {
        packValue(graph, nodes.input(node, index), packer)
      }
    } else {
      const { name, functionArgs } = argumentsOf(graph, node)
      if (name !== begin.name || !isAlike(functionArgs, begin.functionArgs)) break
      for (const argument of functionArgs) packer.add(argument)
    }
    packer.endEntry()
  }
  return packer
}

/** Adds the task of a node, which is not queued. */
function addTask(graph: GraphTables, owner: Graph, { node, rank }: ReadyNode): TaskEntry {
  const { state, client, nodes } = graph
  const message = taskOf(graph, node)
  const task = newTask(state, client, message)
  assert(task !== undefined, 'a node was not validated on arrival')
  const input = largestInput(state.objects, message.functionArgs, 0)
  task.encoded = bytesToLatin1(encode(message))
  task.node = { graph: owner, index: node, rank, input, links: undefined }
  nodes.setState(node, STARTED)
  nodes.releaseArguments(node)
  // Values are part of the task; objects must stay until it has ended.
  if (input === undefined) leaveInputs(graph, node)
  state.tasks.add(task)
  client.taskCount += 1
  return task
}

/** A link becomes a task, because the only node that it waits for has succeeded. */
export function startLink(
  graph: GraphTables,
  owner: Graph,
  { node, before }: { readonly node: number; readonly before: number },
): TaskEntry {
  const { nodes } = graph
  const dependent = nodes.takeDependent(before)
  const pending = nodes.decreasePending(node)
  assert(dependent === node && pending === 0, 'a link needs more than the node before it')
  const task = addTask(graph, owner, { node, rank: node })
  publishTask(graph.state, task, 'inactive')
  return task
}

/** The Task of a node that needs the result of `before`; undefined if it also needs an object. */
export function linkMessageOf(graph: GraphTables, node: number, before: number): Task | undefined {
  const message = taskOf(graph, node, before)
  const needsObject = message.functionArgs.some(({ type }) => {
    return type === 'objectID' || type === 'sharedObjectID'
  })
  return needsObject ? undefined : message
}

/** Queues a node. A graph that has begun precedes tasks that its client has sent since. */
function enqueue(graph: GraphTables, task: TaskEntry): void {
  const { queued } = graph
  const rank = rankOf(task)
  const { queue } = graph.state.pools[task.runtime]
  const before = queued.findLastIndex((other) => rankOf(other) > rank)
  const next = queued[before]
  const previous = queued[before + 1]
  if (next !== undefined) queue.pushBefore(task, next)
  else if (previous !== undefined) queue.pushBehind(task, previous)
  else if (graph.hasBegun) queue.putBack(task)
  else queue.push(task)
  graph.hasBegun = true
  queued.splice(before + 1, 0, task)
}

function rankOf({ node }: TaskEntry): number {
  return node?.rank ?? 0
}

/** The Task of a node whose inputs have all succeeded, except perhaps `before`. */
function taskOf(graph: GraphTables, node: number, before: number = NONE): Task {
  const { nodes, client } = graph
  // A later part of an open graph may need any node.
  const keepsResult = client.runtime === 'javascript' && (graph.isOpen || nodes.neededBy(node) > 0)
  if (keepsResult) nodes.raise(node, KEEPS_RESULT)
  const { name, functionArgs } = argumentsOf(graph, node, before)
  const { functionId, options } = nodes.kindOf(node)
  return {
    kind: 'task',
    taskId: nodes.idOf(node),
    source: options.source,
    metadata: options.metadata,
    funcObjectId: functionId,
    functionArgs,
    capabilities: options.capabilities,
    parentTaskId: options.parentTaskId,
    name,
    timeoutMs: options.timeoutMs,
    retries: options.retries,
    workerDeathLimit: options.workerDeathLimit,
    attempt: 0,
    keepsResult,
    mayHaveRun: false,
    output: options.output,
    outputClient: options.outputClient,
    traceContext: options.traceContext,
    count: 0,
    packed: NO_BYTES,
  }
}

/** The name and arguments of a node whose inputs have all succeeded, except perhaps `before`. */
function argumentsOf(
  graph: GraphTables,
  node: number,
  before: number = NONE,
): Pick<Task, 'name' | 'functionArgs'> {
  const { nodes } = graph
  return nodes.readArguments(node, (index) => {
    const input = nodes.input(node, index)
    if (input !== before) return argumentOf(graph, input)
    return { type: 'task', data: latin1ToBytes(nodes.idOf(input)) }
  })
}

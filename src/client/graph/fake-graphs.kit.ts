// For tests of the client: the graphs of a fake scheduler. A node becomes a task once its inputs
// have ended; its result is kept, reported if it is a target, and passed on.

import { bytesToLatin1, latin1ToBytes, NO_BYTES } from '../../base/bytes.js'
import { taskId, type ObjectId, type TaskId } from '../../base/ids.js'
import {
  type GraphTask,
  PLAIN_RESULT,
  type Task,
  type TaskArgument,
  type TaskResult,
  type TaskStatus,
} from '../../wire/message.js'

/** The outcome of a task. */
export interface FakeOutcome {
  readonly status: TaskStatus
  readonly results: readonly ObjectId[]
  readonly inlineResults: readonly Uint8Array[]
}

/** The operations of the scheduler that graphs need. */
export interface FakeGraphHost {
  /** Runs a task, and calls `onEnd` at its end. */
  run(task: Task): void
  /** Drops a task if it has not ended. */
  drop(id: TaskId): void
  /** Another object with the same content. */
  copyOf(id: ObjectId): ObjectId
  send(to: Task['source'], message: TaskResult): void
}

interface FakeNode {
  readonly task: Task
  isTarget: boolean
  isStarted: boolean
  outcome: (FakeOutcome & { readonly failedTaskId: TaskId }) | undefined
}

interface FakeGraph {
  readonly source: Task['source']
  readonly nodes: Map<TaskId, FakeNode>
  isOpen: boolean
}

const NO_TASK = taskId('')

/** All graphs of one fake scheduler. */
export class FakeGraphs {
  readonly graphs: Map<TaskId, FakeGraph> = new Map()
  readonly #host: FakeGraphHost

  constructor(host: FakeGraphHost) {
    this.#host = host
  }

  onPart(part: GraphTask): void {
    const { taskId: graphId, source } = part
    const fresh: FakeGraph = { source, nodes: new Map(), isOpen: true }
    const graph = this.graphs.get(graphId) ?? fresh
    this.graphs.set(graphId, graph)
    for (const task of part.graph) {
      const isTarget = part.targets.includes(task.taskId)
      const known = graph.nodes.get(task.taskId)
      if (known === undefined) {
        const node = { task, isTarget, isStarted: false, outcome: undefined }
        graph.nodes.set(task.taskId, node)
      } else if (isTarget && known.outcome !== undefined) {
        this.#tell(graph, known)
      }
    }
    graph.isOpen &&= part.isOpen
    this.#goOn(graphId, graph)
  }

  /** A graph is cancelled. */
  onCancel(graphId: TaskId): void {
    const graph = this.graphs.get(graphId)
    if (graph === undefined) return
    this.graphs.delete(graphId)
    for (const id of graph.nodes.keys()) this.#host.drop(id)
    this.#end(graph, graphId, 'canceled')
  }

  /** A task has ended. False if it is not a node. */
  onEnd(task: Task, outcome: FakeOutcome): boolean {
    for (const [graphId, graph] of this.graphs) {
      const node = graph.nodes.get(task.taskId)
      if (node === undefined) continue
      node.outcome = { ...outcome, failedTaskId: NO_TASK }
      if (node.isTarget) this.#tell(graph, node)
      this.#goOn(graphId, graph)
      return true
    }
    return false
  }

  #goOn(graphId: TaskId, graph: FakeGraph): void {
    for (const node of graph.nodes.values()) if (!node.isStarted) this.#start(graph, node)
    const isOver = [...graph.nodes.values()].every(({ outcome }) => outcome !== undefined)
    if (!isOver || graph.isOpen || !this.graphs.delete(graphId)) return
    this.#end(graph, graphId, 'success')
  }

  #start(graph: FakeGraph, node: FakeNode): void {
    const functionArgs: TaskArgument[] = []
    for (const argument of node.task.functionArgs) {
      if (argument.type !== 'task') {
        functionArgs.push(argument)
        continue
      }
      const input = graph.nodes.get(taskId(bytesToLatin1(argument.data)))
      if (input?.outcome === undefined) return
      if (input.outcome.status !== 'success') return this.#fail(graph, node, input)
      functionArgs.push(argumentOf(input.outcome))
    }
    node.isStarted = true
    this.#host.run({ ...node.task, functionArgs })
  }

  #fail(graph: FakeGraph, node: FakeNode, { task, outcome }: FakeNode): void {
    if (outcome === undefined) return
    node.isStarted = true
    const failedTaskId = outcome.failedTaskId === NO_TASK ? task.taskId : outcome.failedTaskId
    const results = outcome.results.map((id) => this.#host.copyOf(id))
    node.outcome = { ...outcome, results, failedTaskId }
    if (node.isTarget) this.#tell(graph, node)
  }

  #tell({ source }: FakeGraph, { task, outcome }: FakeNode): void {
    if (outcome === undefined) return
    const metadata = outcome.status === 'success' ? Buffer.alloc(16) : NO_BYTES
    const kind = 'taskResult'
    this.#host.send(source, { kind, ...PLAIN_RESULT, taskId: task.taskId, metadata, ...outcome })
  }

  #end({ source }: FakeGraph, graphId: TaskId, status: TaskStatus): void {
    const fields = { taskId: graphId, status, metadata: NO_BYTES, results: [] }
    this.#host.send(source, { kind: 'taskResult', ...PLAIN_RESULT, ...fields })
  }
}

function argumentOf({ results, inlineResults }: FakeOutcome): TaskArgument {
  const [object] = results
  if (object !== undefined) return { type: 'objectID', data: latin1ToBytes(object) }
  return { type: 'inline', data: inlineResults[0] ?? NO_BYTES }
}

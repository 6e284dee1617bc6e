// The life of graphs: they are sent in parts, sent again, cancelled. Their targets are in the table
// of tasks and end like other tasks; see task/flow.ts. docs/protocol.md#graph-parts

import { assert } from '../../../base/assert.js'
import { FEATURE_GRAPHS, hasFeature } from '../../../base/features.js'
import { latin1ToBytes } from '../../../base/bytes.js'
import type { ObjectId, TaskId } from '../../../base/ids.js'
import { NO_LOSS, type ObjectLoss, type TaskResult } from '../../../wire/message.js'
import {
  type ArgumentSource,
  type ClientCoreOptions,
  type GraphSubmission,
  type GraphTarget,
  INPUT_LOST,
  RESULT_LOST,
} from '../events.js'
import { countOf } from '../../../wire/run.js'
import { submitAsTasks } from './as-tasks.js'
import { GraphContents, GraphPart } from './part.js'
import { type GraphNodes, needsOf } from './nodes.js'
import { GraphRecord } from './record.js'
import { taskCancelMessage } from '../messages.js'
import type { ClientObjectTable } from '../objects.js'
import type { SchedulerMemory } from '../link.js'
import type { ClientTaskFlow } from '../task/flow.js'
import { ResultInput, type TaskRecord, type ClientTaskTable } from '../task/task.js'

/** While tasks wait as well, graphs send at most this many bytes per turn. */
const MAX_TURN_BYTES = 512 * 1024

/** At most this many losses are recognized if they are reported again. */
const MAX_UNCONFIRMED = 1_000

/** The parts that graphs share with other tasks. */
interface GraphParts<Owner> {
  readonly tasks: ClientTaskTable<Owner>
  readonly objects: ClientObjectTable
  /** Messages are sent through `flow.sender`. */
  readonly flow: ClientTaskFlow<Owner>
}

/** The graphs of one client. */
export class GraphFlow<Owner> {
  readonly #options: ClientCoreOptions
  readonly #parts: GraphParts<Owner>
  readonly #graphs = new Map<TaskId, GraphRecord<Owner>>()
  /** Graphs with unsent parts. Invariant: their phase is open. */
  readonly #unsent = new Set<GraphRecord<Owner>>()
  /** The last losses, in short: the scheduler may not know that they were handled. */
  readonly #losses: ObjectId[] = []
  /** False: the scheduler that answered last does not accept graphs in parts. */
  #mayGraph = true

  constructor(options: ClientCoreOptions, parts: GraphParts<Owner>) {
    this.#options = options
    this.#parts = parts
  }

  /** The number of uses of objects by graphs, in addition to those by their targets. For tests. */
  get objectUses(): number {
    let uses = 0
    for (const { contents } of this.#graphs.values()) uses += contents.objectUses
    return uses
  }

  /** Whether the scheduler must keep any results, of calls or of other tasks. */
  get hasStored(): boolean {
    if (this.#parts.tasks.hasStored) return true
    for (const { contents } of this.#graphs.values()) if (contents.hasKept) return true
    return false
  }

  /** Accepts a graph. It is sent with the next `flush`. */
  submit(submission: GraphSubmission<Owner>): void {
    const { nodes, targets } = submission
    const contents = new GraphContents(submission, this.#options, this.#parts.objects)
    const graph = new GraphRecord(contents, this)
    const inputs = this.#inputsOf(nodes, targets)
    for (const target of targets) {
      const sources = inputs.get(target.position) ?? []
      const missing = this.#parts.flow.inputs.missing(sources)
      if (missing === undefined) this.#addTarget(graph, target, sources)
      else this.#parts.flow.refuse(target.owner, nodes.idOf(target.position), missing)
    }
    // Only now, the dependencies of the targets are in the records of their tasks.
    this.#linkResults(graph, inputs)
    // Some calls cannot be sent now, or ever.
    if (nodes.sources.some(({ type }) => type === 'task' || type === 'object')) graph.onBlocked()
    if (graph.targets.size === 0) return contents.release()
    this.#graphs.set(contents.graphId, graph)
    if (this.#mayGraph) this.#unsent.add(graph)
    else this.#dissolve(graph)
  }

  /** Cancels a graph: its unfinished targets end with `cancelled`. */
  cancel(graphId: TaskId): void {
    const graph = this.#graphs.get(graphId)
    if (graph === undefined) return
    this.#withdraw(graph)
    if (graph.targets.size === 0) return this.#forget(graph)
    const targets = [...graph.targets.values()]
    for (const target of targets) {
      // A result that was kept only for the user of another target ended with that target.
      if (!this.#parts.tasks.has(target) || target.result !== undefined) continue
      this.#parts.flow.ends.abandon(target, 'cancelled', '')
    }
  }

  /** All graphs are given up: the scheduler is notified once per graph rather than per target. */
  recallAll(): void {
    for (const graph of this.#graphs.values()) {
      this.#withdraw(graph)
      if (graph.targets.size === 0) this.#forget(graph)
    }
  }

  /** A scheduler has answered on a new connection. Called before `ClientTaskFlow.resume`. */
  resume(memory: SchedulerMemory): void {
    this.#mayGraph = hasFeature(memory.features, FEATURE_GRAPHS)
    this.#unsent.clear()
    for (const graph of this.#graphs.values()) {
      graph.isCancelDue &&= memory.isSame
      if (!memory.isSame) graph.contents.forgetKept()
      if (graph.targets.size === 0) {
        // The scheduler keeps the graph of a client that lost its link until it hears of it.
        if (memory.isSame && this.#mayGraph) this.#withdraw(graph)
        this.#forget(graph)
      } else if (this.#mayGraph) this.#resume(graph, memory.isSame)
      else this.#dissolve(graph)
    }
  }

  /** Content is lost, and the scheduler has dropped the graphs and tasks that need it. */
  onLost(message: ObjectLoss): void {
    const { objectIds, graphTaskIds, nodeTaskIds, results } = message
    const { flow, objects, tasks } = this.#parts
    // What was sent before may need what is lost, and nothing that is sent later does.
    flow.sender.send(NO_LOSS, 0)
    const lost = new Set(objectIds)
    const dropped = new Set(graphTaskIds)
    const kept = new Set<TaskResult>()
    const isNew = this.#isNewLoss(message)
    for (const graphId of lost.size > 0 ? this.#graphs.keys() : dropped) {
      const graph = this.#graphs.get(graphId)
      if (graph === undefined) continue
      const spent = graph.onLost(lost, nodeTaskIds, isNew)
      if (dropped.has(graphId) && graph.targets.size === 0) this.#forget(graph)
      else if (dropped.has(graphId) || this.#isOutdated(graph, lost)) {
        graph.isKnown = false
        this.#resume(graph, false)
        for (const result of results) if (graph.contents.keep(result)) kept.add(result)
      }
      for (const target of spent) {
        if (tasks.has(target)) flow.ends.abandon(target, 'workerDied', RESULT_LOST)
      }
    }
    for (const result of results) {
      if (result.status === 'workerDied') this.#giveUp(result)
      // Of a target: its TaskResult was lost with a connection.
      const isHere = kept.has(result) && result.inlineResults.length > 0
      const target = isHere ? tasks.get(result.taskId) : undefined
      if (target !== undefined) flow.onTaskResult(target, result)
      if (!kept.has(result)) for (const id of result.results) objects.removeResult(id)
    }
    // Targets that wait now may have to wait for other tasks as well.
    if (lost.size > 0) flow.onLost(objectIds)
  }

  /** A TaskResult that is not about a task in the table. True if it was about a graph. */
  onTaskResult(message: TaskResult): boolean {
    const graph = this.#graphs.get(message.taskId)
    if (graph === undefined) return false
    if (graph.takeCancelAnswer(message)) return true
    if (graph.phase === 'open') {
      graph.onEarlyEnd()
      return true
    }
    if (graph.phase === 'over') return true
    const open = [...graph.targets.values()].filter((target) => target.state === 'sent')
    if (open.length > 0 && graph.isRepeated) {
      graph.isRepeated = false
      return true
    }
    graph.phase = 'over'
    for (const target of open) {
      this.#parts.flow.onTaskResult(target, { ...message, taskId: target.id })
    }
    if (graph.targets.size === 0) this.#forget(graph)
    return true
  }

  get unsentCount(): number {
    return this.#unsent.size
  }

  /** Whether a part of a graph waits to be sent, and may be. */
  get hasUnsent(): boolean {
    if (this.#unsent.size === 0 || this.#parts.flow.sender.hasRoom) return this.#unsent.size > 0
    // A graph that has been started may always continue.
    for (const graph of this.#unsent) if (graph.isKnown) return true
    return false
  }

  /** Sends parts of graphs while the outbox has credit. Comes before tasks in every flush. */
  flush(): void {
    const { sender } = this.#parts.flow
    let bytesLeft = sender.waitingTasks > 0 ? MAX_TURN_BYTES : Infinity
    // One part of each graph in turn: a small one is not stuck behind a large one.
    while (this.hasUnsent) {
      for (const graph of this.#unsent) {
        if (!sender.hasCredit || bytesLeft <= 0) return
        if (!graph.isKnown && !sender.hasRoom) continue
        bytesLeft -= this.#sendPart(graph)
      }
    }
  }

  /** The graph probably has something to send. */
  onUnsent(graph: GraphRecord<Owner>): void {
    if (this.#graphs.get(graph.contents.graphId) === graph) this.#unsent.add(graph)
  }

  /** No result of the graph is needed any more. */
  onIdle(graph: GraphRecord<Owner>): void {
    if (this.#graphs.get(graph.contents.graphId) !== graph) return
    if (graph.phase === 'sent' && graph.isEndDue) return
    this.#withdraw(graph)
    this.#forget(graph)
  }

  /** A target that the scheduler has is given up here. */
  onRecall({ id: taskId }: TaskRecord<Owner>): void {
    const { sender, ends } = this.#parts.flow
    sender.post(taskCancelMessage(taskId, ends.mayForce))
  }

  /** Throws if the tables disagree. */
  checkInvariants(): void {
    for (const [graphId, graph] of this.#graphs) {
      assert(graph.contents.graphId === graphId, 'a graph has the wrong key')
      for (const target of graph.targets.values()) {
        assert(this.#parts.tasks.has(target), 'an ended target is still in its graph')
      }
      graph.checkInvariants()
    }
    for (const graph of this.#unsent) {
      assert(
        this.#graphs.get(graph.contents.graphId) === graph,
        'an unsent graph is not in the table',
      )
      assert(graph.phase === 'open', 'an unsent graph is not open')
    }
    for (const task of this.#parts.tasks.values()) {
      const isKnown = task.graph === undefined || this.#isTarget(task)
      assert(isKnown, 'a target does not belong to its graph')
    }
  }

  /** Whether it is on its way with a result that is lost now: it will be dropped. */
  #isOutdated(graph: GraphRecord<Owner>, lost: ReadonlySet<ObjectId>): boolean {
    const { inputs } = this.#parts.flow
    for (const target of graph.targets.values()) {
      if (target.state === 'sent' && inputs.areAmong(target, lost)) return true
    }
    return false
  }

  /** Tasks that need lost objects must not be submitted again. */
  #giveUp(result: TaskResult): void {
    const { flow, tasks } = this.#parts
    for (const task of tasks.range(result.taskId, countOf(result))) {
      if (tasks.has(task)) flow.ends.abandon(task, 'workerDied', INPUT_LOST)
    }
  }

  /**
   * A message whose confirmation was lost comes again, over the next connection. Ids of results are
   * never used again, so no two losses of results are equal.
   */
  #isNewLoss({ objectIds, nodeTaskIds }: ObjectLoss): boolean {
    if (objectIds.length === 0) return true
    const loss = this.#options.objectIdOf(latin1ToBytes([...objectIds, ...nodeTaskIds].join('')))
    const isNew = !this.#losses.includes(loss)
    if (isNew && this.#losses.push(loss) > MAX_UNCONFIRMED) this.#losses.shift()
    return isNew
  }

  #isTarget(task: TaskRecord<Owner>): boolean {
    const graph = task.graph
    if (!(graph instanceof GraphRecord)) return false
    return this.#graphs.get(graph.contents.graphId) === graph
  }

  /**
   * The other tasks and the objects that each target needs, by position; targets without any are
   * left out.
   */
  #inputsOf(
    nodes: GraphNodes,
    targets: readonly GraphTarget<Owner>[],
  ): Map<number, ArgumentSource[]> {
    const found = new Map<number, ArgumentSource[]>()
    const { inputs } = this.#parts.flow
    const isMeant = nodes.sources.map((source) => {
      if (source.type === 'value' || source.type === 'shared') return false
      return source.type === 'task' || inputs.missing([source]) !== undefined
    })
    if (!isMeant.includes(true)) return found
    const positions = targets.map(({ position }) => position)
    const isMeantAt = (source: number): boolean => isMeant[source] === true
    needsOf(nodes, positions, isMeantAt, (position, sources) => {
      if (sources.length === 0) return
      const all = sources.map((source) => nodes.sources[source])
      found.set(
        position,
        all.filter((source) => source !== undefined && source.type !== 'value') as ArgumentSource[],
      )
    })
    return found
  }

  #addTarget(
    graph: GraphRecord<Owner>,
    { position, owner }: GraphTarget<Owner>,
    args: readonly ArgumentSource[],
  ): void {
    const { nodes, options } = graph.contents
    const { tasks, flow } = this.#parts
    const taskId = nodes.idOf(position)
    const { function: fn } = nodes.functionAt(position)
    const submission = { taskId, owner, function: fn, attachments: [], args, options }
    const target = flow.inputs.take(submission, graph)
    tasks.add(target)
    if (target.unready > 0) target.state = 'blocked'
    graph.targets.set(position, target)
  }

  #linkResults(graph: GraphRecord<Owner>, inputs: ReadonlyMap<number, unknown>): void {
    const { nodes } = graph.contents
    const results = new Map<TaskId, ResultInput<Owner>>()
    for (const position of inputs.keys()) {
      for (const argument of graph.targets.get(position)?.args ?? []) {
        if (argument instanceof ResultInput) results.set(argument.task.id, argument)
      }
    }
    for (const [number, source] of nodes.sources.entries()) {
      const result = source.type === 'task' ? results.get(source.taskId) : undefined
      if (result !== undefined) graph.contents.setResult(number, result)
    }
  }

  #resume(graph: GraphRecord<Owner>, isSame: boolean): void {
    let isWaiting = false
    for (const target of graph.targets.values()) {
      if (target.state === 'sent') this.#parts.tasks.change(target, 'forgotten')
      isWaiting ||= target.result === undefined
    }
    if (isWaiting) {
      graph.resume(isSame)
      this.#unsent.add(graph)
    } else {
      if (isSame) this.#withdraw(graph)
      graph.phase = 'over'
    }
  }

  /** Continues a graph as separate tasks. */
  #dissolve(graph: GraphRecord<Owner>): void {
    const { flow } = this.#parts
    for (const target of graph.targets.values()) {
      if (target.result !== undefined) flow.sendAgain(target, 'forgotten')
    }
    if (graph.targets.size === 0) return
    this.#graphs.delete(graph.contents.graphId)
    this.#unsent.delete(graph)
    submitAsTasks(graph, flow)
    graph.contents.release()
  }

  /** Withdraws a graph from the scheduler. */
  #withdraw(graph: GraphRecord<Owner>): void {
    const { graphId } = graph.contents
    if (graph.isKnown && graph.phase !== 'over') {
      for (const target of graph.targets.values()) this.#parts.flow.ends.onRecall(target)
      this.#parts.flow.sender.post({ kind: 'graphTaskCancel', taskId: graphId })
      graph.isCancelDue = true
    }
    graph.phase = 'over'
    this.#unsent.delete(graph)
  }

  #forget(graph: GraphRecord<Owner>): void {
    this.#graphs.delete(graph.contents.graphId)
    this.#unsent.delete(graph)
    graph.contents.release()
  }

  /** Returns the approximate number of bytes sent. */
  #sendPart(graph: GraphRecord<Owner>): number {
    const { tasks, flow } = this.#parts
    const part = new GraphPart(graph.contents, this.#options.identity)
    const sent: TaskRecord<Owner>[] = []
    while (!part.isFull) {
      const position = graph.takeNode()
      if (position === undefined) break
      const target = graph.targets.get(position)
      const isTarget = target?.state === 'waiting'
      part.add(position, isTarget)
      if (isTarget) sent.push(target)
    }
    const { isComplete } = graph
    if (part.isEmpty && !(isComplete && graph.isKnown)) {
      if (isComplete) graph.phase = 'over'
      this.#unsent.delete(graph)
      return 0
    }
    flow.sender.sendObjects(part.objects)
    flow.sender.send(part.message(!isComplete), part.bytes)
    if (!graph.isKnown) flow.sender.spendRoom()
    graph.isKnown = true
    for (const target of sent) tasks.change(target, 'taskSent')
    if (isComplete) {
      this.#unsent.delete(graph)
      graph.phase = 'sent'
    }
    return part.bytes
  }
}

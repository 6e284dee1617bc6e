// For tests of the client's core: graphs by name, and a scheduler that takes them in parts, which
// checks what it gets and runs one node whenever it is told to. A value is a text: that of a call is
// its function with the texts of its arguments.

import assert from 'node:assert/strict'
import { bytesToLatin1 } from '../../base/bytes.js'
import { FEATURE_GRAPHS, FEATURE_INLINE, FEATURE_TASK_UPDATES } from '../../base/features.js'
import { objectId, taskId, type TaskId } from '../../base/ids.js'
import type { GraphTask, Message, Task, TaskResult } from '../../wire/message.js'
import { joinChunks } from '../../wire/object-content.js'
import { GraphNodes } from './graph/nodes.js'
import type { ArgumentSource, ClientAction, GraphSubmission, StoredValue } from './events.js'
import { Harness, NO_OPTIONS, objectResponse, sent, taskResult } from './harness.test.kit.js'

/** What a scheduler of ours understands. */
export const ALL_FEATURES: number = FEATURE_INLINE | FEATURE_TASK_UPDATES | FEATURE_GRAPHS

/** An argument of a call: the name of an earlier call, or a value. */
export type SketchArgument =
  string | { readonly bytes: string } | { readonly large: string } | ArgumentSource

/** A call: the name of its function, then its arguments. */
export type SketchCall = readonly [fn: string, ...args: readonly SketchArgument[]]

/** A function object as the client's core sees it. */
export function storedFunction(name: string): StoredValue {
  const bytes = Buffer.from(name)
  return { id: objectId(`function:${name}`), name: bytes, content: bytes }
}

/** A graph of calls by name, in order. The owner of a target is its name. */
export function sketchGraph(
  id: string,
  calls: Readonly<Record<string, SketchCall>>,
  targets: readonly string[],
): GraphSubmission<string> & { readonly idOf: (name: string) => TaskId } {
  const nodes = new GraphNodes(id.padEnd(10, '-').slice(0, 10))
  const functions = new Map<string, number>()
  const positions = new Map<string, number>()
  for (const [name, [fn, ...args]] of Object.entries(calls)) {
    const known = functions.get(fn)
    const number = known ?? nodes.addFunction({ function: storedFunction(fn), attachments: [] })
    functions.set(fn, number)
    positions.set(name, nodes.addCall(number))
    for (const argument of args) addArgument(nodes, positions, argument)
  }
  nodes.finish()
  const positionOf = (name: string): number => positions.get(name) ?? assert.fail(name)
  return {
    graphId: taskId(id),
    options: NO_OPTIONS,
    nodes,
    targets: targets.map((name) => ({ position: positionOf(name), owner: name })),
    idOf: (name) => nodes.idOf(positionOf(name)),
  }
}

function addArgument(
  nodes: GraphNodes,
  positions: ReadonlyMap<string, number>,
  argument: SketchArgument,
): void {
  if (typeof argument === 'string') {
    nodes.addCallArgument(positions.get(argument) ?? assert.fail(`no call ${argument} before`))
  } else if ('bytes' in argument) {
    nodes.addValueArgument(nodes.addValue(Buffer.from(argument.bytes)))
  } else if ('large' in argument) {
    const content = Buffer.from(argument.large)
    const value = { id: objectId(`value:${argument.large}`), name: content, content }
    nodes.addValueArgument(nodes.addValue({ type: 'value', value }))
  } else {
    nodes.addValueArgument(nodes.addValue(argument))
  }
}

interface LiveNode {
  readonly task: Task
  /** `value …` or `error …`. */
  outcome: string | undefined
  failedTaskId: TaskId | undefined
  isTarget: boolean
  isDropped: boolean
}

interface LiveGraph {
  readonly nodes: Map<TaskId, LiveNode>
  isOpen: boolean
  /** A target of it was cancelled. */
  hasLost: boolean
}

/** A client's core, and a scheduler that may be gone. */
export class GraphSetting {
  readonly harness: Harness
  readonly scheduler: GraphScheduler = new GraphScheduler()
  /** Whether results that are kept in the cluster are asked for at once. */
  isEager = true
  isConnected = true
  /** The targets of graphs that were submitted, by their owners. */
  readonly #ids = new Map<string, TaskId>()
  /** Tasks that the client knows to have ended: the scheduler keeps their results as objects. */
  readonly #kept = new Set<TaskId>()

  /** Connected to a scheduler of ours, unless told otherwise. */
  constructor(id = 'S1', features: number = ALL_FEATURES) {
    this.harness = new Harness()
    this.harness.isEager = false
    this.harness.remembers = 'says nothing'
    this.connect(id, features)
  }

  connect(id = 'S1', features: number = ALL_FEATURES): void {
    this.isConnected = true
    this.deliver(this.harness.open(id, features))
    this.answer()
  }

  /** What is on its way to the client is lost. */
  disconnect(): void {
    this.isConnected = false
    this.harness.disconnect()
  }

  submit(graph: GraphSubmission<string>): void {
    for (const { owner, position } of graph.targets)
      this.#ids.set(owner, graph.nodes.idOf(position))
    this.deliver(this.harness.handle({ type: 'graphSubmitted', graph }))
  }

  cancelGraph({ graphId }: GraphSubmission<string>): void {
    this.deliver(this.harness.handle({ type: 'graphCancelRequested', graphId }))
  }

  cancel(owner: string): void {
    this.deliver(this.harness.cancel(this.#ids.get(owner) ?? owner))
  }

  want(owner: string): void {
    const id = this.#ids.get(owner) ?? taskId(owner)
    this.deliver(this.harness.handle({ type: 'resultRequested', taskId: id, owner }))
  }

  receive(message: Message): void {
    this.deliver(this.harness.receive(message))
  }

  /** Hands the scheduler what the client has sent, and answers offers. */
  deliver(actions: readonly ClientAction<string>[]): void {
    for (const message of sent(actions)) this.scheduler.handle(message)
    for (const action of actions) {
      if (action.type === 'offerResult' && this.isEager) this.want(action.owner)
    }
  }

  flush(): void {
    this.deliver(this.harness.flush())
  }

  /** Hands the client what the scheduler has said. False if that was nothing. */
  answer(): boolean {
    const messages = this.scheduler.outgoing.splice(0)
    if (!this.isConnected) return false
    for (const message of messages) {
      if (message.kind === 'taskResult' && message.results.length > 0) {
        this.#kept.add(message.taskId)
      }
      this.receive(message)
    }
    return messages.length > 0
  }

  /** Whether the client has heard that the task of an owner has ended, with a kept result. */
  hasResult(owner: string): boolean {
    return this.#kept.has(this.#ids.get(owner) ?? taskId(owner))
  }

  /** The scheduler forgets everything. */
  restart(): void {
    this.scheduler.restart()
    this.#kept.clear()
  }

  /** Until nobody has anything to say. */
  settle(): void {
    for (let i = 0; i < 1_000; i += 1) {
      this.harness.actions = []
      this.flush()
      this.scheduler.runAll()
      const isAnswered = this.answer()
      if (!isAnswered && !this.harness.actions.some(({ type }) => type === 'requestFlush')) return
    }
    assert.fail('it goes on for ever')
  }

  /** Whether the core holds nothing any more, but functions for a next time. */
  get isIdle(): boolean {
    const { machine } = this.harness
    return machine.unfinishedTasks === 0 && machine.heldBytes === 0
  }
}

/** A scheduler with workers, as the client's core sees them. */
export class GraphScheduler {
  readonly objects: Map<string, string> = new Map()
  readonly graphs: Map<TaskId, LiveGraph> = new Map()
  readonly tasks: Map<TaskId, Task> = new Map()
  /** Answers that wait to be delivered. */
  readonly outgoing: Message[] = []
  /** Nodes that ran, by their functions. */
  readonly runs: string[] = []
  parts: GraphTask[] = []
  #resultCount = 0

  /** Takes a message of the client; checks that it is as it must be. */
  handle(message: Message): void {
    switch (message.kind) {
      case 'graphTask':
        return this.#onPart(message)
      case 'graphTaskCancel':
        return this.#onGraphCancel(message.taskId)
      case 'taskCancel':
        return this.#onCancel(message.taskId)
      case 'task':
        this.#checkObjects(message)
        this.tasks.set(message.taskId, message)
        return
      case 'objectInstruction': {
        const { objectIds, objectBytes } = message.objectContent
        for (const [index, id] of objectIds.entries()) {
          if (message.instructionType === 'delete') this.objects.delete(id)
          else this.objects.set(id, textOf(joinChunks(objectBytes[index] ?? [])))
        }
        return
      }
      case 'objectRequest':
        for (const id of message.objectIds) {
          this.outgoing.push(objectResponse(id, this.objects.get(id)))
        }
        break
      default:
    }
  }

  /** Runs one of the nodes and tasks that can run. False if there is none. */
  runOne(which = 0): boolean {
    const ready = [...this.#readyNodes(), ...this.tasks.values()]
    if (ready.length === 0) return false
    const task = ready[which % ready.length] ?? assert.fail()
    this.runs.push(this.objects.get(task.funcObjectId) ?? assert.fail('a function is missing'))
    if (this.tasks.delete(task.taskId)) this.#answerTask(task)
    else this.#endNode(task)
    return true
  }

  /** Runs until nothing can run. */
  runAll(): void {
    while (this.runOne());
  }

  /** All is lost. */
  restart(): void {
    this.objects.clear()
    this.graphs.clear()
    this.tasks.clear()
    this.outgoing.length = 0
  }

  #onPart(part: GraphTask): void {
    this.parts.push(part)
    const known = this.graphs.get(part.taskId)
    const graph: LiveGraph = known ?? { nodes: new Map(), isOpen: true, hasLost: false }
    this.graphs.set(part.taskId, graph)
    const inPart = new Set(part.graph.map((task) => task.taskId))
    assert.equal(inPart.size, part.graph.length, 'a node twice in a part')
    for (const target of part.targets) assert.ok(inPart.has(target), 'a target of another part')
    for (const task of part.graph) this.#addNode(graph, task, part)
    graph.isOpen &&= part.isOpen
    if (graph.hasLost) this.#dropNeedless(graph)
    this.#finishIfOver(part.taskId)
  }

  #addNode(graph: LiveGraph, task: Task, part: GraphTask): void {
    const isTarget = part.targets.includes(task.taskId)
    const known = graph.nodes.get(task.taskId)
    if (known !== undefined) {
      if (isTarget) known.isTarget = true
      if (isTarget && known.outcome !== undefined) this.#tell(known)
      return
    }
    assert.ok(graph.isOpen, 'a new node for a graph that is complete')
    this.#checkObjects(task)
    for (const argument of task.functionArgs) {
      if (argument.type !== 'task') continue
      assert.ok(graph.nodes.has(idOf(argument.data)), 'a node before one that it needs')
    }
    const node = { task, outcome: undefined, failedTaskId: undefined, isTarget, isDropped: false }
    graph.nodes.set(task.taskId, node)
  }

  #checkObjects(task: Task): void {
    assert.ok(this.objects.has(task.funcObjectId), 'a task before its function')
    for (const argument of task.functionArgs) {
      if (argument.type !== 'objectID' && argument.type !== 'sharedObjectID') continue
      assert.ok(this.objects.has(bytesToLatin1(argument.data)), 'a task before its argument')
    }
  }

  #onCancel(id: TaskId): void {
    this.tasks.delete(id)
    for (const graph of this.graphs.values()) {
      const node = graph.nodes.get(id)
      if (node === undefined) continue
      node.isTarget = false
      graph.hasLost = true
      this.#dropNeedless(graph)
    }
    for (const graphId of this.graphs.keys()) this.#finishIfOver(graphId)
  }

  /** What follows may need anything, so nothing is dropped before. */
  #dropNeedless({ nodes, isOpen }: LiveGraph): void {
    if (isOpen) return
    const needed = new Set<TaskId>()
    for (const [id, node] of [...nodes].toReversed()) {
      const isNeeded = needed.has(id) || node.isTarget
      if (!isNeeded && node.outcome === undefined) node.isDropped = true
      if (!isNeeded) continue
      for (const { type, data } of node.task.functionArgs)
        if (type === 'task') needed.add(idOf(data))
    }
  }

  #onGraphCancel(id: TaskId): void {
    // It may have ended while the message was on its way.
    const status = this.graphs.delete(id) ? 'canceled' : 'notFound'
    this.outgoing.push(taskResult(id, { status }))
  }

  #readyNodes(): Task[] {
    const ready: Task[] = []
    for (const { nodes } of this.graphs.values()) {
      for (const { task, outcome, isDropped } of nodes.values()) {
        if (outcome !== undefined || isDropped) continue
        const inputs = task.functionArgs.filter(({ type }) => type === 'task')
        if (inputs.every(({ data }) => nodes.get(idOf(data))?.outcome !== undefined))
          ready.push(task)
      }
    }
    return ready
  }

  #endNode(task: Task): void {
    for (const [graphId, { nodes }] of this.graphs) {
      const node = nodes.get(task.taskId)
      if (node === undefined) continue
      const inputs = task.functionArgs.map(({ type, data }) =>
        type === 'task' ? nodes.get(idOf(data)) : undefined,
      )
      const failed = inputs.find((input) => input?.outcome?.startsWith('error') === true)
      node.outcome = failed?.outcome ?? this.#call(task, (id) => nodes.get(id)?.outcome)
      if (failed !== undefined) node.failedTaskId = failed.failedTaskId ?? failed.task.taskId
      if (node.isTarget) this.#tell(node)
      this.#finishIfOver(graphId)
      return
    }
  }

  #call(task: Task, outcomeOf: (id: TaskId) => string | undefined): string {
    const fn = this.objects.get(task.funcObjectId) ?? ''
    if (fn === 'fail') return 'error failed'
    const args = task.functionArgs.map(({ type, data }) => {
      if (type === 'inline' || type === 'sharedInline') return textOf(data)
      if (type !== 'task') return this.objects.get(bytesToLatin1(data)) ?? 'missing'
      return outcomeOf(idOf(data))?.slice('value '.length)
    })
    return `value ${fn}(${args.join(' ')})`
  }

  #answerTask(task: Task): void {
    this.#send(
      task.taskId,
      this.#call(task, () => undefined),
      undefined,
    )
  }

  #tell({ task, outcome, failedTaskId }: LiveNode): void {
    if (outcome !== undefined) this.#send(task.taskId, outcome, failedTaskId)
  }

  /** Every other result is an object. */
  #send(id: TaskId, outcome: string, failedTaskId: TaskId | undefined): void {
    const payload = Buffer.from(outcome.slice('value '.length))
    const isSuccess = outcome.startsWith('value')
    this.#resultCount += 1
    const fields: Partial<TaskResult> = {
      status: isSuccess ? 'success' : 'failed',
      ...(failedTaskId === undefined ? {} : { failedTaskId }),
    }
    if (this.#resultCount % 2 === 0) {
      this.outgoing.push(taskResult(id, { ...fields, inlineResults: [payload] }))
      return
    }
    const object = objectId(`result ${this.#resultCount}`)
    this.objects.set(object, payload.toString())
    this.outgoing.push(taskResult(id, { ...fields, results: [object] }))
  }

  #finishIfOver(graphId: TaskId): void {
    const graph = this.graphs.get(graphId)
    if (graph === undefined || graph.isOpen) return
    const nodes = [...graph.nodes.values()]
    if (nodes.some(({ outcome, isDropped }) => outcome === undefined && !isDropped)) return
    this.graphs.delete(graphId)
    const hasFailed = nodes.some(({ outcome }) => outcome?.startsWith('error') === true)
    this.outgoing.push(taskResult(graphId, { status: hasFailed ? 'failed' : 'success' }))
  }
}

function idOf(bytes: Uint8Array): TaskId {
  return taskId(bytesToLatin1(bytes))
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

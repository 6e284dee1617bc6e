// An application of the simulated world: uses a client according to its plan, and has every future
// checked when it settles.

import { identity, taskId, type ObjectId, type TaskId } from '#src/base/ids.js'
import { GraphNodes } from '#src/core/client/graph/nodes.js'
import type { ArgumentSource, GraphTarget, SharedAnswer } from '#src/core/client/events.js'
import { nthTaskId } from '#src/wire/run.js'
import { pack } from '#src/wire/run.kit.js'
import { ClientHost } from './client-host.js'
import { Future, type ResultWish, RunFutures } from './future.js'
import type { OutcomeChecker } from './outcome-checker.js'
import { anyValue } from './processor-run.js'
import { needsOf, type Program } from './program.js'
import type { ClientPlan, NodePlan, Scenario, Step } from './scenario.js'
import { optionsOf, programBytes, shipFunction, stored } from './shipment.js'
import { Violation } from './violation.js'
import { newProcess, type World } from './world.js'

type StepOf<Type extends Step['type']> = Extract<Step, { type: Type }>

/** One application and its client. */
export class Application {
  readonly host: string
  readonly client: ClientHost
  readonly #world: World
  readonly #checker: OutcomeChecker
  readonly #futures = new Map<string, Future>()
  /** The values of those that have succeeded and are here. */
  readonly #values = new Map<string, string>()
  /** The ids of pinned objects. */
  readonly #pinned = new Map<string, ObjectId>()
  /** What it looks for, by ticket. */
  readonly #sought = new Map<number, StepOf<'find'>>()
  readonly #graphs = new Map<string, { readonly id: TaskId; readonly names: readonly string[] }>()
  #isGone = false
  #stepsLeft: number

  constructor(world: World, scenario: Scenario, number: number, checker: OutcomeChecker) {
    const plan = scenario.clients[number] as ClientPlan
    this.#world = world
    this.#checker = checker
    this.host = `c${number}`
    this.#stepsLeft = plan.steps.length
    const process = newProcess(world, this.host)
    this.client = new ClientHost(world, {
      name: this.host,
      identity: identity(`client-${number}`),
      host: this.host,
      process,
      worker: identity(''),
      settings: scenario.client,
      pipes: scenario.hostPipes[this.host] ?? scenario.pipes,
      onShared: (ticket, answer) => this.#onShared(ticket, answer),
    })
    for (const step of plan.steps) {
      process.after(step.atMs, () => {
        this.#stepsLeft -= 1
        if (!this.client.hasEnded) this.#perform(step)
      })
    }
    process.onDeath(() => this.#onDeath())
  }

  /** Whether nothing is awaited here any more, and no step follows. */
  get isDone(): boolean {
    return this.#isGone || (this.#stepsLeft === 0 && this.unfinished.length === 0)
  }

  /** Unsettled futures. */
  get unfinished(): readonly Future[] {
    if (this.#isGone) return []
    return [...this.#futures.values()].filter((future) => !future.isOver && !future.wasOffered)
  }

  /** Whether its process has died. */
  get isGone(): boolean {
    return this.#isGone
  }

  /** It has ended: no step follows. */
  forget(): void {
    this.#futures.clear()
    this.#values.clear()
    this.#graphs.clear()
  }

  /** Disconnects, if it has not. */
  close(): void {
    if (this.#isGone || this.client.hasEnded) return
    if (this.#world.mutation.name === 'clientsLeaveWithoutWord') return
    this.#perform({ type: 'close', atMs: 0 })
  }

  #perform(step: Step): void {
    this.#world.story.tell(this.host, () => describeStep(step))
    switch (step.type) {
      case 'submit':
        return this.#submit(step)
      case 'run':
        return this.#submitRun(step)
      case 'graph':
        return this.#submitGraph(step)
      case 'cancel':
        return this.#cancel(step.name)
      case 'cancelGraph':
        return this.#cancelGraph(step.name)
      case 'pin':
        return this.#pin(step)
      case 'unpin':
        return this.#unpin(step.name)
      case 'share':
        return this.#pin(step, step.name, step.isReplicated)
      case 'find': {
        const ticket = this.#sought.size
        this.#sought.set(ticket, step)
        const call = { ticket, type: 'find', name: step.name } as const
        return this.client.post({ type: 'sharedCalled', call })
      }
      case 'removeName': {
        const call = { ticket: -1, type: 'remove', name: step.name } as const
        return this.client.post({ type: 'sharedCalled', call })
      }
      case 'clear':
        this.#checker.onClear(this.host)
        this.#pinned.clear()
        return this.client.post({ type: 'clearRequested' })
      case 'close':
        this.#checker.onClose(this.host)
        return this.client.post({ type: 'closeRequested' })
      default:
    }
  }

  #submit({ program, needs, wish }: StepOf<'submit'>): void {
    const sources = this.#sources(needs)
    if (sources === undefined) return
    const id = taskId(program.name.padEnd(16, '.'))
    const future = this.#newFuture(id, program, wish)
    this.#checker.onSubmit(this.host, program, needs, undefined)
    this.client.post({
      type: 'taskSubmitted',
      task: {
        taskId: id,
        owner: future,
        ...shipFunction(program.fn, (content) => this.client.objectIdOf(content)),
        args: [programBytes(program), ...sources],
        options: optionsOf(program, program.priority),
      },
    })
  }

  #submitRun({ name, programs, wish }: StepOf<'run'>): void {
    const [first] = programs
    if (first === undefined) return
    const firstId = taskId(`AA${name.padEnd(12, '.')}AA`)
    const owner = new RunFutures(
      programs.map((program, at) => this.#newFuture(nthTaskId(firstId, at), program, wish)),
    )
    for (const program of programs) this.#checker.onSubmit(this.host, program, [], undefined)
    const entries = programs.map((program) => anyValue(programBytes(program)))
    this.client.post({
      type: 'taskSubmitted',
      task: {
        taskId: firstId,
        owner,
        ...shipFunction(first.fn, (content) => this.client.objectIdOf(content)),
        args: [],
        options: optionsOf(first, first.priority),
        run: { count: programs.length, packed: pack(entries) },
      },
    })
  }

  #submitGraph({ name, nodes: plans }: StepOf<'graph'>): void {
    const nodes = new GraphNodes(name.padEnd(10, '.').slice(-10))
    const functions = new Map<string, number>()
    const positions = new Map<string, number>()
    const targets: GraphTarget<Future>[] = []
    const kept = plans.filter((plan) => this.#areThere(plan, plans))
    for (const plan of kept) {
      const { program } = plan
      const position = nodes.addCall(this.#functionNumber(nodes, functions, program.fn))
      positions.set(program.name, position)
      nodes.addValueArgument(nodes.addValue(programBytes(program)))
      this.#addArguments(nodes, positions, plan)
    }
    if (!kept.some(({ isTarget }) => isTarget)) return
    nodes.finish()
    for (const [position, { program, isTarget, wish }] of kept.entries()) {
      const id = nodes.idOf(position)
      this.#world.journal.name(id, program.name)
      if (isTarget) targets.push({ position, owner: this.#newFuture(id, program, wish) })
    }
    for (const { program, needs } of kept) this.#checker.onSubmit(this.host, program, needs, name)
    const graphId = taskId(`graph:${name}`.padEnd(16, '.'))
    this.#graphs.set(name, { id: graphId, names: kept.map(({ program }) => program.name) })
    const first = kept[0] as NodePlan
    const options = {
      ...optionsOf(first.program, first.program.priority),
      capabilities: needsOf(kept.map(({ program }) => program)),
    }
    this.client.post({ type: 'graphSubmitted', graph: { graphId, options, nodes, targets } })
  }

  #functionNumber(nodes: GraphNodes, numbers: Map<string, number>, fn: string): number {
    const known = numbers.get(fn)
    if (known !== undefined) return known
    const number = nodes.addFunction(shipFunction(fn, (content) => this.client.objectIdOf(content)))
    numbers.set(fn, number)
    return number
  }

  #addArguments(nodes: GraphNodes, positions: Map<string, number>, plan: NodePlan): void {
    for (const name of plan.needs) {
      const position = positions.get(name)
      if (position !== undefined) {
        nodes.addCallArgument(position)
        continue
      }
      const [source] = this.#sources([name]) ?? []
      if (source === undefined) continue
      nodes.addValueArgument(nodes.addValue(source))
    }
  }

  /** Whether everything that a node needs is available. */
  #areThere(plan: NodePlan, plans: readonly NodePlan[]): boolean {
    return plan.needs.every((name) => {
      const other = plans.find(({ program }) => program.name === name)
      if (other !== undefined) return this.#areThere(other, plans)
      return this.#sources([name]) !== undefined
    })
  }

  /** The sources of some inputs; undefined if one of them is not available. */
  #sources(names: readonly string[]): readonly ArgumentSource[] | undefined {
    const sources: ArgumentSource[] = []
    for (const name of names) {
      const source = this.#sourceOf(name)
      if (source === undefined) return undefined
      sources.push(source)
    }
    return sources
  }

  #sourceOf(name: string): ArgumentSource | undefined {
    const pinned = this.#pinned.get(name)
    if (pinned !== undefined) return { type: 'object', id: pinned }
    const value = this.#values.get(name)
    if (value !== undefined) return Buffer.from(value, 'latin1')
    const future = this.#futures.get(name)
    if (future === undefined || !this.client.has(future.taskId)) return undefined
    return { type: 'task', taskId: future.taskId }
  }

  #newFuture(id: TaskId, program: Program, wish: ResultWish): Future {
    const future = new Future(id, program.name, wish, (ended, outcome) => {
      if (outcome.type === 'value') this.#values.set(ended.name, outcome.text)
      this.#checker.onEnd(this.host, this.client, ended, outcome)
    })
    this.#futures.set(program.name, future)
    this.#world.journal.name(id, program.name)
    return future
  }

  #cancel(name: string): void {
    const future = this.#futures.get(name)
    if (future === undefined) return
    this.#checker.onCancel(this.host, name)
    this.client.post({ type: 'cancelRequested', taskId: future.taskId })
    if (!future.isOver) throw new Violation('outcome', `${name} goes on after it was cancelled`)
  }

  #cancelGraph(name: string): void {
    const graph = this.#graphs.get(name)
    if (graph === undefined) return
    for (const node of graph.names) this.#checker.onCancel(this.host, node)
    this.client.post({ type: 'graphCancelRequested', graphId: graph.id })
  }

  #pin(
    { name, bytes }: StepOf<'pin' | 'share'>,
    sharedAs?: string,
    isReplicated: boolean = false,
  ): void {
    const text = objectText(name, bytes)
    this.#checker.onPin(this.host, name, text)
    if (sharedAs !== undefined) this.#checker.onShare(this.host, name)
    const value = stored(text, (content) => this.client.objectIdOf(content))
    this.#pinned.set(name, value.id)
    this.client.post({ type: 'objectPinned', value, sharedAs, isReplicated })
  }

  #onShared(ticket: number, { outcome, id }: SharedAnswer): void {
    const step = this.#sought.get(ticket)
    if (step === undefined || outcome !== 'found') return
    const { name, bytes } = step
    if (this.#pinned.has(name)) return this.client.post({ type: 'objectUnpinned', id })
    this.#checker.onPin(this.host, name, objectText(name, bytes))
    this.#pinned.set(name, id)
  }

  #unpin(name: string): void {
    const id = this.#pinned.get(name)
    if (id === undefined) return
    this.#pinned.delete(name)
    this.#checker.onUnpin(this.host, name)
    this.client.post({ type: 'objectUnpinned', id })
  }

  #onDeath(): void {
    this.#isGone = true
    this.#checker.onClientDeath(this.host)
  }
}

function objectText(name: string, bytes: number): string {
  return `object ${name} `.padEnd(bytes, '~')
}

function describeStep(step: Step): string {
  if (step.type === 'submit') {
    const { program, needs } = step
    const rest = needs.length === 0 ? '' : ` that needs ${needs.join(' ')}`
    return `submits ${program.name}${rest}`
  }
  if (step.type === 'run') {
    return `submits the run ${step.programs.map(({ name }) => name).join(' ')}`
  }
  if (step.type === 'graph') {
    const nodes = step.nodes.map(({ program, needs, isTarget }) => {
      return `${program.name}${isTarget ? '!' : ''}(${needs.join(' ')})`
    })
    return `submits the graph ${step.name}: ${nodes.join(' ')}`
  }
  return 'name' in step ? `${step.type} ${step.name}` : step.type
}

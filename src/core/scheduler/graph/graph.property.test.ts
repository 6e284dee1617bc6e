// Random graphs in a cluster of scripted peers, compared with a plain evaluator: whatever happens
// to workers and connections, each target that the client needs ends once, with the right value or
// the right error; no node runs twice without need; the tables are empty at the end.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sized } from '../../../base/short-run.kit.js'
import { bytesToLatin1, latin1ToBytes } from '../../../base/bytes.js'
import { identity, objectId, taskId } from '../../../base/ids.js'
import {
  type GraphTask,
  type Message,
  PLAIN_RESULT,
  type Task,
  type TaskArgument,
  type TaskResult,
} from '../../../wire/message.js'
import {
  cancel,
  clientHeartbeat,
  instruction,
  OURS,
  PYTHON,
  result,
  TestScheduler,
  workerHeartbeat,
} from '../scheduler.kit.js'
import { graph, messageOf, node } from './graph.kit.js'

/** A generated node: its inputs are indexes of earlier nodes. */
interface Drawn {
  readonly inputs: readonly number[]
  readonly fails: boolean
  readonly retries: number
  readonly isLarge: boolean
  readonly isTarget: boolean
}

interface Plan {
  readonly isPython: boolean
  readonly nodes: readonly Drawn[]
  /** Where the parts end; the remaining nodes are the last part. */
  readonly cuts: readonly number[]
  readonly steps: readonly Step[]
  readonly stepsPerTurn: number
  readonly order: number
}

type StepType =
  'part' | 'finish' | 'time' | 'join' | 'lose' | 'cancelTarget' | 'cancelGraph' | 'relink' | 'leave'

interface Step {
  readonly type: StepType
  readonly at: number
}

const WORKERS = ['W0', 'W1', 'W2']
const OBJECT = 'shared'

const drawn: fc.Arbitrary<Drawn> = fc.record({
  inputs: fc.array(fc.nat(30), { maxLength: 7 }),
  fails: fc.boolean().chain((first) => (first ? fc.boolean() : fc.constant(false))),
  retries: fc.nat(1),
  isLarge: fc.boolean(),
  isTarget: fc.boolean(),
})

const harmless = fc.constantFrom<StepType>(
  'part',
  'part',
  'finish',
  'finish',
  'finish',
  'time',
  'join',
)
const rough = fc.constantFrom<StepType>('lose', 'relink', 'cancelTarget')
const final = fc.constantFrom<StepType>('cancelGraph', 'leave')

const stepOf = (types: fc.Arbitrary<StepType>): fc.Arbitrary<Step> =>
  fc.record({ type: types, at: fc.nat(30) })

function plans(steps: fc.Arbitrary<Step>): fc.Arbitrary<Plan> {
  return fc.record({
    isPython: fc.boolean(),
    nodes: fc.array(drawn, { maxLength: 14, size: 'max' }),
    cuts: fc.array(fc.nat(14), { maxLength: 3 }),
    steps: fc.array(steps, { maxLength: 60, size: 'max' }),
    stepsPerTurn: fc.constantFrom(1, 7, 24_000),
    order: fc.nat(),
  })
}

/** Our clients number the nodes in their ids, others do not. */
function idOf({ isPython }: Plan, at: number): string {
  return isPython ? `n${at}` : `our prefix ::${String.fromCharCode(0, 0, 0, at)}`
}

/** The expected outcome of each node: its value, or the node that causes its failure. */
function evaluate(nodes: readonly Task[], fails: ReadonlySet<string>): Map<string, Outcome> {
  const outcomes = new Map<string, Outcome>()
  for (const { taskId: id, functionArgs } of nodes) {
    const inputs = functionArgs.map((argument) => {
      if (argument.type === 'objectID') return { value: `content of ${OBJECT}` }
      const text = bytesToLatin1(argument.data)
      return argument.type === 'inline' ? { value: text } : (outcomes.get(text) as Outcome)
    })
    const causes = inputs.flatMap((input) => ('causes' in input ? [...input.causes] : []))
    if (causes.length > 0) outcomes.set(id, { causes: new Set(causes) })
    else if (fails.has(id)) outcomes.set(id, { causes: new Set([id]) })
    else
      outcomes.set(id, {
        value: valueOf(
          id,
          inputs.map((input) => ('value' in input ? input.value : '')),
        ),
      })
  }
  return outcomes
}

type Outcome = { readonly value: string } | { readonly causes: ReadonlySet<string> }

/** What a node computes. */
function valueOf(id: string, inputs: readonly string[]): string {
  let hash = 7
  for (const character of `${id}(${inputs.join()})`) {
    hash = (Math.imul(hash, 31) + character.charCodeAt(0)) | 0
  }
  return `${id}=${hash}`
}

class World {
  readonly scheduler: TestScheduler
  readonly tasks: readonly Task[]
  readonly expected: ReadonlyMap<string, Outcome>
  readonly runs = new Map<string, number>()
  /** The results that the client received, in order. */
  readonly told = new Map<string, TaskResult[]>()
  readonly unwanted = new Set<string>()
  readonly #plan: Plan
  readonly #fails: ReadonlySet<string>
  readonly #parts: readonly GraphTask[]
  readonly #held = new Map<string, Task[]>()
  readonly #objects = new Set<string>()
  #sent = 0
  #serial = 0
  wasCancelled = false
  hasLeft = false
  hadLosses = false
  hadResends = false

  constructor(plan: Plan) {
    this.#plan = plan
    this.scheduler = new TestScheduler({ graphStepsPerTurn: plan.stepsPerTurn })
    this.tasks = plan.nodes.map((one, at) => this.#taskOf(one, at))
    this.#fails = new Set(plan.nodes.flatMap(({ fails }, at) => (fails ? [idOf(plan, at)] : [])))
    this.expected = evaluate(this.tasks, this.#fails)
    this.#parts = this.#cut()
    this.#say('C', clientHeartbeat(plan.isPython ? PYTHON : OURS))
    this.#say('C', instruction('create', 'C', ['f', OBJECT]))
  }

  take({ type, at }: Step): void {
    const worker = WORKERS[at % WORKERS.length] as string
    switch (type) {
      case 'part':
        return this.#sendPart()
      case 'finish':
        return this.#finish(worker, at)
      case 'time':
        return this.#wait()
      case 'join':
        return this.#join(worker)
      case 'lose':
        return this.#lose(worker)
      case 'cancelTarget':
        return this.#cancelTarget(at)
      case 'cancelGraph':
        if (this.#sent === 0 || this.#isOver()) return
        this.wasCancelled = true
        return this.#say('C', { kind: 'graphTaskCancel', taskId: taskId('g') })
      case 'relink':
        return this.#relink()
      case 'leave':
        this.hasLeft = true
        this.#say('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
    }
  }

  /** The remaining peers finish the remaining work. */
  finishAll(): void {
    if (!this.hasLeft && !this.wasCancelled)
      while (this.#sent < this.#parts.length) this.#sendPart()
    this.#join('W0')
    for (let rounds = 0; this.#hasWork(); rounds += 1) {
      assert.ok(rounds < 1000, 'work remains although workers work')
      for (const worker of WORKERS) this.#finish(worker, 0)
      this.answerCancels()
      this.#wait()
    }
    this.#wait()
  }

  #hasWork(): boolean {
    const isHeld = [...this.#held.values()].some((tasks) => tasks.length > 0)
    return isHeld || (!this.hasLeft && !this.#isOver())
  }

  #isOver(): boolean {
    return this.told.has('g')
  }

  #taskOf({ inputs, retries }: Drawn, at: number): Task {
    const names = at === 0 ? [] : inputs.map((input) => idOf(this.#plan, input % at))
    const extra = at % 3 === 0 ? [`@${OBJECT}`] : at % 3 === 1 && !this.#plan.isPython ? ['=1'] : []
    const args = [...names.slice(0, 1), ...extra, ...names.slice(1)]
    return node(idOf(this.#plan, at), args, this.#plan.isPython ? {} : { retries })
  }

  /** Our clients send parts in order; Python clients one message in any order. */
  #cut(): readonly GraphTask[] {
    const isTarget = (task: Task): boolean =>
      this.#plan.nodes[this.tasks.indexOf(task)]?.isTarget === true
    const targetsOf = (tasks: readonly Task[]): string[] =>
      tasks.filter(isTarget).map((task) => task.taskId)
    if (this.#plan.isPython) {
      const shuffled = this.tasks.toSorted((a, b) => this.#rank(a) - this.#rank(b))
      return [graph('g', targetsOf(shuffled), shuffled)]
    }
    const cuts = [0, ...this.#plan.cuts.toSorted((a, b) => a - b), this.tasks.length]
    return cuts.slice(1).map((end, index) => {
      const tasks = this.tasks.slice(cuts[index], end)
      return graph('g', targetsOf(tasks), tasks, index < cuts.length - 2)
    })
  }

  #rank(task: Task): number {
    return Math.imul(this.tasks.indexOf(task) + 1, this.#plan.order | 1) & 0xffff
  }

  #sendPart(): void {
    const part = this.#parts[this.#sent]
    if (part === undefined || this.hasLeft || this.wasCancelled) return
    this.#sent += 1
    this.#say('C', part)
  }

  #wait(): void {
    this.scheduler.moveTo(this.scheduler.now + 1)
    this.#observe()
  }

  #join(worker: string): void {
    if (this.#held.has(worker)) return
    this.#held.set(worker, [])
    this.#say(worker, workerHeartbeat(this.#plan.isPython ? PYTHON : OURS))
  }

  #lose(worker: string): void {
    const lost = this.#held.get(worker)
    if (lost === undefined) return
    // Each loss of a worker that had the node counts: three are too many.
    if (lost.length > 0 && this.hadLosses) return
    this.hadLosses ||= lost.length > 0
    this.#held.delete(worker)
    this.scheduler.handle({ type: 'peerDisconnected', peer: identity(worker) })
    this.#observe()
  }

  #cancelTarget(at: number): void {
    const targets = this.#parts.slice(0, this.#sent).flatMap((part) => part.targets)
    const target = targets[at % Math.max(targets.length, 1)]
    if (target === undefined || this.hasLeft || this.wasCancelled) return
    this.unwanted.add(target)
    for (const id of this.dependentsOf(target)) this.unwanted.add(id)
    this.#say('C', cancel(target, true))
  }

  /** The nodes that depend on a node, directly or indirectly. */
  dependentsOf(target: string): ReadonlySet<string> {
    const found = new Set([target])
    // Each node follows its inputs.
    for (const { taskId: id, functionArgs } of this.tasks) {
      const isMeant = functionArgs.some(
        ({ type, data }) => type === 'task' && found.has(bytesToLatin1(data)),
      )
      if (isMeant) found.add(id)
    }
    found.delete(target)
    return found
  }

  /** The client loses its connection, reconnects, and resends everything. */
  #relink(): void {
    if (this.hasLeft || this.wasCancelled || this.#plan.isPython) return
    this.scheduler.handle({ type: 'peerDisconnected', peer: identity('C') })
    this.#observe()
    this.#say('C', clientHeartbeat())
    if (this.#isOver()) return
    this.hadResends = true
    for (const part of this.#parts.slice(0, this.#sent)) this.#say('C', part)
  }

  #finish(worker: string, at: number): void {
    const held = this.#held.get(worker)
    if (held === undefined || held.length === 0) return
    const [task] = held.splice(at % held.length, 1)
    if (task === undefined) return
    const inputs = task.functionArgs.map((argument) => this.#fetch(worker, argument))
    const id = task.taskId
    // A node that may be retried fails in its first run only.
    const drawnNode = this.#plan.nodes.find((_, place) => idOf(this.#plan, place) === id)
    const isFailure = this.#fails.has(id) || (task.retries > 0 && task.attempt === 0)
    const value = isFailure ? `error of ${id}` : valueOf(id, inputs)
    this.#answer(worker, task, { isFailure, value, isLarge: drawnNode?.isLarge === true })
  }

  #answer(
    worker: string,
    task: Task,
    { isFailure, value, isLarge }: { isFailure: boolean; value: string; isLarge: boolean },
  ): void {
    const told: TaskResult = {
      ...result(task.taskId, isFailure ? 'failed' : 'success'),
      ...PLAIN_RESULT,
      worker: identity(worker),
    }
    if (!isLarge && !this.#plan.isPython) {
      this.#say(worker, { ...told, results: [], inlineResults: [latin1ToBytes(value)] })
      return
    }
    const id = `o${(this.#serial += 1)}`
    const content = {
      objectIds: [objectId(id)],
      objectTypes: ['object'],
      objectNames: [new Uint8Array(0)],
      objectBytes: [[latin1ToBytes(value)]],
    } as const
    this.#say(worker, { ...instruction('create', 'C', []), objectContent: content })
    this.#say(worker, { ...told, results: [objectId(id)] })
  }

  /** An argument as received by the worker of a node. */
  #fetch(peer: string, argument: TaskArgument): string {
    const { type } = argument
    assert.ok(type !== 'task', 'a worker got the id of a node')
    assert.ok(!(this.#plan.isPython && type.startsWith('shared')), 'an unsupported argument type')
    const text = bytesToLatin1(argument.data)
    return type === 'inline' || type === 'sharedInline' ? text : this.contentOf(peer, text)
  }

  /** Requests an object. Objects of a graph that is no longer needed may be deleted. */
  contentOf(peer: string, id: string): string {
    const before = this.#objects.size
    this.#say(peer, { kind: 'objectRequest', requestType: 'get', objectIds: [objectId(id)] })
    const [found] = [...this.#objects].slice(before)
    const mayBeGone = this.hasLeft || this.wasCancelled || this.unwanted.size > 0
    assert.ok(found !== undefined || mayBeGone, `the object ${id} is missing`)
    return found?.slice(found.indexOf(' ') + 1) ?? ''
  }

  #say(from: string, message: Message): void {
    if (WORKERS.includes(from) && !this.#held.has(from)) return
    this.scheduler.receive(from, message)
    this.#observe()
  }

  #observe(): void {
    for (const action of this.scheduler.actions()) {
      const sent = messageOf(action)
      if (sent === undefined || !('to' in action)) continue
      this.#onMessage(action.to, sent)
    }
  }

  #onMessage(to: string, sent: Message): void {
    if (sent.kind === 'task') {
      const others = [...this.#held].filter(([, tasks]) =>
        tasks.some((task) => task.taskId === sent.taskId),
      )
      assert.deepEqual(others, [], `${sent.taskId} is with two workers`)
      this.#held.get(to)?.push(sent)
      if (sent.attempt === 0) this.runs.set(sent.taskId, (this.runs.get(sent.taskId) ?? 0) + 1)
    } else if (sent.kind === 'taskCancel') {
      this.#onCancel(to, sent.taskId)
    } else if (sent.kind === 'taskResult') {
      assert.equal(to, 'C')
      assert.ok(!this.hasLeft, 'a message to a client that has left')
      const results = this.told.get(sent.taskId) ?? []
      this.told.set(sent.taskId, [...results, sent])
    } else if (sent.kind === 'objectResponse') {
      const content = sent.objectContent.objectBytes[0]?.[0]
      if (content !== undefined)
        this.#objects.add(`${this.#objects.size} ${bytesToLatin1(content)}`)
    }
  }

  /** Half of the cancelled tasks are dropped, half end at the same time. */
  readonly #cancelled: string[] = []
  #onCancel(worker: string, id: string): void {
    this.#cancelled.push(id)
    const held = this.#held.get(worker) ?? []
    const index = held.findIndex((task) => task.taskId === id)
    if (index < 0 || this.#cancelled.length % 2 === 0) return
    held.splice(index, 1)
    // Not from inside an action: the answer comes later.
    this.#answers.push([worker, result(id, 'canceled')])
  }
  readonly #answers: [string, TaskResult][] = []

  /** The answers of workers to cancels. */
  answerCancels(): void {
    for (const [worker, answer] of this.#answers.splice(0)) this.#say(worker, answer)
  }
}

function live(plan: Plan): World {
  const world = new World(plan)
  for (const step of plan.steps) {
    world.take(step)
    world.answerCancels()
    if (world.hasLeft) break
  }
  world.finishAll()
  world.answerCancels()
  return world
}

/** Whether a target ended as it should. */
function checkTarget(world: World, plan: Plan, id: string): void {
  const results = world.told.get(id) ?? []
  const last = results.at(-1)
  assert.ok(last !== undefined, `target ${id} has no result`)
  if (!world.hadResends) assert.equal(results.length, 1, `target ${id} has two results`)
  const expected = world.expected.get(id) as Outcome
  if (last.status === 'canceled') {
    assert.ok(world.wasCancelled || world.unwanted.has(id), `target ${id} was never cancelled`)
    return
  }
  const [inline] = last.inlineResults
  const [object] = last.results
  const isUnwanted = world.wasCancelled || world.unwanted.has(id)
  const text =
    inline !== undefined ? bytesToLatin1(inline) : world.contentOf('C', object as unknown as string)
  if (isUnwanted) return
  if ('value' in expected) {
    assert.deepEqual([last.status, text], ['success', expected.value])
    return
  }
  assert.equal(last.status, 'failed')
  const failed = text.slice('error of '.length)
  assert.ok(expected.causes.has(failed), `target ${id} failed because of ${failed}`)
  if (!plan.isPython) assert.equal(last.failedTaskId, failed === id ? '' : failed)
}

/** The dependents of a node that was cancelled before it ended cannot have succeeded. */
function checkCancelled(world: World): void {
  for (const [id, results] of world.told) {
    if (id === 'g' || results[0]?.status !== 'canceled') continue
    for (const dependent of world.dependentsOf(id)) {
      const [told] = world.told.get(dependent) ?? []
      assert.notEqual(told?.status, 'success', `${dependent} has the value of ${id}`)
    }
  }
}

function checkWorld(world: World, plan: Plan): void {
  if (!world.hadLosses) {
    for (const [id, count] of world.runs) assert.equal(count, 1, `${id} ran ${count} times`)
  }
  if (!world.hasLeft) {
    const [end, ...more] = world.told.get('g') ?? []
    if (end !== undefined) assert.equal(more.length, 0, 'the graph ended twice')
    const targets = plan.nodes.flatMap(({ isTarget }, at) => (isTarget ? [idOf(plan, at)] : []))
    if (!world.wasCancelled) {
      assert.ok(end !== undefined, 'the graph did not end')
      for (const id of targets) checkTarget(world, plan, id)
      if (!world.hadResends) checkCancelled(world)
    }
    for (const id of world.told.keys()) {
      assert.ok(id === 'g' || targets.includes(id), `${id} is not a target, but has a result`)
    }
    world.scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  }
  world.scheduler.moveTo(world.scheduler.now + 50)
  const { counts } = world.scheduler.machine
  assert.deepEqual(counts, { clients: 0, tasks: 0, graphs: 0, objects: 0 })
}

for (const [title, steps] of [
  ['while nothing happens', stepOf(harmless)],
  ['while workers and links are lost', stepOf(fc.oneof(harmless, harmless, rough))],
  ['that may be cancelled', stepOf(fc.oneof(harmless, harmless, harmless, rough, final))],
] as const) {
  test(`property: graphs ${title} match a plain evaluation, and leave empty tables`, () => {
    fc.assert(
      fc.property(plans(steps), (plan) => {
        checkWorld(live(plan), plan)
      }),
      { numRuns: sized(300, 80) },
    )
  })
}

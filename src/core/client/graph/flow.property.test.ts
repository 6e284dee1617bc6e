import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TaskId } from '../../../base/ids.js'
import { sized } from '../../../base/short-run.kit.js'
import {
  ALL_FEATURES,
  GraphSetting,
  sketchGraph,
  type SketchArgument,
  type SketchCall,
} from '../graph-scheduler.kit.js'
import type { GraphSubmission } from '../events.js'
import { resultOf } from '../harness.test.kit.js'

/** How a graph is made: of each call, which earlier ones it uses, and what else. */
interface Plan {
  readonly calls: readonly {
    readonly inputs: readonly number[]
    readonly extra: 'nothing' | 'bytes' | 'large' | 'task'
    readonly isBad: boolean
    readonly isTarget: boolean
  }[]
}

type Step =
  | { readonly do: 'graph'; readonly plan: Plan }
  | { readonly do: 'task'; readonly isBad: boolean }
  | { readonly do: 'cancelGraph' | 'cancel' | 'run' | 'want'; readonly which: number }
  | { readonly do: 'flush' | 'answer' | 'lose' | 'open' }
  | { readonly do: 'restart'; readonly takesGraphs: boolean }

const plan: fc.Arbitrary<Plan> = fc.record({
  calls: fc.array(
    fc.record({
      inputs: fc.array(fc.nat(20), { maxLength: 3 }),
      extra: fc.constantFrom('nothing', 'nothing', 'nothing', 'bytes', 'large', 'task'),
      isBad: fc.nat(9).map((n) => n === 0),
      isTarget: fc.nat(2).map((n) => n === 0),
    }),
    { minLength: 1, maxLength: 8 },
  ),
})
const which = fc.nat(40)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('graph'), plan }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('task'), isBad: fc.boolean() }) },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constantFrom('run', 'run', 'run', 'run', 'want', 'cancel', 'cancelGraph'),
      which,
    }),
  },
  { weight: 9, arbitrary: fc.record({ do: fc.constantFrom('flush', 'answer', 'answer') }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('lose', 'open', 'open') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('restart'),
      takesGraphs: fc.nat(3).map((n) => n > 0),
    }),
  },
)

/** A client, a scheduler that comes and goes, and what every target has to give. */
class World {
  readonly setting = new GraphSetting()
  readonly expected = new Map<string, string>()
  readonly cancelled = new Set<string>()
  /** The targets that need a target, by its owner. */
  readonly #users = new Map<string, readonly string[]>()
  /** Targets that need the results of tasks outside of their graph. */
  readonly #dependent = new Set<string>()
  #hasRestarted = false
  #hasLostTasks = false
  readonly #graphs: GraphSubmission<string>[] = []
  readonly #tasks: { readonly name: string; readonly value: string }[] = []
  readonly #offered: string[] = []
  #scheduler = 1
  #takesGraphs = true

  constructor() {
    this.setting.isEager = false
  }

  apply(action: Step): void {
    const { setting } = this
    switch (action.do) {
      case 'graph':
        return this.#submit(action.plan)
      case 'task': {
        const name = `t${this.#tasks.length}`
        const value = action.isBad ? 'error failed' : 'value f()'
        this.#tasks.push({ name, value })
        this.expected.set(name, value)
        setting.deliver(setting.harness.submit(name, [], action.isBad ? 'fail' : 'f'))
        return
      }
      case 'cancelGraph': {
        const graph = this.#graphs[action.which % Math.max(this.#graphs.length, 1)]
        if (graph === undefined) return
        for (const { owner } of graph.targets) this.cancelled.add(owner)
        return this.#send(() => setting.cancelGraph(graph))
      }
      case 'cancel': {
        const owner = [...this.expected.keys()][action.which % Math.max(this.expected.size, 1)]
        if (owner === undefined || owner.startsWith('t')) return
        return this.#cancel(owner)
      }
      case 'run':
        setting.scheduler.runOne(action.which)
        if (!setting.isConnected) setting.answer()
        return
      case 'want':
        return this.#send(() => this.#want(action.which))
      case 'flush':
        return this.#send(() => setting.flush())
      case 'answer':
        if (setting.isConnected) this.#send(() => setting.answer())
        return
      case 'lose':
        return this.#lose()
      case 'open':
        return this.#open()
      case 'restart':
        this.#lose()
        this.#hasRestarted = true
        this.#hasLostTasks ||= !this.#takesGraphs
        setting.restart()
        this.#scheduler += 1
        this.#takesGraphs = action.takesGraphs
        return this.#open()
    }
  }

  /**
   * A scheduler that goes takes along the results of tasks that nobody needs any more, also if a
   * result that was made from them has not been fetched. So do calls that travelled as tasks.
   */
  mayBeGone(owner: string): boolean {
    return this.#hasLostTasks || (this.#hasRestarted && this.#dependent.has(owner))
  }

  /** From now on everything goes well: then everything has to end. */
  settle(): void {
    // One of 1.9.9 cannot be asked for what was lost on the way.
    if (!this.#takesGraphs) this.apply({ do: 'restart', takesGraphs: true })
    this.#open()
    this.setting.isEager = true
    for (const owner of new Set(this.#offered)) this.#wantIfOpen(owner)
    this.setting.settle()
  }

  #submit({ calls }: Plan): void {
    const prefix = `g${this.#graphs.length}`
    const nameOf = (index: number): string => `${prefix}.${index}`
    const sketch: Record<string, SketchCall> = {}
    const outcomes: string[] = []
    const targets: string[] = []
    for (const [index, call] of calls.entries()) {
      const inputs = index === 0 ? [] : call.inputs.map((input) => input % index)
      const args: SketchArgument[] = inputs.map(nameOf)
      const values = inputs.map((input) => outcomes[input] ?? assert.fail())
      const extra = this.#extra(call.extra)
      if (extra !== undefined) {
        args.push(extra.argument)
        values.push(extra.value)
      }
      const hasFailed = call.isBad || values.some((value) => value.startsWith('error'))
      const texts = values.map((value) => value.slice('value '.length))
      outcomes.push(hasFailed ? 'error failed' : `value f(${texts.join(' ')})`)
      sketch[nameOf(index)] = [call.isBad ? 'fail' : 'f', ...args]
      if (call.isTarget || index === calls.length - 1) targets.push(nameOf(index))
    }
    for (const target of targets) {
      this.expected.set(target, outcomes[Number(target.split('.')[1])] ?? assert.fail())
    }
    if (calls.some(({ extra }) => extra === 'task')) {
      for (const target of targets) this.#dependent.add(target)
    }
    for (const target of targets) {
      const found = new Set([target])
      // Each call comes after those that it needs.
      for (const [name, [, ...args]] of Object.entries(sketch)) {
        if (args.some((arg) => typeof arg === 'string' && found.has(arg))) found.add(name)
      }
      found.delete(target)
      this.#users.set(
        target,
        targets.filter((each) => found.has(each)),
      )
    }
    const graph = sketchGraph(prefix, sketch, targets)
    this.#graphs.push(graph)
    this.#send(() => this.setting.submit(graph))
  }

  /** With a target that has not ended goes all that needs it and has no result, good or bad. */
  #cancel(owner: string): void {
    const { harness } = this.setting
    const isOpen = harness.endOf(owner) === undefined
    const users = this.#users.get(owner) ?? []
    const ended = users.filter(
      (user) => harness.endOf(user) !== undefined || this.setting.hasResult(user),
    )
    for (const each of [owner, ...users]) this.cancelled.add(each)
    this.#send(() => this.setting.cancel(owner))
    if (!isOpen) return
    assert.equal(harness.endOf(owner), 'cancelled')
    for (const user of users) {
      if (ended.includes(user)) continue
      assert.equal(harness.endOf(user), 'cancelled', `${user} goes on without ${owner}`)
    }
  }

  #extra(kind: string): { argument: SketchArgument; value: string } | undefined {
    if (kind === 'bytes') return { argument: { bytes: 'b' }, value: 'value b' }
    if (kind === 'large') return { argument: { large: 'big' }, value: 'value big' }
    const task = this.#tasks.at(-1)
    if (kind !== 'task' || task === undefined) return undefined
    // What the shell does, too: a task that has left the table is no source.
    const { machine, ends } = this.setting.harness
    const argument = resultOf(task.name)
    const isThere = machine.has((argument as { taskId: TaskId }).taskId)
    if (!isThere || ends.some(([owner]) => owner === task.name)) return undefined
    return { argument, value: task.value }
  }

  #want(index: number): void {
    const owner = this.#offered[index % Math.max(this.#offered.length, 1)]
    if (owner !== undefined) this.#wantIfOpen(owner)
  }

  #wantIfOpen(owner: string): void {
    if (this.setting.harness.endOf(owner) === undefined) this.setting.want(owner)
  }

  #open(): void {
    if (this.setting.isConnected) return
    const features = this.#takesGraphs ? ALL_FEATURES : 0
    const id = this.#takesGraphs ? `S${this.#scheduler}` : ''
    this.#send(() => this.setting.connect(id, features))
  }

  #lose(): void {
    if (!this.setting.isConnected) return
    this.setting.disconnect()
    this.setting.answer()
  }

  /** Notes which results are offered by what happens. */
  #send(act: () => void): void {
    const seen = this.setting.harness.actions.length
    act()
    for (const action of this.setting.harness.actions.slice(seen)) {
      if (action.type === 'offerResult') this.#offered.push(action.owner)
    }
  }
}

/** Each target ends once, as it has to. */
function check(steps: readonly Step[]): void {
  const world = new World()
  for (const action of steps) world.apply(action)
  world.settle()
  const { ends } = world.setting.harness
  const owners = ends.map(([owner]) => owner)
  assert.deepEqual(owners.toSorted(), [...world.expected.keys()].toSorted())
  for (const [owner, end] of ends) {
    const isCancelled = end === 'cancelled' && world.cancelled.has(owner)
    const isGone = end === 'missingObject' && world.mayBeGone(owner)
    if (!isCancelled && !isGone) assert.equal(end, world.expected.get(owner), owner)
  }
  assert.ok(world.setting.isIdle, 'something is left')
}

test('a failure that the cluster keeps is not undone by a cancel of what it was made from', () => {
  const call = { inputs: [], extra: 'nothing', isBad: true, isTarget: true } as const
  const second = [call, call, { ...call, inputs: [3] }, call]
  check([
    { do: 'graph', plan: { calls: [call] } },
    { do: 'graph', plan: { calls: second } },
    { do: 'flush' },
    { do: 'run', which: 0 },
    { do: 'run', which: 1 },
    { do: 'lose' },
    { do: 'open' },
    { do: 'run', which: 16 },
    { do: 'answer' },
    { do: 'cancel', which: 2 },
  ])
})

test('property: whatever happens, every target ends once, with what a naive evaluation gives', () => {
  fc.assert(fc.property(fc.array(step, { maxLength: 60, size: 'max' }), check), {
    numRuns: sized(400, 150),
  })
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FEATURE_INLINE, FEATURE_RUNS, FEATURE_TASK_UPDATES } from '../../base/features.js'
import { objectId, taskId } from '../../base/ids.js'
import type { Task } from '../../wire/message.js'
import {
  Harness,
  inlineResult,
  objectResponse,
  resultOf,
  runResult,
  runTaskId,
  sent,
  storedResult,
  taskResult,
} from './harness.test.kit.js'
import { countOf, isBlockId, nthTaskId } from '../../wire/run.js'
import { unpack } from '../../wire/run.kit.js'
import type { ArgumentSource } from './events.js'

const FAILURE = { status: 'failed', inlineResults: [Buffer.from('no')] } as const

type Step =
  | { readonly do: 'submit'; readonly bytes: number; readonly needs: readonly number[] }
  | { readonly do: 'submitRun'; readonly count: number }
  | {
      readonly do: 'runResult' | 'runCancel' | 'runRefuse'
      readonly which: number
      readonly count: number
    }
  | { readonly do: 'cancel' | 'inline' | 'stored' | 'response'; readonly which: number }
  | { readonly do: 'want' | 'drop' | 'fail'; readonly which: number }
  | { readonly do: 'pin' | 'unpin' | 'use'; readonly object: number }
  | { readonly do: 'refuse'; readonly which: number; readonly status: 'canceled' | 'notFound' }
  | { readonly do: 'open'; readonly scheduler: string; readonly remembers: boolean }
  | { readonly do: 'disconnect' | 'connect' | 'flush' | 'close' | 'progress' | 'clear' }
  | { readonly do: 'wait'; readonly durationMs: number }

const which = fc.nat(60)
const RUNS = FEATURE_INLINE | FEATURE_TASK_UPDATES | FEATURE_RUNS
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('submit'),
      bytes: fc.nat(150),
      needs: fc.oneof(fc.constant([]), fc.array(which, { maxLength: 3 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('submitRun'), count: fc.integer({ min: 1, max: 9 }) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('runResult', 'runResult', 'runCancel', 'runRefuse'),
      which,
      count: fc.integer({ min: 1, max: 9 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom('inline', 'stored', 'response', 'want'), which }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('cancel', 'drop', 'fail'), which }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom('pin', 'unpin', 'use'), object: fc.nat(2) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('refuse'),
      which,
      status: fc.constantFrom('canceled', 'notFound'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('open'),
      scheduler: fc.constantFrom('', 'S1', 'S2'),
      remembers: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('flush', 'flush', 'disconnect', 'connect') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait'), durationMs: fc.nat(70_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('close', 'progress', 'clear') }) },
)

/** A scheduler that is told what to do, and what it must have noticed. */
class World {
  readonly harness = new Harness()
  readonly submitted: string[] = []
  /** Those whose owner does not want to know how they end. */
  readonly dropped = new Set<string>()
  readonly #offered = new Set<string>()
  #scheduler: string | undefined
  /** Whether the scheduler may have dropped the client. */
  #isLost = false
  #resultCount = 0
  #runTasks = 0
  /** Objects that the scheduler has, for all that the client can know. */
  readonly #results = new Set<string>()
  #sentHere: string[] = []
  /** The first scheduler that each task was sent to. */
  readonly #firstSentTo = new Map<string, string | undefined>()
  #seen = 0

  constructor() {
    this.harness.isEager = false
  }

  apply(action: Step): void {
    const { harness } = this
    switch (action.do) {
      case 'submit':
        this.#submit([Buffer.alloc(action.bytes, 'x'), ...action.needs.map((n) => this.#need(n))])
        break
      case 'submitRun': {
        const first = this.#runTasks
        this.#runTasks += action.count
        const ids = Array.from({ length: action.count }, (_, index) => runTaskId(first + index))
        harness.submitRun(
          runTaskId(first),
          ids.map(() => 'x'),
          action.count % 2 === 0 ? ['a'] : [],
        )
        this.submitted.push(...ids)
        break
      }
      case 'runResult': {
        const values = Array.from({ length: action.count }, () => 'y')
        harness.receive(runResult(taskId(this.#pick(action.which)), values))
        break
      }
      case 'runCancel': {
        const id = taskId(this.#pick(action.which))
        const { count } = action
        if (isBlockId(id)) harness.handle({ type: 'cancelRequested', taskId: id, count })
        break
      }
      case 'runRefuse':
        harness.receive(
          taskResult(this.#pick(action.which), { status: 'workerDied', count: action.count }),
        )
        break
      case 'use':
        this.#submit([{ type: 'object', id: objectId(`o${action.object}`) }])
        break
      case 'pin': {
        const name = `o${action.object}`
        const value = { id: objectId(name), name: Buffer.from(name), content: Buffer.from(name) }
        harness.handle({ type: 'objectPinned', value })
        break
      }
      case 'unpin':
        harness.handle({ type: 'objectUnpinned', id: objectId(`o${action.object}`) })
        break
      case 'want':
        this.#want(this.#pick(action.which))
        break
      case 'drop':
        this.#drop(this.#pick(action.which))
        break
      case 'fail':
        harness.receive(taskResult(this.#pick(action.which), FAILURE))
        break
      case 'clear':
        harness.handle({ type: 'clearRequested' })
        break
      case 'cancel':
        harness.cancel(this.#pick(action.which))
        break
      case 'inline':
        harness.receive(inlineResult(this.#pick(action.which)))
        break
      case 'stored':
        this.#store(this.#pick(action.which), action.which)
        break
      case 'response': {
        const content = action.which % 3 === 0 ? undefined : 'x'
        harness.receive(objectResponse(`r${action.which % (this.#resultCount + 5)}`, content))
        break
      }
      case 'refuse':
        harness.receive(taskResult(this.#pick(action.which), { status: action.status }))
        break
      case 'open':
        this.#sentHere = []
        this.#open(action.scheduler, action.remembers)
        break
      case 'connect':
        this.#sentHere = []
        harness.handle({ type: 'connected' })
        break
      case 'disconnect':
        this.#isLost = true
        harness.disconnect()
        break
      case 'flush':
        harness.flush()
        break
      case 'close':
        harness.handle({ type: 'closeRequested' })
        break
      case 'progress':
        harness.handle({ type: 'progressed' })
        break
      case 'wait':
        harness.advance(action.durationMs)
        break
    }
    this.#checkSent()
  }

  #submit(args: readonly ArgumentSource[]): void {
    this.submitted.push(this.harness.submitAny(args))
  }

  #open(scheduler: string, remembers: boolean): void {
    const isSame = scheduler === this.#scheduler && (remembers || !this.#isLost)
    if (!isSame) this.#results.clear()
    this.#scheduler = scheduler
    this.#isLost = false
    this.harness.remembers = remembers
    if (scheduler === 'S2') this.harness.open(scheduler, RUNS)
    else this.harness.open(scheduler)
  }

  #need(index: number): ArgumentSource {
    return resultOf(this.#pick(index))
  }

  /** Large results come under ids of their own; a scheduler that errs uses one for several. */
  #store(owner: string, index: number): void {
    const id = index % 7 === 0 ? `r${index % 5}` : `r${5 + this.#resultCount}`
    this.#resultCount += 1
    this.#results.add(id)
    for (const action of this.harness.receive(storedResult(owner, id))) {
      if (action.type === 'offerResult') this.#offered.add(action.owner)
    }
  }

  #want(owner: string): void {
    const isOpen = this.harness.endOf(owner) === undefined && !this.dropped.has(owner)
    if (isOpen && this.#offered.has(owner)) this.harness.want(owner)
  }

  #drop(owner: string): void {
    if (!this.#offered.has(owner) || this.harness.endOf(owner) !== undefined) return
    this.dropped.add(owner)
    this.harness.drop(owner)
  }

  #pick(index: number): string {
    return this.submitted[index % Math.max(this.submitted.length, 1)] ?? 'nobody'
  }

  /** Whatever a task needs was sent before it, over the same connection. */
  #checkSent(): void {
    const messages = sent(this.harness.actions.slice(this.#seen))
    this.#seen = this.harness.actions.length
    for (const message of messages) {
      if (message.kind === 'objectInstruction') {
        const { objectIds } = message.objectContent
        if (message.instructionType === 'create') this.#sentHere.push(...objectIds)
        else this.#forget(objectIds)
      }
      if (message.kind === 'task') this.#checkTask(message)
    }
  }

  #forget(gone: readonly string[]): void {
    this.#sentHere = this.#sentHere.filter((id) => !gone.includes(id))
    for (const id of gone) this.#results.delete(id)
  }

  #checkTask(task: Task): void {
    assert(this.#sentHere.includes(task.funcObjectId), 'a task without its function')
    const count = countOf(task)
    assert(count === 1 || this.#scheduler === 'S2', 'a run for a scheduler that knows none')
    if (task.packed.byteLength > 0) assert.equal(unpack(task.packed, count).length, count)
    for (let index = 0; index < count; index += 1) {
      const id = nthTaskId(task.taskId, index)
      if (!this.#firstSentTo.has(id)) this.#firstSentTo.set(id, this.#scheduler)
      const wasElsewhere = this.#firstSentTo.get(id) !== this.#scheduler
      assert.equal(task.mayHaveRun, wasElsewhere && this.#scheduler !== '', 'who had it before')
    }
    for (const argument of task.functionArgs) {
      const id = Buffer.from(argument.data).toString('latin1')
      if (argument.type !== 'objectID') continue
      assert(this.#sentHere.includes(id) || this.#results.has(id), 'without its argument')
    }
  }
}

test('property: whatever happens, each task ends exactly once, and has what it needs', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      const world = new World()
      for (const action of steps) world.apply(action)
      const { harness, submitted, dropped } = world
      // Liveness: once there is a scheduler that answers everything, everything ends.
      settle(world)
      assert.equal(harness.machine.unfinishedTasks, 0)
      const ended = harness.ends.map(([owner]) => owner)
      assert.equal(new Set(ended).size, ended.length, 'a task ended twice')
      const silent = submitted.filter((owner) => !ended.includes(owner))
      assert.deepEqual(
        silent.filter((owner) => !dropped.has(owner)),
        [],
      )
    }),
    { numRuns: 300 },
  )
})

/** A scheduler that behaves: what is unfinished is sent to it, and it answers. */
function settle({ harness }: World): void {
  harness.disconnect()
  harness.remembers = true
  harness.open('S3', RUNS)
  while (harness.machine.unfinishedTasks > 0) {
    const before = harness.machine.unfinishedTasks
    const tasks = sent(harness.flush()).filter((message) => message.kind === 'task')
    for (const task of tasks) {
      if (task.packed.byteLength === 0) harness.receive(inlineResult(task.taskId))
      else
        harness.receive(
          runResult(
            task.taskId,
            Array.from({ length: countOf(task) }, () => 'z'),
          ),
        )
    }
    assert(harness.machine.unfinishedTasks < before, 'nothing is sent any more')
  }
}

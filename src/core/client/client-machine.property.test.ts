import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Task } from '../../wire/message.js'
import {
  Harness,
  inlineResult,
  objectResponse,
  sent,
  storedResult,
  taskResult,
} from './harness.test.kit.js'

type Step =
  | { readonly do: 'submit'; readonly bytes: number }
  | { readonly do: 'cancel' | 'inline' | 'stored' | 'response'; readonly which: number }
  | { readonly do: 'refuse'; readonly which: number; readonly status: 'canceled' | 'notFound' }
  | { readonly do: 'open'; readonly scheduler: string }
  | { readonly do: 'disconnect' | 'connect' | 'flush' | 'close' | 'progress' }
  | { readonly do: 'wait'; readonly durationMs: number }

const which = fc.nat(30)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('submit'), bytes: fc.nat(150) }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom('inline', 'stored', 'response'), which }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('cancel'), which }) },
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
    arbitrary: fc.record({ do: fc.constant('open'), scheduler: fc.constantFrom('', 'S1', 'S2') }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constantFrom('flush', 'flush', 'disconnect', 'connect') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait'), durationMs: fc.nat(70_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('close', 'progress') }) },
)

/** A scheduler that is told what to do, and what it must have noticed. */
class World {
  readonly harness = new Harness()
  readonly submitted: string[] = []
  /** Task messages by connection: in each, a task comes once. */
  #sentHere: string[] = []
  #seen = 0

  apply(action: Step): void {
    const { harness } = this
    switch (action.do) {
      case 'submit':
        this.submitted.push(harness.submitAny([Buffer.alloc(action.bytes, 'x')]))
        break
      case 'cancel':
        harness.cancel(this.#pick(action.which))
        break
      case 'inline':
        harness.receive(inlineResult(this.#pick(action.which)))
        break
      case 'stored':
        harness.receive(storedResult(this.#pick(action.which), `r${action.which % 5}`))
        break
      case 'response': {
        const content = action.which % 3 === 0 ? undefined : 'x'
        harness.receive(objectResponse(`r${action.which % 5}`, content))
        break
      }
      case 'refuse':
        harness.receive(taskResult(this.#pick(action.which), { status: action.status }))
        break
      case 'open':
        this.#sentHere = []
        harness.open(action.scheduler)
        break
      case 'connect':
        this.#sentHere = []
        harness.handle({ type: 'connected' })
        break
      case 'disconnect':
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
        else this.#sentHere = this.#sentHere.filter((id) => !objectIds.some((gone) => gone === id))
      }
      if (message.kind === 'task') this.#checkTask(message)
    }
  }

  #checkTask(task: Task): void {
    assert(this.#sentHere.includes(task.funcObjectId), 'a task without its function')
    for (const argument of task.functionArgs) {
      const id = Buffer.from(argument.data).toString('latin1')
      if (argument.type === 'objectID') assert(this.#sentHere.includes(id), 'without its argument')
    }
  }
}

test('property: whatever happens, each task ends exactly once, and has what it needs', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (steps) => {
      const world = new World()
      for (const action of steps) world.apply(action)
      const { harness, submitted } = world
      // Liveness: once there is a scheduler that answers everything, everything ends.
      if (harness.machine.unfinishedTasks > 0) settle(world)
      assert.equal(harness.machine.unfinishedTasks, 0)
      assert.deepEqual(harness.ends.map(([owner]) => owner).toSorted(), submitted.toSorted())
    }),
    { numRuns: 300 },
  )
})

/** A scheduler that behaves: what is unfinished is sent to it, and it answers. */
function settle({ harness }: World): void {
  harness.disconnect()
  harness.open('S3')
  while (harness.machine.unfinishedTasks > 0) {
    const before = harness.machine.unfinishedTasks
    const tasks = sent(harness.flush()).filter((message) => message.kind === 'task')
    for (const task of tasks) harness.receive(inlineResult(task.taskId))
    assert(harness.machine.unfinishedTasks < before, 'nothing is sent any more')
  }
}

// Random lives of a worker. The processor of the model really runs tasks, some of which take it
// down, so that the model knows which answers are right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Message, ObjectRequest, TaskResult } from '../../wire/message.js'
import { taskId } from '../../base/ids.js'
import type { LastRun, WorkerAction, WorkerEvent } from './events.js'
import {
  KILLED,
  deletionOf,
  echoOf,
  missingOf,
  objectsOf,
  resultOf,
  ScriptedWorker,
  taskOf,
} from './scripted-worker.test.js'
import { decode } from '../../wire/message.js'

/** What a fuzzed life is made of; each number picks what the step is about. */
type Step = readonly [name: keyof typeof STEPS, pick: number]

/**
 * A processor that has objects and runs tasks in order; it may hold results back, as the real one.
 */
class ModelProcessor {
  readonly objects = new Set<string>()
  readonly tasks: { id: string; needs: string[]; isSkipped: boolean; isWanted: boolean }[] = []
  readonly results: TaskResult[] = []
  isReady = false
  isDying = false
  doneCount = 0
  /** Whether the first task has begun: it can no longer be skipped. */
  isRunning = false
  /** The task that takes it down once it runs. */
  fatal: string | undefined
}

/** Scheduler, processor and bookkeeping around one machine. */
class Model {
  readonly worker = new ScriptedWorker()
  processorNumber = 0
  processor: ModelProcessor | undefined
  isConnected = false
  hasEnded = false
  readonly requests: ObjectRequest[] = []
  /** Tasks that the scheduler has sent on this connection and that were not answered. */
  readonly open = new Set<string>()
  nextId = 0
  askedAt = 0

  handle(event: WorkerEvent): void {
    for (const action of this.worker.handle(event)) this.perform(action)
  }

  receive(message: Message): void {
    if (this.isConnected) this.handle({ type: 'messageReceived', message })
  }

  perform(action: WorkerAction): void {
    const { processor } = this
    switch (action.type) {
      case 'startProcessor':
        assert.equal(processor, undefined)
        this.processorNumber = action.processor
        this.processor = new ModelProcessor()
        return
      case 'dispatch':
        return this.dispatched(action.bytes)
      case 'tellProcessor':
        return this.told(action.message)
      case 'killProcessor':
        assert.ok(processor)
        assert.ok(this.isOnlyCancelledAtStake(processor), 'a neighbour was cancelled with it')
        processor.isDying = true
        return
      case 'askProgress':
        this.askedAt = this.worker.now
        return
      case 'send':
        assert.ok(this.isConnected)
        return this.sentToScheduler(action.message)
      case 'end':
        this.hasEnded = true
        break
      default:
    }
  }

  /** Killing is right when a cancelled task runs, or when the processor has kept silent. */
  isOnlyCancelledAtStake(processor: ModelProcessor): boolean {
    const [running] = processor.tasks
    const runsCancelled = processor.isRunning && running?.isWanted === false
    return runsCancelled || this.worker.now - this.askedAt >= 2000
  }

  dispatched(bytes: Uint8Array): void {
    const { processor } = this
    assert.ok(processor?.isReady === true && !processor.isDying)
    const task = decode(bytes)
    assert.equal(task.kind, 'task')
    const inputs = task.functionArgs.filter(({ type }) => type === 'objectID')
    const needs = [
      `serializer of ${task.source}`,
      task.funcObjectId,
      ...inputs.map((argument) => Buffer.from(argument.data).toString('latin1')),
    ]
    for (const id of needs) assert.ok(processor.objects.has(id), `the processor lacks ${id}`)
    processor.tasks.push({ id: task.taskId, needs, isSkipped: false, isWanted: true })
    assert.ok(processor.tasks.length + processor.results.length <= 512)
  }

  told(message: Message): void {
    const { processor } = this
    assert.ok(processor)
    if (message.kind === 'objectResponse') {
      for (const id of message.objectContent.objectIds) processor.objects.add(id)
    } else if (message.kind === 'objectInstruction') {
      if (message.instructionType === 'clear') processor.objects.clear()
      for (const id of message.objectContent.objectIds) processor.objects.delete(id)
    } else if (message.kind === 'taskCancel') {
      const index = processor.tasks.findIndex(({ id }) => id === message.taskId)
      const task = processor.tasks[index]
      if (task !== undefined) task.isWanted = false
      if (task !== undefined && !(index === 0 && processor.isRunning)) task.isSkipped = true
    } else assert.fail(message.kind)
  }

  sentToScheduler(message: Message): void {
    if (message.kind === 'objectRequest') this.requests.push(message)
    if (message.kind !== 'taskResult') return
    const { taskId: id, status } = message
    if (status === 'notFound') return
    assert.ok(this.open.delete(id), `${id} was answered twice, or never sent`)
    if (status === 'canceled') return
    if (id.startsWith('bad')) assert.equal(status, 'failed', `${id} cannot succeed`)
    if (id.startsWith('good')) assert.equal(status, 'success', `${id} is not to blame`)
  }

  /** Runs the next task; its result is not told yet. A fatal one stays the one that runs. */
  run(): boolean {
    const { processor } = this
    if (processor === undefined || processor.fatal !== undefined) return false
    const task = processor.tasks[0]
    if (task === undefined) return false
    if (task.id.startsWith('bad') && !task.isSkipped) {
      processor.fatal = task.id
      processor.isRunning = true
      return false
    }
    processor.isRunning = false
    processor.tasks.shift()
    const status = task.isSkipped ? 'canceled' : 'success'
    const durationMs = task.id.includes('long') ? 30 : 0.01
    processor.results.push(resultOf(task.id, { status, durationMs }))
    processor.doneCount += 1
    return true
  }

  flush(): void {
    const { processor } = this
    if (processor === undefined) return
    for (const result of processor.results.splice(0)) {
      this.handle({ type: 'taskAnswered', processor: this.processorNumber, result })
    }
  }

  exit(lastRun: LastRun): void {
    this.processor = undefined
    this.handle({
      type: 'processorExited',
      processor: this.processorNumber,
      death: KILLED,
      lastRun,
    })
  }

  tellProgress(): void {
    const { processor } = this
    if (processor === undefined) return
    const progress = 2 * processor.doneCount + (processor.isRunning ? 1 : 0)
    this.handle({ type: 'processorProgressed', processor: this.processorNumber, progress })
  }
}

const OBJECTS = ['x', 'y', 'z', 'never']

/** The steps; each does nothing where it makes no sense. */
const STEPS = {
  submit(model: Model, pick: number): void {
    if (!model.isConnected) return
    const kinds = ['good', 'good', 'good', 'long-good', 'bad', 'poor']
    const kind = kinds[pick % kinds.length] ?? 'good'
    const id = `${kind === 'long-good' ? 'good-long' : kind}-${(model.nextId += 1)}`
    const objects = OBJECTS.slice(0, 3).filter((_, index) => ((pick >> (4 + index)) & 1) === 1)
    if (kind === 'poor') objects.push('never')
    model.open.add(id)
    const fn = `fn${(pick >> 8) % 3}`
    model.receive(taskOf(id, { fn, objects, priority: (pick >> 12) % 3 }))
  },
  submitAgain(model: Model, pick: number): void {
    const ids = [...model.open]
    const id = ids[pick % ids.length]
    if (id !== undefined && !id.startsWith('poor')) model.receive(taskOf(id))
  },
  respond(model: Model, pick: number): void {
    const request = model.requests.splice(pick % Math.max(model.requests.length, 1), 1)[0]
    if (request === undefined || !model.isConnected) return
    const there = request.objectIds.filter((id) => id !== 'never')
    const missing = request.objectIds.filter((id) => id === 'never')
    const isOld = pick % 2 === 1
    if (isOld && missing.length > 0) {
      const whole = objectsOf(...there).objectContent
      const objectContent = { ...whole, objectIds: request.objectIds }
      model.receive({ kind: 'objectResponse', responseType: 'content', objectContent })
      return
    }
    if (there.length > 0) model.receive(objectsOf(...there))
    if (missing.length > 0) model.receive(missingOf(...missing))
  },
  deleteObjects(model: Model, pick: number): void {
    const ids = [...OBJECTS, 'fn0', 'fn1', 'fn2']
    model.receive(deletionOf(...ids.filter((_, index) => ((pick >> index) & 1) === 1)))
  },
  cancel(model: Model, pick: number): void {
    const ids = [...model.open]
    const id = ids[pick % ids.length] ?? 'unknown'
    const flags = { force: (pick >> 8) % 2 === 0, retrieveTaskObject: false }
    model.receive({ kind: 'taskCancel', taskId: taskId(id), flags })
  },
  ready(model: Model): void {
    const { processor, processorNumber } = model
    if (processor === undefined || processor.isReady) return
    processor.isReady = true
    model.handle({ type: 'processorReady', processor: processorNumber, pid: 7 })
  },
  run(model: Model, pick: number): void {
    for (let count = 0; count < pick % 8 && model.run(); count += 1);
  },
  begin({ processor }: Model): void {
    const task = processor?.tasks[0]
    if (processor !== undefined && task?.isSkipped === false) processor.isRunning = true
  },
  flush: (model: Model): void => model.flush(),
  tellProgress: (model: Model): void => model.tellProgress(),
  die(model: Model, pick: number): void {
    const { processor } = model
    if (processor === undefined) return
    const { fatal, isDying } = processor
    // A cancelled one does not crash but hangs: it is for the machine to end it.
    if (fatal !== undefined && !isDying && processor.tasks[0]?.isWanted === false) return
    // The good ones die by accident only while nothing runs, or the model would not know whom to
    // blame.
    if (fatal === undefined && !isDying && (pick % 4 !== 0 || processor.tasks.length > 0)) return
    // One that crashes while results are held back loses them, unless it can still write.
    const canWrite = pick % 2 === 0
    if (canWrite) model.flush()
    if (fatal === undefined && !isDying && !canWrite) return
    if (isDying || !canWrite) model.exit('unknown')
    else model.exit(fatal === undefined ? 'nothing' : { taskId: taskId(fatal) })
  },
  connect(model: Model, pick: number): void {
    if (model.isConnected || model.hasEnded) return
    model.isConnected = true
    model.handle({ type: 'connected' })
    model.receive(echoOf(pick % 2))
  },
  disconnect(model: Model, pick: number): void {
    if (!model.isConnected || pick % 3 !== 0) return
    model.requests.length = 0
    model.open.clear()
    model.isConnected = false
    // What is sent from now on is lost: the machine must not even try.
    model.handle({ type: 'disconnected', reason: 'reset' })
  },
  congest(model: Model, pick: number): void {
    model.handle({ type: pick % 2 === 0 ? 'congested' : 'drained' })
  },
  pass(model: Model, pick: number): void {
    model.worker.now += pick % 3000
    model.handle({ type: 'tick' })
    model.receive(echoOf())
  },
}

/** Everybody does what is due until nothing is left: every task must then have been answered. */
function drain(model: Model, canWrite: boolean): void {
  STEPS.connect(model, 1)
  model.handle({ type: 'drained' })
  for (let round = 0; round < 2000; round += 1) {
    STEPS.ready(model)
    while (model.requests.length > 0) STEPS.respond(model, round)
    while (model.run());
    STEPS.tellProgress(model)
    if (model.processor?.isDying === true || model.processor?.fatal !== undefined) {
      STEPS.die(model, canWrite ? 0 : 1)
    }
    STEPS.flush(model)
    STEPS.pass(model, 500)
    if (model.open.size === 0 && model.processor?.tasks.length === 0) return
  }
  assert.fail(`unanswered: ${[...model.open].join()}`)
}

const names = Object.keys(STEPS) as (keyof typeof STEPS)[]
const often = [
  'submit',
  'submit',
  'submit',
  'respond',
  'respond',
  'run',
  'flush',
  'cancel',
] as const
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom(...names, ...often),
  fc.integer({ min: 0, max: 2 ** 16 }),
)

test('whatever happens, each task is answered exactly once and only culprits fail', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 120, size: 'max' }),
      fc.boolean(),
      (steps, canWrite) => {
        const model = new Model()
        model.handle({ type: 'started' })
        STEPS.connect(model, 1)
        for (const [name, pick] of steps) STEPS[name](model, pick)
        drain(model, canWrite)
      },
    ),
    { numRuns: 400 },
  )
})

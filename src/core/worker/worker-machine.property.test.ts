// Random lives of a worker. The processor of the model really runs tasks, some of which take it
// down, so that the model knows which answers are right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sized } from '../../base/short-run.kit.js'
import {
  FEATURE_INLINE,
  FEATURE_RECOVERY,
  FEATURE_TASK_UPDATES,
  FEATURE_WAITING,
  hasFeature,
} from '../../base/features.js'
import { latin1ToBytes } from '../../base/bytes.js'
import { taskId, type TaskId } from '../../base/ids.js'
import {
  decode,
  encode,
  type Message,
  type ObjectRequest,
  type Task,
  type TaskResult,
} from '../../wire/message.js'
import { countOf, isBlockId, nthTaskId, placeInBlock } from '../../wire/run.js'
import { pack, unpack } from '../../wire/run.kit.js'
import { decodeTaskFlags } from '../../wire/metadata.js'
import type { LastRun, WorkerAction, WorkerEvent } from './events.js'
import { kindOf, ModelProcessor, runId, type Word } from './model-processor.kit.js'
import {
  KILLED,
  deletionOf,
  echoOf,
  missingOf,
  objectsOf,
  ScriptedWorker,
  WORKER,
  taskOf,
  type TaskFacts,
} from './scripted-worker.test.js'

/** The ids of consecutive tasks. */
function idsFrom(first: TaskId, count: number): readonly TaskId[] {
  return Array.from({ length: count }, (_, n) => nthTaskId(first, n))
}

function textsIn(bytes: Uint8Array, count: number): readonly string[] {
  return unpack(bytes, count).map((entry) => Buffer.from(entry).toString('latin1'))
}

/** A task as `count` tasks, the argument of each of which is its id. */
function packed(task: Task, count: number): Task {
  const ids = idsFrom(task.taskId, count)
  const functionArgs = task.functionArgs.filter(({ type }) => type === 'objectID')
  const entries = pack(ids.map((id) => latin1ToBytes(id)))
  const run = { ...task, bytes: undefined, functionArgs, count, packed: entries }
  return { ...run, bytes: encode(run) }
}

/** What was said, with the results of consecutive tasks in one. */
function joined(words: readonly Word[]): readonly Word[] {
  const all: Word[] = []
  for (const word of words) {
    const last = all.at(-1)
    const isJoined = last !== undefined && 'result' in last && 'result' in word
    const next = isJoined ? joinedResult(last.result, word.result) : undefined
    if (next === undefined) all.push(word)
    else all[all.length - 1] = { result: next }
  }
  return all
}

function joinedResult(first: TaskResult, next: TaskResult): TaskResult | undefined {
  const count = countOf(first)
  const isRun = first.packed.byteLength > 0 && next.packed.byteLength > 0
  if (!isRun || nthTaskId(first.taskId, count) !== next.taskId) return undefined
  if (first.attempt !== next.attempt) return undefined
  const values = [...unpack(first.packed, count), ...unpack(next.packed, 1)]
  const metadata = Buffer.concat([first.metadata, next.metadata])
  return { ...first, count: count + 1, metadata, packed: pack(values) }
}

/** What a fuzzed life is made of; each number picks what the step is about. */
type Step = readonly [name: keyof typeof STEPS, pick: number]

const GRACE_MS = 300
const DRAIN_MS = 120_000

/** Scheduler, processor and bookkeeping around one machine. */
class Model {
  readonly worker = new ScriptedWorker({
    cancelGraceMs: GRACE_MS,
    objectCacheBytes: 4_000,
    drainMs: DRAIN_MS,
  })
  processorNumber = 0
  processor: ModelProcessor | undefined
  isConnected = false
  features = 0
  hasEnded = false
  readonly requests: ObjectRequest[] = []
  /** Tasks that the scheduler has sent on this connection and that were not answered. */
  readonly open = new Set<string>()
  /** Those of which it was told that they wait. */
  readonly waiting = new Set<string>()
  /** Those of which it was told that they run. */
  readonly running = new Set<string>()
  nextId = 0
  nextRun = 0
  /** What was asked for, and how often it was sent. */
  readonly facts = new Map<string, TaskFacts>()
  readonly attempts = new Map<string, number>()
  /** TaskCancels of this connection that were not answered. */
  readonly cancels = new Map<string, { count: number; hasForce: boolean }>()
  /** What the worker has from before this connection and the scheduler has not decided on. */
  readonly leases = new Set<string>()
  /** What the worker had when the connection was lost. */
  readonly abandoned = new Set<string>()
  /** What has ended while there was no connection, and may not run again. */
  readonly ended = new Set<string>()
  stoppedAt: number | undefined
  /** When the processor was told to stop tasks that it has not answered. */
  readonly stops = new Map<string, number>()
  /** Tasks that were cancelled by force while it had them. */
  readonly dropped = new Set<string>()

  handle(event: WorkerEvent): void {
    for (const action of this.worker.handle(event)) this.perform(action)
  }

  receive(message: Message): void {
    if (this.isConnected) this.handle({ type: 'messageReceived', message })
  }

  submit(id: string, facts?: TaskFacts): void {
    if (facts !== undefined) this.facts.set(id, facts)
    const attempt = this.attempts.get(id) ?? 0
    this.open.add(id)
    const task = taskOf(id, { ...this.facts.get(id), attempt })
    this.receive(isBlockId(taskId(id)) ? packed(task, 1) : task)
  }

  /** Consecutive tasks in one message. */
  submitRun(first: TaskId, count: number, facts: TaskFacts): void {
    for (const id of idsFrom(first, count)) {
      this.facts.set(id, facts)
      this.open.add(id)
    }
    this.receive(packed(taskOf(first, facts), count))
  }

  /** As it is sent after it has come back, or its worker was lost. */
  submitAgain(id: string): void {
    this.attempts.set(id, (this.attempts.get(id) ?? 0) + 1)
    this.submit(id)
  }

  cancel(first: string, force: boolean, count: number = 1): void {
    if (!this.isConnected) return
    for (const id of idsFrom(taskId(first), count)) {
      const cancels = this.cancels.get(id)
      const times = (cancels?.count ?? 0) + 1
      this.cancels.set(id, { count: times, hasForce: force || cancels?.hasForce === true })
      if (force && this.processor?.tasks.has(id) === true) this.dropped.add(id)
    }
    const flags = { force, retrieveTaskObject: false }
    this.receive({ kind: 'taskCancel', taskId: taskId(first), count, flags })
  }

  perform(action: WorkerAction): void {
    const { processor } = this
    switch (action.type) {
      case 'startProcessor':
        assert.equal(processor, undefined)
        this.stops.clear()
        this.dropped.clear()
        this.processorNumber = action.processor
        this.processor = new ModelProcessor()
        return
      case 'dispatch':
        return this.dispatched(action.bytes)
      case 'sendToProcessor':
        return this.told(action.message)
      case 'stopTask':
        assert.ok(processor)
        for (const id of idsFrom(action.taskId, action.count)) {
          this.stops.set(id, this.stops.get(id) ?? this.worker.now)
          processor.stop(id, action.reason, this.worker.now)
        }
        return
      case 'askStatus':
        assert.ok(processor)
        processor.questions.push({
          number: action.dispatchNumber,
          count: action.count,
          at: this.worker.now,
        })
        return
      case 'retractTasks':
        assert.ok(processor)
        processor.retractions.push(action.dispatchNumbers)
        return
      case 'endProcessor':
        assert.notEqual(this.stoppedAt, undefined)
        return
      case 'sendHeartbeat':
        assert.ok(this.isConnected)
        for (const id of action.heartbeat.tasks) this.leases.add(id)
        return
      case 'killProcessor':
        assert.ok(processor)
        assert.ok(this.isKillRight(processor), 'a neighbour was cancelled with it')
        processor.isDying = true
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

  isKillRight(processor: ModelProcessor): boolean {
    const { now } = this.worker
    const [question] = processor.questions
    const isSilent = question !== undefined && now - question.at >= 2000
    const isStuck = processor.givenUp > 0 && [...this.stops.values()].some((at) => now - at >= 2000)
    return isSilent || isStuck || processor.mayBeKilledFor(now)
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
    const { priority } = decodeTaskFlags(task.metadata)
    const isPacked = task.packed.byteLength > 0
    const values = isPacked ? textsIn(task.packed, countOf(task)) : [undefined]
    for (const [n, id] of idsFrom(task.taskId, values.length).entries()) {
      assert.ok(!this.ended.has(id), `${id} runs though its result is kept`)
      if (isPacked) assert.equal(values[n], id)
      processor.dispatch(id, { priority, attempt: task.attempt, isPacked })
    }
  }

  told(message: Message): void {
    const { processor } = this
    assert.ok(processor)
    if (message.kind === 'objectResponse') {
      for (const id of message.objectContent.objectIds) processor.objects.add(id)
    } else if (message.kind === 'objectInstruction') {
      if (message.instructionType === 'clear') processor.objects.clear()
      for (const id of message.objectContent.objectIds) processor.objects.delete(id)
    } else assert.fail(message.kind)
  }

  sentToScheduler(message: Message): void {
    if (message.kind === 'objectRequest') this.requests.push(message)
    else if (message.kind === 'taskUpdate') this.updated(message.taskId, message.update)
    else if (message.kind === 'taskResult') this.answered(message)
    else if (message.kind === 'disconnectRequest') this.left()
  }

  /** It may give up what runs only when its time is over. */
  left(): void {
    const isInTime = this.worker.now < (this.stoppedAt ?? 0) + DRAIN_MS
    const mayStay = !isInTime || !hasFeature(this.features, FEATURE_RECOVERY)
    assert.ok(mayStay || this.open.size === 0, `left: ${[...this.open].join()}`)
  }

  updated(id: string, update: string): void {
    assert.ok(this.open.has(id), `${id} is updated after its end`)
    if (update === 'running' || update === 'queued')
      return this.tellsBeginning(id, update === 'running')
    assert.ok(
      hasFeature(this.features, FEATURE_TASK_UPDATES),
      'a 1.9.9 scheduler would not understand',
    )
    assert.equal(this.waiting.has(id), update === 'resumed', `${id} ${update} twice`)
    if (update === 'waiting') this.waiting.add(id)
    else this.waiting.delete(id)
  }

  tellsBeginning(id: string, isRunning: boolean): void {
    assert.ok(hasFeature(this.features, FEATURE_WAITING), 'nobody wants to know of beginnings')
    assert.equal(this.running.has(id), !isRunning, `${id} was told of twice`)
    if (!isRunning) this.running.delete(id)
    else {
      assert.notEqual(this.processor?.tasks.get(id)?.state, 'queued', `${id} has not begun`)
      this.running.add(id)
    }
  }

  answered(result: TaskResult): void {
    const count = countOf(result)
    if (result.packed.byteLength > 0) {
      const values = textsIn(result.packed, count)
      const ids = idsFrom(result.taskId, count)
      assert.deepEqual(
        values,
        ids.map((id) => `result of ${id}`),
      )
    }
    for (const id of idsFrom(result.taskId, count)) this.answeredOne(id, result)
  }

  answeredOne(id: string, { status, inlineResults, attempt }: TaskResult): void {
    if (status === 'notFound') return this.answeredCancel(id)
    if (status === 'canceled') return this.givenBack(id)
    assert.ok(this.open.delete(id), `${id} was answered twice, or never sent`)
    this.ended.delete(id)
    this.waiting.delete(id)
    this.running.delete(id)
    if (hasFeature(this.features, FEATURE_INLINE)) assert.equal(attempt, this.attempts.get(id) ?? 0)
    if (kindOf(id).startsWith('bad')) assert.equal(status, 'failed', `${id} cannot succeed`)
    if (!kindOf(id).startsWith('good') || status === 'success') return
    const text = Buffer.concat(inlineResults).toString()
    const isTimeout =
      kindOf(id).includes('timed') && (text === '' || text.startsWith('TaskTimeoutError'))
    assert.ok(isTimeout, `${id} is not to blame: ${text}`)
  }

  answeredCancel(id: string): void {
    const cancels = this.cancels.get(id)
    assert.ok(cancels !== undefined && cancels.count > 0, `${id}: nobody has asked`)
    cancels.count -= 1
    if (cancels.count === 0) this.cancels.delete(id)
  }

  givenBack(id: string): void {
    const { stoppedAt } = this
    const cancels = this.cancels.get(id)
    assert.ok(this.open.delete(id) || this.leases.has(id), `${id} is given back twice`)
    this.leases.delete(id)
    this.ended.delete(id)
    this.waiting.delete(id)
    this.running.delete(id)
    if (cancels?.hasForce !== true) {
      // An earlier run of it may still be there that was cancelled.
      const isOld = this.stops.has(id) || this.dropped.has(id)
      const hasIt = this.processor?.tasks.has(id) === true && !isOld
      assert.ok(!hasIt, `${id} was given back though it has begun`)
    }
    if (cancels === undefined) assert.notEqual(stoppedAt, undefined, `${id}: nobody has asked`)
    else this.answeredCancel(id)
  }

  tellRetracted(): void {
    const { processor, processorNumber } = this
    const answer = processor?.isReady === true ? processor.retract() : undefined
    if (answer === undefined) return
    this.handle({ type: 'tasksRetracted', processor: processorNumber, ...answer })
  }

  run(pick: number): boolean {
    return this.processor?.step(pick, this.worker.now) === true
  }

  /** Whether a result that comes now is for nobody, and will be asked for. */
  isKept(id: string): boolean {
    if (this.stops.has(id)) return false
    if (!this.isConnected) return this.abandoned.has(id)
    return this.leases.has(id) && hasFeature(this.features, FEATURE_RECOVERY)
  }

  /** What the processor has said arrives, up to so many words. */
  flush(count: number): void {
    const { processor, processorNumber } = this
    for (const word of joined(processor?.words.splice(0, count) ?? [])) {
      if ('result' in word) {
        const { taskId: first, status } = word.result
        for (const id of idsFrom(first, countOf(word.result))) {
          if (status !== 'canceled' && this.isKept(id)) this.ended.add(id)
          this.stops.delete(id)
          this.dropped.delete(id)
        }
        this.handle({ type: 'taskAnswered', processor: processorNumber, result: word.result })
      } else {
        const { id, update } = word
        const message = {
          kind: 'taskUpdate',
          taskId: taskId(id),
          update,
          done: 0,
          total: 0,
        } as const
        this.handle({ type: 'taskUpdated', processor: processorNumber, update: message })
      }
    }
  }

  exit(lastRun: LastRun): void {
    const { processorNumber } = this
    this.processor = undefined
    this.handle({ type: 'processorExited', processor: processorNumber, death: KILLED, lastRun })
  }

  tellStatus(): void {
    const { processor } = this
    const question = processor?.questions.shift()
    if (processor === undefined || question === undefined) return
    const status = processor.statusOf(question.number, question.count, this.worker.now)
    this.handle({ type: 'statusReported', processor: this.processorNumber, status })
  }
}

const OBJECTS = ['x', 'y', 'z', 'never']
const KINDS = (
  'good good good good good good-long good-wait good-wait good-timed good-wait-timed good-deaf good-listen ' +
  'good-loop-timed good-loop good-deaf-timed bad bad-wait poor'
).split(' ')

/** What the tasks of runs do (`kindOf`); those in capitals have a time limit. */
const RUNS = 'g g g ggl gggb ggw gi d gggo p GGG GW GD GGO B'.split(' ')

/** The most tasks of a run here, each of which has ids of its own. */
const RUN_IDS = 16

/** The steps; each does nothing where it makes no sense. */
const STEPS = {
  submit(model: Model, pick: number): void {
    if (!model.isConnected) return
    const kind = KINDS[pick % KINDS.length] ?? 'good'
    const id = `${kind}-${(model.nextId += 1)}`
    const objects = OBJECTS.slice(0, 3).filter((_, index) => ((pick >> (4 + index)) & 1) === 1)
    if (kind === 'poor') objects.push('never')
    const fn = `fn${(pick >> 8) % 3}`
    const timeoutMs = kind.includes('timed') ? 1 + (pick % 500) : 0
    model.submit(id, { fn, objects, priority: (pick >> 12) % 3, timeoutMs })
  },
  submitRun(model: Model, pick: number): void {
    if (!model.isConnected) return
    const letters = RUNS[pick % RUNS.length] ?? 'g'
    const isTimed = letters === letters.toUpperCase()
    const objects = letters === 'p' ? ['never'] : OBJECTS.slice(0, (pick >> 4) % 3)
    const first = runId(letters, (model.nextRun += RUN_IDS))
    const timeoutMs = isTimed ? 1 + (pick % 500) : 0
    const facts = { fn: `fn${(pick >> 8) % 3}`, objects, priority: (pick >> 12) % 3, timeoutMs }
    model.submitRun(first, 1 + ((pick >> 5) % RUN_IDS), facts)
  },
  cancelRun(model: Model, pick: number): void {
    const ids = [...model.open].filter((id) => isBlockId(taskId(id)))
    const id = ids[pick % ids.length]
    if (id === undefined) return
    const place = placeInBlock(taskId(id)) % RUN_IDS
    model.cancel(id, (pick >> 8) % 2 === 0, 1 + ((pick >> 9) % (RUN_IDS - place)))
  },
  submitAgain(model: Model, pick: number): void {
    const ids = [...model.open]
    const id = ids[pick % ids.length]
    if (id !== undefined && model.isConnected) model.submit(id)
  },
  /** The scheduler decides on one that the worker has from before. */
  decide(model: Model, pick: number): void {
    const ids = [...model.leases]
    const id = ids[pick % ids.length]
    if (id === undefined || !model.isConnected) return
    if (pick % 3 === 0) {
      model.cancel(id, true)
      model.leases.delete(id)
    } else {
      model.leases.delete(id)
      model.submitAgain(id)
    }
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
    model.cancel(id, (pick >> 8) % 2 === 0)
  },
  /** What was cancelled or has failed may come again at once: it is balanced, or tried again. */
  cancelAndSendAgain(model: Model, pick: number): void {
    const ids = [...model.open].filter((id) => !kindOf(id).startsWith('poor'))
    const id = ids[pick % ids.length]
    if (id === undefined || !model.isConnected) return
    model.cancel(id, true)
    model.submitAgain(id)
  },
  ready(model: Model): void {
    const { processor, processorNumber } = model
    if (processor === undefined || processor.isReady) return
    processor.isReady = true
    model.handle({ type: 'processorReady', processor: processorNumber, pid: 7 })
  },
  run(model: Model, pick: number): void {
    for (let count = 0; count < pick % 8 && model.run(pick >> 3); count += 1);
  },
  flush: (model: Model, pick: number): void => model.flush(pick % 10),
  /** All is as it should be for some time. */
  work(model: Model, pick: number): void {
    STEPS.ready(model)
    while (model.isConnected && model.requests.length > 0) STEPS.respond(model, 0)
    STEPS.run(model, pick)
    model.flush(pick % 11)
  },
  /** The link is lost and comes back; meanwhile tasks may end. */
  blink(model: Model, pick: number): void {
    STEPS.disconnect(model, 0)
    if (pick % 2 === 0) STEPS.work(model, pick >> 1)
    STEPS.connect(model, 15)
  },
  tellStatus: (model: Model): void => model.tellStatus(),
  tellRetracted: (model: Model): void => model.tellRetracted(),
  die(model: Model, pick: number): void {
    const { processor } = model
    if (processor === undefined) return
    const { fatal, isDying, isRetired, blockedBy } = processor
    // A cancelled one does not crash but hangs: it is for the machine to end it.
    if (fatal !== undefined && !isDying && blockedBy?.toldAt !== undefined) return
    // The good ones die by accident only while nothing runs, or the model would not know whom to
    // blame.
    const isExpected = fatal !== undefined || isDying || isRetired
    if (!isExpected && (pick % 4 !== 0 || processor.tasks.size > 0)) return
    // One that crashes while results are held back loses them, unless it can still write. That it
    // has gone on it has told before.
    const canWrite = pick % 2 === 0 || isRetired
    if (canWrite || processor.words.some((word) => 'update' in word)) model.flush(Infinity)
    // What it has said may have brought it the next task.
    if (!isExpected && (!canWrite || processor.tasks.size > 0)) return
    model.exit(processor.lastWords(canWrite))
  },
  connect(model: Model, pick: number): void {
    if (model.isConnected || model.hasEnded) return
    model.isConnected = true
    model.features = (pick % 16) + (pick % 32 < 16 ? FEATURE_WAITING : 0)
    model.abandoned.clear()
    // What the worker keeps is of no use to this scheduler.
    if (!hasFeature(model.features, FEATURE_RECOVERY)) model.ended.clear()
    model.handle({ type: 'connected' })
    model.receive(echoOf(model.features))
  },
  disconnect(model: Model, pick: number): void {
    if (!model.isConnected || pick % 3 !== 0) return
    model.requests.length = 0
    for (const id of [...model.open, ...model.leases]) model.abandoned.add(id)
    model.open.clear()
    model.waiting.clear()
    model.running.clear()
    model.cancels.clear()
    model.leases.clear()
    model.isConnected = false
    // What is sent from now on is lost: the machine must not even try.
    model.handle({ type: 'disconnected', reason: 'reset' })
  },
  congest(model: Model, pick: number): void {
    model.handle({ type: pick % 2 === 0 ? 'congested' : 'drained' })
  },
  pass(model: Model, pick: number): void {
    model.worker.now += pick % 5 === 0 ? pick % 3000 : pick % 120
    model.handle({ type: 'tick' })
    model.receive(echoOf(model.features))
  },
}

/** Everybody does what is due until nothing is left: every task must then have been answered. */
function drain(model: Model, canWrite: boolean, mustLeave: boolean): void {
  STEPS.connect(model, 15)
  model.handle({ type: 'drained' })
  if (mustLeave) {
    model.stoppedAt = model.worker.now
    model.handle({ type: 'stopRequested' })
  }
  for (let round = 0; round < 3000; round += 1) {
    STEPS.ready(model)
    while (model.requests.length > 0) STEPS.respond(model, round)
    for (let step = 0; step < 50 && model.run(round + step); step += 1);
    // A loop that nobody cancels would be right to go on for ever.
    const loop = model.processor?.blockedBy?.id ?? ''
    if (kindOf(loop).includes('loop') && model.open.has(loop)) model.cancel(loop, true)
    if (model.leases.size > 0) STEPS.decide(model, round)
    const { processor } = model
    const mustEnd = processor?.isDying === true || processor?.isRetired === true
    if (mustEnd || processor?.fatal !== undefined) STEPS.die(model, canWrite ? 0 : 1)
    model.flush(Infinity)
    STEPS.tellStatus(model)
    STEPS.tellRetracted(model)
    STEPS.pass(model, 110)
    if (mustLeave) {
      model.receive({ kind: 'disconnectResponse', worker: WORKER })
      if (model.hasEnded) return
      continue
    }
    // What runs for nobody and is in nobody's way may go on.
    const { blockedBy } = model.processor ?? {}
    const isLoop = kindOf(blockedBy?.id ?? '').includes('loop')
    const isLeftAlone = isLoop && blockedBy?.toldAt === undefined
    const hasRest = (model.processor?.tasks.size ?? 0) > 0 && !isLeftAlone
    const isAllSaid = model.open.size === 0 && model.cancels.size === 0 && model.leases.size === 0
    if (isAllSaid && !hasRest) return
  }
  assert.fail(`unanswered: ${[...model.open].join()}`)
}

const names = Object.keys(STEPS) as (keyof typeof STEPS)[]
const often =
  'submit submit submit submit submitRun submitRun submitRun cancelRun respond run flush cancel tellStatus tellRetracted work work work'.split(
    ' ',
  ) as (keyof typeof STEPS)[]
const step: fc.Arbitrary<Step> = fc.tuple(
  fc.constantFrom(...names, ...often),
  fc.integer({ min: 0, max: 2 ** 16 }),
)

test('each task is answered exactly once, and only tasks that end their processor fail', () => {
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 120, size: 'max' }),
      fc.boolean(),
      fc.boolean(),
      (steps, canWrite, mustLeave) => {
        const model = new Model()
        model.handle({ type: 'started' })
        STEPS.connect(model, 3)
        for (const [name, pick] of steps) STEPS[name](model, pick)
        drain(model, canWrite, mustLeave)
      },
    ),
    { numRuns: sized(1_000, 300) },
  )
})

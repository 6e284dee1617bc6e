// What happens to tasks between the scheduler and the processor: they fetch their objects, wait for
// their turn, are handed over and answered; or they are cancelled, run for too long, or their
// processor ends.

import { assert } from '../../base/assert.js'
import { totalBytes } from '../../base/bytes.js'
import { earliest } from '../../base/earliest.js'
import { MissingObjectError, TaskTimeoutError, type ProcessorDeath } from '../../base/errors.js'
import { idToHex, type ObjectId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type {
  ObjectInstruction,
  ObjectResponse,
  Task,
  TaskCancel,
  TaskResult,
  TaskUpdate,
} from '../../wire/message.js'
import { decodeProfileResult } from '../../wire/profile.js'
import type { Answers } from './answers.js'
import { Dispatcher } from './dispatcher.js'
import type { LastRun, RunStatus } from './events.js'
import { Fetcher } from './fetcher.js'
import type { WorkerCoreOptions } from './options.js'
import type { Output } from './output.js'
import { judge, NOBODY_TO_BLAME } from './processor-death.js'
import type { ProcessorSlot } from './processor-slot.js'
import { SerializerIds } from './serializer-ids.js'
import { Survivors } from './survivors.js'
import { TaskTable } from './task-table.js'
import { TaskWatch } from './task-watch.js'
import { workerTaskOf, type WorkerTask } from './worker-task.js'

/** Length of a profile result. */
const PROFILE_BYTES = 16

/** The parts of the worker that tasks need. */
export interface TaskFlowParts {
  readonly options: WorkerCoreOptions
  readonly output: Output
  readonly answers: Answers
  readonly slot: ProcessorSlot
}

/** All tasks of one worker. */
export class TaskFlow {
  readonly #output: Output
  readonly #answers: Answers
  readonly #slot: ProcessorSlot
  readonly #serializerIds: SerializerIds
  readonly #tasks = new TaskTable()
  readonly #dispatcher = new Dispatcher()
  readonly #fetcher: Fetcher
  readonly #watch: TaskWatch
  readonly #survivors: Survivors
  #arrivals = 0
  /** Nothing more is computed while results cannot leave. */
  #isCongested = false
  #wasKilledOnPurpose = false
  /** Whether the processor may have tasks that nobody waits for. */
  #mayHaveAbandoned = false

  constructor({ options, output, answers, slot }: TaskFlowParts) {
    this.#output = output
    this.#answers = answers
    this.#slot = slot
    this.#serializerIds = new SerializerIds((source) => options.serializerIdOf(source))
    this.#watch = new TaskWatch(output, options.cancelGraceMs, {
      onTimeout: (task, runningMs, now) => this.#onTimeout(task, runningMs, now),
      onKill: () => this.#killOnPurpose(),
    })
    this.#fetcher = new Fetcher(output, options.objectCacheBytes, {
      tasks: () => this.#tasks.values(),
      onComplete: (task) => this.#enqueue(task),
      onMissing: (task, ids) => this.#failForMissing(task, ids),
    })
    this.#survivors = new Survivors(this.#tasks, answers)
  }

  /** Tasks of this worker that do not run, and do not wait for others either. */
  get queuedCount(): number {
    const { activeCount, waitingCount } = this.#dispatcher
    let canceling = 0
    for (const task of this.#dispatcher.unanswered()) if (task.state === 'canceling') canceling += 1
    return this.#tasks.size + canceling - waitingCount - (activeCount > 0 ? 1 : 0)
  }

  /** Whether the processor has a task that does not only wait for others. */
  get isBusy(): boolean {
    return this.#dispatcher.activeCount > 0
  }

  /** When `onTick` must be called next. */
  get deadline(): InstantMs | undefined {
    return earliest(this.#watch.deadline, this.#fetcher.deadline)
  }

  /** A task that the worker has already is not taken again. */
  onTask(message: Task): void {
    const known = this.#tasks.get(message.taskId)
    if (known !== undefined) {
      if (known.state === 'abandoned') this.#takeUpAgain(known)
      return
    }
    const serializerId = this.#serializerIds.of(message.source)
    const task = workerTaskOf(message, this.#arrivals, serializerId)
    this.#arrivals += 1
    this.#tasks.add(task)
    if (this.#slot.isListening) this.#fetch(task)
  }

  /** docs/protocol.md#cancel: what the processor has is only dropped by force. */
  onTaskCancel(message: TaskCancel, now: InstantMs): void {
    const task = this.#tasks.get(message.taskId)
    const isOut = task?.state === 'dispatched'
    if (task === undefined || task.state === 'abandoned' || (isOut && !message.flags.force)) {
      this.#answers.cancel(message.taskId, 'notFound')
      return
    }
    if (task.state === 'queued') this.#dispatcher.remove(task)
    this.#tasks.change(task, 'cancelled')
    this.#answers.cancel(message.taskId, 'canceled')
    if (isOut && this.#slot.isListening) this.#watch.stop(task, 'cancelled', now)
  }

  /** Objects have come, or do not exist. */
  onObjectResponse(message: ObjectResponse, now: InstantMs): void {
    this.#fetcher.onObjectResponse(message, now)
  }

  /** Objects were deleted. */
  onObjectInstruction(message: ObjectInstruction): void {
    this.#fetcher.onObjectInstruction(message)
  }

  /** Whether results can leave. */
  setCongested(isCongested: boolean): void {
    this.#isCongested = isCongested
  }

  /** The scheduler that sent the tasks is gone. What the processor has goes on, for nobody. */
  onDisconnected(): void {
    this.#isCongested = false
    this.#mayHaveAbandoned = true
    for (const task of this.#tasks.values()) {
      if (task.state === 'queued') this.#dispatcher.remove(task)
      this.#tasks.change(task, 'disconnected')
    }
    if (this.#slot.isListening) this.#fetcher.onDisconnected()
  }

  /** A processor was started: all that waits needs its objects there. */
  onProcessorStarted(): void {
    this.#wasKilledOnPurpose = false
    for (const task of this.#tasks.values()) this.#fetch(task)
  }

  /** The processor is done with a task. One that answers something else is ended. */
  onTaskAnswered(result: TaskResult, now: InstantMs): void {
    const task = this.#dispatcher.get(result.taskId)
    if (task === undefined || !isAnswerTo(task, result)) {
      const fields = { taskId: idToHex(result.taskId), status: result.status }
      this.#output.log('error', 'the processor answered what it was not asked', fields)
      this.#slot.kill()
      return
    }
    this.#dispatcher.take(task)
    this.#watch.onAnswered(task)
    const isAwaited = task.state === 'dispatched'
    this.#tasks.change(task, 'answered')
    if (result.status === 'canceled') return
    if (!task.hasWaited) this.#learn(task, result)
    const objectId = isAwaited ? this.#answers.forward(result, task) : undefined
    const [keptId] = result.results
    if (keptId === undefined) return
    if (objectId !== keptId) this.#fetcher.drop(keptId)
    else this.#fetcher.onKept(keptId, totalBytes(result.inlineResults), now)
  }

  /** A task waits for tasks of its own, goes on, or tells how far it is. */
  onTaskUpdated(update: TaskUpdate): void {
    const task = this.#dispatcher.get(update.taskId)
    if (task === undefined) return
    const isNews =
      update.update === 'progress' || this.#dispatcher.setWaiting(task, update.update === 'waiting')
    if (isNews && task.state === 'dispatched') this.#answers.update(update)
  }

  /** The processor's guardian has told how far a task is. */
  onStatusTold(status: RunStatus, now: InstantMs): void {
    this.#watch.onStatus(status, now)
  }

  /** The processor is gone, and the objects that it had. */
  onProcessorExited(death: ProcessorDeath, lastRun: LastRun, now: InstantMs): void {
    this.#watch.clear()
    this.#fetcher.onProcessorExited()
    const unanswered = this.#dispatcher.takeAll()
    this.#loseObjects()
    const isOnPurpose = this.#wasKilledOnPurpose || lastRun === 'retired'
    const verdict = isOnPurpose ? NOBODY_TO_BLAME : judge(unanswered, lastRun)
    this.#survivors.sort(unanswered, { ...verdict, isOnPurpose, death, now })
  }

  /** A task may be due to be ended, or room may have to be made. */
  onTick(now: InstantMs): void {
    this.#watch.onTick(now)
    if (this.#slot.isListening) this.#fetcher.makeRoom(now)
  }

  /** Hands over what may go now. To be called after everything that may have changed that. */
  dispatch(now: InstantMs): void {
    if (this.#slot.state !== 'ready' || this.#isCongested) return
    for (;;) {
      const task = this.#dispatcher.next
      if (task === undefined) return
      if (!this.#fetcher.isUpToDate(task) && !this.#fetcher.fetch(task)) this.#sendBack(task)
      else if (!this.#dispatcher.hasRoomFor(task, this.#tasks.hasSuspects)) {
        if (this.#mayHaveAbandoned) this.#cancelAbandoned(now)
        return
      } else this.#handOver(task, now)
    }
  }

  /** Throws if the tables disagree. */
  checkInvariants(): void {
    this.#tasks.checkInvariants()
    this.#dispatcher.checkInvariants()
    const all = [...this.#tasks.values()]
    const stateCount = (state: WorkerTask['state']): number =>
      all.filter((task) => task.state === state).length
    assert(stateCount('queued') === this.#dispatcher.queuedCount, 'the queue has other tasks')
    const unanswered = [...this.#dispatcher.unanswered()]
    const canceling = unanswered.filter((task) => task.state === 'canceling').length
    const isOut = stateCount('dispatched') + stateCount('abandoned')
    assert(isOut + canceling === unanswered.length, 'the processor has other tasks')
    this.#watch.checkInvariants(new Set(unanswered), this.#slot.isListening)
    const fetching = new Set(all.filter((task) => task.state === 'fetching'))
    if (this.#slot.isListening) this.#fetcher.checkInvariants(fetching)
  }

  #fetch(task: WorkerTask): void {
    if (this.#fetcher.fetch(task)) this.#enqueue(task)
  }

  #enqueue(task: WorkerTask): void {
    this.#tasks.change(task, 'objectsPresent')
    this.#dispatcher.add(task)
  }

  /** Its objects were deleted while it waited. */
  #sendBack(task: WorkerTask): void {
    this.#dispatcher.remove(task)
    this.#tasks.change(task, 'objectsLost')
  }

  #handOver(task: WorkerTask, now: InstantMs): void {
    this.#tasks.change(task, 'handedOver')
    this.#dispatcher.handOver(task, now)
    this.#slot.onUsed()
    this.#output.act({ type: 'dispatch', bytes: task.bytes })
    this.#watch.onHandedOver(task, now)
  }

  /** A task that goes on from before the connection was lost is awaited again. */
  #takeUpAgain(task: WorkerTask): void {
    this.#tasks.change(task, 'sentAgain')
    if (task.isWaiting) this.#answers.waits(task, true)
  }

  #learn(task: WorkerTask, { metadata }: TaskResult): void {
    const profile =
      metadata.byteLength === PROFILE_BYTES ? decodeProfileResult(metadata) : undefined
    if (profile !== undefined) this.#dispatcher.learn(task, profile.durationSeconds * 1000)
  }

  /** What runs for nobody is ended when it is in the way of what somebody waits for. */
  #cancelAbandoned(now: InstantMs): void {
    this.#mayHaveAbandoned = false
    for (const task of this.#dispatcher.unanswered()) {
      if (task.state !== 'abandoned') continue
      this.#tasks.change(task, 'cancelled')
      this.#watch.stop(task, 'cancelled', now)
    }
  }

  #onTimeout(task: WorkerTask, runningMs: number, now: InstantMs): void {
    const isAwaited = task.state === 'dispatched'
    this.#tasks.change(task, 'timedOut')
    if (isAwaited) {
      const text = `task ${idToHex(task.id)} ran for longer than its ${task.timeoutMs} ms`
      this.#answers.fail(task, new TaskTimeoutError(text), runningMs)
    }
    this.#watch.stop(task, 'timedOut', now)
  }

  #failForMissing(task: WorkerTask, ids: readonly ObjectId[]): void {
    this.#tasks.change(task, 'objectMissing')
    const list = ids.map(idToHex).join(', ')
    const text = `task ${idToHex(task.id)} needs objects that do not exist: ${list}`
    this.#answers.fail(task, new MissingObjectError(text), 0)
  }

  #loseObjects(): void {
    for (const task of this.#tasks.values()) {
      if (task.state === 'queued') this.#dispatcher.remove(task)
      if (task.state === 'queued' || task.state === 'fetching') {
        this.#tasks.change(task, 'objectsLost')
        task.missingCount = 0
      }
    }
  }

  #killOnPurpose(): void {
    this.#watch.clear()
    this.#wasKilledOnPurpose = true
    this.#slot.kill()
  }
}

/** Results are chunks of one value, so at least one. Only what was stopped may be skipped. */
function isAnswerTo(task: WorkerTask, result: TaskResult): boolean {
  const { byteLength } = result.metadata
  if (byteLength !== 0 && byteLength !== PROFILE_BYTES) return false
  if (result.status === 'canceled') return task.state === 'canceling'
  const isRun = result.status === 'success' || result.status === 'failed'
  return isRun && result.inlineResults.length > 0 && result.results.length <= 1
}

// The life of tasks: they are submitted, answered, cancelled, given up, or sent again. Nothing here
// depends on connections; the machine reports when there is a scheduler. The consequences of an end
// are in ends.ts. docs/protocol.md#task

import { assert, unreachable } from '../../../base/assert.js'
import type { Alarm } from '../../../base/machine.js'
import { ProtocolError } from '../../../base/errors.js'
import { FEATURE_WAITING, hasFeature } from '../../../base/features.js'
import { idToHex, type ObjectId, type TaskId } from '../../../base/ids.js'
import {
  deathLimitOf,
  type ObjectResponse,
  type TaskResult,
  type TaskUpdate,
} from '../../../wire/message.js'
import { countOf, mayBeginRun, placeInBlock } from '../../../wire/run.js'
import {
  type ArgumentSource,
  type ClientCoreOptions,
  type TaskEnd,
  type TaskEndReason,
  type TaskSubmission,
  type ClientTurn,
  endTask,
  finishTask,
  RESULT_LOST,
} from '../events.js'
import type { SchedulerMemory } from '../link.js'
import { ClientObjectTable } from '../objects.js'
import { Sender } from '../sender.js'
import { SharedNames } from '../shared.js'
import {
  ClientTaskEnds,
  failedTaskOf,
  joined,
  layoutErrorOf,
  partOf,
  REFUSALS,
  resubmit,
  storedResult,
  UnacknowledgedTasks,
} from './ends.js'
import { TaskInputs } from './inputs.js'
import { isNeeded, type TaskRecord, ClientTaskTable } from './task.js'

/** The tasks of one client, from submission until their results are no longer needed. */
export class ClientTaskFlow<Owner> {
  readonly tasks: ClientTaskTable<Owner>
  readonly objects: ClientObjectTable
  readonly inputs: TaskInputs<Owner>
  readonly shared: SharedNames<Owner>
  readonly sender: Sender<Owner>
  readonly ends: ClientTaskEnds<Owner>
  readonly #turn: ClientTurn<Owner>
  readonly #unacknowledged = new UnacknowledgedTasks<Owner>()
  readonly #unacknowledgedAlarm: Alarm
  readonly #options: ClientCoreOptions
  readonly #timeoutMs: number
  /** How many times the result of a task was lost with a server. */
  readonly #losses = new WeakMap<TaskRecord<Owner>, number>()

  constructor(options: ClientCoreOptions, turn: ClientTurn<Owner>) {
    this.#options = options
    this.#turn = turn
    this.tasks = new ClientTaskTable(turn, options.logsTasks === true)
    this.#timeoutMs = options.timeoutMs
    this.objects = new ClientObjectTable(turn, ({ chunk }) =>
      turn.act({ type: 'releaseFile', chunk }),
    )
    this.#unacknowledgedAlarm = turn.alarm(() => this.#giveUpUnacknowledged())
    const { tasks, objects } = this
    this.inputs = new TaskInputs(options, tasks, objects)
    this.shared = new SharedNames(turn, objects)
    const { inputs, shared } = this
    this.sender = new Sender(options, { tasks, objects, inputs, shared }, turn)
    const { sender } = this
    tasks.onCut = (task, rest) => {
      inputs.onCut(rest)
      sender.onCut(task, rest)
    }
    this.ends = new ClientTaskEnds(turn, {
      tasks,
      objects,
      inputs,
      sender,
      unacknowledged: this.#unacknowledged,
    })
  }

  submit(submission: TaskSubmission<Owner>): void {
    const { args } = submission
    const missing = this.inputs.missing(args)
    if (missing !== undefined) return this.refuse(submission.owner, submission.taskId, missing)
    const task = this.inputs.take(submission)
    this.tasks.add(task)
    if (task.unready > 0) task.state = 'blocked'
    else this.sender.enqueue(task)
  }

  /** A target leaves its graph: it becomes an ordinary task with the inputs of `submission`. */
  adopt(task: TaskRecord<Owner>, submission: TaskSubmission<Owner>): void {
    this.inputs.exchange(task, submission, (old) => this.ends.letGo(old))
    task.graph = undefined
    if (task.state === 'sent') this.tasks.change(task, 'forgotten')
    task.state = task.unready > 0 ? 'blocked' : 'waiting'
    if (task.unready === 0) this.sender.enqueue(task)
  }

  /** Ends a task that cannot be accepted because one of its inputs is missing. */
  refuse(owner: Owner | undefined, taskId: TaskId, missing: ArgumentSource): void {
    if (owner === undefined || !('type' in missing)) return
    if (missing.type === 'shared' || missing.type === 'value') return
    // A task that has left the table in the meantime was cancelled: results arrive in other events.
    const end: TaskEnd =
      missing.type === 'task'
        ? { reason: 'cancelled', detail: '', failedTaskId: missing.taskId }
        : { reason: 'missingObject', detail: idToHex(missing.id) }
    endTask(this.#turn, { owner, taskId, count: 1 }, end)
  }

  /** A scheduler has answered on a new connection: everything that it may lack is sent to it. */
  resume(memory: SchedulerMemory): void {
    this.sender.start(memory)
    for (const task of this.tasks.values()) this.#resumeTask(task, memory)
  }

  /** A user cancels a task, and with it all tasks that need its result. */
  cancel(task: TaskRecord<Owner>): void {
    if (task.owner === undefined) return
    this.ends.recall(task)
    this.ends.abandon(task, 'cancelled', '')
  }

  /** A result that was offered is requested. */
  want(id: TaskId, owner: Owner): void {
    const task = this.tasks.get(id)
    if (task === undefined) {
      const end = { reason: 'missingObject', detail: '' } as const
      endTask(this.#turn, { owner, taskId: id, count: 1 }, end)
      return
    }
    task.owner = owner
    if (task.state === 'stored') this.#fetch(task)
  }

  /** From now on, the end of a task is reported to `owner`. */
  leave(id: TaskId, owner: Owner): void {
    const task = this.tasks.get(id)
    if (task?.owner !== undefined) task.owner = owner
  }

  /** A result that was offered will not be requested. */
  drop(id: TaskId): void {
    const task = this.tasks.get(id)
    if (task !== undefined) this.ends.disown(task)
  }

  onTaskResult(task: TaskRecord<Owner>, message: TaskResult): void {
    switch (message.status) {
      case 'success':
      case 'failed':
        return this.#onResult(task, message)
      case 'canceled':
      case 'notFound':
      case 'workerDied':
      case 'noWorker':
        if (message.status === 'noWorker' && this.#mayComeLater(task)) return this.#holdBack(task)
        if (this.tasks.change(task, 'refused') !== 'ended') return
        return this.#onRefused(task, message, REFUSALS[message.status])
      case 'inactive':
      case 'running':
      case 'canceling':
        return this.#turn.log('warn', 'ignored a TaskResult with a status that is not an outcome', {
          status: message.status,
        })
      default:
        unreachable(message.status)
    }
  }

  /** A result of consecutive tasks, or with a packed value. */
  onRunResult(message: TaskResult): void {
    const { taskId, status } = message
    const count = countOf(message)
    const layoutError = status === 'success' ? layoutErrorOf(message, count) : ''
    if (count > 1 && !mayBeginRun(taskId, count)) return
    for (const task of this.tasks.range(taskId, count)) {
      if (!this.tasks.has(task)) continue
      const from = count === 1 ? 0 : placeInBlock(task.id) - placeInBlock(taskId)
      if (status !== 'success') this.onTaskResult(task, { ...message, taskId: task.id })
      else if (this.tasks.change(task, 'resultArrived') !== 'ended') continue
      else if (layoutError !== '') this.ends.end(task, 'malformed', layoutError)
      else this.#onValues(task, partOf(message, from, from + task.count))
    }
  }

  #onValues(task: TaskRecord<Owner>, part: TaskResult): void {
    const { serializedValues } = this.#options
    if (!isNeeded(task) || serializedValues === undefined) return this.ends.finishRun(task, part)
    // Of one task: the others are not arguments.
    const [payload] = serializedValues(part.packed)
    const { metadata, worker } = part
    if (payload === undefined) return this.ends.end(task, 'malformed', 'a value is missing')
    this.ends.finish(task, { isSuccess: true, payload, metadata, worker, failedTaskId: undefined })
  }

  /** A task was cancelled by somebody else if the message says so. */
  #onRefused(task: TaskRecord<Owner>, message: TaskResult, reason: TaskEndReason): void {
    const [error] = message.error
    const isCancelled = reason === 'dropped' && error?.name === 'TaskCancelledError'
    const [cause, detail] = isCancelled ? (['cancelled', error.message] as const) : [reason, '']
    this.ends.end(task, cause, detail, failedTaskOf(message))
  }

  /** The result of a cancelled task, of a second run, or of a task that is not needed. */
  onUnknownResult(message: TaskResult): void {
    for (const id of message.results) {
      if (this.tasks.storedIn(id) === undefined) this.objects.removeResult(id)
    }
  }

  onTaskUpdate({ taskId, update, done, total }: TaskUpdate): void {
    const task = this.tasks.get(taskId)
    if (task === undefined) return
    // Every update except `queued` shows that the task is running.
    task.hasBegun = update !== 'queued'
    const { owner } = task
    if (owner === undefined || update !== 'progress') return
    this.#turn.act({ type: 'reportProgress', owner, taskId, done, total })
  }

  onObjectResponse(message: ObjectResponse): void {
    const { objectIds, objectTypes, objectBytes } = message.objectContent
    // Lists of unequal length: something is missing, but it is unknown what.
    const isComplete = message.responseType === 'content' && objectIds.length === objectBytes.length
    for (const [index, id] of objectIds.entries()) {
      const task = this.tasks.waitingFor(id)
      const isRefused = objectTypes[index] === 'refused'
      if (isRefused) this.objects.onRefused(id)
      if (task === undefined) continue
      const chunks = isComplete ? objectBytes[index] : undefined
      if (chunks === undefined) this.#onContentMissing(task)
      else if (isRefused) this.#onContent(task, chunks, true)
      else this.#onContent(task, chunks)
    }
  }

  /** Objects are lost, and the scheduler has dropped the tasks that need them. */
  onLost(ids: readonly ObjectId[]): void {
    const lost = new Set(ids)
    const needing = [...this.tasks.values()].filter((task) => {
      return task.state === 'sent' && task.graph === undefined && this.inputs.areAmong(task, lost)
    })
    this.objects.onLost(ids)
    // Before the results are, because those that cannot be made again end the tasks that wait.
    for (const task of needing) this.tasks.change(task, 'forgotten')
    for (const id of ids) {
      const task = this.tasks.storedIn(id)
      if (task !== undefined) this.#remake(task)
    }
    for (const task of needing) {
      if (this.tasks.has(task) && task.state === 'waiting') this.sendAgain(task, 'forgotten')
    }
  }

  /** The task must run again, if it can. */
  sendAgain(task: TaskRecord<Owner>, cause: 'forgotten' | 'contentLost'): void {
    this.#unacknowledged.delete(task)
    const wasReady = task.asInput?.isReady === true
    this.tasks.stopKeeping(task)
    this.tasks.change(task, cause)
    if (wasReady) this.#block(task)
    if (!this.#resubmit(task)) {
      this.sender.withdraw(task)
      this.tasks.change(task, 'givenUp')
      return this.ends.end(task, 'missingObject', '')
    }
    this.inputs.acquire(task)
    if (task.unready === 0) return this.ends.enqueue(task)
    this.sender.withdraw(task)
    this.tasks.change(task, 'inputMissing')
    task.graph?.onBlocked()
  }

  /** Throws if the tables disagree. `otherUses`: the number of uses of objects by graphs. */
  checkInvariants(otherUses = 0): void {
    this.tasks.checkInvariants()
    this.objects.checkInvariants()
    this.sender.checkInvariants()
    this.ends.checkInvariants()
    this.#unacknowledged.checkInvariants(this.tasks)
    let waiting = 0
    let uses = otherUses
    for (const task of this.tasks.values()) {
      uses += this.inputs.usesOf(task)
      assert(task.owner !== undefined || isNeeded(task), 'an unneeded task is kept')
      if (task.place !== undefined) waiting += task.count
    }
    assert(waiting === this.sender.waitingTasks, 'the number of waiting tasks is wrong')
    assert(uses === this.objects.users, 'the number of uses of objects is wrong')
  }

  /** A scheduler that has no room for a task reports when it has; it always accepts graphs. */
  #mayComeLater(task: TaskRecord<Owner>): boolean {
    return task.graph === undefined && hasFeature(this.sender.features, FEATURE_WAITING)
  }

  /** The result of a task was lost with a server: counts like the loss of a worker. */
  #remake(task: TaskRecord<Owner>): void {
    const losses = (this.#losses.get(task) ?? 0) + 1
    this.#losses.set(task, losses)
    if (losses < deathLimitOf(task.options)) return this.sendAgain(task, 'forgotten')
    const wasReady = task.asInput?.isReady === true
    this.tasks.stopKeeping(task)
    this.tasks.change(task, 'givenUp')
    if (wasReady) this.#block(task)
    this.ends.end(task, 'workerDied', RESULT_LOST)
  }

  #holdBack(task: TaskRecord<Owner>): void {
    if (task.state !== 'sent') return
    this.sendAgain(task, 'forgotten')
    if (task.place !== undefined) this.sender.holdBack(task)
  }

  #resumeTask(task: TaskRecord<Owner>, memory: SchedulerMemory): void {
    const { state, result } = task
    if (result !== undefined) {
      if (!memory.isSame) return this.sendAgain(task, 'forgotten')
      result.isUnacknowledged = true
      if (state === 'fetching') this.sender.request(result)
      return
    }
    // A graph sends its targets again on its own; a blocked task is sent when its inputs are ready.
    if (task.graph !== undefined || state === 'blocked') return
    if (state !== 'sent' || memory.mayRepeat) return this.sendAgain(task, 'forgotten')
    if (!memory.mayHaveLostResults) return
    this.#unacknowledged.add(task, this.#turn.now + this.#timeoutMs)
    this.#unacknowledgedAlarm.set(this.#unacknowledged.nextAt)
  }

  #giveUpUnacknowledged(): void {
    for (const task of this.#unacknowledged.due(this.#turn.now)) {
      const detail = `no result ${this.#timeoutMs} ms after a lost connection`
      this.ends.recall(task)
      this.ends.abandon(task, 'disconnected', detail)
    }
    this.#unacknowledgedAlarm.set(this.#unacknowledged.nextAt)
  }

  /**
   * Ended tasks run again for a task that needs their results. False if that is no longer possible.
   */
  #resubmit(task: TaskRecord<Owner>): boolean {
    if (!this.inputs.hasLostInput(task)) return true
    const resubmitted = resubmit(task, this.tasks)
    for (const source of resubmitted ?? []) {
      this.inputs.acquire(source)
      if (source.unready > 0) source.state = 'blocked'
      else this.sender.enqueue(source)
    }
    return resubmitted !== undefined
  }

  /** A result is gone: unsent tasks that need it must wait for it again. */
  #block(task: TaskRecord<Owner>): void {
    for (const user of task.asInput?.users ?? []) {
      if (user.state === 'blocked') user.unready += 1
      if (user.state !== 'waiting') continue
      this.sender.withdraw(user)
      this.tasks.change(user, 'inputMissing')
      user.unready = 1
      user.graph?.onBlocked()
    }
  }

  #onResult(task: TaskRecord<Owner>, message: TaskResult): void {
    const [payload] = message.inlineResults
    const [objectId] = message.results
    if (payload !== undefined) {
      if (this.tasks.change(task, 'resultArrived') !== 'ended') return
      const { metadata, worker } = message
      const isSuccess = message.status === 'success'
      const failedTaskId = failedTaskOf(message)
      this.ends.finish(task, { isSuccess, payload, metadata, worker, failedTaskId })
    } else if (objectId !== undefined) {
      this.#onStored(task, objectId, message)
    } else if (this.tasks.change(task, 'resultArrived') === 'ended') {
      this.ends.end(task, 'malformed', 'the scheduler sent a result without content')
    }
  }

  #onStored(task: TaskRecord<Owner>, objectId: ObjectId, message: TaskResult): void {
    const known = task.result?.objectId
    if (known === undefined && this.tasks.storedIn(objectId) !== undefined) {
      this.tasks.change(task, 'resultArrived')
      return this.ends.end(task, 'malformed', 'its object is also the result of another task')
    }
    this.tasks.change(task, 'resultStored')
    if (known !== undefined) {
      if (known !== objectId) this.objects.removeResult(objectId)
      return
    }
    this.tasks.keep(task, storedResult(objectId, message))
    this.ends.rest(task)
    if (message.status === 'failed') return this.#fetch(task)
    const { owner, result } = task
    if (owner === undefined || result === undefined) return
    const { metadata, worker } = result
    this.#turn.act({ type: 'offerResult', owner, taskId: task.id, metadata, worker })
  }

  #fetch(task: TaskRecord<Owner>): void {
    this.tasks.change(task, 'wanted')
    if (task.result !== undefined) this.sender.request(task.result)
  }

  /** `isError`: the result was not stored, and this is the error that says why. */
  #onContent(task: TaskRecord<Owner>, chunks: readonly Uint8Array[], isError = false): void {
    const { owner } = task
    assert(task.result !== undefined, 'content arrived for a task without a stored result')
    const result = isError ? { ...task.result, isSuccess: false } : task.result
    const payload = joined(chunks)
    if (result.isSuccess && isNeeded(task)) {
      this.tasks.change(task, 'contentShared')
      task.owner = undefined
      if (owner === undefined) return
      const about = { owner, taskId: task.id, count: 1 }
      if (payload instanceof ProtocolError)
        endTask(this.#turn, about, { reason: 'malformed', detail: payload.message })
      else finishTask(this.#turn, about, { ...result, payload })
      return
    }
    this.tasks.stopKeeping(task)
    this.tasks.change(task, 'contentArrived')
    this.objects.removeResult(result.objectId)
    if (payload instanceof ProtocolError) this.ends.end(task, 'malformed', payload.message)
    else this.ends.finish(task, { ...result, payload })
  }

  #onContentMissing(task: TaskRecord<Owner>): void {
    if (task.result?.isUnacknowledged === true) return this.sendAgain(task, 'contentLost')
    const id = this.tasks.stopKeeping(task)
    this.tasks.change(task, 'contentMissing')
    this.ends.end(task, 'missingObject', id === undefined ? '' : idToHex(id))
  }
}

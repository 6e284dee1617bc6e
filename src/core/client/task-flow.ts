// What happens to tasks: they are submitted, end, are cancelled, given up, or sent again. Nothing
// here knows of connections; the machine says when there is a scheduler to talk to.
// docs/protocol.md#task

import { assert, unreachable } from '../../base/assert.js'
import { copyOf } from '../../base/bytes.js'
import { earliest } from '../../base/earliest.js'
import { ProtocolError } from '../../base/errors.js'
import { idToHex, type ObjectId, type TaskId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { ObjectResponse, TaskResult } from '../../wire/message.js'
import { joinChunks } from '../../wire/object-content.js'
import type { ClientCoreOptions, TaskEndReason, TaskSubmission } from './events.js'
import { taskCancelMessage } from './messages.js'
import { ObjectTable } from './object-table.js'
import { Sender } from './sender.js'
import { TaskTable, type StoredResult, type TaskRecord } from './task-table.js'
import type { Turn } from './turn.js'

/** What the refusals of a scheduler mean. */
const REFUSALS = {
  canceled: 'dropped',
  notFound: 'notFound',
  workerDied: 'workerDied',
  noWorker: 'noWorker',
} as const

/** What the scheduler can be expected to know when it has answered. */
export interface SchedulerMemory {
  /** It is, as far as can be told, the one that answered last. */
  readonly isSame: boolean
  /** It may be sent a task again that it has already. */
  readonly mayRepeat: boolean
  /** It may have lost, or may have sent into the void, what became of the tasks that it had. */
  readonly isDoubtful: boolean
  /** It understands arguments inside Task messages. */
  readonly mayInline: boolean
}

/** The unfinished tasks of one client, from submission to end. */
export class TaskFlow<Owner> {
  readonly #turn: Turn<Owner>
  readonly #tasks = new TaskTable<Owner>()
  readonly #objects = new ObjectTable()
  readonly sender: Sender<Owner>
  readonly #timeoutMs: number
  /**
   * Tasks that a 1.9.9 scheduler had before a connection was lost, and when they are given up: it
   * cannot be asked about them, nor be sent them again. Invariant: state is 'sent'.
   */
  readonly #doubtful = new Map<TaskRecord<Owner>, InstantMs>()
  /** Whether cancelling may kill what runs: not done to a 1.9.9 worker, which is slow at it. */
  mayForce = true

  constructor(options: ClientCoreOptions, turn: Turn<Owner>) {
    this.#turn = turn
    this.sender = new Sender(options, this.#tasks, this.#objects, turn)
    this.#timeoutMs = options.timeoutMs
  }

  /** Tasks that have not ended. */
  get size(): number {
    return this.#tasks.size
  }

  /** When `sweep` has something to do. */
  get deadline(): InstantMs | undefined {
    if (this.#doubtful.size === 0) return this.#objects.deadline
    const [givenUpAt] = this.#doubtful.values()
    return earliest(givenUpAt, this.#objects.deadline)
  }

  get(id: TaskId): TaskRecord<Owner> | undefined {
    return this.#tasks.get(id)
  }

  /** Oldest first. Tasks may end while iterating. */
  values(): IterableIterator<TaskRecord<Owner>> {
    return this.#tasks.values()
  }

  submit(submission: TaskSubmission<Owner>): void {
    this.sender.submit(submission)
  }

  /** Lets go of what nobody has used, and of what nothing was heard of, for a while. */
  sweep(): void {
    const { now } = this.#turn
    this.#objects.sweep(now)
    for (const [task, givenUpAt] of this.#doubtful) {
      if (givenUpAt > now) break
      const detail = `no result ${this.#timeoutMs} ms after a lost connection`
      this.recall(task)
      this.abandon(task, 'disconnected', detail)
    }
  }

  /** A scheduler has answered on a new connection: all that it may not have is sent to it. */
  resume(memory: SchedulerMemory): void {
    this.sender.start(memory.mayInline)
    for (const task of this.#tasks.values()) {
      if (task.state === 'fetching' && memory.isSame) this.#requestAgain(task)
      else if (task.state !== 'sent' || memory.mayRepeat) this.#sendAgain(task, 'forgotten')
      else if (memory.isDoubtful && !this.#doubtful.has(task)) {
        this.#doubtful.set(task, this.#turn.now + this.#timeoutMs)
      }
    }
  }

  onTaskResult(message: TaskResult): void {
    const task = this.#tasks.get(message.taskId)
    if (task === undefined) {
      // Of a cancelled task, or of a second run.
      for (const id of message.results) this.#objects.removeResult(id)
      return
    }
    switch (message.status) {
      case 'success':
      case 'failed':
        return this.#onResult(task, message)
      case 'canceled':
      case 'notFound':
      case 'workerDied':
      case 'noWorker':
        if (this.#tasks.change(task, 'refused') !== 'ended') return
        return this.#end(task, REFUSALS[message.status], '')
      case 'inactive':
      case 'running':
      case 'canceling':
        return this.#turn.log('warn', 'ignored a result that is none', { status: message.status })
      default:
        unreachable(message.status)
    }
  }

  onObjectResponse(message: ObjectResponse): void {
    const { objectIds, objectBytes } = message.objectContent
    // Lists of unequal length: something is missing, and nobody can tell what.
    const isComplete = message.responseType === 'content' && objectIds.length === objectBytes.length
    for (const [index, id] of objectIds.entries()) {
      const task = this.#tasks.waitingFor(id)
      if (task === undefined) continue
      const chunks = isComplete ? objectBytes[index] : undefined
      if (chunks === undefined) this.#onContentMissing(task)
      else this.#onContent(task, chunks)
    }
  }

  /** Has a scheduler that has a task drop it. Call before `abandon`. */
  recall(task: TaskRecord<Owner>): void {
    if (task.state !== 'sent') return
    this.sender.post(taskCancelMessage(task.taskId, this.mayForce))
  }

  /** Ends a task from this side. */
  abandon(task: TaskRecord<Owner>, reason: TaskEndReason, detail: string): void {
    const objectId = this.#tasks.stopExpecting(task)
    if (objectId !== undefined) this.#objects.removeResult(objectId)
    this.#tasks.change(task, 'givenUp')
    this.#end(task, reason, detail)
  }

  /** Throws if the tables disagree. */
  checkInvariants(): void {
    this.#tasks.checkInvariants()
    this.#objects.checkInvariants()
    this.sender.checkInvariants()
    for (const task of this.#doubtful.keys()) {
      assert(this.#tasks.get(task.taskId) === task, 'a doubtful task that has ended')
      assert(task.state === 'sent', 'a doubtful task that was not sent')
    }
    let uses = 0
    let waiting = 0
    for (const task of this.#tasks.values()) {
      uses += 1 + task.args.filter((argument) => !(argument instanceof Uint8Array)).length
      if (task.state === 'waiting') waiting += 1
    }
    assert(uses === this.#objects.users, 'uses of objects')
    assert(waiting === this.sender.waitingTasks, 'tasks that wait')
  }

  #requestAgain(task: TaskRecord<Owner>): void {
    if (task.result === undefined) return
    task.result.isRepeated = true
    this.sender.request(task.result)
  }

  #sendAgain(task: TaskRecord<Owner>, cause: 'forgotten' | 'contentLost'): void {
    this.#doubtful.delete(task)
    this.#tasks.stopExpecting(task)
    this.#tasks.change(task, cause)
    this.sender.requeue(task)
  }

  #onResult(task: TaskRecord<Owner>, message: TaskResult): void {
    const [payload] = message.inlineResults
    const [objectId] = message.results
    if (payload !== undefined) {
      if (this.#tasks.change(task, 'resultArrived') !== 'ended') return
      this.#finish(task, message.status === 'success', payload, message.metadata)
    } else if (objectId !== undefined) {
      this.#onStored(task, objectId, message)
    } else if (this.#tasks.change(task, 'resultArrived') === 'ended') {
      this.#end(task, 'malformed', 'the scheduler sent a result without content')
    }
  }

  #onStored(task: TaskRecord<Owner>, objectId: ObjectId, message: TaskResult): void {
    const known = task.result?.objectId
    if (known === undefined && this.#tasks.waitingFor(objectId) !== undefined) {
      this.#tasks.change(task, 'resultArrived')
      return this.#end(task, 'malformed', 'its object is the result of another task, too')
    }
    this.#tasks.change(task, 'resultStored')
    if (known !== undefined) {
      if (known !== objectId) this.#objects.removeResult(objectId)
      return
    }
    const isSuccess = message.status === 'success'
    const metadata = copyOf(message.metadata)
    const result: StoredResult = { objectId, isSuccess, metadata, isRepeated: false }
    this.#doubtful.delete(task)
    this.#tasks.expect(task, result)
    this.sender.withdraw(task)
    this.sender.request(result)
  }

  #onContent(task: TaskRecord<Owner>, chunks: readonly Uint8Array[]): void {
    const { result } = task
    assert(result !== undefined, 'content for a task that waits for none')
    this.#tasks.stopExpecting(task)
    this.#tasks.change(task, 'contentArrived')
    this.#objects.removeResult(result.objectId)
    const payload = joined(chunks)
    if (payload instanceof ProtocolError) this.#end(task, 'malformed', payload.message)
    else this.#finish(task, result.isSuccess, payload, result.metadata)
  }

  #onContentMissing(task: TaskRecord<Owner>): void {
    if (task.result?.isRepeated === true) return this.#sendAgain(task, 'contentLost')
    const id = this.#tasks.stopExpecting(task)
    this.#tasks.change(task, 'contentMissing')
    this.#end(task, 'missingObject', id === undefined ? '' : idToHex(id))
  }

  #finish(
    task: TaskRecord<Owner>,
    isSuccess: boolean,
    payload: Uint8Array,
    metadata: Uint8Array,
  ): void {
    this.#forget(task)
    const { owner } = task
    this.#turn.act({ type: 'finishTask', owner, isSuccess, payload, metadata })
  }

  #forget(task: TaskRecord<Owner>): void {
    this.sender.release(task)
    if (this.#doubtful.size > 0) this.#doubtful.delete(task)
  }

  #end(task: TaskRecord<Owner>, reason: TaskEndReason, detail: string): void {
    this.#forget(task)
    this.#turn.endTask(task.owner, reason, detail)
  }
}

function joined(chunks: readonly Uint8Array[]): Uint8Array | ProtocolError {
  try {
    return joinChunks(chunks)
  } catch (error) {
    if (error instanceof ProtocolError) return error
    throw error
  }
}

// Sends everything: puts tasks into messages, sends what a task needs before it, and pauses while
// the transport is full. docs/protocol.md#task

import {
  FEATURE_INLINE,
  FEATURE_RUNS,
  FEATURE_TASK_UPDATES,
  hasFeature,
} from '../../base/features.js'
import { Unconfirmed } from '../../base/heartbeat.js'
import type { SchedulerId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { Message, TaskCancel } from '../../wire/message.js'
import { type ClientCoreOptions, type ClientTurn, send } from './events.js'
import type { SchedulerMemory } from './link.js'
import { createMessage, deleteMessage, requestMessage, taskMessage } from './messages.js'
import type { ClientObject, ClientObjectTable } from './objects.js'
import { ClientOutbox } from './outbox.js'
import type { SharedNames } from './shared.js'
import { TASK_BYTES, type TaskInputs } from './task/inputs.js'
import {
  ResultInput,
  type StoredResult,
  type TaskRecord,
  type ClientTaskTable,
} from './task/task.js'

/** Objects of at least this size are sent in separate messages. */
const LARGE_OBJECT_BYTES = 1024 ** 2

/** The tables that the sender reads. */
interface SenderParts<Owner> {
  readonly tasks: ClientTaskTable<Owner>
  readonly objects: ClientObjectTable
  readonly inputs: TaskInputs<Owner>
  readonly shared: SharedNames<Owner>
}

/** Another source of messages, which are sent while there is room. */
interface MessageSource {
  /** Whether it has a message. */
  readonly hasUnsent: boolean
  /** The number of items that have not been sent completely. */
  readonly unsentCount: number
  /** Sends its messages while `sender.hasCredit`. */
  flush(): void
}

/** Sends the tasks of one client. */
export class Sender<Owner> {
  readonly #options: ClientCoreOptions
  readonly #tasks: ClientTaskTable<Owner>
  readonly #objects: ClientObjectTable
  readonly #inputs: TaskInputs<Owner>
  readonly #turn: ClientTurn<Owner>
  readonly #outbox = new ClientOutbox<Owner>()
  readonly #shared: SharedNames<Owner>
  /** Cancels that wait in the outbox, and those that the scheduler may not have read. */
  readonly #waitingCancels = new Set<TaskCancel>()
  readonly #sentCancels = new Unconfirmed<TaskCancel>()
  #source: MessageSource | undefined
  #features = 0
  #schedulerId: SchedulerId | undefined
  #mayInline = false
  #isExtended = false
  #takesRuns = false

  constructor(options: ClientCoreOptions, parts: SenderParts<Owner>, turn: ClientTurn<Owner>) {
    this.#options = options
    this.#tasks = parts.tasks
    this.#objects = parts.objects
    this.#inputs = parts.inputs
    this.#shared = parts.shared
    this.#turn = turn
  }

  /** The approximate size of tasks that have not been sent, in bytes. */
  get waitingBytes(): number {
    return this.#outbox.taskBytes
  }

  /** The number of tasks that have not been sent. */
  get waitingTasks(): number {
    return this.#outbox.taskCount
  }

  /** The scheduler's features beyond 1.9.9; 0 before its first echo. */
  get features(): number {
    return this.#features
  }

  /** Whether more may be sent before the transport confirms that it has room. */
  get hasCredit(): boolean {
    return this.#outbox.hasCredit
  }

  /** Whether nothing except tasks waits to be sent. */
  get isQuiet(): boolean {
    return this.#outbox.messageCount === 0 && !this.#objects.hasRemovals
  }

  /** The number of unsent tasks and other items. */
  get unsentCount(): number {
    return this.#outbox.taskCount + (this.#source?.unsentCount ?? 0)
  }

  /** Whether the scheduler accepts tasks now. */
  get hasRoom(): boolean {
    return this.#outbox.hasRoom
  }

  /** Whether the scheduler has reported a limit. */
  get isBounded(): boolean {
    return this.#outbox.isBounded
  }

  /** Adds the graphs, which have more to send than a list of messages can hold. */
  addSource(source: MessageSource): void {
    this.#source = source
  }

  /** A task waits to be sent, at the end of the queue. */
  enqueue(task: TaskRecord<Owner>): void {
    this.#outbox.removeTask(task)
    this.#outbox.addTask(task)
  }

  /** The end of a record was cut off. */
  onCut(task: TaskRecord<Owner>, rest: TaskRecord<Owner>): void {
    this.#outbox.onCut(task, rest, TASK_BYTES + task.inlineBytes)
  }

  /** A task must not be sent after all. */
  withdraw(task: TaskRecord<Owner>): void {
    this.#outbox.removeTask(task)
  }

  /** A waiting task was refused: the scheduler had no room for it. */
  holdBack(task: TaskRecord<Owner>): void {
    this.#outbox.returnTask(task)
  }

  /** How many more tasks the scheduler accepts, until its next report. */
  setRoom(tasks: number): void {
    this.#outbox.setRoom(tasks)
  }

  /** Counts something that is sent against the limit of tasks. */
  spendRoom(): void {
    this.#outbox.spendRoom()
  }

  /** Queues a message that is sent before all waiting tasks. */
  post(message: Message): void {
    this.#outbox.addMessage(message)
  }

  /**
   * Queues the cancel of a task that is never sent again. If it may have been lost with its
   * connection, it is repeated on the next one.
   */
  cancel(message: TaskCancel): void {
    this.#waitingCancels.add(message)
    this.post(message)
  }

  /** The scheduler has read everything that was sent before this time. */
  confirm(sentBefore: InstantMs): void {
    this.#objects.confirmRemovals(sentBefore)
    this.#sentCancels.confirm(sentBefore)
  }

  /** Sends a message of about this many bytes immediately. Only while `hasCredit`. */
  send(message: Message, bytes: number): void {
    send(this.#turn, message)
    this.#outbox.spend(bytes)
  }

  /** Requests the object that contains a task's result. */
  request(result: StoredResult): void {
    this.post(requestMessage(result.objectId))
  }

  /** The transport has room again. */
  onWritable(): void {
    this.#outbox.grantCredit()
  }

  /** There is a new connection, over which nothing was sent yet. */
  onConnected(): void {
    this.#outbox.grantCredit()
    this.#outbox.dropRequests()
    for (const cancel of this.#sentCancels.takeAll()) this.cancel(cancel)
    this.#objects.repeatRemovals((id) => this.#tasks.storedIn(id) !== undefined)
  }

  /** The scheduler is ready: sends it the serializer; tasks follow with the next `flush`. */
  start({ features, schedulerId, isSame }: SchedulerMemory): void {
    const { identity, serializer } = this.#options
    // A different scheduler knows nothing of what was cancelled or deleted.
    if (!isSame) {
      this.#outbox.dropMessages()
      this.#waitingCancels.clear()
      this.#sentCancels.takeAll()
      this.#objects.forgetRemovals()
    }
    this.#outbox.setRoom(undefined)
    this.#schedulerId = schedulerId
    this.#features = features
    this.#mayInline = hasFeature(features, FEATURE_INLINE)
    this.#isExtended = hasFeature(features, FEATURE_TASK_UPDATES)
    this.#takesRuns = hasFeature(features, FEATURE_RUNS)
    this.#objects.forgetSent()
    send(this.#turn, createMessage(identity, 'serializer', [serializer]))
    this.#shared.resume(features)
  }

  /**
   * Sends what may be sent: messages immediately, tasks when they fill a packet or if
   * `isRequested`, that is, on `writable`. Call only while the connection is open.
   */
  flush(isRequested: boolean): void {
    const outbox = this.#outbox
    while (outbox.hasCredit) {
      const message = outbox.takeMessage()
      if (message === undefined) break
      if (message.kind === 'taskCancel' && this.#waitingCancels.delete(message)) {
        this.#sentCancels.add(message, this.#turn.now)
      }
      this.send(message, 0)
    }
    if (isRequested || outbox.hasBatch) this.#sendTasks()
    const hasMore = this.#hasRemovals || this.#objects.hasFresh || this.#shared.hasUnsent
    const when = outbox.requestFlush(hasMore || this.#source?.hasUnsent === true)
    if (when !== undefined) this.#turn.act({ type: 'requestFlush', when })
  }

  /** Whether the scheduler must be notified of deletions now. */
  get #hasRemovals(): boolean {
    return this.#objects.hasRemovals && !this.#shared.isWaiting
  }

  /** Sends what other clients are to find: this client leaves. */
  sendUnpublished(): void {
    this.sendObjects(this.#objects.names.unpublished)
  }

  /** Sends those of the objects that the scheduler does not have. */
  sendObjects(objects: Iterable<ClientObject>): void {
    const unsent: ClientObject[] = []
    for (const object of objects) this.#collectUnsent(object, unsent)
    this.#sendUnsent(unsent)
  }

  /** A message that deletes everything this client may have in the scheduler. */
  deleteEverything(): Message {
    const ids = [this.#options.serializer.id, ...this.#objects.takeAll()]
    for (const { result } of this.#tasks.values()) {
      if (result !== undefined) ids.push(result.objectId)
    }
    return deleteMessage(this.#options.identity, ids)
  }

  /** Throws if the tables disagree. */
  checkInvariants(): void {
    this.#outbox.checkInvariants()
  }

  #sendTasks(): void {
    const outbox = this.#outbox
    // First, because objects that are deleted here might be created again.
    if (outbox.hasCredit && this.#hasRemovals) {
      this.send(deleteMessage(this.#options.identity, this.#objects.takeRemovals()), 0)
    }
    if (this.#source?.hasUnsent === true) this.#source.flush()
    while (outbox.hasCredit) {
      this.#cutNext()
      const task = outbox.takeTask()
      if (task === undefined) break
      this.#sendTask(task)
    }
    // After the tasks, which are sent together with the objects that they need.
    while (outbox.hasCredit && this.#objects.hasFresh) this.#sendFresh()
    if (outbox.hasCredit && this.#shared.hasUnsent) this.#shared.flush()
  }

  /** A run is sent as far as the scheduler accepts it: as single tasks if it knows no runs. */
  #cutNext(): void {
    const task = this.#outbox.nextTask
    if (task === undefined || task.count === 1) return
    const most = this.#takesRuns ? this.#outbox.room : 1
    if (most < task.count) this.#tasks.cut(task, most)
  }

  #sendTask(task: TaskRecord<Owner>): void {
    const { identity } = this.#options
    if (!this.#takesRuns) this.#inputs.unpack(task)
    if (!this.#mayInline) this.#inputs.outsourceAll(task)
    this.#sendObjectsOf(task)
    this.#tasks.change(task, 'taskSent')
    task.firstSentTo ??= this.#schedulerId
    const mayHaveRun = task.firstSentTo !== this.#schedulerId
    const form = { isExtended: this.#isExtended, mayHaveRun }
    this.send(taskMessage(identity, task, form), TASK_BYTES + task.inlineBytes)
  }

  #sendObjectsOf(task: TaskRecord<Owner>): void {
    const unsent: ClientObject[] = []
    this.#collectUnsent(task.function, unsent)
    for (const argument of task.args) {
      if (argument instanceof Uint8Array || argument instanceof ResultInput) continue
      this.#collectUnsent(argument, unsent)
    }
    if (unsent.length > 0) this.#sendUnsent(unsent)
  }

  #sendFresh(): void {
    const object = this.#objects.takeFresh()
    if (object !== undefined) this.sendObjects([object])
  }

  #sendUnsent(unsent: readonly ClientObject[]): void {
    // Large ones one by one: together they might exceed the maximum size of a message.
    const small = unsent.filter(({ value }) => value.content.byteLength < LARGE_OBJECT_BYTES)
    if (small.length > 0) this.#sendCreate(small)
    for (const object of unsent) {
      if (object.value.content.byteLength >= LARGE_OBJECT_BYTES) this.#sendCreate([object])
    }
  }

  #sendCreate(objects: readonly ClientObject[]): void {
    const values = objects.map((object) => object.value)
    send(this.#turn, createMessage(this.#options.identity, 'object', values))
    this.#shared.publish(objects)
    for (const value of values) this.#outbox.spend(value.content.byteLength)
  }

  #collectUnsent(object: ClientObject, unsent: ClientObject[]): void {
    if (this.#objects.isSent(object)) return
    this.#objects.markSent(object)
    unsent.push(object)
  }
}

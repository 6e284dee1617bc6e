// Sends everything: puts tasks into messages, sends what a task needs before it, and pauses while
// the transport is full. docs/protocol.md#task

import { assert } from '../../base/assert.js'
import { FEATURE_INLINE, FEATURE_TASK_UPDATES, hasFeature } from '../../base/features.js'
import { Fifo } from '../../base/fifo.js'
import type { SchedulerId } from '../../base/ids.js'
import type { Message } from '../../wire/message.js'
import { type ClientCoreOptions, type ClientTurn, send } from './events.js'
import type { SchedulerMemory } from './link.js'
import { createMessage, deleteMessage, requestMessage, taskMessage } from './messages.js'
import type { ClientObject, ClientObjectTable } from './objects.js'
import { TASK_BYTES, type TaskInputs } from './task/inputs.js'
import {
  ResultInput,
  type StoredResult,
  type TaskRecord,
  type ClientTaskTable,
} from './task/task.js'

// The queue of unsent tasks and messages. It is here rather than in the transport so that an unsent
// task can be cancelled without a trace, sent over another connection, or sent to another kind of
// scheduler.

/** How much may be sent before the transport must confirm again that it has room, in bytes. */
const SLICE_BYTES = 1024 ** 2
/** Tasks wait until the end of the turn, unless there are this many bytes of them. */
const BATCH_BYTES = 64 * 1024
/** The approximate size of a message without its contents. */
const MESSAGE_BYTES = 64

/** Tasks, and messages that are sent before them. */
export class ClientOutbox<Owner> {
  readonly #tasks = new Fifo<TaskRecord<Owner>>()
  /** Tasks for which the scheduler had no room. They are sent first. */
  readonly #returned = new Fifo<TaskRecord<Owner>>()
  readonly #messages = new Fifo<Message>()
  #credit = SLICE_BYTES
  #taskBytes = 0
  #isFlushRequested = false
  /** How many more tasks the scheduler accepts; undefined: it has not reported a limit. */
  #room: number | undefined

  /** The approximate size of the waiting tasks, in bytes. */
  get taskBytes(): number {
    return this.#taskBytes
  }

  get taskCount(): number {
    return this.#tasks.size + this.#returned.size
  }

  get messageCount(): number {
    return this.#messages.size
  }

  /** Whether more may be sent before the transport confirms that it has room. */
  get hasCredit(): boolean {
    return this.#credit > 0
  }

  /** Whether the scheduler accepts tasks. */
  get hasRoom(): boolean {
    return this.#room !== 0
  }

  /** Whether the scheduler has reported a limit. */
  get isBounded(): boolean {
    return this.#room !== undefined
  }

  /** Whether enough tasks wait to fill a packet. */
  get hasBatch(): boolean {
    return this.hasRoom && this.#taskBytes >= BATCH_BYTES
  }

  addTask(task: TaskRecord<Owner>): void {
    task.place = this.#tasks.push(task)
    this.#taskBytes += task.messageBytes
  }

  /** A task waits again because the scheduler had no room; it will report when it has. */
  returnTask(task: TaskRecord<Owner>): void {
    this.removeTask(task)
    task.place = this.#returned.push(task)
    this.#taskBytes += task.messageBytes
    this.#room = 0
  }

  /** How many more tasks the scheduler accepts; undefined: no limit is known. */
  setRoom(tasks: number | undefined): void {
    this.#room = tasks
  }

  /** Counts something that is sent against the limit of tasks. */
  spendRoom(): void {
    if (this.#room !== undefined && this.#room > 0) this.#room -= 1
  }

  /** Removes a task that must not be sent. */
  removeTask(task: TaskRecord<Owner>): void {
    if (task.place === undefined) return
    task.place.queue?.remove(task.place)
    task.place = undefined
    this.#taskBytes -= task.messageBytes
  }

  /** Removes and returns the next task; undefined also while the scheduler accepts none. */
  takeTask(): TaskRecord<Owner> | undefined {
    if (!this.hasRoom) return undefined
    const task = this.#returned.first ?? this.#tasks.first
    if (task === undefined) return undefined
    this.removeTask(task)
    this.spendRoom()
    return task
  }

  addMessage(message: Message): void {
    this.#messages.push(message)
  }

  /** Removes and returns the next message. */
  takeMessage(): Message | undefined {
    return this.#messages.shift()
  }

  /**
   * A connection was lost. Only cancels still apply: other requests are repeated or no longer
   * needed.
   */
  dropRequests(): void {
    for (let left = this.#messages.size; left > 0; left -= 1) {
      const message = this.#messages.shift()
      if (message?.kind === 'taskCancel' || message?.kind === 'graphTaskCancel') {
        this.#messages.push(message)
      }
    }
  }

  /** Drops everything except tasks. */
  dropMessages(): void {
    while (this.#messages.shift() !== undefined);
  }

  /** Something was sent: about `contentBytes`, plus the size of an empty message. */
  spend(contentBytes: number): void {
    this.#credit -= contentBytes + MESSAGE_BYTES
  }

  /** The transport has room. */
  grantCredit(): void {
    this.#credit = SLICE_BYTES
    this.#isFlushRequested = false
  }

  /**
   * When to request `writable`, if anything waits (here or, with `hasMore`, elsewhere) and it has
   * not been requested. It counts as requested.
   */
  requestFlush(hasMore: boolean): 'soon' | 'nextTurn' | undefined {
    const hasTasks = this.hasRoom && this.taskCount > 0
    const isEmpty = !hasTasks && this.#messages.size === 0 && !hasMore
    if (isEmpty || this.#isFlushRequested) return undefined
    this.#isFlushRequested = true
    return this.hasCredit ? 'soon' : 'nextTurn'
  }

  /** Throws if the outbox is inconsistent. */
  checkInvariants(): void {
    let bytes = 0
    for (const queue of [this.#returned, this.#tasks]) {
      for (const task of queue) {
        assert(
          task.state === 'waiting' && task.place?.queue === queue,
          'a queued task has the wrong state or queue',
        )
        bytes += task.messageBytes
      }
    }
    assert(bytes === this.#taskBytes, 'the size of waiting tasks is wrong')
  }
}

/** Objects of at least this size are sent in separate messages. */
const LARGE_OBJECT_BYTES = 1024 ** 2

/** The tables that the sender reads. */
interface SenderParts<Owner> {
  readonly tasks: ClientTaskTable<Owner>
  readonly objects: ClientObjectTable
  readonly inputs: TaskInputs<Owner>
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
  #source: MessageSource | undefined
  #features = 0
  #schedulerId: SchedulerId | undefined
  #mayInline = false
  #isExtended = false

  constructor(options: ClientCoreOptions, parts: SenderParts<Owner>, turn: ClientTurn<Owner>) {
    this.#options = options
    this.#tasks = parts.tasks
    this.#objects = parts.objects
    this.#inputs = parts.inputs
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
  }

  /** The scheduler is ready: sends it the serializer; tasks follow with the next `flush`. */
  start({ features, schedulerId, isSame }: SchedulerMemory): void {
    const { identity, serializer } = this.#options
    // A different scheduler knows nothing of what was cancelled or deleted.
    if (!isSame) {
      this.#outbox.dropMessages()
      this.#objects.takeRemovals()
    }
    this.#outbox.setRoom(undefined)
    this.#schedulerId = schedulerId
    this.#features = features
    this.#mayInline = hasFeature(features, FEATURE_INLINE)
    this.#isExtended = hasFeature(features, FEATURE_TASK_UPDATES)
    this.#objects.forgetSent()
    send(this.#turn, createMessage(identity, 'serializer', [serializer]))
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
      this.send(message, 0)
    }
    if (isRequested || outbox.hasBatch) this.#sendTasks()
    const hasMore = this.#objects.hasRemovals || this.#objects.hasFresh
    const when = outbox.requestFlush(hasMore || this.#source?.hasUnsent === true)
    if (when !== undefined) this.#turn.act({ type: 'requestFlush', when })
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
    if (outbox.hasCredit && this.#objects.hasRemovals) {
      this.send(deleteMessage(this.#options.identity, this.#objects.takeRemovals()), 0)
    }
    if (this.#source?.hasUnsent === true) this.#source.flush()
    while (outbox.hasCredit) {
      const task = outbox.takeTask()
      if (task === undefined) break
      this.#sendTask(task)
    }
    // After the tasks, which are sent together with the objects that they need.
    while (outbox.hasCredit && this.#objects.hasFresh) this.#sendFresh()
  }

  #sendTask(task: TaskRecord<Owner>): void {
    const { identity } = this.#options
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
    for (const value of values) this.#outbox.spend(value.content.byteLength)
  }

  #collectUnsent(object: ClientObject, unsent: ClientObject[]): void {
    if (this.#objects.isSent(object)) return
    this.#objects.markSent(object)
    unsent.push(object)
  }
}

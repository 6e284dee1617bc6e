// The way out: puts tasks into messages, sees to it that what a task needs is sent before it, and
// stops while the transport is full. docs/protocol.md#task

import { assert } from '../../base/assert.js'
import { FEATURE_INLINE, FEATURE_TASK_UPDATES, hasFeature } from '../../base/features.js'
import { Fifo } from '../../base/fifo.js'
import type { SchedulerId } from '../../base/ids.js'
import type { Message } from '../../wire/message.js'
import { type ClientCoreOptions, type ClientTurn, send } from './events.js'
import type { SchedulerMemory } from './link.js'
import { createMessage, deleteMessage, requestMessage, taskMessage } from './messages.js'
import type { ClientObject, ObjectTable } from './objects.js'
import { TASK_BYTES, type TaskInputs } from './task/inputs.js'
import { ResultInput, type StoredResult, type TaskRecord, type TaskTable } from './task/task.js'

// What waits to be sent, in order. The core keeps it, not the transport: a task that was not sent
// can be cancelled without a trace, sent over another connection, or sent to another kind of
// scheduler.

/** How much may be sent before the transport must be asked again whether it has room, in bytes. */
const SLICE_BYTES = 1024 ** 2
/** Tasks wait for the end of the turn, unless there are this many bytes of them. */
const BATCH_BYTES = 64 * 1024
/** Roughly what a message takes beside its contents. */
const MESSAGE_BYTES = 64

/** Tasks, and messages that go before them. */
export class Outbox<Owner> {
  readonly #tasks = new Fifo<TaskRecord<Owner>>()
  /** Tasks that the scheduler had no room for. They go first. */
  readonly #returned = new Fifo<TaskRecord<Owner>>()
  readonly #messages = new Fifo<Message>()
  #credit = SLICE_BYTES
  #taskBytes = 0
  #isFlushRequested = false
  /** How many tasks the scheduler has room for; undefined: it has not said that it has too many. */
  #room: number | undefined

  /** Roughly what the waiting tasks take, in bytes. */
  get taskBytes(): number {
    return this.#taskBytes
  }

  get taskCount(): number {
    return this.#tasks.size + this.#returned.size
  }

  get messageCount(): number {
    return this.#messages.size
  }

  /** Whether the transport may be given more before it is asked again. */
  get hasCredit(): boolean {
    return this.#credit > 0
  }

  /** Whether the scheduler takes tasks. */
  get hasRoom(): boolean {
    return this.#room !== 0
  }

  /** Whether the scheduler bounds what it is sent. */
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

  /** A task waits again that the scheduler had no room for: it will say when it has. */
  returnTask(task: TaskRecord<Owner>): void {
    this.removeTask(task)
    task.place = this.#returned.push(task)
    this.#taskBytes += task.messageBytes
    this.#room = 0
  }

  /** How many tasks the scheduler has room for; undefined: any number, as far as is known. */
  setRoom(tasks: number | undefined): void {
    this.#room = tasks
  }

  /** Something is sent that takes the room of a task. */
  spendRoom(): void {
    if (this.#room !== undefined && this.#room > 0) this.#room -= 1
  }

  /** Takes a task out that is not to be sent. */
  removeTask(task: TaskRecord<Owner>): void {
    if (task.place === undefined) return
    task.place.queue?.remove(task.place)
    task.place = undefined
    this.#taskBytes -= task.messageBytes
  }

  /** Removes and returns the next task; undefined also while there is no room for it. */
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

  /** A connection was lost. Only cancels are still meant: the rest is asked again, or needless. */
  dropRequests(): void {
    for (let left = this.#messages.size; left > 0; left -= 1) {
      const message = this.#messages.shift()
      if (message?.kind === 'taskCancel' || message?.kind === 'graphTaskCancel') {
        this.#messages.push(message)
      }
    }
  }

  /** Drops what waits but tasks. */
  dropMessages(): void {
    while (this.#messages.shift() !== undefined);
  }

  /** Something was sent that takes about `contentBytes` and what every message takes. */
  spend(contentBytes: number): void {
    this.#credit -= contentBytes + MESSAGE_BYTES
  }

  /** The transport has room. */
  grantCredit(): void {
    this.#credit = SLICE_BYTES
    this.#isFlushRequested = false
  }

  /**
   * When `writable` has to be asked for, if anything waits (here or, as the caller says,
   * elsewhere) and it has not been asked for. It counts as asked.
   */
  requestFlush(hasMore: boolean): 'soon' | 'nextTurn' | undefined {
    const hasTasks = this.hasRoom && this.taskCount > 0
    const isEmpty = !hasTasks && this.#messages.size === 0 && !hasMore
    if (isEmpty || this.#isFlushRequested) return undefined
    this.#isFlushRequested = true
    return this.hasCredit ? 'soon' : 'nextTurn'
  }

  /** Throws if the outbox disagrees with itself. */
  checkInvariants(): void {
    let bytes = 0
    for (const queue of [this.#returned, this.#tasks]) {
      for (const task of queue) {
        assert(task.state === 'waiting' && task.place?.queue === queue, 'sent and to be sent')
        bytes += task.messageBytes
      }
    }
    assert(bytes === this.#taskBytes, 'bytes that wait')
  }
}

/** Objects from this size on are sent in a message of their own. */
const LARGE_OBJECT_BYTES = 1024 ** 2

/** What the sender takes from. */
interface SenderParts<Owner> {
  readonly tasks: TaskTable<Owner>
  readonly objects: ObjectTable
  readonly inputs: TaskInputs<Owner>
}

/** Something else that has messages to send, as long as there is room. */
interface MessageSource {
  /** Whether it has a message. */
  readonly hasUnsent: boolean
  /** How much has not been sent, or not all of it. */
  readonly unsentCount: number
  /** Sends what it has, for as long as `sender.hasCredit`. */
  flush(): void
}

/** Sends the tasks of one client. */
export class Sender<Owner> {
  readonly #options: ClientCoreOptions
  readonly #tasks: TaskTable<Owner>
  readonly #objects: ObjectTable
  readonly #inputs: TaskInputs<Owner>
  readonly #turn: ClientTurn<Owner>
  readonly #outbox = new Outbox<Owner>()
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

  /** Roughly what the tasks that have not been sent take, in bytes. */
  get waitingBytes(): number {
    return this.#outbox.taskBytes
  }

  /** Tasks that have not been sent. */
  get waitingTasks(): number {
    return this.#outbox.taskCount
  }

  /** What the scheduler understands beyond 1.9.9; 0 before it has said so. */
  get features(): number {
    return this.#features
  }

  /** Whether the transport may be given more. */
  get hasCredit(): boolean {
    return this.#outbox.hasCredit
  }

  /** Whether nothing but tasks waits to be sent. */
  get isQuiet(): boolean {
    return this.#outbox.messageCount === 0 && !this.#objects.hasRemovals
  }

  /** Tasks that have not been sent, and other things. */
  get unsentCount(): number {
    return this.#outbox.taskCount + (this.#source?.unsentCount ?? 0)
  }

  /** Whether the scheduler takes tasks now. */
  get hasRoom(): boolean {
    return this.#outbox.hasRoom
  }

  /** Whether the scheduler bounds what it is sent. */
  get isBounded(): boolean {
    return this.#outbox.isBounded
  }

  /** The graphs, which have more to send than fits into a list of messages. */
  addSource(source: MessageSource): void {
    this.#source = source
  }

  /** A task waits to be sent, at the end of the queue. */
  enqueue(task: TaskRecord<Owner>): void {
    this.#outbox.removeTask(task)
    this.#outbox.addTask(task)
  }

  /** A task is not to be sent after all. */
  withdraw(task: TaskRecord<Owner>): void {
    this.#outbox.removeTask(task)
  }

  /** A task, which waits, was refused: there was no room for it. */
  holdBack(task: TaskRecord<Owner>): void {
    this.#outbox.returnTask(task)
  }

  /** How many tasks the scheduler has room for, until it says so again. */
  setRoom(tasks: number): void {
    this.#outbox.setRoom(tasks)
  }

  /** Something is sent that takes the room of a task. */
  spendRoom(): void {
    this.#outbox.spendRoom()
  }

  /** A message that goes before all tasks that wait. */
  post(message: Message): void {
    this.#outbox.addMessage(message)
  }

  /** Sends a message of about this many bytes now. Only while `hasCredit`. */
  send(message: Message, bytes: number): void {
    send(this.#turn, message)
    this.#outbox.spend(bytes)
  }

  /** Asks for the object that a task's result is in. */
  request(result: StoredResult): void {
    this.post(requestMessage(result.objectId))
  }

  /** The transport has room again. */
  onWritable(): void {
    this.#outbox.grantCredit()
  }

  /** A connection is there, with nothing in it yet. */
  onConnected(): void {
    this.#outbox.grantCredit()
    this.#outbox.dropRequests()
  }

  /** The scheduler is ready: sends it the serializer; tasks follow with the next `flush`. */
  start({ features, schedulerId, isSame }: SchedulerMemory): void {
    const { identity, serializer } = this.#options
    // Another one knows nothing of what was cancelled or deleted.
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
   * Sends what may be sent: messages at once, tasks when they fill a packet or when `isAsked`,
   * that is, in answer to `writable`. Call only while the connection is open.
   */
  flush(isAsked: boolean): void {
    const outbox = this.#outbox
    while (outbox.hasCredit) {
      const message = outbox.takeMessage()
      if (message === undefined) break
      this.send(message, 0)
    }
    if (isAsked || outbox.hasBatch) this.#sendTasks()
    const hasMore = this.#objects.hasRemovals || this.#objects.hasFresh
    const when = outbox.requestFlush(hasMore || this.#source?.hasUnsent === true)
    if (when !== undefined) this.#turn.act({ type: 'requestFlush', when })
  }

  /** Sends those of some objects that the scheduler does not have. */
  sendObjects(objects: Iterable<ClientObject>): void {
    const unsent: ClientObject[] = []
    for (const object of objects) this.#collectUnsent(object, unsent)
    this.#sendUnsent(unsent)
  }

  /** Everything this client may have in the scheduler, as a message that deletes it. */
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
    // Before anything else: what is deleted here might be created again.
    if (outbox.hasCredit && this.#objects.hasRemovals) {
      this.send(deleteMessage(this.#options.identity, this.#objects.takeRemovals()), 0)
    }
    if (this.#source?.hasUnsent === true) this.#source.flush()
    while (outbox.hasCredit) {
      const task = outbox.takeTask()
      if (task === undefined) break
      this.#sendTask(task)
    }
    // After the tasks: those take along what they need.
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
    // Large ones one by one: together they might be longer than a message may be.
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

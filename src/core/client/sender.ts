// The way out: puts tasks into messages, sees to it that what a task needs is sent before it, and
// stops while the transport is full. docs/protocol.md#task

import type { Message } from '../../wire/message.js'
import { argumentName } from '../../wire/object-content.js'
import type { ClientCoreOptions, StoredValue, TaskSubmission } from './events.js'
import { createMessage, deleteMessage, requestMessage, taskMessage } from './messages.js'
import type { ClientObject, ObjectTable } from './object-table.js'
import { Outbox } from './outbox.js'
import type { StoredResult, TaskRecord, TaskTable } from './task-table.js'
import type { Turn } from './turn.js'

/** Roughly what a Task message takes beside its arguments, in bytes. */
const TASK_BYTES = 160
/** Objects from this size on are sent in a message of their own. */
const LARGE_OBJECT_BYTES = 1024 ** 2

/** Sends the tasks of one client. */
export class Sender<Owner> {
  readonly #options: ClientCoreOptions
  readonly #tasks: TaskTable<Owner>
  readonly #objects: ObjectTable
  readonly #turn: Turn<Owner>
  readonly #outbox = new Outbox<Owner>()
  /** Argument bytes that unfinished tasks hold beside those in objects. */
  #argumentBytes = 0
  #mayInline = false

  constructor(
    options: ClientCoreOptions,
    tasks: TaskTable<Owner>,
    objects: ObjectTable,
    turn: Turn<Owner>,
  ) {
    this.#options = options
    this.#tasks = tasks
    this.#objects = objects
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

  /** What the arguments of unfinished tasks take, in bytes. Shared ones count once. */
  get heldBytes(): number {
    return this.#argumentBytes + this.#objects.usedBytes
  }

  /** Takes a task in. It is sent with the next `flush` that may send it. */
  submit(submission: TaskSubmission<Owner>): void {
    const totalBytes = inlineBytesOf(submission.args)
    const isSmall = totalBytes <= this.#options.inlineLimitBytes
    const given = isSmall ? submission.args : this.#outsource(submission.args, false)
    const inlineBytes = isSmall ? totalBytes : inlineBytesOf(given)
    const args = this.#withAttachments(given, submission.attachments)
    const task: TaskRecord<Owner> = {
      taskId: submission.taskId,
      owner: submission.owner,
      flags: submission.flags,
      function: this.#objects.use(submission.function, 'function'),
      args,
      inlineBytes,
      messageBytes: TASK_BYTES + totalBytes,
      state: 'waiting',
      place: undefined,
      result: undefined,
    }
    this.#argumentBytes += inlineBytes
    this.#tasks.add(task)
    this.#outbox.addTask(task)
  }

  /** A task is not to be sent after all. */
  withdraw(task: TaskRecord<Owner>): void {
    this.#outbox.removeTask(task)
  }

  /** A task has ended: what it holds is let go. */
  release(task: TaskRecord<Owner>): void {
    const { now } = this.#turn
    this.#outbox.removeTask(task)
    this.#argumentBytes -= task.inlineBytes
    this.#objects.release(task.function, now)
    for (const argument of task.args) {
      if (!(argument instanceof Uint8Array)) this.#objects.release(argument, now)
    }
  }

  /** A message that goes before all tasks that wait. */
  post(message: Message): void {
    this.#outbox.addMessage(message)
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
  start(mayInline: boolean): void {
    const { identity, serializer } = this.#options
    this.#mayInline = mayInline
    this.#objects.forgetSent()
    this.#turn.send(createMessage(identity, 'serializer', [serializer]))
  }

  /** A task is sent again; called for all waiting tasks in order of submission. */
  requeue(task: TaskRecord<Owner>): void {
    this.#outbox.removeTask(task)
    this.#outbox.addTask(task)
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
      this.#turn.send(message)
      outbox.spend(0)
    }
    if (isAsked || outbox.hasBatch) this.#sendTasks()
    const when = outbox.requestFlush(this.#objects.hasRemovals)
    if (when !== undefined) this.#turn.act({ type: 'requestFlush', when })
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
    // Before any task: what is deleted here might be created again for it.
    if (outbox.hasCredit && this.#objects.hasRemovals) {
      const ids = this.#objects.takeRemovals()
      this.#turn.send(deleteMessage(this.#options.identity, ids))
      outbox.spend(0)
    }
    while (outbox.hasCredit) {
      const task = outbox.takeTask()
      if (task === undefined) break
      this.#sendTask(task)
    }
  }

  #sendTask(task: TaskRecord<Owner>): void {
    const { identity } = this.#options
    if (!this.#mayInline) this.#outsourceAll(task)
    this.#sendObjects(task)
    this.#tasks.change(task, 'taskSent')
    this.#turn.send(taskMessage(identity, task))
    this.#outbox.spend(TASK_BYTES + task.inlineBytes)
  }

  #sendObjects(task: TaskRecord<Owner>): void {
    const unsent: ClientObject[] = []
    this.#collectUnsent(task.function, unsent)
    for (const argument of task.args) {
      if (!(argument instanceof Uint8Array)) this.#collectUnsent(argument, unsent)
    }
    // Large ones one by one: together they might be longer than a message may be.
    const small = unsent.filter(({ value }) => value.content.byteLength < LARGE_OBJECT_BYTES)
    if (small.length > 0) this.#sendCreate(small)
    for (const object of unsent) if (!small.includes(object)) this.#sendCreate([object])
  }

  #sendCreate(objects: readonly ClientObject[]): void {
    const values = objects.map((object) => object.value)
    this.#turn.send(createMessage(this.#options.identity, 'object', values))
    for (const value of values) this.#outbox.spend(value.content.byteLength)
  }

  #collectUnsent(object: ClientObject, unsent: ClientObject[]): void {
    if (this.#objects.isSent(object)) return
    this.#objects.markSent(object)
    unsent.push(object)
  }

  #withAttachments(
    args: readonly (Uint8Array | ClientObject)[],
    attachments: readonly StoredValue[],
  ): readonly (Uint8Array | ClientObject)[] {
    if (attachments.length === 0) return args
    return [...args, ...attachments.map((value) => this.#objects.use(value, 'attachment'))]
  }

  #outsourceAll(task: TaskRecord<Owner>): void {
    task.args = this.#outsource(task.args, true)
    this.#argumentBytes -= task.inlineBytes
    task.inlineBytes = 0
  }

  /** Turns arguments into objects: those over the limit, or all. */
  #outsource(
    args: readonly (Uint8Array | ClientObject)[],
    isForAll: boolean,
  ): (Uint8Array | ClientObject)[] {
    const limit = this.#options.inlineLimitBytes
    return args.map((argument) => {
      if (!(argument instanceof Uint8Array)) return argument
      if (!isForAll && argument.byteLength <= limit) return argument
      const id = this.#options.objectIdOf(argument)
      return this.#objects.use({ id, name: argumentName('', id), content: argument }, 'argument')
    })
  }
}

function inlineBytesOf(args: readonly (Uint8Array | ClientObject)[]): number {
  let bytes = 0
  for (const argument of args) {
    if (argument instanceof Uint8Array) bytes += argument.byteLength
  }
  return bytes
}

// What waits to be sent, in order. The core keeps it, not the transport: a task that was not sent
// can be cancelled without a trace, sent over another connection, or sent to another kind of
// scheduler.

import { assert } from '../../base/assert.js'
import { Fifo } from '../../base/fifo.js'
import type { Message } from '../../wire/message.js'
import type { TaskRecord } from './task-record.js'

/** So much may be sent before the transport has to be asked again whether it has room, in bytes. */
const SLICE_BYTES = 1024 ** 2
/** Tasks wait for the end of the turn, but not when there are so many, in bytes. */
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

  /** The scheduler has room for so many tasks; undefined: for any number, as far as is known. */
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

  /** The task that is to be sent next; it leaves. Undefined also while there is no room for it. */
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

  /** The message that is to be sent next; it leaves. */
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

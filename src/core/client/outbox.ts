// The queue of unsent tasks and messages. It is here rather than in the transport so that an unsent
// task can be cancelled without a trace, sent over another connection, or sent to another kind of
// scheduler.

import { assert } from '../../base/assert.js'
import { Fifo } from '../../base/collection/fifo.js'
import type { Message } from '../../wire/message.js'
import type { TaskRecord } from './task/task.js'

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
  #taskCount = 0
  #isFlushRequested = false
  /** How many more tasks the scheduler accepts; undefined: it has not reported a limit. */
  #room: number | undefined

  /** The approximate size of the waiting tasks, in bytes. */
  get taskBytes(): number {
    return this.#taskBytes
  }

  get taskCount(): number {
    return this.#taskCount
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
    this.#taskCount += task.count
    this.#taskBytes += task.messageBytes
  }

  /** The end of a record was cut off, with all bytes of its message that are not its own. */
  onCut(task: TaskRecord<Owner>, rest: TaskRecord<Owner>, messageBytes: number): void {
    const { place } = task
    if (place?.queue !== undefined) {
      rest.place = place.queue.insertAfter(rest, place)
      this.#taskBytes += messageBytes + rest.messageBytes - task.messageBytes
    }
    task.messageBytes = messageBytes
  }

  /** A task waits again because the scheduler had no room; it will report when it has. */
  returnTask(task: TaskRecord<Owner>): void {
    this.removeTask(task)
    task.place = this.#returned.push(task)
    this.#taskCount += task.count
    this.#taskBytes += task.messageBytes
    this.#room = 0
  }

  /** How many more tasks the scheduler accepts; undefined: no limit is known. */
  setRoom(tasks: number | undefined): void {
    this.#room = tasks
  }

  /** Counts something that is sent against the limit of tasks. */
  spendRoom(tasks = 1): void {
    if (this.#room !== undefined) this.#room = Math.max(0, this.#room - tasks)
  }

  /** Removes a task that must not be sent. */
  removeTask(task: TaskRecord<Owner>): void {
    if (task.place === undefined) return
    task.place.queue?.remove(task.place)
    task.place = undefined
    this.#taskCount -= task.count
    this.#taskBytes -= task.messageBytes
  }

  /** The next task; undefined also while the scheduler accepts none. */
  get nextTask(): TaskRecord<Owner> | undefined {
    return this.hasRoom ? (this.#returned.first ?? this.#tasks.first) : undefined
  }

  /** How many tasks the scheduler accepts. */
  get room(): number {
    return this.#room ?? Infinity
  }

  /** Removes and returns the next task, as above. */
  takeTask(): TaskRecord<Owner> | undefined {
    const task = this.nextTask
    if (task === undefined) return undefined
    this.removeTask(task)
    this.spendRoom(task.count)
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
    let tasks = 0
    for (const queue of [this.#returned, this.#tasks]) {
      for (const task of queue) {
        assert(
          task.state === 'waiting' && task.place?.queue === queue,
          'a queued task has the wrong state or queue',
        )
        bytes += task.messageBytes
        tasks += task.count
      }
    }
    assert(tasks === this.#taskCount, 'the number of waiting tasks is wrong')
    assert(bytes === this.#taskBytes, 'the size of waiting tasks is wrong')
  }
}

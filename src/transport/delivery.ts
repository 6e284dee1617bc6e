// Hands the messages of one connection to its owner, as many per event-loop turn as the time budget
// allows. While some are queued, reading is paused: this bounds the queue and keeps the order.

import { Fifo } from '../base/collection/fifo.js'
import type { IncomingMessage } from './options.js'

/** Messages delivered between two checks of the clock: at most about 30 us each. */
const BATCH_MESSAGES = 32

/** One list for all: a new one after each read would outlive it, for each of thousands of peers. */
const NONE: readonly IncomingMessage[] = []

/** The operations of a delivery's owner. */
export interface DeliveryActions<Owner> {
  deliver(own: Owner, messages: readonly IncomingMessage[]): void
  /** Messages are queued, or it is stopped: pause reading. What still arrives is accepted. */
  hold(own: Owner): void
  /** Neither is the case: resume reading. */
  release(own: Owner): void
}

/** The received messages of one connection that have not been delivered yet. */
export class Delivery<Owner> {
  readonly #turn: ReadTurn
  readonly #actions: DeliveryActions<Owner>
  readonly #owner: Owner
  #messages: readonly IncomingMessage[] = NONE
  /** Messages before this index have been delivered. */
  #next = 0
  #isHeld = false
  #isStopped = false
  /** Whether the turn will resume it. */
  #isWaiting = false

  constructor(turn: ReadTurn, actions: DeliveryActions<Owner>, owner: Owner) {
    this.#turn = turn
    this.#actions = actions
    this.#owner = owner
  }

  /** Whether messages remain to be delivered before the end of the connection may be reported. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Delivers what one read has completed (possibly nothing), now or in later turns. */
  add(messages: readonly IncomingMessage[]): void {
    this.#messages = this.#hasMore ? [...this.#messages.slice(this.#next), ...messages] : messages
    this.#next = 0
    if (this.#isHeld) return
    if (this.#turn.isOver) this.#hold()
    else this.resume()
  }

  /** Whether `stop` has been called, and `start` has not. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Delivers nothing more, after the current batch, and reads nothing. */
  stop(): void {
    this.#isStopped = true
    this.#hold()
  }

  /** Undoes `stop`: delivers in a later turn. */
  start(): void {
    if (!this.#isStopped) return
    this.#isStopped = false
    this.#hold()
  }

  /** Delivers until the turn is over, but at least one batch. */
  resume(): void {
    this.#isWaiting = false
    if (this.#isStopped) return
    try {
      do this.#deliverBatch()
      while (this.#hasMore && !this.#isStopped && !this.#turn.isOver)
    } finally {
      // Even if the owner has thrown: no message may be lost.
      if (this.#hasMore || this.#isStopped) this.#hold()
      else this.#release()
    }
  }

  /**
   * Delivers everything that is queued, however long it takes: the connection is about to close.
   */
  flush(): void {
    try {
      while (this.#hasMore) this.#deliverBatch()
    } finally {
      if (this.#hasMore) this.flush()
    }
  }

  get #hasMore(): boolean {
    return this.#next < this.#messages.length
  }

  #deliverBatch(): void {
    const start = this.#next
    const messages = this.#messages
    this.#next = Math.min(start + BATCH_MESSAGES, messages.length)
    const isAll = start === 0 && this.#next === messages.length
    const batch = isAll ? messages : messages.slice(start, this.#next)
    if (batch.length > 0) this.#actions.deliver(this.#owner, batch)
  }

  #hold(): void {
    if (!this.#isStopped && !this.#isWaiting) {
      this.#isWaiting = true
      this.#turn.wait(this)
    }
    if (this.#isHeld) return
    this.#isHeld = true
    this.#actions.hold(this.#owner)
  }

  #release(): void {
    this.#messages = NONE
    this.#next = 0
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#actions.release(this.#owner)
  }
}

// Received data is processed for a few milliseconds in each turn of the event loop; the rest waits
// for the next turn. This keeps timers on time, and no connection waits for all that others have
// sent.

/** Far shorter than any silence that is taken for a failure. */
const TURN_MS = 5

/** Something whose turn was over before it was done. */
export interface Resumable {
  /** Continues: does at least some work, and waits again if more is left. */
  resume(): void
}

/** Shares event-loop turns among all connections of one socket. */
export class ReadTurn {
  readonly #waiting = new Fifo<Resumable>()
  readonly #now: () => number
  /** When the current turn ends, if one has begun. */
  #endsAt: number | undefined

  /** `now`: milliseconds of a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether remaining work has to wait. The first call starts a turn. */
  get isOver(): boolean {
    if (this.#endsAt !== undefined) return this.#now() >= this.#endsAt
    this.#start()
    return false
  }

  /** Resumes `item` in a later turn, after all items already waiting. */
  wait(item: Resumable): void {
    if (this.#endsAt === undefined) this.#start()
    this.#waiting.push(item)
  }

  #start(): void {
    this.#endsAt = this.#now() + TURN_MS
    setImmediate(this.#begin)
  }

  /**
   * An exception from an item is its owner's error; a turn has begun by then, so others continue.
   */
  readonly #begin = (): void => {
    this.#endsAt = undefined
    while (this.#waiting.size > 0 && !this.isOver) this.#waiting.shift()?.resume()
  }
}

// Hands the messages of one connection to its owner, as many in one turn as that allows. While some
// wait nothing more is read, so what waits is bounded, and the order stays.

import { Fifo } from '../base/fifo.js'
import type { IncomingMessage } from './options.js'

/** So many messages are handed over between two looks at the clock: at most some 30 us each. */
const BATCH_MESSAGES = 32

/** What a delivery wants done. */
interface DeliveryActions {
  deliver(messages: readonly IncomingMessage[]): void
  /** Some wait: nothing more is to be read. What comes nevertheless is taken. */
  hold(): void
  /** Nothing waits any more. */
  release(): void
}

/** The messages of one connection that have come and were not handed over yet. */
export class Delivery {
  readonly #turn: ReadTurn
  readonly #actions: DeliveryActions
  #messages: readonly IncomingMessage[] = []
  /** Those before this one have been handed over. */
  #next = 0
  #isHeld = false

  constructor(turn: ReadTurn, actions: DeliveryActions) {
    this.#turn = turn
    this.#actions = actions
  }

  /** Whether more is to come before the connection may be told to have ended. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Hands over what one read has completed (which may be nothing), now or in turns to come. */
  add(messages: readonly IncomingMessage[]): void {
    this.#messages = this.#hasMore ? [...this.#messages.slice(this.#next), ...messages] : messages
    this.#next = 0
    if (this.#isHeld) return
    if (this.#turn.isOver) this.#hold()
    else this.resume()
  }

  /** Hands over until the turn is over, but some in any case. */
  resume(): void {
    try {
      do this.#deliverBatch()
      while (this.#hasMore && !this.#turn.isOver)
    } finally {
      // Also when the owner has thrown: that must cost no message.
      if (this.#hasMore) this.#hold()
      else this.#release()
    }
  }

  /** Hands over all that waits, whatever the time: the connection is about to end. */
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
    if (batch.length > 0) this.#actions.deliver(batch)
  }

  #hold(): void {
    this.#turn.wait(this)
    if (this.#isHeld) return
    this.#isHeld = true
    this.#actions.hold()
  }

  #release(): void {
    this.#messages = []
    this.#next = 0
    if (!this.#isHeld) return
    this.#isHeld = false
    this.#actions.release()
  }
}

// What has arrived is worked on for a few milliseconds in each turn of the event loop, however much
// it is; the rest waits for the next turn. So timers run on time, and no connection waits for all
// that others have sent.

/** Far less than the silence that anybody takes for a failure. */
const TURN_MS = 5

/** Somebody whose turn was over before all was done. */
export interface Resumable {
  /** Goes on: does something in any case, and waits again where more is left. */
  resume(): void
}

/** The turns of all connections of one socket. */
export class ReadTurn {
  readonly #waiting = new Fifo<Resumable>()
  readonly #now: () => number
  /** Of the turn that has begun. */
  #endsAt: number | undefined

  /** `now`: milliseconds of a clock that is never set back. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Whether the rest has to wait. A turn begins when this is asked for the first time in it. */
  get isOver(): boolean {
    const now = this.#now()
    if (this.#endsAt !== undefined) return now >= this.#endsAt
    this.#endsAt = now + TURN_MS
    setImmediate(this.#begin)
    return false
  }

  /** Has `item` resumed in a later turn, after all that wait already. Only once this one began. */
  wait(item: Resumable): void {
    this.#waiting.push(item)
  }

  /** What an item throws is an error of its owner; a turn has begun by then, so others go on. */
  readonly #begin = (): void => {
    this.#endsAt = undefined
    while (this.#waiting.size > 0 && !this.isOver) this.#waiting.shift()?.resume()
  }
}

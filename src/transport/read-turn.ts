// What has arrived is worked on for a few milliseconds in each turn of the event loop, however much
// it is; the rest waits for the next turn. So timers run on time, and no connection waits for all
// that others have sent.

import { Fifo } from '../base/fifo.js'

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

// Whether the scheduler is still there, as far as a worker can tell: when it was heard of last, and
// when it has been silent for so long that the worker gives up.

import type { InstantMs } from '../../base/machine.js'

/** When its time is over: what has come may not have been read. */
const LAST_CHANCE_MS = 200

/** A scheduler that was not heard of because this process was frozen gets this time to speak. */
const THAW_MS = 5_000

/** Timers are never later than this where the process runs, in milliseconds. */
const MAX_DELAY_MS = 1_000

/** The scheduler's signs of life. */
export class Contact {
  readonly #timeoutMs: number
  #giveUpAt: InstantMs | undefined
  #isLastChance = false

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  /** When `isLost` is to be asked; undefined before the first `heard`. */
  get giveUpAt(): InstantMs | undefined {
    return this.#giveUpAt
  }

  /** The scheduler lives. */
  heard(now: InstantMs): void {
    this.#giveUpAt = now + this.#timeoutMs
    this.#isLastChance = false
  }

  /** Whether the scheduler is to be given up. */
  isLost(now: InstantMs): boolean {
    if (this.#giveUpAt === undefined || now < this.#giveUpAt) return false
    const isThawed = now > this.#giveUpAt + MAX_DELAY_MS
    if (this.#isLastChance && !isThawed) return true
    this.#isLastChance = true
    this.#giveUpAt = now + Math.min(isThawed ? THAW_MS : LAST_CHANCE_MS, this.#timeoutMs)
    return false
  }
}

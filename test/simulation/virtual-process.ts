// A process of the simulated world: its events are handled in order, unless it is stopped (SIGSTOP,
// or a main thread that computes), and not at all once it is dead.

import type { Clock } from '#src/runtime/driver.js'
import type { Random } from './random.js'
import { callOff, type VirtualClock } from './virtual-clock.js'

interface Pending {
  readonly isTimer: boolean
  readonly handle: () => void
}

/** One process, or one thread of one. */
export class VirtualProcess {
  readonly name: string
  readonly clock: VirtualClock
  readonly #random: Random
  readonly #inbox: Pending[] = []
  readonly #onDeath: (() => void)[] = []
  #holds = 0
  #isAlive = true
  #isHandling = false
  /** For shells and drivers: the world's time, and timers that only fire while the process runs. */
  readonly timers: Clock

  constructor(name: string, clock: VirtualClock, random: Random) {
    this.name = name
    this.clock = clock
    this.#random = random
    this.timers = {
      now: () => clock.now,
      after: (delayMs, callback) => this.after(delayMs, callback),
    }
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  /** Whether it handles its events. */
  get isRunning(): boolean {
    return this.#isAlive && this.#holds === 0
  }

  /** An event for it. */
  deliver(handle: () => void): void {
    this.#take({ isTimer: false, handle })
  }

  /** Calls `callback` once, at least `delayMs` from now. Returns a function that cancels it. */
  after(delayMs: number, callback: () => void): () => void {
    let isOff = false
    const plan = this.clock.after(Math.max(delayMs, 0), () => {
      this.#take({
        isTimer: true,
        handle: () => {
          if (!isOff) callback()
        },
      })
    })
    return () => {
      isOff = true
      callOff(plan)
    }
  }

  /** Stops it until as many calls of `release`. */
  hold(): void {
    this.#holds += 1
  }

  /** See `hold`. Accumulated events are handled in a burst. */
  release(): void {
    this.#holds -= 1
    if (this.#holds > 0 || this.#inbox.length === 0) return
    // A process that resumes may run its timers first, or read first.
    if (this.#random.chance(0.5)) {
      this.#inbox.sort((a, b) => Number(b.isTimer) - Number(a.isTimer))
    }
    this.clock.after(0, () => this.#drain())
  }

  /** It ends, with all its state. */
  kill(): void {
    if (!this.#isAlive) return
    this.#isAlive = false
    this.#inbox.length = 0
    for (const tell of this.#onDeath.splice(0)) tell()
  }

  /** Calls `tell` when the process ends: for the actions of the system then. */
  onDeath(tell: () => void): void {
    this.#onDeath.push(tell)
  }

  #take(pending: Pending): void {
    if (!this.#isAlive) return
    this.#inbox.push(pending)
    this.#drain()
  }

  #drain(): void {
    // Events that a handler causes in its own process come after it.
    if (this.#isHandling) return
    this.#isHandling = true
    while (this.#inbox.length > 0 && this.isRunning) this.#inbox.shift()?.handle()
    this.#isHandling = false
  }
}

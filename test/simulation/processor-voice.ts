// How a simulated processor speaks with its agent: what its tasks tell is gathered and leaves
// together, in order; its guardian has a way of its own. What has left arrives, however it ends.

import type { InstantMs } from '#src/base/machine.js'
import type { VirtualClock } from './virtual-clock.js'
import type { VirtualProcess } from './virtual-process.js'

/** How long a word is on its way, in milliseconds. */
const DELAY_MS = 0.03

/** The way out of one processor. */
export class ProcessorVoice {
  readonly #clock: VirtualClock
  readonly #agent: VirtualProcess
  #outbox: (() => void)[] = []
  #lastTold: InstantMs = 0
  #isHeard = true

  constructor(clock: VirtualClock, agent: VirtualProcess) {
    this.#clock = clock
    this.#agent = agent
  }

  /** Leaves with the next `flush`, or is lost. */
  add(word: () => void): void {
    this.#outbox.push(word)
  }

  /** What was gathered leaves. */
  flush(): void {
    const words = this.#outbox
    if (words.length === 0) return
    this.#outbox = []
    this.tell(() => {
      for (const word of words) word()
    })
  }

  /** Leaves at once, behind all that has left. */
  tell(word: () => void): void {
    const at = Math.max(this.#clock.now + DELAY_MS, this.#lastTold)
    this.#lastTold = at
    this.#clock.at(at, () => this.#arrive(word))
  }

  /** The guardian's words wait for nobody's. */
  tellSoon(word: () => void): void {
    this.#clock.after(DELAY_MS, () => this.#arrive(word))
  }

  /** Nobody listens any more. */
  end(): void {
    this.#isHeard = false
  }

  #arrive(word: () => void): void {
    this.#agent.deliver(() => {
      if (this.#isHeard) word()
    })
  }
}

// The messages of a simulated processor to its agent: reports of its tasks are collected and sent
// together, in order; its guardian has a separate channel. Sent messages arrive, however the
// processor ends.

import type { InstantMs } from '#src/base/machine.js'
import type { VirtualClock } from './virtual-clock.js'
import type { VirtualProcess } from './virtual-process.js'

/** The transmission time of a message, in milliseconds. */
const DELAY_MS = 0.03

/** The sender of one processor. */
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

  /** Sent with the next `flush`, or lost. */
  add(word: () => void): void {
    this.#outbox.push(word)
  }

  /** Whether this message was added last and has not been sent. */
  isLast(word: () => void): boolean {
    return this.#outbox.at(-1) === word
  }

  /** Sends the collected messages. */
  flush(): void {
    const words = this.#outbox
    if (words.length === 0) return
    this.#outbox = []
    this.tell(() => {
      for (const word of words) word()
    })
  }

  /** Sends immediately, after everything sent before. */
  tell(word: () => void): void {
    const at = Math.max(this.#clock.now + DELAY_MS, this.#lastTold)
    this.#lastTold = at
    this.#clock.at(at, () => this.#arrive(word))
  }

  /** The guardian's messages are sent without waiting. */
  tellSoon(word: () => void): void {
    this.#clock.after(DELAY_MS, () => this.#arrive(word))
  }

  /** The agent does not listen any more. */
  end(): void {
    this.#isHeard = false
  }

  #arrive(word: () => void): void {
    this.#agent.deliver(() => {
      if (this.#isHeard) word()
    })
  }
}

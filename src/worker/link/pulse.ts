// Whether another process responds: it is asked at intervals, and counts as frozen if it is silent
// for several in a row.

/**
 * A process counts as frozen after this many beats in a row without an answer. Beats are counted,
 * not time: there are none while this process itself is stopped or the machine sleeps.
 */
const MAX_MISSED_BEATS = 6

/** The other process. */
export interface PulsePeer {
  /** Asks it to answer. */
  ask(): void
  /** It has not answered for this long. Called once. */
  onFrozen(silentMs: number): void
}

/** Checks one process. */
export class Pulse {
  readonly #peer: PulsePeer
  #timer: NodeJS.Timeout | undefined
  /** Whether anything has arrived since the last beat. */
  #isAnswered = true
  #missedBeats = 0

  constructor(peer: PulsePeer) {
    this.#peer = peer
  }

  /** Checks it at this interval from now on. */
  start(intervalMs: number): void {
    this.#timer ??= setInterval(() => this.#beat(intervalMs), intervalMs)
    this.#timer.unref()
  }

  /** Something has arrived from it. */
  heard(): void {
    this.#isAnswered = true
  }

  /** Stops the checks: the process has exited, or does not matter any more. */
  stop(): void {
    clearInterval(this.#timer)
  }

  #beat(intervalMs: number): void {
    if (this.#isAnswered) {
      this.#isAnswered = false
      this.#missedBeats = 0
      this.#peer.ask()
      return
    }
    this.#missedBeats += 1
    if (this.#missedBeats !== MAX_MISSED_BEATS) return
    this.stop()
    this.#peer.onFrozen(this.#missedBeats * intervalMs)
  }
}

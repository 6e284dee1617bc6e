// When to ask a peer whether it is there, and when to give it up: rules about time alone, apart
// from the timers and the stream that they are about. docs/protocol.md#zmtp

/** When to ask, and when to give up. In milliseconds. */
export interface PingOptions {
  /** How often is looked, and asked if need be; 0 = never. */
  readonly pingIntervalMs: number
  /** A peer that has been silent for so long, though it was asked, is given up; 0 = never. */
  readonly pingTimeoutMs: number
}

/** What the outgoing half of a connection looks like at a moment. */
export interface OutgoingState {
  /** All that the operating system has taken since the beginning, in bytes. */
  readonly takenBytes: number
  /** Whether it has not taken all that it was given: its buffers are full. */
  readonly isFull: boolean
}

/**
 * While its buffers are full the system takes bytes in large portions, on a slow link far apart;
 * the peer may be given up after so many times as long.
 */
const FULL_FACTOR = 4

/** Looks after one peer, once in every interval. */
export class PeerWatch {
  readonly #options: PingOptions
  #lastLookMs: number
  #aliveMs: number
  #outgoing: OutgoingState = { takenBytes: 0, isFull: false }
  #isAsked = false

  /** The connection stands since `nowMs`. */
  constructor(options: PingOptions, nowMs: number) {
    this.#options = options
    this.#lastLookMs = nowMs
    this.#aliveMs = nowMs
  }

  /**
   * An interval has passed. `hasHeard`: bytes came since the last one. `giveUp` comes again in each
   * interval until something is heard.
   */
  look(nowMs: number, hasHeard: boolean, outgoing: OutgoingState): 'nothing' | 'ping' | 'giveUp' {
    const { pingIntervalMs, pingTimeoutMs } = this.#options
    const before = this.#outgoing
    const hasSent = outgoing.takenBytes > before.takenBytes
    // Full buffers only empty when the peer's system confirms; others take bytes for nobody, too.
    const hasMoved = before.isFull && hasSent
    // While this process stood still it could not hear: the peer gets its full time again.
    const stoodStill = nowMs - this.#lastLookMs > 2 * pingIntervalMs
    this.#lastLookMs = nowMs
    this.#outgoing = outgoing
    if (hasHeard || hasMoved || stoodStill) {
      this.#aliveMs = nowMs
      this.#isAsked = false
    }
    const patienceMs = pingTimeoutMs * (outgoing.isFull ? FULL_FACTOR : 1)
    const isSilent = nowMs - this.#aliveMs >= patienceMs
    if (pingTimeoutMs > 0 && isSilent && this.#isAsked) return 'giveUp'
    // One that hears nothing of us for long would be in doubt, too; so would what is between us.
    if (hasHeard && hasSent) return 'nothing'
    this.#isAsked = true
    return 'ping'
  }
}

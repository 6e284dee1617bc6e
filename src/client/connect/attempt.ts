// What `Client.connect` waits for, and what it says when that does not come. The client's own
// connection only says that an attempt has failed; a probe finds out why, and whether waiting can
// help at all.

import { ConnectError } from '../../base/errors.js'
import { parseConnectAddress, type Address } from '../../transport/address.js'
import type { ClientConnection, ConnectionWatcher } from '../connection.js'
import { describeFinding, isFinal, type ConnectFinding } from './finding.js'
import { ConnectProbe } from './probe.js'

/** So long a scheduler may take to answer before somebody looks why. */
const PATIENCE_MS = 1_000
/** How long one look takes at most. */
const PROBE_LIMIT_MS = 5_000
/** The next look comes no sooner than so long after the last one. */
const PROBE_INTERVAL_MS = 2_000

/**
 * Resolves when the scheduler has answered. Rejects with `ConnectError` within `timeoutMs`, and
 * sooner where somebody else lives at that address: waiting for a scheduler that is about to be
 * started makes sense, waiting for a web server to become one does not.
 */
export async function firstAnswer(connection: ClientConnection, timeoutMs: number): Promise<void> {
  const attempt = new ConnectAttempt(connection.address, timeoutMs)
  const stopWatching = connection.watch(attempt)
  try {
    await attempt.outcome
  } finally {
    stopWatching()
    attempt.stop()
  }
}

/** One wait for a scheduler. */
class ConnectAttempt implements ConnectionWatcher {
  readonly outcome: Promise<void>
  readonly #text: string
  readonly #address: Address
  readonly #timeoutMs: number
  readonly #timeout: NodeJS.Timeout
  readonly #patience: NodeJS.Timeout
  #failures = 0
  #lastReason = ''
  #probe: ConnectProbe | undefined
  #isProbing = false
  #probedAt = -PROBE_INTERVAL_MS
  #isOver = false
  #resolve: () => void = () => {}
  #reject: (error: ConnectError) => void = () => {}

  constructor(address: string, timeoutMs: number) {
    this.#text = address
    this.#address = parseConnectAddress(address)
    this.#timeoutMs = timeoutMs
    this.outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#timeout = setTimeout(() => this.#giveUp(), timeoutMs)
    // In time for an answer, where there is little of it.
    this.#patience = setTimeout(() => this.#look(), Math.min(PATIENCE_MS, timeoutMs / 2))
  }

  onOpen(): void {
    this.#isOver = true
    this.#resolve()
  }

  onFailure(reason: string): void {
    this.#failures += 1
    this.#lastReason = reason
    this.#look()
  }

  onEnd(): void {
    this.#giveUp()
  }

  /** Leaves nothing that runs. */
  stop(): void {
    this.#isOver = true
    clearTimeout(this.#timeout)
    clearTimeout(this.#patience)
    this.#probe?.stop()
  }

  #look(): void {
    const now = performance.now()
    if (this.#isOver || this.#isProbing || now - this.#probedAt < PROBE_INTERVAL_MS) return
    this.#isProbing = true
    this.#probedAt = now
    const probe = new ConnectProbe(this.#address, { limitMs: PROBE_LIMIT_MS, heartbeats: 0 })
    this.#probe = probe
    void probe.finished.then((finding) => this.#onFound(finding, probe.elapsedMs))
  }

  #onFound(finding: ConnectFinding, elapsedMs: number): void {
    this.#isProbing = false
    if (this.#isOver || !isFinal(finding)) return
    this.#fail(`no scheduler at ${this.#text}: ${this.#describe(finding, elapsedMs)}`)
  }

  #giveUp(): void {
    const what = `no scheduler at ${this.#text} within ${this.#timeoutMs} ms`
    const probe = this.#probe
    const why =
      probe === undefined
        ? this.#lastReason || 'nothing answered; is it a scheduler?'
        : this.#describe(probe.finding, this.#isProbing ? probe.elapsedMs : PROBE_LIMIT_MS)
    const times = this.#failures === 1 ? 'one attempt' : `${this.#failures} attempts`
    this.#fail(this.#failures === 0 ? `${what}: ${why}` : `${what}: ${why} (${times})`)
  }

  #describe(finding: ConnectFinding, elapsedMs: number): string {
    const { what, advice } = describeFinding(finding, this.#address, elapsedMs)
    return advice === '' ? what : `${what}; ${advice}`
  }

  #fail(message: string): void {
    this.#isOver = true
    this.#reject(new ConnectError(message, { reason: 'no-scheduler' }))
  }
}

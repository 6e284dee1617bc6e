// What is said of those who were refused before they became peers: the first of each kind at once,
// then one line a minute with their number. Whoever only looks whether somebody listens, as health
// checks do, is a matter for DEBUG.

import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'

/**
 * Why there was no handshake. `left`: the peer closed the connection before it was over. `silent`:
 * it said nothing for too long. `greeting`: it does not speak ZMTP 3. `handshake`: it does, but we
 * do not suit each other. `crowded`: the process has too few file descriptors.
 */
export type RefusalKind = 'left' | 'silent' | 'greeting' | 'handshake' | 'crowded'

/** One connection that was refused. */
export interface Refusal {
  readonly kind: RefusalKind
  readonly remote: string
  readonly reason: string
}

/** The reason of those that were closed for want of file descriptors. */
export const CROWDED =
  'no file descriptors are left (raise the limit of open files), and this connection says nothing'

const INTERVAL_MS = 60_000

/** The log of one socket that listens. */
export class RefusalLog {
  readonly #logger: Logger
  readonly #intervalMs: number
  readonly #recurrences = new Map<RefusalKind, Recurrence>()
  readonly #last = new Map<RefusalKind, Refusal>()
  #timer: NodeJS.Timeout | undefined

  constructor(logger: Logger, intervalMs: number = INTERVAL_MS) {
    this.#logger = logger
    this.#intervalMs = intervalMs
  }

  /** Says so, now or later. */
  note(refusal: Refusal): void {
    const { kind, remote, reason } = refusal
    if (kind === 'left')
      return this.#logger.debug('connection without handshake', { remote, reason })
    let recurrence = this.#recurrences.get(kind)
    if (recurrence === undefined) {
      recurrence = new Recurrence(this.#intervalMs)
      this.#recurrences.set(kind, recurrence)
    }
    this.#last.set(kind, refusal)
    this.#tell(refusal, recurrence.note(performance.now()))
    this.#timer ??= setTimeout(() => this.#look(), this.#intervalMs).unref()
  }

  /** Says what is left to say, and nothing afterwards. */
  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    this.#timer = undefined
    for (const [kind, recurrence] of this.#recurrences) {
      const last = this.#last.get(kind)
      if (last !== undefined) this.#tell(last, recurrence.look(performance.now()))
    }
  }

  #tell({ kind, remote, reason }: Refusal, count: number): void {
    if (count === 1) this.#logger.warn('connection refused', { remote, reason })
    if (count <= 1) return
    const text = `${count} more connections were refused; the last one`
    this.#logger.warn(text, { count, kind, remote, reason })
  }
}

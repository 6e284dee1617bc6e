// What is said of those who were refused before they became peers: the first of each kind at once,
// then one line a minute with their number. Whoever only looks whether somebody listens, as health
// checks do, is a matter for DEBUG.

import type { Logger } from '../base/logger.js'
import { BoundedLog } from './bounded-log.js'

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

/** The log of one socket that listens. */
export class RefusalLog {
  readonly #logger: Logger
  readonly #log = new BoundedLog<RefusalKind, Refusal>((last, count) => this.#tell(last, count))

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Says so, now or later. */
  note(refusal: Refusal): void {
    const { kind, remote, reason } = refusal
    if (kind === 'left') this.#logger.debug('connection without handshake', { remote, reason })
    else this.#log.note(kind, refusal)
  }

  /** Says nothing any more. */
  close(): void {
    this.#log.close()
  }

  #tell({ kind, remote, reason }: Refusal, count: number): void {
    if (count === 1) return this.#logger.warn('connection refused', { remote, reason })
    const text = `${count} more connections were refused; the last one`
    this.#logger.warn(text, { count, kind, remote, reason })
  }
}

// Something that may happen over and over is said at a bounded rate: the first of each kind at
// once, then one line a minute with how many there were, whoever did them.

import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'

const INTERVAL_MS = 60_000

/** Counts what happens, by its kind. */
export class BoundedLog<Kind, Item> {
  readonly #tell: (item: Item, count: number) => void
  readonly #intervalMs: number
  readonly #recurrences = new Map<Kind, Recurrence>()
  readonly #last = new Map<Kind, Item>()
  #timer: NodeJS.Timeout | undefined

  /** `tell` gets the last of a kind, and how many there were since the last line; never 0. */
  constructor(tell: (item: Item, count: number) => void, intervalMs: number = INTERVAL_MS) {
    this.#tell = tell
    this.#intervalMs = intervalMs
  }

  /** It has happened: says so, now or later. The kinds are few. */
  note(kind: Kind, item: Item): void {
    let recurrence = this.#recurrences.get(kind)
    if (recurrence === undefined) {
      recurrence = new Recurrence(this.#intervalMs)
      this.#recurrences.set(kind, recurrence)
    }
    this.#last.set(kind, item)
    this.#tellIf(item, recurrence.note(performance.now()))
    this.#timer ??= setTimeout(() => this.#look(), this.#intervalMs).unref()
  }

  /** Says nothing any more of what was noted. */
  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #look(): void {
    this.#timer = undefined
    for (const [kind, recurrence] of this.#recurrences) {
      const last = this.#last.get(kind)
      if (last !== undefined) this.#tellIf(last, recurrence.look(performance.now()))
    }
  }

  #tellIf(item: Item, count: number): void {
    if (count > 0) this.#tell(item, count)
  }
}

// What is said of those who were refused before they became peers: the first of each kind at once,
// then one line a minute with their number. Whoever only looks whether somebody listens, as health
// checks do, is a matter for DEBUG.

/**
 * Why there was no handshake. `left`: the peer closed the connection before it was over. `silent`:
 * it said nothing for too long. `greeting`: it does not speak ZMTP 3. `handshake`: it does, but we
 * do not suit each other. `crowded`: the process has too few file descriptors.
 */
export type RefusalKind = 'left' | 'silent' | 'greeting' | 'handshake' | 'crowded'

/** One connection that was refused. */
interface Refusal {
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

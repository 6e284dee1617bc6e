// Logs a recurring event at a bounded rate: the first of each kind immediately, then one line a
// minute with the number of occurrences, whatever caused them.

import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'
import type { EndKind } from './end.js'

const INTERVAL_MS = 60_000

/** Counts events by kind. */
export class BoundedLog<Kind, Item> {
  readonly #tell: (item: Item, count: number) => void
  readonly #recurrences = new Map<Kind, Recurrence>()
  readonly #last = new Map<Kind, Item>()
  #timer: NodeJS.Timeout | undefined

  /** `tell` receives the latest event of a kind and the count since the last line; never 0. */
  constructor(tell: (item: Item, count: number) => void) {
    this.#tell = tell
  }

  /** Records an event; it is logged now or later. There must be few kinds. */
  note(kind: Kind, item: Item): void {
    let recurrence = this.#recurrences.get(kind)
    if (recurrence === undefined) {
      recurrence = new Recurrence(INTERVAL_MS)
      this.#recurrences.set(kind, recurrence)
    }
    this.#last.set(kind, item)
    this.#tellIf(item, recurrence.note(performance.now()))
    this.#timer ??= setTimeout(() => this.#look(), INTERVAL_MS).unref()
  }

  /** Stops logging; pending counts are discarded. */
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

// The log of refused connections: the first of each kind immediately, then one line a minute with
// their number. Connections that only test whether the port is open, such as health checks, are
// logged at DEBUG.

/** One refused connection. */
interface Refusal {
  readonly kind: EndKind
  readonly remote: string
  readonly reason: string
}

/** The reason for connections closed because file descriptors ran out. */
export const CROWDED =
  'no file descriptors are left (raise the limit of open files), and this connection is idle'

/** The refusal log of one listening socket. */
export class RefusalLog {
  readonly #logger: Logger
  readonly #log = new BoundedLog<EndKind, Refusal>((last, count) => this.#tell(last, count))

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** Records a refusal; it is logged now or later. */
  note(refusal: Refusal): void {
    const { kind, remote, reason } = refusal
    if (kind === 'closed') this.#logger.debug('connection without handshake', { remote, reason })
    else this.#log.note(kind, refusal)
  }

  /** Stops logging. */
  close(): void {
    this.#log.close()
  }

  #tell({ kind, remote, reason }: Refusal, count: number): void {
    if (count === 1) return this.#logger.warn('connection refused', { remote, reason })
    const text = `${count} more connections were refused; the last one`
    this.#logger.warn(text, { count, kind, remote, reason })
  }
}

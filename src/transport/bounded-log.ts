// Logs a recurring event at a bounded rate: the first of each kind immediately, then one line a
// minute with the number of occurrences, whatever caused them.

import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'
import { type ConnectionEnd, type EndKind, isPublisher } from './end.js'

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

// Logs at a bounded rate that a scheduler cannot be reached, not per worker and attempt:
// each reason immediately, then once a minute while it lasts.

const MONITORS_HINT =
  'this is the address for monitors; here, the one for clients and workers is needed'

/** Shared by all that connect to one address, such as the workers of an agent. */
export class ConnectReport {
  readonly #address: string
  readonly #recurrences = new Map<string, Recurrence>()
  #lastReason: string | undefined

  constructor(address: string) {
    this.#address = address
  }

  /** Warns if the reason is new, or was not logged for a while. */
  onFailed(logger: Logger, { reason, peerType }: ConnectionEnd): void {
    this.#lastReason = reason
    let recurrence = this.#recurrences.get(reason)
    if (recurrence === undefined) {
      recurrence = new Recurrence(INTERVAL_MS)
      this.#recurrences.set(reason, recurrence)
    }
    const attempts = recurrence.note(performance.now())
    const hint = isPublisher(peerType) ? { hint: MONITORS_HINT } : {}
    const fields = {
      address: this.#address,
      reason,
      ...hint,
      ...(attempts > 1 ? { attempts } : {}),
    }
    const level = attempts > 0 ? 'warn' : 'debug'
    logger[level]('cannot connect to the scheduler; trying again', fields)
  }

  /** Why the last attempt failed; undefined while connected, or before the first attempt. */
  get lastReason(): string | undefined {
    return this.#lastReason
  }

  /** The next failure is logged again. */
  onConnected(): void {
    this.#lastReason = undefined
    this.#recurrences.clear()
  }
}

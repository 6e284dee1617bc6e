// How many workers the scheduler has for this client. The scheduler reports it with the echo of a
// heartbeat that requests it, and only running maps need it. docs/protocol.md#report

/** A count that is older is requested again, in milliseconds: the usual interval of heartbeats. */
const FRESH_MS = 2_000

/** The number of workers, as far as one client knows it. */
export class WorkerCount {
  readonly #request: () => void
  readonly #now: () => number
  #users = 0
  #count: number | undefined
  #countedAt = -Infinity
  #isKnowable = true

  /** `request` makes the scheduler report now; `now`: the time in milliseconds. */
  constructor(request: () => void, now: () => number) {
    this.#request = request
    this.#now = now
  }

  /** The number of workers; undefined until the scheduler has reported it. */
  get count(): number | undefined {
    return this.#count
  }

  /** False: the scheduler is one that never reports it. */
  get isKnowable(): boolean {
    return this.#isKnowable
  }

  /** Whether heartbeats must request a report. */
  get isWanted(): boolean {
    return this.#users > 0
  }

  /** The count is needed until `end` was called once per call. */
  begin(): void {
    this.#users += 1
    if (this.#isKnowable && this.#now() - this.#countedAt >= FRESH_MS) this.#request()
  }

  /** See `begin`. */
  end(): void {
    this.#users -= 1
  }

  /** A scheduler has answered on a new connection. `reports`: whether it can report the number. */
  onOpen(reports: boolean): void {
    this.#isKnowable = reports
    this.#countedAt = -Infinity
    if (reports && this.isWanted) this.#request()
  }

  /** The scheduler has reported the number. Returns whether it has changed. */
  onCount(count: number): boolean {
    const hasChanged = count !== this.#count
    this.#count = count
    this.#countedAt = this.#now()
    return hasChanged
  }
}

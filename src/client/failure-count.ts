// How many futures and maps have failed without anybody looking: told once, when the client ends.

/** Counts failures that nobody has seen. One per client. */
export class FailureCount {
  #unobserved = 0
  #firstMessage = ''

  /** A future has failed that nobody awaits. */
  add(error: unknown): void {
    if (this.#unobserved === 0) this.#firstMessage = String(error)
    this.#unobserved += 1
  }

  /** Somebody came for it after all. */
  subtract(): void {
    this.#unobserved -= 1
  }

  /** Emits one process warning if there is anything to tell, and forgets it. */
  warn(): void {
    const count = this.#unobserved
    if (count <= 0) return
    this.#unobserved = 0
    const what =
      count === 1 ? 'a future has failed that nobody' : `${count} futures have failed that nobody`
    process.emitWarning(`${what} awaited; the first one: ${this.#firstMessage}`, {
      type: 'ScalerWarning',
      code: 'SCALER_UNOBSERVED_FAILURES',
    })
  }
}

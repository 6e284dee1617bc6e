// Lets everything that was sent in one turn of the event loop leave together at its end: one
// `setImmediate` for all connections of a socket.

/** What has something to be written at the end of the turn. */
export interface Flushable {
  flush(): void
}

/** Calls `flush` at the end of the turn on each item that was added in it. */
export class TurnFlusher {
  #waiting: Flushable[] = []
  readonly #flushAll = (): void => {
    const items = this.#waiting
    this.#waiting = []
    this.#flush(items)
  }

  /** Adds an item; once a turn is enough. */
  add(item: Flushable): void {
    if (this.#waiting.push(item) === 1) setImmediate(this.#flushAll)
  }

  /** An item that throws is an error of its owner: it must not cost the others their flush. */
  #flush(items: readonly Flushable[]): void {
    let flushed = 0
    try {
      for (const item of items) {
        flushed += 1
        item.flush()
      }
    } finally {
      if (flushed < items.length) setImmediate(() => this.#flush(items.slice(flushed)))
    }
  }
}

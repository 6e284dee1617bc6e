/** What is called for one object, and with what. */
interface Held {
  readonly callback: (held: never) => void
  readonly held: unknown
}

const registry = new FinalizationRegistry<Held>(({ callback, held }) => callback(held as never))

/**
 * A `FinalizationRegistry` that may itself be dropped. In V8 before Node 26, no registry of the
 * process calls back any more after one was collected while its callback was due (a task for the
 * callbacks that finds no registry leaves the mark that a task is posted). So all share one that is
 * never dropped.
 */
export class SharedRegistry<T> {
  readonly #callback: (held: T) => void

  /** `callback` gets what was registered with an object, after the object was collected. */
  constructor(callback: (held: T) => void) {
    this.#callback = callback
  }

  /** `held` must not refer to the object; nor may `callback`. */
  register(object: object, held: T, token?: object): void {
    registry.register(object, { callback: this.#callback, held }, token)
  }

  /** Forgets all that was registered with this token. */
  unregister(token: object): void {
    registry.unregister(token)
  }
}

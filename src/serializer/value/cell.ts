// A captured variable that changes: the functions that share it share one of these.

/** Code reads and writes `v`. */
export class Cell {
  v: unknown = undefined

  fill(value: unknown): void {
    this.v = value
  }
}

/** A captured constant that is re-created on first use, by `make`. */
export class MadeCell {
  make: () => unknown = () => undefined
  #value: { readonly v: unknown } | undefined

  /** `make`: must be a function. */
  fill(make: unknown): void {
    this.make = make as () => unknown
  }

  get v(): unknown {
    this.#value ??= { v: this.make() }
    return this.#value.v
  }
}

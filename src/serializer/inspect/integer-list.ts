// A list of millions of integers that grows without copying and without boxing them.

const CHUNK = 65_536

/** Integers from 0 to 2^32 - 1. */
export class IntegerList {
  readonly #chunks: Uint32Array[] = []
  length = 0

  push(value: number): void {
    const at = this.length % CHUNK
    if (at === 0) this.#chunks.push(new Uint32Array(CHUNK))
    const chunk = this.#chunks[this.#chunks.length - 1]
    if (chunk !== undefined) chunk[at] = value
    this.length += 1
  }

  /** The integer at an index below `length`. */
  at(index: number): number {
    return this.#chunks[Math.floor(index / CHUNK)]?.[index % CHUNK] ?? 0
  }
}

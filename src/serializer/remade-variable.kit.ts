// For tests: constants that other modules use, and functions that do something to what they get.
// What is made of them in the same process has this URL, too: after that, nothing is sure of it.

interface Blobs {
  readonly first: Blob
  readonly level: number
}

/** Nobody changes it. */
export const steadyBlobs: Blobs = { first: new Blob(['abc']), level: 1 }

/** A module that imports it gives it to `mark`. */
export const markedBlobs: Blobs = { first: new Blob(['abc']), level: 1 }

export function mark<T extends object>(value: T): T & { marked?: boolean } {
  return Object.assign(value, { marked: true })
}

export function show({ owner }: { readonly owner: { readonly level: number } }): () => number {
  return () => owner.level
}

/** Changes what it was made with, which no text of those that use it shows. */
export class Keeper {
  readonly #value: Record<string, unknown>

  constructor(value: object) {
    this.#value = value as Record<string, unknown>
  }

  change(key: string, part: unknown): void {
    this.#value[key] = part
  }
}

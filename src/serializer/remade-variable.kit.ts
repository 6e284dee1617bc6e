// For tests: constants that other modules use, and functions that change their arguments. Code that
// is created from them in the same process has this URL, too: after that, nothing about it is
// certain.

interface Blobs {
  readonly first: Blob
  readonly level: number
}

/** Never changed. */
export const steadyBlobs: Blobs = { first: new Blob(['abc']), level: 1 }

/** A module that imports it passes it to `mark`. */
export const markedBlobs: Blobs = { first: new Blob(['abc']), level: 1 }

export function mark<T extends object>(value: T): T & { marked?: boolean } {
  return Object.assign(value, { marked: true })
}

export function show({ owner }: { readonly owner: { readonly level: number } }): () => number {
  return () => owner.level
}

/** Changes its own argument, which the text of its callers does not show. */
export class Keeper {
  readonly #value: Record<string, unknown>

  constructor(value: object) {
    this.#value = value as Record<string, unknown>
  }

  change(key: string, part: unknown): void {
    this.#value[key] = part
  }
}

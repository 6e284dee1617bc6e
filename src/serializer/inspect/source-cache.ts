// Texts of scripts, as many as fit; those that were not asked for the longest go first. A program
// may have compiled hundreds of megabytes, of which functions that travel come from a few files.

const MAX_CHARACTERS = 16_000_000

/** Texts by id, at most 16 million characters of them. */
export class SourceCache {
  /** The one that was used last is the last. */
  readonly #texts = new Map<string, string>()
  #characters = 0

  has(id: string): boolean {
    return this.#texts.has(id)
  }

  /** The text, if it is still there. */
  get(id: string): string | undefined {
    const text = this.#texts.get(id)
    if (text === undefined) return undefined
    this.#texts.delete(id)
    this.#texts.set(id, text)
    return text
  }

  /** Adds a text; others make room for it. One that is larger than all the room is not kept. */
  set(id: string, text: string): void {
    if (text.length > MAX_CHARACTERS || this.#texts.has(id)) return
    this.#texts.set(id, text)
    this.#characters += text.length
    for (const [oldest, { length }] of this.#texts) {
      if (this.#characters <= MAX_CHARACTERS) return
      this.#texts.delete(oldest)
      this.#characters -= length
    }
  }
}

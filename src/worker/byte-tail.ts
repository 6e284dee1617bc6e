// The end of a byte stream: the last words of a process that died.

/** Remembers the last bytes of what it is given. */
export class ByteTail {
  readonly #limitBytes: number
  #tail = Buffer.alloc(0)

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** Takes the next chunk. */
  write(chunk: Uint8Array): void {
    const all = Buffer.concat([this.#tail, chunk.subarray(-this.#limitBytes)])
    this.#tail = Buffer.from(all.subarray(-this.#limitBytes))
  }

  /** Forgets all. */
  clear(): void {
    this.#tail = Buffer.alloc(0)
  }

  /** The end as text. Where it begins inside a character, that character is left out. */
  toString(): string {
    const isCut = this.#tail.length === this.#limitBytes
    let start = 0
    // The bytes of a character after its first one are 10xxxxxx; there are at most three.
    while (isCut && start < 3 && ((this.#tail[start] ?? 0) & 0xc0) === 0x80) start += 1
    return this.#tail.toString('utf8', start)
  }
}

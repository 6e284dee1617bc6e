// What user code prints, as lines for the log.

import { StringDecoder } from 'node:string_decoder'

/** Longer lines are cut into pieces of so many characters. */
const MAX_LINE_LENGTH = 16 * 1024

/** Cuts a byte stream into lines, whatever the chunks; a character may lie across two of them. */
export class LineSplitter {
  readonly #onLine: (line: string) => void
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  /** Takes the next chunk. */
  write(chunk: Uint8Array): void {
    this.#push(this.#decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)))
  }

  /** The stream has ended: what is left is a line, too. */
  end(): void {
    this.#push(this.#decoder.end())
    if (this.#rest !== '') this.#onLine(this.#rest)
    this.#rest = ''
  }

  #push(text: string): void {
    let start = 0
    for (;;) {
      const end = text.indexOf('\n', start)
      if (end === -1) break
      this.#emit(this.#rest + text.slice(start, end))
      this.#rest = ''
      start = end + 1
    }
    this.#rest += text.slice(start)
    while (this.#rest.length > MAX_LINE_LENGTH) {
      this.#onLine(this.#rest.slice(0, MAX_LINE_LENGTH))
      this.#rest = this.#rest.slice(MAX_LINE_LENGTH)
    }
  }

  #emit(text: string): void {
    const line = text.endsWith('\r') ? text.slice(0, -1) : text
    this.#onLine(line.slice(0, MAX_LINE_LENGTH))
    for (let at = MAX_LINE_LENGTH; at < line.length; at += MAX_LINE_LENGTH) {
      this.#onLine(line.slice(at, at + MAX_LINE_LENGTH))
    }
  }
}

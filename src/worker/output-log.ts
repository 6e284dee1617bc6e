// What user code prints, as lines for the log, a little in each turn of the event loop: a task that
// prints without end is held up by its full pipe, and holds up neither heartbeats nor other
// workers' tasks.

import type { Readable } from 'node:stream'
import { LineSplitter } from './line-splitter.js'

/** Bytes that are cut into lines in one turn. */
const SLICE_BYTES = 4096

/** When more waits, which came on another way than the stream, it is cut at once. */
const MAX_WAITING_BYTES = 1024 ** 2

/** Calls `onLine` for each line of what is written to it. */
export class OutputLog {
  readonly #source: Readable
  readonly #splitter: LineSplitter
  #chunks: Uint8Array[] = []
  #waitingBytes = 0
  #isBusy = false
  #hasClosed = false

  /** `source` is where most of it comes from: it is held while there is too much. */
  constructor(source: Readable, onLine: (line: string) => void) {
    this.#source = source
    this.#splitter = new LineSplitter(onLine)
    source.on('error', () => {})
    source.on('close', () => {
      this.#hasClosed = true
      if (!this.#isBusy) this.#splitter.end()
    })
  }

  /** Takes the next chunk, which must not be changed any more. */
  write(chunk: Uint8Array): void {
    this.#chunks.push(chunk)
    this.#waitingBytes += chunk.byteLength
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#cut(Infinity)
    if (this.#isBusy) return
    this.#isBusy = true
    this.#source.pause()
    this.#goOn()
  }

  #goOn(): void {
    this.#cut(SLICE_BYTES)
    if (this.#waitingBytes > 0) {
      setImmediate(() => this.#goOn())
      return
    }
    this.#isBusy = false
    if (this.#hasClosed) this.#splitter.end()
    else this.#source.resume()
  }

  #cut(maxBytes: number): void {
    for (let left = maxBytes; left > 0;) {
      const [chunk] = this.#chunks
      if (chunk === undefined) return
      const piece = chunk.subarray(0, Math.min(left, chunk.byteLength))
      left -= Math.max(piece.byteLength, 1)
      this.#waitingBytes -= piece.byteLength
      if (piece.byteLength === chunk.byteLength) this.#chunks.shift()
      else this.#chunks[0] = chunk.subarray(piece.byteLength)
      this.#splitter.write(piece)
    }
  }
}

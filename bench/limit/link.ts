// Frames over a stream with the least work that Node allows: a length, then the bytes; all frames
// of one turn of the event loop are sent in one write. The reference for the engine's transport.

import type { Duplex } from 'node:stream'

/** A received frame: `bytes[start..end)`, valid during the call only. */
export type OnFrame = (bytes: Buffer, start: number, end: number) => void

const HEADER_BYTES = 4
const SLAB_BYTES = 64 * 1024

/** One end of a stream of frames. */
export class Link {
  readonly #stream: Duplex
  readonly #onFrame: OnFrame
  #unread: Buffer | undefined
  #slab = Buffer.allocUnsafe(SLAB_BYTES)
  #used = 0
  #isFlushDue = false

  constructor(stream: Duplex, onFrame: OnFrame) {
    this.#stream = stream
    this.#onFrame = onFrame
    stream.on('data', (chunk: Buffer) => this.#onChunk(chunk))
    stream.on('error', () => stream.destroy())
  }

  /** Sends a copy of `bytes[start..end)` as one frame. */
  send(bytes: Buffer, start = 0, end: number = bytes.length): void {
    const size = end - start
    if (this.#used + HEADER_BYTES + size > this.#slab.length) this.#flush()
    if (HEADER_BYTES + size > this.#slab.length) {
      this.#slab = Buffer.allocUnsafe(HEADER_BYTES + size)
    }
    this.#used = this.#slab.writeUInt32LE(size, this.#used)
    bytes.copy(this.#slab, this.#used, start, end)
    this.#used += size
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    setImmediate(() => {
      this.#isFlushDue = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#used === 0) return
    this.#stream.write(this.#slab.subarray(0, this.#used))
    this.#slab = Buffer.allocUnsafe(SLAB_BYTES)
    this.#used = 0
  }

  #onChunk(chunk: Buffer): void {
    const bytes = this.#unread === undefined ? chunk : Buffer.concat([this.#unread, chunk])
    let at = 0
    while (bytes.length - at >= HEADER_BYTES) {
      const start = at + HEADER_BYTES
      const end = start + bytes.readUInt32LE(at)
      if (end > bytes.length) break
      this.#onFrame(bytes, start, end)
      at = end
    }
    this.#unread = at === bytes.length ? undefined : bytes.subarray(at)
  }
}

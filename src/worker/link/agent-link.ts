// The agent's end of the pipes to a processor: frames go out coalesced, one write per turn of the
// event loop; what comes in is told as it comes.

import type { Duplex, Readable } from 'node:stream'
import { NO_BYTES } from '../../base/bytes.js'
import type { OutgoingFrame } from '../../transport/options.js'
import { FrameBatch, FrameParser, KIND_END } from './frames.js'

/** Written at once when so much waits, in bytes. */
const FLUSH_BYTES = 64 * 1024

/** What an agent link tells. */
export interface AgentLinkHandler {
  onFrame(kind: number, bytes: Buffer): void
  /** All that has come together was told. */
  onPause(): void
  /** Whether what comes has to wait until all that has come on other ways in this turn was read. */
  readonly mustWait: boolean
  /** What came is not what a processor sends. Nothing more is read. */
  onGarbage(error: unknown): void
}

/** Frames to and from one processor. */
export class AgentLink {
  readonly #output: Duplex
  readonly #input: Readable
  readonly #batch = new FrameBatch()
  readonly #handler: AgentLinkHandler
  readonly #parser: FrameParser
  /** What has come and has to wait. */
  #waiting: Buffer[] = []
  #isFlushPlanned = false
  #isClosed = false

  constructor(output: Duplex, input: Readable, handler: AgentLinkHandler) {
    this.#output = output
    this.#input = input
    this.#handler = handler
    this.#parser = new FrameParser((kind, bytes) => handler.onFrame(kind, bytes))
    // A pipe that breaks belongs to a process that ends, and that is told by its exit.
    output.on('error', () => {})
    input.on('error', () => {})
    // Nothing comes this way, but only who reads sees the end.
    output.resume()
    input.on('data', (chunk: Buffer) => {
      if (handler.mustWait || this.#waiting.length > 0) this.#wait(chunk)
      else this.#read(chunk)
    })
  }

  /** Sends a frame. Small pieces are copied; large ones must not be changed any more. */
  send(kind: number, frame: OutgoingFrame): void {
    if (this.#isClosed) return
    this.#batch.add(kind, frame)
    if (this.#batch.bytes >= FLUSH_BYTES) this.#flush()
    else this.#planFlush()
  }

  /** Sends what waits, then tells the processor that there is no more: it ends by itself. */
  end(): void {
    if (!this.#isClosed) this.#batch.add(KIND_END, NO_BYTES)
    this.#flush()
    this.#output.end()
  }

  /** Sends and reads nothing more. */
  close(): void {
    this.#isClosed = true
    this.#output.destroy()
    this.#input.resume()
  }

  /** Resolves when all that the processor had written was handled. */
  async drained(): Promise<void> {
    if (!this.#input.readableEnded && !this.#input.destroyed) {
      await new Promise<void>((resolve) => {
        this.#input.once('close', () => resolve())
        this.#input.once('end', () => resolve())
      })
    }
    this.#readWaiting()
  }

  /** Until the end of this turn: by then the other pipes that were readable with it were read. */
  #wait(chunk: Buffer): void {
    if (this.#waiting.push(chunk) === 1) setImmediate(() => this.#readWaiting())
  }

  #readWaiting(): void {
    const chunks = this.#waiting
    this.#waiting = []
    for (const chunk of chunks) this.#read(chunk)
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed) return
    try {
      this.#parser.feed(chunk)
      this.#handler.onPause()
    } catch (error) {
      this.close()
      this.#handler.onGarbage(error)
    }
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return
    this.#isFlushPlanned = true
    setImmediate(() => {
      this.#isFlushPlanned = false
      this.#flush()
    })
  }

  #flush(): void {
    const pieces = this.#batch.take()
    if (pieces.length === 0 || this.#output.destroyed || this.#output.writableEnded) return
    this.#output.cork()
    for (const piece of pieces) this.#output.write(piece)
    this.#output.uncork()
  }
}

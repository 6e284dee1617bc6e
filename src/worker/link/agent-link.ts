// The agent's end of the pipes to a processor: outgoing frames are coalesced into one write per
// turn of the event loop; incoming frames are handled as they arrive.

import type { Duplex, Readable } from 'node:stream'
import { copyOf } from '../../base/bytes.js'
import type { OutgoingFrame } from '../../transport/options.js'
import type { OpenStream } from '../../transport/stream.js'
import type { Units } from '../../core/worker/queue/units.js'
import { type AgentFrame, MAX_UNIT_NUMBERS } from './frames.js'
import { FrameBatch, FrameParser, type FrameReceiver } from './pipe.js'

/** Queued bytes that trigger an immediate write. */
const FLUSH_BYTES = 64 * 1024

/** Handles the events of an agent link. */
interface AgentLinkHandler extends FrameReceiver {
  /** All frames that arrived together were handled. */
  onPause(): void
  /** Whether incoming chunks must wait until the other pipes were read in this turn. */
  readonly mustWait: boolean
  /** The processor sent invalid data. Nothing more is read. */
  onGarbage(error: unknown): void
}

/** Frames to and from one processor. */
export class AgentLink {
  readonly #output: Duplex
  readonly #input: Readable
  readonly #batch = new FrameBatch()
  readonly #handler: AgentLinkHandler
  readonly #parser: FrameParser
  /** The units that the processor knows, with their numbers. */
  readonly #unitNumbers = new Map<Units, number>()
  /** Chunks that have arrived and must wait. */
  #waiting: Buffer[] = []
  #isFlushPlanned = false
  #isClosed = false
  /** Whether the last frame was a task, */
  #isTaskLast = false
  /** and whether not everything was read: the system says so when the reader is gone. */
  #isUnread = false

  constructor(output: Duplex, { socket: input, reader }: OpenStream, handler: AgentLinkHandler) {
    this.#output = output
    this.#input = input
    this.#handler = handler
    this.#parser = new FrameParser(handler)
    // A pipe breaks when the process exits, which is reported separately.
    output.on('error', () => (this.#isUnread = true))
    input.on('error', () => {})
    // No data arrives here, but only a stream that is read reports its end.
    output.resume()
    reader.readTo((memory) => {
      if (handler.mustWait || this.#waiting.length > 0) this.#wait(copyOf(memory))
      else this.#read(memory)
    })
  }

  /** Whether the processor has exited without having read the last frame, which was a task. */
  get hasUnreadTask(): boolean {
    return this.#isTaskLast && (this.#isUnread || this.#batch.bytes > 0)
  }

  /** Sends a message. Small pieces are copied; large ones must not be changed any more. */
  send(message: OutgoingFrame): void {
    if (this.#isClosed) return
    this.#batch.addMessage(message)
    this.#isTaskLast = false
    this.#onAdded()
  }

  /** Sends a task in the same way; `units` are those that it has. */
  dispatch(task: OutgoingFrame, units?: Units): void {
    if (this.#isClosed) return
    this.#batch.addMessage(task, units && this.#numberOf(units))
    this.#isTaskLast = true
    this.#onAdded()
  }

  #onAdded(): void {
    if (this.#batch.bytes >= FLUSH_BYTES) this.#flush()
    else this.#planFlush()
  }

  /** Sends a control frame, in order with the messages. */
  control(frame: AgentFrame): void {
    if (this.#isClosed) return
    this.#batch.addControl(frame)
    this.#isTaskLast = false
    this.#planFlush()
  }

  /** Most tasks have the same units as others, which are therefore sent once. */
  #numberOf(units: Units): number {
    let number = this.#unitNumbers.get(units)
    if (number !== undefined) return number
    if (this.#unitNumbers.size === MAX_UNIT_NUMBERS) this.#unitNumbers.clear()
    number = this.#unitNumbers.size
    this.#unitNumbers.set(units, number)
    this.#batch.addControl({ type: 'units', number, units })
    return number
  }

  /** Sends queued frames and the order to exit. */
  end(): void {
    if (!this.#isClosed) this.control({ type: 'end' })
    this.#flush()
    this.#output.end()
  }

  /** Sends and reads nothing more. */
  close(): void {
    this.#isClosed = true
    this.#output.destroy()
    this.#input.resume()
  }

  /** Resolves when everything that the processor has written was handled. */
  async drained(): Promise<void> {
    if (!this.#input.readableEnded && !this.#input.destroyed) {
      await new Promise<void>((resolve) => {
        this.#input.once('close', () => resolve())
        this.#input.once('end', () => resolve())
      })
    }
    this.#readWaiting()
  }

  /** Waits until the end of this turn: by then, other pipes that became readable were read. */
  #wait(chunk: Buffer): void {
    if (this.#waiting.push(chunk) === 1) setImmediate(() => this.#readWaiting())
  }

  #readWaiting(): void {
    const chunks = this.#waiting
    this.#waiting = []
    for (const chunk of chunks) this.#read(chunk)
  }

  #read(memory: Buffer): void {
    if (this.#isClosed) return
    try {
      this.#parser.feedCopy(memory)
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
    if (pieces.length === 0) return
    if (this.#output.destroyed || this.#output.writableEnded) {
      this.#isUnread = true
      return
    }
    this.#output.cork()
    for (const piece of pieces) this.#output.write(piece)
    this.#output.uncork()
  }
}

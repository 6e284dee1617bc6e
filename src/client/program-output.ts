// The standard streams of this program, for what its tasks print. A reader that has gone breaks
// nothing, and one that is slow lets nothing pile up without end.

import { isUtf8 } from 'node:buffer'
import type { OutputStream } from '../wire/message.js'
import type { PrintTarget } from './output-printer.js'

/** So much waits to be written at most, in bytes, where streams do not wait for their readers. */
const MAX_WAITING_BYTES = 4 * 1024 ** 2
/** That output is dropped is said at most so often. */
const WARNING_INTERVAL_MS = 1_000

/** The part of `process.stdout` that is needed. */
export interface ProgramStream {
  readonly writableLength: number
  readonly destroyed: boolean
  listenerCount(event: 'error'): number
  once(event: 'error', listener: () => void): unknown
  off(event: 'error', listener: () => void): unknown
  write(chunk: string | Uint8Array, onWritten: () => void): unknown
}

/** Writes to the program's streams, and warns of what was dropped. */
export class ProgramOutput implements PrintTarget {
  readonly #streams: () => Readonly<Record<OutputStream, ProgramStream>>
  #droppedBytes = 0
  #timer: NodeJS.Timeout | undefined

  /** `streams` are asked for anew each time: a program may replace them. */
  constructor(streams: () => Readonly<Record<OutputStream, ProgramStream>> = () => process) {
    this.#streams = streams
  }

  write(name: OutputStream, bytes: Uint8Array): boolean {
    const stream = this.#streams()[name]
    if (stream.destroyed) return true
    if (stream.writableLength > MAX_WAITING_BYTES) return false
    // As console.log does it: whoever has no reader any more shall not die of that.
    const ignore = (): void => {}
    const isAlone = stream.listenerCount('error') === 0
    if (isAlone) stream.once('error', ignore)
    // Those who replace `write` often expect text.
    const chunk = isUtf8(bytes) ? Buffer.from(bytes).toString() : bytes
    stream.write(chunk, () => {
      // The error comes after this.
      if (isAlone) setImmediate(() => stream.off('error', ignore))
    })
    return true
  }

  onDropped(bytes: number): void {
    this.#droppedBytes += bytes
    this.#timer ??= setTimeout(() => this.warn(), WARNING_INTERVAL_MS).unref()
  }

  /** Says what was dropped and not said. */
  warn(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#droppedBytes === 0) return
    const amount = this.#droppedBytes.toLocaleString('en-US')
    const why = 'they came faster than they could be passed on'
    const text = `${amount} bytes that tasks have printed were dropped: ${why}`
    this.#droppedBytes = 0
    process.emitWarning(text, { type: 'ScalerWarning', code: 'SCALER_OUTPUT_DROPPED' })
  }
}

// Output of user code, as lines for the log, a limited amount in each turn of the event loop: a
// task that prints endlessly is slowed down by its full pipe, and delays neither heartbeats nor the
// tasks of other workers.

import type { Readable } from 'node:stream'
import { joinBytes } from '../../base/bytes.js'
import type { LogFields } from '../../base/logger.js'
import type { TaskOutput } from '../../wire/message.js'
import { LineSplitter } from './spawn.js'

// Joins the output that one task prints in many small pieces, line by line, into one message for
// everything that was read together.

/** A batch of this size is sent. */
const MAX_BYTES = 64 * 1024

/** Collects output. Call `flush` before sending anything else, which must not overtake it. */
export class OutputBatch {
  readonly #tell: (output: TaskOutput) => void
  #first: TaskOutput | undefined
  #pieces: Uint8Array[] = []
  #bytes = 0

  constructor(tell: (output: TaskOutput) => void) {
    this.#tell = tell
  }

  /** Adds output, which is sent with the next `flush` at the latest. */
  add(output: TaskOutput): void {
    const first = this.#first
    const isSame = first?.taskId === output.taskId && first.stream === output.stream
    if (!isSame || first.client !== output.client || this.#bytes >= MAX_BYTES) this.flush()
    this.#first ??= output
    this.#pieces.push(output.content)
    this.#bytes += output.content.byteLength
  }

  /** Sends everything collected so far. */
  flush(): void {
    const first = this.#first
    if (first === undefined) return
    const pieces = this.#pieces
    this.#first = undefined
    this.#pieces = []
    this.#bytes = 0
    if (pieces.length === 1) this.#tell(first)
    else this.#tell({ ...first, bytes: undefined, content: joinBytes(pieces) })
  }
}

/** Bytes that are split into lines in one turn. */
const SLICE_BYTES = 4096

/** If more is waiting, which arrived before its source was paused, it is split immediately. */
const MAX_WAITING_BYTES = 1024 ** 2

/** A piece of output; `fields` name the task. */
interface Piece {
  readonly bytes: Uint8Array
  readonly fields: LogFields
}

const NO_FIELDS: LogFields = {}

/** Calls `onLine` for each line written to it. */
export class OutputLog {
  readonly #sources: readonly Readable[]
  readonly #splitter: LineSplitter
  #pieces: Piece[] = []
  #waitingBytes = 0
  /** The task whose line is not finished yet. */
  #fields = NO_FIELDS
  #isBusy = false
  #hasClosed = false

  /** Output comes from `sources`, which are paused while it is too much; the first one ends it. */
  constructor(
    sources: readonly [Readable, ...Readable[]],
    onLine: (line: string, fields: LogFields) => void,
  ) {
    this.#sources = sources
    this.#splitter = new LineSplitter((line) => onLine(line, this.#fields))
    const [source] = sources
    source.on('error', () => {})
    source.on('close', () => {
      this.#hasClosed = true
      if (!this.#isBusy) this.#splitter.end()
    })
  }

  /** Adds the next chunk, which must not be changed any more. */
  write(bytes: Uint8Array, fields: LogFields = NO_FIELDS): void {
    this.#pieces.push({ bytes, fields })
    this.#waitingBytes += bytes.byteLength
    if (this.#waitingBytes > MAX_WAITING_BYTES) this.#cut(Infinity)
    if (this.#isBusy) return
    this.#isBusy = true
    for (const source of this.#sources) source.pause()
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
    for (const source of this.#sources) source.resume()
  }

  #cut(maxBytes: number): void {
    for (let left = maxBytes; left > 0;) {
      const [piece] = this.#pieces
      if (piece === undefined) return
      const { bytes, fields } = piece
      const slice = bytes.subarray(0, Math.min(left, bytes.byteLength))
      left -= Math.max(slice.byteLength, 1)
      this.#waitingBytes -= slice.byteLength
      if (slice.byteLength === bytes.byteLength) this.#pieces.shift()
      else this.#pieces[0] = { bytes: bytes.subarray(slice.byteLength), fields }
      this.#speak(fields)
      this.#splitter.write(slice)
    }
  }

  /** Ends the unfinished line of one task before another task prints. */
  #speak(fields: LogFields): void {
    const { task, attempt } = fields
    if (task === this.#fields['task'] && attempt === this.#fields['attempt']) return
    this.#splitter.end()
    this.#fields = fields
  }
}

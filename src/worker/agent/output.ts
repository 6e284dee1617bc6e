// Output of user code, as lines for the log, a limited amount in each turn of the event loop: a
// task that prints endlessly is slowed down by its full pipe, and delays neither heartbeats nor the
// tasks of other workers.

import type { Readable } from 'node:stream'
import { joinBytes } from '../../base/bytes.js'
import { type LogFields, type Logger, type LogLevel, logsTasks } from '../../base/logger.js'
import { briefText } from '../../runtime/log/line.js'
import type { LineSource, LoggedLine, TaskOutput } from '../../wire/message.js'
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

// The last lines of a worker, for operators: what its tasks have printed, wherever it went, and the
// worker's own log. They are kept as they came, and split into lines only for an answer.

/** What is kept, in bytes, including a little for each piece. */
const KEPT_BYTES = 64 * 1024
const PIECE_BYTES = 32

/** A piece without a line end grows up to this size. */
const MAX_LINE_BYTES = 16 * 1024

/** Longer lines are cut. */
const MAX_LINE_LENGTH = 4_096

const LINE_FEED = 0x0a

/** Output that arrived together. */
interface KeptPiece {
  readonly source: LineSource
  /** The task that printed it; empty: unknown. */
  readonly task: string
  /** Milliseconds since 1970. */
  readonly atMS: number
  bytes: Buffer
  /** Its first line may lack its beginning. */
  isCut: boolean
}

/** Keeps the last lines of one worker. */
export class LastLines {
  readonly #pieces: KeptPiece[] = []
  #keptBytes = 0

  /** Adds output, of which a copy is kept. */
  add(source: LineSource, content: Uint8Array, task = ''): void {
    if (content.byteLength === 0) return
    const bytes = Buffer.from(content.subarray(-KEPT_BYTES))
    const last = this.#pieces.at(-1)
    const isSame = last?.source === source && last.task === task
    const isOpen = isSame && last.bytes.at(-1) !== LINE_FEED
    if (isOpen && last.bytes.byteLength < MAX_LINE_BYTES) {
      last.bytes = Buffer.concat([last.bytes, bytes])
    } else {
      const isCut = bytes.byteLength < content.byteLength
      this.#pieces.push({ source, task, atMS: Date.now(), bytes, isCut })
      this.#keptBytes += PIECE_BYTES
    }
    this.#keptBytes += bytes.byteLength
    this.#trim()
  }

  /** A logger that keeps each line that it passes on, or would, at its usual level. */
  of(logger: Logger): Logger {
    const keep =
      (level: LogLevel) =>
      (text: string, fields: LogFields = {}): void => {
        logger[level](text, fields)
        if (level === 'debug' && !logsTasks(logger)) return
        this.add('log', Buffer.from(`${briefText({ level, text, fields })}\n`))
      }
    return {
      debug: keep('debug'),
      info: keep('info'),
      warn: keep('warn'),
      error: keep('error'),
      isLevelEnabled: (level) => logger.isLevelEnabled?.(level) ?? true,
    }
  }

  /** The last lines, at most this many, oldest first. */
  last(most: number): readonly LoggedLine[] {
    const found: LoggedLine[] = []
    for (const piece of this.#pieces.toReversed()) {
      if (found.length >= most) break
      found.push(...linesIn(piece).toReversed())
    }
    return found.slice(0, most).toReversed()
  }

  #trim(): void {
    for (let over = this.#keptBytes - KEPT_BYTES; over > 0;) {
      const [oldest] = this.#pieces
      if (oldest === undefined) return
      const { byteLength } = oldest.bytes
      if (byteLength <= over) this.#pieces.shift()
      else Object.assign(oldest, { bytes: oldest.bytes.subarray(over), isCut: true })
      const dropped = byteLength <= over ? byteLength + PIECE_BYTES : over
      this.#keptBytes -= dropped
      over -= dropped
    }
  }
}

function linesIn({ source, atMS, bytes, isCut }: KeptPiece): readonly LoggedLine[] {
  const texts = bytes.toString().replace(/\n$/, '').split('\n')
  if (isCut && texts.length > 1) texts.shift()
  return texts.map((text) => {
    return { atMS, source, text: text.replace(/\r$/, '').slice(0, MAX_LINE_LENGTH) }
  })
}

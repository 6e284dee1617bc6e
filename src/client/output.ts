// Prints what tasks have printed, on the standard streams of this program: as it comes while one
// task prints, and line by line, each behind the name of its task, while several do. What has been
// printed never ends within a character, and a line of one task is never continued by another.

import { isUtf8 } from 'node:buffer'
import { asBuffer, copyOf } from '../base/bytes.js'
import { idToHex, type TaskId } from '../base/ids.js'
import type { OutputStream, TaskOutput } from '../wire/message.js'

/** Longer lines are cut, in bytes. */
const MAX_LINE_BYTES = 64 * 1024
/** So many tasks are known to print at most; what the others have begun is printed. */
const MAX_TASKS = 100
/** So many digits of its id stand behind the name of a task. */
const ID_DIGITS = 8
/** Longer names are cut, in characters. */
const MAX_NAME_LENGTH = 100
const NEWLINE = 0x0a

/** The streams of a program. */
interface PrintTarget {
  /** Writes some bytes, which are not changed afterwards. False: dropped, as too much waits. */
  write(stream: OutputStream, bytes: Uint8Array): boolean
  /** So many bytes of the output were dropped. */
  onDropped(bytes: number): void
}

/** A stream of a task. */
interface Line {
  /** The line that has not ended, as far as it was not printed. */
  held: Buffer[]
  /** All of it, printed or not, in bytes. */
  length: number
}

/** A task that prints. */
interface Printing {
  readonly prefix: Buffer
  readonly lines: Readonly<Record<OutputStream, Line>>
}

/** Prints what comes. */
export class OutputPrinter {
  readonly #target: PrintTarget
  /** Tasks that have printed and not ended, those last that have printed last. */
  readonly #tasks = new Map<TaskId, Printing>()
  /** Whose line has been printed without its end, by stream. */
  readonly #open: Record<OutputStream, Printing | undefined> = {
    stdout: undefined,
    stderr: undefined,
  }

  constructor(target: PrintTarget) {
    this.#target = target
  }

  /** Some output of a task, or its end. */
  print(output: TaskOutput): void {
    const { taskId, stream, content, droppedBytes, isLast } = output
    if (droppedBytes > 0) this.#target.onDropped(droppedBytes)
    if (content.byteLength > 0) {
      const task = this.#begin(output)
      if (this.#tasks.size > 1) this.#printLines(task, stream, asBuffer(content))
      else this.#printOn(task, stream, asBuffer(content))
    }
    if (isLast) this.#end(taskId)
  }

  /** Nothing more is known of what has begun: the connection was lost. */
  endAll(): void {
    for (const id of this.#tasks.keys()) this.#end(id)
  }

  #begin({ taskId, name }: TaskOutput): Printing {
    let task = this.#tasks.get(taskId)
    if (task === undefined) {
      const title = name === '' ? 'anonymous' : printable(name)
      const prefix = Buffer.from(`[${title} ${idToHex(taskId).slice(0, ID_DIGITS)}] `)
      const newLine = (): Line => ({ held: [], length: 0 })
      task = { prefix, lines: { stdout: newLine(), stderr: newLine() } }
      const [oldest] = this.#tasks.keys()
      if (this.#tasks.size >= MAX_TASKS && oldest !== undefined) this.#end(oldest)
    } else this.#tasks.delete(taskId)
    this.#tasks.set(taskId, task)
    return task
  }

  #end(id: TaskId): void {
    const task = this.#tasks.get(id)
    if (task === undefined) return
    for (const stream of ['stdout', 'stderr'] as const) this.#flushHeld(task, stream)
    this.#tasks.delete(id)
  }

  /** The only task that prints: as it comes. */
  #printOn(task: Printing, stream: OutputStream, content: Buffer): void {
    const line = task.lines[stream]
    const isHeld = line.held.length > 0
    this.#break(task, stream, !isHeld)
    const pieces = isHeld ? [task.prefix, ...line.held] : []
    line.held = []
    forEachLine(content, line, (piece, isCut) => {
      pieces.push(piece)
      if (isCut) pieces.push(Buffer.of(NEWLINE))
    })
    this.#write(stream, pieces)
    this.#open[stream] = line.length > 0 ? task : undefined
  }

  /** One of several: whole lines. */
  #printLines(task: Printing, stream: OutputStream, content: Buffer): void {
    const line = task.lines[stream]
    const pieces: Buffer[] = []
    // A line that it has begun when it was the only one needs no name.
    let isBegun = this.#open[stream] === task
    forEachLine(content, line, (piece, isCut) => {
      line.held.push(piece)
      if (!isCut && piece[piece.length - 1] !== NEWLINE) return
      if (!isBegun) pieces.push(task.prefix)
      pieces.push(...line.held)
      if (isCut) pieces.push(Buffer.of(NEWLINE))
      line.held = []
      isBegun = false
    })
    // It is kept for longer than the message.
    line.held = line.held.map((piece) => asBuffer(copyOf(piece)))
    if (pieces.length === 0) return
    this.#break(task, stream, false)
    this.#write(stream, pieces)
    this.#open[stream] = undefined
  }

  /** What is left of a line of a task that has ended. */
  #flushHeld(task: Printing, stream: OutputStream): void {
    const line = task.lines[stream]
    if (line.held.length === 0) return
    const isBegun = this.#open[stream] === task
    this.#break(task, stream, false)
    this.#write(stream, [...(isBegun ? [] : [task.prefix]), ...line.held, Buffer.of(NEWLINE)])
    this.#open[stream] = undefined
    line.held = []
  }

  /**
   * Ends the line that another task has begun, unless `mayContinue`: then the other has ended, and
   * this one goes on where it was, as in a program that does one after the other.
   */
  #break(task: Printing, stream: OutputStream, mayContinue: boolean): void {
    const open = this.#open[stream]
    if (open === undefined || open === task) return
    this.#open[stream] = undefined
    if (mayContinue) return
    this.#write(stream, [Buffer.of(NEWLINE)])
    open.lines[stream].length = 0
  }

  #write(stream: OutputStream, pieces: readonly Buffer[]): void {
    const bytes = Buffer.concat(pieces)
    if (bytes.byteLength === 0) return
    if (!this.#target.write(stream, bytes)) this.#target.onDropped(bytes.byteLength)
  }
}

/**
 * Cuts bytes into lines with their ends, of which the first goes on with `line`, and the last may
 * have no end. One that is too long comes in pieces, which are cut.
 */
function forEachLine(
  content: Buffer,
  line: Line,
  onPiece: (piece: Buffer, isCut: boolean) => void,
): void {
  for (let at = 0; at < content.length;) {
    const found = content.indexOf(NEWLINE, at)
    const end = found < 0 ? content.length : found + 1
    const room = MAX_LINE_BYTES - line.length
    const lineEnd = found < 0 ? end : found
    if (lineEnd - at <= room) {
      onPiece(content.subarray(at, end), false)
      line.length = found < 0 ? line.length + end - at : 0
      at = end
    } else {
      const cut = at + Math.max(characterStart(content, at + room) - at, 0)
      onPiece(content.subarray(at, cut), true)
      line.length = 0
      at = cut
    }
  }
}

/** Where the character begins that the byte at `at` belongs to: bytes 10xxxxxx go on with one. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at
  while (start > at - 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
  return start
}

/** A name of a user's without what would move the cursor. */
function printable(name: string): string {
  // eslint-disable-next-line no-control-regex -- that is what must not be printed
  return name.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ').slice(0, MAX_NAME_LENGTH)
}

// The standard streams of this program, for what its tasks print. A reader that has gone breaks
// nothing, and one that is slow lets nothing pile up without end.

/** So much waits to be written at most, in bytes, where streams do not wait for their readers. */
const MAX_WAITING_BYTES = 4 * 1024 ** 2
/** That output is dropped is said at most so often. */
const WARNING_INTERVAL_MS = 1_000

/** The part of `process.stdout` that is needed. */
interface ProgramStream {
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

// Prints the output of tasks on the standard streams of this program: as it arrives while one task
// prints, and line by line, each with the name of its task, while several do. Output never stops in
// the middle of a character, and a line of one task is never continued by another.

import { isUtf8 } from 'node:buffer'
import { asBuffer, copyOf } from '../base/bytes.js'
import { idToHex, type TaskId } from '../base/ids.js'
import type { OutputStream, TaskOutput } from '../wire/message.js'

/** Longer lines are cut, in bytes. */
const MAX_LINE_BYTES = 64 * 1024
/** The most printing tasks to remember; for others, unfinished lines are printed at once. */
const MAX_TASKS = 100
/** The number of digits of its id after the name of a task. */
const ID_DIGITS = 8
/** Longer names are cut, in characters. */
const MAX_NAME_LENGTH = 100
const NEWLINE = 0x0a

/** The streams of a program. */
interface PrintTarget {
  /**
   * Writes some bytes, which are not changed afterwards. False: dropped, because too much is
   * queued.
   */
  write(stream: OutputStream, bytes: Uint8Array): boolean
  /** This many bytes of the output were dropped. */
  onDropped(bytes: number): void
}

/** A stream of a task. */
interface Line {
  /** The part of an unfinished line that was not printed. */
  held: Buffer[]
  /** The length of the unfinished line, printed or not, in bytes. */
  length: number
}

/** A task that prints. */
interface Printing {
  readonly prefix: Buffer
  readonly lines: Readonly<Record<OutputStream, Line>>
}

/** Prints output as it arrives. */
export class OutputPrinter {
  readonly #target: PrintTarget
  /** Tasks that have printed and not ended, ordered by their last output. */
  readonly #tasks = new Map<TaskId, Printing>()
  /** The task whose line was printed without its end, by stream. */
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

  /** The connection was lost: unfinished lines will not be continued. */
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

  /** The only task that prints: as it arrives. */
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
    // A line that it began when it was the only one needs no name.
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
    // Kept for longer than the message.
    line.held = line.held.map((piece) => asBuffer(copyOf(piece)))
    if (pieces.length === 0) return
    this.#break(task, stream, false)
    this.#write(stream, pieces)
    this.#open[stream] = undefined
  }

  /** Prints the rest of a line of a task that has ended. */
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
   * Ends the unfinished line of another task, unless `mayContinue`: then the other has ended, and
   * this one continues in the same line, as in a program that runs one after the other.
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
 * Splits bytes into lines with their ends: the first continues `line`, and the last may have no
 * end. A line that is too long comes in pieces, which are cut.
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

/** A user's name without characters that would move the cursor. */
function printable(name: string): string {
  // eslint-disable-next-line no-control-regex -- that is what must not be printed
  return name.replaceAll(/[\u0000-\u001f\u007f-\u009f]/g, ' ').slice(0, MAX_NAME_LENGTH)
}

// The standard streams of this program for output of its tasks. A reader that exits causes no
// error, and a slow reader causes no unbounded queue.

/** The most bytes that may be queued where streams do not wait for their readers. */
const MAX_WAITING_BYTES = 4 * 1024 ** 2
/** The minimum interval between warnings about dropped output. */
const WARNING_INTERVAL_MS = 1_000

/** Writes to the program's streams, and warns of dropped output. */
export class ProgramOutput implements PrintTarget {
  #droppedBytes = 0
  #timer: NodeJS.Timeout | undefined

  write(name: OutputStream, bytes: Uint8Array): boolean {
    // Read anew each time: a program may replace it.
    const stream = process[name]
    if (stream.destroyed) return true
    if (stream.writableLength > MAX_WAITING_BYTES) return false
    // Like console.log: a closed reader must not end the program.
    const ignore = (): void => {}
    const isAlone = stream.listenerCount('error') === 0
    if (isAlone) stream.once('error', ignore)
    // Programs that replace `write` often expect text.
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

  /** Reports dropped output that has not been reported. */
  warn(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#droppedBytes === 0) return
    const amount = this.#droppedBytes.toLocaleString('en-US')
    const why = 'they arrived faster than they could be written'
    const text = `${amount} bytes printed by tasks were dropped: ${why}`
    this.#droppedBytes = 0
    process.emitWarning(text, { type: 'ScalerWarning', code: 'SCALER_OUTPUT_DROPPED' })
  }
}

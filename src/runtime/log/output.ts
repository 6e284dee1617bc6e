// Where the lines of a log go: a standard stream or a file. Writing to an output never throws: a
// full disk must not take down a running process.

import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { ScalerError } from '../../base/errors.js'

// Why a file cannot be read or written, in plain words: Node's messages repeat system calls and
// paths.

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'operation not permitted'],
  ['ENOENT', 'there is no such file or directory'],
  ['ENOTDIR', 'a part of the path is not a directory'],
  ['EISDIR', 'it is a directory'],
  ['ELOOP', 'too many symbolic links'],
  ['ENAMETOOLONG', 'the name is too long'],
  ['EROFS', 'the file system is read-only'],
  ['ETXTBSY', 'it is a running program'],
  ['ENOSPC', 'no space left on the device'],
  ['EDQUOT', 'the disk quota is used up'],
  ['EFBIG', 'the file is too large'],
  ['EIO', 'the device failed'],
  ['EMFILE', 'too many open files'],
  ['ENFILE', 'too many open files'],
  ['ENXIO', 'no process reads the pipe'],
  ['EAGAIN', 'its reader does not keep up'],
  ['EPIPE', 'its reader has closed it'],
])

/** The reason in an error of `node:fs`, without the path: `permission denied`. */
export function fileTrouble(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return REASONS.get(code ?? '') ?? message
}

/** The part of `process.stdout` that is needed. */
export interface LogStream {
  readonly isTTY?: boolean
  /** Whether colours are wanted: Node's streams obey NO_COLOR, FORCE_COLOR and TERM. */
  hasColors?(): boolean
  write(text: string, onWritten?: () => void): unknown
  on?(event: 'error', listener: (error: Error) => void): unknown
  off?(event: 'error', listener: (error: Error) => void): unknown
}

/** The streams of the process, unless others are given. */
export interface LogStreams {
  readonly stdout?: LogStream
  /** Also receives messages about the log itself. */
  readonly stderr?: LogStream
  /** The program named in messages about the log: `scaler cluster`. */
  readonly calledAs?: string
}

/** An open output. */
export interface LogOutput {
  readonly isTerminal: boolean
  readonly hasColors: boolean
  /** Writes one line, including its line end. Never throws. */
  write(line: string): void
  /** Reopens the file by its path. Does nothing for streams. */
  reopen(): void
  /** Resolves once everything is written. Nothing is written afterwards. */
  close(): Promise<void>
}

/** Not through Node's stream, which reports errors later and may end the process. */
const STDERR = 2

const STANDARD: ReadonlyMap<string, 'stdout' | 'stderr'> = new Map([
  ['/dev/stdout', 'stdout'],
  ['-', 'stdout'],
  ['/dev/stderr', 'stderr'],
])

/** Does not wait for the reader of a pipe, and never becomes the controlling terminal. */
const OPEN_FLAGS =
  constants.O_WRONLY |
  constants.O_APPEND |
  constants.O_CREAT |
  (constants.O_NONBLOCK ?? 0) |
  (constants.O_NOCTTY ?? 0)

/**
 * Opens a path for appending: `/dev/stdout` (or `-`) and `/dev/stderr` are the streams. Throws an
 * error with the system's as its `cause` if the path cannot be opened.
 */
export function openOutput(path: string, streams: LogStreams): LogOutput {
  const complain = complainTo(streams)
  const name = STANDARD.get(path)
  if (name === undefined) return new FileOutput(path, openFile(path), complain)
  const given = streams[name]
  if (given !== undefined) return new StreamOutput(given)
  const { fd } = process[name]
  return isFileLike(fd) ? new FileOutput(path, fd, complain) : new StreamOutput(process[name])
}

function openFile(path: string): number {
  try {
    return openSync(path, OPEN_FLAGS, 0o666)
  } catch (error) {
    const text = `cannot write the log to ${path}: ${fileTrouble(error)}`
    throw new ScalerError('ERR_SCALER_LOG', text, { cause: error })
  }
}

/** Node's stream gives up at the first error, but a disk that is full now may have room later. */
function isFileLike(fd: number): boolean {
  try {
    const stat = fstatSync(fd)
    return stat.isFile() || (stat.isCharacterDevice() && !isatty(fd))
  } catch {
    return false
  }
}

/** Reports problems with the log itself on stderr, if stderr still works. */
function complainTo({ stderr, calledAs }: LogStreams): (text: string) => void {
  return (text) => {
    const line = calledAs === undefined ? `${text}\n` : `${calledAs}: ${text}\n`
    try {
      if (stderr === undefined) writeSync(STDERR, line)
      else stderr.write(line)
    } catch {
      // There is nowhere left to report it.
    }
  }
}

/** Writes lines to a stream. Stream errors are ignored: nothing reads it any more. */
class StreamOutput implements LogOutput {
  readonly isTerminal: boolean
  readonly hasColors: boolean
  readonly #stream: LogStream
  readonly #ignore = (): void => {}
  #isClosed = false

  constructor(stream: LogStream) {
    this.#stream = stream
    this.isTerminal = stream.isTTY === true
    this.hasColors = this.isTerminal && stream.hasColors?.() === true
    stream.on?.('error', this.#ignore)
  }

  write(line: string): void {
    if (!this.#isClosed) this.#stream.write(line)
  }

  reopen(): void {}

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    // On some systems pipes are written in the background.
    await new Promise<void>((resolve) => this.#stream.write('', () => resolve()))
    this.#stream.off?.('error', this.#ignore)
  }
}

/** Writes lines to a file, each immediately: the last lines before a crash matter most. */
class FileOutput implements LogOutput {
  readonly isTerminal: boolean
  readonly hasColors = false
  readonly #path: string
  readonly #complain: (text: string) => void
  readonly #isOwn: boolean
  #fd: number | undefined
  /** Lines lost since the last successful write. */
  #lost = 0
  /** Whether the file ends inside a line. */
  #isTorn = false

  constructor(path: string, fd: number, complain: (text: string) => void) {
    this.#path = path
    this.#fd = fd
    this.#complain = complain
    this.#isOwn = fd > 2
    this.isTerminal = isatty(fd)
  }

  write(line: string): void {
    const fd = this.#fd
    if (fd === undefined) return
    const bytes = Buffer.from(this.#isTorn ? `\n${line}` : line)
    let written = 0
    try {
      while (written < bytes.length) written += writeSync(fd, bytes, written)
      this.#isTorn = false
      if (this.#lost > 0) this.#tellLoss()
    } catch (error) {
      if (written > 0) this.#isTorn = bytes[written - 1] !== 0x0a
      this.#lost += 1
      if (this.#lost === 1) {
        const why = fileTrouble(error)
        this.#complain(`cannot write the log to ${this.#path}: ${why}; continuing without it`)
      }
    }
  }

  reopen(): void {
    if (this.#fd === undefined || !this.#isOwn) return
    try {
      const fd = openFile(this.#path)
      this.#closeFile(this.#fd)
      this.#fd = fd
      this.#isTorn = false
    } catch (error) {
      this.#complain((error as Error).message)
    }
  }

  close(): Promise<void> {
    const fd = this.#fd
    this.#fd = undefined
    if (fd !== undefined && this.#isOwn) this.#closeFile(fd)
    return Promise.resolve()
  }

  /** Some devices report failed writes only when the file is closed. */
  #closeFile(fd: number): void {
    try {
      closeSync(fd)
    } catch (error) {
      this.#complain(`cannot close the log ${this.#path}: ${fileTrouble(error)}`)
    }
  }

  #tellLoss(): void {
    this.#complain(`writing the log to ${this.#path} again; ${this.#lost} lines were lost`)
    this.#lost = 0
  }
}

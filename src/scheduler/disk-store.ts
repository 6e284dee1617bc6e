// Content that was moved from memory to disk: written and read in pieces, without holding up the
// scheduler, and with a checksum. docs/protocol.md#storage

import { accessSync, constants, existsSync, readSync, statfsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { totalBytes } from '../base/bytes.js'
import type { Logger } from '../base/logger.js'
import { messageOf } from '../base/text.js'
import type { SchedulerAction, SchedulerEvent } from '../core/scheduler/events.js'
import { directoryError } from '../runtime/directory-option.js'
import { closeObjectFile, OPEN_FLAGS } from '../runtime/object-files.js'
import { Shortage } from '../runtime/storage/shortage.js'
import { fileOf, type ObjectFile } from '../wire/object-content.js'
import { OwnDirectory, removeAbandoned, removeLater } from '../runtime/own-directory.js'

/** On disk, also where `/tmp` is in memory. */
const DISK_DIRECTORY = '/var/tmp'

/** The part of the free space of the disk that is used at most, unless a limit is set. */
const FREE_SHARE = 0.5

/** Files are written and read in pieces of this size. */
const PIECE_BYTES = 1024 ** 2

/** See `DiskStore.isBehind`; it has caught up at half of that. */
const MAX_WAITING_BYTES = 32 * 1024 ** 2

/** The most files in memory that are held open until they are written. */
const MAX_OPEN_SOURCES = 64

/** Content to write. */
type Move = Extract<SchedulerAction, { readonly type: 'moveToDisk' }>

/** What became of it. */
export type MoveEvent = Extract<SchedulerEvent, { readonly type: 'movedToDisk' | 'moveFailed' }>

/** A file with content. */
interface StoredFile {
  readonly byteLength: number
  readonly checksum: number
}

/** Content whose writing has not ended. */
interface WaitingMove {
  readonly move: Move
  /** The file in memory that has the content; undefined: this process has it. */
  readonly file: ObjectFile | undefined
  /** That file; undefined: it is opened when it is written. */
  readonly source: number | undefined
  readonly byteLength: number
}

/** What the files on disk need. */
interface DiskStoreParts {
  /** Never called from within `write`. */
  onMoved(event: MoveEvent): void
  /** Opens a file in memory; undefined if it is gone. Throws the system's error. */
  openFile(path: string): number | undefined
  /** `isBehind` has changed. */
  readonly onBehind: (isBehind: boolean) => void
  /** Writes a warning to the log. */
  tell: Logger['warn']
  /** Default: 32 MiB. */
  readonly maxWaitingBytes?: number
}

/** The files of one scheduler on disk. */
export class DiskStore {
  readonly #parts: DiskStoreParts
  readonly #shortage: Shortage
  #base = ''
  #directory: OwnDirectory | undefined
  #isClosed = false
  readonly #files = new Map<string, StoredFile>()
  readonly #waiting: WaitingMove[] = []
  #waitingBytes = 0
  #isBehind = false
  #openSources = 0
  #isWriting = false

  constructor(parts: DiskStoreParts) {
    this.#parts = parts
    this.#shortage = new Shortage((text, fields) => parts.tell(text, fields))
  }

  /**
   * Uses this directory once the first content is moved; '' = none. Without a `wish`, `/var/tmp`.
   * Returns how many bytes may be stored: `limit`, or half of what is free; 0 = there is no such
   * directory. Throws `ConfigError` for a wish that cannot be used.
   */
  open(wish: string | undefined, limit: number | undefined): number {
    const base = wish ?? (process.platform === 'win32' ? '' : DISK_DIRECTORY)
    if (base === '') return 0
    try {
      const { bavail, bsize } = statfsSync(base)
      // A directory that was named must be writable now, and not only when memory is full.
      accessSync(base, constants.W_OK)
      if (wish !== undefined) this.#directory = this.#makeDirectory(wish)
      else removeAbandoned(base)
      this.#base = base
      return limit ?? Math.floor(bavail * bsize * FREE_SHARE)
    } catch (error) {
      if (wish === undefined) {
        this.#parts.tell('objects are kept in memory only', {
          directory: base,
          error: messageOf(error),
        })
        return 0
      }
      throw directoryError('objectSpillDirectory', wish, error)
    }
  }

  /** Whether the file would be one of these. */
  owns(path: string): boolean {
    return this.#directory?.has(path) === true
  }

  /** Whether it is the content of an object. */
  has(path: string): boolean {
    return this.#files.has(path)
  }

  /** Whether content arrives faster than it can be written: no more should be accepted now. */
  get isBehind(): boolean {
    return this.#isBehind
  }

  /** Writes content into a file, after what waits already. */
  write(move: Move): void {
    const file = move.objectType === 'file' ? fileOf(move.chunks) : undefined
    let source: number | undefined
    try {
      // Now, if possible: its name may be gone when it is written.
      source = file && this.#openSources < MAX_OPEN_SOURCES ? this.#open(file) : undefined
    } catch (error) {
      return this.#reportFailure(move.move, error)
    }
    const byteLength = file?.byteLength ?? totalBytes(move.chunks)
    this.#waiting.push({ move, file, source, byteLength })
    this.#countWaiting(byteLength)
    void this.#writeAll()
  }

  /** The content of a file, once there is a descriptor for it; undefined if it is damaged. */
  async read(path: string): Promise<Uint8Array | undefined> {
    if (!this.#files.has(path)) return undefined
    let why = 'its checksum is wrong'
    try {
      const read = await this.#shortage.outlast(async () => {
        const file = this.#files.get(path)
        return file && { ...(await readChecked(path, file.byteLength)), wanted: file.checksum }
      })
      if (read?.bytes !== undefined && read.checksum === read.wanted) return read.bytes
    } catch (error) {
      why = messageOf(error)
    }
    // Unless it was removed meanwhile.
    if (this.#files.has(path))
      this.#parts.tell('cannot read an object on disk', { path, error: why })
    return undefined
  }

  /** The content of a file is not needed any more. False: it is not one of these. */
  remove(path: string): boolean {
    if (!this.#files.delete(path)) return false
    removeLater(path)
    return true
  }

  /** Removes all files. */
  close(): void {
    this.#isClosed = true
    this.#shortage.close()
    for (const { source } of this.#waiting) this.#close(source)
    this.#waiting.length = 0
    this.#files.clear()
    this.#directory?.close()
    this.#directory = undefined
  }

  async #writeAll(): Promise<void> {
    if (this.#isWriting) return
    this.#isWriting = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      await this.#write(next)
      this.#countWaiting(-next.byteLength)
    }
    this.#isWriting = false
  }

  #countWaiting(bytes: number): void {
    const { maxWaitingBytes = MAX_WAITING_BYTES, onBehind } = this.#parts
    this.#waitingBytes += bytes
    const isBehind = this.#waitingBytes > (this.#isBehind ? maxWaitingBytes / 2 : maxWaitingBytes)
    if (isBehind === this.#isBehind) return
    this.#isBehind = isBehind
    onBehind(isBehind)
  }

  async #write(waiting: WaitingMove): Promise<void> {
    let path = ''
    let { source } = waiting
    try {
      source ??= waiting.file && this.#open(waiting.file)
      path = this.#newPath()
      const handle = await open(path, 'wx', 0o600)
      let checksum = 0
      try {
        for (const piece of piecesOf(waiting, source)) {
          checksum = crcOf(piece, checksum)
          for (let at = 0; at < piece.byteLength;) {
            at += (await handle.write(piece, at)).bytesWritten
          }
        }
      } finally {
        await handle.close()
      }
      this.#onWritten(waiting, path, checksum)
    } catch (error) {
      this.#onFailed(waiting, path, error)
    } finally {
      this.#close(source)
    }
  }

  /** Throws `GoneError`, or the system's error. */
  #open(file: ObjectFile): number {
    const source = this.#parts.openFile(file.path)
    if (source === undefined) throw new GoneError(`${file.path} is gone`)
    this.#openSources += 1
    return source
  }

  #close(source: number | undefined): void {
    if (source === undefined) return
    this.#openSources -= 1
    closeObjectFile(source)
  }

  #onWritten({ move: { move }, byteLength }: WaitingMove, path: string, checksum: number): void {
    if (this.#isClosed) return removeLater(path)
    this.#files.set(path, { byteLength, checksum })
    this.#report({ type: 'movedToDisk', move, file: { path, byteLength } })
  }

  #onFailed({ move: { move } }: WaitingMove, path: string, error: unknown): void {
    if (path !== '') removeLater(path)
    if (this.#directory !== undefined && !existsSync(this.#directory.path)) this.#forgetDirectory()
    this.#reportFailure(move, error)
  }

  #reportFailure(move: number, error: unknown): void {
    const text = error instanceof GoneError ? '' : messageOf(error)
    this.#report({ type: 'moveFailed', move, error: text })
  }

  #report(event: MoveEvent): void {
    setImmediate(() => {
      if (!this.#isClosed) this.#parts.onMoved(event)
    })
  }

  /** Something else has removed it, with everything in it: the next file gets another one. */
  #forgetDirectory(): void {
    this.#directory?.close()
    this.#directory = undefined
    this.#files.clear()
  }

  #newPath(): string {
    if (this.#isClosed) throw new Error('the scheduler has ended')
    this.#directory ??= this.#makeDirectory(this.#base)
    return this.#directory.newPath()
  }

  #makeDirectory(base: string): OwnDirectory {
    return new OwnDirectory(base, (error) => {
      this.#parts.tell('cannot look for abandoned files', { error: messageOf(error) })
    })
  }
}

/** The file in memory is gone: it is this content that cannot be moved. */
class GoneError extends Error {}

/** The content, in pieces. One from a file is valid until the next one is taken. */
function* piecesOf(
  { move, byteLength }: WaitingMove,
  source: number | undefined,
): Generator<Uint8Array> {
  if (source === undefined) {
    for (const chunk of move.chunks) {
      for (let at = 0; at < chunk.byteLength; at += PIECE_BYTES) {
        yield chunk.subarray(at, at + PIECE_BYTES)
      }
    }
    return
  }
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
  for (let at = 0; at < byteLength;) {
    const count = readSync(source, piece, 0, PIECE_BYTES, at)
    if (count === 0) throw new Error('the file of the object is too short')
    at += count
    yield piece.subarray(0, count)
  }
}

/** The content of a file; undefined if it is shorter. Rejects with the system's error. */
export async function readContent(
  path: string,
  byteLength: number,
): Promise<Uint8Array | undefined> {
  return (await readChecked(path, byteLength)).bytes
}

interface CheckedContent {
  readonly bytes: Uint8Array | undefined
  readonly checksum: number
}

/** Continues a checksum. */
function crcOf(bytes: Uint8Array, checksum: number): number {
  // Loaded when it is needed: all programs load this file.
  return process.getBuiltinModule('node:zlib').crc32(bytes, checksum)
}

async function readChecked(path: string, byteLength: number): Promise<CheckedContent> {
  const handle = await open(path, OPEN_FLAGS)
  try {
    const bytes = Buffer.allocUnsafeSlow(byteLength)
    let checksum = 0
    for (let at = 0; at < byteLength;) {
      const length = Math.min(PIECE_BYTES, byteLength - at)
      const { bytesRead } = await handle.read(bytes, at, length)
      if (bytesRead === 0) return { bytes: undefined, checksum }
      checksum = crcOf(bytes.subarray(at, at + bytesRead), checksum)
      at += bytesRead
    }
    return { bytes, checksum }
  } finally {
    await handle.close()
  }
}

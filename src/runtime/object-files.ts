// Content of objects in files that a scheduler and its peers on one machine share, instead of in
// messages: the sender writes a file once, the receiver reads it once, and the bytes pass through
// no process between them. docs/protocol.md#files

import { randomBytes } from 'node:crypto'
import {
  close,
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { NO_BYTES, totalBytes } from '../base/bytes.js'
import type { ObjectId } from '../base/ids.js'
import type { Message, ObjectContent } from '../wire/message.js'
import {
  fileChunk,
  fileOf,
  keepEach,
  MIN_LARGE_BYTES,
  type ObjectFile,
  type Part,
  splitChunks,
  type SplitContent,
} from '../wire/object-content.js'
import { FULL_FILE, KEY_BYTES, KEY_FILE } from './own-directory.js'

/** More is sent in messages, which have a limit of their own. */
export const MAX_FILE_BYTES: number = 2 ** 31

/** The most that is written in one call. */
const STEP_BYTES = 2 ** 30

/** Removed files from this size on are closed in another thread. */
const FREED_ELSEWHERE_BYTES = 2 ** 20

/** Files are read in pieces of this size, which stay in the cache of the processor. */
const READ_BUFFER_BYTES = 64 * 1024

/** The name of the directory of a scheduler. */
const DIRECTORY_NAME = /^scaler-ts-[\da-f]{32}$/

/** The directory that the scheduler of a connection shares with this process, if any. */
export class ObjectFiles {
  #directory = ''
  /** Names are 32 hexadecimal digits that cannot be guessed. */
  readonly #prefix = randomBytes(10).toString('hex')
  #count = 0
  /** Open files, by path: they may be removed, with the scheduler that they were written for. */
  readonly #held = new Map<string, number>()
  /** Of these, what need not be held any more. */
  readonly #released = new Set<string>()

  /**
   * The scheduler offers a directory. Returns the proof that this process sees it; empty if it does
   * not, for example because it is on another machine.
   */
  accept(directory: string): Uint8Array {
    const proof = keyIn(directory)
    this.use(proof.byteLength === 0 ? '' : directory)
    return proof
  }

  /** Uses this directory from now on; '' = none. */
  use(directory: string): void {
    this.#directory = directory
  }

  /** Whether the file is in the directory of this connection, and there. */
  has(chunks: readonly Uint8Array[]): boolean {
    const path = fileOf(chunks)?.path
    return path !== undefined && dirname(path) === this.#directory && existsSync(path)
  }

  /**
   * Writes content into a file. Returns the chunk that names it; undefined if the content is small,
   * there is no directory, or no room: then it must be sent in a message.
   */
  put(chunks: readonly Uint8Array[]): Uint8Array | undefined {
    const byteLength = totalBytes(chunks)
    const isSuitable = byteLength >= MIN_LARGE_BYTES && byteLength <= MAX_FILE_BYTES
    if (this.#directory === '' || !isSuitable) return undefined
    const path = join(this.#directory, this.#newName())
    try {
      const isFull = existsSync(join(this.#directory, FULL_FILE))
      if (isFull || !hasRoom(this.#directory, byteLength)) return undefined
      write(path, chunks)
    } catch {
      removeFile(path)
      return undefined
    }
    return fileChunk({ path, byteLength })
  }

  /** Large content of objects goes into files, as far as possible. */
  moveOut(content: ObjectContent): ObjectContent {
    if (this.#directory === '') return content
    const types = [...content.objectTypes]
    const objectBytes = content.objectBytes.map((chunks, index) => {
      const chunk = types[index] === 'object' ? this.put(chunks) : undefined
      if (chunk === undefined) return chunks
      types[index] = 'file'
      return [chunk]
    })
    return { ...content, objectTypes: types, objectBytes }
  }

  /** Content in which all files are in the directory of this connection. */
  sendable(content: ObjectContent): ObjectContent {
    const isSendable = content.objectTypes.every((type, at) => {
      return type !== 'file' || this.has(content.objectBytes[at] ?? [])
    })
    if (isSendable) return content
    // What cannot be read stays as it is: its receiver refuses it.
    const { content: readIn } = keepEach(content, (type, chunks) => {
      const bytes = type === 'file' ? this.read(chunks) : undefined
      return bytes === undefined ? { type, chunks } : { type: 'object', chunks: splitChunks(bytes) }
    })
    return this.moveOut(readIn)
  }

  /** From now on, the content of this file can be read even if it is removed. */
  hold(path: string): void {
    this.#released.delete(path)
    if (this.#held.has(path)) return
    const fd = tryOpen(path)
    if (fd !== undefined) this.#held.set(path, fd)
  }

  /** Whether the content of this file can be read whatever happens. */
  holds(path: string): boolean {
    return this.#held.has(path) && !this.#released.has(path)
  }

  /** Undoes `hold`, at the end of this turn, unless the file is held again before that. */
  release(path: string): void {
    if (this.#released.size === 0) setImmediate(() => this.#closeReleased())
    this.#released.add(path)
  }

  /** Releases all files, and writes no more. */
  close(): void {
    this.#directory = ''
    for (const path of this.#held.keys()) this.#released.add(path)
    this.#closeReleased()
  }

  /** The number of files that are held. */
  get heldCount(): number {
    return this.#held.size
  }

  /** The content of a file, which may be held. */
  read(chunks: readonly Uint8Array[]): Uint8Array | undefined {
    return contentOf(chunks, this.#held.get(fileOf(chunks)?.path ?? ''))
  }

  /** Whether the content of a file that is held ends with these bytes. */
  endsWith(chunks: readonly Uint8Array[], end: Uint8Array): boolean {
    const file = fileOf(chunks)
    const fd = this.#held.get(file?.path ?? '')
    return file !== undefined && fd !== undefined && isAt(fd, file.byteLength - end.byteLength, end)
  }

  #closeReleased(): void {
    for (const path of this.#released) {
      const fd = this.#held.get(path)
      if (fd !== undefined) closeObjectFile(fd)
      this.#held.delete(path)
    }
    this.#released.clear()
  }

  #newName(): string {
    this.#count += 1
    return this.#prefix + this.#count.toString(16).padStart(12, '0')
  }
}

function removeFile(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // Node's permissions forbid it, too.
  }
}

/** The content of the key in a directory that only this user can have made; else empty. */
function keyIn(directory: string): Uint8Array {
  try {
    const { uid, mode } = lstatSync(directory)
    const path = join(directory, KEY_FILE)
    const isOwn = uid === process.getuid?.() && (mode & 0o77) === 0 && lstatSync(path).isFile()
    const key = isOwn && DIRECTORY_NAME.test(basename(directory)) ? readFileSync(path) : NO_BYTES
    return key.byteLength === KEY_BYTES ? key : NO_BYTES
  } catch {
    return NO_BYTES
  }
}

/** Memory in the form of files, on Linux. */
export const SHARED_MEMORY = '/dev/shm'

/**
 * Whether content fits into a directory in memory. Memory that is full would stop other programs,
 * too: half of what is left is not touched. Throws the system's error.
 */
export function hasRoom(directory: string, byteLength: number): boolean {
  const { bavail, bsize } = statfsSync(directory)
  return byteLength <= (bavail * bsize) / 2
}

/** What the system calls a file system in memory, on Linux. */
const TMPFS = 0x0102_1994

/** Whether files in the directory take memory, and no time of a disk. Throws the system's error. */
export function isInMemory(directory: string): boolean {
  return process.platform === 'linux' && statfsSync(directory).type === TMPFS
}

function write(path: string, chunks: readonly Uint8Array[]): void {
  const fd = openSync(path, 'wx', 0o600)
  try {
    for (const chunk of chunks) {
      for (let at = 0; at < chunk.byteLength;) {
        at += writeSync(fd, chunk, at, Math.min(chunk.byteLength - at, STEP_BYTES))
      }
    }
  } finally {
    closeSync(fd)
  }
}

/** Opens a file to read it, and nothing else that has such a name. */
export const OPEN_FLAGS: number =
  constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** Opens a file. Throws the system's error. */
export function openFile(path: string): number {
  return openSync(path, OPEN_FLAGS)
}

/**
 * Closes a file. Once nobody has a removed file open, the system frees its memory, which takes
 * 20 ms for 64 MiB: that of large files is freed in another thread.
 */
export function closeObjectFile(fd: number): void {
  const { nlink, size } = fstatSync(fd)
  if (nlink === 0 && size >= FREED_ELSEWHERE_BYTES) close(fd, () => {})
  else closeSync(fd)
}

function tryOpen(path: string): number | undefined {
  try {
    return openFile(path)
  } catch {
    return undefined
  }
}

function contentOf(chunks: readonly Uint8Array[], fd?: number): Uint8Array | undefined {
  const file = fileOf(chunks)
  return file && fd !== undefined ? readOpenFile(fd, file.byteLength) : readObjectFile(chunks)
}

/** Whether the file that the chunk names is (still) there. */
export function isThere(chunks: readonly Uint8Array[]): boolean {
  return existsSync(fileOf(chunks)?.path ?? '')
}

/** The content of the file that the chunk names; undefined if it is gone. */
export function readObjectFile(chunks: readonly Uint8Array[]): Uint8Array | undefined {
  const file = fileOf(chunks)
  if (file === undefined || file.byteLength > MAX_FILE_BYTES) return undefined
  try {
    return readNow(file)
  } catch {
    return undefined
  }
}

/** The content of a file; undefined if it is shorter. Throws the system's error. */
export function readNow({ path, byteLength }: ObjectFile): Uint8Array | undefined {
  const fd = openFile(path)
  try {
    return readOpenFile(fd, byteLength)
  } finally {
    closeObjectFile(fd)
  }
}

/** Files are read through this. */
let readBuffer: Buffer | undefined

/** The content of an open file, in memory of its own; undefined if it is shorter. */
export function readOpenFile(fd: number, byteLength: number): Uint8Array | undefined {
  const bytes = memoryForFile(byteLength)
  return fillFromFile(bytes, fd) ? bytes : undefined
}

/**
 * Large memory begins 16 bytes into a page, as far as it is known, and files begin with a page.
 * Processors take four times as long to copy to a place a few bytes further into its page.
 */
const HALF_PAGE = 2_048

function memoryForFile(byteLength: number): Buffer {
  return Buffer.allocUnsafeSlow(HALF_PAGE + byteLength).subarray(HALF_PAGE)
}

/** Reads all of the file that fits. False if it is shorter. */
function fillFromFile(bytes: Uint8Array, fd: number): boolean {
  for (let at = 0; at < bytes.byteLength;) {
    const count = readSync(fd, bytes, at, Math.min(bytes.byteLength - at, STEP_BYTES), at)
    if (count === 0) return false
    at += count
  }
  return true
}

/** Reads the file from `start` on, to memory that begins anywhere. False if it is shorter. */
export function fill(bytes: Uint8Array, fd: number, start: number): boolean {
  readBuffer ??= Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)
  for (let at = 0; at < bytes.byteLength;) {
    const count = readSync(fd, readBuffer, 0, READ_BUFFER_BYTES, start + at)
    if (count === 0) return false
    const length = Math.min(count, bytes.byteLength - at)
    bytes.set(length < READ_BUFFER_BYTES ? readBuffer.subarray(0, length) : readBuffer, at)
    at += length
  }
  return true
}

/** Whether the file has these bytes from `start` on. Reads no further than to the first others. */
function isAt(fd: number, start: number, bytes: Uint8Array): boolean {
  readBuffer ??= Buffer.allocUnsafeSlow(READ_BUFFER_BYTES)
  for (let at = 0; at < bytes.byteLength;) {
    const wanted = bytes.subarray(at, at + READ_BUFFER_BYTES)
    const count = readSync(fd, readBuffer, 0, wanted.byteLength, start + at)
    if (count === 0 || !readBuffer.subarray(0, count).equals(wanted.subarray(0, count)))
      return false
    at += count
  }
  return true
}

/** The most memory that is kept for the next content, and for how long. */
const [MAX_KEPT_BYTES, KEPT_MS] = [256 * 1024 ** 2, 1_000]

/** Reads content that is needed only until the next one: fresh memory would take longer to fill. */
export class ReusedMemory {
  #memory: Buffer | undefined
  #timer: NodeJS.Timeout | undefined
  /** Content that arrives, or has not been read yet, is in there. */
  #lent: Buffer | undefined

  /** Memory for other content until `takeBack`; undefined: it is lent already, or would be long. */
  lend(byteLength: number): Buffer | undefined {
    if (this.#lent !== undefined || byteLength > MAX_KEPT_BYTES) return undefined
    return (this.#lent = this.#roomFor(byteLength))
  }

  /** Content, perhaps in the memory that is lent, is not needed any more. */
  takeBack([chunk]: readonly Uint8Array[]): void {
    if (chunk !== undefined && chunk.buffer === this.#lent?.buffer) this.#lent = undefined
  }

  /**
   * The content of a file; undefined if it is gone. `isBrief`: by its first byte, whether it is
   * needed only until the next call; otherwise, it gets memory of its own.
   */
  read(chunks: readonly Uint8Array[], isBrief: (first: number) => boolean): Uint8Array | undefined {
    const file = fileOf(chunks)
    if (file === undefined || file.byteLength > MAX_KEPT_BYTES) return readObjectFile(chunks)
    const fd = tryOpen(file.path)
    if (fd === undefined) return undefined
    try {
      const first = Buffer.alloc(1)
      readSync(fd, first, 0, 1, 0)
      if (this.#lent !== undefined || !isBrief(first[0] ?? 0))
        return readOpenFile(fd, file.byteLength)
      const bytes = this.#roomFor(file.byteLength)
      return fillFromFile(bytes, fd) ? bytes : undefined
    } catch {
      return undefined
    } finally {
      closeObjectFile(fd)
    }
  }

  #roomFor(byteLength: number): Buffer {
    this.#timer ??= setTimeout(() => this.#drop(), KEPT_MS).unref()
    this.#timer.refresh()
    if ((this.#memory?.byteLength ?? 0) < byteLength) this.#memory = memoryForFile(byteLength)
    return (this.#memory as Buffer).subarray(0, byteLength)
  }

  #drop(): void {
    this.#memory = undefined
    this.#timer = undefined
  }
}

/** Shows the scheduler that this process sees the directory; no bytes: it does not. */
export function proofMessage(proof: Uint8Array): Message {
  return { kind: 'objectFiles', directory: '', proof }
}

/** Requests content in messages: the scheduler answers in order, and knows the proof afterwards. */
export function contentRequest(
  objectIds: readonly ObjectId[],
  proof: Uint8Array,
): readonly Message[] {
  const request = { kind: 'objectRequest', requestType: 'get', objectIds } as const
  return [proofMessage(NO_BYTES), request, proofMessage(proof)]
}

/** Content in which no object is in a file. What cannot be read is left out. */
export function moveIn(
  content: ObjectContent,
  read: (chunks: readonly Uint8Array[]) => Uint8Array | undefined = readObjectFile,
): SplitContent {
  return keepEach(content, (type, chunks) => {
    if (type !== 'file') return { type, chunks }
    const bytes = read(chunks)
    return bytes && { type: 'object', chunks: splitChunks(bytes) }
  })
}

/** The same content in memory; undefined: its file is gone. `fd`: that file, if it is open. */
export function inMemory(part: Part, fd?: number): Part | undefined {
  if (part.type !== 'file') return part
  const bytes = contentOf(part.chunks, fd)
  return bytes && { type: 'object', chunks: splitChunks(bytes) }
}

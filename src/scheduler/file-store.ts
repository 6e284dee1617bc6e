// The directory that a scheduler shares with the clients and workers on its machine: the content of
// objects in files there never passes through the scheduler. docs/protocol.md#files

import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { NO_BYTES } from '../base/bytes.js'
import { ConfigError } from '../base/errors.js'
import { FEATURE_FILES, hasFeature } from '../base/features.js'
import { type Identity, idToHex, type ObjectId } from '../base/ids.js'
import type { LogFields, Logger } from '../base/logger.js'
import {
  KEY_BYTES,
  KEY_FILE,
  keepEach,
  MAX_FILE_BYTES,
  moveIn,
  openFile,
  OWN_DIRECTORY,
  type Part,
  readOpenFile,
} from '../runtime/object-files.js'
import { BoundedLog } from '../transport/bounded-log.js'
import {
  type Message,
  type ObjectFiles,
  type ObjectResponse,
  PLAIN_RESULT,
  type TaskResult,
} from '../wire/message.js'
import { fileChunk, fileOf, type ObjectFile, splitChunks } from '../wire/object-content.js'

/** Memory in the form of files, on Linux. */
const SHARED_MEMORY = '/dev/shm'

/** The PID of the scheduler, and eight digits for where that PID is valid: see `pidSpace`. */
const DIRECTORY_NAME = /^scaler-ts-([\da-f]{8})([\da-f]{8})[\da-f]{16}$/

/** How often the directory is shown to be in use, and files are looked at that nobody claims. */
const SWEEP_INTERVAL_MS = 20_000

/** A file that nobody claims for so long is removed, as is a directory that nobody uses. */
const ABANDONED_MS = 60_000

/** The most open files, and what part of those that the process may have open. */
const [MAX_OPEN, OPEN_SHARE] = [1_000, 0.25]

/** The most objects that are remembered as missing until their results arrive. */
const MAX_REFUSED = 10_000

/** A file that is the content of an object. */
interface Claim {
  /** Undefined: too many files are open. */
  readonly fd: number | undefined
  readonly byteLength: number
  /** While it is in memory for peers on other machines. */
  content: WeakRef<Uint8Array> | undefined
}

/** The files of one scheduler, and the peers that see them. Without a directory, nobody does. */
export class FileStore {
  readonly #tell: Logger['warn']
  #directory = ''
  #key: Uint8Array = NO_BYTES
  #timer: NodeJS.Timeout | undefined
  #isTold = false
  /** Open, so that their content remains even if something else removes them. */
  readonly #claims = new Map<string, Claim>()
  readonly #maxOpen: number = Math.min(MAX_OPEN, Math.floor(descriptorLimit() * OPEN_SHARE))
  readonly #missing: BoundedLog<'missing', LogFields>
  /** Objects that were not stored, because their files are missing: their tasks have no results. */
  readonly #refused = new Set<ObjectId>()
  readonly #offered = new Set<Identity>()
  readonly #near = new Set<Identity>()

  /** `tell` writes a warning to the log. */
  constructor(tell: Logger['warn']) {
    this.#tell = tell
    this.#missing = new BoundedLog((fields, count) => {
      tell('the file of an object is missing', { ...fields, count })
    })
  }

  /**
   * Makes a directory in this one; '' = none. Without a `wish`, only if the machine has shared
   * memory, and this user may use it. Throws `ConfigError`.
   */
  open(wish: string | undefined): void {
    const base = wish ?? (process.platform === 'linux' ? SHARED_MEMORY : '')
    if (base === '') return
    const directory = join(base, newDirectoryName())
    const key = randomBytes(KEY_BYTES)
    try {
      removeAbandoned(base)
      mkdirSync(directory, { mode: OWN_DIRECTORY })
      writeFileSync(join(directory, KEY_FILE), key, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      removeDirectory(directory)
      // Missing, read-only, full, or forbidden: all content travels in messages.
      if (wish === undefined) return
      const why = error instanceof Error ? error.message : String(error)
      throw new ConfigError(`option objectDirectory: ${why}`, { cause: error })
    }
    this.#directory = directory
    this.#key = key
    watchExit(directory)
    this.#timer = setInterval(() => this.#sweep(), SWEEP_INTERVAL_MS).unref()
  }

  /** The offer of the directory, if this message is the first heartbeat of a peer of ours. */
  offerTo(peer: Identity, message: Message): ObjectFiles | undefined {
    if (message.kind !== 'clientHeartbeat' && message.kind !== 'workerHeartbeat') return undefined
    if (this.#directory === '' || this.#offered.has(peer)) return undefined
    if (!hasFeature(message.features, FEATURE_FILES)) return undefined
    this.#offered.add(peer)
    return { kind: 'objectFiles', directory: this.#directory, proof: NO_BYTES }
  }

  /** A peer shows that it sees the directory, or (no bytes) wants content in messages. */
  prove(peer: Identity, proof: Uint8Array): void {
    const isSeen = this.#directory !== '' && Buffer.compare(proof, this.#key) === 0
    if (isSeen) this.#near.add(peer)
    else this.#near.delete(peer)
  }

  /** The connection of a peer has ended. */
  forget(peer: Identity): void {
    this.#offered.delete(peer)
    this.#near.delete(peer)
  }

  /** The message, with new objects whose files exist, and from now on belong to the scheduler. */
  claimed(from: Identity, message: Message): Message {
    if (message.kind === 'taskResult') return this.#withObject(message)
    if (message.kind !== 'objectInstruction' || message.instructionType !== 'create') return message
    const isNear = this.#near.has(from)
    const { content, missing } = keepEach(message.objectContent, (type, chunks) => {
      if (type !== 'file') return { type, chunks }
      const file = isNear ? fileOf(chunks) : undefined
      return file && this.#takeOver(file)
    })
    this.#tellMissing(from, missing)
    for (const id of missing) if (this.#refused.size < MAX_REFUSED) this.#refused.add(id)
    return content === message.objectContent ? message : { ...message, objectContent: content }
  }

  /** The message, with content instead of files if the peer does not see these. */
  readable(to: Identity, message: ObjectResponse): readonly ObjectResponse[] {
    if (this.#near.has(to)) return [message]
    const { content, missing } = moveIn(message.objectContent, (chunks) =>
      this.#read(fileOf(chunks)?.path ?? ''),
    )
    if (missing.length === 0) return [{ ...message, objectContent: content }]
    this.#tellMissing(to, missing)
    const nothing = { objectTypes: [], objectNames: [], objectBytes: [] }
    const lost = { ...message, objectContent: { ...nothing, objectIds: missing } }
    return [
      { ...message, objectContent: content },
      { ...lost, responseType: 'objectNotExist' },
    ]
  }

  /** The content of a file is not needed any more. */
  remove(path: string): void {
    const claim = this.#claims.get(path)
    if (claim === undefined) return
    this.#claims.delete(path)
    if (claim.fd !== undefined) closeSync(claim.fd)
    rmSync(path, { force: true })
  }

  /** Removes the directory with everything in it. */
  close(): void {
    clearInterval(this.#timer)
    this.#missing.close()
    for (const { fd } of this.#claims.values()) if (fd !== undefined) closeSync(fd)
    this.#claims.clear()
    const directory = this.#directory
    if (directory === '') return
    this.#directory = ''
    unwatchExit(directory)
    removeDirectory(directory)
  }

  #tellMissing(peer: Identity, ids: readonly ObjectId[]): void {
    const [id] = ids
    if (id !== undefined) this.#missing.note('missing', { peer, object: idToHex(id) })
  }

  /** A result whose object is missing is none: its task is given back, and runs again. */
  #withObject(result: TaskResult): TaskResult {
    const [id] = result.results
    if (id === undefined || !this.#refused.delete(id)) return result
    return { ...result, ...PLAIN_RESULT, status: 'canceled', results: [], bytes: undefined }
  }

  /** Each object has a file of its own: one that is named again gets another name. */
  #takeOver(file: ObjectFile): Part | undefined {
    if (!this.#claims.has(file.path)) return this.#claim(file) ? partOf(file) : undefined
    const path = join(this.#directory, randomBytes(16).toString('hex'))
    try {
      linkSync(file.path, path)
    } catch {
      const bytes = this.#read(file.path)
      return bytes && { type: 'object', chunks: splitChunks(bytes) }
    }
    const own = { ...file, path }
    return this.#claim(own) ? partOf(own) : undefined
  }

  #claim({ path, byteLength }: ObjectFile): boolean {
    if (dirname(path) !== this.#directory || byteLength > MAX_FILE_BYTES) return false
    let fd: number | undefined
    try {
      const isRoom = this.#claims.size < this.#maxOpen
      if (isRoom) fd = openFile(path)
      const status = fd === undefined ? lstatSync(path) : fstatSync(fd)
      if (status.isFile() && status.size === byteLength) {
        this.#claims.set(path, { fd, byteLength, content: undefined })
        return true
      }
    } catch {
      // Handled like a file of another size.
    }
    if (fd !== undefined) closeSync(fd)
    return false
  }

  /** One copy for all peers for which it is on its way. */
  #read(path: string): Uint8Array | undefined {
    const claim = this.#claims.get(path)
    if (claim === undefined) return undefined
    const known = claim.content?.deref()
    if (known !== undefined) return known
    try {
      const fd = claim.fd ?? openFile(path)
      const bytes = readOpenFile(fd, claim.byteLength)
      if (claim.fd === undefined) closeSync(fd)
      claim.content = bytes && new WeakRef(bytes)
      return bytes
    } catch {
      return undefined
    }
  }

  /** Removes what dead processes have left behind. */
  #sweep(): void {
    const now = Date.now()
    try {
      utimesSync(join(this.#directory, KEY_FILE), now / 1000, now / 1000)
      for (const name of readdirSync(this.#directory)) {
        const path = join(this.#directory, name)
        if (this.#claims.has(path) || name === KEY_FILE) continue
        if (now - lstatSync(path).mtimeMs > ABANDONED_MS) rmSync(path, { force: true })
      }
      removeAbandoned(dirname(this.#directory))
    } catch (error) {
      // Once: if the directory is gone, that is so in every round.
      if (!this.#isTold) this.#tell('cannot look for abandoned files', { error: String(error) })
      this.#isTold = true
    }
  }
}

function partOf(file: ObjectFile): Part {
  return { type: 'file', chunks: [fileChunk(file)] }
}

/** The directories of this process, which are removed if it exits without closing them. */
const leftAtExit = new Set<string>()

function watchExit(directory: string): void {
  if (leftAtExit.size === 0) process.on('exit', removeAtExit)
  leftAtExit.add(directory)
}

function unwatchExit(directory: string): void {
  leftAtExit.delete(directory)
  if (leftAtExit.size === 0) process.off('exit', removeAtExit)
}

function removeAtExit(): void {
  for (const directory of leftAtExit) removeDirectory(directory)
}

/**
 * Removes a directory. It gets another name first, so that nobody who has not heard of the end of
 * the scheduler puts a file into it meanwhile.
 */
function removeDirectory(directory: string): void {
  const goal = join(dirname(directory), newDirectoryName())
  try {
    renameSync(directory, goal)
    rmSync(goal, { recursive: true, force: true })
  } catch {
    // It was removed, or cannot be: then the next scheduler tries it again.
  }
}

function newDirectoryName(): string {
  return `scaler-ts-${hex8(process.pid)}${pidSpace()}${randomBytes(8).toString('hex')}`
}

/** How many files this process may have open. */
function descriptorLimit(): number {
  try {
    const [, limit] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(limit ?? Infinity)
  } catch {
    return 256
  }
}

/** Removes the directories of this user's schedulers that were killed. */
function removeAbandoned(base: string): void {
  const here = pidSpace()
  for (const name of readdirSync(base)) {
    const [, pid = '', space = ''] = DIRECTORY_NAME.exec(name) ?? []
    if (pid === '') continue
    const path = join(base, name)
    try {
      if (lstatSync(path).uid !== process.getuid?.()) continue
      const isHere = space === here
      const isUsed = isHere ? isAlive(Number.parseInt(pid, 16)) : isFresh(join(path, KEY_FILE))
      if (!isUsed) removeDirectory(path)
    } catch {
      // Another scheduler has removed it, or is about to fill it.
    }
  }
}

/** Whether a scheduler in another container has shown lately that it is alive. */
function isFresh(key: string): boolean {
  return Date.now() - lstatSync(key).mtimeMs < ABANDONED_MS
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Eight digits for this machine, since its last start, and this PID namespace. */
function pidSpace(): string {
  const space = `${textOf(() => readlinkSync('/proc/self/ns/pid'))} ${textOf(bootId)}`
  return createHash('sha256').update(space).digest('hex').slice(0, 8)
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')
}

/** Empty where there is no such file. */
function textOf(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

function hex8(number: number): string {
  return number.toString(16).padStart(8, '0').slice(-8)
}

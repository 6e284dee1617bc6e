// The directory that a scheduler shares with the clients and workers on its machine: the content of
// objects in files there never passes through the scheduler. docs/protocol.md#files

import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { NO_BYTES } from '../base/bytes.js'
import { ConfigError } from '../base/errors.js'
import { FEATURE_FILES, hasFeature } from '../base/features.js'
import { type Identity, idToHex, type ObjectId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import {
  KEY_BYTES,
  KEY_FILE,
  keepEach,
  moveIn,
  OWN_DIRECTORY,
  readOpenFile,
} from '../runtime/object-files.js'
import type { Message, ObjectFiles, ObjectResponse } from '../wire/message.js'
import { fileChunk, fileOf, type ObjectFile } from '../wire/object-content.js'

/** Memory in the form of files, on Linux. */
const SHARED_MEMORY = '/dev/shm'

/** The process that made it and its PID namespace, in which alone that number means something. */
const DIRECTORY_NAME = /^scaler-ts-([\da-f]{8})([\da-f]{8})[\da-f]{16}$/

/** How often the directory is shown to be in use, and files are looked at that nobody claims. */
const SWEEP_INTERVAL_MS = 20_000

/** A file that nobody claims for so long is removed, as is a directory that nobody uses. */
const ABANDONED_MS = 60_000

/** The most open files: the content of further ones is kept in memory. */
const MAX_OPEN = 1_000

/** A file that is the content of an object. */
interface Claim {
  readonly fd: number
  readonly byteLength: number
}

/** The files of one scheduler, and the peers that see them. Without a directory, nobody does. */
export class FileStore {
  readonly #tell: Logger['warn']
  #directory = ''
  #key: Uint8Array = NO_BYTES
  #timer: NodeJS.Timeout | undefined
  /** Open, so that their content remains even if something else removes them. */
  readonly #claims = new Map<string, Claim>()
  readonly #offered = new Set<Identity>()
  readonly #near = new Set<Identity>()

  /** `tell` writes a warning to the log. */
  constructor(tell: Logger['warn']) {
    this.#tell = tell
  }

  /**
   * Makes a directory in this one; '' = none. Without a `wish`, only if the machine has shared
   * memory, and this user may use it. Throws `ConfigError`.
   */
  open(wish: string | undefined): void {
    const hasDefault = process.platform === 'linux' && existsSync(SHARED_MEMORY)
    const base = wish ?? (hasDefault ? SHARED_MEMORY : '')
    if (base === '') return
    const owner = hex8(process.pid) + hex8(pidNamespace())
    const directory = join(base, `scaler-ts-${owner}${randomBytes(8).toString('hex')}`)
    const key = randomBytes(KEY_BYTES)
    try {
      removeAbandoned(base)
      mkdirSync(directory, { mode: OWN_DIRECTORY })
      writeFileSync(join(directory, KEY_FILE), key, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      rmSync(directory, { recursive: true, force: true })
      // Read-only, full, or forbidden: all content travels in messages.
      if (wish === undefined) return
      const why = error instanceof Error ? error.message : String(error)
      throw new ConfigError(`option objectDirectory: ${why}`, { cause: error })
    }
    this.#directory = directory
    this.#key = key
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

  /** The message, with new objects whose files are there and were taken over. */
  claimed(from: Identity, message: Message): Message {
    if (message.kind !== 'objectInstruction' || message.instructionType !== 'create') return message
    const isNear = this.#near.has(from)
    const { content, missing } = keepEach(message.objectContent, (type, chunks) => {
      if (type !== 'file') return { type, chunks }
      const file = isNear ? this.#ownFile(fileOf(chunks)) : undefined
      if (file === undefined || !this.#claim(file)) return undefined
      if (this.#claims.size <= MAX_OPEN) return { type, chunks: [fileChunk(file)] }
      const bytes = this.#read(file.path)
      this.remove(file.path)
      return bytes && { type: 'object', chunks: [bytes] }
    })
    this.#tellMissing(from, missing)
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
    closeSync(claim.fd)
    rmSync(path, { force: true })
  }

  /** Removes the directory with everything in it. */
  close(): void {
    clearInterval(this.#timer)
    for (const { fd } of this.#claims.values()) closeSync(fd)
    this.#claims.clear()
    if (this.#directory !== '') rmSync(this.#directory, { recursive: true, force: true })
    this.#directory = ''
  }

  #tellMissing(peer: Identity, ids: readonly ObjectId[]): void {
    const [id] = ids
    if (id === undefined) return
    this.#tell('the file of an object is missing', { peer, object: idToHex(id), count: ids.length })
  }

  /** Each object has a file of its own: one that is named again gets another name. */
  #ownFile(file: ObjectFile | undefined): ObjectFile | undefined {
    if (file === undefined || !this.#claims.has(file.path)) return file
    const path = join(this.#directory, randomBytes(16).toString('hex'))
    try {
      linkSync(file.path, path)
    } catch {
      return undefined
    }
    return { ...file, path }
  }

  #claim({ path, byteLength }: ObjectFile): boolean {
    if (!path.startsWith(`${this.#directory}/`)) return false
    let fd: number | undefined
    try {
      fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
      const status = fstatSync(fd)
      if (status.isFile() && status.size === byteLength) {
        this.#claims.set(path, { fd, byteLength })
        return true
      }
    } catch {
      // Handled like a file of another size.
    }
    if (fd !== undefined) closeSync(fd)
    return false
  }

  #read(path: string): Uint8Array | undefined {
    const claim = this.#claims.get(path)
    return claim && readOpenFile(claim.fd, claim.byteLength)
  }

  /** Removes what processes have left behind that died. */
  #sweep(): void {
    const now = Date.now()
    try {
      utimesSync(join(this.#directory, KEY_FILE), now / 1000, now / 1000)
      for (const name of readdirSync(this.#directory)) {
        const path = join(this.#directory, name)
        if (this.#claims.has(path) || name === KEY_FILE) continue
        if (now - lstatSync(path).mtimeMs > ABANDONED_MS) rmSync(path, { force: true })
      }
    } catch (error) {
      this.#tell('cannot look for abandoned files', { error: String(error) })
    }
    removeAbandoned(dirname(this.#directory))
  }
}

/** Removes the directories of this user's schedulers that were killed. */
function removeAbandoned(base: string): void {
  for (const name of readdirSync(base)) {
    const [, pid = '', namespace = ''] = DIRECTORY_NAME.exec(name) ?? []
    if (pid === '') continue
    const path = join(base, name)
    try {
      if (lstatSync(path).uid !== process.getuid?.()) continue
      const isHere = namespace === hex8(pidNamespace())
      const isUsed = isHere ? isAlive(Number.parseInt(pid, 16)) : isFresh(join(path, KEY_FILE))
      if (!isUsed) rmSync(path, { recursive: true, force: true })
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

/** The number of the PID namespace of this process; 0 where there are none. */
function pidNamespace(): number {
  if (process.platform !== 'linux') return 0
  return Number(/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? 0)
}

function hex8(number: number): string {
  return number.toString(16).padStart(8, '0').slice(-8)
}

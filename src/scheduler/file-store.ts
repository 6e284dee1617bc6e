// The directory that a scheduler shares with the clients and workers on its machine: the content of
// objects in files there never passes through the scheduler. docs/protocol.md#files

import {
  closeSync,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { NO_BYTES } from '../base/bytes.js'
import { FEATURE_FILES, hasFeature } from '../base/features.js'
import { type Identity, idToHex, type ObjectId } from '../base/ids.js'
import type { LogFields, Logger } from '../base/logger.js'
import { messageOf } from '../base/text.js'
import { directoryError } from '../runtime/directory-option.js'
import { MAX_FILE_BYTES, openFile, readOpenFile, SHARED_MEMORY } from '../runtime/object-files.js'
import { isPassing, Shortage } from '../runtime/storage/shortage.js'
import { codeOf } from '../transport/address.js'
import { BoundedLog } from '../transport/bounded-log.js'
import { type Message, type ObjectFiles, PLAIN_RESULT, type TaskResult } from '../wire/message.js'
import {
  fileChunk,
  fileOf,
  type ObjectFile,
  splitChunks,
  keepEach,
  type Part,
} from '../wire/object-content.js'
import { readContent } from './disk-store.js'
import {
  ABANDONED_MS,
  FULL_FILE,
  KEY_FILE,
  OwnDirectory,
  removeLater,
} from '../runtime/own-directory.js'

/** The most open files, and what part of those that the process may have open. */
const [MAX_OPEN, OPEN_SHARE] = [50_000, 0.25]

/** The most objects that are remembered as missing until their results arrive. */
const MAX_REFUSED = 10_000

/** A file that is the content of an object. */
interface Claim {
  /** Undefined: too many files are open, here or in all. */
  readonly fd: number | undefined
  readonly byteLength: number
}

/** The files of one scheduler, and the peers that see them. Without a directory, no peer does. */
export class FileStore {
  readonly #tell: Logger['warn']
  #directory: OwnDirectory | undefined
  /** Open, so that their content remains even if something else removes them. */
  readonly #claims = new Map<string, Claim>()
  readonly #maxOpen: number
  readonly #missing: BoundedLog<'missing', LogFields>
  readonly #shortage: Shortage
  /** Objects that were not stored, because their files are missing: their tasks have no results. */
  readonly #refused = new Set<ObjectId>()
  readonly #offered = new Set<Identity>()
  /** New content goes elsewhere. */
  #isClosedForNew = false
  readonly #near = new Set<Identity>()
  /** Peers that have answered that they do not see the directory. */
  readonly #far = new Set<Identity>()

  /** `tell` writes a warning to the log. `maxOpen` = the most files that are open. */
  constructor(tell: Logger['warn'], maxOpen: number = MAX_OPEN) {
    this.#tell = tell
    this.#shortage = new Shortage(tell)
    this.#maxOpen = Math.min(maxOpen, Math.floor(descriptorLimit() * OPEN_SHARE))
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
    try {
      const onError = (error: unknown): void => {
        this.#tell('cannot look for abandoned files', { error: String(error) })
      }
      this.#directory = new OwnDirectory(base, onError, () => this.#sweep())
    } catch (error) {
      // Missing, read-only, full, or forbidden: all content travels in messages.
      if (wish === undefined) return
      throw directoryError('objectDirectory', wish, error)
    }
  }

  /** The offer of the directory, if this message is the first heartbeat of a peer of ours. */
  offerTo(peer: Identity, message: Message): ObjectFiles | undefined {
    if (message.kind !== 'clientHeartbeat' && message.kind !== 'workerHeartbeat') return undefined
    if (this.#directory === undefined || this.#offered.has(peer)) return undefined
    if (!hasFeature(message.features, FEATURE_FILES)) return undefined
    this.#offered.add(peer)
    return this.#isClosedForNew ? undefined : offerOf(this.#directory.path)
  }

  /** Peers are to put new content elsewhere from now on, or here again. */
  offerAgain(isForNew: boolean, send: (peer: Identity, offer: ObjectFiles) => void): void {
    this.#isClosedForNew = !isForNew
    if (this.#directory === undefined) return
    const offer = offerOf(isForNew ? this.#directory.path : '')
    for (const peer of this.#offered) send(peer, offer)
  }

  /**
   * A peer shows that it sees the directory, or (no bytes) that it does not, or asks for content in
   * messages for a moment.
   */
  prove(peer: Identity, proof: Uint8Array): void {
    const { key } = this.#directory ?? {}
    if (key !== undefined && Buffer.compare(proof, key) === 0) {
      this.#near.add(peer)
      this.#far.delete(peer)
    } else if (!this.#near.delete(peer)) this.#far.add(peer)
  }

  /** The connection of a peer has ended. */
  forget(peer: Identity): void {
    this.#offered.delete(peer)
    this.#near.delete(peer)
    this.#far.delete(peer)
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
    this.tellMissing(from, missing)
    for (const id of missing) if (this.#refused.size < MAX_REFUSED) this.#refused.add(id)
    return content === message.objectContent ? message : { ...message, objectContent: content }
  }

  /** Whether the file is the content of an object. */
  has(path: string): boolean {
    return this.#claims.has(path)
  }

  /** Whether the peer sees the files of the scheduler. */
  isNear(peer: Identity): boolean {
    return this.#near.has(peer)
  }

  /** Whether the peer was offered the directory, and may turn out to see it. */
  isUndecided(peer: Identity): boolean {
    return this.#offered.has(peer) && !this.#near.has(peer) && !this.#far.has(peer)
  }

  /** Whether the peer reads this file itself. */
  canRead(peer: Identity, path: string): boolean {
    return this.#near.has(peer) && this.#claims.has(path)
  }

  /**
   * The content of a file that belongs to the scheduler, as soon as it can be read; undefined if it
   * is gone.
   */
  read(path: string): Promise<Uint8Array | undefined> {
    return this.#shortage.outlast(async () => {
      const claim = this.#claims.get(path)
      if (claim === undefined) return undefined
      let shortage: Error | undefined
      // The file that is open may be closed meanwhile.
      const bytes = await readContent(path, claim.byteLength).catch((error: unknown) => {
        if (isPassing(error)) shortage = error as Error
        return undefined
      })
      // One that is open needs nothing.
      const found = bytes ?? this.#readOpen(path)
      if (found === undefined && shortage !== undefined) throw shortage
      return found
    })
  }

  /**
   * Opens a file that belongs to the scheduler, once more; undefined if it is gone. Throws the
   * system's error.
   */
  openAgain(path: string): number | undefined {
    const { fd } = this.#claims.get(path) ?? {}
    try {
      return openFile(path)
    } catch (error) {
      // For example, too many files are open.
      if (codeOf(error) !== 'ENOENT') throw error
    }
    try {
      return fd === undefined ? undefined : openSync(`/dev/fd/${fd}`, 'r')
    } catch (error) {
      if (isPassing(error)) throw error
      return undefined
    }
  }

  /** Objects were requested that are missing: one line in the log for many. */
  tellMissing(peer: Identity, ids: readonly ObjectId[]): void {
    const [id] = ids
    if (id !== undefined) this.#missing.note('missing', { peer, object: idToHex(id) })
  }

  /** Peers are to send new content in messages for a while, or not any more. */
  setFull(isFull: boolean): void {
    const { path: directory } = this.#directory ?? {}
    if (directory === undefined) return
    try {
      if (isFull) writeFileSync(join(directory, FULL_FILE), '', { mode: 0o600 })
      else rmSync(join(directory, FULL_FILE), { force: true })
    } catch (error) {
      this.#tell('cannot tell peers whether there is room', { directory, error: messageOf(error) })
    }
  }

  /** The content of a file is not needed any more. */
  remove(path: string): void {
    const claim = this.#claims.get(path)
    if (claim === undefined) return
    this.#claims.delete(path)
    if (claim.fd !== undefined) closeSync(claim.fd)
    removeLater(path)
  }

  /** Removes the directory with everything in it. */
  close(): void {
    this.#missing.close()
    this.#shortage.close()
    for (const { fd } of this.#claims.values()) if (fd !== undefined) closeSync(fd)
    this.#claims.clear()
    this.#directory?.close()
    this.#directory = undefined
  }

  /** Tells the core that the object of a result is missing: its task runs again, if it may. */
  #withObject(result: TaskResult): TaskResult {
    const [id] = result.results
    if (id === undefined || !this.#refused.delete(id)) return result
    return { ...result, ...PLAIN_RESULT, status: 'canceled', bytes: undefined }
  }

  /** Each object has a file of its own: one that is named again gets another name. */
  #takeOver(file: ObjectFile): Part | undefined {
    if (!this.#claims.has(file.path)) return this.#claim(file) ? partOf(file) : undefined
    const path = this.#directory?.newPath() ?? ''
    try {
      linkSync(file.path, path)
    } catch {
      const bytes = this.#readOpen(file.path)
      return bytes && { type: 'object', chunks: splitChunks(bytes) }
    }
    const own = { ...file, path }
    return this.#claim(own) ? partOf(own) : undefined
  }

  #claim({ path, byteLength }: ObjectFile): boolean {
    if (this.#directory?.has(path) !== true || byteLength > MAX_FILE_BYTES) return false
    let fd: number | undefined
    try {
      const isRoom = this.#claims.size < this.#maxOpen
      if (isRoom) fd = this.#openIfPossible(path)
      const status = fd === undefined ? lstatSync(path) : fstatSync(fd)
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

  /** Undefined: not now, which says nothing about the file. Throws any other error. */
  #openIfPossible(path: string): number | undefined {
    try {
      return openFile(path)
    } catch (error) {
      if (!isPassing(error)) throw error
      this.#shortage.note(error)
      return undefined
    }
  }

  /** Reads the file that is open, even if it was removed. */
  #readOpen(path: string): Uint8Array | undefined {
    const claim = this.#claims.get(path)
    if (claim === undefined) return undefined
    try {
      const fd = claim.fd ?? openFile(path)
      const bytes = readOpenFile(fd, claim.byteLength)
      if (claim.fd === undefined) closeSync(fd)
      return bytes
    } catch {
      return undefined
    }
  }

  /** Removes what dead processes have left behind. */
  #sweep(): void {
    const { path: directory } = this.#directory ?? {}
    if (directory === undefined) return
    for (const name of readdirSync(directory)) {
      const path = join(directory, name)
      if (this.#claims.has(path) || name === KEY_FILE || name === FULL_FILE) continue
      // Files of deleted objects are removed by other threads, also while this looks.
      const status = lstatSync(path, { throwIfNoEntry: false })
      if (status === undefined || Date.now() - status.mtimeMs <= ABANDONED_MS) continue
      rmSync(path, { force: true })
    }
  }
}

function offerOf(directory: string): ObjectFiles {
  return { kind: 'objectFiles', directory, proof: NO_BYTES }
}

function partOf(file: ObjectFile): Part {
  return { type: 'file', chunks: [fileChunk(file)] }
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

// Where the shell of the scheduler keeps content that is not in its own memory: files that it
// shares with peers on its machine, and files on disk. docs/protocol.md#storage

import { totalmem } from 'node:os'
import type { Identity, ObjectId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import type { SchedulerAction } from '../core/scheduler/events.js'
import type { StorageLimits } from '../core/scheduler/object/room.js'
import type { Message, ObjectFiles, ObjectResponse } from '../wire/message.js'
import { DiskStore, type MoveEvent } from './disk-store.js'
import { FileResponses } from './file-responses.js'
import { FileStore } from './file-store.js'
import type { SchedulerOwnOptions } from './scheduler-options.js'

/** The part of the machine's memory that objects may take up, unless a limit is set. */
const MEMORY_SHARE = 0.3

/** What the storage needs. */
interface StorageParts {
  /** False: the peer is full, and `onDrain` will be called. */
  readonly send: (peer: Identity, message: ObjectResponse) => boolean
  /** Content was moved to disk, or could not be. */
  readonly onMoved: (event: MoveEvent) => void
  /** See `FileResponses`. */
  readonly onOutdated: (peer: Identity, ids: readonly ObjectId[]) => void
  /** Writes a warning to the log. */
  readonly tell: Logger['warn']
}

/** All files of one scheduler. */
export class ObjectStorage {
  readonly #files: FileStore
  readonly #disk: DiskStore
  readonly #responses: FileResponses

  constructor({ send, onMoved, onOutdated, tell }: StorageParts) {
    const files = new FileStore(tell)
    const disk = new DiskStore({ onMoved, tell, openFile: (path) => files.openAgain(path) })
    this.#files = files
    this.#disk = disk
    this.#responses = new FileResponses({
      send,
      canRead: (peer, path) => files.canRead(peer, path),
      read: (path) => (disk.owns(path) ? disk.read(path) : files.read(path)),
      onOutdated,
      isKnown: (path) => disk.has(path) || files.has(path),
      onMissing: (peer, ids) => files.tellMissing(peer, ids),
    })
  }

  /** Makes the directories. Returns the limits. Throws `ConfigError`, which names the option. */
  open(options: SchedulerOwnOptions): StorageLimits {
    const { objectMemoryLimitBytes, objectDiskLimitBytes, objectQuotaBytes = 0 } = options
    let diskBytes = 0
    try {
      if (objectDiskLimitBytes !== 0) {
        diskBytes = this.#disk.open(options.objectSpillDirectory, objectDiskLimitBytes)
      }
      this.#files.open(options.objectDirectory)
    } catch (error) {
      this.close()
      throw error
    }
    return {
      memoryBytes: objectMemoryLimitBytes ?? Math.floor(memoryBytes() * MEMORY_SHARE),
      diskBytes,
      quotaBytes: objectQuotaBytes === 0 ? Infinity : objectQuotaBytes,
    }
  }

  /** See `FileStore.offerTo`. */
  offerTo(peer: Identity, message: Message): ObjectFiles | undefined {
    return this.#files.offerTo(peer, message)
  }

  /** See `FileStore.prove`. */
  prove(peer: Identity, proof: Uint8Array): void {
    this.#files.prove(peer, proof)
  }

  /** See `FileStore.claimed`. */
  claimed(from: Identity, message: Message): Message {
    return this.#files.claimed(from, message)
  }

  /** See `FileResponses.take`. */
  takeResponse(peer: Identity, response: ObjectResponse): ObjectResponse | undefined {
    return this.#responses.take(peer, response)
  }

  /** There is room for more messages to the peer. */
  onDrain(peer: Identity): void {
    this.#responses.onDrain(peer)
  }

  /** The connection of a peer has ended. */
  forget(peer: Identity): void {
    this.#files.forget(peer)
    this.#responses.forget(peer)
  }

  /** Writes content to disk. */
  moveToDisk(move: Extract<SchedulerAction, { readonly type: 'moveToDisk' }>): void {
    this.#disk.write(move)
  }

  /** The content of this file is not needed any more. */
  remove(path: string): void {
    if (!this.#disk.remove(path)) this.#files.remove(path)
  }

  /** Removes all files. */
  close(): void {
    this.#disk.close()
    this.#files.close()
  }
}

/** The memory of this machine, or of this container. */
function memoryBytes(): number {
  // 0, or far more than there is: no limit.
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

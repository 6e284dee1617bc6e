// Where the shell of the scheduler keeps content that is not in its own memory: files that it
// shares with peers on its machine, and files on disk. docs/protocol.md#storage

import { totalmem } from 'node:os'
import type { Identity, ObjectId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import type { SchedulerAction, SchedulerEvent } from '../core/scheduler/events.js'
import type { StorageLimits } from '../core/scheduler/object/room.js'
import type { Message, ObjectFiles, ObjectResponse, StorageServers } from '../wire/message.js'
import { type StoredContent, storedContentOf } from '../wire/object-content.js'
import { DiskStore, type MoveEvent } from './disk-store.js'
import { FileResponses } from './file-responses.js'
import { FileStore } from './file-store.js'
import { SchedulerServers } from './storage-servers.js'
import type { SchedulerOwnOptions } from './scheduler-options.js'

/** The part of the machine's memory that objects may take up, unless a limit is set. */
const MEMORY_SHARE = 0.3

/** What the storage needs. */
interface StorageParts {
  /** False: the peer is full, and `onDrain` will be called. */
  readonly send: (peer: Identity, message: ObjectResponse | StorageServers | ObjectFiles) => boolean
  /** Something has happened to content. */
  readonly onEvent: (event: StorageEvent) => void
  /** See `FileResponses`. */
  readonly onOutdated: (peer: Identity, ids: readonly ObjectId[]) => void
  readonly logger: Logger
  /** Writes a warning to the log, with the address of a peer that it names. */
  readonly tell: Logger['warn']
}

/** Content was moved to disk, or could not be; or it is lost. */
type StorageEvent =
  MoveEvent | Extract<SchedulerEvent, { readonly type: 'serverLost' | 'contentLost' }>

/** All files of one scheduler. */
export class ObjectStorage {
  readonly #files: FileStore
  readonly #disk: DiskStore
  readonly #responses: FileResponses
  readonly #servers: SchedulerServers

  constructor({ send, onEvent, onOutdated, logger, tell }: StorageParts) {
    const files = new FileStore(tell)
    const openFile = (path: string): number | undefined => files.openAgain(path)
    const disk = new DiskStore({ onMoved: onEvent, tell, openFile })
    const servers = new SchedulerServers({
      logger,
      send: (peer, message) => void send(peer, message),
      onKnown: (areKnown) => files.offerAgain(!areKnown, (peer, offer) => void send(peer, offer)),
      onLost: (address) => onEvent({ type: 'serverLost', address }),
      onContentLost: (objectIds) => onEvent({ type: 'contentLost', objectIds }),
    })
    this.#files = files
    this.#disk = disk
    this.#servers = servers
    this.#responses = new FileResponses({
      send,
      canRead: (peer, place) => {
        return contentAt(place) === undefined ? files.canRead(peer, place) : servers.canRead(peer)
      },
      read: (place) => {
        const content = contentAt(place)
        if (content !== undefined) return servers.read(content)
        return disk.owns(place) ? disk.read(place) : files.read(place)
      },
      onOutdated,
      isKnown: (place) => {
        const content = contentAt(place)
        return content === undefined ? disk.has(place) || files.has(place) : servers.has(content)
      },
      onMissing: (peer, ids) => {
        files.tellMissing(peer, ids)
        servers.onMissing(ids)
      },
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
      this.#servers.open(options.objectStorageAddresses ?? [])
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

  /** What a peer is offered with its first heartbeat: servers, or else files. */
  offerTo(peer: Identity, message: Message): Message | undefined {
    const files = this.#files.offerTo(peer, message)
    return this.#servers.offerTo(peer, message) ?? files
  }

  /** See `SchedulerServers.onMessage`. */
  onServers(peer: Identity, message: StorageServers, ip: string): void {
    this.#servers.onMessage(peer, message, ip)
  }

  /** See `FileStore.prove`. */
  prove(peer: Identity, proof: Uint8Array): void {
    this.#files.prove(peer, proof)
  }

  /** See `FileStore.claimed`. */
  claimed(from: Identity, message: Message): Message {
    this.#servers.claim(message)
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
    this.#servers.forget(peer)
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

  /** The same for content on a server. */
  removeStored(content: StoredContent): void {
    this.#servers.remove(content)
  }

  /** Removes all files, and leaves the servers. */
  close(): void {
    this.#servers.close()
    this.#disk.close()
    this.#files.close()
  }
}

/** What is on a server; undefined: the place is a file. */
function contentAt(place: string): StoredContent | undefined {
  return place.startsWith('/') ? undefined : storedContentOf([Buffer.from(place)])
}

/** The memory of this machine, or of this container. */
function memoryBytes(): number {
  // 0, or far more than there is: no limit.
  const limit = process.constrainedMemory()
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

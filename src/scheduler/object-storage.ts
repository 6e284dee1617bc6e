// Where the shell of the scheduler keeps content that is not in its own memory: files that it
// shares with peers on its machine, and files on disk. docs/protocol.md#storage

import { totalmem } from 'node:os'
import type { Identity, ObjectId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import type { SchedulerAction, SchedulerEvent, SeenServer } from '../core/scheduler/events.js'
import type { StorageLimits } from '../core/scheduler/object/room.js'
import type {
  Message,
  ObjectContent,
  ObjectFiles,
  ObjectResponse,
  StorageServers,
} from '../wire/message.js'
import {
  isLargeObject,
  MIN_LARGE_BYTES,
  type StoredContent,
  storedContentOf,
} from '../wire/object-content.js'
import { processObstacle } from '../runtime/child-environment.js'
import { StorageChild } from '../runtime/storage/child.js'
import { formatAddress, localAddress, parseAddress } from '../transport/address.js'
import type { TlsOption } from '../transport/tls/options.js'
import { DiskStore, type MoveEvent } from './disk-store.js'
import { FileResponses } from './file-responses.js'
import { FileStore } from './file-store.js'
import { SchedulerServers } from './storage-servers.js'
import type { CheckedSchedulerOptions, SchedulerOwnOptions } from './scheduler-options.js'

/** The part of the machine's memory that objects may take up, unless a limit is set. */
const MEMORY_SHARE = 0.3

/**
 * From this limit on, a part of the memory is left for what is being written to disk, and for
 * memory that is not in use any more and was not freed yet.
 */
const [MIN_LEFT_FREE_BYTES, KEPT_SHARE] = [256 * 1024 ** 2, 4 / 5]

/** What the storage needs. */
interface StorageParts extends TlsOption {
  /** False: the peer is full, and `onDrain` will be called. */
  readonly send: (peer: Identity, message: ObjectResponse | StorageServers | ObjectFiles) => boolean
  /** Something has happened to content. */
  readonly onEvent: (event: StorageEvent) => void
  /** See `FileResponses`. */
  readonly onOutdated: (peer: Identity, ids: readonly ObjectId[]) => void
  /** Stops or starts reading what a peer sends. */
  readonly setReading: (peer: Identity, isReading: boolean) => void
  readonly logger: Logger
  /** Writes a warning to the log, with the address of a peer that it names. */
  readonly tell: Logger['warn']
}

/** Content was moved to disk, or could not be; or it is lost. */
type StorageEvent =
  | MoveEvent
  | Extract<SchedulerEvent, { readonly type: 'serverLost' | 'contentLost' | 'contentMoved' }>

/** All files of one scheduler. */
export class ObjectStorage {
  readonly #files: FileStore
  readonly #disk: DiskStore
  readonly #responses: FileResponses
  readonly #servers: SchedulerServers
  readonly #logger: Logger
  readonly #tls: TlsOption['tls']
  /** The address and the other arguments of the server that is started when it is needed. */
  #ownServer: readonly string[] | undefined
  /** The same if the port is taken: at any port, which the server makes known itself. */
  #otherServer: readonly string[] = []
  #child: StorageChild | undefined
  /** Runs while a peer may answer that it sees the files. */
  #decision: NodeJS.Timeout | undefined
  /** The disk has been slower than those who send content. */
  #hasBeenBehind = false
  readonly #setReading: StorageParts['setReading']
  /** Peers from which nothing is read until there is room for what they send. */
  readonly #stopped = new Set<Identity>()
  /** Below all timeouts of peers. */
  #maxStopMs = MAX_STOP_MS
  /** Reads from them, if there is no room by then. Set if there are any. */
  #stopEnd: NodeJS.Timeout | undefined

  constructor({ send, onEvent, onOutdated, setReading, logger, tls, tell }: StorageParts) {
    const files = new FileStore(tell)
    const openFile = (path: string): number | undefined => files.openAgain(path)
    const onBehind = (isBehind: boolean): void => {
      files.setFull(isBehind)
      if (isBehind) this.#hasBeenBehind = true
      else this.#readAgain()
    }
    const disk = new DiskStore({ onMoved: onEvent, onBehind, tell, openFile })
    this.#setReading = setReading
    const servers = new SchedulerServers({
      logger,
      tls,
      send: (peer, message) => void send(peer, message),
      onUsable: (areUsable) => {
        files.offerAgain(!areUsable, (peer, offer) => void send(peer, offer))
      },
      onLost: (address) => onEvent({ type: 'serverLost', address }),
      onMoved: (objectId, from, address) => {
        onEvent({ type: 'contentMoved', objectId, from, address })
      },
      startServer: () => this.#startOwn() || this.#child !== undefined,
      onContentLost: (objectId, content) => onEvent({ type: 'contentLost', objectId, content }),
    })
    this.#logger = logger
    this.#tls = tls
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
        if (content !== undefined) return servers.read(content).catch(() => undefined)
        return disk.owns(place) ? disk.read(place) : files.read(place)
      },
      onOutdated,
      isKnown: (place) => {
        const content = contentAt(place)
        return content === undefined ? disk.has(place) || files.has(place) : servers.has(content)
      },
      onMissing: (peer, ids) => files.tellMissing(peer, ids),
    })
  }

  /** Makes the directories. Returns the limits. Throws `ConfigError`, which names the option. */
  open(options: SchedulerOwnOptions & CheckedSchedulerOptions): StorageLimits {
    const { objectMemoryLimitBytes, objectDiskLimitBytes, objectQuotaBytes } = options
    const { workerSilenceMs, workerTimeoutMs, clientTimeoutMs } = options
    const patienceMs = Math.min(workerSilenceMs, workerTimeoutMs, clientTimeoutMs)
    this.#maxStopMs = Math.min(MAX_STOP_MS, patienceMs / 4)
    let diskBytes = 0
    try {
      if (objectDiskLimitBytes !== 0) {
        diskBytes = this.#disk.open(options.objectSpillDirectory, objectDiskLimitBytes)
      }
      this.#files.open(options.objectDirectory)
      this.#servers.open(options.objectStorageAddresses ?? [])
    } catch (error) {
      void this.close()
      throw error
    }
    const limitBytes = objectMemoryLimitBytes ?? Math.floor(memoryBytes() * MEMORY_SHARE)
    return {
      memoryBytes: limitBytes,
      keptBytes: limitBytes < MIN_LEFT_FREE_BYTES ? limitBytes : limitBytes * KEPT_SHARE,
      diskBytes,
      quotaBytes: objectQuotaBytes === 0 ? Infinity : objectQuotaBytes,
    }
  }

  /** The object storage servers, for monitors. */
  get storageServers(): readonly SeenServer[] {
    return this.#servers.statuses
  }

  /** The scheduler listens: a server of its own would listen at the next port. */
  onListening(scheduler: string, options: SchedulerOwnOptions): void {
    const address = parseAddress(scheduler)
    const { objectStorageAddresses, objectMemoryLimitBytes, objectDiskLimitBytes } = options
    if (address.kind !== 'tcp' || address.port === MAX_PORT) return
    // A server would double the limits that its user has set.
    const isLimited = objectMemoryLimitBytes !== undefined || objectDiskLimitBytes !== undefined
    if (objectStorageAddresses !== undefined || isLimited) return
    const directories = [
      ...argument('--spill-directory', options.objectSpillDirectory),
      ...argument('--object-directory', options.objectDirectory),
    ]
    const anyPort = [formatAddress({ ...address, port: 0 }), '--scheduler', localAddress(scheduler)]
    this.#ownServer = [formatAddress({ ...address, port: address.port + 1 }), ...directories]
    this.#otherServer = [...anyPort, ...directories]
  }

  /** False: it has been started already, or is not wanted. */
  #startOwn(): boolean {
    const args = this.#ownServer
    if (args === undefined) return false
    const [address = ''] = args
    this.#ownServer = undefined
    const reason = processObstacle()
    if (reason !== undefined) {
      this.#logger.warn('no object storage server is started', { reason })
      return false
    }
    this.#logger.info(`starting an object storage server at ${address}`, { server: address })
    const options = { logger: this.#logger, tls: this.#tls }
    this.#child = new StorageChild(args, options, () => {
      this.#servers.remove(address)
      const text = 'starting an object storage server at another port, which firewalls may block'
      this.#logger.warn(text, { server: address })
      this.#child = new StorageChild(this.#otherServer, options, () => {
        this.#child = undefined
      })
    })
    this.#servers.open([address])
    return true
  }

  /** Starts a server for later content of a peer; false: not, or not yet. */
  #startFor(peer: Identity): boolean {
    if (!this.#servers.couldServe(peer)) return false
    if (!this.#files.isUndecided(peer)) return this.#startOwn()
    this.#decision ??= setTimeout(() => {
      this.#decision = undefined
      if (!this.#files.isNear(peer) && this.#servers.couldServe(peer)) this.#startOwn()
    }, DECISION_MS).unref()
    return false
  }

  /** Not for long: its heartbeats, too, are read only afterwards. */
  #stopReading(peer: Identity): void {
    this.#setReading(peer, false)
    this.#stopped.add(peer)
    this.#stopEnd ??= setTimeout(() => this.#readAgain(), this.#maxStopMs).unref()
  }

  #readAgain(): void {
    clearTimeout(this.#stopEnd)
    this.#stopEnd = undefined
    for (const peer of this.#stopped) this.#setReading(peer, true)
    this.#stopped.clear()
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
    if (isLarge(message)) {
      // Those who see the files have sent it because of the disk, not because they are far away.
      const isFromDisk = this.#hasBeenBehind && this.#files.isNear(from)
      if (!isFromDisk && !this.#startFor(from)) this.#servers.onDetour(from)
      if (this.#disk.isBehind) this.#stopReading(from)
    }
    this.#servers.claim(message)
    return this.#files.claimed(from, message)
  }

  /** See `FileResponses.take`. */
  takeResponse(peer: Identity, response: ObjectResponse): ObjectResponse | undefined {
    const { objectContent } = response
    const isLarge = objectContent.objectTypes.includes('file') || hasLarge(objectContent)
    // It passes through this process, but later content for such a peer need not.
    if (isLarge && !this.#files.isNear(peer)) this.#startFor(peer)
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
    this.#stopped.delete(peer)
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
    this.#servers.removeContent(content)
  }

  /** Removes all files, and leaves the servers. */
  async close(): Promise<void> {
    clearTimeout(this.#decision)
    this.#readAgain()
    this.#servers.close()
    this.#ownServer = undefined
    this.#disk.close()
    this.#files.close()
    await this.#child?.close()
  }
}

const MAX_PORT = 65_535

/** If the disk is slow, a peer that sends large content is read at least this often. */
const MAX_STOP_MS = 1_000

/** How long a peer may take to answer the offer of files. */
const DECISION_MS = 5_000

function argument(flag: string, value: string | number | undefined): readonly string[] {
  return value === undefined ? [] : [flag, String(value)]
}

/** Whether the message has content that would be on a server, if there were one. */
function isLarge(message: Message): boolean {
  if (message.kind !== 'objectInstruction' || message.instructionType !== 'create') return false
  return hasLarge(message.objectContent)
}

function hasLarge(content: ObjectContent): boolean {
  return content.objectIds.some((_, at) => isLargeObject(content, at, MIN_LARGE_BYTES))
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

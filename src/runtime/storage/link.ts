// The connection of one process to one object storage server, which is asked like a scheduler:
// docs/protocol.md#servers.

import { randomBytes } from 'node:crypto'
import { bytesToLatin1, NO_BYTES } from '../../base/bytes.js'
import { ConfigError } from '../../base/errors.js'
import { isStorageServer, OUR_FEATURES } from '../../base/features.js'
import { objectId, type ObjectId, type SchedulerId } from '../../base/ids.js'
import type { Logger } from '../../base/logger.js'
import {
  formatAddress,
  isEverywhere,
  isLoopback,
  localAddress,
  parseAddress,
} from '../../transport/address.js'
import { DealerSocket } from '../../transport/dealer.js'
import type { DealerOptions, IncomingMessage } from '../../transport/options.js'
import type { TlsOption } from '../../transport/tls/options.js'
import {
  type ClientHeartbeat,
  type ClientHeartbeatEcho,
  encodeFrame,
  type Message,
  type ObjectFiles as ObjectFilesMessage,
  type ObjectInstruction,
  type ObjectResponse,
  PLAIN_CLIENT_HEARTBEAT,
} from '../../wire/message.js'
import { type Part, type StoredContent, contentBytes } from '../../wire/object-content.js'
import { MessageReader } from '../message-reader.js'
import { contentRequest, isThere, ObjectFiles, proofMessage } from '../object-files.js'
import { newIdentity } from '../peer-info.js'
import { Arrivals, type Wanted } from './arrival.js'

/** How long a call waits for a connection that is being made. */
const CONNECT_MS = 5_000

/** How often the server hears of this process, which it forgets after a minute. */
const HEARTBEAT_MS = 5_000

/** Of the 24 bytes of an id, these are random, and the others count. */
const RANDOM_BYTES = 16

/** A server, and the address under which this process reaches it. */
interface ServerPlace {
  /** What others call it: the address in the name of content. */
  readonly name: string
  readonly address: string
  /** What must listen there, as in its echoes; undefined: any server. */
  readonly instance?: SchedulerId | undefined
}

/** What becomes known about a server. */
interface LinkHandler {
  /** It has answered, for the first time or again. `instance` is new each time that it starts. */
  onUp?(instance: SchedulerId): void
  /** The connection is down. */
  onDown?(reason: string): void
  /** It shares a directory with this process, which other processes here can use, too; or not. */
  onNear?(offer: ObjectFilesMessage | undefined): void
  /** How much more it can store, with each echo. Undefined: nobody asks. */
  onFree?(bytes: number): void
  /** Content that was claimed is not there. */
  onMissing?(id: ObjectId): void
}

/** A call that waits for its answer. */
type Settle<T> = (value: T | undefined) => void

/** Calls that wait for content. */
interface Get {
  readonly settles: Settle<Part>[]
  /** Where it is put for the first one. */
  readonly wanted: Wanted | undefined
}

/** What a link takes from whoever opens it. */
export interface LinkOptions extends TlsOption {
  readonly logger: Logger
}

/** One connection. It does not keep the process alive. */
export class StorageLink {
  readonly name: string
  readonly instance: SchedulerId | undefined
  /** Files that this process shares with the server, if it is on the same machine. */
  readonly files: ObjectFiles = new ObjectFiles()
  readonly #handler: LinkHandler
  readonly #address: string
  readonly #options: Partial<DealerOptions>
  /** New for each connection: what the last one had stored and not passed on is given up. */
  #identity = newIdentity('Storage')
  readonly #prefix = bytesToLatin1(randomBytes(RANDOM_BYTES))
  #count = 0
  #socket: DealerSocket
  readonly #reader: MessageReader
  readonly #gets = new Map<ObjectId, Get>()
  readonly #arrivals = new Arrivals((id) => this.#gets.get(id)?.wanted)
  readonly #confirms = new Map<ObjectId, ((isStored: boolean) => void)[]>()
  readonly #sources = new Map<ObjectId, Settle<string>>()
  /** Calls that wait for the connection; undefined: it has failed, and is tried again. */
  #waiting: ((isUp: boolean) => void)[] | undefined = []
  #isUp = false
  /** What it has offered; undefined: it is not on this machine. */
  #offer: ObjectFilesMessage | undefined
  #proof: Uint8Array = NO_BYTES
  #heartbeat: NodeJS.Timeout | undefined
  /** Until then, calls wait for the connection. */
  #timer: NodeJS.Timeout | undefined

  /** Throws `ConfigError` for a wrong address. */
  constructor(
    { name, address, instance }: ServerPlace,
    options: LinkOptions,
    handler: LinkHandler = {},
  ) {
    const { logger, tls } = options
    this.name = name
    this.instance = instance
    this.#handler = handler
    this.#address = address
    this.#options = { queueWhileDisconnected: false, logger, tls }
    this.#reader = new MessageReader((text, fields) =>
      logger.warn(text, { ...fields, server: name }),
    )
    this.#socket = this.#open()
  }

  #open(): DealerSocket {
    const dealer = {
      onConnect: () => this.#onConnect(),
      onDisconnect: (reason: string) => {
        clearInterval(this.#heartbeat)
        void this.#socket.close()
        this.#identity = newIdentity('Storage')
        this.#socket = this.#open()
        this.#onDown(reason === '' ? 'the server has closed it' : reason)
      },
      onConnectFailed: ({ reason }: { readonly reason: string }) => this.#onDown(reason),
      onDrain: () => {},
      onMessages: (messages: readonly IncomingMessage[]) => {
        for (const frames of messages) {
          const arrived = this.#arrivals.finish(frames)
          const message = arrived === undefined ? this.#reader.read(frames) : undefined
          if (message !== undefined) this.#onMessage(message)
          if (arrived !== undefined) this.#settleGet(arrived.id, arrived.part)
        }
      },
      onLongFrame: (head: Buffer, size: number) => this.#arrivals.begin(head, size),
    }
    const socket = new DealerSocket(this.#address, this.#identity, dealer, this.#options)
    socket.unref()
    return socket
  }

  /** Whether the server is on this machine, and shares its files with this process. */
  get isNear(): boolean {
    return this.#offer !== undefined
  }

  /** Whether the connection is down, and the last attempt to connect has failed. */
  get hasFailed(): boolean {
    return !this.#isUp && this.#waiting === undefined
  }

  /**
   * Stores content, under a new id unless it has one. Resolves with its name, once it is safe
   * there; undefined: it was not stored. Without a claim, the server keeps it as long as this
   * connection.
   */
  async put(
    name: Uint8Array,
    { type, chunks }: Part,
    id: ObjectId = this.#newId(),
  ): Promise<StoredContent | undefined> {
    const byteLength = contentBytes(type, chunks)
    if (!this.#isUp && !(await this.#connected())) return undefined
    // It may have ended since.
    if (!this.#isUp) return undefined
    const content = { objectIds: [id], objectTypes: [type], objectNames: [name] }
    const objectContent = this.files.sendable({ ...content, objectBytes: [chunks] })
    this.#send(this.#instruction('create', this.files.moveOut(objectContent)))
    const isStored = await this.#confirm(id)
    if (!isStored) this.delete([id])
    return isStored ? { byteLength, address: this.name, id } : undefined
  }

  #newId(): ObjectId {
    this.#count += 1
    return objectId(this.#prefix + this.#count.toString(16).padStart(8, '0'))
  }

  /** Whether some content is there. */
  async confirm(id: ObjectId): Promise<boolean> {
    return (this.#isUp || (await this.#connected())) && this.#confirm(id)
  }

  /** The same; if it is not there, the server first copies it from another one. */
  async copy({ address, id }: StoredContent): Promise<boolean> {
    return (this.#isUp || (await this.#connected())) && this.#confirm(id, 'copy', address)
  }

  /**
   * From which server to copy some content, for a server that others reach as `own`: '' = from this
   * one; undefined: it does not answer.
   */
  async sourceOf(id: ObjectId, own: string): Promise<string | undefined> {
    if (!this.#isUp && !(await this.#connected())) return undefined
    if (!this.#isUp || this.#sources.has(id)) return undefined
    return new Promise((resolve) => {
      this.#sources.set(id, resolve)
      this.#send(sharedMessage('source', id, own))
    })
  }

  #confirm(id: ObjectId, type: 'confirm' | 'copy' = 'confirm', name = ''): Promise<boolean> {
    // It may have ended since the caller has looked.
    if (!this.#isUp) return Promise.resolve(false)
    return new Promise((resolve) => {
      const others = this.#confirms.get(id)
      if (others !== undefined) return void others.push(resolve)
      this.#confirms.set(id, [resolve])
      this.#send(sharedMessage(type, id, name))
    })
  }

  /**
   * Content, in messages or in a file; undefined: it is not there, or cannot be reached. `wanted`:
   * where it goes if it is not in a file of the server.
   */
  async get(id: ObjectId, wanted?: Wanted): Promise<Part | undefined> {
    if (!this.#isUp && !(await this.#connected())) return undefined
    const part = await this.#request(id, [getMessage(id)], wanted)
    if (part?.type !== 'file' || isThere(part.chunks)) return part
    // It could not be kept, or something else has removed the file: the server can still read it.
    return this.#request(id, contentRequest([id], this.#proof))
  }

  /** From now on, this process is the only user of some content: others have stored it. */
  claim(id: ObjectId): void {
    this.#send(sharedMessage('claim', id))
  }

  /** This process does not use some content any more. */
  delete(ids: readonly ObjectId[]): void {
    const nothing = { objectTypes: [], objectNames: [], objectBytes: [] }
    this.#send(this.#instruction('delete', { ...nothing, objectIds: ids }))
  }

  /** Ends the connection. All calls are over. */
  async close(): Promise<void> {
    if (this.#isUp) this.#send({ kind: 'clientDisconnect', disconnectType: 'disconnect' })
    clearInterval(this.#heartbeat)
    this.#end()
    await this.#socket.close()
    this.#reader.close()
    this.files.close()
  }

  #request(id: ObjectId, messages: readonly Message[], wanted?: Wanted): Promise<Part | undefined> {
    // It may have ended since the caller has looked.
    if (!this.#isUp) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      const others = this.#gets.get(id)
      if (others !== undefined) return void others.settles.push(resolve)
      this.#gets.set(id, { settles: [resolve], wanted })
      for (const message of messages) this.#send(message)
    })
  }

  #connected(): boolean | Promise<boolean> {
    const waiting = this.#waiting
    if (this.#isUp || waiting === undefined) return this.#isUp
    return new Promise((resolve) => {
      waiting.push(resolve)
      this.#timer ??= setTimeout(() => this.#giveUpWaiting(), CONNECT_MS)
    })
  }

  #send(message: Message): void {
    this.#socket.send(encodeFrame(message))
  }

  #instruction(
    instructionType: 'create' | 'delete',
    objectContent: ObjectInstruction['objectContent'],
  ): ObjectInstruction {
    const objectUser = this.#identity
    return { kind: 'objectInstruction', instructionType, objectUser, objectContent }
  }

  #onConnect(): void {
    this.#waiting ??= []
    this.#greet()
    this.#heartbeat = setInterval(() => this.#greet(), HEARTBEAT_MS).unref()
  }

  #greet(): void {
    const wantsReport = !this.#isUp || this.#handler.onFree !== undefined
    this.#send(visitorHeartbeat(wantsReport, OUR_FEATURES))
  }

  #onMessage(message: Message): void {
    switch (message.kind) {
      case 'objectFiles': {
        // Comes before the first echo.
        this.#proof = this.files.accept(message.directory)
        if (this.#proof.byteLength === 0) return
        this.#send(proofMessage(this.#proof))
        this.#offer = message
        return
      }
      case 'clientHeartbeatEcho':
        return this.#onEcho(message)
      case 'objectResponse':
        return this.#onResponse(message)
      case 'sharedObject': {
        const { type, objectId: id, name } = message
        if (type === 'source') {
          const settle = this.#sources.get(id)
          this.#sources.delete(id)
          return settle?.(name)
        }
        const settled = this.#confirms.get(id)
        this.#confirms.delete(id)
        for (const settle of settled ?? []) settle(type === 'published')
        if (settled === undefined && type === 'unstored') this.#handler.onMissing?.(id)
        break
      }
      default:
    }
  }

  #onEcho({ schedulerId: instance, features, reports }: ClientHeartbeatEcho): void {
    const [{ freeBytes } = { freeBytes: 0 }] = reports
    if (this.#isUp) return this.#handler.onFree?.(freeBytes)
    if (!isStorageServer({ features }))
      return this.#onDown('a scheduler listens there, not an object storage server')
    const isRight = this.instance === undefined || this.instance === instance
    if (!isRight) return this.#onDown('another object storage server listens there')
    this.#isUp = true
    const waiting = this.#waiting ?? []
    this.#giveUpWaiting([])
    if (this.#offer !== undefined) this.#handler.onNear?.(this.#offer)
    this.#handler.onFree?.(freeBytes)
    this.#handler.onUp?.(instance)
    for (const resolve of waiting) resolve(true)
  }

  /** Calls that wait now, other than those that continue, find no connection. */
  #giveUpWaiting(waiting = this.#waiting ?? []): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting = undefined
    for (const resolve of waiting) resolve(false)
  }

  #onResponse({ responseType, objectContent }: ObjectResponse): void {
    const { objectIds, objectTypes, objectBytes } = objectContent
    for (const [at, id] of objectIds.entries()) {
      const type = objectTypes[at]
      const isThere = responseType === 'content' && (type === 'object' || type === 'file')
      this.#settleGet(id, isThere ? { type, chunks: objectBytes[at] ?? [] } : undefined)
    }
  }

  #settleGet(id: ObjectId, part: Part | undefined): void {
    const { settles = [] } = this.#gets.get(id) ?? {}
    this.#gets.delete(id)
    for (const settle of settles) settle(part)
  }

  #onDown(reason: string): void {
    this.#end()
    this.#handler.onDown?.(reason)
  }

  /** Nothing that was asked will be answered. */
  #end(): void {
    if (this.#isUp && this.#offer !== undefined) this.#handler.onNear?.(undefined)
    this.#offer = undefined
    this.files.use('')
    this.#isUp = false
    this.#giveUpWaiting()
    const confirms = [...this.#confirms.values()].flat()
    this.#confirms.clear()
    for (const settle of confirms) settle(false)
    const sources = [...this.#sources.values()]
    this.#sources.clear()
    for (const settle of sources) settle(undefined)
    this.#arrivals.clear()
    for (const id of this.#gets.keys()) this.#settleGet(id, undefined)
  }
}

/**
 * Where this process reaches a server: the host `*` in its name stands for the one under which it
 * reaches the scheduler. Throws `ConfigError` for a wrong address.
 */
export function serverAddress(name: string, schedulerAddress: string): string {
  const server = parseAddress(name)
  const scheduler = parseAddress(schedulerAddress)
  if (server.kind !== 'tcp' || server.host !== '*') return name
  const host = scheduler.kind === 'tcp' ? scheduler.host : '127.0.0.1'
  return localAddress(formatAddress({ ...server, host }))
}

/**
 * The name of a server that has connected from this IP address ('' = that of this machine) and
 * listens at `text`. Throws `ConfigError` for a wrong address.
 */
export function serverName(text: string, ip: string): string {
  const address = parseAddress(text)
  const isHere = ip === '' || isLoopback(ip)
  if (address.kind === 'ipc') return formatAddress(address)
  if (!isHere && isLoopback(address.host)) {
    throw new ConfigError('no other machine can reach it there; start it with another address')
  }
  if (!isEverywhere(address.host)) return formatAddress(address)
  // On the machine of the scheduler: its name there is that of the scheduler.
  return isHere ? formatAddress({ ...address, host: '*' }) : formatAddress({ ...address, host: ip })
}

/** The heartbeat of a client that submits nothing: little is logged about such visitors. */
export function visitorHeartbeat(isFirst: boolean, features: number): ClientHeartbeat {
  return {
    kind: 'clientHeartbeat',
    resource: { cpu: 0, rss: 0 },
    latencyUS: 0,
    ...PLAIN_CLIENT_HEARTBEAT,
    wantsReport: isFirst,
    features,
    runtime: `node/${process.versions.node}`,
  }
}

function getMessage(id: ObjectId): Message {
  return { kind: 'objectRequest', requestType: 'get', objectIds: [id] }
}

function sharedMessage(
  type: 'confirm' | 'claim' | 'copy' | 'source',
  id: ObjectId,
  name = '',
): Message {
  return { kind: 'sharedObject', type, name, objectId: id, sizeBytes: 0 }
}

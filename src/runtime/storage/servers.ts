// Large content of a client or worker goes to object storage servers, and comes from there: this is
// between its connection to the scheduler, which only learns where content is, and the rest.
// docs/protocol.md#servers

import { totalBytes } from '../../base/bytes.js'
import type { ObjectId } from '../../base/ids.js'
import type { Logger } from '../../base/logger.js'
import { formatAddress, parseAddress, parseConnectAddress } from '../../transport/address.js'
import type {
  Message,
  ObjectContent,
  ObjectFiles,
  ObjectInstruction,
  ObjectResponse,
  StorageServer,
  StorageServers,
} from '../../wire/message.js'
import {
  contentBytes,
  pickObjects,
  splitChunks,
  storedChunk,
  storedContentOf,
} from '../../wire/object-content.js'
import { isOwnHost } from '../process-usage.js'
import { type Part, readObjectFile } from '../object-files.js'
import { StorageLink } from './link.js'

/** Smaller content stays in messages: a server would take longer. */
export const MIN_STORED_BYTES: number = 64 * 1024

/** With more bytes than this on their way to servers, the owner is asked to pause. */
const MAX_PENDING_BYTES = 64 * 1024 ** 2

/** A server that could not be used is not tried again for this long. */
const AVOIDED_MS = 10_000

/** Messages that need not wait for content before them. */
const URGENT: ReadonlySet<Message['kind']> = new Set([
  'clientHeartbeat',
  'workerHeartbeat',
  'objectRequest',
  'storageServers',
] as const)

/** The connection to the scheduler, and what handles its messages. */
interface ServerUser {
  /** The address of the scheduler, as this process knows it. */
  readonly address: string
  readonly logger: Logger
  /** Sends a message to the scheduler. False: pause until `onDrain` of the connection. */
  send(message: Message): boolean
  /** Objects have arrived: like a message from the scheduler. */
  receive(response: ObjectResponse): void
  /** After `send` of this has returned false: continue. */
  onDrain(): void
  /** A server shares a directory with this machine: content may be in a file there; or not. */
  onNear?(offer: ObjectFiles | undefined): void
}

/** A message that waits until its content, and everything before it, is stored. */
interface OutgoingEntry {
  message: Message
  isReady: boolean
}

/** The servers of one connection to a scheduler. */
export class ObjectServers {
  readonly #user: ServerUser
  readonly #links = new Map<string, StorageLink>()
  #names: readonly string[] = []
  /** What the scheduler has told last. */
  #offered: readonly StorageServer[] = []
  /** Servers that could not be used, and until when they are not. */
  readonly #avoided = new Map<string, number>()
  #queue: OutgoingEntry[] = []
  #pendingBytes = 0
  #isFull = false
  /** The scheduler knows that this process reaches servers. */
  #isAble = true
  /** Counts connections: what was begun during an earlier one is dropped. */
  #connection = 0
  readonly #onIdle: (() => void)[] = []

  constructor(user: ServerUser) {
    this.#user = user
  }

  /** Whether there are any servers. */
  get isUsed(): boolean {
    return this.#names.length > 0
  }

  /** The scheduler tells which servers can be used from now on. */
  onServers({ servers }: StorageServers): void {
    this.#offered = servers.filter(({ address }) => this.#isUsable(address))
    this.#names = this.#offered.map(({ address }) => address)
    for (const link of this.#links.values()) {
      const isSame = this.#offered.some(({ address, instance }) => {
        return address === link.name && instance === link.instance
      })
      if (!isSame) this.#close(link)
    }
    if (!('onNear' in this.#user)) return
    for (const name of this.#names) if (this.#isHere(name)) this.#linkTo(name)
  }

  /** Sends a message to the scheduler, after its large content. False: pause until `onDrain`. */
  send(message: Message): boolean {
    const isCreate = message.kind === 'objectInstruction' && message.instructionType === 'create'
    const large = isCreate && this.isUsed ? this.#largeIn(message.objectContent) : []
    const isFirst = this.#queue.length === 0 || URGENT.has(message.kind)
    if (large.length === 0 && isFirst) return this.#user.send(message)
    const entry: OutgoingEntry = { message, isReady: large.length === 0 }
    this.#queue.push(entry)
    if (isCreate && large.length > 0) void this.#storeAll(entry, message, large)
    if (this.#pendingBytes >= MAX_PENDING_BYTES) this.#isFull = true
    return !this.#isFull
  }

  /** Objects of which content is on servers come later. Returns the others; undefined: none. */
  incoming(response: ObjectResponse): ObjectResponse | undefined {
    const { objectIds, objectTypes } = response.objectContent
    if (!objectTypes.includes('stored')) return response
    const isStored = (at: number): boolean => objectTypes[at] === 'stored'
    for (const at of objectIds.keys()) if (isStored(at)) void this.#fetch(response, at)
    const objectContent = pickObjects(response.objectContent, (at) => !isStored(at))
    if (objectContent.objectIds.length === 0) return undefined
    return { ...response, bytes: undefined, objectContent }
  }

  /** The connection to the scheduler has ended: nothing more is sent over it. */
  reset(): void {
    this.#connection += 1
    this.#names = []
    this.#offered = []
    this.#queue = []
    this.#isFull = false
    this.#isAble = true
    for (const link of this.#links.values()) this.#close(link)
    this.#tellIdle()
  }

  /** Resolves when everything has been sent. What takes too long is sent in messages. */
  async idle(maxMs: number = Infinity): Promise<void> {
    if (this.#queue.length === 0) return
    const timer = maxMs < Infinity ? setTimeout(() => this.#sendAsItIs(), maxMs) : undefined
    await new Promise<void>((resolve) => this.#onIdle.push(resolve))
    clearTimeout(timer)
  }

  /** Does not wait for servers any longer. */
  #sendAsItIs(): void {
    for (const entry of this.#queue) entry.isReady = true
    this.#advance()
  }

  #tellIdle(): void {
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  /** Stores content, as far as possible, and sends the message. */
  async #storeAll(
    entry: OutgoingEntry,
    message: ObjectInstruction,
    large: readonly number[],
  ): Promise<void> {
    const connection = this.#connection
    const { objectNames, objectBytes, objectTypes } = message.objectContent
    const types = [...objectTypes]
    const bytes = [...objectBytes]
    const stored = large.map(async (at) => {
      const part = { type: types[at] as Part['type'], chunks: bytes[at] ?? [] }
      const byteLength = contentBytes(part.type, part.chunks)
      this.#pendingBytes += byteLength
      const chunk = await this.#store(objectNames[at] as Uint8Array, part)
      this.#pendingBytes -= byteLength
      const isMoved = chunk !== undefined
      const left = isMoved ? undefined : readIn(part)
      types[at] = isMoved ? 'stored' : (left ?? part).type
      bytes[at] = isMoved ? [chunk] : (left ?? part).chunks
    })
    await Promise.all(stored)
    if (entry.isReady) return
    const objectContent = { ...message.objectContent, objectTypes: types, objectBytes: bytes }
    entry.message = { ...message, bytes: undefined, objectContent }
    entry.isReady = true
    if (connection === this.#connection) this.#advance()
  }

  #advance(): void {
    let count = 0
    let hasRoom = true
    for (const { message, isReady } of this.#queue) {
      if (!isReady) break
      hasRoom = this.#user.send(message)
      count += 1
    }
    this.#queue.splice(0, count)
    if (this.#queue.length === 0) this.#tellIdle()
    if (!this.#isFull || this.#pendingBytes >= MAX_PENDING_BYTES || !hasRoom) return
    this.#isFull = false
    this.#user.onDrain()
  }

  /** Stores content on one of the servers. Returns the chunk that names it; undefined: on none. */
  async #store(name: Uint8Array, part: Part): Promise<Uint8Array | undefined> {
    const tried = new Set<string>()
    const own = part.type === 'file' ? this.#ownerOf(part.chunks) : undefined
    const there = await own?.put(name, part).catch(() => undefined)
    if (there !== undefined) return storedChunk(there)
    if (own !== undefined) tried.add(own.name)
    const given = readIn(part)
    if (given.type === 'file') return undefined
    for (let link = this.#pick(tried); link !== undefined; link = this.#pick(tried)) {
      tried.add(link.name)
      // Content that cannot be encoded is sent, and refused, like any other.
      const content = await link.put(name, given).catch(() => undefined)
      if (content !== undefined) return storedChunk(content)
      this.#avoid(link.name)
    }
    return undefined
  }

  /** The server on this machine that shares this file. */
  #ownerOf(chunks: readonly Uint8Array[]): StorageLink | undefined {
    for (const link of this.#links.values()) if (link.files.has(chunks)) return link
    return undefined
  }

  /** The positions of content that goes to a server. */
  #largeIn({ objectTypes, objectBytes }: ObjectContent): readonly number[] {
    const positions: number[] = []
    for (const [at, chunks] of objectBytes.entries()) {
      const type = objectTypes[at]
      const isLarge = type === 'object' && totalBytes(chunks) >= MIN_STORED_BYTES
      if (isLarge || (type === 'file' && this.#ownerOf(chunks) !== undefined)) positions.push(at)
    }
    return positions
  }

  /** One of the servers that can be used: on this machine, if there is one. */
  #pick(tried: ReadonlySet<string>): StorageLink | undefined {
    const now = performance.now()
    const names = this.#names.filter((name) => {
      const isAvoided = (this.#avoided.get(name) ?? 0) > now
      return !tried.has(name) && !isAvoided && this.#links.get(name)?.hasFailed !== true
    })
    const near = names.filter((name) => this.#links.get(name)?.isNear ?? this.#isHere(name))
    const choice = near.length > 0 ? near : names
    const name = choice[Math.floor(Math.random() * choice.length)]
    return name === undefined ? undefined : this.#linkTo(name)
  }

  #isUsable(name: string): boolean {
    try {
      parseConnectAddress(this.#addressOf(name))
      return true
    } catch {
      this.#user.logger.warn('ignored a wrong address of an object storage server', { name })
      return false
    }
  }

  #isHere(name: string): boolean {
    const address = parseAddress(this.#addressOf(name))
    return address.kind === 'ipc' || isOwnHost(address.host)
  }

  #avoid(name: string): void {
    this.#avoided.set(name, performance.now() + AVOIDED_MS)
    this.#user.logger.debug('an object storage server cannot be used now', { server: name })
  }

  /** The host `*` stands for the one under which this process reaches the scheduler. */
  #addressOf(name: string): string {
    const server = parseAddress(name)
    const scheduler = parseAddress(this.#user.address)
    if (server.kind !== 'tcp' || server.host !== '*') return name
    const host = scheduler.kind === 'tcp' ? scheduler.host : '127.0.0.1'
    return formatAddress({ ...server, host })
  }

  #linkTo(name: string): StorageLink {
    const known = this.#links.get(name)
    if (known !== undefined) return known
    const instance = this.#offered.find(({ address }) => address === name)?.instance
    const place = { name, address: this.#addressOf(name), instance }
    const link = new StorageLink(place, this.#user.logger, {
      onNear: (offer) => this.#user.onNear?.(offer),
      onUp: () => this.#onUp(),
    })
    this.#links.set(name, link)
    return link
  }

  #close(link: StorageLink): void {
    this.#links.delete(link.name)
    void link.close()
  }

  /** Fetches the content of an object from its server. */
  async #fetch(response: ObjectResponse, at: number): Promise<void> {
    const connection = this.#connection
    const objectContent = pickObjects(response.objectContent, (other) => other === at)
    const part = await this.#get(objectContent)
    if (connection !== this.#connection) return
    if (part === undefined) return this.#requestFromScheduler(objectContent.objectIds)
    const types = { objectTypes: [part.type], objectBytes: [part.chunks] }
    const content = { ...objectContent, ...types }
    this.#user.receive({ ...response, bytes: undefined, objectContent: content })
  }

  async #get({ objectBytes: [chunks = []] }: ObjectContent): Promise<Part | undefined> {
    const content = storedContentOf(chunks)
    if (content === undefined || !this.#names.includes(content.address)) return undefined
    const link = this.#linkTo(content.address)
    const part = await link.get(content.id)
    if (part === undefined && link.hasFailed) this.#avoid(content.address)
    return part
  }

  /** The scheduler answers in order. If any server can be reached, it knows that afterwards. */
  #requestFromScheduler(objectIds: readonly ObjectId[]): void {
    if (this.#isAble) this.send(reachable([]))
    this.send({ kind: 'objectRequest', requestType: 'get', objectIds })
    this.#isAble = this.#names.some((name) => this.#links.get(name)?.hasFailed !== true)
    if (this.#isAble) this.send(reachable(this.#offered))
  }

  /** A server can be reached: the scheduler need not send its content itself any more. */
  #onUp(): void {
    if (this.#isAble) return
    this.#isAble = true
    this.send(reachable(this.#offered))
  }
}

function reachable(servers: readonly StorageServer[]): StorageServers {
  return { kind: 'storageServers', servers, isServer: false }
}

/** Content that goes in a message after all. A file that is gone stays as it is. */
function readIn(part: Part): Part {
  const bytes = part.type === 'file' ? readObjectFile(part.chunks) : undefined
  return bytes === undefined ? part : { type: 'object', chunks: splitChunks(bytes) }
}

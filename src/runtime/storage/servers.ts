// Large content of a client or worker goes to object storage servers, and comes from there: this is
// between its connection to the scheduler, which only learns where content is, and the rest.
// docs/protocol.md#servers

import type { ObjectId, SchedulerId } from '../../base/ids.js'
import { parseConnectAddress } from '../../transport/address.js'
import type {
  Message,
  ObjectContent,
  ObjectFiles,
  ObjectInstruction,
  ObjectResponse,
  StorageServer,
  StorageServers,
  TaskResult,
} from '../../wire/message.js'
import {
  contentBytes,
  isLargeObject,
  MIN_LARGE_BYTES,
  type Part,
  pickObjects,
  storedChunk,
  type StoredContent,
  storedContentOf,
} from '../../wire/object-content.js'
import { closeObjectFile, inMemory } from '../object-files.js'
import type { ArrivalStore } from './arrival.js'
import { chooseServer, isHere } from './choice.js'
import { HeldMessages, type MessageSubject, subjectOf } from './held.js'
import { type LinkOptions, serverAddress, StorageLink } from './link.js'
import { Shortage } from './shortage.js'

/** With more bytes than this in several objects on their way, the owner is asked to pause. */
const MAX_PENDING_BYTES = 64 * 1024 ** 2

/** A server on this machine copies content of at least this many bytes from other servers. */
const MIN_COPIED_BYTES = 1024 ** 2

/** Maximum number of objects for which it is remembered where their content is. */
const MAX_REMEMBERED = 4_000

/** A server that could not be used is not tried again for this long. */
const AVOIDED_MS = 10_000

/** The connection to the scheduler, and what handles its messages. */
interface ServerUser extends LinkOptions {
  /** The address of the scheduler, as this process knows it. */
  readonly address: string
  /** Sends a message to the scheduler. False: pause until `onDrain` of the connection. */
  send(message: Message): boolean
  /** Objects have arrived: like a message from the scheduler. */
  receive(response: ObjectResponse): void
  /** After `send` of this has returned false: continue. */
  onDrain(): void
  /**
   * A result waits for content, so that heartbeats overtake it; or (not `isHeld`) it was sent.
   * Called after `send` has returned, in order, and only for the current connection.
   */
  onHeld?(result: TaskResult, isHeld: boolean): void
  /** Where large content goes that is fetched; default: fresh memory. */
  readonly arrivals?: ArrivalStore
  /** A server shares a directory with this machine: content may be in a file there; or not. */
  onNear?(offer: ObjectFiles | undefined): void
}

/** A message that waits until its content is stored, and everything before it is sent. */
interface OutgoingEntry {
  readonly message: Message
  readonly subject: MessageSubject
  /** What is sent; undefined: its content is not stored yet. */
  ready: Message | undefined
}

/** Content that this process has stored. */
interface RememberedContent {
  readonly content: StoredContent
  readonly instance: SchedulerId
}

/** The servers of one connection to a scheduler. */
export class ObjectServers {
  readonly #user: ServerUser
  readonly #shortage = new Shortage((text, fields) => this.#user.logger.warn(text, fields))
  readonly #links = new Map<string, StorageLink>()
  /** What the scheduler has told last. */
  #offered: readonly StorageServer[] = []
  /** Objects that need not be stored again after a new connection to the scheduler. */
  readonly #remembered = new Map<ObjectId, RememberedContent>()
  /** Servers that could not be used, and until when they are not. */
  readonly #avoided = new Map<string, number>()
  #queue: OutgoingEntry[] = []
  readonly #held = new HeldMessages()
  #pendingBytes = 0
  #pendingObjects = 0
  #isFull = false
  #isAdvancing = false
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
    return this.#offered.length > 0
  }

  /** The scheduler tells which servers can be used from now on. */
  onServers({ servers }: StorageServers): void {
    this.#offered = servers.filter(({ address }) => this.#isUsable(address))
    for (const link of this.#links.values()) {
      if (this.#offerOf(link.name)?.instance !== link.instance) this.#close(link)
    }
    if (!('onNear' in this.#user)) return
    for (const { address } of this.#offered)
      if (isHere(this.#addressOf(address))) this.#linkTo(address)
  }

  /**
   * Sends a message to the scheduler, after its large content and what it depends on. False: pause
   * until `onDrain`.
   */
  send(message: Message): boolean {
    const instruction = message.kind === 'objectInstruction' ? message : undefined
    const isCreate = instruction?.instructionType === 'create'
    const large = isCreate && this.isUsed ? this.#largeIn(instruction.objectContent) : []
    if (instruction?.instructionType === 'delete') this.#forget(instruction)
    if (large.length === 0 && this.#queue.length === 0) return this.#user.send(message)
    const subject = subjectOf(message)
    if (large.length === 0 && !this.#held.holdsBack(subject)) return this.#user.send(message)
    const entry: OutgoingEntry = { message, subject, ready: large.length > 0 ? undefined : message }
    this.#queue.push(entry)
    this.#held.add(subject)
    this.#tellHeld(message, true)
    if (isCreate && large.length > 0) void this.#storeAll(entry, instruction, large)
    if (this.#isCrowded) this.#isFull = true
    return !this.#isFull
  }

  /** One object alone, however large, holds up nothing else. */
  get #isCrowded(): boolean {
    return this.#pendingObjects > 1 && this.#pendingBytes >= MAX_PENDING_BYTES
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
    this.#offered = []
    this.#queue = []
    this.#held.clear()
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
    for (const entry of this.#queue) entry.ready ??= entry.message
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
    const { objectIds, objectNames, objectBytes, objectTypes } = message.objectContent
    const types = [...objectTypes]
    const bytes = [...objectBytes]
    const stored = large.map(async (at) => {
      const given: Part = { type: types[at] ?? 'object', chunks: bytes[at] ?? [] }
      const byteLength = contentBytes(given.type, given.chunks)
      this.#pendingBytes += byteLength
      this.#pendingObjects += 1
      const id = objectIds[at] as ObjectId
      const part = await this.#storeOnce(id, objectNames[at] as Uint8Array, given)
      this.#pendingBytes -= byteLength
      this.#pendingObjects -= 1
      types[at] = part.type
      bytes[at] = part.chunks
    })
    await Promise.all(stored)
    if (entry.ready !== undefined) return
    const objectContent = { ...message.objectContent, objectTypes: types, objectBytes: bytes }
    entry.ready = { ...message, bytes: undefined, objectContent }
    if (connection === this.#connection) this.#advanceSoon()
  }

  /** Once for all that a server has just confirmed: each time, all entries are looked at. */
  #advanceSoon(): void {
    if (this.#isAdvancing) return
    this.#isAdvancing = true
    queueMicrotask(() => {
      this.#isAdvancing = false
      this.#advance()
    })
  }

  /** Sends what waits for nothing any more. */
  #advance(): void {
    const before = new HeldMessages()
    const free: Message[] = []
    this.#queue = this.#queue.filter((entry) => {
      const { subject, ready } = entry
      if (ready === undefined || before.holdsBack(subject) || this.#isOutdated(entry)) {
        before.add(subject)
        return true
      }
      this.#held.remove(subject)
      free.push(ready)
      return false
    })
    let hasRoom = true
    for (const message of free) {
      hasRoom = this.#user.send(message)
      this.#tellHeld(message, false)
    }
    if (this.#queue.length === 0) this.#tellIdle()
    if (!this.#isFull || this.#isCrowded || !hasRoom) return
    this.#isFull = false
    this.#user.onDrain()
  }

  #tellHeld(message: Message, isHeld: boolean): void {
    if (message.kind !== 'taskResult') return
    const connection = this.#connection
    queueMicrotask(() => {
      if (connection === this.#connection) this.#user.onHeld?.(message, isHeld)
    })
  }

  /** Whether its content is on a server that cannot be used any more: it is stored again. */
  #isOutdated(entry: OutgoingEntry): boolean {
    const { message, ready } = entry
    if (ready === message || ready?.kind !== 'objectInstruction') return false
    if (message.kind !== 'objectInstruction' || !this.isUsed) return false
    const { objectTypes, objectBytes } = ready.objectContent
    const isElsewhere = objectBytes.some((chunks, at) => {
      const content = objectTypes[at] === 'stored' ? storedContentOf(chunks) : undefined
      return content !== undefined && this.#offerOf(content.address) === undefined
    })
    if (!isElsewhere) return false
    entry.ready = undefined
    void this.#storeAll(entry, message, this.#largeIn(message.objectContent))
    return true
  }

  /** Stores content, unless it is still where this process has stored it before. */
  async #storeOnce(id: ObjectId, name: Uint8Array, given: Part): Promise<Part> {
    const { content, instance } = this.#remembered.get(id) ?? {}
    if (content !== undefined && this.#offerOf(content.address)?.instance === instance) {
      const isThere = await this.#linkTo(content.address).confirm(content.id)
      if (isThere) return { type: 'stored', chunks: [storedChunk(content)] }
    }
    const part = await this.#store(name, given)
    const stored = part.type === 'stored' ? storedContentOf(part.chunks) : undefined
    if (stored !== undefined) this.#remember(id, stored)
    return part
  }

  #remember(id: ObjectId, content: StoredContent): void {
    const { instance } = this.#offerOf(content.address) ?? {}
    if (instance === undefined) return
    this.#remembered.set(id, { content, instance })
    const [oldest] = this.#remembered.keys()
    if (this.#remembered.size > MAX_REMEMBERED && oldest) this.#remembered.delete(oldest)
  }

  #forget({ objectContent: { objectIds } }: ObjectInstruction): void {
    if (this.#remembered.size > 0) for (const id of objectIds) this.#remembered.delete(id)
  }

  /** Stores content on one of the servers. Returns how it travels to the scheduler. */
  async #store(name: Uint8Array, part: Part): Promise<Part> {
    const connection = this.#connection
    const own = part.type === 'file' ? this.#ownerOf(part.chunks) : undefined
    // Open, because a server removes the file of what it refuses.
    const fd = own && (await this.#shortage.open(part.chunks))
    const there = await own?.put(name, part).catch(() => undefined)
    const given = there === undefined ? inMemory(part, fd) : undefined
    if (fd !== undefined) closeObjectFile(fd)
    if (there !== undefined) return { type: 'stored', chunks: [storedChunk(there)] }
    const tried = new Set(own === undefined ? [] : [own.name])
    // A file that is gone stays as it is.
    if (given === undefined) return part
    for (let link = this.#pick(tried); link !== undefined; link = this.#pick(tried)) {
      tried.add(link.name)
      // Content that cannot be encoded is sent, and refused, like any other.
      const content = await link.put(name, given).catch(() => undefined)
      if (content !== undefined) return { type: 'stored', chunks: [storedChunk(content)] }
      // The link was closed here, and its server may well be used again.
      if (connection !== this.#connection) break
      this.#avoid(link.name)
    }
    return given
  }

  /** The server on this machine that shares this file. */
  #ownerOf(chunks: readonly Uint8Array[]): StorageLink | undefined {
    for (const link of this.#links.values()) if (link.files.has(chunks)) return link
    return undefined
  }

  /** The positions of content that goes to a server. */
  #largeIn(content: ObjectContent): readonly number[] {
    const positions: number[] = []
    for (const [at, chunks] of content.objectBytes.entries()) {
      const isLarge = isLargeObject(content, at, MIN_LARGE_BYTES)
      const isFile = content.objectTypes[at] === 'file'
      if (isLarge || (isFile && this.#ownerOf(chunks) !== undefined)) positions.push(at)
    }
    return positions
  }

  /** One of the servers that can be used. */
  #pick(tried: ReadonlySet<string>): StorageLink | undefined {
    const now = performance.now()
    const choices = this.#offered.flatMap(({ address: name, freeBytes }) => {
      const link = this.#links.get(name)
      const isAvoided = (this.#avoided.get(name) ?? 0) > now
      if (tried.has(name) || isAvoided || link?.hasFailed === true) return []
      return [{ name, isNear: link?.isNear ?? isHere(this.#addressOf(name)), freeBytes }]
    })
    const name = chooseServer(choices, Math.random())
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

  #avoid(name: string): void {
    this.#avoided.set(name, performance.now() + AVOIDED_MS)
    this.#user.logger.debug('an object storage server cannot be used now', { server: name })
  }

  #addressOf(name: string): string {
    return serverAddress(name, this.#user.address)
  }

  /** Undefined: the server cannot be used now. */
  #offerOf(name: string): StorageServer | undefined {
    return this.#offered.find(({ address }) => address === name)
  }

  #linkTo(name: string): StorageLink {
    const known = this.#links.get(name)
    if (known !== undefined) return known
    const place = { name, address: this.#addressOf(name), instance: this.#offerOf(name)?.instance }
    const link = new StorageLink(place, this.#user, {
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
    if (connection !== this.#connection) return part && this.#user.arrivals?.drop(part)
    if (part === undefined) return this.#requestFromScheduler(objectContent.objectIds)
    const types = { objectTypes: [part.type], objectBytes: [part.chunks] }
    const content = { ...objectContent, ...types }
    this.#user.receive({ ...response, bytes: undefined, objectContent: content })
  }

  async #get({ objectBytes: [chunks = []] }: ObjectContent): Promise<Part | undefined> {
    const content = storedContentOf(chunks)
    if (content === undefined || this.#offerOf(content.address) === undefined) return undefined
    const link = this.#linkTo(content.address)
    const { arrivals: store } = this.#user
    const wanted = store && { byteLength: content.byteLength, store }
    const near = content.byteLength < MIN_COPIED_BYTES ? undefined : this.#nearInsteadOf(link)
    const copy =
      (await near?.copy(content)) === true ? await near?.get(content.id, wanted) : undefined
    if (copy !== undefined) return copy
    const part = await link.get(content.id, wanted)
    if (part === undefined && link.hasFailed) this.#avoid(content.address)
    return part
  }

  /** A server on this machine that can copy content from another one. */
  #nearInsteadOf(link: StorageLink): StorageLink | undefined {
    return link.isNear ? undefined : [...this.#links.values()].find(({ isNear }) => isNear)
  }

  /** The scheduler answers in order. If any server can be reached, it knows that afterwards. */
  #requestFromScheduler(objectIds: readonly ObjectId[]): void {
    if (this.#isAble) this.send(reachable([]))
    this.send({ kind: 'objectRequest', requestType: 'get', objectIds })
    this.#isAble = this.#offered.some(({ address }) => this.#links.get(address)?.hasFailed !== true)
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

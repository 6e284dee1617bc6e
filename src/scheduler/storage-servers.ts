// The object storage servers of a scheduler: which there are, which can be used, and what is
// stored there. The content itself does not pass through this process, except for peers that
// cannot reach a server. docs/protocol.md#servers

import { ConfigError } from '../base/errors.js'
import { FEATURE_SERVERS, hasFeature } from '../base/features.js'
import type { Identity, ObjectId, SchedulerId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'
import { messageOf } from '../base/text.js'
import type { SeenServer } from '../core/scheduler/events.js'
import { serverName, StorageLink } from '../runtime/storage/link.js'
import { Shortage } from '../runtime/storage/shortage.js'
import { localAddress } from '../transport/address.js'
import type { TlsOption } from '../transport/tls/options.js'
import type { Message, StorageServer, StorageServers } from '../wire/message.js'
import { joinChunks, type StoredContent, storedContentOf } from '../wire/object-content.js'
import { HeldContent, moveContent } from './content-moves.js'
import { isUsable, type KnownServer, mayReturn, wake } from './known-server.js'

/** A server that has not come back by then has lost everything. */
const RETURN_MS = 2_000

/** A server that is started to take over content must be usable by then. */
const START_MS = 10_000

/** More servers than this are refused. */
const MAX_SERVERS = 10_000

/** Peers learn of a change of more than this part of the free room of all servers. */
const TOLD_SHARE = 1 / 16

/** Lines about servers that cannot be used are at least so far apart. */
const TELL_MS = 60_000

/** What the servers need. */
interface ServerParts extends TlsOption {
  readonly logger: Logger
  send(peer: Identity, message: StorageServers): void
  /** There are servers that can be used now, or none any more. */
  onUsable(areUsable: boolean): void
  /** A server is gone, with all content. */
  onLost(address: string): void
  /** The content of an object has been copied to another server. */
  onMoved(objectId: ObjectId, from: StoredContent, address: string): void
  /** A server is needed, to which content can be moved. False: none is starting. */
  startServer(): boolean
  /** The content of an object is not on its server. */
  onContentLost(objectId: ObjectId, content: StoredContent): void
}

/** All servers of one scheduler. */
export class SchedulerServers {
  readonly #parts: ServerParts
  readonly #shortage = new Shortage((text, fields) => this.#parts.logger.warn(text, fields))
  readonly #servers = new Map<string, KnownServer>()
  /** Peers that may use servers; false: they cannot reach them. */
  readonly #peers = new Map<Identity, boolean>()
  readonly #refusals = new Recurrence(TELL_MS)
  readonly #troubles = new Map<string, Recurrence>()
  readonly #detours = new Recurrence(TELL_MS)
  #areUsable = false
  #isClosed = false
  /** Called once, when another server can be used. */
  readonly #onNext: (() => void)[] = []

  constructor(parts: ServerParts) {
    this.#parts = parts
  }

  /** Connects to servers that were named. Throws `ConfigError` for a wrong address. */
  open(addresses: readonly string[]): void {
    for (const address of addresses) this.#add(serverName(address, ''))
  }

  /** The servers, if this message is the first heartbeat of a peer that can use them. */
  offerTo(peer: Identity, message: Message): StorageServers | undefined {
    if (message.kind !== 'clientHeartbeat' && message.kind !== 'workerHeartbeat') return undefined
    if (this.#peers.has(peer) || !hasFeature(message.features, FEATURE_SERVERS)) return undefined
    this.#peers.set(peer, true)
    const offer = this.#offer()
    return offer.servers.length === 0 ? undefined : offer
  }

  /** A server makes itself known, or a peer says whether it can reach servers. */
  onMessage(peer: Identity, { servers, isServer }: StorageServers, ip: string): void {
    const [server] = servers
    if (!isServer) {
      if (this.#peers.has(peer)) this.#peers.set(peer, server !== undefined)
      return
    }
    if (this.#isClosed) return
    if (server === undefined) return void this.#onLeaving(peer)
    try {
      this.#register(serverName(server.address, ip), peer, server.instance)
    } catch (error) {
      this.#answer(peer)
      if (this.#refusals.note(performance.now()) === 0) return
      const fields = { address: server.address, ip, error: messageOf(error) }
      this.#parts.logger.warn('cannot use an object storage server that has registered', fields)
    }
  }

  #register(name: string, peer: Identity, instance: SchedulerId): void {
    const known = this.#servers.get(name)
    if (known === undefined) return this.#add(name, { peer, instance })
    if (known.isUp && known.instance !== instance) {
      throw new ConfigError('another object storage server has the same address')
    }
    known.registrant = peer
    if (known.isUp && !known.isLeaving) this.#answer(peer, known)
  }

  /** A server is about to end. It is answered when it may. */
  async #onLeaving(registrant: Identity): Promise<void> {
    const server = [...this.#servers.values()].find((each) => each.registrant === registrant)
    if (server !== undefined && !server.isLeaving) {
      server.isLeaving = true
      this.#offerToAll()
      const fields = { server: server.name, objects: server.content.count }
      this.#parts.logger.info('an object storage server ends: moving what is there', fields)
      await moveContent(server, {
        targets: () => [...this.#servers.values()].filter((each) => isUsable(each)),
        awaitServer: () => this.#awaitServer(),
        isClosed: () => this.#isClosed,
        onMoved: (objectId, id, address) => {
          this.#parts.onMoved(objectId, { address: server.name, id, byteLength: 0 }, address)
        },
      })
      if (this.#offer().servers.length === 0) this.#tellUsable(false)
    }
    this.#answer(registrant)
  }

  /** The last server ends: another one may be starting. */
  async #awaitServer(): Promise<boolean> {
    if (!this.#parts.startServer()) return false
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, START_MS)
      this.#onNext.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
    return this.#offer().servers.length > 0
  }

  /** Tells a server how others reach it; undefined: they cannot. */
  #answer(peer: Identity, server?: KnownServer): void {
    const { name: address, instance } = server ?? {}
    const isKnown = address !== undefined && instance !== undefined
    const servers = isKnown ? [{ address, instance, freeBytes: 0 }] : []
    this.#parts.send(peer, { kind: 'storageServers', servers, isServer: true })
  }

  /** All servers that are known. */
  get names(): readonly string[] {
    return [...this.#servers.keys()]
  }

  /** For monitors. */
  get statuses(): readonly SeenServer[] {
    return [...this.#servers.values()].map((server) => {
      const { name: address, reason, content, registrant } = server
      const upState = server.isLeaving ? 'leaving' : 'up'
      return {
        address,
        state: server.isUp ? upState : 'away',
        problem: server.isUp ? '' : reason || 'it has not answered yet',
        objects: content.count,
        objectBytes: content.bytes,
        registrant,
      }
    })
  }

  /** A server that was named will not run. */
  remove(address: string): void {
    const server = this.#servers.get(serverName(address, ''))
    if (server === undefined) return
    clearTimeout(server.lossTimer)
    if (server.instance !== undefined) this.#loseAll(server)
    this.#forgetServer(server)
  }

  /** Whether this peer could use servers, if there were any. */
  couldServe(peer: Identity): boolean {
    return this.#servers.size === 0 && this.#peers.has(peer)
  }

  /** The connection of a peer has ended. */
  forget(peer: Identity): void {
    this.#peers.delete(peer)
  }

  /** Whether the peer fetches content from servers itself. */
  canRead(peer: Identity): boolean {
    return this.#peers.get(peer) === true
  }

  /** Whether this content is that of an object. */
  has({ address, id }: StoredContent): boolean {
    return this.#servers.get(address)?.content.has(id) === true
  }

  /** From now on, content in new objects belongs to this scheduler. */
  claim(message: Message): void {
    if (message.kind !== 'objectInstruction' || message.instructionType !== 'create') return
    const { objectIds, objectTypes, objectBytes } = message.objectContent
    for (const [at, id] of objectIds.entries()) {
      const content =
        objectTypes[at] === 'stored' ? storedContentOf(objectBytes[at] ?? []) : undefined
      if (content === undefined) continue
      const server = this.#servers.get(content.address)
      if (server === undefined || !mayReturn(server)) {
        // The object has to be stored first.
        queueMicrotask(() => this.#lose(id, content))
        continue
      }
      // If the server is away, its content is claimed when it comes back.
      server.content.set(content.id, { objectId: id, byteLength: content.byteLength })
      if (server.isUp) server.link.claim(content.id)
    }
  }

  /** Content, for a peer that cannot get it itself; undefined: it is gone. */
  async read({ address, id }: StoredContent): Promise<Uint8Array | undefined> {
    for (;;) {
      const server = this.#servers.get(address)
      if (server?.content.has(id) !== true) return undefined
      if (!mayReturn(server)) return undefined
      if (!server.isUp) {
        await new Promise<void>((resolve) => server.waiting.push(resolve))
        continue
      }
      const part = await server.link.get(id)
      const isFile = part?.type === 'file'
      const bytes = isFile
        ? await this.#shortage.read(part.chunks)
        : part && joinChunks(part.chunks)
      if (bytes !== undefined) return bytes
      // If the connection has ended, it is found out whether the server comes back.
      if (server.isUp) this.#onMissing(server, id)
    }
  }

  /** The server does not have some content. */
  #onMissing(server: KnownServer, id: ObjectId): void {
    const object = server.content.get(id)
    server.content.delete(id)
    if (object !== undefined)
      this.#lose(object.objectId, { address: server.name, id, byteLength: 0 })
  }

  /** A peer has sent large content in a message. */
  onDetour(peer: Identity): void {
    if (!this.#areUsable || !this.#peers.has(peer)) return
    const count = this.#detours.note(performance.now())
    if (count === 0) return
    const text =
      'content passes through the scheduler: a peer cannot reach the object storage servers'
    this.#parts.logger.warn(`${text}, or they are full`, { peer, count })
  }

  /** The content is not needed any more. */
  removeContent({ address, id }: StoredContent): void {
    const server = this.#servers.get(address)
    if (server === undefined) return
    server.content.delete(id)
    server.link.delete([id])
  }

  /** Ends all connections: servers remove what this scheduler has not needed for a while. */
  close(): void {
    this.#isClosed = true
    this.#shortage.close()
    for (const tell of this.#onNext.splice(0)) tell()
    for (const { link, lossTimer } of this.#servers.values()) {
      clearTimeout(lossTimer)
      void link.close()
    }
  }

  #lose(id: ObjectId, content: StoredContent): void {
    if (!this.#isClosed) this.#parts.onContentLost(id, content)
  }

  #offer(): StorageServers {
    const servers: StorageServer[] = []
    for (const server of this.#servers.values()) {
      const { name: address, instance, toldBytes: freeBytes } = server
      if (isUsable(server) && instance !== undefined) servers.push({ address, instance, freeBytes })
    }
    return { kind: 'storageServers', servers, isServer: false }
  }

  #offerToAll(): void {
    for (const server of this.#servers.values()) server.toldBytes = server.freeBytes
    const offer = this.#offer()
    for (const peer of this.#peers.keys()) this.#parts.send(peer, offer)
  }

  /** `by`: the server that has registered; undefined: an option has named it. */
  #add(name: string, by?: { readonly peer: Identity; readonly instance: SchedulerId }): void {
    if (this.#servers.has(name) || this.#servers.size >= MAX_SERVERS) return
    this.#servers.set(name, {
      name,
      link: this.#linkTo(name, by?.instance),
      isPermanent: by === undefined,
      instance: undefined,
      isUp: false,
      isLeaving: false,
      reason: '',
      registrant: by?.peer,
      lossTimer: undefined,
      waiting: [],
      content: new HeldContent(),
      freeBytes: 0,
      toldBytes: 0,
    })
  }

  #linkTo(name: string, instance?: SchedulerId): StorageLink {
    const place = { name, address: localAddress(name), instance }
    const link = new StorageLink(place, this.#parts, {
      onUp: (instance) => this.#onUp(link, instance),
      onDown: (reason) => this.#onDown(link, reason),
      onFree: (bytes) => this.#onFree(link, bytes),
      onMissing: (id) => {
        const server = this.#serverOf(link)
        if (server !== undefined) this.#onMissing(server, id)
      },
    })
    return link
  }

  /** Undefined: the connection was given up. */
  #serverOf(link: StorageLink): KnownServer | undefined {
    const server = this.#servers.get(link.name)
    return server?.link === link ? server : undefined
  }

  #onUp(link: StorageLink, instance: SchedulerId): void {
    const server = this.#serverOf(link)
    if (server === undefined) return
    clearTimeout(server.lossTimer)
    server.lossTimer = undefined
    if (server.instance !== undefined && server.instance !== instance) this.#loseAll(server)
    server.instance = instance
    server.isUp = true
    // It keeps what it has for the last connection only for a while.
    for (const id of server.content.ids()) link.claim(id)
    wake(server)
    const { name } = server
    this.#tellUsable(true)
    this.#parts.logger.info(`using the object storage server ${name}`, { server: name })
    if (server.registrant !== undefined) this.#answer(server.registrant, server)
    this.#offerToAll()
    for (const tell of this.#onNext.splice(0)) tell()
  }

  /** Peers that choose among servers learn of it, unless it matters little. */
  #onFree(link: StorageLink, bytes: number): void {
    const server = this.#serverOf(link)
    if (server === undefined) return
    server.freeBytes = bytes
    const usable = [...this.#servers.values()].filter((each) => isUsable(each))
    const freeBytes = usable.reduce((sum, each) => sum + each.freeBytes, 0)
    const change = Math.abs(bytes - server.toldBytes)
    const isTold = isUsable(server) && usable.length > 1
    if (isTold && change > freeBytes * TOLD_SHARE) this.#offerToAll()
  }

  #onDown(link: StorageLink, reason: string): void {
    const server = this.#serverOf(link)
    if (server === undefined) return
    server.reason = reason
    if (server.isLeaving) {
      server.isUp = false
      server.isLeaving = false
      return this.#giveUp(server)
    }
    if (server.isUp) {
      server.isUp = false
      const fields = { server: server.name, reason }
      this.#parts.logger.warn('lost the connection to an object storage server', fields)
      this.#offerToAll()
    }
    server.lossTimer ??= setTimeout(() => this.#giveUp(server), RETURN_MS)
  }

  /** A server has not come back. */
  #giveUp(server: KnownServer): void {
    server.lossTimer = undefined
    if (server.instance !== undefined) this.#loseAll(server)
    else this.#warnOf(server)
    if (!server.isPermanent) this.#forgetServer(server)
    else if (this.#offer().servers.length === 0) this.#tellUsable(false)
  }

  #forgetServer({ name, link }: KnownServer): void {
    this.#servers.delete(name)
    void link.close()
    if (this.#offer().servers.length === 0) this.#tellUsable(false)
  }

  #loseAll(server: KnownServer): void {
    server.instance = undefined
    server.content.clear()
    this.#parts.onLost(server.name)
    wake(server)
  }

  #tellUsable(areUsable: boolean): void {
    if (this.#areUsable === areUsable) return
    this.#areUsable = areUsable
    this.#parts.onUsable(areUsable)
  }

  /** A server has not been reached. */
  #warnOf({ name, reason, registrant }: KnownServer): void {
    if (registrant !== undefined) this.#answer(registrant)
    // A server that has registered is forgotten, and registers again.
    const troubles = this.#troubles.get(name) ?? new Recurrence(TELL_MS)
    if (this.#troubles.size < MAX_SERVERS) this.#troubles.set(name, troubles)
    if (troubles.note(performance.now()) === 0) return
    const fields = { server: name, reason }
    this.#parts.logger.warn('cannot reach an object storage server; trying again', fields)
  }
}

// The object storage servers of a scheduler: which there are, which can be used, and what is
// stored there. The content itself does not pass through this process, except for peers that
// cannot reach a server. docs/protocol.md#servers

import { FEATURE_SERVERS, hasFeature } from '../base/features.js'
import type { Identity, ObjectId, SchedulerId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import { messageOf } from '../base/text.js'
import { readObjectFile } from '../runtime/object-files.js'
import { StorageLink } from '../runtime/storage/link.js'
import { formatAddress, localAddress, parseAddress } from '../transport/address.js'
import type { Message, StorageServers } from '../wire/message.js'
import { joinChunks, type StoredContent, storedContentOf } from '../wire/object-content.js'

/** A server that has not come back by then has lost everything. */
const RETURN_MS = 2_000

/** More servers than this are refused. */
const MAX_SERVERS = 10_000

/** So many are named in the log because they cannot be reached. */
const MAX_WARNED = 100

const ANY_HOST: ReadonlySet<string> = new Set(['*', '0.0.0.0', '::'])

/** One server. */
interface Server {
  readonly name: string
  link: StorageLink
  /** It was named when the scheduler was started: it may come back at any time. */
  readonly isPermanent: boolean
  /** Undefined: it has not answered yet, or has lost everything. */
  instance: SchedulerId | undefined
  isUp: boolean
  /** Why there is no connection. */
  reason: string
  lossTimer: NodeJS.Timeout | undefined
  /** The objects whose content is there, by the id of the content. */
  readonly content: Map<ObjectId, ObjectId>
}

/** What the servers need. */
interface ServerParts {
  readonly logger: Logger
  send(peer: Identity, message: StorageServers): void
  /** There are servers now, or none any more. */
  onKnown(areKnown: boolean): void
  /** A server is gone, with all content. */
  onLost(address: string): void
  /** The content of these objects is not on its server. */
  onContentLost(objectIds: readonly ObjectId[]): void
}

/** All servers of one scheduler. */
export class SchedulerServers {
  readonly #parts: ServerParts
  readonly #servers = new Map<string, Server>()
  /** Peers that may use servers; false: they cannot reach them. */
  readonly #peers = new Map<Identity, boolean>()
  /** Servers of which the log says that they cannot be reached. */
  readonly #warned = new Set<string>()
  #isClosed = false

  constructor(parts: ServerParts) {
    this.#parts = parts
  }

  /** Connects to servers that were named. Throws `ConfigError` for a wrong address. */
  open(addresses: readonly string[]): void {
    for (const address of addresses) this.#add(address, true)
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
    if (server === undefined || this.#isClosed) return
    try {
      this.#add(nameOf(server.address, ip), false)
    } catch (error) {
      const fields = { address: server.address, error: messageOf(error) }
      this.#parts.logger.warn('ignored an object storage server', fields)
    }
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
    const lost: ObjectId[] = []
    for (const [at, id] of objectIds.entries()) {
      const content = objectTypes[at] === 'stored' ? storedContentOf(objectBytes[at] ?? []) : null
      if (content === null) continue
      const server = this.#servers.get(content?.address ?? '')
      if (content === undefined || server?.isUp !== true) lost.push(id)
      else {
        server.content.set(content.id, id)
        server.link.claim(content.id)
      }
    }
    // The objects have to be stored first.
    if (lost.length > 0) queueMicrotask(() => this.#lose(lost))
  }

  /** Content, for a peer that cannot get it itself; undefined: it is gone. */
  async read({ address, id }: StoredContent): Promise<Uint8Array | undefined> {
    const part = await this.#servers.get(address)?.link.get(id)
    if (part === undefined) return undefined
    return part.type === 'file' ? readObjectFile(part.chunks) : joinChunks(part.chunks)
  }

  /** Objects were requested whose content is gone. */
  onMissing(objectIds: readonly ObjectId[]): void {
    this.#lose(objectIds)
  }

  /** The content is not needed any more. */
  remove({ address, id }: StoredContent): void {
    const server = this.#servers.get(address)
    if (server === undefined) return
    server.content.delete(id)
    server.link.delete([id])
  }

  /** Ends all connections: servers remove what this scheduler has not needed for a while. */
  close(): void {
    this.#isClosed = true
    for (const { link, lossTimer } of this.#servers.values()) {
      clearTimeout(lossTimer)
      void link.close()
    }
  }

  #lose(objectIds: readonly ObjectId[]): void {
    if (!this.#isClosed) this.#parts.onContentLost(objectIds)
  }

  #offer(): StorageServers {
    const servers: { readonly address: string }[] = []
    for (const { name, isUp } of this.#servers.values()) if (isUp) servers.push({ address: name })
    return { kind: 'storageServers', servers, isServer: false }
  }

  #offerToAll(): void {
    const offer = this.#offer()
    for (const peer of this.#peers.keys()) this.#parts.send(peer, offer)
  }

  #add(name: string, isPermanent: boolean): void {
    if (this.#servers.has(name) || this.#servers.size >= MAX_SERVERS) return
    const state = { instance: undefined, isUp: false, reason: '', lossTimer: undefined }
    const content = new Map<ObjectId, ObjectId>()
    const server: Server = { name, link: this.#linkTo(name), isPermanent, content, ...state }
    this.#servers.set(name, server)
    if (this.#servers.size === 1) this.#parts.onKnown(true)
  }

  #linkTo(name: string): StorageLink {
    const link = new StorageLink({ name, address: localAddress(name) }, this.#parts.logger, {
      onUp: (instance) => this.#onUp(link, instance),
      onDown: (reason) => this.#onDown(link, reason),
      onMissing: (id) => {
        const server = this.#serverOf(link)
        const objectId = server?.content.get(id)
        server?.content.delete(id)
        if (objectId !== undefined) this.#lose([objectId])
      },
    })
    return link
  }

  /** Undefined: the connection was given up. */
  #serverOf(link: StorageLink): Server | undefined {
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
    const { name } = server
    this.#parts.logger.info(`object storage server ${name} can be used`, { server: name })
    this.#offerToAll()
  }

  #onDown(link: StorageLink, reason: string): void {
    const server = this.#serverOf(link)
    if (server === undefined) return
    server.reason = reason
    if (server.isUp) {
      server.isUp = false
      const fields = { server: server.name, reason }
      this.#parts.logger.warn('lost the connection to an object storage server', fields)
      this.#offerToAll()
    }
    server.lossTimer ??= setTimeout(() => this.#giveUp(server), RETURN_MS)
  }

  /** A server has not come back. */
  #giveUp(server: Server): void {
    server.lossTimer = undefined
    const hadContent = server.content.size > 0
    if (server.instance !== undefined) this.#loseAll(server)
    else if (!server.isPermanent) this.#warnOf(server)
    if (!server.isPermanent) {
      this.#servers.delete(server.name)
      void server.link.close()
      if (this.#servers.size === 0) this.#parts.onKnown(false)
      return
    }
    // If it returns after all, it must not keep what it has for the old connection.
    if (!hadContent) return
    void server.link.close()
    server.link = this.#linkTo(server.name)
  }

  #loseAll(server: Server): void {
    server.instance = undefined
    server.content.clear()
    this.#parts.onLost(server.name)
  }

  /** A server that has made itself known cannot be reached. */
  #warnOf({ name, reason }: Server): void {
    if (this.#warned.has(name) || this.#warned.size >= MAX_WARNED) return
    this.#warned.add(name)
    const text = 'an object storage server has registered that cannot be reached'
    this.#parts.logger.warn(text, { server: name, reason })
  }
}

/** The name of a server that has connected from this IP address. */
function nameOf(text: string, ip: string): string {
  const address = parseAddress(text)
  const isAny = address.kind === 'tcp' && ANY_HOST.has(address.host)
  if (address.kind === 'ipc' || !isAny) return formatAddress(address)
  // On the machine of the scheduler: its name there is that of the scheduler.
  const isHere = ip === '' || ip === '127.0.0.1' || ip === '::1'
  return isHere ? formatAddress({ ...address, host: '*' }) : formatAddress({ ...address, host: ip })
}

// Copies of content that other object storage servers have, for processes on the machine of this
// one: it is fetched once for all of them. A server sends no content more than twice; those that
// ask later copy it from those that asked earlier. docs/protocol.md#servers

import { NO_BYTES } from '../base/bytes.js'
import type { ObjectId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import { messageOf } from '../base/text.js'
import { inMemory } from '../runtime/object-files.js'
import { serverAddress, StorageLink } from '../runtime/storage/link.js'
import { localAddress } from '../transport/address.js'
import type { SharedObject } from '../wire/message.js'
import type { Part } from '../wire/object-content.js'

/** How many others copy the same content from one server. */
const FAN_OUT = 2

/** A copy that has not been requested during this time is removed. */
const UNUSED_MS = 60_000

const SWEEP_MS = 10_000

/** For how many contents a server knows which others have asked for them, and how many of these. */
const [MAX_FOLLOWED, MAX_FOLLOWERS] = [10_000, 1_000]

/** Servers with longer names are sent what they ask for. */
const MAX_NAME_LENGTH = 300

/** A server that did not have a copy is not asked for this long. */
const AVOIDED_MS = 10_000

/** More servers than this are not reached at the same time. */
const MAX_LINKS = 1_000

interface Copy {
  readonly source: string
  readonly isStored: Promise<boolean>
  isPending: boolean
  usedAt: number
}

/** A connection to another server. */
interface OtherServer {
  readonly link: StorageLink
  usedAt: number
  /** When it did not have a copy that it should have. */
  failedAt: number
}

/** The copies of one server. */
export class ContentCopies {
  /** How others reach this server; '' = they cannot. */
  name = ''
  readonly #schedulerAddress: string | undefined
  readonly #logger: Logger
  /** To this server itself: it is the user of all copies. */
  #own: StorageLink | undefined
  readonly #others = new Map<string, OtherServer>()
  readonly #copies = new Map<ObjectId, Copy>()
  /** The servers that have asked for a content, in order. */
  readonly #followers = new Map<ObjectId, string[]>()
  #timer: NodeJS.Timeout | undefined

  /** The host `*` in the names of servers stands for that of `schedulerAddress`. */
  constructor(schedulerAddress: string | undefined, logger: Logger) {
    this.#schedulerAddress = schedulerAddress
    this.#logger = logger
  }

  /** This server listens at this address. */
  open(address: string): void {
    const own = localAddress(address)
    this.#own = new StorageLink({ name: own, address: own }, { logger: this.#logger })
    this.#timer = setInterval(() => this.#sweep(performance.now()), SWEEP_MS).unref()
  }

  /** Answers `copy` and `source`. */
  async answer(message: SharedObject): Promise<SharedObject> {
    const { kind, type, objectId: id, name } = message
    const answer = { kind, objectId: id, sizeBytes: 0 }
    if (type === 'source') return { ...answer, type, name: this.#sourceFor(id, name) }
    const isStored = await this.#copied(id, name)
    return { ...answer, type: isStored ? 'published' : 'unstored', name: '' }
  }

  close(): void {
    clearInterval(this.#timer)
    void this.#own?.close()
    for (const { link } of this.#others.values()) void link.close()
  }

  /** From which server this one is to copy; '' = from here. */
  #sourceFor(id: ObjectId, follower: string): string {
    if (follower === '' || follower.length > MAX_NAME_LENGTH) return ''
    const followers = this.#followers.get(id) ?? []
    this.#followers.set(id, followers)
    const [oldest = id] = this.#followers.keys()
    if (this.#followers.size > MAX_FOLLOWED) this.#followers.delete(oldest)
    const known = followers.indexOf(follower)
    if (known < 0 && followers.length >= MAX_FOLLOWERS) return ''
    const at = known < 0 ? followers.push(follower) - 1 : known
    return at < FAN_OUT ? '' : (followers[Math.floor(at / FAN_OUT) - 1] ?? '')
  }

  async #copied(id: ObjectId, source: string): Promise<boolean> {
    const known = this.#copies.get(id)
    if (known !== undefined) {
      known.usedAt = performance.now()
      // Two servers that copy the same content from different ones could wait for each other.
      return known.isPending && known.source !== source ? false : known.isStored
    }
    const isStored = this.#fetch(id, source).catch((error: unknown) => {
      this.#logger.warn('cannot copy content', { server: source, error: messageOf(error) })
      return false
    })
    const copy = { source, isStored, isPending: true, usedAt: 0 }
    this.#copies.set(id, copy)
    const isThere = await isStored
    copy.isPending = false
    copy.usedAt = performance.now()
    if (!isThere) this.#copies.delete(id)
    return isThere
  }

  async #fetch(id: ObjectId, source: string): Promise<boolean> {
    const own = this.#own
    if (own === undefined) return false
    if (await own.confirm(id)) return true
    const origin = this.#serverAt(source)?.link
    const from = await origin?.sourceOf(id, this.name)
    if (origin === undefined || from === undefined) return false
    const isHere = from === '' || from === this.name
    const copy = isHere ? undefined : await this.#copyAt(from, source, id)
    const part = copy ?? (await origin.get(id))
    const content = part && inMemory(part)
    if (content === undefined) return false
    return (await own.put(NO_BYTES, content, id)) !== undefined
  }

  /** What another server has copied before; undefined: it has not. */
  async #copyAt(name: string, source: string, id: ObjectId): Promise<Part | undefined> {
    const other = this.#serverAt(name)
    if (other === undefined || performance.now() - other.failedAt < AVOIDED_MS) return undefined
    const hasCopy = await other.link.copy({ address: source, id, byteLength: 0 })
    const part = hasCopy ? await other.link.get(id) : undefined
    if (part === undefined) other.failedAt = performance.now()
    return part
  }

  /** Throws `ConfigError` for a wrong address. */
  #serverAt(name: string): OtherServer | undefined {
    const known = this.#others.get(name)
    if (known === undefined && this.#others.size >= MAX_LINKS) return undefined
    const other = known ?? { link: this.#linkTo(name), usedAt: 0, failedAt: -Infinity }
    other.usedAt = performance.now()
    this.#others.set(name, other)
    return other
  }

  #linkTo(name: string): StorageLink {
    const address = serverAddress(name, this.#schedulerAddress ?? name)
    return new StorageLink({ name, address }, { logger: this.#logger })
  }

  #sweep(now: number): void {
    for (const [id, { isPending, usedAt }] of this.#copies) {
      if (isPending || now - usedAt < UNUSED_MS) continue
      this.#copies.delete(id)
      this.#own?.delete([id])
    }
    const isBusy = [...this.#copies.values()].some(({ isPending }) => isPending)
    for (const [name, { link, usedAt }] of this.#others) {
      if (isBusy || now - usedAt < UNUSED_MS) continue
      this.#others.delete(name)
      void link.close()
    }
  }
}

// PUB: a socket that listens, and sends each message to all who want messages that begin like it. A
// subscriber who reads too slowly misses messages, whole ones; the others never wait for it.

import { asBuffer, bytesToLatin1, joinBytes, latin1Slice } from '../base/bytes.js'
import { identity } from '../base/ids.js'
import { Acceptor, type AcceptorHandler } from './acceptor.js'
import type { Connection } from './connection.js'
import {
  type IncomingMessage,
  type OutgoingFrame,
  socketOptions,
  type SocketOptions,
} from './options.js'

// Subscriptions: prefixes of messages, counted, as the same one may be asked for more than once.

/** What one entry costs beside the bytes of its prefix, roughly. */
const ENTRY_BYTES = 64

/** The prefixes of one subscriber, as latin1 strings. */
export class PrefixSet {
  readonly #counts = new Map<string, number>()
  /** How many prefixes there are of each length. */
  readonly #lengths = new Map<number, number>()
  #bytes = 0

  /** How many different prefixes there are. */
  get size(): number {
    return this.#counts.size
  }

  /** The memory that the set takes, roughly, in bytes. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds a prefix once more. Returns whether it is new. */
  add(prefix: string): boolean {
    const count = this.#counts.get(prefix) ?? 0
    this.#counts.set(prefix, count + 1)
    if (count > 0) return false
    this.#bytes += ENTRY_BYTES + prefix.length
    this.#lengths.set(prefix.length, (this.#lengths.get(prefix.length) ?? 0) + 1)
    return true
  }

  /** Takes a prefix back once. Returns whether it has left the set. */
  delete(prefix: string): boolean {
    const count = this.#counts.get(prefix)
    if (count === undefined) return false
    if (count > 1) {
      this.#counts.set(prefix, count - 1)
      return false
    }
    this.#counts.delete(prefix)
    this.#bytes -= ENTRY_BYTES + prefix.length
    const others = (this.#lengths.get(prefix.length) ?? 1) - 1
    if (others === 0) this.#lengths.delete(prefix.length)
    else this.#lengths.set(prefix.length, others)
    return true
  }

  /** Whether every message matches, and none need be looked at. */
  get matchesAll(): boolean {
    return this.#counts.has('')
  }

  /** Whether a message that begins with `bytes` (all of its first frame) matches. */
  matches(bytes: Buffer): boolean {
    if (this.matchesAll) return true
    for (const length of this.#lengths.keys()) {
      if (length <= bytes.length && this.#counts.has(latin1Slice(bytes, 0, length))) return true
    }
    return false
  }

  /** The different prefixes, in the order in which they were added. */
  [Symbol.iterator](): IterableIterator<string> {
    return this.#counts.keys()
  }
}

/** What a publisher tells its owner; never from within a call of the owner, nothing once closed. */
interface PubHandler {
  /** How many peers want anything has changed: with none, there is no need to make messages. */
  onSubscriptions(count: number): void
}

/** What the subscriptions of one peer may take of our memory. */
const MAX_SUBSCRIPTION_BYTES = 1024 ** 2

/** The first byte of a message by which a ZMTP 3.0 peer subscribes, and unsubscribes with 0. */
const SUBSCRIBE = 1

/** A PUB that listens on one address. */
export class PubSocket {
  readonly #handler: PubHandler
  readonly #options: SocketOptions
  readonly #subscribers = new Map<Connection, PrefixSet>()
  /** Those of `#subscribers` who want anything. */
  #subscriberCount = 0
  #droppedMessages = 0
  #acceptor: Acceptor | undefined

  private constructor(handler: PubHandler, options: SocketOptions) {
    this.#handler = handler
    this.#options = options
  }

  /**
   * Listens on `address`. Rejects with `ConfigError` for a wrong address or option, and with an
   * error that has the system's `code` (`EADDRINUSE`, …) when the address cannot be bound.
   */
  static async bind(
    address: string,
    handler: PubHandler,
    options: Partial<SocketOptions> = {},
  ): Promise<PubSocket> {
    const checked = socketOptions(options)
    const pub = new PubSocket(handler, checked)
    pub.#acceptor = await Acceptor.bind(address, {
      local: { type: 'PUB', identity: identity('') },
      options: checked,
      handler: pub.#acceptorHandler(),
    })
    return pub
  }

  /** What is listened on, with the real port. */
  get address(): string {
    return this.#acceptor?.address ?? ''
  }

  /** How many messages subscribers have missed because they read too slowly, in all. */
  get droppedMessages(): number {
    return this.#droppedMessages
  }

  /** Sends one frame as a message to all whose subscriptions match its first bytes. */
  publish(frame: OutgoingFrame): void {
    this.publishMultipart([frame])
  }

  /** As `publish`, for a message of several frames: the first one is what subscriptions match. */
  publishMultipart(frames: readonly OutgoingFrame[]): void {
    let topic: Buffer | undefined
    for (const [connection, prefixes] of this.#subscribers) {
      const matches = prefixes.matchesAll || prefixes.matches((topic ??= topicOf(frames)))
      if (!matches) continue
      if (connection.queuedBytes > this.#options.highWaterMarkBytes) this.#droppedMessages += 1
      else connection.sendMultipart(frames)
    }
  }

  /** As `RouterSocket.close`. */
  async close(): Promise<void> {
    await this.#acceptor?.close()
  }

  #acceptorHandler(): AcceptorHandler {
    return {
      onReady: (connection) => this.#subscribers.set(connection, new PrefixSet()),
      onMessages: (connection, messages) => this.#onMessages(connection, messages),
      onSubscription: (connection, isWanted, prefix) =>
        this.#onSubscription(connection, isWanted, prefix),
      onProgress: () => {},
      onDrain: () => {},
      onLost: (connection) => this.#onLost(connection),
    }
  }

  #onLost(connection: Connection): void {
    const prefixes = this.#subscribers.get(connection)
    this.#subscribers.delete(connection)
    this.#changeCount(-Math.min(prefixes?.size ?? 0, 1))
  }

  /** ZMTP 3.0 peers subscribe by messages. Other messages say nothing to a publisher. */
  #onMessages(connection: Connection, messages: readonly IncomingMessage[]): void {
    for (const message of messages) {
      if (!(message instanceof Uint8Array) || message.length === 0) continue
      const first = message[0] as number
      if (first > SUBSCRIBE) continue
      this.#onSubscription(connection, first === SUBSCRIBE, bytesToLatin1(message.subarray(1)))
    }
  }

  #onSubscription(connection: Connection, isWanted: boolean, prefix: string): void {
    const prefixes = this.#subscribers.get(connection)
    if (prefixes === undefined || !connection.isOpen) return
    const before = Math.min(prefixes.size, 1)
    if (isWanted) prefixes.add(prefix)
    else prefixes.delete(prefix)
    if (prefixes.bytes > MAX_SUBSCRIPTION_BYTES) connection.refuse('too many subscriptions')
    this.#changeCount(Math.min(prefixes.size, 1) - before)
  }

  #changeCount(change: number): void {
    if (change === 0) return
    this.#subscriberCount += change
    this.#handler.onSubscriptions(this.#subscriberCount)
  }
}

function topicOf(frames: readonly OutgoingFrame[]): Buffer {
  const first = frames[0] ?? []
  return asBuffer(first instanceof Uint8Array ? first : joinBytes(first))
}

// PUB: a listening socket that sends each message to all peers subscribed to a prefix of it. A slow
// subscriber misses whole messages; the others never wait for it.

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

// Subscriptions: message prefixes, counted, because a peer may subscribe to one more than once.

/** The approximate cost of one entry in addition to the bytes of its prefix. */
const ENTRY_BYTES = 64

/** The prefixes of one subscriber, as latin1 strings. */
export class PrefixSet {
  readonly #counts = new Map<string, number>()
  /** How many prefixes there are of each length. */
  readonly #lengths = new Map<number, number>()
  #bytes = 0

  /** The number of distinct prefixes. */
  get size(): number {
    return this.#counts.size
  }

  /** The approximate memory used by the set, in bytes. */
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

  /** Removes a prefix once. Returns whether it has left the set. */
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

  /** Whether every message matches, so that none need be examined. */
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

  /** The distinct prefixes, in the order in which they were added. */
  [Symbol.iterator](): IterableIterator<string> {
    return this.#counts.keys()
  }
}

/** The most memory that the subscriptions of one peer may use. */
const MAX_SUBSCRIPTION_BYTES = 1024 ** 2

/** The first byte of a message with which a ZMTP 3.0 peer subscribes; 0 unsubscribes. */
const SUBSCRIBE = 1

/** A PUB that listens on one address. */
export class PubSocket {
  readonly #onCount: (count: number) => void
  readonly #options: SocketOptions
  readonly #subscribers = new Map<Connection, PrefixSet>()
  /** The number of `#subscribers` with at least one subscription. */
  #subscriberCount = 0
  #droppedMessages = 0
  #acceptor: Acceptor | undefined

  private constructor(onCount: (count: number) => void, options: SocketOptions) {
    this.#onCount = onCount
    this.#options = options
  }

  /**
   * Listens on `address`. Rejects with `ConfigError` for a wrong address or option, and with an
   * error that has the system's `code` (`EADDRINUSE`, …) when the address cannot be bound.
   * `onCount` is called when the number of subscribed peers has changed, not from within a call of
   * the owner, nor after `close`: at 0, messages need not be created. Peers receive `scheduler`.
   */
  static async bind(
    address: string,
    onCount: (count: number) => void,
    options: Partial<SocketOptions> = {},
    scheduler?: string,
  ): Promise<PubSocket> {
    const checked = socketOptions(options)
    const pub = new PubSocket(onCount, checked)
    pub.#acceptor = await Acceptor.bind(address, {
      local: {
        type: 'PUB',
        identity: identity(''),
        ...(scheduler === undefined ? {} : { scheduler }),
      },
      options: checked,
      handler: pub.#acceptorHandler(),
    })
    return pub
  }

  /** The address listened on, with the actual port. */
  get address(): string {
    return this.#acceptor?.address ?? ''
  }

  /** The total number of messages that slow subscribers have missed. */
  get droppedMessages(): number {
    return this.#droppedMessages
  }

  /** Sends one frame as a message to all peers whose subscriptions match its first bytes. */
  publish(frame: OutgoingFrame): void {
    this.publishMultipart([frame])
  }

  /** Like `publish`, for a message of several frames: subscriptions match the first one. */
  publishMultipart(frames: readonly OutgoingFrame[]): void {
    let topic: Buffer | undefined
    for (const [connection, prefixes] of this.#subscribers) {
      const matches = prefixes.matchesAll || prefixes.matches((topic ??= topicOf(frames)))
      if (!matches) continue
      if (connection.queuedBytes > this.#options.highWaterMarkBytes) this.#droppedMessages += 1
      else connection.sendMultipart(frames)
    }
  }

  /** Like `RouterSocket.close`. */
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

  /** ZMTP 3.0 peers subscribe with messages. Other messages have no meaning for a publisher. */
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
    this.#onCount(this.#subscriberCount)
  }
}

function topicOf(frames: readonly OutgoingFrame[]): Buffer {
  const first = frames[0] ?? []
  return asBuffer(first instanceof Uint8Array ? first : joinBytes(first))
}

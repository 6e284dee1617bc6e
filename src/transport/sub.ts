// SUB: a socket that connects to one PUB, subscribes to messages with certain prefixes, renews its
// subscriptions after each reconnect, and receives.

import { asBuffer, bytesToLatin1 } from '../base/bytes.js'
import { ConfigError } from '../base/errors.js'
import { identity } from '../base/ids.js'
import { parseConnectAddress } from './address.js'
import type { Connection } from './connection.js'
import { Connector } from './connector.js'
import type { DealerHandler } from './dealer.js'
import { connectOptions, type ConnectOptions, type IncomingMessage } from './options.js'
import { PrefixSet } from './pub.js'
import { SendQueue, SlabPool } from './send-queue.js'
import { encodeSubscription } from './zmtp/commands.js'
import type { RemotePeer } from './zmtp/session.js'

/**
 * Callbacks of a subscriber. Never called from within a call of the owner, nor after `close`. Only
 * messages that match a subscription arrive; when connected, the subscriptions have been sent.
 */
type SubHandler = Omit<DealerHandler, 'onDrain' | 'onProgress'>

/** The longest prefix: what fits into a command that every peer must accept. */
const MAX_PREFIX_BYTES = 65_000

/** A SUB that connects to one address. */
export class SubSocket {
  readonly #handler: SubHandler
  readonly #connector: Connector
  readonly #prefixes = new PrefixSet()
  #connection: Connection | undefined
  #minor: 0 | 1 = 1

  /** Connects in the background. Throws `ConfigError` for a wrong address or option. */
  constructor(address: string, handler: SubHandler, options: Partial<ConnectOptions> = {}) {
    const pool = new SlabPool()
    this.#handler = handler
    this.#connector = new Connector({
      address: parseConnectAddress(address),
      local: { type: 'SUB', identity: identity('') },
      options: connectOptions(options),
      queue: () => new SendQueue(pool),
      handler: {
        onReady: (connection, peer) => this.#onReady(connection, peer),
        onMessages: (messages) => this.#onMessages(messages),
        onProgress: () => {},
        onDrain: () => {},
        onLost: (reason) => this.#onLost(reason),
        onFailed: (end) => this.#handler.onConnectFailed(end),
      },
    })
  }

  /** Whether the handshake is done and the connection is up. */
  get isConnected(): boolean {
    return this.#connection?.isOpen === true
  }

  /**
   * Subscribes to messages that begin with `prefix` (a string stands for its UTF-8 bytes); every
   * message matches the empty prefix. Subscriptions are counted: call `unsubscribe` as often as
   * `subscribe`. Throws `ConfigError` if the prefix is too long.
   */
  subscribe(prefix: string | Uint8Array): void {
    const bytes = prefixBytes(prefix)
    if (this.#prefixes.add(bytes)) this.#tell(true, bytes)
  }

  /** Undoes one `subscribe`. Without a matching call it does nothing. */
  unsubscribe(prefix: string | Uint8Array): void {
    const bytes = prefixBytes(prefix)
    if (this.#prefixes.delete(bytes)) this.#tell(false, bytes)
  }

  /**
   * Closes the socket. No more callbacks. Resolves when everything is closed; may be called again.
   */
  close(): Promise<void> {
    this.#connection = undefined
    return this.#connector.close(false)
  }

  #onReady(connection: Connection, peer: RemotePeer): void {
    this.#connection = connection
    this.#minor = peer.minor
    for (const prefix of this.#prefixes) this.#tell(true, prefix)
    this.#handler.onConnect()
  }

  #onLost(reason: string): void {
    this.#connection = undefined
    this.#handler.onDisconnect(reason)
  }

  /** Drops messages that were in flight when their subscription was removed. */
  #onMessages(messages: readonly IncomingMessage[]): void {
    const wanted = this.#prefixes.matchesAll
      ? messages
      : messages.filter((message) => this.#prefixes.matches(firstFrame(message)))
    if (wanted.length > 0) this.#handler.onMessages(wanted)
  }

  #tell(isWanted: boolean, prefix: string): void {
    this.#connection?.sendControl(encodeSubscription(isWanted, prefix, this.#minor))
  }
}

function prefixBytes(prefix: string | Uint8Array): string {
  const bytes = typeof prefix === 'string' ? Buffer.from(prefix) : asBuffer(prefix)
  if (bytes.length <= MAX_PREFIX_BYTES) return bytesToLatin1(bytes)
  throw new ConfigError(`prefix: expected at most ${MAX_PREFIX_BYTES} bytes, got ${bytes.length}`)
}

function firstFrame(message: IncomingMessage): Buffer {
  return message instanceof Uint8Array ? message : (message[0] as Buffer)
}

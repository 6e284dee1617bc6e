// DEALER: a socket that connects to one ROUTER, sends its identity, and keeps the connection up.

import { totalBytes } from '../base/bytes.js'
import type { Identity } from '../base/ids.js'
import { parseConnectAddress } from './address.js'
import type { Connection } from './connection.js'
import { Connector } from './connector.js'
import type { ConnectionEnd } from './end.js'
import {
  checkIdentity,
  dealerOptions,
  type DealerOptions,
  type IncomingMessage,
  type OutgoingFrame,
} from './options.js'
import { SendQueue, SlabPool } from './send-queue.js'
import type { OnLongFrame } from './zmtp/frame.js'

/** Callbacks of a dealer. Never called from within a call of the owner, nor after `close`. */
export interface DealerHandler {
  /** Received messages, in order. */
  onMessages(messages: readonly IncomingMessage[]): void
  /** See `OnLongFrame`. */
  onLongFrame?: OnLongFrame | undefined
  /** The handshake is done. */
  onConnect(): void
  /**
   * The connection was lost; `reason` is empty if the peer closed it cleanly. The dealer
   * reconnects.
   */
  onDisconnect(reason: string): void
  /** After `send` returned false because the queue was full: there is room again. */
  onDrain(): void
  /** An attempt to connect has failed. The dealer tries again. */
  onConnectFailed(end: ConnectionEnd): void
  /** Bytes of a long message arrived or were taken by the peer; at most once a second. */
  onProgress?(): void
}

/** A DEALER that connects to one address. */
export class DealerSocket {
  readonly #options: DealerOptions
  readonly #pool = new SlabPool()
  readonly #connector: Connector
  /** The outgoing queue; it outlives a connection if `queueWhileDisconnected` is set. */
  readonly #queue: SendQueue
  /** Set from the end of a handshake until its connection closes. */
  #connection: Connection | undefined
  #isClosed = false

  /** Connects in the background. Throws `ConfigError` for a wrong address, identity or option. */
  constructor(
    address: string,
    identity: Identity,
    handler: DealerHandler,
    options: Partial<DealerOptions> = {},
  ) {
    this.#options = dealerOptions(options)
    this.#queue = new SendQueue(this.#pool)
    this.#connector = new Connector({
      address: parseConnectAddress(address),
      local: { type: 'DEALER', identity: checkIdentity(identity) },
      options: this.#options,
      queue: () => this.#queue,
      handler: {
        onReady: (connection) => this.#onReady(connection, handler),
        onMessages: (messages) => handler.onMessages(messages),
        onLongFrame: handler.onLongFrame,
        onProgress: () => handler.onProgress?.(),
        onDrain: () => handler.onDrain(),
        onLost: (reason) => this.#onLost(reason, handler),
        onFailed: (end) => handler.onConnectFailed(end),
      },
    })
  }

  /** Whether the handshake is done and the connection is up. */
  get isConnected(): boolean {
    return !this.#isClosed && this.#connection?.isOpen === true
  }

  /** How the connection would end now; between two attempts, how the last one has ended. */
  get end(): ConnectionEnd {
    return this.#connector.end
  }

  /** Bytes queued for writing. */
  get queuedBytes(): number {
    return this.#connection?.queuedBytes ?? this.#queue.bytes
  }

  /**
   * Sends one frame as a message. False: more than `highWaterMarkBytes` are queued and `onDrain`
   * will follow; or the message was dropped: after `close`, without a connection (see
   * `queueWhileDisconnected`), or because the queue would exceed `maxQueuedBytes`.
   */
  send(frame: OutgoingFrame): boolean {
    if (this.#connection?.isOpen === true) return this.#connection.send(frame)
    return this.#sendLater([frame])
  }

  /** Like `send`, for a message of several frames. */
  sendMultipart(frames: readonly OutgoingFrame[]): boolean {
    if (this.#connection?.isOpen === true) return this.#connection.sendMultipart(frames)
    return this.#sendLater(frames)
  }

  /** Writes queued data, closes the connection if there is one, and connects again. */
  reconnect(reason: string): void {
    this.#connection?.finish(reason)
  }

  /**
   * Keeps the process alive, as it does initially: through its connection, or while it tries to
   * connect.
   */
  ref(): void {
    this.#connector.ref()
  }

  /** No longer keeps the process alive. */
  unref(): void {
    this.#connector.unref()
  }

  /**
   * Writes queued data and closes, within `lingerMs`; data queued for a future connection gets that
   * time as well. No more callbacks. Resolves when everything is closed; may be called again.
   */
  close(): Promise<void> {
    this.#isClosed = true
    return this.#connector.close(this.#queue.bytes > 0)
  }

  #sendLater(frames: readonly OutgoingFrame[]): boolean {
    const { queueWhileDisconnected, highWaterMarkBytes, maxQueuedBytes } = this.#options
    if (!queueWhileDisconnected || this.#isClosed) return false
    const queue = this.#queue
    const isFull = queue.bytes + messageBytes(frames) > maxQueuedBytes
    if (!isFull) queue.pushMessage(frames)
    if (!isFull && queue.bytes <= highWaterMarkBytes) return true
    queue.wantsDrain = true
    return false
  }

  #onReady(connection: Connection, handler: DealerHandler): void {
    this.#connection = connection
    handler.onConnect()
  }

  #onLost(reason: string, handler: DealerHandler): void {
    this.#connection = undefined
    if (this.#options.queueWhileDisconnected) this.#queue.restart()
    else this.#queue.clear()
    handler.onDisconnect(reason)
  }
}

function messageBytes(frames: readonly OutgoingFrame[]): number {
  let size = 0
  for (const frame of frames) size += frame instanceof Uint8Array ? frame.length : totalBytes(frame)
  return size
}

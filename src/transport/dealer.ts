// DEALER: a socket that connects to one ROUTER, tells it its identity, and keeps the connection up.

import { totalBytes } from '../base/bytes.js'
import type { Identity } from '../base/ids.js'
import { parseConnectAddress } from './address.js'
import type { Connection } from './connection.js'
import { Connector } from './connector.js'
import {
  checkIdentity,
  dealerOptions,
  type DealerOptions,
  type IncomingMessage,
  type OutgoingFrame,
} from './options.js'
import { SendQueue, SlabPool } from './send-queue.js'

/**
 * What a dealer tells its owner; never from within a call of the owner, nothing once it is closed.
 */
export interface DealerHandler {
  /** Messages that have come, in their order. */
  onMessages(messages: readonly IncomingMessage[]): void
  /** The handshake is done. */
  onConnect(): void
  /**
   * The connection was lost; `reason` is empty if the peer closed it in good order. It is tried
   * again.
   */
  onDisconnect(reason: string): void
  /** After `send` returned false for a full queue: there is room again. */
  onDrain(): void
  /** An attempt to connect has failed. It is tried again. */
  onConnectFailed(reason: string): void
  /** Bytes of a long message came, or were taken by the peer; at most once a second. */
  onProgress?(): void
}

/** A DEALER that connects to one address. */
export class DealerSocket {
  readonly #options: DealerOptions
  readonly #pool = new SlabPool()
  readonly #connector: Connector
  /** What waits; it outlives a connection where `queueWhileDisconnected`. */
  readonly #queue: SendQueue
  /** Set from the end of a handshake to the end of its connection. */
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
        onProgress: () => handler.onProgress?.(),
        onDrain: () => handler.onDrain(),
        onLost: (reason) => this.#onLost(reason, handler),
        onFailed: (reason) => handler.onConnectFailed(reason),
      },
    })
  }

  /** Whether the handshake is done and the connection stands. */
  get isConnected(): boolean {
    return !this.#isClosed && this.#connection?.isOpen === true
  }

  /** What waits to be written, in bytes. */
  get queuedBytes(): number {
    return this.#connection?.queuedBytes ?? this.#queue.bytes
  }

  /**
   * Sends one frame as a message. False: more than `highWaterMarkBytes` wait, and `onDrain`
   * follows; or the message was dropped: after `close`, for want of a connection
   * (`queueWhileDisconnected`), or because more than `maxQueuedBytes` would wait.
   */
  send(frame: OutgoingFrame): boolean {
    if (this.#connection?.isOpen === true) return this.#connection.send(frame)
    return this.#sendLater([frame])
  }

  /** As `send`, for a message of several frames. */
  sendMultipart(frames: readonly OutgoingFrame[]): boolean {
    if (this.#connection?.isOpen === true) return this.#connection.sendMultipart(frames)
    return this.#sendLater(frames)
  }

  /**
   * Keeps the process alive, as from the start: by its connection, or while it tries to get one.
   */
  ref(): void {
    this.#connector.ref()
  }

  /** No longer keeps the process alive. */
  unref(): void {
    this.#connector.unref()
  }

  /**
   * Writes what waits and closes, within `lingerMs`; what waits for a connection is given that
   * time, too. Nothing is told any more. Resolves when all is closed; may be called again.
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

// ROUTER: a listening socket that identifies each of its peers.

import { identity, type Identity } from '../base/ids.js'
import { Acceptor, type AcceptorHandler } from './acceptor.js'
import type { Connection } from './connection.js'
import {
  type IncomingMessage,
  type OutgoingFrame,
  routerOptions,
  type RouterOptions,
} from './options.js'

/**
 * Callbacks of a router. Never called from within a call of the owner, nor after `close`. For each
 * peer: one `onConnect`, then the others, then one `onDisconnect`.
 */
export interface RouterHandler {
  /** Received messages, in order. */
  onMessages(from: Identity, messages: readonly IncomingMessage[]): void
  /** The handshake is done with a peer at `remote`: `127.0.0.1:40404`. */
  onConnect(peer: Identity, remote: string): void
  /** The connection is closed; `reason` is empty if the peer closed it cleanly. */
  onDisconnect(peer: Identity, reason: string): void
  /** After `send` returned false: there is room again. */
  onDrain(peer: Identity): void
  /** Bytes of a long message arrived or were taken by the peer; at most once a second for each. */
  onProgress(peer: Identity): void
  /** A connection from `remote` was refused before it became a peer. Also logged. */
  onRefused?(remote: string, reason: string): void
}

/** A ROUTER that listens on one address. */
export class RouterSocket {
  readonly #handler: RouterHandler
  readonly #options: RouterOptions
  /** Invariant: for each peer `onConnect` has been called, and `onDisconnect` has not. */
  readonly #peers = new Map<Identity, Connection>()
  /** The same, by connection. */
  readonly #identities = new Map<Connection, Identity>()
  #nextGeneratedId = Math.floor(Math.random() * 2 ** 32)
  #acceptor: Acceptor | undefined

  private constructor(handler: RouterHandler, options: RouterOptions) {
    this.#handler = handler
    this.#options = options
  }

  /**
   * Listens on `address`. Rejects with `ConfigError` for a wrong address or option, and with an
   * error that has the system's `code` (`EADDRINUSE`, …) when the address cannot be bound.
   */
  static async bind(
    address: string,
    handler: RouterHandler,
    options: Partial<RouterOptions> = {},
  ): Promise<RouterSocket> {
    const checked = routerOptions(options)
    const router = new RouterSocket(handler, checked)
    router.#acceptor = await Acceptor.bind(address, {
      local: { type: 'ROUTER', identity: identity(checked.identity) },
      options: checked,
      handler: router.#acceptorHandler(),
    })
    return router
  }

  /** The address listened on, with the actual port. */
  get address(): string {
    return this.#acceptor?.address ?? ''
  }

  /**
   * Sends one frame as a message. False: more than `highWaterMarkBytes` are queued for this peer;
   * `onDrain` will follow. A message to a peer that is not connected is dropped and true returned.
   */
  send(to: Identity, frame: OutgoingFrame): boolean {
    return this.#peers.get(to)?.send(frame) ?? true
  }

  /** Like `send`, for a message of several frames. */
  sendMultipart(to: Identity, frames: readonly OutgoingFrame[]): boolean {
    return this.#peers.get(to)?.sendMultipart(frames) ?? true
  }

  /** Bytes queued for a peer; 0 if it is not connected. */
  queuedBytes(to: Identity): number {
    return this.#peers.get(to)?.queuedBytes ?? 0
  }

  /**
   * Reads nothing from a peer until `startReading`, so that it can send no more than the buffers of
   * the system hold. Messages of the same batch may still be received. The peer is not given up
   * meanwhile; for the peer, this process is silent if it does not send.
   */
  stopReading(peer: Identity): void {
    this.#peers.get(peer)?.stopReading()
  }

  /** Undoes `stopReading`. */
  startReading(peer: Identity): void {
    this.#peers.get(peer)?.startReading()
  }

  /**
   * Disconnects a peer: nothing more is received from it, and its queued data is still written for
   * at most `lingerMs`. `onDisconnect` is called with `reason` once it is closed.
   */
  disconnect(peer: Identity, reason: string): void {
    this.#peers.get(peer)?.finish(reason)
  }

  /**
   * Stops listening, writes queued data for at most `lingerMs`, and closes all connections. No more
   * callbacks. Resolves when everything is closed; may be called again.
   */
  async close(): Promise<void> {
    await this.#acceptor?.close()
  }

  #acceptorHandler(): AcceptorHandler {
    return {
      onReady: (connection, peer) => this.#onReady(connection, peer.identity),
      onMessages: (connection, messages) => {
        const from = this.#identities.get(connection)
        if (from !== undefined) this.#handler.onMessages(from, messages)
      },
      onSubscription: () => {},
      onProgress: (connection) => {
        const peer = this.#identities.get(connection)
        if (peer !== undefined) this.#handler.onProgress(peer)
      },
      onDrain: (connection) => {
        const peer = this.#identities.get(connection)
        if (peer !== undefined) this.#handler.onDrain(peer)
      },
      onLost: (connection, reason) => this.#forget(connection, reason),
      onRefused: (remote, reason) => this.#handler.onRefused?.(remote, reason),
    }
  }

  #onReady(connection: Connection, told: Identity): void {
    const id = told === '' ? this.#generateIdentity() : told
    const earlier = this.#peers.get(id)
    if (earlier?.isOpen === true && !this.#options.handover) {
      connection.refuse('the identity is in use')
      this.#acceptor?.noteRefused(connection, 'the identity is in use')
      return
    }
    if (earlier !== undefined) {
      earlier.close('another connection has taken over the identity')
      this.#identities.delete(earlier)
    }
    this.#peers.set(id, connection)
    this.#identities.set(connection, id)
    try {
      if (earlier !== undefined) this.#handler.onDisconnect(id, earlier.reason)
    } finally {
      if (connection.isOpen) this.#handler.onConnect(id, connection.remote)
    }
  }

  /** Reports the end of a connection, unless already reported when its identity was taken over. */
  #forget(connection: Connection, reason: string): void {
    const id = this.#identities.get(connection)
    if (id === undefined) return
    this.#identities.delete(connection)
    this.#peers.delete(id)
    this.#handler.onDisconnect(id, reason)
  }

  /** Five bytes, the first of which is zero, as in libzmq. */
  #generateIdentity(): Identity {
    for (;;) {
      const bytes = Buffer.alloc(5)
      bytes.writeUInt32BE(this.#nextGeneratedId, 1)
      this.#nextGeneratedId = (this.#nextGeneratedId + 1) % 2 ** 32
      const id = identity(bytes.toString('latin1'))
      if (!this.#peers.has(id)) return id
    }
  }
}

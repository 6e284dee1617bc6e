// The listening half of ROUTER and PUB: the connections that came in on one address, from their
// first byte to the last, and what happens to them when the socket is closed.

import type { Socket } from 'node:net'
import { Connection, type ConnectionHandler, type ConnectionSetup } from './connection.js'
import { Listener } from './listener.js'
import { DescriptorRoom } from './descriptor-room.js'
import type { SocketOptions } from './options.js'
import { ReadTurn } from './read-turn.js'
import { RefusalLog } from './refusal-log.js'
import { SendQueue } from './send-queue.js'
import { SlabPool } from './slab-pool.js'
import type { IncomingMessage } from './socket.js'
import { TurnFlusher } from './turn-flusher.js'
import type { LocalPeer, RemotePeer } from './zmtp/session.js'

/** What an acceptor tells its owner; never from within a call of the owner, nothing once closed. */
export interface AcceptorHandler {
  /** The handshake is done. Of each connection told first, and `onLost` last. */
  onReady(connection: Connection, peer: RemotePeer): void
  /** Messages that have come, in their order. */
  onMessages(connection: Connection, messages: readonly IncomingMessage[]): void
  /** The peer wants (or no longer wants) messages that begin with `prefix`. */
  onSubscription(connection: Connection, isWanted: boolean, prefix: string): void
  /** Bytes of a long message came, or were taken by the peer; at most once a second. */
  onProgress(connection: Connection): void
  /** After `send` returned false: there is room again. */
  onDrain(connection: Connection): void
  /** A connection that was ready is closed. */
  onLost(connection: Connection, reason: string): void
  /** A connection was closed before it was ready. Also logged. */
  onRefused?(remote: string, reason: string): void
}

/** As what to listen, and who hears of it. */
export interface AcceptorSetup {
  readonly local: LocalPeer
  readonly options: SocketOptions
  readonly handler: AcceptorHandler
}

/**
 * A peer that begins with what is not ZMTP has this time to close the connection itself: what only
 * looks whether somebody listens sends a few bytes, and leaves without waiting for an answer.
 */
const STRANGER_MS = 200

/** All connections of one bound address. */
export class Acceptor {
  readonly #handler: AcceptorHandler
  readonly #pool = new SlabPool()
  readonly #setup: ConnectionSetup
  readonly #connections = new Set<Connection>()
  readonly #ready = new WeakSet<Connection>()
  readonly #room: DescriptorRoom
  readonly #refusals: RefusalLog
  #listener: Listener | undefined
  #closing: Promise<void> | undefined

  private constructor(setup: AcceptorSetup) {
    const { local, options, handler } = setup
    this.#handler = handler
    this.#room = options.descriptorRoom ?? new DescriptorRoom()
    this.#refusals = new RefusalLog(options.logger)
    this.#setup = {
      local,
      options,
      flusher: new TurnFlusher(),
      turn: new ReadTurn(),
      strangerMs: STRANGER_MS,
      handler: this.#connectionHandler(),
    }
  }

  /** Listens on `address`; errors are those of `Listener.bind`. */
  static async bind(address: string, setup: AcceptorSetup): Promise<Acceptor> {
    const acceptor = new Acceptor(setup)
    const onStream = (stream: Socket): void => acceptor.#onStream(stream)
    acceptor.#listener = await Listener.bind(address, onStream, setup.options.logger)
    return acceptor
  }

  /** What is listened on, with the real port. */
  get address(): string {
    return this.#listener?.address ?? ''
  }

  /** Logs that a peer is refused after its handshake. */
  noteRefused(connection: Connection, reason: string): void {
    this.#refusals.note({ kind: 'handshake', remote: connection.remote, reason })
    this.#handler.onRefused?.(connection.remote, reason)
  }

  /**
   * Stops to listen, writes what waits for at most `lingerMs`, closes all connections. Resolves
   * when all is closed; calling it again returns the same promise.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  get #isPublisher(): boolean {
    return this.#setup.local.type === 'PUB'
  }

  async #close(): Promise<void> {
    const closed = this.#listener?.close()
    this.#refusals.close()
    for (const connection of this.#connections) connection.finish('')
    await closed
  }

  #onStream(stream: Socket): void {
    const connection = new Connection(stream, new SendQueue(this.#pool), this.#setup)
    this.#connections.add(connection)
    this.#room.onAccepted(connection)
    if (this.#closing !== undefined) connection.close('')
  }

  /** Nothing is told once `close` was called, though connections may go on for `lingerMs`. */
  #connectionHandler(): ConnectionHandler {
    const handler = this.#handler
    const isOpen = (): boolean => this.#closing === undefined
    return {
      onReady: (connection, peer) => {
        this.#ready.add(connection)
        if (this.#isPublisher) this.#room.onMonitor(connection)
        else this.#room.onPeer(connection)
        if (isOpen()) handler.onReady(connection, peer)
      },
      onMessages: (connection, messages) => {
        if (!this.#isPublisher) this.#room.onSpoken(connection)
        if (isOpen()) handler.onMessages(connection, messages)
      },
      onSubscription: (connection, isWanted, prefix) => {
        if (isOpen()) handler.onSubscription(connection, isWanted, prefix)
      },
      onProgress: (connection) => {
        if (isOpen()) handler.onProgress(connection)
      },
      onDrain: (connection) => {
        if (isOpen()) handler.onDrain(connection)
      },
      onClose: (connection, reason) => {
        this.#connections.delete(connection)
        this.#room.onSpoken(connection)
        if (!isOpen()) return
        const { remote, refusal: kind } = connection
        const wasReady = this.#ready.has(connection)
        if (!wasReady || kind === 'crowded') this.#refusals.note({ kind, remote, reason })
        if (wasReady) handler.onLost(connection, reason)
        else handler.onRefused?.(remote, reason)
      },
    }
  }
}

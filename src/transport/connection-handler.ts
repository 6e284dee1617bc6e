// What a connection tells the socket that it belongs to, and what all connections of a socket
// share. Apart from how a connection works, because both sides need it.

import type { Connection } from './connection.js'
import type { ReadTurn } from './delivery.js'
import type { Rounds } from './heartbeat.js'
import type { IncomingMessage, SocketOptions } from './options.js'
import type { TurnFlusher } from './writer.js'
import type { OnLongFrame } from './zmtp/frame.js'
import type { LocalPeer, RemotePeer } from './zmtp/session.js'

/** Callbacks of a connection. Never called from within a call of the owner. */
export interface ConnectionHandler {
  /** The handshake is done. */
  onReady(connection: Connection, peer: RemotePeer): void
  /** Received messages, in order. */
  onMessages(connection: Connection, messages: readonly IncomingMessage[]): void
  /** See `OnLongFrame`. */
  onLongFrame?: OnLongFrame | undefined
  /** The peer subscribes to (or unsubscribes from) messages that begin with `prefix`. */
  onSubscription(connection: Connection, isWanted: boolean, prefix: string): void
  /**
   * Bytes of an incomplete message arrived, or the peer took bytes that had been waiting; at most
   * once a second.
   */
  onProgress(connection: Connection): void
  /** After `send` returned false: there is room again. */
  onDrain(connection: Connection): void
  /** The last call: the socket is closed. `reason` is empty if the peer closed it cleanly. */
  onClose(connection: Connection, reason: string): void
}

/** What the connections of one socket share. */
export interface ConnectionSetup {
  readonly local: LocalPeer
  readonly options: SocketOptions
  readonly flusher: TurnFlusher
  readonly turn: ReadTurn
  readonly rounds: Rounds
  /** How long a peer that does not speak ZMTP may take to leave on its own; default: 0. */
  readonly strangerMs?: number
  readonly handler: ConnectionHandler
}

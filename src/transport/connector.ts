// Keeps one outgoing connection up: connects in the background, and reconnects with growing delays
// whenever an attempt fails or the connection is lost.

import { type Address, isSecure } from './address.js'
import type { ConnectionHandler } from './connection-handler.js'
import { Connection } from './connection.js'
import type { ConnectOptions, IncomingMessage } from './options.js'
import { ReadTurn } from './delivery.js'
import type { ConnectionEnd } from './end.js'
import type { SendQueue } from './send-queue.js'
import { openStream } from './stream.js'
import { Rounds } from './heartbeat.js'
import { TlsCredentials } from './tls/credentials.js'
import { TurnFlusher } from './writer.js'
import type { OnLongFrame } from './zmtp/frame.js'
import type { LocalPeer, RemotePeer } from './zmtp/session.js'

/** Callbacks of a connector. Never called from within a call of the owner, nor after `close`. */
interface ConnectorHandler {
  /** The handshake is done. Called before any other callback. */
  onReady(connection: Connection, peer: RemotePeer): void
  onMessages(messages: readonly IncomingMessage[]): void
  onLongFrame?: OnLongFrame | undefined
  onProgress(): void
  onDrain(): void
  /** A connection that was ready has closed; another attempt follows. */
  onLost(reason: string): void
  /** An attempt has failed; another one follows. */
  onFailed(end: ConnectionEnd): void
}

/** Where and how to connect. */
interface ConnectorSetup {
  readonly address: Address
  readonly local: LocalPeer
  readonly options: ConnectOptions
  /** The queue for the next connection. */
  readonly queue: () => SendQueue
  readonly handler: ConnectorHandler
}

/** The delay stops growing here: the largest value an option allows is 2^31 ms. */
const MAX_DOUBLINGS = 31

/** Maintains one connection at a time until it is closed. */
export class Connector {
  readonly #setup: ConnectorSetup
  readonly #flusher = new TurnFlusher()
  readonly #turn = new ReadTurn()
  readonly #rounds: Rounds
  /** For a `tls://` address. */
  readonly #credentials: TlsCredentials | undefined
  #connection: Connection | undefined
  #isReady = false
  #failures = 0
  #lastEnd: ConnectionEnd | undefined
  #retry: NodeJS.Timeout | undefined
  #isRef = true
  #isClosed = false
  #closing: Promise<void> | undefined
  #onClosed: (() => void) | undefined
  #lingerTimer: NodeJS.Timeout | undefined

  /**
   * Starts connecting; no callback is called before the current event-loop turn ends. Throws
   * `ConfigError` for certificates that cannot be used.
   */
  constructor(setup: ConnectorSetup) {
    this.#setup = setup
    const { address, options } = setup
    this.#rounds = new Rounds(options.pingIntervalMs)
    this.#credentials = isSecure(address) ? TlsCredentials.of(options.tls) : undefined
    this.#connect()
  }

  /** How the connection would end now, or how the last one has ended. */
  get end(): ConnectionEnd {
    return this.#connection?.end ?? (this.#lastEnd as ConnectionEnd)
  }

  /**
   * Keeps the process alive, as it does initially: through its connection, or while it tries to
   * connect.
   */
  ref(): void {
    this.#isRef = true
    this.#retry?.ref()
    this.#connection?.ref()
  }

  /** No longer keeps the process alive. */
  unref(): void {
    this.#isRef = false
    this.#retry?.unref()
    this.#connection?.unref()
  }

  /**
   * Writes queued data and closes, within `lingerMs`; with `isWaiting`, if there is no connection
   * yet, that time is also spent trying to connect. Resolves when everything is closed.
   */
  close(isWaiting: boolean): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      this.#isClosed = true
      this.#onClosed = resolve
      this.ref()
      if (this.#isReady) this.#connection?.finish('')
      else if (isWaiting) this.#limitWait()
      else this.#giveUp()
    })
    return this.#closing
  }

  #connect(): void {
    const { address, local, options, queue } = this.#setup
    this.#retry = undefined
    const stream = openStream(address, this.#credentials?.current(options.logger))
    if (!this.#isRef) stream.socket.unref()
    const handler = this.#connectionHandler()
    this.#connection = new Connection(stream, queue(), {
      local,
      options,
      flusher: this.#flusher,
      turn: this.#turn,
      rounds: this.#rounds,
      handler,
    })
  }

  #connectionHandler(): ConnectionHandler {
    const { handler } = this.#setup
    return {
      onReady: (connection, peer) => this.#onReady(connection, peer),
      onMessages: (_, messages) => {
        if (!this.#isClosed) handler.onMessages(messages)
      },
      onLongFrame: handler.onLongFrame,
      onSubscription: () => {},
      onProgress: () => {
        if (!this.#isClosed) handler.onProgress()
      },
      onDrain: () => {
        if (!this.#isClosed) handler.onDrain()
      },
      onClose: ({ end }) => this.#onClose(end),
    }
  }

  #onReady(connection: Connection, peer: RemotePeer): void {
    this.#isReady = true
    this.#failures = 0
    if (this.#isClosed) connection.finish('')
    else this.#setup.handler.onReady(connection, peer)
  }

  #onClose(end: ConnectionEnd): void {
    const wasReady = this.#isReady
    this.#lastEnd = end
    this.#connection = undefined
    this.#isReady = false
    if (this.#isClosed && (wasReady || this.#lingerTimer === undefined)) return this.#finish()
    this.#scheduleRetry()
    if (this.#isClosed) return
    if (wasReady) this.#setup.handler.onLost(end.reason)
    else this.#setup.handler.onFailed(end)
  }

  #scheduleRetry(): void {
    const { reconnectMinMs, reconnectMaxMs } = this.#setup.options
    const longest = Math.min(reconnectMaxMs, reconnectMinMs * 2 ** this.#failures)
    this.#failures = Math.min(this.#failures + 1, MAX_DOUBLINGS)
    // Peers that have lost the same scheduler must not all reconnect at the same moment.
    this.#retry = setTimeout(() => this.#connect(), longest * (1 - Math.random() / 2))
    if (!this.#isRef) this.#retry.unref()
  }

  #limitWait(): void {
    this.#lingerTimer = setTimeout(() => this.#giveUp(), this.#setup.options.lingerMs)
  }

  #giveUp(): void {
    this.#lingerTimer = undefined
    clearTimeout(this.#retry)
    if (this.#connection === undefined) this.#finish()
    else this.#connection.close('')
  }

  #finish(): void {
    clearTimeout(this.#lingerTimer)
    this.#onClosed?.()
  }
}

// The listening half of ROUTER and PUB: the connections accepted on one address, from their first
// byte to their last, and what happens to them when the socket is closed.

import type { Stats } from 'node:fs'
import { lstat, stat, unlink } from 'node:fs/promises'
import {
  type AddressInfo,
  connect,
  createServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net'
import { dirname, resolve as resolvePath } from 'node:path'
import type { Logger } from '../base/logger.js'
import { Recurrence } from '../base/recurrence.js'
import {
  type Address,
  bindError,
  codeOf,
  formatAddress,
  isSecure,
  parseAddress,
} from './address.js'
import { RefusalLog } from './bounded-log.js'
import type { ConnectionHandler, ConnectionSetup } from './connection-handler.js'
import { Connection } from './connection.js'
import { ReadTurn } from './delivery.js'
import { DescriptorRoom } from './descriptor-room.js'
import type { SocketOptions } from './options.js'
import { SendQueue, SlabPool } from './send-queue.js'
import { adoptStream, type OpenStream, secureStream, STREAM_OPTIONS } from './stream.js'
import { TlsCredentials } from './tls/credentials.js'
import { TlsEntrance } from './tls/entrance.js'
import { Rounds } from './heartbeat.js'
import { TurnFlusher } from './writer.js'
import type { LocalPeer } from './zmtp/session.js'

// Listens on an address and hands out the accepted streams. Deals with operating system details
// (stale socket files, ports chosen by the system), not with what the streams carry.

/** The most connections that wait to be accepted: a whole cluster may connect at the same time. */
const BACKLOG = 4096

/** How often at most the log reports that connections cannot be accepted. */
const TELL_INTERVAL_MS = 60_000

/** A bound address. */
class Listener {
  /** The address listened on, with the actual port. */
  readonly address: string
  readonly #server: Server

  private constructor(address: string, server: Server) {
    this.address = address
    this.#server = server
  }

  /**
   * Listens on `address`. Throws `ConfigError` if it is not a valid address; rejects with an error
   * that has the system's `code` (`EADDRINUSE`, …) if it cannot be bound. A socket file on which no
   * process listens any more is replaced.
   */
  static async bind(
    text: string,
    onStream: (stream: Socket) => void,
    logger: Logger,
  ): Promise<Listener> {
    const address = parseAddress(text)
    const server = createServer({ ...STREAM_OPTIONS, pauseOnConnect: true }, onStream)
    try {
      await listenAnew(server, address)
    } catch (error) {
      throw bindError(
        formatAddress(address),
        error instanceof Error ? error : new Error(String(error)),
        address.kind === 'ipc' ? await troubleWith(address.path) : undefined,
      )
    }
    // For example, no file descriptor is left for another connection; existing ones are unaffected.
    const recurrence = new Recurrence(TELL_INTERVAL_MS)
    server.on('error', (error) => {
      const count = recurrence.note(performance.now())
      if (count > 0) logger.error('cannot accept a connection', { reason: error.message, count })
    })
    return new Listener(formatAddress(withRealPort(address, server)), server)
  }

  /** Stops listening and removes a socket file. */
  close(): Promise<void> {
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}

async function listenAnew(server: Server, address: Address): Promise<void> {
  try {
    await listen(server, address)
  } catch (error) {
    if (codeOf(error) !== 'EADDRINUSE' || address.kind === 'tcp') throw error
    if (!(await isStale(address.path))) throw error
    await unlink(address.path)
    await listen(server, address)
  }
}

function listen(server: Server, address: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(listenOptions(address), () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function listenOptions(address: Address): ListenOptions {
  if (address.kind === 'ipc') return { path: address.path, backlog: BACKLOG }
  const { host, port } = address
  return host === '*' ? { port, backlog: BACKLOG } : { host, port, backlog: BACKLOG }
}

/** Whether `path` is a socket on which no process listens. */
async function isStale(path: string): Promise<boolean> {
  const file = await lstat(path)
  if (!file.isSocket()) return false
  return new Promise((resolve) => {
    const probe = connect(path)
    probe.once('error', (error) => resolve(codeOf(error) === 'ECONNREFUSED'))
    probe.once('connect', () => {
      probe.destroy()
      resolve(false)
    })
  })
}

/**
 * Why no socket file can be created at `path`, if the file system shows it: the system reports
 * "permission denied" for a missing folder, and "in use" for any existing file.
 */
async function troubleWith(path: string): Promise<string | undefined> {
  const there = await look(path, lstat)
  if (there?.isDirectory() === true) return 'it is a directory; name a file in it'
  if (there?.isSocket() === true) return undefined
  if (there !== undefined) return 'a file of that name exists and is not a socket'
  let missing: string | undefined
  let folder = dirname(resolvePath(path))
  for (; (await look(folder, stat)) === undefined; folder = dirname(folder)) {
    if (folder === dirname(folder)) return undefined
    missing = folder
  }
  if (missing !== undefined) return `the directory ${missing} does not exist`
  const isDirectory = (await look(folder, stat))?.isDirectory() === true
  return isDirectory ? undefined : `${folder} is not a directory`
}

/** Undefined: it does not exist, or cannot be examined. */
async function look(
  path: string,
  by: (path: string) => Promise<Stats>,
): Promise<Stats | undefined> {
  try {
    return await by(path)
  } catch {
    return undefined
  }
}

function withRealPort(address: Address, server: Server): Address {
  if (address.kind === 'ipc') return address
  const bound = server.address() as AddressInfo
  return { ...address, port: bound.port }
}

/** Callbacks of an acceptor. Never called from within a call of the owner, nor after `close`. */
export interface AcceptorHandler extends Omit<ConnectionHandler, 'onClose'> {
  /** A connection that was ready has closed. */
  onLost(connection: Connection, reason: string): void
  /** A connection closed before it was ready. Also logged. */
  onRefused?(remote: string, reason: string): void
}

/** What an acceptor needs: our own identity, the options, and the callbacks. */
interface AcceptorSetup {
  readonly local: LocalPeer
  readonly options: SocketOptions
  readonly handler: AcceptorHandler
}

/**
 * How long a peer that sends something other than ZMTP may take to close the connection itself:
 * port probes send a few bytes and leave without waiting for an answer.
 */
const STRANGER_MS = 200

/** All connections of one bound address. */
export class Acceptor {
  readonly #handler: AcceptorHandler
  readonly #pool = new SlabPool()
  readonly #setup: ConnectionSetup
  readonly #connections = new Set<Connection>()
  readonly #room: DescriptorRoom
  readonly #refusals: RefusalLog
  #listener: Listener | undefined
  /** At a `tls://` address. */
  #entrance: TlsEntrance | undefined
  #closing: Promise<void> | undefined
  /** Called when the last connection has closed. */
  #onGone: () => void = () => {}

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
      rounds: new Rounds(options.pingIntervalMs),
      strangerMs: STRANGER_MS,
      handler: this.#connectionHandler(),
    }
  }

  /** Listens on `address`; errors are those of `Listener.bind`. */
  static async bind(address: string, setup: AcceptorSetup): Promise<Acceptor> {
    const acceptor = new Acceptor(setup)
    const { options } = setup
    if (isSecure(parseAddress(address))) {
      const credentials = TlsCredentials.of(options.tls)
      credentials.checkListening(address)
      acceptor.#entrance = acceptor.#newEntrance(credentials)
    }
    const entrance = acceptor.#entrance
    const onStream = (stream: Socket): void =>
      entrance === undefined ? acceptor.#onStream(adoptStream(stream)) : entrance.accept(stream)
    acceptor.#listener = await Listener.bind(address, onStream, options.logger)
    return acceptor
  }

  /** The address listened on, with the actual port. */
  get address(): string {
    return this.#listener?.address ?? ''
  }

  /** Logs that a peer was refused after its handshake. */
  noteRefused(connection: Connection, reason: string): void {
    this.#refusals.note({ kind: 'broken', remote: connection.remote, reason })
    this.#handler.onRefused?.(connection.remote, reason)
  }

  /**
   * Stops listening, writes queued data for at most `lingerMs`, then closes all connections.
   * Resolves when everything is closed; calling it again returns the same promise.
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
    const gone = new Promise<void>((resolve) => (this.#onGone = resolve))
    this.#entrance?.close()
    for (const connection of this.#connections) connection.finish('')
    if (this.#connections.size > 0) await gone
    await closed
  }

  #newEntrance(credentials: TlsCredentials): TlsEntrance {
    return new TlsEntrance(credentials, this.#setup.options, {
      onBegun: (visitor) => this.#room.onAccepted(visitor),
      onDone: (visitor) => this.#room.onSpoken(visitor),
      onStream: (stream) => this.#onStream(secureStream(stream)),
      onRefused: (kind, remote, reason) => {
        if (this.#closing !== undefined) return
        this.#refusals.note({ kind, remote, reason })
        this.#handler.onRefused?.(remote, reason)
      },
    })
  }

  #onStream(stream: OpenStream): void {
    const connection = new Connection(stream, new SendQueue(this.#pool), this.#setup)
    this.#connections.add(connection)
    this.#room.onAccepted(connection)
    if (this.#closing !== undefined) connection.close('')
  }

  /** No callbacks once `close` was called, though connections may continue for `lingerMs`. */
  #connectionHandler(): ConnectionHandler {
    const handler = this.#handler
    const isOpen = (): boolean => this.#closing === undefined
    return {
      onReady: (connection, peer) => {
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
        if (this.#connections.size === 0) this.#onGone()
        this.#room.onSpoken(connection)
        if (!isOpen()) return
        const { remote } = connection
        const { kind, stage } = connection.end
        const wasReady = stage === 'ready'
        if (!wasReady || kind === 'crowded') this.#refusals.note({ kind, remote, reason })
        if (wasReady) handler.onLost(connection, reason)
        else handler.onRefused?.(remote, reason)
      },
    }
  }
}

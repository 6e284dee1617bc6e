// The listening half of TLS: between an accepted connection and one on which a peer with a
// certificate of our CA speaks.

import type { Socket } from 'node:net'
import type { Server, TLSSocket } from 'node:tls'
import { CROWDED } from '../bounded-log.js'
import type { Closable } from '../descriptor-room.js'
import type { EndKind } from '../end.js'
import { describeRemote } from '../stream.js'
import { encodeError } from '../zmtp/commands.js'
import { encodeGreeting } from '../zmtp/session.js'
import type { SocketOptions } from '../options.js'
import type { LoadedTls, TlsCredentials } from './credentials.js'
import { ANONYMOUS, certificateTrouble, NOT_TLS, tlsTrouble } from './trouble.js'

/** How long a refused peer may take to read why. */
const REFUSAL_MS = 1_000

/** What a client that speaks no TLS gets, so that it can say what it has met: a fatal alert. */
const ALERT = Buffer.from('15030300020228', 'hex')

/** Callbacks of an entrance. */
interface EntranceHandler {
  /** A connection begins its handshake; it may be closed before its end. */
  onBegun(visitor: Closable): void
  /** It has ended it, or was closed. */
  onDone(visitor: Closable): void
  /** The peer is known. */
  onStream(stream: TLSSocket): void
  onRefused(kind: EndKind, remote: string, reason: string): void
}

/** A connection that has not finished its handshake. */
interface Visitor extends Closable {
  readonly remote: string
  readonly timer: NodeJS.Timeout
}

/** Node keeps the connection below a stream there, but does not document it. */
interface Layered {
  readonly _parent?: Socket
}

/** The handshakes of one listening socket. */
export class TlsEntrance {
  readonly #credentials: TlsCredentials
  readonly #options: SocketOptions
  readonly #handler: EntranceHandler
  /** It does not listen: connections are passed to it. */
  readonly #server: Server
  #loaded: LoadedTls
  readonly #visitors = new Map<Socket, Visitor>()
  readonly #refused = new Set<TLSSocket>()

  /** A handshake may take `handshakeTimeoutMs`. */
  constructor(credentials: TlsCredentials, options: SocketOptions, handler: EntranceHandler) {
    const { createServer } = process.getBuiltinModule('node:tls')
    this.#credentials = credentials
    this.#options = options
    this.#handler = handler
    this.#loaded = credentials.current(options.logger)
    // With `rejectUnauthorized`, a refused peer would not learn why. Only `#onSecure` lets one in.
    const checks = { requestCert: true, rejectUnauthorized: false }
    this.#server = createServer({ ...this.#loaded.options, ...checks })
    this.#server.on('secureConnection', (stream) => this.#onSecure(stream))
    this.#server.on('tlsClientError', (error, stream) => this.#onError(error, stream))
  }

  /** Begins the handshake of an accepted connection. */
  accept(socket: Socket): void {
    const remote = describeRemote(socket)
    // It has left already.
    if (socket.remoteAddress === undefined) return void socket.destroy()
    this.#renew()
    let ended: { readonly kind: EndKind; readonly reason: string } | undefined
    const close = (reason: string, kind: EndKind = 'untrusted'): void => {
      ended ??= { kind: reason === CROWDED ? 'crowded' : kind, reason }
      if (reason === NOT_TLS) socket.write(ALERT)
      socket.destroy()
    }
    const { handshakeTimeoutMs } = this.#options
    const late = `no TLS handshake within ${handshakeTimeoutMs} ms`
    const timer = setTimeout(() => close(late, 'silent'), handshakeTimeoutMs).unref()
    const visitor = { close, remote, timer }
    socket.on('error', () => {})
    this.#visitors.set(socket, visitor)
    this.#handler.onBegun(visitor)
    const left = 'the peer closed the connection during the TLS handshake'
    socket.once('close', () => {
      if (this.#take(socket) === undefined) return
      this.#handler.onDone(visitor)
      this.#handler.onRefused(ended?.kind ?? 'closed', remote, ended?.reason ?? left)
    })
    this.#server.emit('connection', socket)
  }

  /** Closes all connections that were not passed on. */
  close(): void {
    for (const visitor of this.#visitors.values()) visitor.close('')
    for (const stream of this.#refused) stream.destroy()
  }

  /** For new connections only. */
  #renew(): void {
    const current = this.#credentials.current(this.#options.logger)
    if (current === this.#loaded) return
    this.#loaded = current
    this.#server.setSecureContext(current.options)
  }

  #onSecure(stream: TLSSocket): void {
    const visitor = this.#take((stream as Layered)._parent)
    if (visitor === undefined) return void stream.destroy()
    const peer = stream.getPeerCertificate()
    const isAnonymous = Object.keys(peer).length === 0
    // Node authorizes a resumed session of TLS 1.3 even if it never had a certificate.
    const isFresh = !isAnonymous && !stream.isSessionReused()
    if (stream.authorized && isFresh) {
      this.#handler.onDone(visitor)
      return this.#handler.onStream(stream)
    }
    // Node's types say `Error`; it is the code of one.
    const code = String(stream.authorizationError)
    const reason = isAnonymous ? ANONYMOUS : certificateTrouble(code, peer)
    this.#refuse(stream, visitor, reason)
    this.#handler.onRefused('untrusted', visitor.remote, reason)
  }

  /** The visitor whose handshake has ended; undefined if that is known already. */
  #take(socket: Socket | undefined): Visitor | undefined {
    const visitor = socket && this.#visitors.get(socket)
    if (socket === undefined || visitor === undefined) return undefined
    this.#visitors.delete(socket)
    clearTimeout(visitor.timer)
    return visitor
  }

  /** Nothing that it sends is looked at. Until it leaves, it may be closed to make room. */
  #refuse(stream: TLSSocket, visitor: Visitor, reason: string): void {
    const timer = setTimeout(() => stream.destroy(), REFUSAL_MS).unref()
    this.#refused.add(stream)
    stream.on('error', () => {})
    stream.once('close', () => {
      clearTimeout(timer)
      this.#refused.delete(stream)
      this.#handler.onDone(visitor)
    })
    stream.resume()
    stream.end(Buffer.concat([encodeGreeting(), encodeError(reason)]))
  }

  #onError(error: Error, stream: TLSSocket): void {
    const reason = tlsTrouble(error)
    const socket = (stream as Layered)._parent
    const visitor = socket && this.#visitors.get(socket)
    if (reason !== undefined) visitor?.close(reason)
    stream.destroy()
  }
}

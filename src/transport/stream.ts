// The byte streams under the protocol: how they are opened, with which socket options, and how
// they are read. By itself, Node reads into new memory each time, which costs more than the work
// for a small message, and keeps the collector busy. Here all streams of a process share one piece
// of memory, out of which each takes what it has read.

import { connect, type OnReadOpts, Socket } from 'node:net'
import type { Address } from './address.js'
import { openTls } from './tls/connect.js'
import type { LoadedTls } from './tls/credentials.js'

/** A silently broken link is noticed after this idle time plus the system's probes. */
const KEEP_ALIVE_DELAY_MS = 30_000
/** How long each address of a host name is tried before the next one is tried in parallel. */
const ADDRESS_ATTEMPT_MS = 2500

/** The options with which Node's streams are opened. */
interface StreamOptions {
  readonly noDelay: boolean
  readonly keepAlive: boolean
  readonly keepAliveInitialDelay: number
}

/** For both sides: no delay to fill packets, as the transport fills them itself. */
export const STREAM_OPTIONS: StreamOptions = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
}

/** The same for TLS, where Node wants it elsewhere. */
const LINK = {
  keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
  autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
}

/** Takes what is read from a stream. The memory is overwritten after the call. */
type ReadSink = (memory: Buffer) => void

/**
 * Memory into which all streams of the process are read. On Unix, the system fills it immediately
 * before the bytes are taken, so that no other stream can be in between. It is always the same one:
 * Node tells the system of another one only if no other code throws in the meantime.
 */
let shared: Buffer | undefined
const SHARED_BYTES = 64 * 1024

/** Reads a stream for its sink. Nothing may arrive before the sink is set. */
export class StreamReader {
  #sink: ReadSink | undefined

  /** For the constructor of a `Socket`. */
  get onread(): OnReadOpts {
    const memory = (shared ??= Buffer.allocUnsafeSlow(SHARED_BYTES))
    const callback = (length: number): boolean => {
      this.take(memory.subarray(0, length))
      return true
    }
    return { buffer: memory, callback }
  }

  /** Takes bytes that have been read. */
  take(memory: Buffer): void {
    this.#sink?.(memory)
  }

  /** Sets where the bytes go. */
  readTo(sink: ReadSink): void {
    this.#sink = sink
  }
}

/** A stream, and what reads it. */
export interface OpenStream {
  readonly socket: Socket
  readonly reader: StreamReader
  /** TLS: each write is encrypted first, and ends in a later turn. */
  readonly isSecure?: true
}

/**
 * Starts connecting. A host name is looked up each time; errors are events of the stream. `tls`:
 * for a `tls://` address.
 */
export function openStream(address: Address, tls?: LoadedTls): OpenStream {
  if (address.kind === 'tcp' && tls !== undefined) return secureStream(openTls(address, tls, LINK))
  const reader = new StreamReader()
  const onread = READS_INTO_MEMORY ? { onread: reader.onread } : {}
  const socket =
    address.kind === 'ipc'
      ? connect({ path: address.path, ...onread })
      : connect({
          ...STREAM_OPTIONS,
          ...onread,
          host: address.host,
          port: address.port,
          autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS,
        })
  if (!READS_INTO_MEMORY) readChunks(socket, reader)
  return { socket, reader }
}

/** Starts reading an inherited pipe. */
export function openPipe(fd: number, sink: ReadSink): Socket {
  const reader = new StreamReader()
  reader.readTo(sink)
  const onread = READS_INTO_MEMORY ? { onread: reader.onread } : {}
  const socket = new Socket({ fd, readable: true, writable: false, ...onread })
  if (!READS_INTO_MEMORY) readChunks(socket, reader)
  return socket
}

/** On Windows, a stream may hold its memory for as long as it waits for bytes. */
const READS_INTO_MEMORY = process.platform !== 'win32'

/** What Node has in a socket, and does not describe. */
interface Opened {
  _handle?: { reading?: boolean; readStop?(): number } | null
}

/**
 * Reads a stream that Node has opened: a connection that was accepted, or a pipe to a child. Use
 * the returned socket from now on, and not the given one, which must not have been read.
 */
export function adoptStream(opened: Socket): OpenStream {
  const reader = new StreamReader()
  const { _handle: handle } = opened as unknown as Opened
  // Node offers this only for streams that a program opens itself.
  if (!READS_INTO_MEMORY || !(handle instanceof Object) || opened.readableLength > 0) {
    readChunks(opened, reader)
    return { socket: opened, reader }
  }
  handle.readStop?.()
  handle.reading = false
  ;(opened as unknown as Opened)._handle = null
  const options = { handle, readable: true, writable: true, onread: reader.onread }
  const socket = new Socket(options)
  opened.destroy()
  return { socket, reader }
}

/** Reads a stream of TLS; each chunk has memory of its own there. */
export function secureStream(socket: Socket): OpenStream {
  const reader = new StreamReader()
  readChunks(socket, reader)
  return { socket, reader, isSecure: true }
}

function readChunks(socket: Socket, reader: StreamReader): void {
  socket.on('data', (chunk: Buffer) => reader.take(chunk))
  socket.resume()
}

/** The remote address in readable form: `127.0.0.1:40404`. */
export function describeRemote(socket: Socket): string {
  const { remoteAddress, remotePort } = socket
  if (remoteAddress === undefined) return 'a local socket'
  const host = remoteAddress.includes(':') ? `[${remoteAddress}]` : remoteAddress
  return `${host}:${remotePort}`
}

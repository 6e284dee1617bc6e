// ZMTP commands: what peers exchange about the connection itself (docs/protocol.md#zmtp). Written
// as whole frames, read from the bodies of command frames.

import { bytesToLatin1, latin1ToBytes } from '../../base/bytes.js'
import { ProtocolError } from '../../base/errors.js'
import { FLAG_COMMAND, headerBytes, writeHeader } from './frame.js'

/** One received command. */
export type Command =
  | { readonly kind: 'ready'; readonly properties: ReadonlyMap<string, string> }
  | { readonly kind: 'error'; readonly reason: string }
  | { readonly kind: 'ping'; readonly ttlMs: number; readonly context: Buffer }
  | { readonly kind: 'pong' }
  | { readonly kind: 'subscribe'; readonly prefix: string }
  | { readonly kind: 'cancel'; readonly prefix: string }
  | { readonly kind: 'unknown'; readonly name: string }

/** The longest context of a PING. */
const MAX_PING_CONTEXT_BYTES = 16
/** The unit of the time to live in a PING. */
const TTL_UNIT_MS = 100

/** READY: opens the connection. `properties` are names and latin1 values. */
export function encodeReady(properties: Readonly<Record<string, string>>): Buffer {
  const parts: Buffer[] = []
  for (const [name, value] of Object.entries(properties)) {
    const valueSize = Buffer.alloc(4)
    valueSize.writeUInt32BE(value.length)
    parts.push(Buffer.from([name.length]), latin1ToBytes(name), valueSize, latin1ToBytes(value))
  }
  return encodeCommand('READY', Buffer.concat(parts))
}

/** ERROR: why the connection is about to be closed; reasons are cut to 255 bytes. */
export function encodeError(reason: string): Buffer {
  const text = Buffer.from(reason).subarray(0, 255)
  return encodeCommand('ERROR', Buffer.concat([Buffer.from([text.length]), text]))
}

/** PING: requests a PONG; the peer may give us up if it hears nothing for `ttlMs` (0 = never). */
export function encodePing(ttlMs: number): Buffer {
  const ttl = Buffer.alloc(2)
  ttl.writeUInt16BE(Math.min(Math.ceil(ttlMs / TTL_UNIT_MS), 0xffff))
  return encodeCommand('PING', ttl)
}

/** PONG: the answer to a PING, with its context. */
export function encodePong(context: Uint8Array): Buffer {
  return encodeCommand('PONG', context)
}

/**
 * Subscribes to (or unsubscribes from) messages that begin with `prefix`, in the form of the
 * version.
 */
export function encodeSubscription(isWanted: boolean, prefix: string, minor: 0 | 1): Buffer {
  const bytes = latin1ToBytes(prefix)
  if (minor >= 1) return encodeCommand(isWanted ? 'SUBSCRIBE' : 'CANCEL', bytes)
  return encodeFrame(Buffer.concat([Buffer.from([isWanted ? 1 : 0]), bytes]), 0)
}

/** Reads the body of a command frame. Throws `ProtocolError` if it is malformed. */
export function parseCommand(body: Buffer): Command {
  const nameSize = body[0] ?? 0
  if (nameSize === 0 || body.length < 1 + nameSize) throw new ProtocolError('malformed command')
  const name = body.toString('latin1', 1, 1 + nameSize)
  const rest = body.subarray(1 + nameSize)
  switch (name) {
    case 'READY':
      return { kind: 'ready', properties: parseProperties(rest) }
    case 'ERROR':
      return { kind: 'error', reason: parseReason(rest) }
    case 'PING':
      return parsePing(rest)
    case 'PONG':
      return { kind: 'pong' }
    case 'SUBSCRIBE':
      return { kind: 'subscribe', prefix: bytesToLatin1(rest) }
    case 'CANCEL':
      return { kind: 'cancel', prefix: bytesToLatin1(rest) }
    default:
      return { kind: 'unknown', name }
  }
}

/** Names are case-insensitive, so they are returned in lower case. */
function parseProperties(bytes: Buffer): Map<string, string> {
  const properties = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] as number)
    if (nameEnd === at + 1 || nameEnd + 4 > bytes.length) throw malformed('READY')
    const valueEnd = nameEnd + 4 + bytes.readUInt32BE(nameEnd)
    if (valueEnd > bytes.length) throw malformed('READY')
    const name = bytes.toString('latin1', at + 1, nameEnd).toLowerCase()
    properties.set(name, bytes.toString('latin1', nameEnd + 4, valueEnd))
    at = valueEnd
  }
  return properties
}

/** For people and logs: a peer's text is reduced to one printable line. */
function parseReason(bytes: Buffer): string {
  const size = bytes[0]
  if (size === undefined || bytes.length < 1 + size) throw malformed('ERROR')
  return bytes.toString('utf8', 1, 1 + size).replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
}

function parsePing(bytes: Buffer): Command {
  if (bytes.length < 2 || bytes.length > 2 + MAX_PING_CONTEXT_BYTES) throw malformed('PING')
  const context = Buffer.from(bytes.subarray(2))
  return { kind: 'ping', ttlMs: bytes.readUInt16BE(0) * TTL_UNIT_MS, context }
}

function encodeCommand(name: string, body: Uint8Array): Buffer {
  const prefix = Buffer.from([name.length])
  return encodeFrame(Buffer.concat([prefix, latin1ToBytes(name), body]), FLAG_COMMAND)
}

function encodeFrame(body: Buffer, flags: number): Buffer {
  const frame = Buffer.alloc(headerBytes(body.length) + body.length)
  body.copy(frame, writeHeader(frame, 0, body.length, flags))
  return frame
}

function malformed(what: string): ProtocolError {
  return new ProtocolError(`malformed ${what} command`)
}

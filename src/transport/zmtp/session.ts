// One side of a ZMTP connection as a pure state machine: bytes go in; messages, commands and the
// bytes of our own handshake come out. It uses no sockets and no clock.

import { ProtocolError } from '../../base/errors.js'
import { identity, type Identity } from '../../base/ids.js'
import type { IncomingMessage } from '../options.js'
import type { EndKind } from '../end.js'
import { type Command, encodeReady, parseCommand } from './commands.js'
import { type FrameLimits, FrameParser, type OnLongFrame } from './frame.js'

// The first 64 bytes of a ZMTP connection, sent by both sides before anything else
// (docs/protocol.md#zmtp): signature, version, mechanism.

/** The length of a greeting. */
export const GREETING_BYTES = 64

/** The length that older peers announce for their identity in the signature: readers ignore it. */
const SIGNATURE_PADDING = 1
const SIGNATURE_END = 9
const MAJOR = 10
const MINOR = 11
const MECHANISM = 12
const MECHANISM_BYTES = 20

/** ZMTP 3.1, mechanism NULL. A fresh copy. */
export function encodeGreeting(): Buffer {
  const greeting = Buffer.alloc(GREETING_BYTES)
  greeting[0] = 0xff
  greeting[8] = SIGNATURE_PADDING
  greeting[SIGNATURE_END] = 0x7f
  greeting[MAJOR] = 3
  greeting[MINOR] = 1
  greeting.write('NULL', MECHANISM, 'latin1')
  return greeting
}

/** The two sides cannot talk to each other. Trying again is useless. */
export class HandshakeError extends ProtocolError {
  readonly kind: EndKind
  /** What the peer sent if that is not ZMTP, for people; else ''. */
  readonly excerpt: string

  constructor(kind: EndKind, message: string, excerpt = '') {
    super(message)
    this.kind = kind
    this.excerpt = excerpt
  }
}

/** Whether the bytes begin another known protocol: the client has used the wrong port. */
export function isKnownProtocol(bytes: Uint8Array): boolean {
  return protocolOf(bytes) !== undefined
}

/** One segment of 9 words: docs/protocol.md#servers. */
const OLD_STORAGE_HEADER = '\0\0\0\0\x09\0\0\0'

/** The protocols most often found at a wrong port, by what a client or a server sends first. */
function protocolOf(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes
  if ((first === 0x15 || first === 0x16) && second === 3) return 'TLS'
  const text = Buffer.from(bytes.subarray(0, GREETING_BYTES)).toString('latin1')
  if (/^(?:(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|CONNECT|PRI) |HTTP\/)/.test(text))
    return 'HTTP'
  if (text.startsWith(OLD_STORAGE_HEADER)) return 'the object storage protocol of Python Scaler'
  return text.startsWith('SSH-') ? 'SSH' : undefined
}

const MAX_EXCERPT_CHARACTERS = 40
const MAX_EXCERPT_BYTES = 16

/** The first line of some text in quotes, or the first bytes of anything else as hex digits. */
function excerptOf(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  const line = /^[\x20-\x7e]+/.exec(text)?.[0] ?? ''
  if (line.length >= Math.min(4, text.length)) {
    const isCut = line.length > MAX_EXCERPT_CHARACTERS
    return JSON.stringify(isCut ? `${line.slice(0, MAX_EXCERPT_CHARACTERS)}…` : line)
  }
  const hex = bytes
    .subarray(0, MAX_EXCERPT_BYTES)
    .toString('hex')
    .replaceAll(/..(?!$)/g, '$& ')
  const more = bytes.length > MAX_EXCERPT_BYTES ? ' …' : ''
  const name = protocolOf(bytes)
  return `the bytes ${hex}${more}${name === undefined ? '' : ` (${name})`}`
}

/** Reads a peer's greeting, in pieces of any size, and refuses it at the first wrong byte. */
export class GreetingReader {
  readonly #bytes = Buffer.alloc(GREETING_BYTES)
  #length = 0
  #isComplete = false

  /** Whether the whole greeting has been read and is valid. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** The ZMTP version 3 minor that both sides speak: 0, or 1 with a 3.1 or any later peer. */
  get minor(): 0 | 1 {
    return this.#bytes[MAJOR] === 3 && this.#bytes[MINOR] === 0 ? 0 : 1
  }

  /**
   * Takes the bytes that belong to the greeting from `chunk`, starting at `start`, and returns
   * where the rest begins. Throws `ProtocolError` if the peer speaks something else.
   */
  feed(chunk: Buffer, start: number): number {
    const end = Math.min(chunk.length, start + GREETING_BYTES - this.#length)
    chunk.copy(this.#bytes, this.#length, start, end)
    this.#length += end - start
    this.#check()
    this.#isComplete = this.#length === GREETING_BYTES
    return end
  }

  #check(): void {
    const bytes = this.#bytes
    const length = this.#length
    const isSigned = length <= SIGNATURE_END || bytes[SIGNATURE_END] === 0x7f
    if ((length > 0 && bytes[0] !== 0xff) || !isSigned) {
      const sent = bytes.subarray(0, length)
      const name = protocolOf(sent)
      const hint = name === 'TLS' ? ', but the address is not tls://' : ''
      const guess = name === undefined ? '' : `; it speaks ${name}${hint}`
      const text = `not a ZeroMQ peer: wrong signature${guess}`
      throw new HandshakeError('notZmtp', text, excerptOf(sent))
    }
    const major = bytes[MAJOR] as number
    if (length > MAJOR && major < 3) {
      const text = `the peer speaks ZMTP ${major}; 3.0 or later is required`
      throw new HandshakeError('incompatible', text)
    }
    if (length >= MECHANISM + MECHANISM_BYTES) this.#checkMechanism()
  }

  #checkMechanism(): void {
    const field = this.#bytes.toString('latin1', MECHANISM, MECHANISM + MECHANISM_BYTES)
    const name = field.replace(/\0+$/, '')
    if (name === 'NULL') return
    const text = `the peer asks for mechanism ${JSON.stringify(name)}; only NULL is supported`
    throw new HandshakeError('incompatible', text)
  }
}

// The ZeroMQ socket types of this transport, and their compatible peers (ZMTP 3.1, "Socket-Type").

/** The socket types of this transport. */
export type SocketType = 'ROUTER' | 'DEALER' | 'PUB' | 'SUB'

const PEERS: Readonly<Record<SocketType, readonly string[]>> = {
  ROUTER: ['DEALER', 'REQ', 'ROUTER'],
  DEALER: ['ROUTER', 'DEALER', 'REP'],
  PUB: ['SUB', 'XSUB'],
  SUB: ['PUB', 'XPUB'],
}

/** Whether a peer of type `peer` may talk to our `own`. */
function isCompatible(own: SocketType, peer: string): boolean {
  return PEERS[own].includes(peer)
}

/** What we announce to a peer. */
export interface LocalPeer {
  readonly type: SocketType
  /** At most 255 bytes; empty = none, the peer assigns one. */
  readonly identity: Identity
  /** PUB: where the scheduler that publishes here listens, as bound. */
  readonly scheduler?: string
}

/** The property of READY with which a publisher tells the address of its scheduler. */
const SCHEDULER_PROPERTY = 'X-Scaler-Address'

/** What a peer has announced. */
export interface RemotePeer {
  /** At most 255 bytes; empty if it has sent none. */
  readonly identity: Identity
  /** The version 3 minor that both speak: SUBSCRIBE, CANCEL, PING and PONG need 1. */
  readonly minor: 0 | 1
}

/** What the bytes fed to a session have produced, in order of arrival. */
export interface Inbox {
  readonly messages: IncomingMessage[]
  /** Commands after the handshake: PING, PONG, SUBSCRIBE, CANCEL, and unknown ones. */
  readonly commands: Command[]
}

/** The longest identity that a peer may have. */
const MAX_IDENTITY_BYTES = 255

/** Handshake, then traffic. Once `feed` has thrown, the session must not be used any more. */
export class ZmtpSession {
  readonly #local: LocalPeer
  /** Undefined once the greeting is complete. */
  #greeting: GreetingReader | undefined = new GreetingReader()
  #minor: 0 | 1 = 1
  readonly #parser: FrameParser
  #peer: RemotePeer | undefined
  #peerType = ''
  #peerScheduler = ''
  #refusal: string | undefined
  #commands: Command[] | undefined

  constructor(local: LocalPeer, limits: FrameLimits, onLong?: OnLongFrame) {
    this.#local = local
    this.#parser = new FrameParser(limits, (body) => this.#onCommand(body), onLong)
  }

  /** The peer; undefined until the handshake is done. */
  get peer(): RemotePeer | undefined {
    return this.#peer
  }

  /** The socket type that the peer has announced, even one that does not fit; or ''. */
  get peerType(): string {
    return this.#peerType
  }

  /** The address that a publisher has told as that of its scheduler, or ''. */
  get peerScheduler(): string {
    return this.#peerScheduler
  }

  /** Whether the peer has shown that it speaks ZMTP 3, so that it understands an ERROR command. */
  get isGreeted(): boolean {
    return this.#greeting === undefined
  }

  /** Why the peer refuses the connection; undefined unless it has said so. */
  get refusal(): string | undefined {
    return this.#refusal
  }

  /** Whether part of a message has arrived without its end. */
  get isInsideMessage(): boolean {
    return this.#parser.isInsideMessage
  }

  /** The bytes to write as soon as there is a connection. */
  get greeting(): Buffer {
    return encodeGreeting()
  }

  /** The bytes to write as soon as `isGreeted`. */
  get ready(): Buffer {
    const { type, identity: own, scheduler } = this.#local
    const hasIdentity = type === 'ROUTER' || type === 'DEALER'
    return encodeReady({
      'Socket-Type': type,
      ...(hasIdentity ? { Identity: own } : {}),
      ...(scheduler === undefined ? {} : { [SCHEDULER_PROPERTY]: scheduler }),
    })
  }

  /**
   * Takes the next bytes of the connection and appends what they complete to `inbox`. Throws
   * `ProtocolError` when the peer violates the protocol; what was complete before has been
   * appended.
   */
  feed(chunk: Buffer, inbox: Inbox): void {
    const start = this.#feedGreeting(chunk)
    if (start === chunk.length) return
    this.#commands = inbox.commands
    this.#parser.feed(chunk, start, inbox.messages)
    this.#commands = undefined
  }

  /**
   * Like `feed`, for what belongs to an incomplete large frame only: returns the number of these
   * bytes. `memory` need not be kept.
   */
  fill(memory: Buffer, inbox: Inbox): number {
    this.#commands = inbox.commands
    const taken = this.#parser.fill(memory, inbox.messages)
    this.#commands = undefined
    return taken
  }

  /** Returns where the rest of `chunk` begins. */
  #feedGreeting(chunk: Buffer): number {
    const greeting = this.#greeting
    if (greeting === undefined) return 0
    const end = greeting.feed(chunk, 0)
    if (greeting.isComplete) {
      this.#minor = greeting.minor
      this.#greeting = undefined
    }
    return end
  }

  #onCommand(body: Buffer): void {
    const command = parseCommand(body)
    if (command.kind === 'error') this.#refusal ??= command.reason
    else if (this.#peer !== undefined) this.#commands?.push(command)
    else if (command.kind === 'ready') this.#onReady(command.properties)
    else throw new ProtocolError(`a ${nameOf(command)} command before READY`)
  }

  #onReady(properties: ReadonlyMap<string, string>): void {
    const type = properties.get('socket-type')
    if (type === undefined) throw new ProtocolError('the peer did not send its socket type')
    this.#peerType = type
    this.#peerScheduler = properties.get(SCHEDULER_PROPERTY.toLowerCase()) ?? ''
    if (!isCompatible(this.#local.type, type)) {
      const text = `a ${this.#local.type} cannot talk to a ${JSON.stringify(type)}`
      throw new HandshakeError('wrongSocket', text)
    }
    const own = properties.get('identity') ?? ''
    if (own.length > MAX_IDENTITY_BYTES) {
      throw new ProtocolError(`an identity of ${own.length} bytes; at most 255 are allowed`)
    }
    this.#peer = { identity: identity(own), minor: this.#minor }
    this.#parser.allowMessages()
  }
}

function nameOf(command: Command): string {
  return command.kind === 'unknown' ? JSON.stringify(command.name) : command.kind.toUpperCase()
}

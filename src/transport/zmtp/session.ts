// One side of one ZMTP connection as a pure state machine: bytes in; messages, commands and the
// bytes of our own handshake out. It knows no socket and no time.

import { ProtocolError } from '../../base/errors.js'
import { identity, type Identity } from '../../base/ids.js'
import type { IncomingMessage } from '../socket.js'
import { encodeGreeting, GreetingReader } from './greeting.js'
import { encodeReady, parseCommand, type Command } from './commands.js'
import { FrameParser, type FrameLimits } from './frame-parser.js'
import { isCompatible, type SocketType } from './socket-type.js'

/** What we tell a peer about ourselves. */
export interface LocalPeer {
  readonly type: SocketType
  /** At most 255 bytes; empty = none, the peer gives us one. */
  readonly identity: Identity
}

/** What a peer has told about itself. */
export interface RemotePeer {
  /** At most 255 bytes; empty when it has sent none. */
  readonly identity: Identity
  /** The version 3 minor that both speak: SUBSCRIBE, CANCEL, PING and PONG need 1. */
  readonly minor: 0 | 1
}

/** What came out of the bytes that a session was fed with, in order of arrival. */
export interface Inbox {
  readonly messages: IncomingMessage[]
  /** Commands after the handshake: PING, PONG, SUBSCRIBE, CANCEL, and those we do not know. */
  readonly commands: Command[]
}

/** The longest identity that a peer may have. */
export const MAX_IDENTITY_BYTES = 255

/** Handshake, then traffic. Once `feed` has thrown, the session must not be used any more. */
export class ZmtpSession {
  readonly #local: LocalPeer
  readonly #greeting = new GreetingReader()
  readonly #parser: FrameParser
  #peer: RemotePeer | undefined
  #refusal: string | undefined
  #commands: Command[] | undefined

  constructor(local: LocalPeer, limits: FrameLimits) {
    this.#local = local
    this.#parser = new FrameParser(limits, (body) => this.#onCommand(body))
  }

  /** Who is at the other end; undefined until the handshake is done. */
  get peer(): RemotePeer | undefined {
    return this.#peer
  }

  /** Whether the peer has shown that it speaks ZMTP 3, so that an ERROR command may tell it why. */
  get isGreeted(): boolean {
    return this.#greeting.isComplete
  }

  /** Why the peer does not want to talk to us; undefined while it has not said so. */
  get refusal(): string | undefined {
    return this.#refusal
  }

  /** Whether a part of a message has come whose end has not. */
  get isInsideMessage(): boolean {
    return this.#parser.isInsideMessage
  }

  /** What must be written as soon as there is a connection. */
  get greeting(): Buffer {
    return encodeGreeting()
  }

  /** What must be written as soon as `isGreeted`. */
  get ready(): Buffer {
    const { type, identity: own } = this.#local
    const hasIdentity = type === 'ROUTER' || type === 'DEALER'
    return encodeReady(
      hasIdentity ? { 'Socket-Type': type, Identity: own } : { 'Socket-Type': type },
    )
  }

  /**
   * Takes the next bytes of the connection and appends what they complete to `inbox`. Throws
   * `ProtocolError` when the peer does what it may not; what was complete before has been appended.
   */
  feed(chunk: Buffer, inbox: Inbox): void {
    const start = this.#greeting.isComplete ? 0 : this.#greeting.feed(chunk, 0)
    if (start === chunk.length) return
    this.#commands = inbox.commands
    this.#parser.feed(chunk, start, inbox.messages)
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
    if (type === undefined) throw new ProtocolError('the peer did not tell its socket type')
    if (!isCompatible(this.#local.type, type)) {
      throw new ProtocolError(`a ${this.#local.type} cannot talk to a ${JSON.stringify(type)}`)
    }
    const own = properties.get('identity') ?? ''
    if (own.length > MAX_IDENTITY_BYTES) {
      throw new ProtocolError(`an identity of ${own.length} bytes; at most 255 may be`)
    }
    this.#peer = { identity: identity(own), minor: this.#greeting.minor }
    this.#parser.allowMessages()
  }
}

function nameOf(command: Command): string {
  return command.kind === 'unknown' ? JSON.stringify(command.name) : command.kind.toUpperCase()
}

// The first 64 bytes of a ZMTP connection, sent by both sides before anything else
// (docs/protocol.md#zmtp): signature, version, mechanism.

import { ProtocolError } from '../../base/errors.js'

/** The length of a greeting. */
export const GREETING_BYTES = 64

/** The length that older peers give for their identity in the signature: readers ignore it. */
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

/** Whether bytes are the beginning of another protocol: somebody has mistaken the port. */
export function isKnownProtocol(bytes: Uint8Array): boolean {
  return protocolOf(bytes) !== undefined
}

/** Of those whose clients speak first. */
function protocolOf(bytes: Uint8Array): string | undefined {
  const [first, second] = bytes
  if (first === 0x16 && second === 3) return 'TLS'
  const text = Buffer.from(bytes.subarray(0, GREETING_BYTES)).toString('latin1')
  if (/^(?:GET|HEAD|POST|PUT|DELETE|OPTIONS|PATCH|CONNECT|PRI) /.test(text)) return 'HTTP'
  return text.startsWith('SSH-') ? 'SSH' : undefined
}

/** Reads a peer's greeting, in pieces of any size, and refuses it at the first wrong byte. */
export class GreetingReader {
  readonly #bytes = Buffer.alloc(GREETING_BYTES)
  #length = 0
  #isComplete = false

  /** Whether all of the greeting has been read, and is right. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** The ZMTP version 3 minor that both sides speak: 0, or 1 with a 3.1 or any later peer. */
  get minor(): 0 | 1 {
    return this.#bytes[MAJOR] === 3 && this.#bytes[MINOR] === 0 ? 0 : 1
  }

  /**
   * Takes what belongs to the greeting from `chunk`, starting at `start`, and returns where the
   * rest begins. Throws `ProtocolError` if the peer speaks something else.
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
    if (length > 0 && bytes[0] !== 0xff) {
      const name = protocolOf(bytes.subarray(0, length))
      const guess = name === undefined ? '' : `; it speaks ${name}`
      throw new ProtocolError(`not a ZeroMQ peer: wrong signature${guess}`)
    }
    if (length > SIGNATURE_END && bytes[SIGNATURE_END] !== 0x7f) {
      throw new ProtocolError('not a ZeroMQ peer: wrong signature')
    }
    const major = bytes[MAJOR] as number
    if (length > MAJOR && major < 3) {
      throw new ProtocolError(`the peer speaks ZMTP ${major}; 3.0 or later is needed`)
    }
    if (length >= MECHANISM + MECHANISM_BYTES) this.#checkMechanism()
  }

  #checkMechanism(): void {
    const field = this.#bytes.toString('latin1', MECHANISM, MECHANISM + MECHANISM_BYTES)
    const name = field.replace(/\0+$/, '')
    if (name === 'NULL') return
    throw new ProtocolError(
      `the peer asks for mechanism ${JSON.stringify(name)}; only NULL is spoken`,
    )
  }
}

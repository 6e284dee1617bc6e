// Which protocol it may be that somebody speaks who is no ZeroMQ peer, by the first bytes: the
// commonest mistake is a wrong port, and a name helps to see whose port it is.

/** What a peer that is not ZeroMQ seems to speak, and what of its bytes can be shown. */
export interface Guess {
  readonly protocol: string | undefined
  /** In quotes, or as hex digits where it is no text. */
  readonly excerpt: string
}

const MAX_TEXT = 40
const MAX_BYTES = 16

/** How servers begin to speak, or what they answer to what they do not understand. */
const BEGINNINGS: readonly (readonly [RegExp, string])[] = [
  [/^HTTP\//, 'HTTP'],
  [/^SSH-/, 'SSH'],
  [/^(?:-ERR|\+OK|-DENIED|-NOAUTH)/, 'Redis or a mail server'],
  [/^AMQP/, 'AMQP'],
  [/^220[ -]/, 'a mail or file server'],
  [/^\* OK/, 'a mail server'],
  [/^INFO \{/, 'NATS'],
]

/** Looks at the first bytes that came. */
export function guessProtocol(bytes: Uint8Array): Guess {
  const text = Buffer.from(bytes).toString('latin1')
  const found = BEGINNINGS.find(([beginning]) => beginning.test(text))
  return { protocol: found?.[1] ?? guessBinary(bytes), excerpt: excerptOf(bytes, text) }
}

/** A record of TLS (alert or handshake, version 3.x), the greeting of MySQL (version 10). */
function guessBinary([first, second, , fourth, fifth]: Uint8Array): string | undefined {
  if ((first === 0x15 || first === 0x16) && second === 3) return 'TLS'
  return fourth === 0 && fifth === 10 ? 'MySQL' : undefined
}

function excerptOf(bytes: Uint8Array, text: string): string {
  const line = /^[\x20-\x7e]+/.exec(text)?.[0] ?? ''
  if (line.length >= Math.min(4, text.length)) {
    const isCut = line.length > MAX_TEXT
    return JSON.stringify(isCut ? `${line.slice(0, MAX_TEXT)}…` : line)
  }
  const hex = Buffer.from(bytes.subarray(0, MAX_BYTES)).toString('hex')
  return `the bytes ${hex.replaceAll(/..(?!$)/g, '$& ')}${bytes.length > MAX_BYTES ? ' …' : ''}`
}

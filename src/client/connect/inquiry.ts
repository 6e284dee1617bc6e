// Finds out what is at an address, as a pure machine: what the system and the peer have said goes
// in; bytes to write and the finding come out. The transport's own session is not used because it
// only tells good from bad, and here every kind of bad is told apart.

import { ProtocolError } from '../../base/errors.js'
import type { Identity } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { Address } from '../../transport/address.js'
import type { IncomingMessage } from '../../transport/options.js'
import { encodeReady, parseCommand } from '../../transport/zmtp/commands.js'
import { FrameParser, headerBytes, writeHeader } from '../../transport/zmtp/frame.js'
import { encodeGreeting, GREETING_BYTES } from '../../transport/zmtp/session.js'
import {
  type ClientHeartbeat,
  type ClientHeartbeatEcho,
  decode,
  encode,
  type Message,
  type SchedulerReport,
} from '../../wire/message.js'
import type { ConnectFinding, TimedReport } from './finding.js'

// Which protocol it may be that somebody speaks who is no ZeroMQ peer, by the first bytes: the
// commonest mistake is a wrong port, and a name helps to see whose port it is.

/** What a peer that is not ZeroMQ seems to speak, and what of its bytes can be shown. */
interface Guess {
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

/** What has happened. */
export type InquiryEvent =
  /** One of the addresses of the name is tried. */
  | { readonly type: 'attempted'; readonly remote: string }
  | { readonly type: 'connected'; readonly remote: string }
  /** `code` as the system's, `ECONNREFUSED`. */
  | { readonly type: 'failed'; readonly code: string; readonly reason: string }
  | { readonly type: 'received'; readonly bytes: Buffer }
  | { readonly type: 'ended' }
  /** The time is over. */
  | { readonly type: 'expired' }

/** What to carry out. `conclude` is the last one. */
export type InquiryAction =
  | { readonly type: 'write'; readonly bytes: Buffer }
  | { readonly type: 'conclude'; readonly finding: ConnectFinding }

/** What is asked. */
interface InquirySetup {
  readonly address: Address
  /** As whom. */
  readonly identity: Identity
  /** So many heartbeats are sent to a scheduler; 0 = only the handshake is looked at. */
  readonly heartbeats: number
  /** What is sent as one. */
  readonly heartbeat: ClientHeartbeat
  /** Whether the last one asks for workers and clients. */
  readonly wantsPeers: boolean
}

const MECHANISM_AT = 12
const MECHANISM_END = 32
const SIGNATURE_END = 9
const MAJOR = 10
/** Far more than the handshake and echoes take, */
const LIMITS = { maxFrameBytes: 65_536, maxFramesPerMessage: 8 }
/** and than a thousand workers and clients take. */
const PEERS_LIMITS = { ...LIMITS, maxFrameBytes: 67_108_864 }
const NOT_FOUND = new Set(['ENOTFOUND', 'ENODATA', 'EAI_NONAME', 'EAI_NODATA'])

/** One attempt to talk to whoever is there. */
export class ConnectInquiry {
  readonly #setup: InquirySetup
  readonly #parser: FrameParser
  readonly #tried: string[] = []
  readonly #greeting: Buffer[] = []
  readonly #roundTripsMs: number[] = []
  #act: (action: InquiryAction) => void = () => {}
  #now: InstantMs = 0
  #remote: string | undefined
  #isGreeted = false
  #isRouter = false
  #askedAt: InstantMs = 0
  #echo: ClientHeartbeatEcho | undefined
  #report: TimedReport | undefined
  #last: SchedulerReport | undefined
  #conclusion: ConnectFinding | undefined

  constructor(setup: InquirySetup) {
    this.#setup = setup
    this.#parser = new FrameParser(setup.wantsPeers ? PEERS_LIMITS : LIMITS, (body) =>
      this.#onCommand(body),
    )
  }

  /** What is known so far, as if nothing more came. */
  get finding(): ConnectFinding {
    if (this.#conclusion !== undefined) return this.#conclusion
    const remote = this.#remote
    if (remote === undefined) return { kind: 'noAnswer', remote: this.#place }
    if (this.#echo !== undefined) return this.#scheduler(remote, this.#echo)
    if (this.#isRouter) return { kind: 'router', remote, wasAsked: this.#setup.heartbeats > 0 }
    return { kind: this.#greeting.length > 0 ? 'halfHandshake' : 'silent', remote }
  }

  /** Takes what has happened. After `conclude` nothing has an effect. */
  handle(event: InquiryEvent, now: InstantMs, act: (action: InquiryAction) => void): void {
    if (this.#conclusion !== undefined) return
    this.#act = act
    this.#now = now
    switch (event.type) {
      case 'attempted':
        this.#tried.push(event.remote)
        return
      case 'connected':
        this.#remote = event.remote
        return act({ type: 'write', bytes: encodeGreeting() })
      case 'failed':
        return this.#onFailed(event.code, event.reason)
      case 'received':
        return this.#onReceived(event.bytes)
      case 'ended':
        return this.#onEnded('')
      case 'expired':
        return this.#conclude(this.finding)
    }
  }

  /** Where it is tried, for people. */
  get #place(): string {
    if (this.#tried.length > 0) return this.#tried.join(', ')
    const { address } = this.#setup
    return address.kind === 'ipc' ? address.path : `${address.host} port ${address.port}`
  }

  #onFailed(code: string, reason: string): void {
    if (this.#remote !== undefined) return this.#onEnded(code)
    const { address } = this.#setup
    const path = address.kind === 'ipc' ? address.path : undefined
    const host = address.kind === 'tcp' ? address.host : ''
    if (NOT_FOUND.has(code)) {
      return this.#conclude({ kind: 'nameNotFound', host, isTemporary: false })
    }
    if (code === 'EAI_AGAIN') {
      return this.#conclude({ kind: 'nameNotFound', host, isTemporary: true })
    }
    if (code === 'ECONNREFUSED') return this.#conclude({ kind: 'refused', remote: this.#place })
    if (code === 'ENOENT' && path !== undefined) {
      return this.#conclude({ kind: 'noSocketFile', path })
    }
    if ((code === 'EACCES' || code === 'EPERM') && path !== undefined) {
      return this.#conclude({ kind: 'noPermission', path })
    }
    if (code === 'ETIMEDOUT') return this.#conclude({ kind: 'noAnswer', remote: this.#place })
    this.#conclude({ kind: 'unreachable', reason })
  }

  #onEnded(reason: string): void {
    const { finding } = this
    const isMute = finding.kind === 'silent' || finding.kind === 'halfHandshake'
    if (isMute) this.#conclude({ kind: 'closed', remote: finding.remote, reason })
    else this.#conclude(finding)
  }

  #onReceived(bytes: Buffer): void {
    try {
      const rest = this.#isGreeted ? bytes : this.#onGreeting(bytes)
      if (rest.length === 0 || this.#conclusion !== undefined) return
      const messages: IncomingMessage[] = []
      this.#parser.feed(rest, 0, messages)
      for (const message of messages) {
        if (this.#conclusion === undefined) this.#onMessage(message)
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      const { message: reason } = error
      this.#conclude({ kind: this.#isRouter ? 'notScaler' : 'brokenHandshake', reason })
    }
  }

  /** Returns what is behind the greeting. */
  #onGreeting(bytes: Buffer): Buffer {
    this.#greeting.push(bytes)
    const all = Buffer.concat(this.#greeting)
    const finding = judgeGreeting(all)
    if (finding !== undefined) this.#conclude(finding)
    if (finding !== undefined || all.length < GREETING_BYTES) return all.subarray(0, 0)
    this.#isGreeted = true
    const { identity } = this.#setup
    this.#write(encodeReady({ 'Socket-Type': 'DEALER', Identity: identity }))
    return all.subarray(GREETING_BYTES)
  }

  #onCommand(body: Buffer): void {
    const command = parseCommand(body)
    if (command.kind === 'error') {
      const reason = `the peer refuses: ${command.reason}`
      return this.#conclude({ kind: 'brokenHandshake', reason })
    }
    if (command.kind !== 'ready' || this.#isRouter) return
    const socketType = command.properties.get('socket-type') ?? ''
    if (socketType !== 'ROUTER') return this.#conclude(wrongSocket(socketType))
    this.#isRouter = true
    this.#parser.allowMessages()
    if (this.#setup.heartbeats > 0) this.#ask()
    else this.#conclude(this.finding)
  }

  #onMessage(frames: IncomingMessage): void {
    if (!(frames instanceof Uint8Array)) throw new ProtocolError('a message of several frames')
    const message = decode(frames)
    if (message.kind !== 'clientHeartbeatEcho') {
      throw new ProtocolError(`a ${message.kind} message where an echo was due`)
    }
    this.#onEcho(message)
    if (this.#roundTripsMs.length < this.#setup.heartbeats) return this.#ask()
    this.#send({ kind: 'clientDisconnect', disconnectType: 'disconnect' })
    this.#conclude(this.finding)
  }

  #onEcho(echo: ClientHeartbeatEcho): void {
    const roundTripMs = this.#now - this.#askedAt
    const [report] = echo.reports
    this.#echo = echo
    this.#last = report
    this.#roundTripsMs.push(roundTripMs)
    if (report === undefined || roundTripMs >= (this.#report?.roundTripMs ?? Infinity)) return
    this.#report = { report, at: (this.#now + this.#askedAt) / 2, roundTripMs }
  }

  #ask(): void {
    this.#askedAt = this.#now
    const { heartbeat, heartbeats, wantsPeers } = this.#setup
    const isLast = this.#roundTripsMs.length === heartbeats - 1
    this.#send(wantsPeers && isLast ? { ...heartbeat, wantsPeers } : heartbeat)
  }

  #scheduler(remote: string, echo: ClientHeartbeatEcho): ConnectFinding {
    const { schedulerId, features } = echo
    const roundTripsMs = [...this.#roundTripsMs]
    const reports = { report: this.#report, last: this.#last }
    const answer = { remote, schedulerId, features, roundTripsMs, ...reports }
    return { kind: 'scheduler', answer }
  }

  #send(message: Message): void {
    const body = encode(message)
    const frame = Buffer.alloc(headerBytes(body.length) + body.length)
    frame.set(body, writeHeader(frame, 0, body.length, 0))
    this.#write(frame)
  }

  #write(bytes: Buffer): void {
    this.#act({ type: 'write', bytes })
  }

  #conclude(finding: ConnectFinding): void {
    if (this.#conclusion !== undefined) return
    this.#conclusion = finding
    this.#act({ type: 'conclude', finding })
  }
}

/** What is wrong with the part of a greeting that has come; undefined if nothing is yet. */
function judgeGreeting(bytes: Buffer): ConnectFinding | undefined {
  const hasSignature = bytes.length <= SIGNATURE_END || bytes[SIGNATURE_END] === 0x7f
  if (bytes[0] !== 0xff || !hasSignature) return { kind: 'foreign', ...guessProtocol(bytes) }
  const major = bytes[MAJOR]
  if (major !== undefined && major < 3) return { kind: 'oldZmtp', major }
  if (bytes.length < MECHANISM_END) return undefined
  const name = bytes.toString('latin1', MECHANISM_AT, MECHANISM_END).replace(/\0+$/, '')
  return name === 'NULL' ? undefined : { kind: 'mechanism', name: printable(name) }
}

function wrongSocket(socketType: string): ConnectFinding {
  if (socketType === '') return { kind: 'brokenHandshake', reason: 'no socket type was told' }
  return { kind: 'wrongSocket', socketType: printable(socketType) }
}

function printable(text: string): string {
  return /^[\w-]{1,32}$/.test(text) ? text : JSON.stringify(text.slice(0, 32))
}

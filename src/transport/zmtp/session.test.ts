import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProtocolError } from '../../base/errors.js'
import { identity } from '../../base/ids.js'
import { encodeError, encodePing, encodeReady, encodeSubscription } from './commands.js'
import { encodeGreeting, type Inbox, type SocketType, ZmtpSession } from './session.js'

const LIMITS = { maxFrameBytes: 1000, maxFramesPerMessage: 4 }
const GREETING = encodeGreeting()

function start(type: SocketType): { readonly session: ZmtpSession; readonly inbox: Inbox } {
  const session = new ZmtpSession({ type, identity: identity('own') }, LIMITS)
  return { session, inbox: { messages: [], commands: [] } }
}

function ready(type: string, own = ''): Buffer {
  return encodeReady({ 'Socket-Type': type, Identity: own })
}

test('handshake and traffic, however cut', () => {
  const bytes = Buffer.concat([
    GREETING,
    ready('DEALER', 'me'),
    Buffer.from('0001610101620000', 'hex'),
    encodePing(500),
    Buffer.from('000163', 'hex'),
  ])
  for (const size of [1, 2, 3, 63, 64, 65, bytes.length]) {
    const { session, inbox } = start('ROUTER')
    for (let at = 0; at < bytes.length; at += size)
      session.feed(bytes.subarray(at, at + size), inbox)
    assert.deepEqual(session.peer, { identity: 'me', minor: 1 })
    assert.equal(session.isInsideMessage, false)
    const shown = inbox.messages.map((each) =>
      each instanceof Uint8Array ? `${each}` : each.join('+'),
    )
    assert.deepEqual(shown, ['a', 'b+', 'c'])
    assert.deepEqual(inbox.commands, [{ kind: 'ping', ttlMs: 500, context: Buffer.alloc(0) }])
  }
})

test('we send our socket type, and an identity where the type has one', () => {
  const text = (type: SocketType): string => start(type).session.ready.toString('latin1')
  assert.match(text('ROUTER'), /READY\x0bSocket-Type\0\0\0\x06ROUTER\x08Identity\0\0\0\x03own$/)
  assert.match(text('DEALER'), /DEALER\x08Identity\0\0\0\x03own$/)
  assert.match(text('PUB'), /Socket-Type\0\0\0\x03PUB$/)
  assert.match(text('SUB'), /Socket-Type\0\0\0\x03SUB$/)
})

test('a publisher tells where its scheduler is, also to a peer that it cannot talk to', () => {
  const local = { type: 'PUB', identity: identity(''), scheduler: 'tcp://0.0.0.0:7' } as const
  const publisher = new ZmtpSession(local, LIMITS)
  assert.match(
    publisher.ready.toString('latin1'),
    /X-Scaler-Address\0\0\0\x0ftcp:\/\/0\.0\.0\.0:7$/,
  )
  for (const type of ['SUB', 'DEALER'] as const) {
    const { session, inbox } = start(type)
    const feed = (): void => session.feed(Buffer.concat([GREETING, publisher.ready]), inbox)
    if (type === 'SUB') feed()
    else assert.throws(feed, { kind: 'wrongSocket' })
    assert.equal(session.peerScheduler, 'tcp://0.0.0.0:7')
  }
})

test('a 3.0 peer is recognized', () => {
  const { session, inbox } = start('PUB')
  const greeting = Buffer.from(GREETING)
  greeting[11] = 0
  session.feed(Buffer.concat([greeting, encodeReady({ 'socket-type': 'SUB' })]), inbox)
  assert.deepEqual(session.peer, { identity: '', minor: 0 })
})

const pairs: readonly (readonly [own: SocketType, peers: readonly string[]])[] = [
  ['ROUTER', ['DEALER', 'REQ', 'ROUTER']],
  ['DEALER', ['ROUTER', 'DEALER', 'REP']],
  ['PUB', ['SUB', 'XSUB']],
  ['SUB', ['PUB', 'XPUB']],
]
const ALL = [
  'ROUTER',
  'DEALER',
  'REQ',
  'REP',
  'PUB',
  'SUB',
  'XPUB',
  'XSUB',
  'PAIR',
  'PUSH',
  'PULL',
  'router',
  '',
]

for (const [own, peers] of pairs) {
  test(`a ${own} talks to ${peers.join(', ')} and to no other type`, () => {
    for (const peer of ALL) {
      const { session, inbox } = start(own)
      const feed = (): void => session.feed(Buffer.concat([GREETING, ready(peer)]), inbox)
      if (peers.includes(peer)) {
        feed()
        assert(session.peer !== undefined)
      } else {
        assert.throws(feed, (error: unknown) => {
          const why = `a ${own} cannot talk to a "${peer}"`
          return error instanceof ProtocolError && error.message === why
        })
        assert.equal(session.peer, undefined)
      }
    }
  })
}

test('identities of 0, 1 and 255 bytes of any value are accepted, longer ones refused', () => {
  for (const own of ['', '\0', 'ÿ'.repeat(255)]) {
    const { session, inbox } = start('ROUTER')
    session.feed(Buffer.concat([GREETING, ready('DEALER', own)]), inbox)
    assert.equal(session.peer?.identity, own)
  }
  const { session, inbox } = start('ROUTER')
  const bytes = Buffer.concat([GREETING, ready('DEALER', 'x'.repeat(256))])
  assert.throws(() => session.feed(bytes, inbox), /an identity of 256 bytes; at most 255/)
})

test('before READY, neither messages nor other commands are accepted', () => {
  for (const [bytes, why] of [
    [Buffer.from('000161', 'hex'), /a message before READY/],
    [encodePing(0), /a PING command before READY/],
    [encodeSubscription(true, '', 1), /a SUBSCRIBE command before READY/],
    [Buffer.from('0404034142430a', 'hex'), /a "ABC" command before READY/],
    [encodeReady({}), /did not send its socket type/],
  ] as const) {
    const { session, inbox } = start('ROUTER')
    assert.throws(() => session.feed(Buffer.concat([GREETING, bytes]), inbox), why)
  }
})

test('an ERROR is a refusal, before and after READY', () => {
  const early = start('DEALER')
  early.session.feed(Buffer.concat([GREETING, encodeError('not you')]), early.inbox)
  assert.equal(early.session.refusal, 'not you')
  assert.equal(early.session.peer, undefined)
  const late = start('DEALER')
  late.session.feed(Buffer.concat([GREETING, ready('ROUTER'), encodeError('full')]), late.inbox)
  assert.equal(late.session.refusal, 'full')
  assert.deepEqual(late.inbox.commands, [])
})

test('messages complete before a violation are kept', () => {
  const { session, inbox } = start('ROUTER')
  const bytes = Buffer.concat([GREETING, ready('DEALER'), Buffer.from('000161ff00', 'hex')])
  assert.throws(() => session.feed(bytes, inbox), ProtocolError)
  assert.deepEqual(inbox.messages.map(String), ['a'])
})

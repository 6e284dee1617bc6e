// Peers that break the rules, or speak another protocol: each loses its connection with a reason,
// and the router continues to serve a good peer each time.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { RouterOptions } from '#src/transport/options.js'
import {
  greeting,
  rawConnect,
  rawListen,
  ready,
  short,
  startDealer,
  startRouter,
  textsOf,
  told,
  type TestDealer,
  type TestRouter,
} from './transport-harness.js'

const HANDSHAKE = Buffer.concat([greeting(), ready('DEALER', 'bad')])

interface Stage extends TestRouter {
  readonly good: TestDealer
}

/** A router with a good peer. */
async function stage(t: TestContext, options: Partial<RouterOptions> = {}): Promise<Stage> {
  const router = await startRouter(t, options)
  const good = startDealer(t, router.router.address, 'good')
  await told(router.log, 'connect')
  return { ...router, good }
}

/** The good peer is still served, on its first connection. */
async function assertServed({ good }: Stage): Promise<void> {
  const before = textsOf(good.log).length
  good.dealer.send(Buffer.from('echo'))
  await told(good.log, 'message', before + 1)
  assert.equal(
    good.log.count(({ kind }) => kind === 'connect'),
    1,
  )
}

function withBytes(bytes: Buffer, changes: Readonly<Record<number, number>>): Buffer {
  const changed = Buffer.from(bytes)
  for (const [offset, byte] of Object.entries(changes)) changed[Number(offset)] = byte
  return changed
}

function otherMechanism(): Buffer {
  const bytes = greeting()
  bytes.write('CURVE', 12)
  return bytes
}

const longIdentity = Buffer.concat([
  greeting(),
  Buffer.from('\x06\0\0\0\0\0\0\x01\x29\x05READY\x0bSocket-Type\0\0\0\x06DEALER', 'latin1'),
  Buffer.from('\x08Identity\0\0\x01\0', 'latin1'),
  Buffer.alloc(256, 'i'),
])

/** Refused before they are peers. */
const strangers: readonly (readonly [name: string, bytes: Buffer, why: RegExp])[] = [
  ['an HTTP client', Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), /wrong signature/],
  ['a TLS client', Buffer.from('16030100c8010000c40303', 'hex'), /wrong signature/],
  ['zeros', Buffer.alloc(1000), /wrong signature/],
  ['0xff for ever', Buffer.alloc(1000, 0xff), /wrong signature/],
  ['a ZMTP 2 peer', withBytes(greeting(), { 10: 1 }), /speaks ZMTP 1/],
  ['another mechanism', otherMechanism(), /mechanism "CURVE"/],
  ['a message instead of READY', Buffer.concat([greeting(), short('hello')]), /before READY/],
  ['a socket type that does not fit', Buffer.concat([greeting(), ready('PUSH')]), /"PUSH"/],
  ['an empty socket type', Buffer.concat([greeting(), ready('')]), /cannot talk to a ""/],
  ['an identity of 256 bytes', longIdentity, /identity of 256 bytes/],
  ['a malformed READY', withBytes(HANDSHAKE, { 72: 200 }), /malformed READY/],
  [
    'an endless READY',
    Buffer.concat([greeting(), Buffer.from('06ffffffffffffffff', 'hex')]),
    /a command of/,
  ],
  [
    'an ERROR',
    Buffer.concat([greeting(), Buffer.from('\x04\x09\x05ERROR\x02no')]),
    /peer refused: no/,
  ],
  ['nothing at all', Buffer.alloc(0), /closed the connection during the handshake/],
  ['half a greeting', greeting().subarray(0, 30), /closed the connection during the handshake/],
]

for (const [name, bytes, why] of strangers) {
  test(`refused with a reason: ${name}`, async (t) => {
    const scene = await stage(t)
    const peer = rawConnect(t, scene.router.address)
    peer.socket.end(bytes)
    await peer.closed()
    await told(scene.log, 'refused')
    assert.match(textsOf(scene.log, 'refused')[0] ?? '', why)
    await assertServed(scene)
  })
}

/** Refused when they are peers. */
const traitors: readonly (readonly [name: string, bytes: Buffer, why: RegExp])[] = [
  ['reserved flags', Buffer.from('4000', 'hex'), /wrong frame flags 0x40/],
  ['a command with more frames', Buffer.from('050141', 'hex'), /wrong frame flags 0x5/],
  [
    'a frame over the limit',
    Buffer.from('020000000000100001', 'hex'),
    /1048577 bytes; at most 1048576/,
  ],
  [
    'a frame of 2^63 bytes',
    Buffer.from('028000000000000000', 'hex'),
    /bytes; at most 1048576 are allowed/,
  ],
  ['endless frames of one message', Buffer.from('010161'.repeat(20), 'hex'), /more than 8 frames/],
  ['a long command', Buffer.from('060000000000010001', 'hex'), /a command of 65537 bytes/],
  ['an empty command', Buffer.from('0400', 'hex'), /malformed command/],
  ['a PING that is too short', Buffer.from('04060450494e4700', 'hex'), /malformed PING/],
]

for (const [name, bytes, why] of traitors) {
  test(`disconnected with a reason, which it receives: ${name}`, async (t) => {
    const scene = await stage(t, { maxFrameBytes: 1024 ** 2 })
    const peer = rawConnect(t, scene.router.address)
    peer.socket.write(Buffer.concat([HANDSHAKE, short('before'), bytes]))
    await peer.closed()
    await told(scene.log, 'disconnect')
    const [reason = ''] = textsOf(scene.log, 'disconnect')
    assert.match(reason, why)
    assert.deepEqual(textsOf(scene.log), ['before'])
    assert.match(peer.received.toString('latin1'), /\x05ERROR/)
    assert(peer.received.toString('latin1').endsWith(reason))
    await assertServed(scene)
  })
}

test('a valid conversation cut off at every byte', async (t) => {
  const scene = await stage(t)
  const long = Buffer.concat([Buffer.from('02000000000000012c', 'hex'), Buffer.alloc(300)])
  const multipart = Buffer.from('01016100016200', 'hex').subarray(0, 6)
  const whole = Buffer.concat([HANDSHAKE, short('one'), multipart, long])
  for (let length = 0; length < whole.length; length += 1) {
    const peer = rawConnect(t, scene.router.address)
    peer.socket.end(whole.subarray(0, length))
    await peer.closed()
  }
  const isPeer = (length: number): boolean => length >= HANDSHAKE.length
  const lengths = Array.from({ length: whole.length }, (_, length) => length)
  await told(scene.log, 'refused', lengths.filter((length) => !isPeer(length)).length)
  await told(scene.log, 'disconnect', lengths.filter(isPeer).length)
  const between = [0, 5, 11].map((more) => HANDSHAKE.length + more)
  assert.equal(
    textsOf(scene.log, 'disconnect').filter((reason) => reason === '').length,
    between.length,
    'only those that ended between messages were in good order',
  )
  await assertServed(scene)
})

test('a valid conversation one byte at a time', async (t) => {
  const scene = await stage(t)
  const peer = rawConnect(t, scene.router.address)
  peer.socket.setNoDelay(true)
  for (const byte of Buffer.concat([HANDSHAKE, short('slow'), short('bytes')])) {
    peer.socket.write(Buffer.from([byte]))
    await new Promise(setImmediate)
  }
  await told(scene.log, 'message', 2)
  assert.deepEqual(textsOf(scene.log), ['slow', 'bytes'])
  await assertServed(scene)
})

for (const [name, bytes] of [
  ['never begun', Buffer.alloc(0)],
  ['stopped in the greeting', greeting().subarray(0, 40)],
  ['stopped before READY', greeting()],
  ['stopped inside READY', HANDSHAKE.subarray(0, -1)],
] as const) {
  test(`a handshake that is ${name} ends at its time limit`, async (t) => {
    const { router, log } = await startRouter(t, { handshakeTimeoutMs: 40 })
    const peer = rawConnect(t, router.address)
    peer.socket.write(bytes)
    await peer.closed()
    await told(log, 'refused')
    assert.deepEqual(textsOf(log, 'refused'), ['no ZeroMQ handshake within 40 ms'])
  })
}

test('a peer that ends its side is disconnected, even while more is being sent to it', async (t) => {
  const scene = await stage(t)
  const peer = rawConnect(t, scene.router.address)
  peer.socket.end(Buffer.concat([HANDSHAKE, short('echo')]))
  await peer.closed()
  await told(scene.log, 'disconnect')
  assert.deepEqual(textsOf(scene.log, 'disconnect'), [''])
  await assertServed(scene)
})

test('a peer that resets its connection is disconnected with that reason', async (t) => {
  const scene = await stage(t)
  const peer = rawConnect(t, scene.router.address)
  peer.socket.write(HANDSHAKE)
  await told(scene.log, 'connect', 2)
  peer.socket.resetAndDestroy()
  await told(scene.log, 'disconnect')
  assert.match(textsOf(scene.log, 'disconnect')[0] ?? '', /ECONNRESET/)
  await assertServed(scene)
})

test('a flood of PINGs from a peer that does not read is not answered without bound', async (t) => {
  const scene = await stage(t)
  const peer = rawConnect(t, scene.router.address)
  peer.socket.write(HANDSHAKE)
  await told(scene.log, 'connect', 2)
  peer.socket.pause()
  const pings = Buffer.from('\x04\x17\x04PING\0\0' + 'c'.repeat(16), 'latin1')
  const flood = Buffer.concat(Array.from({ length: 40_000 }, () => pings))
  for (let count = 0; count < 10; count += 1) peer.socket.write(flood)
  peer.socket.write(short('after the flood'))
  await told(scene.log, 'message')
  const [{ peer: bad = '' } = {}] = scene.log.events.filter(({ kind }) => kind === 'message')
  assert.equal(bad, 'bad')
  assert(scene.router.queuedBytes(bad as never) < 5 * 1024 ** 2)
  await assertServed(scene)
})

test('1000 connections of garbage at once', async (t) => {
  const scene = await stage(t)
  const peers = Array.from({ length: 1000 }, (_, index) => {
    const peer = rawConnect(t, scene.router.address)
    const garbage = Buffer.from(Array.from({ length: 100 }, (_, at) => (index * 31 + at * 7) % 251))
    const prefix = index % 2 === 0 ? Buffer.alloc(0) : HANDSHAKE.subarray(0, index % 111)
    peer.socket.end(Buffer.concat([prefix, garbage]))
    return peer
  })
  for (const peer of peers) await peer.closed()
  await scene.log.until('all are gone', (events) => {
    const gone = events.filter(({ kind }) => kind === 'refused' || kind === 'disconnect')
    return gone.length === 1000
  })
  await assertServed(scene)
})

test('a dealer survives a server of another protocol, reports why, and keeps trying', async (t) => {
  const answers = [
    Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'),
    greeting().subarray(0, 10),
    Buffer.concat([greeting(), ready('PUB')]),
    Buffer.concat([greeting(), Buffer.from('\x04\x0b\x05ERROR\x04full')]),
  ]
  let count = 0
  const { address } = await rawListen(t, ({ socket }) => {
    const answer = answers[count]
    count += 1
    if (answer !== undefined) socket.end(answer)
    else socket.write(Buffer.concat([greeting(), ready('ROUTER'), short('at last')]))
  })
  const { log } = startDealer(t, address, 'd')
  await told(log, 'message')
  const [first = '', second = '', third = '', fourth = ''] = textsOf(log, 'failed')
  assert.match(first, /not a ZeroMQ peer/)
  assert.match(second, /closed the connection during the handshake/)
  assert.match(third, /a DEALER cannot talk to a "PUB"/)
  assert.equal(fourth, 'the peer refused: full')
  assert.deepEqual(textsOf(log), ['at last'])
})

test('a dealer gives up an attempt without an answer', async (t) => {
  const { address } = await rawListen(t, () => {})
  const { log } = startDealer(t, address, 'd', { handshakeTimeoutMs: 30 })
  await told(log, 'failed', 2)
  assert.equal(textsOf(log, 'failed')[0], 'no ZeroMQ handshake within 30 ms')
})

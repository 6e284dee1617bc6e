// PING and PONG, ours and the peer's.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { until } from './condition.js'
import {
  greeting,
  rawConnect,
  rawListen,
  ready,
  startDealer,
  startRouter,
  textsOf,
  told,
  type RawPeer,
} from './transport-harness.js'

const DEALER = ready('DEALER', 'd')

/** More than the operating system buffers. */
const UPLOAD_BYTES = 32 * 1024 ** 2

/** The number of PINGs in the received bytes. */
function questionsIn(received: Buffer): number {
  return received.toString('latin1').split('PING').length - 1
}

/** A PING with a time to live in tenths of a second. */
function ping(ttl: number, context = ''): Buffer {
  const body = `\x04PING\0${String.fromCharCode(ttl)}${context}`
  return Buffer.from(`\x04${String.fromCharCode(body.length)}${body}`, 'latin1')
}

test('a PING is answered by a PONG with its context', async (t) => {
  const { router } = await startRouter(t)
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), DEALER, ping(0, 'context of 16 by'), ping(0)]))
  const expected = Buffer.from('\x04\x15\x04PONGcontext of 16 by\x04\x05\x04PONG', 'latin1')
  await peer.until('both PONGs have come', (received) => received.indexOf(expected) > 64)
})

test('a silent peer is pinged at the interval, without a time to live', async (t) => {
  const { router } = await startRouter(t, { pingIntervalMs: 20, pingTimeoutMs: 5000 })
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), DEALER]))
  const asked = Buffer.from('\x04\x07\x04PING\0\0\x04\x07\x04PING\0\0', 'latin1')
  await peer.until('two PINGs have come', (received) => received.includes(asked))
})

test('a peer that does not answer loses its connection', async (t) => {
  const { router, log } = await startRouter(t, { pingIntervalMs: 20, pingTimeoutMs: 50 })
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), DEALER]))
  await told(log, 'disconnect')
  assert.deepEqual(textsOf(log, 'disconnect'), ['the peer has not answered for 50 ms'])
  await peer.closed()
})

test('peers that answer stay connected, and a 3.0 peer is not pinged', async (t) => {
  const { router, log } = await startRouter(t, { pingIntervalMs: 10, pingTimeoutMs: 5000 })
  const { log: dealerLog } = startDealer(t, router.address, 'ours')
  const old = rawConnect(t, router.address)
  old.socket.write(Buffer.concat([greeting(0), ready('DEALER', 'old')]))
  const young = rawConnect(t, router.address)
  young.socket.write(Buffer.concat([greeting(), ready('DEALER', 'young')]))
  await told(log, 'connect', 3)
  await young.until(
    '20 PINGs have come',
    (received) => received.toString().split('PING').length > 20,
  )
  assert.equal(old.received.includes('PING'), false)
  assert.equal(
    log.count(({ kind }) => kind === 'disconnect'),
    0,
  )
  assert.equal(
    dealerLog.count(({ kind }) => kind === 'disconnect'),
    0,
  )
})

test('a dealer, too, disconnects from a router that does not answer, and reconnects', async (t) => {
  const { address } = await rawListen(t, ({ socket }) => {
    socket.write(Buffer.concat([greeting(), ready('ROUTER')]))
  })
  const { log } = startDealer(t, address, 'd', { pingIntervalMs: 20, pingTimeoutMs: 40 })
  await told(log, 'connect', 2)
  assert.deepEqual(textsOf(log, 'disconnect'), ['the peer has not answered for 40 ms'])
})

test('a router pings a peer that it sends nothing to, and allows it to be silent', async (t) => {
  const { router, log } = await startRouter(t, { pingIntervalMs: 10 })
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), DEALER]))
  await peer.until('it was asked often', (received) => questionsIn(received) >= 9)
  assert.deepEqual(textsOf(log, 'disconnect'), [])
})

test('only one ping waits behind a message that is not sent', async (t) => {
  const peers: RawPeer[] = []
  const { address } = await rawListen(t, (peer) => {
    peers.push(peer)
    peer.socket.write(Buffer.concat([greeting(), ready('ROUTER')]))
  })
  const options = { pingIntervalMs: 5, pingTimeoutMs: 60_000 }
  const { dealer, log } = startDealer(t, address, 'd', options)
  await told(log, 'connect')
  const [peer] = peers
  assert(peer !== undefined)
  peer.socket.pause()
  dealer.send(Buffer.alloc(UPLOAD_BYTES))
  startDealer(t, address, 'other', options)
  await until('it has connected', () => peers.length === 2)
  await peers[1]?.until('as many as are due were asked', (all) => questionsIn(all) >= 20)
  let length = 0
  let rest = Buffer.alloc(0)
  peer.socket.removeAllListeners('data')
  peer.socket.on('data', (chunk) => {
    length += chunk.length
    if (length > UPLOAD_BYTES) rest = Buffer.concat([rest, chunk])
  })
  peer.socket.resume()
  await until('it is asked behind the message', () => questionsIn(rest) > 0)
  assert(questionsIn(rest) < 10, 'not as often as was due')
})

test('a long message that is sent slowly is reported as progress', async (t) => {
  const { router, log } = await startRouter(t)
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), DEALER]))
  await told(log, 'connect')
  peer.socket.pause()
  router.send('d' as never, Buffer.alloc(UPLOAD_BYTES))
  await new Promise(setImmediate)
  assert.equal(
    log.count(({ kind }) => kind === 'progress'),
    0,
    'what the system takes at once says nothing',
  )
  peer.socket.resume()
  await told(log, 'progress')
})

test('a peer that announces a time to live is given up when it is silent for that long', async (t) => {
  const { router, log } = await startRouter(t)
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), DEALER, ping(1)]))
  await told(log, 'disconnect')
  const why = 'the peer was silent for its announced time to live of 100 ms'
  assert.deepEqual(textsOf(log, 'disconnect'), [why])
})

test('a time to live can be withdrawn', async (t) => {
  const { router, log } = await startRouter(t)
  const fickle = rawConnect(t, router.address)
  const steady = rawConnect(t, router.address)
  fickle.socket.write(Buffer.concat([greeting(), ready('DEALER', 'fickle'), ping(1), ping(0)]))
  steady.socket.write(Buffer.concat([greeting(), ready('DEALER', 'steady'), ping(2)]))
  await told(log, 'disconnect')
  assert.equal(log.events.find(({ kind }) => kind === 'disconnect')?.peer, 'steady')
})

// PING and PONG, ours and the peer's.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  greeting,
  rawConnect,
  rawListen,
  ready,
  startDealer,
  startRouter,
  textsOf,
  told,
} from './transport-harness.js'

const DEALER = ready('DEALER', 'd')

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

test('a peer is asked in the interval, with the time-out as time to live', async (t) => {
  const { router } = await startRouter(t, { pingIntervalMs: 20, pingTimeoutMs: 5000 })
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), DEALER]))
  const asked = Buffer.from('\x04\x07\x04PING\0\x32\x04\x07\x04PING\0\x32', 'latin1')
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

test('peers that answer stay, and a 3.0 peer is not asked', async (t) => {
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

test('a dealer, too, leaves a router that does not answer, and comes back', async (t) => {
  const { address } = await rawListen(t, ({ socket }) => {
    socket.write(Buffer.concat([greeting(), ready('ROUTER')]))
  })
  const { log } = startDealer(t, address, 'd', { pingIntervalMs: 20, pingTimeoutMs: 40 })
  await told(log, 'connect', 2)
  assert.deepEqual(textsOf(log, 'disconnect'), ['the peer has not answered for 40 ms'])
})

test('a peer that announces a time to live is given up when it falls silent for so long', async (t) => {
  const { router, log } = await startRouter(t)
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), DEALER, ping(1)]))
  await told(log, 'disconnect')
  const why = 'the peer was silent for the 100 ms that it had announced'
  assert.deepEqual(textsOf(log, 'disconnect'), [why])
})

test('a time to live can be taken back', async (t) => {
  const { router, log } = await startRouter(t)
  const fickle = rawConnect(t, router.address)
  const steady = rawConnect(t, router.address)
  fickle.socket.write(Buffer.concat([greeting(), ready('DEALER', 'fickle'), ping(1), ping(0)]))
  steady.socket.write(Buffer.concat([greeting(), ready('DEALER', 'steady'), ping(2)]))
  await told(log, 'disconnect')
  assert.equal(log.events.find(({ kind }) => kind === 'disconnect')?.peer, 'steady')
})

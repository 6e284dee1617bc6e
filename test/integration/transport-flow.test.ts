// Slow and frozen peers: their queues are bounded and visible, and other peers do not wait.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity } from '#src/base/ids.js'
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
  type RawPeer,
} from './transport-harness.js'

const FROZEN = identity('frozen')
const MIB = 1024 ** 2

/** Far more than the operating system buffers for one connection. */
const FLOOD_MESSAGES = 64

test('send returns false above the high water mark, and onDrain follows', async (t) => {
  const { router, log } = await startRouter(t, { highWaterMarkBytes: MIB })
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), ready('DEALER', FROZEN)]))
  await told(log, 'connect')
  peer.socket.pause()
  let isRoom = true
  let sent = 0
  while (isRoom && sent < FLOOD_MESSAGES) {
    isRoom = router.send(FROZEN, Buffer.alloc(MIB))
    sent += 1
    await new Promise(setImmediate)
  }
  assert.equal(isRoom, false)
  assert(router.queuedBytes(FROZEN) > MIB)
  assert.equal(
    log.count(({ kind }) => kind === 'drain'),
    0,
  )
  peer.socket.resume()
  await told(log, 'drain')
  assert(router.queuedBytes(FROZEN) <= MIB / 2)
  await peer.until('all has come', (received) => received.length > sent * MIB)
  assert.equal(
    log.count(({ kind }) => kind === 'drain'),
    1,
  )
})

test('a frozen peer does not make others wait, and loses its connection at the limit', async (t) => {
  const { router, log } = await startRouter(t, { maxQueuedBytes: 16 * MIB })
  const frozen = rawConnect(t, router.address)
  frozen.socket.write(Buffer.concat([greeting(), ready('DEALER', FROZEN)]))
  await told(log, 'connect')
  frozen.socket.pause()
  const { dealer, log: dealerLog } = startDealer(t, router.address, 'd')
  for (let count = 0; count < FLOOD_MESSAGES; count += 1) {
    router.send(FROZEN, Buffer.alloc(MIB))
    dealer.send(Buffer.from(`echo ${count}`))
    await told(dealerLog, 'message', count + 1)
  }
  await told(log, 'disconnect')
  assert.match(
    textsOf(log, 'disconnect')[0] ?? '',
    /does not read: \d+ bytes are queued \(limit: 16777216\)/,
  )
  assert.equal(router.queuedBytes(FROZEN), 0)
  dealer.send(Buffer.from('echo'))
  await told(dealerLog, 'message', FLOOD_MESSAGES + 1)
})

test('a dealer disconnects from a frozen router at the limit, and keeps messages that it had not started to send', async (t) => {
  const peers: RawPeer[] = []
  const { address } = await rawListen(t, (peer) => {
    peers.push(peer)
    peer.socket.write(Buffer.concat([greeting(), ready('ROUTER')]))
    if (peers.length === 1) peer.socket.once('data', () => peer.socket.pause())
  })
  const { dealer, log } = startDealer(t, address, 'd', { maxQueuedBytes: 16 * MIB })
  await told(log, 'connect')
  let sent = 0
  while (log.count(({ kind }) => kind === 'disconnect') === 0 && sent < FLOOD_MESSAGES) {
    dealer.send(Buffer.alloc(MIB))
    sent += 1
    await new Promise(setImmediate)
  }
  await told(log, 'disconnect')
  assert.match(textsOf(log, 'disconnect')[0] ?? '', /does not read/)
  await told(log, 'connect', 2)
  assert(dealer.queuedBytes > 8 * MIB, `${dealer.queuedBytes}`)
  await peers[1]?.until('the rest has come', (received) => received.length > 8 * MIB)
})

test('with queueWhileDisconnected: false nothing of a lost connection is kept', async (t) => {
  const peers: RawPeer[] = []
  const { address } = await rawListen(t, (peer) => {
    peers.push(peer)
    peer.socket.write(Buffer.concat([greeting(), ready('ROUTER')]))
    if (peers.length === 1) peer.socket.once('data', () => peer.socket.pause())
  })
  const options = { maxQueuedBytes: 16 * MIB, queueWhileDisconnected: false }
  const { dealer, log } = startDealer(t, address, 'd', options)
  await told(log, 'connect')
  let sent = 0
  while (log.count(({ kind }) => kind === 'disconnect') === 0 && sent < FLOOD_MESSAGES) {
    dealer.send(Buffer.alloc(MIB))
    sent += 1
    await new Promise(setImmediate)
  }
  await told(log, 'connect', 2)
  assert.equal(dealer.queuedBytes, 0)
  dealer.send(Buffer.from('fresh'))
  await peers[1]?.until('the message has come', (received) => received.includes('fresh'))
  assert((peers[1]?.received.length ?? 0) < 300)
})

test('after a lost connection no partial message is sent, none twice, and the order is kept', async (t) => {
  const cuts = 4
  const peers: RawPeer[] = []
  const { address } = await rawListen(t, (peer) => {
    const index = peers.push(peer) - 1
    peer.socket.write(Buffer.concat([greeting(), ready('ROUTER')]))
    peer.socket.on('data', () => {
      // Cut in the middle of messages, a little later each time.
      if (index < cuts && peer.received.length > 40_000 + 100_001 * index) peer.socket.destroy()
    })
  })
  const { dealer } = startDealer(t, address, 'd')
  let sent = 0
  while (peers.length <= cuts || (peers[cuts]?.received.length ?? 0) < 200_000) {
    const body = Buffer.alloc(sent % 7 === 0 ? 120_000 : 1000)
    body.writeUInt32BE(sent)
    if (dealer.queuedBytes < 4 * MIB) dealer.send(body)
    sent += 1
    await new Promise(setImmediate)
  }
  const numbers = peers.flatMap((peer) => numbersIn(peer.received))
  assert(numbers.length > 20, `${numbers.length} messages`)
  for (const [index, number] of numbers.entries()) {
    assert(index === 0 || number > (numbers[index - 1] as number), `${number} after its successor`)
  }
})

/** The numbers of the whole messages in what one connection has received. */
function numbersIn(stream: Buffer): number[] {
  const numbers: number[] = []
  let at = 64 + 2 + (stream[65] ?? 0)
  while (at + 9 <= stream.length) {
    assert.equal(stream[at], 2, `no frame begins at byte ${at}`)
    const size = stream.readUInt32BE(at + 5)
    if (at + 9 + size > stream.length) return numbers
    numbers.push(stream.readUInt32BE(at + 9))
    at += 9 + size
  }
  return numbers
}

/** This many messages take an owner of `BUSY_MS` many turns. */
const MANY = 300
const BUSY_MS = 0.5

/** An owner that takes time for each message. */
function busy(): void {
  const end = performance.now() + BUSY_MS
  while (performance.now() < end);
}

const numbered: Buffer = Buffer.concat(
  Array.from({ length: MANY }, (_, index) => short(String(index))),
)

for (const [how, leave, reason] of [
  ['ends', (peer: RawPeer): unknown => peer.socket.end(), /^$/],
  ['is reset', (peer: RawPeer): unknown => peer.socket.resetAndDestroy(), /ECONNRESET/],
] as const) {
  test(`messages read before a connection ${how} are delivered before that event, however long it takes`, async (t) => {
    const { router, log } = await startRouter(t, {}, undefined, busy)
    const peer = rawConnect(t, router.address)
    peer.socket.write(Buffer.concat([greeting(), ready('DEALER', FROZEN)]))
    await told(log, 'connect')
    peer.socket.write(numbered)
    await told(log, 'message')
    leave(peer)
    await told(log, 'disconnect')
    assert.deepEqual(
      textsOf(log),
      Array.from({ length: MANY }, (_, index) => String(index)),
    )
    assert.equal(log.events.at(-1)?.kind, 'disconnect')
    assert.match(textsOf(log, 'disconnect')[0] ?? '', reason)
    assert(log.count(({ kind }) => kind === 'batch') > 1, 'it took more than one turn')
  })
}

test('a peer that sends a lot delays neither other peers nor timers', async (t) => {
  const { router, log } = await startRouter(t, {}, undefined, busy)
  const { dealer, log: dealerLog } = startDealer(t, router.address, 'd')
  await told(dealerLog, 'connect')
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), ready('DEALER', FROZEN)]))
  await told(log, 'connect', 2)
  peer.socket.write(numbered)
  await told(log, 'message')
  const ticked = new Promise<number>((resolve) => {
    setTimeout(() => resolve(textsOf(log).length), 1)
  })
  dealer.send(Buffer.from('echo'))
  await told(dealerLog, 'message')
  assert(textsOf(log).indexOf('echo') < MANY / 2)
  assert((await ticked) < MANY / 2)
  await told(log, 'message', MANY + 1)
})

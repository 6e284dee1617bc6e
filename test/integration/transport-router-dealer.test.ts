import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { ConfigError } from '#src/base/errors.js'
import { identity } from '#src/base/ids.js'
import { DealerSocket, type DealerHandler } from '#src/transport/dealer.js'
import { RouterSocket } from '#src/transport/router.js'
import { until } from './condition.js'
import {
  greeting,
  rawConnect,
  ready,
  short,
  startDealer,
  startRouter,
  tempDir,
  textsOf,
  told,
} from './transport-harness.js'

const SILENT: DealerHandler = {
  onMessages: () => {},
  onConnect: () => {},
  onDisconnect: () => {},
  onDrain: () => {},
  onConnectFailed: () => {},
}

test('messages of all sizes go there and back, in order', async (t) => {
  const { router, log: routerLog } = await startRouter(t)
  const { dealer, log } = startDealer(t, router.address, 'd')
  const sizes = [0, 1, 255, 256, 16_383, 16_384, 70_000, 1_048_576, 3_000_001]
  for (const size of sizes) assert.equal(dealer.send(Buffer.alloc(size, 'x')), true)
  await told(routerLog, 'message', sizes.length)
  for (const size of sizes) router.send(identity('d'), Buffer.alloc(size, 'x'))
  await told(log, 'message', sizes.length)
  const expected = sizes.map((size) => (size > 100 ? `${size} bytes` : 'x'.repeat(size)))
  assert.deepEqual(textsOf(routerLog), expected)
  assert.deepEqual(textsOf(log), expected)
})

test('frames in pieces and messages of several frames arrive intact', async (t) => {
  const { router, log } = await startRouter(t)
  const { dealer } = startDealer(t, router.address, 'd')
  dealer.send([Buffer.from('a'), Buffer.from('b'), Buffer.alloc(0)])
  dealer.sendMultipart([Buffer.from('c'), Buffer.alloc(0), [Buffer.from('d'), Buffer.from('e')]])
  dealer.sendMultipart([Buffer.from('f'), [Buffer.alloc(20_000), Buffer.from('g')]])
  await told(log, 'message', 3)
  assert.deepEqual(textsOf(log), ['ab', 'c||de', 'f|20001 bytes'])
})

test('send writes nothing itself; messages sent in one turn arrive together', async (t) => {
  const { router, log } = await startRouter(t)
  const { dealer, log: dealerLog } = startDealer(t, router.address, 'd')
  await told(dealerLog, 'connect')
  for (let count = 0; count < 100; count += 1) dealer.send(Buffer.from(`${count}`))
  assert.equal(dealer.queuedBytes, 390)
  // A turn that takes long is cut, so they may come in several.
  await until('all are there', () => textsOf(log).length === 100)
  assert.equal(dealer.queuedBytes, 0)
})

test('peers without an identity get one each, of five bytes, beginning with zero', async (t) => {
  const { router, log } = await startRouter(t)
  const dealers = ['', '', ''].map((own) => startDealer(t, router.address, own))
  for (const [index, { dealer }] of dealers.entries()) dealer.send(Buffer.from(`echo ${index}`))
  for (const [index, { log: dealerLog }] of dealers.entries()) {
    await told(dealerLog, 'message')
    assert.deepEqual(textsOf(dealerLog), [`echo ${index}`])
  }
  const peers = log.events.filter(({ kind }) => kind === 'connect').map(({ peer }) => peer ?? '')
  assert.equal(new Set(peers).size, 3)
  for (const peer of peers) assert.match(peer, /^\0[\0-\xff]{4}$/)
})

test('a peer is identified by 255 bytes of any value', async (t) => {
  const { router, log } = await startRouter(t)
  const own = Array.from({ length: 255 }, (_, index) => String.fromCharCode(255 - index)).join('')
  const { dealer, log: dealerLog } = startDealer(t, router.address, own)
  await told(dealerLog, 'connect')
  await told(log, 'connect')
  assert.equal(log.events[0]?.peer, own)
  router.send(identity(own), Buffer.from('hello'))
  await told(dealerLog, 'message')
  assert.equal(dealer.isConnected, true)
})

test('messages to an unknown peer are dropped', async (t) => {
  const { router } = await startRouter(t)
  assert.equal(router.send(identity('nobody'), Buffer.alloc(10)), true)
  assert.equal(router.sendMultipart(identity('nobody'), [Buffer.alloc(10)]), true)
  assert.equal(router.queuedBytes(identity('nobody')), 0)
  router.disconnect(identity('nobody'), 'why')
})

test('a dealer that closes normally is reported as such', async (t) => {
  const { router, log } = await startRouter(t)
  const { dealer } = startDealer(t, router.address, 'd')
  dealer.send(Buffer.from('last words'))
  await dealer.close()
  await told(log, 'disconnect')
  assert.deepEqual(
    log.events.map(({ kind, text }) => `${kind} ${text ?? ''}`),
    ['connect ', 'message last words', 'batch ', 'disconnect '],
  )
})

test('a dealer that reconnects first writes what was sent, and tells why', async (t) => {
  const { router, log } = await startRouter(t)
  const { dealer, log: dealerLog } = startDealer(t, router.address, 'd')
  dealer.reconnect('no connection yet')
  await told(dealerLog, 'connect')
  dealer.send(Buffer.from('last words'))
  dealer.reconnect('why')
  await told(dealerLog, 'connect', 2)
  dealer.send(Buffer.from('echo again'))
  await told(dealerLog, 'message')
  assert.deepEqual(textsOf(log), ['last words', 'echo again'])
  assert.deepEqual(textsOf(dealerLog, 'disconnect'), ['why'])
})

test('messages sent before there is a router wait for it, in order', async (t) => {
  const address = `ipc://${join(tempDir(t), 's')}`
  const { dealer, log: dealerLog } = startDealer(t, address, 'd')
  assert.equal(dealer.isConnected, false)
  for (let count = 0; count < 1000; count += 1) dealer.send(Buffer.from(`${count}`))
  dealer.send(Buffer.alloc(100_000))
  await told(dealerLog, 'failed')
  assert.match(textsOf(dealerLog, 'failed')[0] ?? '', /ENOENT/)
  const { log } = await startRouter(t, {}, address)
  await told(log, 'message', 1001)
  const expected = Array.from({ length: 1000 }, (_, index) => `${index}`)
  assert.deepEqual(textsOf(log), [...expected, '100000 bytes'])
  assert.equal(dealer.isConnected, true)
})

test('queueWhileDisconnected: false drops messages that cannot be sent, and reports it', async (t) => {
  const address = `ipc://${join(tempDir(t), 's')}`
  const options = { queueWhileDisconnected: false }
  const { dealer, log: dealerLog } = startDealer(t, address, 'd', options)
  assert.equal(dealer.send(Buffer.from('lost')), false)
  assert.equal(dealer.sendMultipart([Buffer.from('lost')]), false)
  assert.equal(dealer.queuedBytes, 0)
  const { router, log } = await startRouter(t, {}, address)
  await told(dealerLog, 'connect')
  assert.equal(dealer.send(Buffer.from('kept')), true)
  await told(log, 'message')
  assert.deepEqual(textsOf(log), ['kept'])
  await router.close()
  await told(dealerLog, 'disconnect')
  assert.equal(dealer.send(Buffer.from('lost')), false)
})

test('a queue without a connection is bounded, and reports when there is room again', async (t) => {
  const address = `ipc://${join(tempDir(t), 's')}`
  const options = { highWaterMarkBytes: 1000, maxQueuedBytes: 2000 }
  const { dealer, log: dealerLog } = startDealer(t, address, 'd', options)
  assert.equal(dealer.send(Buffer.alloc(900)), true)
  assert.equal(dealer.send(Buffer.alloc(900)), false)
  assert.equal(dealer.send(Buffer.alloc(900)), false)
  assert.equal(dealer.queuedBytes, 1818)
  const { log } = await startRouter(t, {}, address)
  await told(dealerLog, 'drain')
  await told(log, 'message', 2)
  assert.equal(dealer.send(Buffer.from('end')), true)
  await told(log, 'message', 3)
  assert.deepEqual(textsOf(log), ['900 bytes', '900 bytes', 'end'])
})

test('a dealer reconnects to a restarted router, and messages sent meanwhile arrive', async (t) => {
  const address = `ipc://${join(tempDir(t), 's')}`
  const first = await startRouter(t, {}, address)
  const { dealer, log } = startDealer(t, address, 'd')
  await told(first.log, 'connect')
  await first.router.close()
  await told(log, 'disconnect')
  assert.deepEqual(textsOf(log, 'disconnect'), [''])
  assert.equal(dealer.isConnected, false)
  dealer.send(Buffer.from('one'))
  await told(log, 'failed', 2)
  dealer.send(Buffer.from('two'))
  const second = await startRouter(t, {}, address)
  await told(second.log, 'message', 2)
  assert.deepEqual(textsOf(second.log), ['one', 'two'])
  assert.equal(
    log.count(({ kind }) => kind === 'connect'),
    2,
  )
})

test('handover: a new connection with a known identity takes over', async (t) => {
  const { router, log } = await startRouter(t)
  const old = startDealer(t, router.address, 'd', {
    reconnectMinMs: 60_000,
    reconnectMaxMs: 60_000,
  })
  await told(log, 'connect')
  const young = startDealer(t, router.address, 'd')
  await told(log, 'connect', 2)
  assert.deepEqual(
    log.events.map(({ kind, peer, text }) => `${kind} ${peer} ${text ?? ''}`),
    ['connect d ', 'disconnect d another connection has taken over the identity', 'connect d '],
  )
  await told(old.log, 'disconnect')
  router.send(identity('d'), Buffer.from('for the new one'))
  await told(young.log, 'message')
  assert.deepEqual(textsOf(old.log), [])
  young.dealer.send(Buffer.from('from the new one'))
  await told(log, 'message')
  assert.equal(
    log.count(({ kind }) => kind === 'disconnect'),
    1,
  )
})

test('without handover, a connection with a known identity is refused with a reason', async (t) => {
  const { router, log } = await startRouter(t, { handover: false })
  const old = startDealer(t, router.address, 'd')
  await told(log, 'connect')
  const slow = { reconnectMinMs: 60_000, reconnectMaxMs: 60_000 }
  const young = startDealer(t, router.address, 'd', slow)
  await told(young.log, 'disconnect')
  assert.deepEqual(textsOf(young.log, 'disconnect'), ['the peer refused: the identity is in use'])
  assert.deepEqual(textsOf(log, 'refused'), ['the identity is in use'])
  old.dealer.send(Buffer.from('echo'))
  await told(old.log, 'message')
  await old.dealer.close()
  await told(log, 'disconnect')
  startDealer(t, router.address, 'd')
  await told(log, 'connect', 2)
})

test('disconnect delivers queued messages, then ends the connection, and accepts no more', async (t) => {
  const { router, log } = await startRouter(t)
  const peer = rawConnect(t, router.address)
  peer.socket.write(Buffer.concat([greeting(), ready('DEALER', 'd')]))
  await told(log, 'connect')
  const before = peer.received.length
  router.send(identity('d'), Buffer.from('goodbye'))
  router.disconnect(identity('d'), 'not needed any more')
  router.send(identity('d'), Buffer.from('too late'))
  peer.socket.write(short('too late'))
  await peer.closed()
  await told(log, 'disconnect')
  assert.deepEqual(textsOf(log, 'disconnect'), ['not needed any more'])
  assert.deepEqual(textsOf(log), [])
  const received = peer.received.subarray(-short('goodbye').length)
  assert(received.equals(short('goodbye')), `${before} ${peer.received.toString('latin1')}`)
})

test('an identity may reconnect while its old connection is still closing', async (t) => {
  const { router, log } = await startRouter(t, { lingerMs: 60_000 })
  // It never ends its side.
  const deaf = rawConnect(t, router.address)
  deaf.socket.write(Buffer.concat([greeting(), ready('DEALER', 'd')]))
  await told(log, 'connect')
  deaf.socket.pause()
  router.disconnect(identity('d'), 'deaf')
  startDealer(t, router.address, 'd')
  await told(log, 'connect', 2)
  const shown = log.events.map(({ kind, text }) => `${kind} ${text ?? ''}`)
  assert.deepEqual(shown, ['connect ', 'disconnect deaf', 'connect '])
})

test('progress of a long message is reported, at most once per second', async (t) => {
  const { router, log } = await startRouter(t)
  const peer = rawConnect(t, router.address)
  const header = Buffer.from('020000000000100000', 'hex')
  peer.socket.write(Buffer.concat([greeting(), ready('DEALER', 'd')]))
  await told(log, 'connect')
  peer.socket.write(header)
  await told(log, 'progress')
  for (let count = 0; count < 16; count += 1) peer.socket.write(Buffer.alloc(65_536))
  await told(log, 'message')
  const { length } = log.events.filter(({ kind }) => kind === 'progress')
  assert.equal(length, 1)
})

test('after close nothing is reported, and sending is harmless', async (t) => {
  const { router, log: routerLog } = await startRouter(t)
  const { dealer, log } = startDealer(t, router.address, 'd')
  await told(log, 'connect')
  dealer.send(Buffer.from('echo'))
  const closing = dealer.close()
  const before = log.events.length
  assert.equal(dealer.send(Buffer.from('late')), false)
  assert.equal(dealer.isConnected, false)
  await closing
  await dealer.close()
  assert.equal(log.events.length, before)
  await told(routerLog, 'disconnect')
  const other = startDealer(t, router.address, 'e')
  await told(other.log, 'connect')
  await told(routerLog, 'connect', 2)
  const count = routerLog.events.length
  await Promise.all([router.close(), router.close()])
  assert.equal(router.send(identity('e'), Buffer.from('late')), true)
  await told(other.log, 'disconnect')
  assert.equal(routerLog.events.length, count)
})

test('a dealer that is closed immediately delivers earlier messages, if it can', async (t) => {
  const { router, log } = await startRouter(t)
  const { dealer, log: dealerLog } = startDealer(t, router.address, 'd', { lingerMs: 10_000 })
  dealer.send(Buffer.alloc(2_000_000))
  dealer.send(Buffer.from('last'))
  await dealer.close()
  await told(log, 'disconnect')
  assert.deepEqual(textsOf(log), ['2000000 bytes', 'last'])
  assert.deepEqual(dealerLog.events, [])
})

test('a dealer with nothing to deliver closes immediately, connected or not', async (t) => {
  const address = `ipc://${join(tempDir(t), 's')}`
  const { dealer, log } = startDealer(t, address, 'd', { lingerMs: 1_000_000 })
  await dealer.close()
  assert.deepEqual(log.events, [])
})

test('a dealer that cannot deliver gives up after lingerMs', async (t) => {
  const address = `ipc://${join(tempDir(t), 's')}`
  const { dealer } = startDealer(t, address, 'd', { lingerMs: 30 })
  dealer.send(Buffer.from('nobody will read this'))
  await dealer.close()
  assert.equal(dealer.isConnected, false)
})

test('a router writes queued messages before it closes', async (t) => {
  const { router, log: routerLog } = await startRouter(t, { lingerMs: 10_000 })
  const { log } = startDealer(t, router.address, 'd', {
    reconnectMinMs: 60_000,
    reconnectMaxMs: 60_000,
  })
  await told(routerLog, 'connect')
  for (let count = 0; count < 20; count += 1) router.send(identity('d'), Buffer.alloc(1_000_000))
  await router.close()
  await told(log, 'disconnect')
  assert.equal(textsOf(log).length, 20)
})

test('wrong addresses and options are ConfigErrors', async () => {
  const none = { ...SILENT, onMessages: () => {}, onProgress: () => {} }
  const wrongBind = [
    RouterSocket.bind('tcp://127.0.0.1', none),
    RouterSocket.bind('ws://127.0.0.1:0', none),
    RouterSocket.bind('tcp://127.0.0.1:0', none, { lingerMs: -1 }),
  ]
  for (const promise of wrongBind) await assert.rejects(promise, ConfigError)
  assert.throws(() => new DealerSocket('tcp://*:1', identity('d'), SILENT), ConfigError)
  assert.throws(() => new DealerSocket('tcp://localhost:0', identity('d'), SILENT), ConfigError)
  const long = identity('x'.repeat(256))
  assert.throws(() => new DealerSocket('tcp://localhost:1', long, SILENT), ConfigError)
  const options = { reconnectMinMs: 0 }
  assert.throws(() => new DealerSocket('tcp://h:1', identity('d'), SILENT, options), ConfigError)
})

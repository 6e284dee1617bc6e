import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ConfigError } from '#src/base/errors.js'
import type { ConnectOptions, SocketOptions } from '#src/transport/options.js'
import { PubSocket } from '#src/transport/pub.js'
import { SubSocket } from '#src/transport/sub.js'
import {
  EventLog,
  greeting,
  rawConnect,
  rawListen,
  ready,
  short,
  show,
  tempDir,
  textsOf,
  told,
  type SocketEvent,
} from './transport-harness.js'

interface TestPub {
  readonly pub: PubSocket
  /** The reported counts. */
  readonly counts: EventLog<number>
}

async function startPub(
  t: TestContext,
  options: Partial<SocketOptions> = {},
  address = 'tcp://127.0.0.1:0',
): Promise<TestPub> {
  const counts = new EventLog<number>()
  const pub = await PubSocket.bind(address, (count) => counts.add(count), {
    lingerMs: 200,
    ...options,
  })
  t.after(() => pub.close())
  return { pub, counts }
}

function startSub(
  t: TestContext,
  address: string,
  prefixes: readonly (string | Uint8Array)[],
  options: Partial<ConnectOptions> = {},
): { readonly sub: SubSocket; readonly log: EventLog<SocketEvent> } {
  const log = new EventLog<SocketEvent>()
  const sub = new SubSocket(
    address,
    {
      onMessages: (messages) => {
        for (const message of messages) log.add({ kind: 'message', text: show(message) })
      },
      onConnect: () => log.add({ kind: 'connect' }),
      onDisconnect: (text) => log.add({ kind: 'disconnect', text }),
      onConnectFailed: ({ reason: text }) => log.add({ kind: 'failed', text }),
    },
    { reconnectMinMs: 5, reconnectMaxMs: 50, ...options },
  )
  for (const prefix of prefixes) sub.subscribe(prefix)
  t.after(() => sub.close())
  return { sub, log }
}

function counted(counts: EventLog<number>, count: number): Promise<void> {
  return counts.until(`${count} subscribers were told`, (events) => events.at(-1) === count)
}

test('each subscriber gets messages with its prefixes, once', async (t) => {
  const { pub, counts } = await startPub(t)
  const all = startSub(t, pub.address, [''])
  const some = startSub(t, pub.address, ['a', 'ab', Buffer.from([0xff])])
  const none = startSub(t, pub.address, [])
  await counted(counts, 2)
  await told(none.log, 'connect')
  // Behind these nothing is on its way any more.
  for (const text of ['abc', 'b', 'ab', 'a', '']) pub.publish(Buffer.from(text))
  pub.publish([Buffer.from([0xff]), Buffer.from('x')])
  pub.publishMultipart([Buffer.from('a topic'), Buffer.from('body')])
  pub.publish(Buffer.from('a end'))
  await told(all.log, 'message', 8)
  await told(some.log, 'message', 6)
  const shown = ['abc', 'b', 'ab', 'a', '', '\ufffdx', 'a topic|body', 'a end']
  assert.deepEqual(textsOf(all.log), shown)
  assert.deepEqual(textsOf(some.log), ['abc', 'ab', 'a', '\ufffdx', 'a topic|body', 'a end'])
  assert.deepEqual(textsOf(none.log), [])
})

test('subscriptions can be added and removed at any time', async (t) => {
  const { pub, counts } = await startPub(t)
  const { sub, log } = startSub(t, pub.address, [])
  await told(log, 'connect')
  pub.publish(Buffer.from('a0'))
  sub.subscribe('a')
  sub.subscribe('a')
  await counted(counts, 1)
  pub.publish(Buffer.from('a1'))
  await told(log, 'message')
  sub.unsubscribe('a')
  sub.unsubscribe('never made')
  sub.subscribe('b')
  pub.publish(Buffer.from('a2'))
  await told(log, 'message', 2)
  sub.unsubscribe('a')
  sub.unsubscribe('b')
  pub.publish(Buffer.from('a3'))
  await counted(counts, 0)
  sub.subscribe('c')
  await counted(counts, 1)
  pub.publish(Buffer.from('c4'))
  await told(log, 'message', 3)
  assert.deepEqual(textsOf(log), ['a1', 'a2', 'c4'])
})

test('subscriptions survive a restart of the publisher', async (t) => {
  const address = `ipc://${join(tempDir(t), 's')}`
  const { sub, log } = startSub(t, address, ['a'])
  await told(log, 'failed')
  const first = await startPub(t, {}, address)
  await counted(first.counts, 1)
  sub.subscribe('b')
  await first.pub.close()
  await told(log, 'disconnect')
  sub.unsubscribe('a')
  const second = await startPub(t, {}, address)
  await counted(second.counts, 1)
  for (const text of ['a', 'b']) second.pub.publish(Buffer.from(text))
  await told(log, 'message')
  assert.deepEqual(textsOf(log), ['b'])
})

test('the number of subscribers is reported whenever it changes', async (t) => {
  const { pub, counts } = await startPub(t)
  const one = startSub(t, pub.address, ['', 'x'])
  await counted(counts, 1)
  const two = startSub(t, pub.address, [''])
  await counted(counts, 2)
  await one.sub.close()
  await counted(counts, 1)
  await two.sub.close()
  await counted(counts, 0)
  assert.deepEqual(counts.events, [1, 2, 1, 0])
})

test('3.0 subscribers subscribe and unsubscribe by messages', async (t) => {
  const { pub, counts } = await startPub(t)
  const peer = rawConnect(t, pub.address)
  peer.socket.write(Buffer.concat([greeting(0), ready('SUB'), short('\x01a')]))
  await counted(counts, 1)
  pub.publish(Buffer.from('abc'))
  pub.publish(Buffer.from('no'))
  pub.publish(Buffer.from('ade'))
  const expected = Buffer.concat([short('abc'), short('ade')])
  await peer.until('two messages have come', (received) => received.includes(expected))
  peer.socket.write(Buffer.concat([short(''), short('\x02noise'), short('\x00a')]))
  await counted(counts, 0)
})

test('subscriptions to a 3.0 publisher are sent as messages', async (t) => {
  const received = new EventLog<string>()
  const { address } = await rawListen(t, (peer) => {
    peer.socket.write(Buffer.concat([greeting(0), ready('PUB')]))
    peer.socket.on('data', () => received.add(peer.received.toString('latin1')))
  })
  const { sub, log } = startSub(t, address, ['one'])
  await told(log, 'connect')
  sub.unsubscribe('one')
  const expected = `${short('\x01one').toString()}${short('\x00one').toString()}`
  await received.until('both messages came', (events) => events.at(-1)?.endsWith(expected) === true)
})

test('a slow subscriber misses whole messages, others none', async (t) => {
  const { pub, counts } = await startPub(t, { highWaterMarkBytes: 1_000_000 })
  const slow = rawConnect(t, pub.address)
  slow.socket.write(Buffer.concat([greeting(), ready('SUB'), short('\x01')]))
  await counted(counts, 1)
  const quick = startSub(t, pub.address, [''])
  await counted(counts, 2)
  slow.socket.pause()
  const before = slow.received.length
  const count = 300
  for (let index = 0; index < count; index += 1) {
    pub.publish(Buffer.alloc(100_000, index % 256))
    await told(quick.log, 'message', index + 1)
  }
  assert(pub.droppedMessages > 0)
  slow.socket.resume()
  const passed = count - pub.droppedMessages
  await slow.until('the rest came', (received) => received.length - before >= passed * 100_009)
  const stream = slow.received.subarray(before)
  assert.equal(stream.length, passed * 100_009)
  for (let at = 0; at < stream.length; at += 100_009) {
    assert.equal(stream.readUInt32BE(at + 5), 100_000)
    assert.equal(stream[at + 9], stream[at + 100_008])
  }
})

test('a subscriber of endlessly many prefixes is disconnected', async (t) => {
  const { pub, counts } = await startPub(t)
  const peer = rawConnect(t, pub.address)
  peer.socket.write(Buffer.concat([greeting(), ready('SUB')]))
  for (let index = 0; index < 20_000; index += 1) peer.socket.write(short(`\x01${index}`))
  await peer.closed()
  assert.match(peer.received.toString('latin1'), /too many subscriptions$/)
  await counted(counts, 0)
  startSub(t, pub.address, [''])
  await counted(counts, 1)
})

test('the length of a prefix is limited', async (t) => {
  const { sub } = startSub(t, `ipc://${join(tempDir(t), 's')}`, [])
  assert.throws(() => sub.subscribe(Buffer.alloc(65_001)), ConfigError)
})

test('the longest prefix is accepted by a publisher of ours', async (t) => {
  const { pub, counts } = await startPub(t)
  const { log } = startSub(t, pub.address, [Buffer.alloc(65_000)])
  await counted(counts, 1)
  pub.publish(Buffer.alloc(64_999))
  pub.publish(Buffer.alloc(65_001))
  await told(log, 'message')
  assert.deepEqual(textsOf(log), ['65001 bytes'])
})

test('after close nothing is reported', async (t) => {
  const { pub, counts } = await startPub(t)
  const { sub, log } = startSub(t, pub.address, [''])
  await counted(counts, 1)
  await sub.close()
  await counted(counts, 0)
  const second = startSub(t, pub.address, [''])
  await counted(counts, 1)
  pub.publish(Buffer.from('flushed by close'))
  await pub.close()
  await pub.close()
  pub.publish(Buffer.from('too late'))
  await told(second.log, 'disconnect')
  assert.deepEqual(textsOf(second.log), ['flushed by close'])
  assert.deepEqual(counts.events, [1, 0, 1])
  assert.equal(sub.isConnected, false)
  assert.equal(
    log.count(({ kind }) => kind === 'disconnect'),
    0,
  )
})

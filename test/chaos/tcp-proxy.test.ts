import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { until } from '../integration/condition.js'
import { TcpProxy } from './tcp-proxy.js'

/** One end of a connection, and everything it has received. */
interface End {
  readonly socket: Socket
  received: Buffer
  how: 'open' | 'ended' | 'reset'
}

function watch(socket: Socket): End {
  const end: End = { socket, received: Buffer.alloc(0), how: 'open' }
  socket.on('data', (chunk: Buffer) => (end.received = Buffer.concat([end.received, chunk])))
  socket.on('end', () => (end.how = 'ended'))
  socket.on('error', () => (end.how = 'reset'))
  return end
}

/** A listener behind a proxy, and connections through it. */
async function setUp(t: TestContext): Promise<{
  readonly proxy: TcpProxy
  readonly open: () => Promise<{ readonly near: End; readonly far: End }>
}> {
  const arrived: End[] = []
  const server = createServer((socket) => arrived.push(watch(socket)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const proxy = await TcpProxy.start(`tcp://127.0.0.1:${port}`)
  const sockets: Socket[] = []
  t.after(async () => {
    await proxy.close()
    for (const socket of [...sockets, ...arrived.map((end) => end.socket)]) socket.destroy()
    server.close()
  })
  const open = async (): Promise<{ readonly near: End; readonly far: End }> => {
    const socket = connect(Number(new URL(proxy.address).port), '127.0.0.1')
    sockets.push(socket)
    const near = watch(socket)
    const before = arrived.length
    await until('the connection', () => arrived.length > before)
    return { near, far: arrived[before] as End }
  }
  return { proxy, open }
}

const BYTES = Buffer.from(Array.from({ length: 1_000 }, (_, index) => index % 251))

test('bytes arrive unchanged in both directions, and so does the end', async (t) => {
  const { open } = await setUp(t)
  const { near, far } = await open()
  near.socket.write(BYTES)
  far.socket.write(BYTES.subarray(500))
  await until('all of it', () => near.received.length === 500 && far.received.length === 1_000)
  assert.deepEqual([far.received, near.received], [BYTES, BYTES.subarray(500)])
  near.socket.end('bye')
  await until('the end', () => far.how === 'ended')
  assert.equal(far.received.subarray(1_000).toString(), 'bye')
})

for (const kind of ['reset', 'end'] as const) {
  test(`a cut (${kind}) at the n-th byte lets exactly n bytes pass, for each n`, async (t) => {
    const { proxy, open } = await setUp(t)
    for (const cutAtByte of [0, 1, 2, 499, 500, 999]) {
      proxy.onLink((link) => link.disturb({ cutAtByte, cutKind: kind }, 'up'))
      const { near, far } = await open()
      near.socket.write(BYTES.subarray(0, 300))
      near.socket.write(BYTES.subarray(300))
      await until('both ends see it', () => near.how !== 'open' && far.how !== 'open')
      assert.deepEqual(far.received, BYTES.subarray(0, cutAtByte))
      // Node shows a reset directly after bytes as an end, and the remote end shows no error.
      if (kind === 'reset') assert.equal(near.how, 'reset')
    }
  })
}

test('a stopped connection passes nothing, and neither end notices until it heals', async (t) => {
  const { proxy, open } = await setUp(t)
  const { near, far } = await open()
  near.socket.write('before')
  await until('what was sent before', () => far.received.length === 6)
  proxy.stop()
  near.socket.write(BYTES)
  const other = connect(Number(new URL(proxy.address).port), '127.0.0.1')
  await once(other, 'connect')
  const late = watch(other)
  late.socket.write('into the hole')
  // Bytes that pass through another proxy meanwhile would have passed this one as well.
  const second = await setUp(t)
  const { near: otherNear, far: otherFar } = await second.open()
  otherNear.socket.write(BYTES)
  await until('the other proxy', () => otherFar.received.length === 1_000)
  assert.deepEqual([near.how, far.how, far.received.length], ['open', 'open', 6])
  proxy.heal()
  await until('the rest', () => far.received.length === 1_006)
  assert.deepEqual(far.received.subarray(6), BYTES)
  late.socket.destroy()
})

test('a connection stops exactly at the chosen byte', async (t) => {
  const { proxy, open } = await setUp(t)
  proxy.onLink((link) => link.disturb({ stopAtByte: 10 }, 'down'))
  const { near, far } = await open()
  far.socket.write(BYTES)
  await until('the first bytes', () => near.received.length === 10)
  await until('the stop', () => proxy.links[0]?.isStopped === true)
  far.socket.resetAndDestroy()
  assert.equal(near.how, 'open')
})

test('the end of a stopped connection is noticed when it heals', async (t) => {
  const { proxy, open } = await setUp(t)
  const { near, far } = await open()
  proxy.stop()
  near.socket.resetAndDestroy()
  assert.equal(far.how, 'open')
  proxy.heal()
  await until('the end', () => far.how !== 'open')
})

test('delays change nothing else: all bytes arrive, in order, not too early', async (t) => {
  const { proxy, open } = await setUp(t)
  proxy.onLink((link) => link.disturb({ delayMs: 50 }))
  const { near, far } = await open()
  const begun = performance.now()
  for (const byte of BYTES) near.socket.write(Buffer.from([byte]))
  await until('all bytes', () => far.received.length === BYTES.length)
  assert.deepEqual(far.received, BYTES)
  assert.ok(performance.now() - begun >= 49)
})

test('a throttled connection is slow', async (t) => {
  const { proxy, open } = await setUp(t)
  proxy.onLink((link) => link.disturb({ bytesPerSecond: 10_000 }, 'up'))
  const { near, far } = await open()
  const begun = performance.now()
  near.socket.write(BYTES)
  await until('all bytes', () => far.received.length === BYTES.length)
  assert.deepEqual(far.received, BYTES)
  assert.ok(performance.now() - begun >= 75, 'five slices of a fiftieth of a second, but the first')
})

test('a reader that does not read stops the writer: nothing piles up in the proxy', async (t) => {
  const { open } = await setUp(t)
  const { near, far } = await open()
  far.socket.pause()
  const chunk = Buffer.alloc(256 * 1024)
  let written = 0
  const write = (): void => {
    while (near.socket.write(chunk)) written += chunk.length
  }
  near.socket.on('drain', write)
  write()
  let seen = -1
  await until('the writer stands still', () => {
    const isStill = seen === written && near.socket.writableNeedDrain
    seen = written
    return isStill && written > 0
  })
  near.socket.off('drain', write)
  near.socket.end()
  far.socket.resume()
  await until('the end', () => far.how === 'ended')
  assert.ok(far.received.length >= written)
})

test('an idle connection is forgotten silently, a busy one is not', async (t) => {
  const { proxy, open } = await setUp(t)
  const idle = await open()
  const busy = await open()
  proxy.dropIdle(60)
  const beat = setInterval(() => busy.near.socket.write('.'), 5)
  t.after(() => clearInterval(beat))
  // A process that gets no CPU for a while makes nothing idle.
  const stall = performance.now() + 100
  while (performance.now() < stall);
  await until('the idle one is forgotten', () => proxy.links[0]?.isStopped === true)
  idle.near.socket.write(BYTES)
  const before = busy.far.received.length
  await until('the busy one goes on', () => busy.far.received.length > before + 5)
  assert.deepEqual([idle.far.received.length, idle.far.how, idle.near.how], [0, 'open', 'open'])
  assert.equal(proxy.links[1]?.isStopped, false)
})

test('connections can be refused, and redirected to another target later', async (t) => {
  const { proxy, open } = await setUp(t)
  const other = await setUp(t)
  proxy.refuse(true)
  const refused = watch(connect(Number(new URL(proxy.address).port), '127.0.0.1'))
  await until('the refusal', () => refused.how !== 'open')
  proxy.refuse(false)
  const { near, far } = await open()
  near.socket.write('to the first')
  await until('it arrives', () => far.received.length === 12)
  proxy.retarget(other.proxy.address)
  const before = other.proxy.linkCount
  const redirected = watch(connect(Number(new URL(proxy.address).port), '127.0.0.1'))
  await until('it goes to the second', () => other.proxy.linkCount > before)
  redirected.socket.destroy()
})

test('a missing target ends the connection', async (t) => {
  const { proxy } = await setUp(t)
  proxy.retarget('tcp://127.0.0.1:1')
  const end = watch(connect(Number(new URL(proxy.address).port), '127.0.0.1'))
  await until('the end', () => end.how !== 'open')
})

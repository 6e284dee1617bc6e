import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { sized } from '../base/short-run.kit.js'
import { DescriptorRoom } from '../transport/descriptor-room.js'
import { MetricsServer } from './metrics-server.js'
import { readMetrics, snapshot } from './metrics.kit.js'
import { Scheduler } from './scheduler.js'

const ADDRESSES = { address: 'tcp://127.0.0.1:0', metricsAddress: '127.0.0.1:0' } as const

/** What the server answers to `request`, until it closes the connection. */
async function answer(address: string, request: string): Promise<string> {
  const socket = dial(address)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = closeOf(socket)
  socket.write(request)
  await closed
  return Buffer.concat(chunks).toString()
}

/** Resolves when the connection is closed, for whatever reason. */
function closeOf(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}

function dial(address: string): Socket {
  const [host = '', port = ''] = address.split(':')
  const socket = connect(Number(port), host)
  socket.on('error', () => {})
  return socket
}

/** A listener of its own. Its connections are closed after `connectionMs`. */
async function startListener(
  t: TestContext,
  { connectionMs = 60_000, descriptorRoom = new DescriptorRoom() } = {},
): Promise<{ readonly address: string; readonly facts: { isReady: boolean } }> {
  const facts = { isReady: false }
  const source = {
    snapshot: () => snapshot(),
    isReady: () => facts.isReady,
    onError: (text: string) => assert.fail(text),
    descriptorRoom,
  }
  const server = await MetricsServer.listen('127.0.0.1:0', source, connectionMs)
  t.after(() => server.close())
  return { address: server.address, facts }
}

/** The status of an answer; 0 if the connection was closed without one. */
async function statusOf(address: string, path: string): Promise<number> {
  const text = await answer(address, `GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  return Number(/^HTTP\/1.1 (\d+) /.exec(text)?.[1] ?? 0)
}

test('a scheduler serves metrics in both formats, and probes', async () => {
  await using scheduler = await Scheduler.start(ADDRESSES)
  const base = `http://${scheduler.metricsAddress}`
  const open = await fetch(`${base}/metrics`, {
    headers: { accept: 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5' },
  })
  assert.equal(
    open.headers.get('content-type'),
    'application/openmetrics-text; version=1.0.0; charset=utf-8',
  )
  const samples = readMetrics(await open.text())
  assert.equal(samples.get('scaler_tasks_running'), 0)
  const plain = await fetch(`${base}/metrics`, { headers: { accept: 'text/plain' } })
  assert.equal(plain.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  await plain.text()
  for (const [path, status] of [
    ['/healthz', 200],
    ['/readyz', 200],
    ['/other', 404],
  ] as const) {
    const response = await fetch(base + path)
    await response.text()
    assert.equal(response.status, status, path)
    assert.equal(response.headers.get('content-type'), 'text/plain; charset=utf-8', path)
  }
})

test('the format is the one that the reader prefers', async () => {
  await using scheduler = await Scheduler.start(ADDRESSES)
  const open = 'application/openmetrics-text'
  const cases: readonly (readonly [accept: string, isOpen: boolean])[] = [
    [open, true],
    [`${open.toUpperCase()} ; Version=1.0.0`, true],
    [`${open};version=1.0.0;escaping=allow-utf-8;q=0.6,${open};version=0.0.1;q=0.5,*/*`, true],
    [`${open};q=0`, false],
    [`text/plain, ${open};q=0.000`, false],
    [`text/plain;q=0.9, ${open};q=0.5`, false],
    [`text/plain;q=0.5, ${open};q=0.5`, true],
    [`${open};version=2.0.0,text/plain;q=0.1`, false],
    [`${open};q=much`, true],
    ['text/plain;version=0.0.4;q=1,*/*;q=0.1', false],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', false],
    ['*/*', true],
    ['', true],
  ]
  for (const [accept, isOpen] of cases) {
    const response = await fetch(`http://${scheduler.metricsAddress}/metrics`, {
      headers: { accept },
    })
    assert.equal((await response.text()).endsWith('# EOF\n'), isOpen, accept)
    assert.equal(response.headers.get('content-type')?.startsWith(open), isOpen, accept)
  }
})

test('bad requests are refused, and the next one is answered', async () => {
  await using scheduler = await Scheduler.start(ADDRESSES)
  const at = scheduler.metricsAddress
  assert.match(
    await answer(at, 'POST /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'),
    /^HTTP\/1.1 405 /,
  )
  for (const bytes of [9_000, 300_000]) {
    const rest = 'y'.repeat(bytes)
    for (const request of [`GET / HTTP/1.1\r\nx: ${rest}`, `GET /healthz?${rest} HTTP/1.1`]) {
      assert.match(await answer(at, `${request}\r\n\r\n`), /^HTTP\/1.1 431 [^]*\r\n\r\n$/)
    }
  }
  assert.match(await answer(at, '\u0000\u0001\r\n\r\n'), /^HTTP\/1.1 400 [^]*\r\n\r\n$/)
  const head = await answer(at, 'HEAD /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
  assert.match(head, /^HTTP\/1.1 200 [^]*\r\n\r\n$/)
})

test('connections over the limit are closed, and the scheduler closes all of them', async () => {
  const scheduler = await Scheduler.start(ADDRESSES)
  const sockets = Array.from({ length: 100 }, () => dial(scheduler.metricsAddress))
  const closed = sockets.map((socket) => closeOf(socket.resume()))
  await Promise.any(closed)
  await scheduler.close()
  await Promise.all(closed)
})

test('an occupied port and a bad address are errors that name the option', async () => {
  await using scheduler = await Scheduler.start(ADDRESSES)
  const { metricsAddress } = scheduler
  await assert.rejects(Scheduler.start({ ...ADDRESSES, metricsAddress }), {
    message: /^option metricsAddress: .*EADDRINUSE/,
  })
  const own = { address: 'tcp://*:5', metricsAddress: '127.0.0.1:5' }
  await assert.rejects(Scheduler.start(own), {
    name: 'ConfigError',
    message: 'option metricsAddress: 127.0.0.1:5: the scheduler itself listens there',
  })
  await assert.rejects(Scheduler.start({ ...ADDRESSES, metricsAddress: 'nowhere' }), {
    message: 'option metricsAddress: expected host:port, got "nowhere"',
  })
})

test('a scheduler is not ready while it starts or stops, but alive', async (t) => {
  const { address, facts } = await startListener(t)
  for (const isReady of [false, true, false]) {
    facts.isReady = isReady
    assert.equal(await statusOf(address, '/readyz'), isReady ? 200 : 503)
    assert.equal(await statusOf(address, '/healthz'), 200)
  }
})

/** What clients do that never finish a request, or never read the answer. */
const SLOW: Readonly<Record<string, (socket: Socket) => void>> = {
  'says nothing': () => {},
  'sends half a request': (socket) => socket.write('GET /metrics HTT'),
  'sends half of the headers': (socket) =>
    socket.write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n'),
  'never sends the body': (socket) =>
    socket.write('POST /metrics HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n'),
  'never reads': (socket) =>
    socket.pause().write('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'),
}

for (const [what, act] of Object.entries(SLOW)) {
  test(`64 clients of which each ${what} keep no other one out`, async (t) => {
    const { address } = await startListener(t)
    const sockets = Array.from({ length: 64 }, () => dial(address))
    t.after(() => {
      for (const socket of sockets) socket.destroy()
    })
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    for (const socket of sockets) act(socket)
    for (let round = 0; round < 3; round += 1) {
      assert.equal(await statusOf(address, '/healthz'), 200)
      assert.equal(await statusOf(address, '/metrics'), 200)
    }
  })
}

test('a connection is closed after a time, whatever it does', async (t) => {
  for (const act of Object.values(SLOW)) {
    const { address } = await startListener(t, { connectionMs: 50 })
    const socket = dial(address)
    const closed = closeOf(socket)
    act(socket)
    socket.resume()
    await closed
  }
})

test('on the loopback, only its own names are answered', async (t) => {
  const { address } = await startListener(t)
  const [, port = ''] = address.split(':')
  const codeFor = async (...hosts: readonly string[]): Promise<string> => {
    const lines = hosts.map((host) => `host: ${host}\r\n`).join('')
    const version = hosts.length === 0 ? '1.0' : '1.1'
    const text = await answer(address, `GET /metrics HTTP/${version}\r\n${lines}\r\n`)
    return /^HTTP\/1.1 (\d+) /.exec(text)?.[1] ?? ''
  }
  for (const host of ['localhost', `LocalHost:${port}`, '127.0.0.1:9', '127.1.2.3', '[::1]:9464']) {
    assert.equal(await codeFor(host), '200', host)
  }
  assert.equal(await codeFor(), '200', 'no browser leaves it out')
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    '127.0.0.1.evil.example',
    '10.0.0.1',
  ]) {
    assert.equal(await codeFor(host), '403', host)
  }
})

test('a client that sends without end, or several requests, gets at most one answer', async (t) => {
  const { address } = await startListener(t)
  const request = 'GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'
  const many = await answer(address, request.repeat(1_000))
  assert.equal(many.split('scaler_build_info{').length, 2)
  for (const [begin, more] of [
    ['GET /metrics HTTP/1.1\r\n', 'x: y\r\n'],
    ['POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n', '1\r\nz\r\n'],
  ] as const) {
    const socket = dial(address)
    const closed = closeOf(socket.resume())
    const feed = (): void => {
      while (socket.writable && socket.write(more.repeat(9_999)));
    }
    socket.on('drain', feed).write(begin)
    feed()
    await closed
  }
  assert.equal(await answer(address, 'CONNECT x:1 HTTP/1.1\r\nhost: localhost\r\n\r\n'), '')
  const upgrade = request.replace('\r\n', '\r\nconnection: upgrade\r\nupgrade: websocket\r\n')
  assert.match(await answer(address, upgrade), /^HTTP\/1.1 200 /)
  assert.equal(await statusOf(address, '/healthz'), 200)
})

test('clients that disconnect at any moment do not matter, however many there are', async (t) => {
  const { address } = await startListener(t)
  const request = 'GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n'
  for (let wave = 0; wave < sized(40, 4); wave += 1) {
    const closed = Array.from({ length: 100 }, async (_, n) => {
      const socket = dial(address)
      const end = closeOf(socket)
      await Promise.race([new Promise((resolve) => socket.once('connect', resolve)), end])
      socket.write(request.slice(0, (n * request.length) / 66))
      if (n % 2 === 0) socket.destroy()
      else socket.resetAndDestroy()
      await end
    })
    await Promise.all(closed)
  }
  // Until the server has noticed that they are gone, it may close this one: there are too many.
  while ((await statusOf(address, '/metrics')) !== 200);
  const halfClosed = async (): Promise<string> => {
    const socket = dial(address)
    const parts: Buffer[] = []
    socket.on('data', (part: Buffer) => parts.push(part)).end(request)
    await closeOf(socket)
    return Buffer.concat(parts).toString()
  }
  let text = ''
  while (text === '') text = await halfClosed()
  assert.match(text, /^HTTP\/1.1 200 /)
})

test('if file descriptors run out, its connections are closed before those of peers', async (t) => {
  let hasRoom = true
  const descriptorRoom = new DescriptorRoom(() => hasRoom)
  const { address } = await startListener(t, { descriptorRoom })
  const idle = dial(address)
  const closed = closeOf(idle)
  await once(idle, 'connect')
  assert.equal(await statusOf(address, '/healthz'), 200, 'the idle connection was accepted')
  hasRoom = false
  const peer = { close: () => assert.fail('the peer was closed') }
  descriptorRoom.onAccepted(peer)
  await closed
  descriptorRoom.onSpoken(peer)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { readMetrics } from './metrics.kit.js'
import { Scheduler } from './scheduler.js'

const ADDRESSES = { address: 'tcp://127.0.0.1:0', metricsAddress: '127.0.0.1:0' } as const

/** What the server answers to `request`, until it closes the connection. */
async function answer(address: string, request: string): Promise<string> {
  const socket = dial(address)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  const closed = once(socket, 'close')
  socket.write(request)
  await closed
  return Buffer.concat(chunks).toString()
}

function dial(address: string): Socket {
  const [host = '', port = ''] = address.split(':')
  const socket = connect(Number(port), host)
  socket.on('error', () => {})
  return socket
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
  const plain = await fetch(`${base}/metrics`)
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
    [`${open};version=2.0.0`, false],
    [`${open};q=much`, false],
    ['*/*', false],
    ['', false],
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
  assert.match(await answer(at, 'POST /metrics HTTP/1.1\r\nhost: x\r\n\r\n'), /^HTTP\/1.1 405 /)
  assert.equal(await answer(at, `GET / HTTP/1.1\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`), '')
  assert.equal(await answer(at, '\u0000\u0001\r\n\r\n'), '')
  const head = await answer(at, 'HEAD /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
  assert.match(head, /^HTTP\/1.1 200 [^]*\r\n\r\n$/)
})

test('connections over the limit are closed, and the scheduler closes all of them', async () => {
  const scheduler = await Scheduler.start(ADDRESSES)
  const sockets = Array.from({ length: 100 }, () => dial(scheduler.metricsAddress))
  const closed = sockets.map((socket) => {
    return new Promise<void>((resolve) => socket.resume().once('close', () => resolve()))
  })
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
  await assert.rejects(Scheduler.start({ ...ADDRESSES, metricsAddress: 'nowhere' }), {
    message: 'option metricsAddress: expected host:port, got "nowhere"',
  })
})

// TLS between real sockets: who is let in, what others learn, and that nothing else differs.

import assert from 'node:assert/strict'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { connect, createServer } from 'node:tls'
import { ConfigError } from '#src/base/errors.js'
import { identity } from '#src/base/ids.js'
import type { Logger } from '#src/base/logger.js'
import { parseAddress } from '#src/transport/address.js'
import { DealerSocket } from '#src/transport/dealer.js'
import { PubSocket } from '#src/transport/pub.js'
import { RouterSocket } from '#src/transport/router.js'
import { SubSocket } from '#src/transport/sub.js'
import type { TlsOptions } from '#src/transport/tls/options.js'
import { ANONYMOUS } from '#src/transport/tls/trouble.js'
import { certificate, contentsOf, pemFile } from './certificate.js'
import {
  EventLog,
  rawConnect,
  rawListen,
  show,
  type SocketEvent,
  startDealer,
  startRouter,
  tempDir,
  textsOf,
  told,
} from './transport-harness.js'

const ANY = 'tls://127.0.0.1:0'
const NODE = certificate('node')

const SILENT = {
  onMessages: () => {},
  onConnect: () => {},
  onDisconnect: () => {},
  onDrain: () => {},
  onConnectFailed: () => {},
  onProgress: () => {},
}

function portOf(address: string): number {
  const parsed = parseAddress(address)
  return parsed.kind === 'tcp' ? parsed.port : 0
}

/** A logger that keeps its warnings. */
function keeper(): { readonly logger: Logger; readonly log: EventLog<string> } {
  const log = new EventLog<string>()
  const keep = (text: string, fields: object = {}): void => {
    log.add(`${text} ${JSON.stringify(fields)}`)
  }
  return { logger: { debug: () => {}, info: keep, warn: keep, error: keep }, log }
}

/** Why a dealer with `tls` cannot connect to a router with that of `server`. */
async function refusal(
  t: TestContext,
  tls: TlsOptions,
  server: TlsOptions = NODE,
): Promise<{ readonly client: string; readonly server: string }> {
  const { router, log } = await startRouter(t, { tls: server }, ANY)
  const slow = { reconnectMinMs: 60_000, reconnectMaxMs: 60_000 }
  const { log: dealerLog, dealer } = startDealer(t, router.address, 'd', { ...slow, tls })
  await told(dealerLog, 'failed')
  await told(log, 'refused')
  assert.equal(dealer.end.kind, 'untrusted')
  assert.equal(textsOf(log, 'connect').length, 0)
  return { client: textsOf(dealerLog, 'failed')[0] ?? '', server: textsOf(log, 'refused')[0] ?? '' }
}

test('both sides show certificates, and messages travel both ways', async (t) => {
  const { router, log } = await startRouter(t, { tls: NODE }, ANY)
  assert.match(router.address, /^tls:\/\/127\.0\.0\.1:\d+$/)
  const { dealer, log: answers } = startDealer(t, router.address, 'd', {
    tls: certificate('client'),
  })
  dealer.send(Buffer.from('echo me'))
  await told(answers, 'message')
  assert.deepEqual(textsOf(answers), ['echo me'])
  assert.deepEqual(textsOf(log), ['echo me'])
})

test('a name is looked up, and checked', async (t) => {
  const { router } = await startRouter(t, { tls: NODE }, 'tls://localhost:0')
  const address = `tls://localhost:${portOf(router.address)}`
  const { dealer, log } = startDealer(t, address, 'd', { tls: certificate('client') })
  dealer.send(Buffer.from('echo'))
  await told(log, 'message')
})

test('PEM texts and buffers are as good as files', async (t) => {
  const buffers = contentsOf(NODE)
  const strings = { ca: String(buffers.ca), cert: `${buffers.cert}`, key: `${buffers.key}` }
  const { router } = await startRouter(t, { tls: buffers }, ANY)
  const { log } = startDealer(t, router.address, 'd', { tls: strings })
  await told(log, 'connect')
})

test('the very same certificate as our own needs no matching name', async (t) => {
  const named = certificate('named')
  const { router } = await startRouter(t, { tls: named }, ANY)
  const { log } = startDealer(t, router.address, 'd', { tls: named })
  await told(log, 'connect')
})

test('a peer of another CA is refused, and learns why', async (t) => {
  const reason = 'the certificate of "stranger" is not signed by our CA'
  const { ca } = NODE
  const why = await refusal(t, { ...certificate('stranger'), ca })
  assert.deepEqual(why, { client: `the peer refused: ${reason}`, server: reason })
})

test('a peer without a certificate is refused, and learns why', async (t) => {
  const why = await refusal(t, { ca: NODE.ca })
  assert.deepEqual(why, { client: `the peer refused: ${ANONYMOUS}`, server: ANONYMOUS })
})

test('a peer with an expired certificate is refused, and learns why', async (t) => {
  const why = await refusal(t, certificate('expired'))
  const reason = 'the certificate of "expired" has expired'
  assert.deepEqual(why, { client: `the peer refused: ${reason}`, server: reason })
})

/** Why a dealer with the client's certificate does not want a router with that of `server`. */
async function rejection(t: TestContext, server: TlsOptions, tls: TlsOptions): Promise<string> {
  const { router, log: routerLog } = await startRouter(t, { tls: server }, ANY)
  const { log, dealer } = startDealer(t, router.address, 'd', { tls })
  await told(log, 'failed')
  assert.equal(dealer.end.kind, 'untrusted')
  assert.equal(
    routerLog.count(({ kind }) => kind === 'connect'),
    0,
  )
  return textsOf(log, 'failed')[0] ?? ''
}

test('a server of another CA, an expired one, and one with another name are rejected', async (t) => {
  const own = certificate('client')
  assert.equal(
    await rejection(t, certificate('stranger'), own),
    'the certificate of the peer is not signed by our CA',
  )
  assert.equal(
    await rejection(t, certificate('expired'), own),
    'the certificate of the peer has expired',
  )
  assert.equal(
    await rejection(t, certificate('named'), own),
    'the certificate of the peer is not for 127.0.0.1; it is for scheduler.test',
  )
})

test('a peer that speaks no TLS is refused, and gets an alert of TLS', async (t) => {
  const { router, log } = await startRouter(t, { tls: NODE }, ANY)
  const { log: dealerLog, dealer } = startDealer(t, router.address.replace('tls', 'tcp'), 'd')
  await told(log, 'refused')
  assert.equal(textsOf(log, 'refused')[0], 'the peer does not speak TLS')
  await told(dealerLog, 'failed')
  assert.match(textsOf(dealerLog, 'failed')[0] ?? '', /it speaks TLS, but the address is not tls/)
  assert.equal(dealer.end.kind, 'notZmtp')
})

test('a peer that speaks TLS at a tcp:// address is refused on both sides', async (t) => {
  const { router, log } = await startRouter(t)
  const address = router.address.replace('tcp', 'tls')
  const { log: dealerLog, dealer } = startDealer(t, address, 'd', { tls: NODE })
  await told(log, 'refused')
  assert.match(textsOf(log, 'refused')[0] ?? '', /it speaks TLS, but the address is not tls/)
  await told(dealerLog, 'failed')
  assert.equal(textsOf(dealerLog, 'failed')[0], 'the peer does not speak TLS')
  assert.equal(dealer.end.kind, 'untrusted')
})

test('a server that requires a certificate says so only after the handshake of TLS 1.3', async (t) => {
  const strict = { ...contentsOf(NODE), requestCert: true, rejectUnauthorized: true }
  const server = createServer(strict, (socket) => {
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const bound = server.address()
  const port = typeof bound === 'object' ? bound?.port : 0
  const { log, dealer } = startDealer(t, `tls://127.0.0.1:${port}`, 'd', { tls: { ca: NODE.ca } })
  await told(log, 'failed')
  assert.equal(textsOf(log, 'failed')[0], 'the peer requires a certificate')
  assert.equal(dealer.end.kind, 'untrusted')
})

test('a session cannot be resumed to get in without a certificate', async (t) => {
  const { router, log } = await startRouter(t, { tls: NODE }, ANY)
  /** Resolves with the session, once the router has closed the connection. */
  const visit = (session?: Buffer): Promise<Buffer | undefined> => {
    const options = { port: portOf(router.address), rejectUnauthorized: false }
    const socket = connect(session === undefined ? options : { ...options, session })
    let last: Buffer | undefined
    t.after(() => socket.destroy())
    socket.on('session', (each) => (last = each))
    socket.on('error', () => {})
    socket.resume()
    return new Promise((resolve) => socket.on('close', () => resolve(last)))
  }
  await visit(await visit())
  await told(log, 'refused', 2)
  assert.deepEqual(textsOf(log, 'refused'), [ANONYMOUS, ANONYMOUS])
})

test('old versions of TLS are refused', async (t) => {
  const { router, log } = await startRouter(t, { tls: NODE }, ANY)
  // Newer versions of OpenSSL would not even try.
  const ciphers = 'DEFAULT@SECLEVEL=0'
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers } as const
  const socket = connect({ port: portOf(router.address), rejectUnauthorized: false, ...old })
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await told(log, 'refused')
  assert.match(textsOf(log, 'refused')[0] ?? '', /no common version of TLS \(1\.2 or later\)/)
})

test('a handshake that does not end is given up, in whichever part', async (t) => {
  const options = { tls: NODE, handshakeTimeoutMs: 100 }
  const { router, log } = await startRouter(t, options, ANY)
  const raw = rawConnect(t, router.address)
  await raw.closed()
  await told(log, 'refused')
  assert.equal(textsOf(log, 'refused')[0], 'no TLS handshake within 100 ms')
  const { cert, key } = contentsOf(NODE)
  const mute = connect({ port: portOf(router.address), rejectUnauthorized: false, cert, key })
  mute.on('error', () => {})
  await told(log, 'refused', 2)
  assert.equal(textsOf(log, 'refused')[1], 'no TLS or ZeroMQ handshake within 100 ms')
})

test('a client gives up a server that does not answer', async (t) => {
  const { address } = await rawListen(t, () => {})
  const options = { tls: NODE, handshakeTimeoutMs: 100 }
  const { log, dealer } = startDealer(t, address.replace('tcp', 'tls'), 'd', options)
  await told(log, 'failed')
  assert.equal(textsOf(log, 'failed')[0], 'no TLS or ZeroMQ handshake within 100 ms')
  assert.equal(dealer.end.kind, 'silent')
})

test('refused peers are logged at a bounded rate', async (t) => {
  const { logger, log: lines } = keeper()
  const { router, log } = await startRouter(t, { tls: NODE, logger }, ANY)
  startDealer(t, router.address, 'd', { tls: certificate('expired') })
  await told(log, 'refused', 5)
  const refusals = lines.events.filter((line) => line.startsWith('connection refused'))
  assert.equal(refusals.length, 1)
  assert.match(refusals[0] ?? '', /"reason":"the certificate of \\"expired\\" has expired"/)
})

test('a probe that only opens the port is no refusal worth a warning', async (t) => {
  const { logger, log: lines } = keeper()
  const { router, log } = await startRouter(t, { tls: NODE, logger }, ANY)
  const raw = rawConnect(t, router.address)
  raw.socket.end()
  await told(log, 'refused')
  assert.deepEqual(lines.events, [])
})

test('large messages travel both ways, and are the same', async (t) => {
  const received = new EventLog<Buffer>()
  const router = await RouterSocket.bind(
    ANY,
    {
      ...SILENT,
      onMessages: (peer, messages) => {
        for (const message of messages) router.send(peer, message)
      },
    },
    { tls: NODE },
  )
  t.after(() => router.close())
  const dealer = new DealerSocket(
    router.address,
    identity('d'),
    {
      ...SILENT,
      onMessages: (messages) => {
        for (const each of messages) received.add(each as Buffer)
      },
    },
    { tls: NODE },
  )
  t.after(() => dealer.close())
  const sizes = [0, 1, 16_383, 16_384, 65_536, 1_000_003, 24 * 1024 ** 2]
  const sent = sizes.map((size) => Buffer.alloc(size, `${size} and so on `))
  for (const message of sent) dealer.send(message)
  await received.until('all came back', ({ length }) => length === sizes.length)
  for (const [at, message] of sent.entries()) assert(message.equals(received.events[at] as Buffer))
})

test('many small messages keep their order', async (t) => {
  const { router, log } = await startRouter(t, { tls: NODE }, ANY)
  const { dealer, log: answers } = startDealer(t, router.address, 'd', { tls: NODE })
  const count = 20_000
  for (let at = 0; at < count; at += 1) dealer.send(Buffer.from(`echo ${at}`))
  await told(answers, 'message', count)
  const expected = Array.from({ length: count }, (_, at) => `echo ${at}`)
  assert.deepEqual(textsOf(log), expected)
  assert.deepEqual(textsOf(answers), expected)
})

test('a reader that pauses holds the sender back, and loses nothing', async (t) => {
  const { router, log } = await startRouter(t, { tls: NODE }, ANY)
  const options = { tls: NODE, highWaterMarkBytes: 100_000 }
  const { dealer, log: dealerLog } = startDealer(t, router.address, 'd', options)
  await told(log, 'connect')
  await told(dealerLog, 'connect')
  router.stopReading(identity('d'))
  const message = Buffer.alloc(4 * 1024 ** 2)
  const count = 16
  for (let at = 0; at < count; at += 1) dealer.send(message)
  assert(dealer.queuedBytes > 100_000)
  const before = dealer.queuedBytes
  await dealerLog.until('some bytes have left', () => dealer.queuedBytes < before)
  router.startReading(identity('d'))
  await told(log, 'message', count)
  await told(dealerLog, 'drain')
})

test('a dealer comes back after its router was killed', async (t) => {
  const { router, log: first } = await startRouter(t, { tls: NODE }, ANY)
  const { dealer, log } = startDealer(t, router.address, 'd', { tls: NODE })
  dealer.send(Buffer.from('one'))
  await told(first, 'message')
  await router.close()
  await told(log, 'disconnect')
  const { log: second } = await startRouter(t, { tls: NODE }, router.address)
  dealer.send(Buffer.from('two'))
  await told(second, 'message')
  assert.deepEqual(textsOf(second), ['two'])
})

test('a peer that does not answer PINGs is given up', async (t) => {
  const { router, log } = await startRouter(t, { tls: NODE }, ANY)
  const options = { tls: NODE, pingIntervalMs: 20, pingTimeoutMs: 80 }
  const { log: dealerLog } = startDealer(t, router.address, 'd', options)
  await told(log, 'connect')
  router.stopReading(identity('d'))
  await told(dealerLog, 'disconnect')
  assert.match(textsOf(dealerLog, 'disconnect')[0] ?? '', /has not answered for 80 ms/)
})

test('subscribers receive what is published', async (t) => {
  const counts = new EventLog<number>()
  const log = new EventLog<SocketEvent>()
  const pub = await PubSocket.bind(ANY, (count) => counts.add(count), { tls: NODE }, 'tls://x:1')
  t.after(() => pub.close())
  const handler = {
    ...SILENT,
    onMessages: (messages: readonly (Buffer | readonly Buffer[])[]) => {
      for (const message of messages) log.add({ kind: 'message', text: show(message) })
    },
  }
  const sub = new SubSocket(pub.address, handler, { tls: certificate('client') })
  t.after(() => sub.close())
  sub.subscribe('a')
  await counts.until('it has subscribed', (events) => events.includes(1))
  pub.publish(Buffer.from('b is not wanted'))
  pub.publish(Buffer.from('a is'))
  await told(log, 'message')
  assert.deepEqual(textsOf(log), ['a is'])
})

test('an own certificate that has expired, or soon will, is reported once', async (t) => {
  for (const [name, text, now] of [
    ['expired', 'the certificate has expired: no peer accepts it', undefined],
    ['node', 'the certificate expires soon', new Date('2126-11-01')],
  ] as const) {
    const cert = join(tempDir(t), 'cert')
    copyFileSync(pemFile(name), cert)
    if (now !== undefined) t.mock.timers.enable({ apis: ['Date'], now })
    const { logger, log: lines } = keeper()
    for (let socket = 0; socket < 2; socket += 1) {
      await startRouter(t, { tls: { ...certificate(name), cert }, logger }, ANY)
    }
    t.mock.timers.reset()
    assert.equal(lines.events.length, 1)
    assert.ok(lines.events[0]?.startsWith(text), lines.events[0])
    assert.ok(lines.events[0]?.includes(JSON.stringify(cert)), lines.events[0])
  }
})

test('changed files are read again for new connections; bad ones are reported', async (t) => {
  const folder = tempDir(t)
  const own = { ca: join(folder, 'ca'), cert: join(folder, 'cert'), key: join(folder, 'key') }
  const install = (name: string): void => {
    copyFileSync(pemFile('ca'), own.ca)
    copyFileSync(pemFile(name), own.cert)
    copyFileSync(pemFile(`${name}-key`), own.key)
  }
  install('expired')
  const { logger, log: lines } = keeper()
  const { router } = await startRouter(t, { tls: own, logger }, ANY)
  const { log } = startDealer(t, router.address, 'd', { tls: certificate('client') })
  await told(log, 'failed', 2)
  writeFileSync(own.cert, 'no certificate')
  await lines.until('that was reported', (events) => {
    return events.some((line) => line.includes('cannot be used; the last ones stay in use'))
  })
  install('node')
  await told(log, 'connect')
})

const BAD: readonly (readonly [what: string, tls: unknown, message: RegExp])[] = [
  [
    'a missing file',
    { ...NODE, ca: '/nowhere.pem' },
    /^option tls\.ca: the file "\/nowhere\.pem" does not exist$/,
  ],
  [
    'a file that is not PEM',
    { ...NODE, cert: import.meta.filename },
    /^option tls\.cert: the file ".*" is not a certificate in PEM format/,
  ],
  [
    'a certificate as a key',
    { ...NODE, key: NODE.cert },
    /^option tls\.key: the file ".*" is not a private key in PEM/,
  ],
  [
    'the key of another certificate',
    { ...NODE, key: certificate('client').key },
    /^option tls\.key: the file ".*" does not match the certificate/,
  ],
  [
    'a certificate without a key',
    { ca: NODE.ca, cert: NODE.cert },
    /^option tls\.cert: also needs tls\.key$/,
  ],
  [
    'a key without a certificate',
    { ca: NODE.ca, key: NODE.key },
    /^option tls\.key: also needs tls\.cert$/,
  ],
  [
    'a second authority that is incomplete',
    { ...NODE, ca: `${contentsOf(NODE).ca}${String(contentsOf(NODE).ca).slice(0, 200)}` },
    /^option tls\.ca: the text is not a certificate in PEM format/,
  ],
  [
    'a key that is encrypted',
    { ...NODE, key: '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII=\n-----END' },
    /^option tls\.key: the text is encrypted; decrypt it with openssl pkey/,
  ],
  [
    'a key behind other lines',
    { ...NODE, key: `Bag\n${String(contentsOf(NODE).key)}` },
    /^option tls\.key: expected PEM, or the path of a file, got other text$/,
  ],
  ['a text', 'ca.pem', /^option tls: expected an object, got "ca\.pem"/],
  ['a number', { ...NODE, ca: 7 }, /^option tls\.ca: expected PEM, or the path of a file, got 7/],
  ['bytes that are not PEM', { ...NODE, ca: Buffer.from([1, 2]) }, /^option tls\.ca: expected PEM/],
  ['an unknown name', { ...NODE, cer: 'x' }, /^unknown tls option cer; is it/],
]

for (const [what, tls, message] of BAD) {
  test(`${what} is a ConfigError of whoever listens and of whoever connects`, async () => {
    const options = { tls: tls as TlsOptions }
    const isRight = (error: unknown): boolean => {
      assert(error instanceof ConfigError)
      assert.match(error.message, message)
      return true
    }
    await assert.rejects(RouterSocket.bind(ANY, SILENT, options), isRight)
    assert.throws(() => new DealerSocket('tls://h:1', identity('d'), SILENT, options), isRight)
  })
}

test('whoever listens needs all parts', async () => {
  await assert.rejects(RouterSocket.bind(ANY, SILENT), {
    message:
      'cannot listen on tls://127.0.0.1:0 without certificates: ' +
      'set the option tls (commands: --tls-ca, --tls-cert and --tls-key), ' +
      'or SCALER_TLS_CA, SCALER_TLS_CERT and SCALER_TLS_KEY',
  })
  const { cert, key } = NODE
  await assert.rejects(RouterSocket.bind(ANY, SILENT, { tls: { cert, key } }), {
    message: 'option tls.ca: needed to listen on tls://127.0.0.1:0',
  })
})

test('without a tls:// address the option has no effect', async (t) => {
  const { router } = await startRouter(t, { tls: { ca: '/nowhere' } })
  const { log } = startDealer(t, router.address, 'd', { tls: { key: '/nowhere' } })
  await told(log, 'connect')
})

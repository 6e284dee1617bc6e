// Handshakes that do not end well: none is mistaken for another, and each is given back to the room
// for descriptors, where it can be closed for others.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect as connectPlain, createServer, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { connect, type TLSSocket } from 'node:tls'
import { CROWDED } from '#src/transport/bounded-log.js'
import type { Closable } from '#src/transport/descriptor-room.js'
import { socketOptions } from '#src/transport/options.js'
import { TlsCredentials } from '#src/transport/tls/credentials.js'
import { TlsEntrance } from '#src/transport/tls/entrance.js'
import { ANONYMOUS } from '#src/transport/tls/trouble.js'
import { certificate, contentsOf } from './certificate.js'
import { until } from './condition.js'

const NODE = certificate('node')

/** An entrance behind a port of all addresses, and what it has reported. */
class Listening {
  readonly begun: Closable[] = []
  readonly done: Closable[] = []
  readonly streams: TLSSocket[] = []
  readonly reasons: string[] = []
  readonly accepted: Socket[] = []
  port = 0

  static async start(t: TestContext): Promise<Listening> {
    const listening = new Listening()
    const { begun, done, streams, reasons, accepted } = listening
    const entrance = new TlsEntrance(TlsCredentials.of(NODE), socketOptions({}), {
      onBegun: (visitor) => begun.push(visitor),
      onDone: (visitor) => done.push(visitor),
      onStream: (stream) => {
        stream.on('error', () => {})
        streams.push(stream)
      },
      onRefused: (_kind, _remote, reason) => reasons.push(reason),
    })
    const server = createServer((socket) => {
      accepted.push(socket)
      entrance.accept(socket)
    })
    server.listen(0, '0.0.0.0')
    await once(server, 'listening')
    listening.port = (server.address() as AddressInfo).port
    t.after(() => {
      entrance.close()
      for (const socket of accepted) socket.destroy()
      server.close()
    })
    return listening
  }

  /** Connects without a word. */
  async visit(t: TestContext, host = '127.0.0.1', localPort = 0): Promise<Socket> {
    const { port } = this
    const socket = connectPlain({ host, port, localAddress: '127.0.0.1', localPort })
    socket.on('error', () => {})
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
}

/** A handshake of TLS over a connection; the peer may be anonymous. */
function shake(socket: Socket, tls: Partial<ReturnType<typeof contentsOf>>): TLSSocket {
  const stream = connect({ socket, ...tls, rejectUnauthorized: false })
  stream.on('error', () => {})
  return stream
}

const isLinux = process.platform === 'linux'

test(
  'connections from one port to two addresses are two',
  { skip: isLinux ? false : 'only Linux has 127.0.0.2 without further ado' },
  async (t) => {
    const listening = await Listening.start(t)
    const { begun, done, streams } = listening
    const first = await listening.visit(t)
    const second = await listening.visit(t, '127.0.0.2', (first.address() as AddressInfo).port)
    await until('both have begun', () => begun.length === 2)
    shake(first, contentsOf(certificate('client')))
    await until('one is in', () => streams.length === 1)
    assert.deepEqual(done, [begun[0]], 'the other one still has to show something')
    second.destroy()
    await until('the other one has left', () => done.length === 2)
    assert.equal(streams[0]?.destroyed, false)
  },
)

test('a connection that follows another one from the same port does not hide its end', async (t) => {
  const listening = await Listening.start(t)
  const { begun, done } = listening
  const first = await listening.visit(t)
  const { port } = first.address() as AddressInfo
  await until('it has begun', () => begun.length === 1)
  // Its end waits until another one from there has begun.
  const [accepted] = listening.accepted
  accepted?.pause()
  first.resetAndDestroy()
  await listening.visit(t, '127.0.0.1', port)
  await until('the next one has begun, and the first has ended', () => {
    accepted?.resume()
    return begun.length === 2 && done.length === 1
  })
  assert.deepEqual(done, [begun[0]])
})

test('a refused peer that does not leave can be closed to make room', async (t) => {
  const listening = await Listening.start(t)
  const { begun, done, reasons } = listening
  shake(await listening.visit(t), {})
  await until('it is refused', () => reasons.length === 1)
  assert.deepEqual(reasons, [ANONYMOUS])
  assert.deepEqual(done, [])
  begun[0]?.close(CROWDED)
  await until('it is gone', () => done.length === 1)
  assert.equal(reasons.length, 1)
})

// Servers that are not schedulers, each in its own way, on free ports of this machine: for tests of
// the messages about them. They end with their test.

import { createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { encodeError, encodeReady } from '#src/transport/zmtp/commands.js'
import { encodeGreeting } from '#src/transport/zmtp/session.js'

const GREETING = encodeGreeting()

/** Listens, and lets `onConnection` send bytes. Returns the address. */
export async function listen(
  t: TestContext,
  onConnection: (socket: Socket) => void,
): Promise<string> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => {})
    socket.resume()
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  return addressOf(server)
}

/** The address of a port without a listener: it was free a moment ago. */
export async function freeAddress(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = addressOf(server)
  await new Promise((resolve) => server.close(resolve))
  return address
}

/** The behaviour of each kind of wrong server. */
export const WRONG_SERVERS: Readonly<Record<string, (socket: Socket) => void>> = {
  mute: () => {},
  closing: (socket) => void socket.destroy(),
  web: (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  // A TLS alert.
  secureWeb: (socket) => void socket.end(Buffer.from('1503030002020a', 'hex')),
  shell: (socket) => void socket.write('SSH-2.0-OpenSSH_9.2\r\n'),
  old: (socket) => void socket.write(Buffer.from('ff00000000000000017f01', 'hex')),
  secure: (socket) => {
    const greeting = Buffer.from(GREETING)
    greeting.write('CURVE\0', 12, 'latin1')
    socket.write(greeting)
  },
  half: (socket) => void socket.write(GREETING),
  refusing: (socket) => void socket.write(Buffer.concat([GREETING, encodeError('not you')])),
  reply: (socket) => void socket.write(handshakeOf('REP')),
  router: (socket) => void socket.write(handshakeOf('ROUTER')),
  // A frame that is not a message of the protocol.
  stranger: (socket) => {
    socket.write(Buffer.concat([handshakeOf('ROUTER'), Buffer.from('\0\u0005hello')]))
  },
}

function handshakeOf(type: string): Buffer {
  return Buffer.concat([GREETING, encodeReady({ 'Socket-Type': type, Identity: '' })])
}

function addressOf(server: Server): string {
  const { port } = server.address() as { readonly port: number }
  return `tcp://127.0.0.1:${port}`
}

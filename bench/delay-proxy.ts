// A TCP proxy that delays everything in both directions, as a network does: a process of its own,
// so that nothing else delays it. Arguments: the port of the target, the delay in milliseconds.

import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

const [port, delayMs] = process.argv.slice(2).map(Number) as [number, number]

function forward(from: Socket, to: Socket): void {
  from.on('data', (bytes) => setTimeout(() => to.write(bytes), delayMs))
  from.on('close', () => setTimeout(() => to.destroy(), delayMs))
  from.on('error', () => {})
}

const server = createServer({ noDelay: true }, (near) => {
  const far = connect({ port, host: '127.0.0.1', noDelay: true })
  forward(near, far)
  forward(far, near)
})

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
process.on('disconnect', () => process.exit())

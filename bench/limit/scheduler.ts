// The least that a scheduler process can do: forward from the client to the agent and vice versa.
// Prints its port on stdout; exits when its stdin closes.

import { createServer, type AddressInfo, type Socket } from 'node:net'
import { Link } from './link.js'

/** The first byte of a connection identifies the peer. */
const CLIENT = 'c'.charCodeAt(0)

let client: Link | undefined
let agent: Link | undefined

const server = createServer((socket: Socket) => {
  socket.setNoDelay(true)
  let isKnown = false
  let isClient = false
  const link = new Link(socket, (bytes, start, end) => {
    if (isKnown) {
      const other = isClient ? agent : client
      other?.send(bytes, start, end)
      return
    }
    isKnown = true
    isClient = bytes[start] === CLIENT
    if (isClient) client = link
    else agent = link
    // The client starts once the agent is connected.
    if (client !== undefined && agent !== undefined) client.send(Buffer.from('ready'))
  })
})
server.listen(0, '127.0.0.1', () => {
  console.log((server.address() as AddressInfo).port)
})
process.stdin.on('close', () => process.exit()).resume()

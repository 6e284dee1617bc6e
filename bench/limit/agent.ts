// The least that an agent process can do: tasks go to its processors in turn, results go back.
// Exits when its stdin closes, and its processors with it.

import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { Link } from './link.js'

const [port, processorCount, resultBytes] = process.argv.slice(2)
const program = fileURLToPath(new URL('./processor.js', import.meta.url))

const socket = connect(Number(port), '127.0.0.1')
socket.setNoDelay(true)
let next = 0
const scheduler = new Link(socket, (bytes, start, end) => {
  next = (next + 1) % processors.length
  processors[next]?.send(bytes, start, end)
})
const processors = Array.from({ length: Number(processorCount) }, () => {
  const child = spawn(process.execPath, [program, String(resultBytes)], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  const pipe = child.stdio[3] as Duplex
  return new Link(pipe, (bytes, start, end) => scheduler.send(bytes, start, end))
})
scheduler.send(Buffer.from('agent'))
process.stdin.on('close', () => process.exit()).resume()

// What large values are compared with: the same bytes, copied by Node as it does by itself through
// the same processes. This file is also the program of these processes: a relay between two
// connections (the scheduler), one that passes on to a child (the agent), and that child.

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(import.meta.url)

/** Bytes on their way there and, if `isBack`, back. */
interface Load {
  readonly bytes: Uint8Array
  readonly isBack: boolean
}

/** The times of `count` copies one after the other, in milliseconds. */
export async function plainCopyMs({ bytes, isBack }: Load, count: number): Promise<number[]> {
  const relay = fork(PROGRAM, ['relay'])
  const [port] = (await once(relay, 'message')) as [number]
  const agent = fork(PROGRAM, ['agent', String(port), String(bytes.length), String(isBack)])
  await once(agent, 'message')
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    const times: number[] = []
    for (let round = 0; round < count; round += 1) {
      const start = performance.now()
      const answered = receive(socket, isBack ? bytes.length : 1)
      socket.write(bytes)
      await answered
      times.push(performance.now() - start)
    }
    return times
  } finally {
    socket.destroy()
    await Promise.all([relay, agent].map(end))
  }
}

/** Resolves when so many bytes have arrived, copied into memory of their own. */
function receive(socket: Socket, size: number): Promise<Uint8Array> {
  const target = Buffer.allocUnsafeSlow(size)
  let at = 0
  return new Promise((resolve) => {
    const onChunk = (chunk: Buffer): void => {
      at += chunk.copy(target, at)
      if (at < size) return
      socket.off('data', onChunk)
      resolve(target)
    }
    socket.on('data', onChunk)
  })
}

async function end(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** The first connection is the agent's. */
function relay(): void {
  let agent: Socket | undefined
  const server = createServer((socket) => {
    if (agent === undefined) agent = socket
    else socket.pipe(agent).pipe(socket)
  })
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
}

function agent(port: number, size: string, isBack: string): void {
  const socket = connect({ port, host: '127.0.0.1' })
  const child = spawn(process.execPath, [PROGRAM, 'processor', size, isBack], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  socket.pipe(child.stdin)
  child.stdout.once('data', () => {
    child.stdout.pipe(socket)
    process.send?.('ready')
  })
}

/** Answers each `size` bytes with one byte, or with all of them. Says first that it is ready. */
function processor(size: number, isBack: boolean): void {
  let target = Buffer.allocUnsafeSlow(size)
  let at = 0
  process.stdin.on('data', (chunk: Buffer) => {
    at += chunk.copy(target, at)
    if (at < size) return
    process.stdout.write(isBack ? target : target.subarray(0, 1))
    target = Buffer.allocUnsafeSlow(size)
    at = 0
  })
  process.stdin.on('end', () => process.exit())
  process.stdout.write('.')
}

if (process.argv[1] === PROGRAM) {
  const [role, first = '', second = '', third = ''] = process.argv.slice(2)
  if (role === 'relay') relay()
  else if (role === 'agent') agent(Number(first), second, third)
  else processor(Number(first), second === 'true')
}

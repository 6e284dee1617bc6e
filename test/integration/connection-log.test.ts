// The connections in a scheduler's log: refused peers, and the address of each peer, but no lines
// about health checks.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from 'scaler-ts'
import { runCommand, startCommand, type LogLine, type RunningCommand } from '../package/command.js'
import { until } from './condition.js'
import { greeting, ready } from './transport-harness.js'

/** Where programs find this package by its name. */
const FOLDER = fileURLToPath(new URL('.', import.meta.url))

interface Stage {
  readonly scheduler: RunningCommand
  readonly address: string
  readonly lines: () => readonly LogLine[]
}

async function stage(t: TestContext, level = 'INFO', args: readonly string[] = []): Promise<Stage> {
  const words = ['--logging-level', level, ...args, 'tcp://127.0.0.1:0']
  const scheduler = startCommand(t, 'scaler-scheduler', words)
  const { address } = await scheduler.line((line) => 'address' in line)
  await scheduler.line((line) => 'monitorAddress' in line)
  const lines = (): readonly LogLine[] =>
    scheduler
      .stdout()
      .split('\n')
      .slice(4, -1)
      .map((line) => JSON.parse(line) as LogLine)
  return { scheduler, address: String(address), lines }
}

async function stranger(t: TestContext, { address }: Stage): Promise<Socket> {
  const socket = connect(Number(address.slice(address.lastIndexOf(':') + 1)), '127.0.0.1')
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

/** Where it comes from; unknown once it is closed. */
function placeOf({ localAddress, localPort }: Socket): string {
  return `${localAddress}:${localPort}`
}

test('health checks are silent at INFO', async (t) => {
  const scene = await stage(t)
  for (const bytes of ['', 'PING\r\n', '\0\0\0\0', greeting().subarray(0, 20), greeting()]) {
    const socket = await stranger(t, scene)
    const closed = once(socket.resume(), 'close')
    socket.end(bytes)
    await closed
    ;(await stranger(t, scene)).resetAndDestroy()
  }
  startCommand(t, 'scaler-cluster', ['-n', '1', scene.address])
  await until('a worker is there', () => scene.lines().length > 0)
  const doctor = await runCommand(t, 'scaler-doctor', [scene.address])
  assert.equal(doctor.code, 0, doctor.stdout)
  assert.deepEqual(
    scene.lines().map(({ message }) => message),
    ['worker connected'],
  )
})

test('DEBUG shows health checks, with their address', async (t) => {
  const scene = await stage(t, 'DEBUG')
  const socket = await stranger(t, scene)
  const remote = placeOf(socket)
  socket.end()
  const line = await scene.scheduler.line((each) => each['remote'] === remote)
  assert.equal(line['level'], 'debug')
  assert.equal(line['message'], 'connection without handshake')
})

const wrong: readonly (readonly [string, Buffer, RegExp])[] = [
  ['HTTP', Buffer.from('GET / HTTP/1.1\r\n\r\n'), /not a ZeroMQ peer: .* speaks HTTP/],
  ['garbage', Buffer.alloc(100, 7), /not a ZeroMQ peer: wrong signature$/],
  ['a wrong type', Buffer.concat([greeting(), ready('PUSH')]), /a ROUTER cannot talk to a "PUSH"/],
  ['nothing', Buffer.alloc(0), /no ZeroMQ handshake within 500 ms/],
]

for (const [name, bytes, why] of wrong) {
  test(`a connection with ${name} is logged with its address, and not each time`, async (t) => {
    const scene = await stage(t, 'INFO', ['--handshake-timeout-seconds', '0.5'])
    const refused = async (): Promise<string> => {
      const socket = await stranger(t, scene)
      const place = placeOf(socket)
      const closed = once(socket.resume(), 'close')
      socket.write(bytes)
      await closed
      return place
    }
    const remote = await refused()
    const line = await scene.scheduler.line(({ message }) => message === 'connection refused')
    assert.equal(line['level'], 'warn')
    assert.equal(line['remote'], remote)
    assert.match(String(line['reason']), why)
    await Promise.all(Array.from({ length: 20 }, refused))
    assert.equal(scene.lines().length, 1, scene.scheduler.stdout())
  })
}

test('a worker logs that its scheduler has closed the connection', async (t) => {
  const scene = await stage(t)
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '1', scene.address])
  const { worker } = await cluster.line(({ message }) => message === 'connected to the scheduler')
  const connected = await scene.scheduler.line(({ message }) => message === 'worker connected')
  assert.equal(connected['worker'], worker)
  scene.scheduler.child.kill('SIGTERM')
  const isLoss = ({ message }: LogLine): boolean => {
    return message === 'lost the connection to the scheduler'
  }
  assert.equal((await cluster.line(isLoss))['reason'], 'the scheduler closed it')
})

test('a killed worker is logged as a warning', async (t) => {
  const scene = await stage(t)
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '1', scene.address])
  await scene.scheduler.line(({ message }) => message === 'worker connected')
  cluster.child.kill('SIGKILL')
  const isLoss = ({ message }: LogLine): boolean => message === 'worker lost its connection'
  assert.equal((await scene.scheduler.line(isLoss))['level'], 'warn')
})

test('a killed client is logged twice, with its unfinished tasks', async (t) => {
  const scene = await stage(t, 'DEBUG')
  const program = `import { Client } from 'scaler-ts'
    const client = await Client.connect(${JSON.stringify(scene.address)})
    client.submit(() => 1).catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 1e6))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: FOLDER })
  t.after(() => child.kill('SIGKILL'))
  await scene.scheduler.line(({ message }) => message === 'task waits for a worker')
  child.kill('SIGKILL')
  const lost = await scene.scheduler.line(({ message }) => message === 'client lost its connection')
  assert.deepEqual([lost['level'], lost['unfinishedTasks']], ['info', 1])
  const gone = await scene.scheduler.line(({ message }) => message === 'client timed out')
  assert.deepEqual([gone['level'], gone['unfinishedTasks']], ['warn', 1])
  const hasRefused = scene.lines().some(({ message }) => String(message).includes('refused'))
  assert.equal(hasRefused, false)
})

test('a stopped scheduler logs which peers wait for the next one', async (t) => {
  const scene = await stage(t, 'DEBUG')
  const client = await Client.connect(scene.address)
  t.after(() => client.close())
  const future = client.submit(() => 1)
  future.catch(() => {})
  await scene.scheduler.line(({ message }) => message === 'task waits for a worker')
  scene.scheduler.child.kill('SIGTERM')
  const line = await scene.scheduler.line(({ message }) => {
    return String(message).includes('still connected')
  })
  assert.deepEqual([line['clients'], line['unfinishedTasks']], [1, 1])
})

test('workers that use the monitor address learn which address to use', async (t) => {
  const scene = await stage(t)
  const { monitorAddress } = await scene.scheduler.line((line) => 'monitorAddress' in line)
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '1', String(monitorAddress)])
  const isFailure = ({ message }: LogLine): boolean => String(message).startsWith('cannot connect')
  const line = await cluster.line(isFailure)
  assert.equal(line['level'], 'warn')
  assert.match(String(line['hint']), /^this is the address for monitors/)
})

test('an HTTP client that leaves immediately is logged nevertheless', async (t) => {
  const scene = await stage(t)
  const socket = await stranger(t, scene)
  socket.end('GET /healthz HTTP/1.1\r\n\r\n')
  const { reason } = await scene.scheduler.line(({ message }) => message === 'connection refused')
  assert.match(String(reason), /HTTP/)
})

test('each line about a peer has its name and its address', async (t) => {
  const scene = await stage(t)
  startCommand(t, 'scaler-cluster', ['-n', '1', scene.address])
  const client = await Client.connect(scene.address)
  t.after(() => client.close())
  await client.submit(() => 1)
  await client.close()
  await scene.scheduler.line(({ message }) => message === 'client disconnected')
  const lines = scene.lines()
  const messages = new Set(lines.map(({ message }) => message))
  const expected = ['client connected', 'client disconnected', 'worker connected']
  assert.deepEqual(messages, new Set(expected))
  for (const line of lines) {
    assert.match(String(line['remote']), /^127\.0\.0\.1:\d+$/)
    assert.match(String(line['client'] ?? line['worker']), /^\d+\|/)
  }
})

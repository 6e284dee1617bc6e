// A scheduler that has no file descriptors left keeps its peers, and accepts new ones as soon as it
// can.

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { Client } from 'scaler-ts'
import { SubSocket } from '#src/transport/sub.js'
import { startCommand, startScheduler } from '../package/command.js'
import { until } from './condition.js'

const canLimit = spawnSync('prlimit', ['--version']).status === 0
const options = canLimit ? {} : { skip: 'prlimit is not installed' }

/** Connections that send nothing; resolves when the system has made all of them. */
async function openIdle(t: TestContext, address: string, count: number): Promise<Socket[]> {
  const port = Number(address.slice(address.lastIndexOf(':') + 1))
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    t.after(() => socket.destroy())
    return socket
  })
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return sockets
}

test(
  'with 200 idle connections to a scheduler of 64 descriptors, tasks run',
  options,
  async (t) => {
    const { scheduler, address } = await startScheduler(t)
    startCommand(t, 'scaler-cluster', ['-n', '1', address])
    const client = await Client.connect(address)
    t.after(() => client.close())
    assert.equal(await client.submit(() => 1), 1)
    const idle = await openIdle(t, address, 100)
    execFileSync('prlimit', ['--pid', String(scheduler.pid), '--nofile=64'])
    idle.push(...(await openIdle(t, address, 100)))
    assert.equal(await client.submit(() => 2), 2)
    const another = await Client.connect(address, { timeoutMs: 10_000 })
    assert.equal(await another.submit(() => 5), 5)
    await another.close()
    for (const socket of idle) socket.destroy()
    // A peer that connects during a shortage may be refused once, and then retries.
    const last = await Client.connect(address, { timeoutMs: 10_000 })
    assert.equal(await last.submit(() => 6), 6)
    await last.close()
    const line = await scheduler.line(({ message }) => message === 'connection refused')
    assert.match(String(line['reason']), /^no file descriptors are left/)
    assert.match(String(line['remote']), /^127\.0\.0\.1:\d+$/)
    assert.equal(scheduler.child.exitCode, null)
  },
)

test('without a single descriptor, tasks with large arguments run', options, async (t) => {
  const { scheduler, address } = await startScheduler(t)
  startCommand(t, 'scaler-cluster', ['-n', '1', address])
  const client = await Client.connect(address)
  t.after(() => client.close())
  const third = (bytes: Uint8Array): number => bytes[3] ?? 0
  const fill = (value: number): Uint8Array => new Uint8Array(100_000).fill(value)
  assert.equal(await client.submit(third, fill(255)), 255)
  const taken = new Set(readdirSync(`/proc/${scheduler.pid}/fd`).map(Number))
  const free = Array.from({ length: 1_000 }, (_, fd) => fd).find((fd) => !taken.has(fd))
  execFileSync('prlimit', ['--pid', String(scheduler.pid), `--nofile=${free}:`])
  const values = Array.from({ length: 20 }, (_, value) => value)
  assert.deepEqual(await client.map(third, values.map(fill)), values)
  const results = await client.map(fill, values)
  assert.deepEqual(results.map(third), values)
  const line = await scheduler.line(({ level }) => level === 'warn')
  assert.match(String(line['message']), /^no file descriptors are left for the files of objects/)
})

test('idle connections for metrics do not keep a peer out', options, async (t) => {
  const { scheduler, address } = await startScheduler(t, ['--metrics-address', '127.0.0.1:0'])
  startCommand(t, 'scaler-cluster', ['-n', '1', address])
  const { metricsAddress } = await scheduler.line((line) => 'metricsAddress' in line)
  execFileSync('prlimit', ['--pid', String(scheduler.pid), '--nofile=64'])
  await openIdle(t, String(metricsAddress), 100)
  const client = await Client.connect(address, { timeoutMs: 10_000 })
  t.after(() => client.close())
  assert.equal(await client.submit(() => 1), 1)
  assert.equal(scheduler.child.exitCode, null)
})

test('a monitor is disconnected before a peer is refused', options, async (t) => {
  const { scheduler, address } = await startScheduler(t)
  const { monitorAddress } = await scheduler.line((line) => 'monitorAddress' in line)
  let isLost = false
  let isConnected = false
  const monitor = new SubSocket(String(monitorAddress), {
    onConnect: () => {},
    onDisconnect: () => (isLost = true),
    onConnectFailed: () => {},
    onMessages: () => (isConnected = true),
  })
  monitor.subscribe('')
  t.after(() => monitor.close())
  await until('the monitor hears something', () => isConnected)
  execFileSync('prlimit', ['--pid', String(scheduler.pid), '--nofile=32'])
  const clients: Client[] = []
  t.after(() => Promise.all(clients.map((client) => client.close())))
  // Each gets a place until there is none; by then the monitor has been disconnected.
  while (!isLost && clients.length < 32) clients.push(await Client.connect(address))
  assert.ok(isLost)
})

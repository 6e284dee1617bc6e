import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import { NO_SCHEDULER_HERE } from '#src/base/features.js'
import type { Diagnosis } from '#src/client/connect/diagnosis.js'
import { runCommand, startCommand, startScheduler } from './command.js'

const NAME = 'scaler-object-storage-server'

test('the server prints its address once it listens, and ends with a signal', async (t) => {
  const server = startCommand(t, NAME, ['--port', '0'])
  const { address, message } = await server.line((line) => 'address' in line)
  assert.match(String(address), /^tcp:\/\/127\.0\.0\.1:[1-9]\d*$/)
  assert.equal(message, `Object storage server: address is ${String(address)}`)
  server.child.kill('SIGTERM')
  assert.equal((await server.ended).code, 143)
})

test('a scheduler learns of a server in both ways', async (t) => {
  const named = startCommand(t, NAME, ['tcp://127.0.0.1:0'])
  const { address } = await named.line((line) => 'address' in line)
  const { scheduler, address: at } = await startScheduler(t, ['-osa', String(address)])
  await scheduler.line((line) => line['server'] === address)
  const registered = startCommand(t, NAME, ['--name', '127.0.0.1', '-p', '0', '--scheduler', at])
  const { address: other } = await registered.line((line) => 'address' in line)
  await scheduler.line((line) => line['server'] === other)
  const doctor = await runCommand(t, 'scaler', ['doctor', at, '--scheduler-only', '--json'])
  const { storageServers } = JSON.parse(doctor.stdout) as Pick<Diagnosis, 'storageServers'>
  assert.deepEqual(
    storageServers?.map((server) => [server.address, server.state, server.trouble]),
    [
      [address, 'up', ''],
      [other, 'up', ''],
    ],
  )
  named.child.kill('SIGKILL')
  await scheduler.line(({ message }) => String(message).startsWith('lost the connection to an'))
})

test('a peer of the server of Python Scaler is refused, with one line', async (t) => {
  const server = startCommand(t, NAME, ['tcp://127.0.0.1:0'])
  const { address } = await server.line((line) => 'address' in line)
  const { hostname, port } = new URL(String(address))
  const socket = connect(Number(port), hostname)
  const header = Buffer.alloc(80)
  header.writeUInt32LE(9, 4)
  socket.on('error', () => {}).resume()
  socket.write(header)
  const { reason } = await server.line(({ message }) => message === 'connection refused')
  assert.match(String(reason), /it speaks the object storage protocol of Python Scaler$/)
  if (!socket.closed) await once(socket, 'close')
})

const WRONG_USAGE: readonly (readonly string[])[] = [
  ['nowhere'],
  ['tcp://127.0.0.1:0', '--port', '1'],
  ['tcp://127.0.0.1:0', '--name', 'localhost'],
  ['tcp://127.0.0.1:0', 'tcp://127.0.0.1:0'],
  ['--port', '65536'],
  ['--name', 'no host', '--port', '0'],
  ['tcp://127.0.0.1:0', '--scheduler', 'tcp://127.0.0.1'],
  ['tcp://127.0.0.1:0', '--scheduler', 'tcp://*:1'],
  ['tcp://127.0.0.1:0', '--memory-limit-bytes', '1'],
  ['tcp://127.0.0.1:0', '--disk-limit-bytes', '-1'],
  ['tcp://127.0.0.1:0', '--spill-directory', 'relative'],
  ['tcp://127.0.0.1:0', '--object-directory', '/no/such/directory'],
]

for (const args of WRONG_USAGE) {
  test(`wrong usage is one line and exit code 2: ${args.join(' ')}`, async (t) => {
    const end = await runCommand(t, NAME, args)
    assert.equal(end.code, 2)
    assert.match(end.stderr, /^scaler_object_storage_server: [^\n]+\n$/)
  })
}

test('a wrong limit is named by its flag', async (t) => {
  const end = await runCommand(t, NAME, ['tcp://127.0.0.1:0', '--spill-directory', 'relative'])
  assert.match(end.stderr, /--spill-directory/)
})

test('a host that is none is named by its option', async (t) => {
  for (const wrong of ['', '10.0.0.256', 'a:b']) {
    const end = await runCommand(t, NAME, ['--name', wrong, '--port', '0'])
    assert.equal(end.code, 2)
    assert.match(end.stderr, /^scaler_object_storage_server: --name: [^\n]+\n$/)
  }
})

test('a server that registers with another one says what is wrong', async (t) => {
  const server = startCommand(t, NAME, ['--port', '0'])
  const { address } = await server.line((line) => 'address' in line)
  const other = startCommand(t, NAME, ['--port', '0', '--scheduler', String(address)])
  await other.line(({ message }) => {
    return message === `cannot register: ${NO_SCHEDULER_HERE}`
  })
})

test('a scheduler refuses addresses that name no server', async (t) => {
  for (const wrong of ['nowhere', 'tcp://127.0.0.1:0', 'tcp://10.0.0.1:1,tcp://10.0.0.2']) {
    const end = await runCommand(t, 'scaler-scheduler', ['tcp://127.0.0.1:0', '-osa', wrong])
    assert.equal(end.code, 2)
    assert.match(end.stderr, /^scaler_scheduler: [^\n]*-address[^\n]*\n$/)
  }
})

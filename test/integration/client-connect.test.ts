// How a client finds its scheduler, or reports that there is none.

import assert from 'node:assert/strict'
import { createServer, type Server, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { Client, ConfigError, ConnectError, Scheduler } from 'scaler-ts'
import { RouterScheduler } from './client-scheduler.js'
import { until } from './condition.js'

/** A server that is not a scheduler. Returns its address; `connections` counts the open ones. */
async function listen(
  context: TestContext,
  onConnection: (socket: Socket) => void,
): Promise<{ readonly address: string; readonly server: Server; readonly open: Set<Socket> }> {
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
    socket.on('error', () => {})
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  context.after(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const { port } = server.address() as { readonly port: number }
  return { address: `tcp://127.0.0.1:${port}`, server, open }
}

/** The error of `connect` when the time is over. */
async function failure(address: string, timeoutMs: number): Promise<ConnectError> {
  const error = await connectError(address, timeoutMs)
  assert.match(error.message, new RegExp(`no scheduler at ${address} within ${timeoutMs} ms: `))
  return error
}

/** The error of `connect` without waiting: its time limit is far longer than the test. */
async function finalFailure(address: string): Promise<ConnectError> {
  const error = await connectError(address, 2 ** 31 - 1)
  assert.match(error.message, new RegExp(`no scheduler at ${address}: `))
  return error
}

async function connectError(address: string, timeoutMs: number): Promise<ConnectError> {
  const error: unknown = await Client.connect(address, { timeoutMs }).catch(
    (reason: unknown) => reason,
  )
  assert(error instanceof ConnectError, `not a ConnectError: ${String(error)}`)
  assert.equal(error.code, 'ERR_SCALER_CONNECT')
  return error
}

test('connect resolves when the scheduler has answered', async () => {
  const scheduler = await RouterScheduler.start()
  const client = await Client.connect(scheduler.address)
  assert.equal(scheduler.fake.heartbeats, 1)
  assert.equal(client.address, scheduler.address)
  assert.match(client.identity, /^\d+\|Client\|[0-9a-f]{32}$/)
  await client.disconnect()
  await scheduler.stop()
})

test('connect waits for a scheduler that starts later', async () => {
  const scheduler = await RouterScheduler.start()
  await scheduler.stop()
  const connecting = Client.connect(scheduler.address)
  await scheduler.listen()
  const client = await connecting
  await client.disconnect()
  await scheduler.stop()
})

test('connect says that the connection was refused', async (context) => {
  const { address, server } = await listen(context, () => {})
  await new Promise((resolve) => server.close(resolve))
  const error = await failure(address, 1_000)
  assert.match(error.message, /refused: nothing is listening at 127.0.0.1 port \d+.*attempts?\)$/)
})

test('connect reports that the peer is not a scheduler', async (context) => {
  const { address, open } = await listen(context, (socket) => {
    socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  const error = await finalFailure(address)
  assert.match(error.message, /not speak ZeroMQ: it sent "HTTP\/1.1 400 Bad Request"/)
  await until('nothing is left open', () => open.size === 0)
})

test('connect says that nothing answered', async (context) => {
  const { address, open } = await listen(context, (socket) => socket.resume())
  const error = await failure(address, 200)
  assert.match(error.message, /accepts connections, but has sent nothing within 200 ms/)
  await until('nothing is left open', () => open.size === 0)
})

test('connect says that it has found the address for monitors', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const error = await finalFailure(scheduler.monitorAddress)
  assert.match(
    error.message,
    new RegExp(
      `this is the address for monitors; use the address of the scheduler, ${scheduler.address}`,
    ),
  )
})

test('connect says that the peer speaks another version or requires a password', async (context) => {
  const old = Buffer.from('ff00000000000000017f0105', 'hex')
  const curve = Buffer.alloc(64)
  curve.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 1])
  curve.write('CURVE', 12)
  for (const [greeting, why] of [
    [old, /the peer speaks ZMTP 1; 3.0 or later is required/],
    [curve, /CURVE/],
  ] as const) {
    const { address } = await listen(context, (socket) => socket.resume().write(greeting))
    const error = await finalFailure(address)
    assert.match(error.message, why)
  }
})

test('connect gives up on a scheduler that never echoes', async () => {
  const scheduler = await RouterScheduler.start()
  scheduler.fake.isMute = true
  const error = await failure(scheduler.address, 200)
  assert.match(error.message, /port \d+ speaks ZeroMQ, but has not answered as a scheduler/)
  await until('it has left', () => scheduler.peerCount === 0)
  await scheduler.stop()
})

test('connect without reconnect fails with the first lost connection', async () => {
  const scheduler = await RouterScheduler.start()
  scheduler.fake.isMute = true
  const connecting = Client.connect(scheduler.address, { reconnect: false })
  await until('it has connected', () => scheduler.fake.heartbeats === 1)
  scheduler.dropConnections()
  await assert.rejects(connecting, ConnectError)
  await scheduler.stop()
})

test('a wrong address or option is reported immediately', async () => {
  for (const address of ['', 'localhost', 'http://localhost:80', 'tcp://localhost', 'tcp://*:0']) {
    assert.throws(() => new Client(address), ConfigError, address)
    await assert.rejects(Client.connect(address), ConfigError)
  }
  await assert.rejects(Client.connect('tcp://127.0.0.1:1', { timeoutMs: 0 }), ConfigError)
  await assert.rejects(Client.local({ timeoutMs: 0 }), ConfigError)
})

test('without an address, connect uses the one of the environment', async (context) => {
  const before = process.env['SCALER_ADDRESS']
  context.after(() => {
    if (before === undefined) delete process.env['SCALER_ADDRESS']
    else process.env['SCALER_ADDRESS'] = before
  })
  delete process.env['SCALER_ADDRESS']
  assert.throws(() => new Client(), /^ConfigError: no address: .*SCALER_ADDRESS.*`scaler run`$/)
  await assert.rejects(Client.connect(), ConfigError)
  const scheduler = await RouterScheduler.start()
  process.env['SCALER_ADDRESS'] = scheduler.address
  for (const client of [new Client(), new Client(undefined, {}), await Client.connect()]) {
    assert.equal(client.address, scheduler.address)
    await client.close()
  }
  await scheduler.stop()
})

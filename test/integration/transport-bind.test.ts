// Addresses on a real system: those that can be bound, those that cannot, and leftover files.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { RouterSocket, type RouterHandler } from '#src/transport/router.js'
import { rawListen, startDealer, startRouter, tempDir, textsOf, told } from './transport-harness.js'

const SILENT: RouterHandler = {
  onMessages: () => {},
  onConnect: () => {},
  onDisconnect: () => {},
  onDrain: () => {},
  onProgress: () => {},
}

const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((each) => each?.address === '::1')

const forms: readonly (readonly [
  bind: string,
  shown: RegExp,
  connect: (port: string) => string,
])[] = [
  ['tcp://127.0.0.1:0', /^tcp:\/\/127\.0\.0\.1:\d+$/, (port) => `tcp://127.0.0.1:${port}`],
  ['tcp://127.0.0.1:*', /^tcp:\/\/127\.0\.0\.1:\d+$/, (port) => `tcp://127.0.0.1:${port}`],
  ['tcp://*:0', /^tcp:\/\/\*:\d+$/, (port) => `tcp://127.0.0.1:${port}`],
  ['tcp://localhost:0', /^tcp:\/\/localhost:\d+$/, (port) => `tcp://localhost:${port}`],
  ['tcp://[::1]:0', /^tcp:\/\/\[::1\]:\d+$/, (port) => `tcp://[::1]:${port}`],
]

for (const [bind, shown, connect] of forms) {
  test(
    `${bind} is bound with a real port`,
    { skip: bind.includes('::') && !hasIpv6 },
    async (t) => {
      const { router, log } = await startRouter(t, {}, bind)
      assert.match(router.address, shown)
      const port = router.address.split(':').at(-1) ?? ''
      assert.notEqual(port, '0')
      const { dealer } = startDealer(t, connect(port), 'd')
      dealer.send(Buffer.from('hello'))
      await told(log, 'message')
    },
  )
}

test('an address in use is an error with its code and the address', async (t) => {
  const { router } = await startRouter(t)
  await assert.rejects(
    RouterSocket.bind(router.address, SILENT),
    (error: NodeJS.ErrnoException) => {
      assert.equal(error.code, 'EADDRINUSE')
      assert(error.message.startsWith(`cannot listen on ${router.address}: `), error.message)
      assert.match(error.message, /EADDRINUSE/)
      assert(error.cause instanceof Error)
      return true
    },
  )
  const { router: other } = await startRouter(t)
  assert.notEqual(other.address, router.address)
})

test('an address that is not ours, and a host that does not exist, are errors with codes', async () => {
  const foreign = RouterSocket.bind('tcp://192.0.2.1:0', SILENT)
  await assert.rejects(foreign, { code: 'EADDRNOTAVAIL' })
  await assert.rejects(
    RouterSocket.bind('tcp://no-such-host.invalid:0', SILENT),
    (error: NodeJS.ErrnoException) => {
      assert.match(error.code ?? '', /^(ENOTFOUND|EAI_AGAIN)$/)
      assert.match(
        error.message,
        /cannot listen on tcp:\/\/no-such-host\.invalid:0: .*no-such-host/,
      )
      return true
    },
  )
})

test('an ipc address works, and its file is gone after close', async (t) => {
  const path = join(tempDir(t), 'socket')
  const { router, log } = await startRouter(t, {}, `ipc://${path}`)
  assert.equal(router.address, `ipc://${path}`)
  assert(statSync(path).isSocket())
  const { dealer, log: dealerLog } = startDealer(t, router.address, 'd')
  dealer.send(Buffer.from('echo'))
  await told(dealerLog, 'message')
  assert.equal(log.events[0]?.peer, 'd')
  await router.close()
  assert.equal(existsSync(path), false)
})

test('a socket file without a listener is replaced', async (t) => {
  const path = join(tempDir(t), 'socket')
  leaveStaleSocket(path)
  assert(statSync(path).isSocket())
  const { log } = await startRouter(t, {}, `ipc://${path}`)
  startDealer(t, `ipc://${path}`, 'd')
  await told(log, 'connect')
})

test('a socket file with a listener is left alone', async (t) => {
  const address = `ipc://${join(tempDir(t), 'socket')}`
  const { router, log } = await startRouter(t, {}, address)
  await assert.rejects(RouterSocket.bind(address, SILENT), { code: 'EADDRINUSE' })
  startDealer(t, router.address, 'd')
  await told(log, 'connect')
})

test('a file that is not a socket is left alone', async (t) => {
  const path = join(tempDir(t), 'file')
  writeFileSync(path, 'precious')
  await assert.rejects(RouterSocket.bind(`ipc://${path}`, SILENT), { code: 'EADDRINUSE' })
  assert.equal(statSync(path).size, 8)
})

test('a missing directory is an error with its code', async (t) => {
  const path = join(tempDir(t), 'missing', 'socket')
  await assert.rejects(
    RouterSocket.bind(`ipc://${path}`, SILENT),
    (error: NodeJS.ErrnoException) => {
      assert.match(error.code ?? '', /^(ENOENT|EACCES)$/)
      assert(error.message.includes(path))
      return true
    },
  )
})

test('a dealer reports which address refused it, and keeps trying', async (t) => {
  const { address, server } = await rawListen(t, () => {})
  await new Promise((resolve) => server.close(resolve))
  const { log } = startDealer(t, address, 'd')
  await told(log, 'failed', 3)
  const [reason = ''] = textsOf(log, 'failed')
  assert.match(reason, /ECONNREFUSED/)
  assert(reason.includes(address.slice('tcp://'.length)), reason)
})

test('a dealer reports that a host does not exist, and keeps trying', async (t) => {
  const { log } = startDealer(t, 'tcp://no-such-host.invalid:1', 'd')
  await told(log, 'failed', 2)
  assert.match(textsOf(log, 'failed')[0] ?? '', /(ENOTFOUND|EAI_AGAIN).*no-such-host\.invalid/)
})

/** As a killed process leaves it: a bound file without a listener. */
function leaveStaleSocket(path: string): void {
  const listen =
    `require('net').createServer().listen(${JSON.stringify(path)},` +
    `() => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', listen])
}

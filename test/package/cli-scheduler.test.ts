import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { runCommand, startCommand, startScheduler, until } from './command.js'

/** A port in use. */
async function takenPort(t: TestContext): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Binds a port to check that it is free again. */
async function assertFree(address: string): Promise<void> {
  const server = createServer().listen(Number(new URL(address).port), '127.0.0.1')
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

test('the scheduler prints its address and its monitor address once it listens', async (t) => {
  const { scheduler, address } = await startScheduler(t)
  assert.match(address, /^tcp:\/\/127\.0\.0\.1:[1-9]\d*$/)
  const line = await scheduler.line((each) => 'address' in each)
  assert.equal(line['message'], `Scheduler: address is ${address}`)
  const monitor = await scheduler.line((each) => 'monitorAddress' in each)
  assert.equal(
    monitor['message'],
    `Scheduler: monitor address is ${String(monitor['monitorAddress'])}`,
  )
  assert.match(String(monitor['monitorAddress']), /^tcp:\/\/127\.0\.0\.1:[1-9]\d*$/)
})

test('a chosen port is printed, too, if the log does not say it', async (t) => {
  const scheduler = startCommand(t, 'scaler-scheduler', ['tcp://127.0.0.1:0', '-ll', 'ERROR'])
  const place = String.raw`tcp:\/\/127\.0\.0\.1:[1-9]\d*`
  const text = `^Scheduler: address is ${place}\nScheduler: monitor address is ${place}\n$`
  await until(() => new RegExp(text).test(scheduler.stdout()))
})

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const) {
  test(`the scheduler ends with ${code} after ${signal} and frees its port`, async (t) => {
    const { scheduler, address } = await startScheduler(t)
    scheduler.child.kill(signal)
    const end = await scheduler.ended
    assert.deepEqual({ code: end.code, stderr: end.stderr }, { code, stderr: '' })
    await assertFree(address)
  })
}

test('the monitor address can be chosen, by its long and its short flag', async (t) => {
  for (const flag of ['--monitor-address', '-ma']) {
    const args = ['tcp://127.0.0.1:0', flag, 'tcp://[::1]:0', '--protected']
    const scheduler = startCommand(t, 'scaler-scheduler', args)
    const { monitorAddress } = await scheduler.line((line) => 'monitorAddress' in line)
    assert.match(String(monitorAddress), /^tcp:\/\/\[::1\]:[1-9]\d*$/)
  }
})

test('a port in use is one line on stderr and exit code 1', async (t) => {
  const address = `tcp://127.0.0.1:${await takenPort(t)}`
  const end = await runCommand(t, 'scaler-scheduler', [address])
  assert.equal(end.code, 1)
  assert.match(end.stderr, /^scaler_scheduler: [^\n]*in use[^\n]*\n$/)
  assert.ok(end.stderr.includes(address))
})

test('a monitor port in use is also one line on stderr and exit code 1', async (t) => {
  const monitorAddress = `tcp://127.0.0.1:${await takenPort(t)}`
  const end = await runCommand(t, 'scaler-scheduler', [
    'tcp://127.0.0.1:0',
    '--monitor-address',
    monitorAddress,
  ])
  assert.equal(end.code, 1)
  assert.match(end.stderr, /^scaler_scheduler: [^\n]*in use[^\n]*\n$/)
  assert.ok(end.stderr.includes(monitorAddress))
})

test('a host name that does not exist is one line on stderr and exit code 1', async (t) => {
  const end = await runCommand(t, 'scaler-scheduler', ['tcp://no-such-host.invalid:0'])
  assert.equal(end.code, 1)
  assert.match(end.stderr, /^scaler_scheduler: [^\n]*no-such-host\.invalid[^\n]*\n$/)
})

const WRONG_USAGE: readonly (readonly string[])[] = [
  [],
  ['tcp://127.0.0.1'],
  ['tcp://127.0.0.1:65536'],
  ['tcp://127.0.0.1:-1'],
  ['http://127.0.0.1:80'],
  ['127.0.0.1:80'],
  ['tcp://127.0.0.1:0', 'tcp://127.0.0.1:0'],
  ['tcp://127.0.0.1:0', '--no-such-flag'],
  ['tcp://127.0.0.1:0', '--monitor-address', 'nowhere'],
  ['tcp://127.0.0.1:0', '--per-worker-queue-size', '0'],
  ['tcp://127.0.0.1:0', '--worker-timeout-seconds', 'soon'],
  ['tcp://127.0.0.1:0', '--worker-silence-seconds', '0'],
  ['tcp://127.0.0.1:0', '-ls', '-1'],
  ['tcp://127.0.0.1:0', '-ll', 'loud'],
]

for (const args of WRONG_USAGE) {
  test(`wrong usage is one line and exit code 2: ${args.join(' ') || 'no address'}`, async (t) => {
    const end = await runCommand(t, 'scaler-scheduler', args)
    assert.equal(end.code, 2)
    assert.match(end.stderr, /^scaler_scheduler: [^\n]+\n$/)
    assert.equal(end.stdout, '')
  })
}

test('a mistyped flag is answered with the nearest one', async (t) => {
  const end = await runCommand(t, 'scaler-scheduler', ['tcp://127.0.0.1:0', '--protcted'])
  assert.match(end.stderr, /--protected/)
})

test('the scheduler exits when its stdin ends, if SCALER_LIFELINE asks for it', async (t) => {
  const env = { SCALER_LIFELINE: 'stdin' }
  const scheduler = startCommand(t, 'scaler-scheduler', ['tcp://127.0.0.1:0'], env)
  await scheduler.line((line) => 'monitorAddress' in line)
  scheduler.child.stdin?.end()
  assert.equal((await scheduler.ended).code, 0)
})

test('without SCALER_LIFELINE, the scheduler ignores the end of its stdin', async (t) => {
  const { scheduler, address } = await startScheduler(t)
  scheduler.child.stdin?.end()
  const other = await runCommand(t, 'scaler-scheduler', [address])
  assert.equal(other.code, 1, 'the first one still has the port')
  scheduler.child.kill('SIGTERM')
  assert.equal((await scheduler.ended).code, 143)
})

test('the scheduler continues when the reader of its log is gone', async (t) => {
  const { scheduler, address } = await startScheduler(t)
  scheduler.child.stdout?.destroy()
  const other = await runCommand(t, 'scaler-scheduler', [address])
  assert.equal(other.code, 1, 'the first one still has the port')
  scheduler.child.kill('SIGINT')
  const [code] = (await once(scheduler.child, 'exit')) as [number]
  assert.equal(code, 130)
})

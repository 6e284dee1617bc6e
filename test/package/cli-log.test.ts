// The log of a command: its first lines, and the lines about options without effect.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Client } from 'scaler-ts'
import {
  childrenOf,
  isAlive,
  ROOT,
  startCommand,
  startScheduler,
  until,
  type LogLine,
} from './command.js'

const FREE = 'tcp://127.0.0.1:0'

const { version: PACKAGE_VERSION } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as {
  readonly version: string
}

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'log-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

/** The messages of a log. */
function messagesOf(stdout: string): readonly string[] {
  const lines = stdout.split('\n').filter((line) => line !== '')
  return lines.map((line) => (JSON.parse(line) as { readonly message: string }).message)
}

test('a log begins with its destination and its event loop', async (t) => {
  const { scheduler, address } = await startScheduler(t)
  await scheduler.line((line) => 'monitorAddress' in line)
  const [first, second, third, fourth] = messagesOf(scheduler.stdout())
  assert.equal(first, "logging to ('/dev/stdout',)")
  assert.equal(second, 'use event loop: builtin (libuv)')
  assert.equal(third, `Scheduler: address is ${address}`)
  assert.match(fourth ?? '', /^Scheduler: monitor address is tcp:\/\/127\.0\.0\.1:\d+$/)
})

for (const name of ['scaler-scheduler', 'scaler-cluster']) {
  test(`${name} begins its log with its version, and ends it with why and when it stopped`, async (t) => {
    const { address } = await startScheduler(t)
    const words = name === 'scaler-scheduler' ? [FREE] : ['-n', '1', address]
    const command = startCommand(t, name, words)
    await command.line(({ message }) => /monitor address|is ready/.test(String(message)))
    command.child.kill('SIGTERM')
    const { code, stdout } = await command.ended
    assert.equal(code, 143)
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as LogLine)
    assert.equal(lines[0]?.['version'], PACKAGE_VERSION)
    const { level, message, reason, uptimeSeconds } = lines.at(-1) ?? {}
    const calledAs = name.replace('-', '_')
    assert.deepEqual([level, message, reason], ['info', `${calledAs}: stopped`, 'SIGTERM'])
    assert.ok(Number(uptimeSeconds) > 0, stdout)
  })
}

test('a scheduler that a client has shut down logs this at the end', async (t) => {
  const { scheduler, address } = await startScheduler(t)
  const client = await Client.connect(address)
  await client.shutdown()
  const { code, stdout } = await scheduler.ended
  assert.equal(code, 0)
  const end = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as LogLine
  assert.equal(end['message'], 'scaler_scheduler: stopped')
  assert.match(String(end['reason']), /client shut the cluster down/)
})

test('the cluster logs what it starts, with its main settings', async (t) => {
  const { address } = await startScheduler(t)
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '2', '-hi', '1.5', address])
  await cluster.line((line) => String(line['message']).endsWith(' ready'))
  const messages = messagesOf(cluster.stdout())
  const started = messages.indexOf('Worker[0] started')
  const [line = ''] = messages.slice(2)
  assert.match(line, /^ClusterProcess: starting 2 workers, heartbeat_interval_seconds=1\.5, /)
  assert.match(line, /task_timeout_seconds=0/)
  assert.ok(started > 2)
  assert.ok(messages.includes('Worker[1] started'))
})

test('an option without effect is logged, by the name under which it was given', async (t) => {
  const env = { SCALER_IO_THREADS: '4' }
  const words = ['--event-loop', 'uvloop', FREE]
  const scheduler = startCommand(t, 'scaler-scheduler', words, env)
  await scheduler.line((line) => 'monitorAddress' in line)
  const told = messagesOf(scheduler.stdout()).filter((text) => text.includes('is unnecessary'))
  assert.equal(told.length, 2)
  assert.equal(
    told[0],
    '--event-loop uvloop is unnecessary: Node has the same event loop as uvloop: libuv',
  )
  assert.match(told[1] ?? '', /^SCALER_IO_THREADS 4 is unnecessary: /)
})

test('a switch without effect is logged as well', async (t) => {
  const { address } = await startScheduler(t)
  const cluster = startCommand(t, 'scaler-worker', ['-n', '1', '-hps', '-la', FREE, address])
  const line = await cluster.line((each) => String(each['message']).startsWith('--hard-pro'))
  assert.match(String(line['message']), /^--hard-processor-suspend is unnecessary: /)
  await cluster.line((each) => /^--log-hub-address .* is unnecessary/.test(String(each['message'])))
})

test('defaults are not logged', async (t) => {
  const { scheduler } = await startScheduler(t)
  await scheduler.line((line) => 'monitorAddress' in line)
  assert.doesNotMatch(scheduler.stdout(), /unnecessary/)
})

test('an empty list of paths turns the log off', async (t) => {
  const path = join(folder(t), 'socket')
  const scheduler = startCommand(t, 'scaler-scheduler', ['--logging-paths', `ipc://${path}`])
  await until(() => existsSync(path))
  scheduler.child.kill('SIGTERM')
  const end = await scheduler.ended
  assert.deepEqual([end.code, end.stdout, end.stderr], [143, '', ''])
})

test('a log continues in a new file after SIGHUP', async (t) => {
  if (process.platform === 'win32') return t.skip('there is no SIGHUP here')
  const path = join(folder(t), 'scaler.log')
  const words = ['--logging-paths', path, '/dev/stdout', FREE]
  const scheduler = startCommand(t, 'scaler-scheduler', words)
  await scheduler.line((line) => 'monitorAddress' in line)
  renameSync(path, `${path}.1`)
  scheduler.child.kill('SIGHUP')
  await until(() => existsSync(path))
  scheduler.child.kill('SIGTERM')
  assert.equal((await scheduler.ended).code, 143)
  assert.match(readFileSync(`${path}.1`, 'utf8'), /Scheduler: address is/)
})

test('at level WARNING, nothing is logged as long as nothing goes wrong', async (t) => {
  const path = join(folder(t), 'socket')
  const scheduler = startCommand(t, 'scaler-scheduler', ['-ll', 'warning', `ipc://${path}`])
  await until(() => existsSync(path))
  scheduler.child.kill('SIGINT')
  const end = await scheduler.ended
  assert.deepEqual([end.code, end.stdout, end.stderr], [130, '', ''])
})

const isLinux = process.platform === 'linux'

test('on a terminal a log is lines of text', { skip: !isLinux }, async (t) => {
  const { terminal, output } = onTerminal(t)
  await until(() => output().includes('monitor address is'))
  const [first = '', second = '', third = ''] = output().split('\r\n')
  assert.match(
    first,
    /^\[INFO\]\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d{4}: logging to \('\/dev\/stdout',\) version=\d+\.\d+\.\d+\S*$/,
  )
  assert.match(second, /^\[INFO\].*: use event loop: builtin \(libuv\)$/)
  assert.match(third, /^\[INFO\].*: Scheduler: address is tcp:\/\/127\.0\.0\.1:\d+$/)
  terminal.stdin.write('\u0003')
  const [code] = (await once(terminal, 'close')) as [number]
  assert.equal(code, 130)
})

test('a command exits when its terminal is closed', { skip: !isLinux }, async (t) => {
  const { terminal, output } = onTerminal(t)
  await until(() => output().includes('monitor address is'))
  const [scheduler = 0] = childrenOf(terminal.pid ?? 0)
  assert.ok(isAlive(scheduler))
  terminal.kill('SIGKILL')
  await until(() => !isAlive(scheduler))
})

/** A scheduler on a terminal of its own. */
function onTerminal(t: TestContext): {
  readonly terminal: ReturnType<typeof spawnTerminal>
  readonly output: () => string
} {
  const terminal = spawnTerminal()
  t.after(() => terminal.kill('SIGKILL'))
  let text = ''
  terminal.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  return { terminal, output: () => text }
}

function spawnTerminal(): ReturnType<typeof spawn> & {
  readonly stdin: NonNullable<ReturnType<typeof spawn>['stdin']>
  readonly stdout: NonNullable<ReturnType<typeof spawn>['stdout']>
} {
  const command = `exec ${process.execPath} ${ROOT}dist/cli/scaler-scheduler.js ${FREE}`
  return spawn('script', ['-qfec', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NO_COLOR: '1' },
  })
}

// Errors at the start of a command: one line on stderr that says what to fix, nothing on stdout, and
// the exit code: 2 for wrong usage, 1 for a failure at run time.

import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ROOT, runCommand, startCommand, type CommandEnd } from './command.js'

const FREE = 'tcp://127.0.0.1:0'
const SOMEWHERE = 'tcp://127.0.0.1:1'
/** An address reserved for documentation: no machine has it. */
const NO_INTERFACE = 'tcp://203.0.113.9:1'

/** A configuration file for this test. */
function file(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'bad-input-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'scaler.toml')
  writeFileSync(path, text)
  return path
}

function assertOneLine(end: CommandEnd, code: number, line: RegExp): void {
  assert.deepEqual({ code: end.code, stdout: end.stdout }, { code, stdout: '' }, end.stderr)
  assert.match(end.stderr, /^[^\n]+\n$/)
  assert.match(end.stderr, line)
}

/** Executable, words, exit code, and the line. */
type Case = readonly [name: string, words: readonly string[], code: number, line: RegExp]

const CASES: readonly Case[] = [
  [
    'scaler-scheduler',
    [NO_INTERFACE],
    1,
    /^scaler_scheduler: cannot listen on tcp:\/\/203\.0\.113\.9:1: .*address/i,
  ],
  [
    'scaler-scheduler',
    [FREE, '-ma', NO_INTERFACE],
    1,
    /^scaler_scheduler: -ma \(--monitor-address\): cannot listen on tcp:\/\/203\.0\.113\.9:1/,
  ],
  [
    'scaler-scheduler',
    ['ipc:///no/such/dir/s'],
    1,
    /: cannot listen on ipc:\/\/\/no\/such\/dir\/s: the directory \/no does not exist$/m,
  ],
  ['scaler-scheduler', ['ipc:///usr'], 1, /ipc:\/\/\/usr: it is a directory; name a file in it$/m],
  [
    'scaler-scheduler',
    ['ipc:///etc/passwd'],
    1,
    /ipc:\/\/\/etc\/passwd: a file of that name exists and is not a socket$/m,
  ],
  ['scaler-scheduler', ['ipc:///etc/passwd/s'], 1, /: \/etc\/passwd is not a directory$/m],
  [
    'scaler',
    ['config', 'scheduler', 'extra'],
    2,
    /^scaler config: address "extra": expected tcp:\/\/host:port, tls:\/\/host:port or ipc:\/\/\/path/,
  ],
  ['scaler', ['config', 'cluster', 'tcp://*:1'], 2, /the host \* is only for listening/],
  [
    'scaler',
    ['config', 'cluster', '--capabilities', 'gpu=1.5'],
    2,
    /^scaler config: --capabilities: expected a whole number of gpu from 0 to 100000, got "gpu=1.5"$/m,
  ],
  [
    'scaler',
    ['scheduler', '--config', '/dev/zero', FREE],
    2,
    /^scaler scheduler: cannot read the configuration file \/dev\/zero: it is longer than 1 MiB$/m,
  ],
  ['scaler-scheduler', ['tcp://no-such-host.invalid:1'], 1, /no-such-host\.invalid/],
  [
    'scaler-cluster',
    ['-n', '0', SOMEWHERE],
    2,
    /^scaler_cluster: -n \(--num-of-workers\): expected a whole number from 1 to 4096, got "0"/,
  ],
  ['scaler-cluster', ['-n', '-1', SOMEWHERE], 2, /from 1 to 4096, got "-1"/],
  ['scaler-worker', ['-n', '-1', SOMEWHERE], 2, /^scaler_worker: -n /],
  [
    'scaler-cluster',
    ['-n', '1', '--worker-names', 'a,b', SOMEWHERE],
    2,
    /--worker-names: expected one name per worker, got 2 names for 1 workers?/,
  ],
  [
    'scaler-scheduler',
    [FREE, '--worker-timeout-second', 'soon'],
    2,
    /--worker-timeout-seconds: expected seconds from 0\.1 to 86400, got "soon"/,
  ],
  [
    'scaler-scheduler',
    [FREE, '--worker-timout-seconds', '5'],
    2,
    /is it --worker-timeout-seconds\?/,
  ],
  [
    'scaler-scheduler',
    [FREE, '-e', 'uvlop'],
    2,
    /expected builtin or uvloop, got "uvlop"; is it uv/,
  ],
  ['scaler-scheduler', [FREE, '-ll', 'inof'], 2, /-ll \(--logging-level\): .*; is it INFO\?$/m],
  [
    'scaler-scheduler',
    [FREE, '--logging-paths', '/no/such/folder/x.log'],
    1,
    /cannot write the log to \/no\/such\/folder\/x\.log: there is no such/,
  ],
  ['scaler-cluster', [SOMEWHERE, '--logging-paths', tmpdir()], 1, /it is a directory/],
  [
    'scaler-scheduler',
    ['--config', '/no/such/scaler.toml', FREE],
    2,
    /cannot read the configuration file \/no\/such\/scaler\.toml: there is no such file/,
  ],
  ['scaler', ['scheduler', FREE, '--logging-config-file', '/no/such'], 2, /cannot read \/no\/such/],
]

for (const [name, words, code, line] of CASES) {
  test(`one line and exit code ${code}: ${name} ${words.join(' ')}`, async (t) => {
    assertOneLine(await runCommand(t, name, words), code, line)
  })
}

const FILES: readonly (readonly [text: string, line: RegExp])[] = [
  ['[scheduler]\nprotected = yes\n', /scaler\.toml:2:13: /],
  [
    '[scheduler]\nworker-timeout = 5\n',
    /scaler\.toml:2:1: \[scheduler\] worker-timeout: there is no such option; is it worker-timeout-s/,
  ],
  [
    '[cluster]\nnum-of-workers = 0\n',
    /scaler\.toml:2:1: \[cluster\] num-of-workers: expected a whole number from 1 to 4096, got 0$/m,
  ],
  [
    '[scheduler]\naddress = "localhost"\n',
    /scaler\.toml:2:1: \[scheduler\] address: expected tcp:/,
  ],
]

for (const [text, line] of FILES) {
  test(`a wrong configuration file is one line and exit code 2: ${JSON.stringify(text)}`, async (t) => {
    const end = await runCommand(t, 'scaler-scheduler', ['--config', file(t, text)])
    assertOneLine(end, 2, line)
  })
}

test('a cluster waits for a host name that does not resolve yet, and says so', async (t) => {
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '1', 'tcp://no-such-host.invalid:1'])
  const { reason } = await cluster.line(({ level }) => level === 'warn')
  assert.match(
    String(reason),
    /^the host name no-such-host\.invalid (does not resolve|cannot be looked up)/,
  )
  cluster.child.kill('SIGTERM')
  assert.equal((await cluster.ended).code, 143)
})

test('the error for a wrong address in the environment names the variable', async (t) => {
  const end = await runCommand(t, 'scaler-cluster', [], { SCALER_ADDRESS: 'localhost:1' })
  assertOneLine(
    end,
    2,
    /^scaler_cluster: SCALER_ADDRESS: expected tcp:\/\/host:port.*localhost:1"$/m,
  )
})

/** The id of the user without rights; root can start processes of this user. */
const NOBODY = 65_534
const isRoot = process.getuid?.() === 0

/**
 * Runs an executable as a user without rights, who may be unable to read these folders and to run
 * this Node: everything needed is copied to a folder that every user can read.
 */
async function runWithoutRights(t: TestContext, words: readonly string[]): Promise<CommandEnd> {
  const folder = mkdtempSync(join(tmpdir(), 'nobody-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  for (const path of ['package.json', 'dist', 'node_modules/acorn', 'node_modules/smol-toml']) {
    cpSync(join(ROOT, path), join(folder, path), { recursive: true })
  }
  const options = isRoot ? { uid: NOBODY, gid: NOBODY } : {}
  const mayRunNode = spawnSync(process.execPath, ['--version'], options).status === 0
  const node = mayRunNode ? process.execPath : join(folder, 'node')
  if (!mayRunNode) copyFileSync(process.execPath, node)
  const command = [join(folder, 'dist/cli/scaler-scheduler.js'), ...words]
  const stdio = ['ignore', 'pipe', 'pipe'] as const
  const child = spawn(node, command, { cwd: folder, stdio: [...stdio], ...options })
  t.after(() => child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
  const [code, signal] = (await once(child, 'close')) as [number, NodeJS.Signals | null]
  return { code, signal, ...output }
}

/** The first port that every user may listen on, on Linux; 0 elsewhere. */
function firstFreePort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
  } catch {
    return 0
  }
}

test('a privileged port is one line and exit code 1', async (t) => {
  // In many containers, every user may listen on every port.
  if (firstFreePort() <= 80) return t.diagnostic('every user may listen on every port here')
  const end = await runWithoutRights(t, ['tcp://127.0.0.1:80'])
  assertOneLine(end, 1, /cannot listen on tcp:\/\/127\.0\.0\.1:80: .*permission/)
})

test('a file that cannot be read is one line and exit code 2', async (t) => {
  if (process.platform === 'win32') return t.skip('files have no modes here')
  const path = file(t, '[scheduler]\n')
  chmodSync(join(path, '..'), 0o755)
  chmodSync(path, 0o000)
  const end = await runWithoutRights(t, ['--config', path, FREE])
  assertOneLine(end, 2, /cannot read the configuration file .*: permission denied/)
})

test('a scheduler that cannot listen on its monitor address frees its other port', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, 'close')
  const words = [`tcp://127.0.0.1:${port}`, '-ma', NO_INTERFACE]
  assertOneLine(await runCommand(t, 'scaler-scheduler', words), 1, /203\.0\.113\.9/)
  const again = createServer().listen(port, '127.0.0.1')
  await once(again, 'listening')
  again.close()
})

const hasFull = process.platform === 'linux'

test('a scheduler survives a full disk', { skip: !hasFull }, async (t) => {
  const words = [FREE, '--logging-paths', '/dev/full', '/dev/stdout']
  const scheduler = startCommand(t, 'scaler-scheduler', words)
  await scheduler.line((line) => 'monitorAddress' in line)
  scheduler.child.kill('SIGTERM')
  const end = await scheduler.ended
  assert.equal(end.code, 143)
  assert.match(
    end.stderr,
    /^scaler_scheduler: cannot write the log to \/dev\/full: no space left[^\n]*\n$/,
  )
})

test('output that cannot be written is exit code 1', { skip: !hasFull }, async (t) => {
  for (const words of ['--help', 'config', 'scheduler --help', 'completion bash']) {
    const shell = `exec "$0" ${ROOT}dist/cli/scaler.js ${words} >/dev/full`
    const child = spawn('/bin/sh', ['-c', shell.replace('"$0"', process.execPath)])
    t.after(() => child.kill('SIGKILL'))
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const [code] = (await once(child, 'close')) as [number]
    assert.equal(code, 1, words)
    assert.match(stderr, /^[^\n]*cannot write the output: [^\n]*no space left[^\n]*\n$/, words)
  }
})

test('a reader that closes stdout early is not an error', async (t) => {
  const command = startCommand(t, 'scaler', ['config'])
  command.child.stdout?.destroy()
  const [code] = (await once(command.child, 'exit')) as [number]
  assert.equal(code, 0)
})

test('--help takes precedence over other flags', async (t) => {
  const help = await runCommand(t, 'scaler', ['--help'])
  for (const words of [
    ['--help', '--version'],
    ['help', '--version'],
    ['-h', '--version', '--help'],
  ]) {
    const { code, stdout, stderr } = await runCommand(t, 'scaler', words)
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: help.stdout, stderr: '' })
  }
})

test('an unknown variable causes one warning, and the command continues', async (t) => {
  const env = { SCALER_WORKER_TIMOUT_SECONDS: '30' }
  for (const words of [['config', 'scheduler'], ['config']]) {
    const { code, stdout, stderr } = await runCommand(t, 'scaler', words, env)
    assert.equal(code, 0)
    assert.match(stdout, /^\[scheduler\]/)
    assert.equal(
      stderr,
      'scaler config: warning: SCALER_WORKER_TIMOUT_SECONDS: no command has such an option; ' +
        'is it SCALER_WORKER_TIMEOUT_SECONDS?\n',
    )
  }
})

test('the error for a monitor port in use names --monitor-address', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as AddressInfo
  const end = await runCommand(t, 'scaler-scheduler', [`tcp://127.0.0.1:${port - 2}`])
  assertOneLine(
    end,
    1,
    new RegExp(
      `^scaler_scheduler: --monitor-address: cannot listen on tcp://127\\.0\\.0\\.1:${port}: ` +
        'EADDRINUSE.*two ports up unless another address is given',
    ),
  )
})

// `scaler run`: the script has a cluster, the terminal and the signals; everything ends with it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { Scheduler } from 'scaler-ts'
import {
  ROOT,
  childrenOf,
  isAlive,
  runCommand,
  startCommand,
  until,
  type CommandEnd,
  type RunningCommand,
} from './command.js'
import { PACKAGE, writeScript } from './script.js'

const isLinux = process.platform === 'linux'

/** Without the environment of these tests. */
const NO_ADDRESS = { SCALER_ADDRESS: '' }

/** Runs a script with one worker, to its end. */
function run(t: TestContext, text: string, ...args: readonly string[]): Promise<CommandEnd> {
  const script = writeScript(t, text)
  return runCommand(t, 'scaler', ['run', '-n', '1', script, ...args], NO_ADDRESS)
}

/** Starts a script that reports its start in a line of JSON, with its process id. */
async function start(
  t: TestContext,
  text: string,
): Promise<{ readonly command: RunningCommand; readonly scriptPid: number }> {
  const ready = `console.log(JSON.stringify({ pid: process.pid })); setInterval(() => {}, 1e6)`
  const script = writeScript(t, `${text}\n${ready}\n`)
  const command = startCommand(t, 'scaler', ['run', '-n', '1', script], NO_ADDRESS)
  const { pid } = await command.line((line) => 'pid' in line)
  const scriptPid = Number(pid)
  return { command, scriptPid }
}

test('a script computes in a cluster of its own, and only its output appears', async (t) => {
  const end = await run(
    t,
    `import { Client } from '${PACKAGE}'
     const client = new Client()
     const isItsOwn = client.address === process.env.SCALER_ADDRESS
     console.log(await client.submit((x) => 2 * x, 21), isItsOwn)
     await client.close()`,
  )
  assert.deepEqual(end, { code: 0, signal: null, stdout: '42 true\n', stderr: '' })
})

test('with --min-workers, the workers come with the work', async (t) => {
  const script = writeScript(
    t,
    `import { Client } from '${PACKAGE}'
     const client = await Client.connect()
     const { hosts } = await client.info()
     console.log(hosts.length, await client.submit((x) => 2 * x, 21))
     await client.close()`,
  )
  const words = ['run', '--min-workers', '0', '-n', '2', script]
  const end = await runCommand(t, 'scaler', words, NO_ADDRESS)
  assert.deepEqual(end, { code: 0, signal: null, stdout: '0 42\n', stderr: '' })
})

test("output of a script's tasks is printed by the script, unless disabled", async (t) => {
  const text = `import { Client } from '${PACKAGE}'
    const client = new Client()
    await client.submit(() => console.log('from a task'))
    await client.submit(() => console.error('trouble'))
    await client.close()`
  assert.deepEqual(await run(t, text), {
    code: 0,
    signal: null,
    stdout: 'from a task\n',
    stderr: 'trouble\n',
  })
  const args = ['run', '-n', '1', '--output', 'off', writeScript(t, text)]
  const quiet = await runCommand(t, 'scaler', args, NO_ADDRESS)
  assert.deepEqual([quiet.code, quiet.stdout, quiet.stderr], [0, '', ''])
})

test('all words after the file belong to the script', async (t) => {
  const args = ['--help', '-n', '7', '--', '--address', 'x', '']
  const end = await run(t, 'console.log(JSON.stringify(process.argv.slice(2)))', ...args)
  assert.deepEqual(end, { code: 0, signal: null, stdout: `${JSON.stringify(args)}\n`, stderr: '' })
})

test('the standard input belongs to the script', async (t) => {
  const script = writeScript(t, 'process.stdin.pipe(process.stdout)')
  const command = startCommand(t, 'scaler', ['run', '-n', '1', script], NO_ADDRESS)
  command.child.stdin?.end('hello')
  const { code, stdout } = await command.ended
  assert.deepEqual({ code, stdout }, { code: 0, stdout: 'hello' })
})

for (const name of ['-p.mjs', 'inspect']) {
  test(`a script may be named ${name}, which Node does not interpret`, async (t) => {
    const cwd = dirname(writeScript(t, 'console.log("mine")', name))
    const args = [`${ROOT}dist/cli/scaler.js`, 'run', '-n', '1', '--', name]
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd,
      env: { ...process.env, ...NO_ADDRESS },
    })
    assert.equal(stdout, 'mine\n')
  })
}

test('an unknown log level is refused, with or without a log', async (t) => {
  const args = ['run', '--logging-level', 'loud', writeScript(t, 'console.log("mine")')]
  const end = await runCommand(t, 'scaler', args, NO_ADDRESS)
  assert.deepEqual([end.code, end.stdout], [2, ''])
  assert.match(end.stderr, /^scaler run: --logging-level: expected DEBUG, [^\n]*"loud"\n$/)
})

test('the exit code of the script is that of the command', async (t) => {
  const end = await run(t, 'console.error("mine"); process.exitCode = 5')
  assert.deepEqual(end, { code: 5, signal: null, stdout: '', stderr: 'mine\n' })
})

test('a script that is ended by a signal gives 128 plus its number', async (t) => {
  const { code, stderr } = await run(t, 'process.kill(process.pid, "SIGKILL")')
  assert.deepEqual({ code, stderr }, { code: 137, stderr: '' })
})

test('a script that throws prints its own error', async (t) => {
  const { code, stderr } = await run(t, 'throw new RangeError("mine")')
  assert.equal(code, 1)
  assert.match(stderr, /RangeError: mine/)
  assert.doesNotMatch(stderr, /scaler run/)
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  test(`${signal} reaches the script, whose exit code counts, and everything ends`, async (t) => {
    const { command, scriptPid } = await start(
      t,
      `process.once('${signal}', () => { console.log('heard'); process.exit(7) })`,
    )
    const children = childrenOf(command.pid)
    if (isLinux) assert.ok(children.length >= 3, 'scheduler, agent and script')
    command.child.kill(signal)
    const { code, stdout } = await command.ended
    assert.equal(code, 7)
    assert.match(stdout, /heard\n$/)
    await until(() => ![scriptPid, ...children].some(isAlive))
  })
}

for (const [signal, code] of [
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  test(`a script that does not handle ${signal} is ended by it`, async (t) => {
    const { command, scriptPid } = await start(t, '')
    command.child.kill(signal)
    assert.equal((await command.ended).code, code)
    assert.ok(!isAlive(scriptPid))
  })
}

test('the second signal ends everything immediately, whatever the script does', async (t) => {
  const { command, scriptPid } = await start(
    t,
    `process.on('SIGTERM', () => console.log(JSON.stringify({ heard: true })))`,
  )
  command.child.kill('SIGTERM')
  await command.line((line) => 'heard' in line)
  command.child.kill('SIGINT')
  const [code] = (await once(command.child, 'exit')) as [number]
  assert.equal(code, 130)
  await until(() => !isAlive(scriptPid))
})

test('the cluster ends with the command, even if that is killed', async (t) => {
  const { command, scriptPid } = await start(t, '')
  const children = childrenOf(command.pid).filter((pid) => pid !== scriptPid)
  command.child.kill('SIGKILL')
  await until(() => !children.some(isAlive))
  // The script cannot be notified; it has the other ends of our pipes.
  process.kill(scriptPid, 'SIGKILL')
})

test('with an address the script uses the existing scheduler', async (t) => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  const script = writeScript(t, 'console.log(process.env.SCALER_ADDRESS)')
  const byFlag = await runCommand(t, 'scaler', ['run', '--address', address, script], NO_ADDRESS)
  assert.deepEqual(byFlag, { code: 0, signal: null, stdout: `${address}\n`, stderr: '' })
  const env = { SCALER_ADDRESS: address }
  const byVariable = await runCommand(t, 'scaler', ['run', script], env)
  assert.deepEqual(byVariable, { code: 0, signal: null, stdout: `${address}\n`, stderr: '' })
})

test('a number of workers in the environment applies to clusters that are started', async (t) => {
  const script = writeScript(t, 'console.log(process.env.SCALER_ADDRESS)')
  const env = { SCALER_ADDRESS: 'tcp://127.0.0.1:1', SCALER_NUM_OF_WORKERS: '2' }
  const end = await runCommand(t, 'scaler', ['run', script], env)
  assert.deepEqual(end, { code: 0, signal: null, stdout: 'tcp://127.0.0.1:1\n', stderr: '' })
})

test('output of tasks is on stdout, or in the log of the cluster if there is one', async (t) => {
  const script = writeScript(
    t,
    `import { Client } from '${PACKAGE}'
     const client = new Client()
     await client.submit(() => console.log('from a task'))
     await client.close()`,
  )
  const args = ['run', '-n', '1', '--logging-paths=/dev/stderr']
  const forwarded = await runCommand(t, 'scaler', [...args, script], NO_ADDRESS)
  assert.deepEqual([forwarded.code, forwarded.stdout], [0, 'from a task\n'])
  assert.doesNotMatch(forwarded.stderr, /from a task/)
  const logged = await runCommand(t, 'scaler', [...args, '--output', 'log', script], NO_ADDRESS)
  assert.deepEqual([logged.code, logged.stdout], [0, ''])
  assert.match(logged.stderr, /"message":"from a task"/)
})

test('TypeScript runs, or the error says what to do', async (t) => {
  const script = writeScript(t, 'const x: number = 42\nconsole.log(x)\n', 'script.mts')
  const end = await runCommand(t, 'scaler', ['run', '-n', '1', script], NO_ADDRESS)
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 6)) {
    assert.deepEqual([end.code, end.stdout], [0, '42\n'])
  } else {
    assert.equal(end.code, 2)
    assert.match(
      end.stderr,
      /^scaler run: Node \S+ cannot run TypeScript \(.*script\.mts\)[^\n]*\n$/,
    )
  }
})

const WRONG_USAGE: readonly (readonly [string, readonly string[], RegExp])[] = [
  ['no file', [], /<file> is missing/],
  ['a file that is not there', ['/no/such/file.mjs'], /there is no file \/no\/such\/file\.mjs/],
  ['a folder', ['/'], /\/ is a folder; name a file in it/],
  ['no workers', ['-n', '0', import.meta.filename], /-n.*from 1 to 4096, got "?0/],
  ['a wrong address', ['--address', 'x', import.meta.filename], /--address: expected tcp/],
  [
    'a minimum above the number',
    ['--min-workers', '3', '-n', '2', import.meta.filename],
    /--min-workers: expected at most -n \(2\), got 3$/m,
  ],
  [
    'a minimum for the cluster of others',
    ['--address', 'tcp://127.0.0.1:1', '--min-workers', '0', import.meta.filename],
    /--min-workers: only for a cluster started by this command/,
  ],
  [
    'workers for the cluster of others',
    ['--address', 'tcp://127.0.0.1:1', '-n', '2', import.meta.filename],
    /-n \(--num-of-workers\): only for a cluster started by this command/,
  ],
]

for (const [what, args, expected] of WRONG_USAGE) {
  test(`wrong usage is one line and exit code 2: ${what}`, async (t) => {
    const { code, stdout, stderr } = await runCommand(t, 'scaler', ['run', ...args], NO_ADDRESS)
    assert.match(stderr, /^scaler run: [^\n]+\n$/)
    assert.match(stderr, expected)
    assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
  })
}

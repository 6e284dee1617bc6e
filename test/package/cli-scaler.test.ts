import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, runCommand, startCommand } from './command.js'

const { version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { version: string }

const COMMANDS = [
  'scheduler',
  'cluster',
  'worker',
  'run',
  'submit',
  'status',
  'top',
  'ui',
  'doctor',
  'config',
  'completion',
]

for (const args of [['--help'], ['-h'], ['help']]) {
  test(`scaler ${args.join(' ')} names the commands`, async (t) => {
    const end = await runCommand(t, 'scaler', args)
    assert.deepEqual([end.code, end.stderr], [0, ''])
    for (const name of COMMANDS) assert.match(end.stdout, new RegExp(`^  ${name} `, 'm'))
  })
}

test('scaler without a command prints its help, as wrong usage', async (t) => {
  const end = await runCommand(t, 'scaler', [])
  assert.deepEqual([end.code, end.stdout], [2, ''])
  assert.match(end.stderr, /^Usage: scaler <command>/)
})

for (const name of COMMANDS) {
  test(`scaler ${name} --help, and scaler help ${name}, print the help of ${name}`, async (t) => {
    const end = await runCommand(t, 'scaler', [name, '--help'])
    assert.deepEqual([end.code, end.stderr], [0, ''])
    assert.match(end.stdout, new RegExp(`^Usage: scaler ${name} \\[options\\]`))
    assert.match(end.stdout, /^Examples:$/m)
    assert.deepEqual(await runCommand(t, 'scaler', ['help', name]), end)
  })
}

for (const args of [
  ['help', 'help'],
  ['help', '--help'],
  ['--help', '-h'],
]) {
  test(`scaler ${args.join(' ')} prints the help of all commands`, async (t) => {
    assert.deepEqual(await runCommand(t, 'scaler', args), await runCommand(t, 'scaler', ['help']))
  })
}

test('scaler --help doctor prints the help of doctor', async (t) => {
  const end = await runCommand(t, 'scaler', ['--help', 'doctor'])
  assert.deepEqual(end, await runCommand(t, 'scaler', ['help', 'doctor']))
})

for (const name of ['scheduler', 'cluster', 'worker']) {
  test(`scaler_${name} is scaler ${name}, under its own name`, async (t) => {
    const own = await runCommand(t, `scaler-${name}`, ['-h'])
    const sub = await runCommand(t, 'scaler', [name, '-h'])
    assert.equal(own.code, 0)
    assert.equal(own.stdout, sub.stdout.replaceAll(`scaler ${name}`, `scaler_${name}`))
    const wrong = await runCommand(t, `scaler-${name}`, ['--nonsense'])
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, new RegExp(`^scaler_${name}: unknown option --nonsense[^\\n]*\\n$`))
  })
}

for (const args of [
  ['--version'],
  ['scheduler', '--version'],
  ['cluster', '--version'],
  ['object_storage_server', '--version'],
]) {
  test(`scaler ${args.join(' ')} prints the version`, async (t) => {
    const end = await runCommand(t, 'scaler', args)
    assert.deepEqual([end.code, end.stdout, end.stderr], [0, `${version}\n`, ''])
  })
}

const WRONG: readonly (readonly [readonly string[], RegExp])[] = [
  [['shceduler'], /^scaler: unknown command "shceduler"; is it scheduler\?/],
  [['watch'], /^scaler: unknown command "watch"; there are scheduler, /],
  [['help', 'doctro'], /^scaler: unknown command "doctro"; is it doctor\?/],
  [['version'], /^scaler: unknown command "version"; is it --version\?/],
  [['--versoin'], /^scaler: unknown option "--versoin"; is it --version\?/],
  [['completion'], /^scaler completion: <shell> is missing/],
  [['completion', 'tcsh'], /^scaler completion: there is no script for the shell "tcsh"/],
  [['config', 'nope'], /^scaler config: no command "nope" has settings/],
  [
    ['config', 'scheduler', 'tcp://a:1', 'tcp://b:1'],
    /^scaler config: unexpected word "tcp:..b:1"/,
  ],
  [['scheduler', '--config', ''], /^scaler scheduler: --config: expected the path of a file/],
  [
    ['allocate', 'local', 'tcp://127.0.0.1:1', '--partition', 'short'],
    /^scaler allocate: --partition: only the provider slurm has it, not local$/m,
  ],
  [['allocate', 'list', 'tcp://127.0.0.1:1', 'a'], /^scaler allocate: unexpected word "a"$/m],
  [
    ['allocate', 'pause', 'tcp://127.0.0.1:1', 'a', '--max-workers', '3'],
    /^scaler allocate: --max-workers: scaler allocate pause does not take it$/m,
  ],
  [['config', 'scheduler', '--protcted'], /^scaler config: unknown option --protcted; is it --p/],
]

for (const [args, message] of WRONG) {
  test(`wrong usage is one line and exit code 2: scaler ${args.join(' ')}`, async (t) => {
    const end = await runCommand(t, 'scaler', args)
    assert.deepEqual([end.code, end.stdout], [2, ''])
    assert.match(end.stderr, message)
    assert.match(end.stderr, /^[^\n]+\n$/)
  })
}

test('scaler config prints the settings of a command and their origins', async (t) => {
  const args = ['config', 'scheduler', '-p', 'tcp://127.0.0.1:1']
  const command = startCommand(t, 'scaler', args, { SCALER_WORKER_TIMEOUT_SECONDS: '7' })
  const end = await command.ended
  assert.deepEqual([end.code, end.stderr], [0, ''])
  assert.match(end.stdout, /^\[scheduler\]$/m)
  assert.match(end.stdout, /^protected = true +# --protected$/m)
  assert.match(end.stdout, /^worker-timeout-seconds = 7 +# SCALER_WORKER_TIMEOUT_SECONDS$/m)
  assert.doesNotMatch(end.stdout, /^\[cluster\]$/m)
})

test('scaler config prints all commands, as JSON too', async (t) => {
  const end = await runCommand(t, 'scaler', ['config', '--json'])
  const sections = Object.keys(JSON.parse(end.stdout) as object)
  assert.deepEqual(sections, [
    'scheduler',
    'cluster',
    'symphony-cluster',
    'object-storage-server',
    'allocate',
    'run',
    'submit',
    'status',
    'top',
    'ui',
    'workers',
    'tasks',
    'clients',
    'objects',
    'failures',
    'explain',
    'cancel',
    'stack',
    'logs',
    'drain',
    'doctor',
  ])
  const one = await runCommand(t, 'scaler', ['config', 'worker', '--json'])
  assert.deepEqual(Object.keys(JSON.parse(one.stdout) as object), ['cluster'])
})

test('scaler config shows the help of a command', async (t) => {
  const end = await runCommand(t, 'scaler', ['config', 'cluster', '--help'])
  assert.equal(end.code, 0)
  assert.match(end.stdout, /--num-of-workers/)
})

test('scaler config can read its own output', async (t) => {
  const words = ['config', 'scheduler', '-p', '-wt', '7', 'tcp://127.0.0.1:1']
  const { stdout } = await runCommand(t, 'scaler', words)
  const folder = mkdtempSync(join(tmpdir(), 'config-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'printed.toml')
  writeFileSync(path, stdout)
  const end = await runCommand(t, 'scaler', ['config', '--config', path, 'scheduler'])
  assert.deepEqual([end.code, end.stderr], [0, ''])
  const values = (text: string): string => text.replaceAll(/ +#.*/g, '')
  assert.equal(values(end.stdout), values(stdout))
  assert.match(end.stdout, /^worker-timeout-seconds = 7 +# .*printed\.toml:\d+$/m)
})

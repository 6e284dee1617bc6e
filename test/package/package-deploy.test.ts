// The deployment files: the image, the compose file, the systemd units. Their own tools check them,
// and the commands accept the options in them.

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { AGENT_OPTIONS } from '#src/worker/agent/options.js'
import { ROOT, startScheduler } from './command.js'

const execute = promisify(execFile)
const DEPLOY = join(ROOT, 'deploy')
const UNITS = ['scaler-scheduler.service', 'scaler-cluster.service']

function without(command: string, ...args: readonly string[]): string | false {
  return spawnSync(command, args).status === 0 ? false : `no ${command}`
}

async function read(...path: readonly string[]): Promise<string> {
  return readFile(join(DEPLOY, ...path), 'utf8')
}

/** The value of a setting of a unit; the last one counts. */
function settingOf(unit: string, name: string): string {
  const lines = unit.split('\n').filter((line) => line.startsWith(`${name}=`))
  return lines.at(-1)?.slice(name.length + 1) ?? ''
}

/** The settings that a command derives from its arguments; rejects if it refuses them. */
async function effectiveConfig(args: readonly string[]): Promise<string> {
  const command = [join(ROOT, 'dist/cli/scaler.js'), 'config', ...args]
  return (await execute(process.execPath, command)).stdout
}

const HADOLINT = join(ROOT, '.peers/hadolint/venv/bin/hadolint')
const hasHadolint = existsSync(HADOLINT)

test(
  'the linter of Dockerfiles finds nothing',
  { skip: hasHadolint ? false : 'no hadolint: node scripts/peers.mjs' },
  async () => {
    const { stdout } = await execute(HADOLINT, ['--no-color', join(DEPLOY, 'Dockerfile')])
    assert.equal(stdout, '')
  },
)

test(
  'compose reads its file, with a scheduler and workers in it',
  { skip: without('docker-compose', 'version') },
  async () => {
    const file = join(DEPLOY, 'compose.yaml')
    const { stdout, stderr } = await execute('docker-compose', ['--file', file, 'config'])
    assert.equal(stderr, '')
    for (const service of ['scheduler', 'worker']) assert.match(stdout, new RegExp(` ${service}:`))
  },
)

test(
  'systemd finds no error in the units, and little exposure',
  { skip: without('systemd-analyze', '--version') },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'units-'))
    t.after(() => rm(folder, { recursive: true }))
    const paths = []
    for (const name of UNITS) {
      const unit = await read('systemd', name)
      // An existing program: the package is not installed on this machine.
      const path = join(folder, name)
      await writeFile(path, unit.replace('/usr/local/bin/scaler', process.execPath))
      paths.push(path)
    }
    const { stdout, stderr } = await execute('systemd-analyze', ['verify', ...paths])
    assert.equal(stdout + stderr, '')
    // In tenths; the rest is the network, and the compiler of V8.
    const exposure = ['security', '--no-pager', '--offline=true', '--threshold=20']
    for (const path of paths) await execute('systemd-analyze', [...exposure, path])
  },
)

test('units, image and compose file start commands that exist with options that exist', async () => {
  const config = join(DEPLOY, 'systemd/scaler.toml')
  for (const name of UNITS) {
    const unit = await read('systemd', name)
    const [program, command = '', ...args] = settingOf(unit, 'ExecStart').split(' ')
    assert.equal(program, '/usr/local/bin/scaler')
    assert.deepEqual(args, ['--config', '/etc/scaler/scaler.toml'])
    assert.match(await effectiveConfig([command, '--config', config]), /address = "tcp:/)
  }
  const dockerfile = await read('Dockerfile')
  const [, line = ''] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? []
  await effectiveConfig(JSON.parse(line) as string[])
  const compose = await read('compose.yaml')
  const commands = [...compose.matchAll(/command: (\[.*\])$/gm)]
  assert.equal(commands.length, 2)
  for (const [, text = ''] of commands) {
    const args = JSON.parse(text.replaceAll("'", '"')) as string[]
    if (args.length === 1) args.push('tcp://scheduler:2345')
    await effectiveConfig(args)
  }
})

test('the health check of the image succeeds with a scheduler, and fails without one', async (t) => {
  const [, line = ''] = /HEALTHCHECK[^[]*(\[.*\])$/m.exec(await read('Dockerfile')) ?? []
  const [program, ...args] = JSON.parse(line) as string[]
  assert.equal(program, 'scaler')
  const { address, scheduler } = await startScheduler(t)
  const ask = (): Promise<unknown> =>
    execute(process.execPath, [join(ROOT, 'dist/cli/scaler.js'), ...args], {
      env: { ...process.env, SCALER_ADDRESS: address },
    })
  await ask()
  scheduler.child.kill('SIGTERM')
  await scheduler.ended
  await assert.rejects(ask(), { code: 1 })
})

test('everything that stops the workers gives them the time that they need', async () => {
  const { drainMs, killDelayMs, cancelGraceMs } = AGENT_OPTIONS
  const steps = [drainMs?.commandDefault, killDelayMs?.default, cancelGraceMs?.default]
  const seconds = steps.reduce<number>((sum, ms) => sum + Number(ms), 0) / 1_000
  assert.ok(seconds > 20)
  const unit = await read('systemd/scaler-cluster.service')
  const [, compose] = /stop_grace_period: (\d+)s/.exec(await read('compose.yaml')) ?? []
  for (const given of [settingOf(unit, 'TimeoutStopSec'), compose])
    assert.ok(Number(given) > seconds)
  // The exit codes of the commands after a signal are not failures.
  assert.match(settingOf(unit, 'SuccessExitStatus'), /\b143\b/)
  // The agent ends its processors itself, after their running tasks.
  assert.equal(settingOf(unit, 'KillMode'), 'mixed')
})

test('the build of the image has everything that compiling and packing need', async () => {
  const allowed = (await readFile(join(ROOT, '.dockerignore'), 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('!'))
    .map((line) => line.slice(1))
  const isAllowed = (name: string): boolean =>
    allowed.some((pattern) => pattern === name || (pattern === '*.md' && name.endsWith('.md')))
  const projects = JSON.parse(await readFile(join(ROOT, 'tsconfig.json'), 'utf8')) as {
    readonly references: readonly { readonly path: string }[]
  }
  const needed = [
    ...projects.references.map(({ path }) => path.replace('./', '')),
    ...(await readdir(ROOT)).filter((name) => /^(tsconfig.*|package.*)\.json$|\.md$/.test(name)),
    'scripts',
    'protocol',
    'docs',
    'LICENSE',
    'deploy/systemd',
  ]
  assert.deepEqual(
    needed.filter((name) => !isAllowed(name)),
    [],
  )
})

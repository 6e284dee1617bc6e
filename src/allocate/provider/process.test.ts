import assert from 'node:assert/strict'
import { chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { checkAllocatorOptions } from '../options.js'
import { ProcessProvider } from './process.js'

const UID = process.getuid?.() ?? 0

/** A TMPDIR for this process and its child processes. */
function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'process-'))
  const { TMPDIR } = process.env
  process.env['TMPDIR'] = folder
  t.after(() => {
    if (TMPDIR === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = TMPDIR
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

function local(workerCommand: string): ProcessProvider {
  const address = 'tcp://127.0.0.1:1'
  return new ProcessProvider(checkAllocatorOptions({ provider: 'local', address, workerCommand }))
}

const PROGRAM = `console.log(process.argv[1], 'runs'); setInterval(() => {}, 60_000)`
const RUNS = `${process.execPath} -e "${PROGRAM}" {allocation}`

test('a unit is listed until it has ended, and its output is kept', async (t) => {
  const folder = temporary(t)
  const provider = local(RUNS)
  const { units, problem } = await provider.start(1)
  const [unit] = units
  assert.ok(unit !== undefined, problem)
  assert.deepEqual(await provider.list(), units)
  // Another one finds it as well.
  assert.deepEqual(await local(RUNS).list(), units)
  await provider.cancel(units)
  while ((await provider.list()).length > 0) await setTimeout(10)
  assert.match(await provider.output(unit), /^(local\/[\da-f]{8} runs\n)?$/)
  assert.deepEqual(readdirSync(folder), [])
})

test('a unit that ends at once was started, and its output is kept', async (t) => {
  temporary(t)
  const provider = local('echo no licence for {allocation}')
  const { units, problem } = await provider.start(1)
  assert.deepEqual([units.length, problem], [1, ''])
  while ((await provider.list()).length > 0) await setTimeout(10)
  const [unit = { id: '', key: '', state: 'running' as const }] = units
  assert.equal(await provider.output(unit), `no licence for local/${unit.key}\n`)
})

test('a directory that someone else has made, or a link, is not used', async (t) => {
  const root = temporary(t)
  const foreign = (path: string): void => {
    mkdirSync(path, 0o777)
    chownSync(path, 65_534, 65_534)
  }
  const traps: readonly ((path: string) => void)[] = [
    (path) => symlinkSync(root, path),
    (path) => symlinkSync('/nowhere', path),
    // Only root can make one.
    ...(UID === 0 ? [foreign] : []),
  ]
  for (const [at, lay] of traps.entries()) {
    const folder = join(root, String(at))
    mkdirSync(folder)
    process.env['TMPDIR'] = folder
    lay(join(folder, `scaler-allocate-${UID}`))
    const provider = local(RUNS)
    const { units, problem } = await provider.start(1)
    assert.deepEqual(units, [])
    assert.match(problem, /belongs to another user, or is a link|File exists/)
    assert.deepEqual(await provider.list(), [])
  }
})

test('a directory that cannot be made is a problem', async (t) => {
  temporary(t)
  process.env['TMPDIR'] = '/dev/null'
  const { units, problem } = await local(RUNS).start(1)
  assert.deepEqual(units, [])
  assert.match(problem, /^sh ended with exit code 1: mkdir: .*\/dev\/null\/scaler-allocate-/)
})

import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  ROOT,
  childrenOf,
  isAlive,
  startCommand,
  startProgram,
  startScheduler,
  until,
  type RunningCommand,
} from './command.js'

/** Takes as long on the cluster as before: a test can interrupt it in the middle. */
const LONG_WORK = ['--workers', '1', '--seconds', '3', `${ROOT}node_modules/typescript`]

function startDemo(t: TestContext, ...args: readonly string[]): RunningCommand {
  return startProgram(t, [`${ROOT}build/examples/compress.js`, ...args])
}

/** A folder with three files of 400,000 bytes together. */
async function newFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'demo-'))
  t.after(() => rm(folder, { recursive: true }))
  await mkdir(join(folder, 'inner'))
  await writeFile(join(folder, 'a'), 'a'.repeat(100_000))
  await writeFile(join(folder, 'inner', 'b'), 'b'.repeat(300_000))
  await writeFile(join(folder, 'inner', 'empty'), '')
  return folder
}

test('the demo compresses a folder on a cluster of its own and compares', async (t) => {
  const demo = startDemo(t, '--workers', '1', await newFolder(t))
  const { code, stdout, stderr } = await demo.ended
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  assert.match(stdout, /^3 files below .*, 400\.0 kB$/m)
  assert.match(stdout, /^work +7 tasks, sampled from the whole folder: 400\.0 kB to \d+ B$/m)
  assert.match(stdout, /^one process +[\d.]+ s, [\d.]+ [kM]?B\/s$/m)
  assert.match(stdout, /^start-up +[\d.]+ s \(1 scheduler, 1 worker\)$/m)
  assert.match(stdout, /^on the cluster +[\d.]+ s, [\d.]+ [kM]?B\/s$/m)
  assert.match(stdout, /^speed-up +[\d.]+ times$/m)
})

test('the demo runs on an existing cluster', async (t) => {
  const { address } = await startScheduler(t)
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '1', address])
  await cluster.line((line) => String(line['message']).endsWith(' ready'))
  const { code, stdout } = await startDemo(t, '--address', address, await newFolder(t)).ended
  assert.equal(code, 0)
  assert.match(stdout, /^speed-up +/m)
})

test('an empty folder is not an error', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'demo-'))
  t.after(() => rm(folder, { recursive: true }))
  const { code, stdout } = await startDemo(t, folder).ended
  assert.equal(code, 0)
  assert.match(stdout, /^0 files below/)
})

test('a path that is not a folder is one line and exit code 2', async (t) => {
  const folder = await newFolder(t)
  for (const path of [join(folder, 'gone'), join(folder, 'a')]) {
    const { code, stderr } = await startDemo(t, path).ended
    assert.equal(code, 2)
    assert.match(stderr, /^demo: [^\n]+\n$/)
  }
})

test('the demo can be interrupted while it works alone', async (t) => {
  const demo = startDemo(t, ...LONG_WORK)
  await until(() => demo.stdout().includes('in this process'))
  demo.child.kill('SIGINT')
  assert.equal((await demo.ended).code, 130)
})

test('the demo can be interrupted while its cluster is starting', async (t) => {
  const demo = startDemo(t, await newFolder(t))
  await until(() => demo.stdout().includes('one process'))
  demo.child.kill('SIGINT')
  assert.equal((await demo.ended).code, 130)
})

test('a wrong option is exit code 2', async (t) => {
  assert.equal((await startDemo(t, '--workers', '0').ended).code, 2)
  assert.equal((await startDemo(t, '--address', 'here', await newFolder(t)).ended).code, 2)
})

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGKILL', null],
] as const) {
  test(`the demo leaves nothing behind after ${signal}`, async (t) => {
    const demo = startDemo(t, ...LONG_WORK)
    await until(() => demo.stdout().includes('start-up'))
    const parts = childrenOf(demo.pid)
    const started = [...parts, ...parts.flatMap(childrenOf)]
    if (process.platform === 'linux') assert.ok(started.length >= 3, 'scheduler, agent, processor')
    demo.child.kill(signal)
    assert.equal((await demo.ended).code, code)
    await until(() => !started.some(isAlive))
  })
}

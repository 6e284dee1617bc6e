// The effect of a client on its process: when the process exits, and how.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sized } from '#src/base/short-run.kit.js'
import { RouterScheduler } from './client-scheduler.js'
import { until } from './condition.js'

const PROGRAM = fileURLToPath(new URL('./client-program.js', import.meta.url))
const DEADLINE_MS = 30_000

interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface Started {
  readonly ended: Promise<Run>
  readonly hasEnded: () => boolean
}

function start(what: string, address: string): Started {
  const child = spawn(process.execPath, [PROGRAM, what, address], { timeout: DEADLINE_MS })
  let stdout = ''
  let stderr = ''
  let hasEnded = false
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<Run>((resolve) => {
    child.on('close', (code) => {
      hasEnded = true
      resolve({ code, stdout, stderr })
    })
  })
  return { ended, hasEnded: () => hasEnded }
}

async function scheduler(context: TestContext): Promise<RouterScheduler> {
  const started = await RouterScheduler.start()
  context.after(() => started.stop())
  return started
}

/** The program exited normally, with the warning that its client was not closed. */
function assertForgetful(run: Run, stdout: string): void {
  assert.deepEqual({ code: run.code, stdout: run.stdout }, { code: 0, stdout })
  assert.match(run.stderr, /\[SCALER_UNCLOSED_CLIENT\] ScalerWarning: the client of tcp:/)
}

test('a program with all its results exits by itself', async (context) => {
  const { address } = await scheduler(context)
  assertForgetful(await start('forget', address).ended, '42\n2 4 6\n')
})

test('a client without futures keeps no process alive, connected or not', async (context) => {
  const { address } = await scheduler(context)
  assertForgetful(await start('unreachable', address).ended, 'true\n')
})

test('a program stays alive while a future is open, even over a broken connection', async (context) => {
  const started = await scheduler(context)
  started.fake.isHolding = true
  const program = start('patient', started.address)
  await until('its task is there', () => started.fake.unfinished.size === 1)
  await started.stop()
  await started.listen()
  await until('it came back', () => started.fake.heartbeats >= 2)
  assert.equal(program.hasEnded(), false)
  started.fake.release()
  assertForgetful(await program.ended, '42\n')
})

test('failures that are never awaited cause one warning, and end nothing', async (context) => {
  const { address } = await scheduler(context)
  const run = await start('careless', address).ended
  assert.equal(run.code, 0)
  assert.equal(run.stdout, 'failed failed [object MapFuture]\n')
  assert.match(run.stderr, /\[SCALER_UNOBSERVED_FAILURES\] ScalerWarning: 3 futures failed/)
  assert.equal(run.stderr.match(/ScalerWarning/g)?.length, 1)
})

test('a promise made from a future is like any other: unhandled, it ends the process', async (context) => {
  const { address } = await scheduler(context)
  const run = await start('chained', address).ended
  assert.equal(run.code, 1)
  assert.match(run.stderr, /Error: boom/)
})

test('a client that is closed at any moment of its work keeps its process alive until it is closed', async () => {
  const delays = Array.from({ length: sized(12, 3) }, (_, index) => 4 * index)
  const expected = { code: 0, stdout: 'TaskCancelledError\nclosed\n', stderr: '' }
  const lane = async (): Promise<void> => {
    for (let delay = delays.shift(); delay !== undefined; delay = delays.shift()) {
      assert.deepEqual(await start('closing', String(delay)).ended, expected, `${delay} ms`)
    }
  }
  await Promise.all([lane(), lane(), lane()])
})

test('waiting for a scheduler that never comes has an end', async (context) => {
  const started = await scheduler(context)
  await started.stop()
  const run = await start('refused', started.address).ended
  assert.deepEqual(run, { code: 0, stdout: 'ConnectError\n', stderr: '' })
})

test('a program without file descriptors loses its connection and continues later', async (t) => {
  if (process.platform === 'win32') return t.skip('there is no ulimit')
  const server = await scheduler(t)
  const main = fileURLToPath(new URL('./program/short-of-descriptors.js', import.meta.url))
  const words = ['-c', 'ulimit -n 256; exec "$0" "$@"', process.execPath, main, server.address]
  const child = spawn('sh', words, { timeout: DEADLINE_MS, stdio: ['pipe', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  let stdout = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  const ended = new Promise((resolve) => child.on('close', resolve))
  const failures = (): number => stdout.split(/could not connect .*EMFILE/).length - 1
  await until('it has none left', () => stdout.includes('EMFILE'))
  server.dropConnections()
  await until('it cannot connect', () => failures() >= 3 || child.exitCode !== null)
  child.stdin.write('go on\n')
  assert.equal(await ended, 0, stdout)
  assert.match(stdout, /values 2 4 6\n$/)
  return undefined
})

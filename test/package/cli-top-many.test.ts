// `scaler top` on a large cluster: real connections of 5,000 simulated workers; and on one that
// runs a million tasks.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { Client } from 'scaler-ts'
import { sized } from '#src/base/short-run.kit.js'
import { grouped } from '#src/cli/table.js'
import { startScheduler, until } from './command.js'
import { simulateWorkers } from '#src/scheduler/simulated-workers.kit.js'
import { assertRestored, openTop, shown, skip, type Terminal } from './terminal.js'

const WORKERS = sized(5_000, 500)
const TASKS = sized(1_000_000, 50_000)
/** What is submitted at a time. */
const BATCH = sized(10_000, 5_000)
const TIMEOUT_MS = 240_000

/** Presses a key, and prints how long it takes until the screen shows what it asks for. */
async function press(t: TestContext, top: Terminal, key: string, wanted: RegExp): Promise<void> {
  const from = performance.now()
  top.press(key)
  await shown(top, wanted)
  t.diagnostic(`${JSON.stringify(key)}: ${Math.round(performance.now() - from)} ms`)
}

/** The largest of some values of its resident memory, in bytes. */
async function memoryOf(top: Terminal): Promise<number> {
  const values: number[] = []
  let frame = ''
  while (values.length < 5) {
    // The clock in the first line.
    await until(() => top.screen()[0] !== frame)
    frame = top.screen()[0] ?? ''
    const status = readFileSync(`/proc/${top.pid()}/status`, 'utf8')
    values.push(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1_024)
  }
  return Math.max(...values)
}

test('5,000 workers scroll and sort at once', { skip }, async (t) => {
  const { address } = await startScheduler(t)
  const workers = await simulateWorkers(address, WORKERS)
  t.after(() => workers.close())
  const top = openTop(t, [address])
  await shown(top, /^-- .* workers/, TIMEOUT_MS)
  top.resize(40, 118)
  await shown(top, new RegExp(`^-- ${grouped(WORKERS)} workers -`), TIMEOUT_MS)
  await press(t, top, 'n', /\[worker/)
  await press(t, top, '\u001b[F', /^0\|sim\|0+\+/)
  await press(t, top, '\u001b[H', /^9\|sim\|/)
  await press(t, top, '/', /^filter: _/)
  await press(t, top, '00000042', /^filter: 00000042_/)
  await press(t, top, '\u001b', /^Enter worker/)
  top.press('q')
  assertRestored(await top.ended, 0)
})

const isLinux = process.platform === 'linux'

test('its memory does not grow with tasks', { skip: skip || !isLinux }, async (t) => {
  await using client = await Client.local({ workers: 2 })
  const top = openTop(t, [client.address])
  await shown(top, /^-- 2 workers/)
  const run = async (tasks: number): Promise<void> => {
    for (let done = 0; done < tasks; done += BATCH) {
      const inputs = Array.from({ length: BATCH }, (_, at) => done + at)
      const last = (await client.map((x: number) => x, inputs)).at(-1)
      assert.equal(last, done + BATCH - 1)
    }
  }
  await run(TASKS / 10)
  const before = await memoryOf(top)
  await run(TASKS)
  await shown(top, new RegExp(` success +${grouped(TASKS + TASKS / 10)} `))
  const after = await memoryOf(top)
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
  t.diagnostic(`memory: ${megabytes(before)}, after ${TASKS} tasks ${megabytes(after)}`)
  assert.ok(after < before * 1.25 + 20e6, `${megabytes(before)} grew to ${megabytes(after)}`)
  top.press('q')
  assertRestored(await top.ended, 0)
})

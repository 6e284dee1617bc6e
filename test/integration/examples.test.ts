// Runs the programs of examples/. Their output must match the comments after `console.log`; for
// measured numbers there is a pattern here.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const DEADLINE_MS = 60_000

async function run(name: string, ...args: readonly string[]): Promise<string[]> {
  const program = fileURLToPath(new URL(`../../examples/${name}.js`, import.meta.url))
  const options = { timeout: DEADLINE_MS, killSignal: 'SIGKILL' } as const
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [program, ...args],
    options,
  )
  assert.equal(stderr, '')
  return stdout.trimEnd().split('\n')
}

/** The output of each program. */
const OUTPUT: Readonly<Record<string, readonly string[]>> = {
  simple: ['16', '4'],
  map: ['661.46', '1', '2', '3', '27', '[ 1024, 9 ]'],
  nested: ['21', '21'],
  graph: ['1', '{ a: 2, b: 2, c: 3, d: 4, e: 1, f: [Function: add] }'],
  'dynamic-graph': ['21'],
  'nested-graph': ['{ small: 5, large: 21, sum: 26 }'],
  'send-object': ['1', '2'],
  disconnect: ['4', 'true', 'true', 'the second cluster has stopped'],
}

for (const [name, lines] of Object.entries(OUTPUT)) {
  test(`the example ${name} prints its documented output`, async () => {
    assert.deepEqual(await run(name), lines)
  })
}

test('the example profiling prints the cost of a task', async () => {
  const lines = await run('profiling')
  assert.equal(lines[0], '67108864')
  assert.match(lines[1] ?? '', /^duration: [\d.]+ ms$/)
  assert.match(lines[2] ?? '', /^CPU time: [\d.]+ ms$/)
  const megabytes = Number(/^peak memory: (\d+) MiB$/.exec(lines[3] ?? '')?.[1])
  assert.ok(megabytes >= 60, `${megabytes} MiB were measured for an array of 64 MiB`)
  assert.match(lines[4] ?? '', /^worker: \d+\|[^|]+\|[0-9a-f]{32}$/)
})

test('the example monte-carlo computes π and prints the speed-up', async () => {
  const lines = await run('monte-carlo', '2000000')
  assert.match(lines[0] ?? '', /^2000000 points in 100 tasks on \d+ workers$/)
  const error = Number(/off by ([\d.]+)$/.exec(lines[1] ?? '')?.[1])
  assert.ok(error < 0.01, `π is off by ${error}`)
  assert.match(lines.at(-1) ?? '', /^speed-up [\d.]+$/)
})

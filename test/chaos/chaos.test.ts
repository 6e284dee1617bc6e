// A short form of `npm run chaos`, with the same checks.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { NO_PROCESS_TABLE } from './process-table.js'
import { story, summary } from './report.js'
import { runChaos } from './run-chaos.js'

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url))

test(
  'kills, freezes, restarts and cuts of every part lose no result and leave nothing behind',
  { skip: NO_PROCESS_TABLE },
  async (t) => {
    const outcome = await runChaos({
      stormMs: 20_000,
      seed: 1,
      workers: 3,
      isAllocated: false,
      starts: 2,
      without: [],
      work: [],
      onProgress: (text) => t.diagnostic(text),
    })
    for (const line of summary(outcome).split('\n')) t.diagnostic(line)
    assert.deepEqual(outcome.findings, [], story(outcome))
    assert.ok((outcome.counts.get('all')?.ended ?? 0) > 10, 'work was done')
    assert.ok([...outcome.deeds.values()].reduce((sum, count) => sum + count, 0) > 10)
  },
)

test(
  'the same with workers from an allocator, which is killed and restarted, too',
  { skip: NO_PROCESS_TABLE },
  async (t) => {
    const outcome = await runChaos({
      stormMs: 20_000,
      seed: 2,
      workers: 3,
      isAllocated: true,
      starts: 0,
      without: [],
      work: [],
      onProgress: (text) => t.diagnostic(text),
    })
    for (const line of summary(outcome).split('\n')) t.diagnostic(line)
    assert.deepEqual(outcome.findings, [], story(outcome))
    assert.ok((outcome.counts.get('all')?.ended ?? 0) > 5, 'work was done')
  },
)

function run(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly text: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), text: stdout + stderr })
    })
  })
}

test('the command explains its usage, and refuses unknown options with exit code 2', async () => {
  const help = await run('--help')
  assert.equal(help.code, 0)
  assert.match(help.text, /--minutes/)
  for (const args of [
    ['--minutes', 'ten'],
    ['--minutes', '-1'],
    ['--seed', '1.5'],
    ['--workers', ''],
    ['--without', 'sleep'],
    ['--work', 'play'],
    ['--no-such-option'],
    ['word'],
  ]) {
    const { code, text } = await run(...args)
    assert.equal(code, 2, args.join(' '))
    assert.match(text, /^chaos: [^\n]+\n$/)
  }
})

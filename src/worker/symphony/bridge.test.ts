// Bridges that do not start, or end at once: instead of Python, a program of the test.

import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { ProcessorDeath } from '../../base/errors.js'
import { Bridge } from './bridge.js'

/** What happens to a bridge that is this program. */
async function outcomeOf(
  python: string,
): Promise<{ readonly lines: readonly string[]; readonly death: ProcessorDeath | undefined }> {
  const lines: string[] = []
  let death: ProcessorDeath | undefined
  const bridge = new Bridge(
    { python, serviceName: 'ScalerService' },
    {
      onReady: () => {},
      onOutput: () => {},
      onFailure: () => {},
      onLine: (line) => lines.push(line),
      onExit: (how) => {
        death = how
        lines.push('exit')
      },
    },
  )
  await bridge.exited
  return { lines, death }
}

function programOf(t: TestContext, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'python')
  writeFileSync(file, script)
  chmodSync(file, 0o755)
  return file
}

test('the last line is logged before its end, with or without a line break', async (t) => {
  const python = programOf(t, "#!/bin/sh\nprintf 'one\\nlast words' >&2\nexit 3\n")
  assert.deepEqual(await outcomeOf(python), {
    lines: ['one', 'last words', 'exit'],
    death: { exitCode: 3, signal: undefined, stderr: 'one\nlast words' },
  })
})

test('an error that is thrown at the start is reported like any other', async () => {
  const { lines, death } = await outcomeOf('python\0')
  assert.deepEqual(lines, ['exit'])
  assert.match(death?.stderr ?? '', /could not be started: .*null bytes/)
})

test('a missing program cannot work', async () => {
  const { death } = await outcomeOf('/no/such/python')
  assert.equal(death?.exitCode, 9)
})

// Bridges that do not start, or end at once: instead of Python, a program of the test.

import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as after } from 'node:timers/promises'
import type { ProcessorDeath } from '../../base/errors.js'
import { Bridge } from './bridge.js'

interface Outcome {
  readonly lines: readonly string[]
  readonly death: ProcessorDeath | undefined
}

/** What happens to a bridge that is this program. */
async function outcomeOf(python: string, pulseIntervalMs = 10_000): Promise<Outcome> {
  const lines: string[] = []
  let death: ProcessorDeath | undefined
  const bridge = new Bridge(
    { python, serviceName: 'ScalerService', pulseIntervalMs },
    {
      onReady: (_pid, { session }) => lines.push(`session ${session}`),
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

/** A command of a shell that writes what a bridge does once it has a session. */
const IS_READY = [
  String.raw`printf '\000scaler-ts frames\n'`,
  String.raw`printf '\040\000\000\000\000{"connection":"c","session":"s"}'`,
].join('\n')

function programOf(t: TestContext, script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'bridge-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'python')
  writeFileSync(file, script)
  chmodSync(file, 0o755)
  return file
}

test('the last line is logged before its end, with or without a line break', async (t) => {
  const script = `#!/bin/sh\n${IS_READY}\nprintf 'one\\nlast words' >&2\nexit 3\n`
  assert.deepEqual(await outcomeOf(programOf(t, script)), {
    lines: ['session s', 'one', 'last words', 'exit'],
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

test('what something else prints before the first frame is in the log, and no frame', async (t) => {
  const script = `#!/bin/sh\nprintf 'one\\nscaler-ts frames'\n${IS_READY}\nexit 3\n`
  assert.deepEqual(await outcomeOf(programOf(t, script)), {
    lines: ['one', 'scaler-ts frames', 'session s', 'exit'],
    death: { exitCode: 3, signal: undefined, stderr: 'one\nscaler-ts frames' },
  })
})

/** Programs that are no bridge: what they write and how they exit, and the reason. */
const UNFIT: readonly (readonly [script: string, lines: readonly string[], reason: RegExp])[] = [
  ['exit 0', [], /python has exited with code 0 without starting the bridge$/],
  ['printf few; exit 127', ['few'], /has exited with code 127 without starting the bridge: few$/],
  ['echo on stdout; echo Reason. >&2; exit 9', ['on stdout', 'Reason.'], /^Reason\.$/],
]

for (const [script, lines, reason] of UNFIT) {
  test(`a program that is no bridge cannot work: ${script}`, async (t) => {
    const outcome = await outcomeOf(programOf(t, `#!/bin/sh\n${script}\n`))
    assert.deepEqual([...outcome.lines].sort(), [...lines, 'exit'].sort())
    assert.equal(outcome.death?.exitCode, 9)
    assert.match(outcome.death.stderr, reason)
  })
}

test('a bridge that is stopped is killed', async (t) => {
  const script = `#!/bin/sh\n${IS_READY}\nkill -STOP $$\n`
  const { death } = await outcomeOf(programOf(t, script), 10)
  assert.deepEqual(death, {
    exitCode: undefined,
    signal: 'SIGKILL',
    stderr: 'the bridge to Symphony has not responded for 60 ms',
  })
})

test('a Python that another program starts ends with it', async (t) => {
  const script = `#!/bin/sh\nsh -c 'echo $$ >&2; kill -STOP $$' &\nread none\nexit 3\n`
  const python = programOf(t, script)
  const pids: number[] = []
  const bridge = new Bridge(
    { python, serviceName: 'ScalerService' },
    {
      onReady: () => {},
      onOutput: () => {},
      onFailure: () => {},
      onExit: () => {},
      onLine: (line) => {
        pids.push(Number(line))
        void bridge.end()
      },
    },
  )
  await bridge.exited
  const [pid = 0] = pids
  assert.ok(pid > 0)
  const end = performance.now() + 20_000
  while (isAlive(pid)) {
    assert.ok(performance.now() < end, 'it has ended in time')
    await after(5)
  }
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

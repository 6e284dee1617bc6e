// The output of tasks, as programs see it.

import assert from 'node:assert/strict'
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { SchedulerClusterCombo } from 'scaler-ts'

const PROGRAM = fileURLToPath(new URL('program/output-program.js', import.meta.url))

function start(args: readonly string[]): ChildProcessWithoutNullStreams {
  const { SCALER_OUTPUT: _, ...env } = process.env
  return spawn(process.execPath, [PROGRAM, ...args], { env })
}

/** The output of a program that must exit normally. */
async function run(...args: readonly string[]): Promise<Record<'stdout' | 'stderr', string>> {
  const program = start(args)
  program.stdin.end()
  const [stdout, stderr, [code]] = await Promise.all([
    text(program.stdout),
    text(program.stderr),
    once(program, 'close') as Promise<[number | null]>,
  ])
  assert.equal(code, 0, stderr)
  return { stdout, stderr }
}

function folderFor(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'scaler-output-'))
  context.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('output of tasks is printed by the program, before their results, including the last lines', async () => {
  const { stdout, stderr } = await run('printOrders')
  assert.deepEqual(stdout.split('\n'), [
    'to stdout',
    'after the first',
    'no end of line, after it',
    'past the stream',
    'from a child',
    ...[1, 2, 3].flatMap((number) => [`past the stream ${number}`, `after ${number}`]),
    'the parent',
    stdout.split('\n')[12],
    'the parent again',
    'died',
    'input 1',
    'input 2',
    'input 3',
    'end',
    'from a buffer',
    '',
  ])
  assert.match(stdout.split('\n')[12] ?? '', /^\[child [0-9a-f]{8}\] the child$/)
  assert.equal(stderr, 'to stderr\nlast words\n')
})

test('while several tasks print, each line has the name and the id of its task', async (context) => {
  const folder = folderFor(context)
  const program = start(['printTogether', folder])
  program.stdin.end()
  let stdout = ''
  for await (const chunk of program.stdout) {
    stdout += String(chunk)
    for (const step of ['1', '2']) {
      const hasBoth = ['one', 'two'].every((name) => stdout.includes(`${name} ${step}\n`))
      if (hasBoth) writeFileSync(join(folder, step), '')
    }
  }
  const [, one, two] = /ids (\w+) (\w+)/.exec(stdout) ?? []
  const lines = new Set(stdout.split('\n'))
  assert.ok(lines.has(`[talk ${one}] one 2`), stdout)
  assert.ok(lines.has(`[talk ${two}] two 2`), stdout)
  const plain = ['one 1', 'two 1'].filter((line) => lines.has(line))
  assert.equal(plain.length, 1, stdout)
})

test('output from a remote cluster is printed on request, otherwise it is in the log', async (context) => {
  const lines: string[] = []
  const add = (line: string): void => void lines.push(line)
  const logger = { debug: add, info: add, warn: add, error: add }
  const cluster = await SchedulerClusterCombo.start({ workers: 1, logger })
  context.after(() => cluster.shutdown())
  assert.equal((await run('printThere', cluster.address, 'forward')).stdout, 'from afar\nend\n')
  assert.equal((await run('printThere', cluster.address, 'off')).stdout, 'end\n')
  assert.ok(!lines.includes('from afar'))
  assert.equal((await run('printThere', cluster.address)).stdout, 'end\n')
  await cluster.shutdown()
  assert.ok(lines.includes('from afar'), lines.join('\n'))
})

test('a program whose reader has exited continues', async () => {
  const program = start(['printToNobody'])
  const stderr = text(program.stderr)
  await once(program.stdout, 'data')
  program.stdout.destroy()
  program.stdin.end()
  const [code] = (await once(program, 'close')) as [number | null]
  assert.equal(await stderr, 'alive\n')
  assert.equal(code, 0)
})

test('output that a program is too slow for is dropped, and the program reports how much', async (context) => {
  const { stdout } = await run('printTooMuch', join(folderFor(context), 'printed'))
  const counts = JSON.parse(stdout) as Record<'printedBytes' | 'droppedBytes', number>
  assert.ok(counts.droppedBytes > 0, stdout)
  assert.equal(counts.printedBytes + counts.droppedBytes, 40_000_000)
})

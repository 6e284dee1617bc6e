import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectedOutput, mismatch } from './expectation.js'
import { readMarkdown } from './markdown.js'
import { stepsOf, type Step } from './steps.js'

function isAsExpected(expected: string, output: string): boolean {
  return mismatch(expected.split('\n'), output) === undefined
}

test('output is compared line by line', () => {
  assert(isAsExpected('a\nb', 'a\nb\n'))
  assert(!isAsExpected('a\nb', 'a\n'))
  assert(!isAsExpected('a', 'a\nb\n'))
  assert(!isAsExpected('a.c', 'abc'))
  assert(!isAsExpected('a', ''))
  assert.equal(mismatch([], ''), undefined)
})

test('an ellipsis stands for omitted text, within a line and for whole lines', () => {
  assert(isAsExpected('a … c', 'a b b c'))
  assert(!isAsExpected('a … c', 'a b b d'))
  assert(isAsExpected('…\nc\n…', 'a\nb\nc\nd\n'))
  assert(isAsExpected('a\n…', 'a\n'))
  assert(!isAsExpected('…\nc', 'a\nb\n'))
})

test('columns may be wider or narrower than shown, words not', () => {
  assert(isAsExpected('ok  well', 'ok     well'))
  assert(!isAsExpected('ok  well', 'okwell'))
})

test('log lines are compared in their terminal form, with any time', () => {
  const record = { time: '2026-11-22T03:18:59.446Z', level: 'info', message: 'ready', count: 2 }
  const line = JSON.stringify(record)
  assert(isAsExpected('[INFO]2020-01-02 09:00:00+0000: ready count=2', line))
  assert(isAsExpected(line, line))
  assert(!isAsExpected('[WARN]2020-01-02 09:00:00+0000: ready count=2', line))
  assert(!isAsExpected('[INFO]2020-01-02 09:00:00+0000: ready count=3', line))
})

test('comments of a program state its output, in order or in any order', () => {
  const program = [
    "import { a } from 'b' // no output",
    'console.log(a) // 1',
    '// 2',
    'console.log(b) // in any order: x; y',
  ].join('\n')
  assert.deepEqual(expectedOutput(program), { lines: ['1', '2'], loose: ['x', 'y'] })
})

function stepsIn(...lines: readonly string[]): Step[] {
  return stepsOf(readMarkdown(lines.join('\n')).blocks)
}

test('blocks become steps: files, programs that are continued, transcripts', () => {
  const steps = stepsIn(
    '## One',
    '```js',
    '// one.mjs',
    'const a = 1',
    '```',
    '```ts',
    'first()',
    '```',
    '```ts continued',
    'second()',
    '```',
    '```console',
    '$ false',
    '$ echo $?',
    '1',
    '$ scaler scheduler tcp://127.0.0.1:2345 \\',
    '>   --protected',
    'listens',
    '…',
    '```',
  )
  assert.deepEqual(
    steps.map(({ kind }) => kind),
    ['file', 'program', 'transcript'],
  )
  const [file, program, transcript] = steps
  assert(file?.kind === 'file' && file.name === 'one.mjs')
  assert(program?.kind === 'program' && program.text === 'first()\nsecond()\n')
  assert(transcript?.kind === 'transcript')
  assert.deepEqual(transcript.exchanges, [
    { command: 'false', expected: [], staysOpen: false, mayFail: true },
    { command: 'echo $?', expected: ['1'], staysOpen: false, mayFail: false },
    {
      command: 'scaler scheduler tcp://127.0.0.1:2345 \\\n  --protected',
      expected: ['listens'],
      staysOpen: true,
      mayFail: false,
    },
  ])
})

test('a block that no test would run is refused', () => {
  assert.throws(
    () => stepsIn('```rust', 'fn main() {}', '```'),
    /line 1: nobody would run this rust/,
  )
  assert.throws(() => stepsIn('```', 'npm test', '```'), /neither a drawing/)
  assert.throws(() => stepsIn('```ts continued', 'a()', '```'), /nothing to continue/)
  assert.throws(() => stepsIn('```ts', 'a()'), /never closed/)
  assert.deepEqual(stepsIn('```', '┌──┐', '```'), [])
})

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT, testFiles } from './paths.mjs'
import { run } from './process.mjs'
import { LONG_GROUPS, chooseTests, withSharedProcesses } from './test-scope.mjs'

const ALL = testFiles(['src', 'page', 'bench', 'examples', 'scripts', 'test'])

test('every group has files', () => {
  for (const { what, files } of LONG_GROUPS)
    assert.ok(
      ALL.some((path) => files.test(path)),
      what,
    )
})

test('a short run reports what it leaves out; a full run has every file', () => {
  const whole = chooseTests(ALL, { words: [], isWhole: true })
  assert.deepEqual(whole, { files: ALL, leftOut: [] })
  const short = chooseTests(ALL, { words: [], isWhole: false })
  assert.ok(short.leftOut.includes('libzmq'))
  const missing = ALL.filter((path) => !short.files.includes(path))
  assert.ok(missing.includes('test/interop/zmtp-matrix.test.ts'))
  assert.ok(missing.length < ALL.length / 10)
  assert.ok(short.files.includes('test/matrix/matrix.test.ts'))
})

test('a shared process loads all of its files, and no others', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'shared-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [unit, integration] = ['lib/serializer/d.test.js', 'build/test/integration/e.test.js']
  const files = ['lib/base/a.test.js', 'lib/core/client/c.test.js', unit, integration]
  const [base, core, ...others] = withSharedProcesses(files, folder)
  assert.deepEqual(others, [integration, unit], 'the longest first')
  const textOf = (path) => readFileSync(join(ROOT, path), 'utf8')
  assert.match(textOf(base), /^import 'file:.*\/lib\/base\/a\.test\.js'\n$/)
  assert.match(textOf(core), /^import 'file:.*\/lib\/core\/client\/c\.test\.js'\n$/)
})

test('words select from all files', () => {
  const { files, leftOut } = chooseTests(ALL, { words: ['zmtp-matrix'], isWhole: false })
  assert.deepEqual(files, ['test/interop/zmtp-matrix.test.ts'])
  assert.deepEqual(leftOut, [])
})

test('a run ends with its slowest files, what was left out, and its counts', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'run-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'one.test.mjs')
  writeFileSync(
    file,
    `import { test } from 'node:test'
    test('works', () => {})
    test('needs more', { skip: 'no such thing' }, () => {})\n`,
  )
  const { code, output } = await run(
    process.execPath,
    ['scripts/run-tests.mjs', '--left-out=a peer', file],
    { capture: true, env: { CI: '', NODE_TEST_CONTEXT: undefined } },
  )
  assert.equal(code, 0, output)
  const lines = output.trimEnd().split('\n').slice(-4)
  assert.equal(lines[0], 'the slowest of 1 files:')
  assert.match(lines[1] ?? '', /^ +\d+\.\d s {2}.*one\.test\.mjs$/)
  assert.equal(lines[2], 'left out: a peer (npm test -- --all); needs more (no such thing)')
  assert.equal(lines[3], '1 passed, 0 failed, 1 skipped')
})

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { allPages, ROOT } from './pages.js'

/** Without typedoc, which a short run leaves out. */
const SCOPE = process.env['TEST_SHORT'] === undefined ? [] : ['--tables']

test('tables of options and the reference are as in the source', () => {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['scripts/generate-documents.mjs', '--check', ...SCOPE],
    { cwd: ROOT, encoding: 'utf8' },
  )
  assert.equal(stderr, '')
  assert.equal(status, 0)
})

test('every mark for a generated table is closed', () => {
  for (const { path, text } of allPages()) {
    const count = (pattern: RegExp): number => [...text.matchAll(pattern)].length
    assert.equal(count(/^<!-- generated: /gm), count(/^<!-- end -->$/gm), path)
  }
})

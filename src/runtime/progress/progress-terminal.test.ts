import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isShown, isUnicode, ProcessScreen } from './screen.js'

test('nothing is shown without an interactive terminal', () => {
  assert.equal(isShown({ TERM: 'xterm-256color' }), true)
  assert.equal(isShown({}), true)
  assert.equal(isShown({ CI: 'false' }), true)
  assert.equal(isShown({ TERM: 'dumb' }), false)
  assert.equal(isShown({ TERM: 'xterm', CI: 'true' }), false)
  assert.equal(isShown({ CI: '1' }), false)
})

test('lines are drawn in ASCII unless the locale supports more', () => {
  if (process.platform === 'win32') return
  assert.equal(isUnicode({ LANG: 'en_US.UTF-8' }), true)
  assert.equal(isUnicode({ LANG: 'C', LC_CTYPE: 'de_DE.utf8' }), true)
  assert.equal(isUnicode({ LANG: 'en_US.UTF-8', LC_ALL: 'C' }), false)
  assert.equal(isUnicode({}), false)
})

test('a process without a terminal has no screen', (t) => {
  const { stderr } = process
  const before = stderr.isTTY
  t.after(() => (stderr.isTTY = before))
  stderr.isTTY = false
  assert.equal(new ProcessScreen().screen, undefined)
})

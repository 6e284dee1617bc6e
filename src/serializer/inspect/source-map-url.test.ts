import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sourceMapUrlOf } from './scripts.js'

test('the last comment names the source map', () => {
  const source = 'a\n//# sourceMappingURL=a.map\nb\n//# sourceMappingURL=b.map\n'
  assert.equal(sourceMapUrlOf(source), 'b.map')
  assert.equal(sourceMapUrlOf('a\n//@ sourceMappingURL=old.map'), 'old.map')
})

test('an inline source map is returned whole', () => {
  const url = `data:application/json;base64,${'A'.repeat(100_000)}`
  assert.equal(sourceMapUrlOf(`a\n//# sourceMappingURL=${url}\n\n`), url)
})

test('a text without the comment has none', () => {
  assert.equal(sourceMapUrlOf('a // sourceMappingURL'), '')
})

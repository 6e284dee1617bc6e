import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withTables } from './generate-documents.mjs'

test('text between marks is replaced, and nothing else', async () => {
  const page = [
    'before',
    '<!-- generated: flags one -->',
    'old',
    '<!-- end -->',
    'between',
    '<!-- generated: options two -->',
    '<!-- end -->',
    'after',
  ].join('\n')
  const updated = await withTables(page, async (kind, name) => `| ${kind} ${name} |`)
  assert.doesNotMatch(updated, /old/)
  const lines = updated.split('\n').filter((line) => line !== '' && !line.startsWith('<!--'))
  assert.deepEqual(lines, ['before', '| flags one |', 'between', '| options two |', 'after'])
  assert.equal(await withTables(updated, async (kind, name) => `| ${kind} ${name} |`), updated)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { typeOnlyExports, withTypeExports } from './bundle-types.mjs'

test('types are those that an entry point exports as such, under their last name', () => {
  const text = `export { open, type Key } from './a.js';
export type { Lock, Bolt as Pin } from './b.js';
export { close } from './a.js';
`
  assert.deepEqual([...typeOnlyExports(text)], ['Key', 'Lock', 'Pin'])
})

test('a class that is exported as a type only is not a value in the bundled types', () => {
  const bundled = `class Key {}
export { Key, open, Bolt as Pin };
export type { Lock };`
  const types = new Set(['Key', 'Pin', 'Lock'])
  assert.equal(
    withTypeExports(bundled, types),
    `class Key {}
export { open };
export type { Key, Bolt as Pin };
export type { Lock };`,
  )
})

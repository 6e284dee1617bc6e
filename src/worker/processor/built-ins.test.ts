import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findBrokenBuiltIn } from './built-ins.js'

/** What is found while a method of a built-in class is another one. */
function foundWith<P extends object>(owner: P, name: keyof P, other: unknown): string | undefined {
  const before = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor
  Object.defineProperty(owner, name, { ...before, value: other })
  try {
    return findBrokenBuiltIn()
  } finally {
    Object.defineProperty(owner, name, before)
  }
}

test('a method that does not work is found, and one that works is not', () => {
  const { push } = Array.prototype
  const pushed = foundWith(Array.prototype, 'push', function (this: unknown[], item: unknown) {
    return push.call(this, item)
  })
  assert.equal(pushed, undefined)
  assert.equal(
    foundWith(Array.prototype, 'push', () => 1),
    'Array',
  )
  assert.equal(
    foundWith(Map.prototype, 'get', () => undefined),
    'Map',
  )
  assert.equal(
    foundWith(Map.prototype, 'set', () => undefined),
    'Map',
  )
  assert.equal(
    foundWith(Set.prototype, 'has', () => true),
    'Set',
  )
  assert.equal(
    foundWith(RegExp.prototype, 'exec', () => null),
    'RegExp',
  )
  assert.equal(findBrokenBuiltIn(), undefined)
})

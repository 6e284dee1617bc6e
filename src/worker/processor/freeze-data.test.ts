import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freezeData } from './freeze-data.js'

test('plain data is frozen deeply', () => {
  const tree = { list: [{ x: 1 }, null], text: 'a', nothing: Object.create(null) as object }
  assert.equal(freezeData(tree), true)
  for (const part of [tree, tree.list, tree.list[0], tree.nothing]) assert.ok(Object.isFrozen(part))
})

test('primitives do not change', () => {
  for (const value of [1, 'a', null, undefined, Symbol.iterator])
    assert.equal(freezeData(value), true)
})

test('cycles and shared parts are frozen once', () => {
  const part = { again: undefined as unknown }
  part.again = [part, part]
  assert.equal(freezeData(part), true)
  assert.ok(Object.isFrozen(part.again))
})

for (const [name, other] of Object.entries({
  map: new Map([[{}, {}]]),
  bytes: new Uint8Array(2),
  date: new Date(0),
  instance: new (class Point {})(),
  function: () => 1,
})) {
  test(`plain data around a ${name} is frozen, the ${name} itself is not`, () => {
    const tree = { list: [1], other }
    assert.equal(freezeData(tree), false)
    assert.ok(Object.isFrozen(tree) && Object.isFrozen(tree.list) && !Object.isFrozen(other))
  })
}

test('an accessor is not data', () => {
  const tree = Object.defineProperty({}, 'x', { get: () => 1, enumerable: true })
  assert.equal(freezeData(tree), false)
})

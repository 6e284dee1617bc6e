import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { PrefixSet } from './pub.js'

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1')

test('an empty set matches nothing, the empty prefix everything', () => {
  const set = new PrefixSet()
  assert.equal(set.matches(bytes('')), false)
  assert.equal(set.matchesAll, false)
  set.add('')
  assert.equal(set.matches(bytes('')), true)
  assert.equal(set.matches(bytes('abc')), true)
  assert.equal(set.matchesAll, true)
})

test('a prefix must be removed as often as it was added', () => {
  const set = new PrefixSet()
  assert.equal(set.add('a'), true)
  assert.equal(set.add('a'), false)
  assert.equal(set.delete('a'), false)
  assert.equal(set.matches(bytes('ab')), true)
  assert.equal(set.delete('a'), true)
  assert.equal(set.matches(bytes('ab')), false)
  assert.equal(set.delete('a'), false)
  assert.equal(set.bytes, 0)
})

test('property: it agrees with a simple list', () => {
  const text = fc.string({ maxLength: 3, unit: fc.constantFrom('a', 'b', 'ÿ') })
  const step = fc.record({ isAdd: fc.boolean(), prefix: text })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.array(text), (steps, topics) => {
      const set = new PrefixSet()
      const list: string[] = []
      for (const { isAdd, prefix } of steps) {
        if (isAdd) list.push(prefix)
        else if (list.includes(prefix)) list.splice(list.indexOf(prefix), 1)
        if (isAdd) set.add(prefix)
        else set.delete(prefix)
      }
      assert.equal(set.size, new Set(list).size)
      assert.deepEqual(new Set(set), new Set(list))
      for (const topic of topics) {
        const expected = list.some((prefix) => topic.startsWith(prefix))
        assert.equal(set.matches(bytes(topic)), expected)
      }
    }),
  )
})

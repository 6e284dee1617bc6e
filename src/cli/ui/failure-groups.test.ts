import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failure } from './board.kit.js'
import { FailureGroups, groupId } from './failure-groups.js'

test('failures with the same cause are one group, whatever numbers their texts have', () => {
  const groups = new FailureGroups()
  const first = failure('1', { message: 'no price for 7 years' })
  const second = failure('2', { message: 'no price for 23 years', worker: 'w2' })
  const other = failure('3', { function: 'load', errorName: 'Error', message: 'gone' })
  groups.update([first, second, other])
  const again = failure('4', { message: 'no price for 9 years', worker: 'w2' })
  groups.update([second, other, again])
  groups.update([second, other, again])
  const [last, before] = groups.list()
  assert.equal(last?.count, 3)
  assert.equal(last?.message, 'no price for 9 years')
  assert.deepEqual(last?.tasks, ['4', '2', '1'])
  assert.deepEqual(last?.workers, [
    { id: 'w2', count: 2 },
    { id: 'w1', count: 1 },
  ])
  assert.deepEqual(last?.clients, [{ id: 'c', count: 3 }])
  assert.equal(before?.function, 'load')
})

test('signs and fractions are parts of numbers, hyphens are not', () => {
  const id = (message: string): string => groupId(failure('1', { message }))
  for (const other of ['at -7', 'at 0.5', 'at 1,000', 'at 2e-7', 'at -1.5', 'at 00c0ffee00']) {
    assert.equal(id(other), id('at 7'), other)
  }
  assert.notEqual(id('x-7'), id('x7'))
})

test('failures that are listed again after a lost connection are counted once', () => {
  const groups = new FailureGroups()
  groups.update([failure('1'), failure('2')])
  groups.update([failure('1'), failure('2'), failure('3')])
  assert.equal(groups.list()[0]?.count, 3)
})

test('there are at most 200 groups: the oldest go', () => {
  const groups = new FailureGroups()
  const name = (at: number): string => `f${String.fromCodePoint(0x4e00 + at)}`
  groups.update(Array.from({ length: 500 }, (_, at) => failure(`t${at}`, { function: name(at) })))
  assert.equal(groups.list().length, 200)
  assert.equal(groups.list()[0]?.function, name(499))
})

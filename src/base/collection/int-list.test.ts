import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IntList } from './int-list.js'

test('a list grows and keeps its numbers', () => {
  const list = new IntList()
  const numbers = Array.from({ length: 1_000 }, (_, i) => (i % 2 === 0 ? i : -i))
  for (const number of numbers) list.push(number)
  assert.equal(list.length, 1_000)
  assert.deepEqual([...list.toArray()], numbers)
  assert.equal(list.at(999), -999)
})

test('a list keeps all 32 bits of its numbers', () => {
  const list = new IntList()
  for (const number of [2 ** 31 - 1, -(2 ** 31), ~7]) list.push(number)
  assert.deepEqual([...list.toArray()], [2 ** 31 - 1, -(2 ** 31), -8])
})

test('there is nothing before the first number', () => {
  assert.deepEqual([...new IntList().toArray()], [])
})

test('a trimmed list works as before', () => {
  const list = new IntList()
  list.trim()
  for (let i = 0; i < 100; i += 1) list.push(i)
  list.trim()
  list.push(100)
  assert.deepEqual([list.length, list.at(99), list.at(100)], [101, 99, 100])
})

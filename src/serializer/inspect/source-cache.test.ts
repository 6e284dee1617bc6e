import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SourceCache } from './scripts.js'

const HALF = 'x'.repeat(8_000_000)

test('texts are kept as long as there is room', () => {
  const cache = new SourceCache()
  cache.set('1', HALF)
  cache.set('2', HALF)
  assert.equal(cache.get('1'), HALF)
  assert.equal(cache.get('2'), HALF)
  assert.equal(cache.get('3'), undefined)
})

test('the text that was not used for the longest makes room', () => {
  const cache = new SourceCache()
  cache.set('1', HALF)
  cache.set('2', HALF)
  cache.get('1')
  cache.set('3', 'small')
  assert.equal(cache.has('1'), true)
  assert.equal(cache.has('2'), false)
  assert.equal(cache.get('3'), 'small')
})

test('a text that is larger than all the room pushes nothing out', () => {
  const cache = new SourceCache()
  cache.set('1', HALF)
  cache.set('2', 'x'.repeat(16_000_001))
  assert.equal(cache.has('1'), true)
  assert.equal(cache.has('2'), false)
})

test('a text that is set twice counts once', () => {
  const cache = new SourceCache()
  cache.set('1', HALF)
  cache.set('1', HALF)
  cache.set('2', HALF)
  assert.equal(cache.has('1'), true)
  assert.equal(cache.has('2'), true)
})

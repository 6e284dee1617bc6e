import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SourceCache } from './scripts.js'

const HALF = 'x'.repeat(8_000_000)

test('texts are kept while there is room', () => {
  const cache = new SourceCache()
  cache.set('1', HALF)
  cache.set('2', HALF)
  assert.equal(cache.get('1'), HALF)
  assert.equal(cache.get('2'), HALF)
  assert.equal(cache.get('3'), undefined)
})

test('the least recently used text is removed first', () => {
  const cache = new SourceCache()
  cache.set('1', HALF)
  cache.set('2', HALF)
  cache.get('1')
  cache.set('3', 'small')
  assert.equal(cache.has('1'), true)
  assert.equal(cache.has('2'), false)
  assert.equal(cache.get('3'), 'small')
})

test('a text larger than the cache removes nothing', () => {
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

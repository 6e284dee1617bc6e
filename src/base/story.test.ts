import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Story } from './lifecycle.js'

test('a story tells the last transitions of one task in order', () => {
  const story = new Story(4)
  assert.equal(story.of('a'), '(nothing remembered)')
  story.record('a', 'inactive', 'assigned', 'running')
  story.record('b', 'inactive', 'assigned', 'running')
  story.record('a', 'running', 'workerLost', 'inactive')
  assert.equal(story.of('a'), 'inactive -assigned-> running, running -workerLost-> inactive')
})

test('a story forgets the oldest when its ring is full', () => {
  const story = new Story(2)
  story.record('a', 'one', 'x', 'two')
  story.record('a', 'two', 'x', 'three')
  story.record('a', 'three', 'x', 'four')
  assert.equal(story.of('a'), 'two -x-> three, three -x-> four')
})

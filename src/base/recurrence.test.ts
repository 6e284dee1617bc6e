import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Recurrence } from './recurrence.js'

test('the first is reported immediately, the others once per interval with a count', () => {
  const recurrence = new Recurrence(100)
  assert.equal(recurrence.note(5), 1)
  assert.equal(recurrence.note(6), 0)
  assert.equal(recurrence.note(104), 0)
  assert.equal(recurrence.note(105), 3)
  assert.equal(recurrence.note(300), 1)
})

test('unreported occurrences are reported by the next look, once', () => {
  const recurrence = new Recurrence(100)
  assert.equal(recurrence.look(0), 0)
  recurrence.note(0)
  recurrence.note(1)
  assert.equal(recurrence.look(99), 0)
  assert.equal(recurrence.look(100), 1)
  assert.equal(recurrence.look(500), 0)
})

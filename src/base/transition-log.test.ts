import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TransitionLog } from './lifecycle.js'

test('a transition log returns the last transitions of one task in order', () => {
  const log = new TransitionLog(4)
  assert.equal(log.of('a'), '(nothing remembered)')
  log.record('a', 'inactive', 'assigned', 'running')
  log.record('b', 'inactive', 'assigned', 'running')
  log.record('a', 'running', 'workerLost', 'inactive')
  assert.equal(log.of('a'), 'inactive -assigned-> running, running -workerLost-> inactive')
})

test('a transition log drops the oldest entries when its ring is full', () => {
  const log = new TransitionLog(2)
  log.record('a', 'one', 'x', 'two')
  log.record('a', 'two', 'x', 'three')
  log.record('a', 'three', 'x', 'four')
  assert.equal(log.of('a'), 'two -x-> three, three -x-> four')
})

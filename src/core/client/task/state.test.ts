import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AssertionError } from '../../../base/assert.js'
import { taskId } from '../../../base/ids.js'
import { Lifecycle } from '../../../base/lifecycle.js'
import { TASK_TRANSITIONS, type TaskCause, type TaskState } from './state.js'

const ID = taskId('x')

function after(state: TaskState, cause: TaskCause): string {
  return new Lifecycle(TASK_TRANSITIONS).next(ID, state, cause)
}

test('a task goes from waiting over sent to its end', () => {
  assert.equal(after('waiting', 'taskSent'), 'sent')
  assert.equal(after('sent', 'resultArrived'), 'ended')
})

test('a result that is an object stays in the cluster until somebody wants it', () => {
  assert.equal(after('sent', 'resultStored'), 'stored')
  assert.equal(after('stored', 'wanted'), 'fetching')
  assert.equal(after('fetching', 'contentArrived'), 'ended')
  assert.equal(after('fetching', 'contentMissing'), 'ended')
})

test('whatever the scheduler has forgotten waits again', () => {
  for (const state of ['blocked', 'waiting', 'sent', 'stored', 'fetching'] as const) {
    assert.equal(after(state, 'forgotten'), 'waiting')
  }
  assert.equal(after('fetching', 'contentLost'), 'waiting')
})

test('every task can be given up', () => {
  for (const state of ['blocked', 'waiting', 'sent', 'stored', 'fetching'] as const) {
    assert.equal(after(state, 'givenUp'), 'ended')
  }
})

test('a refusal counts only for a task that the scheduler has', () => {
  assert.equal(after('sent', 'refused'), 'ended')
  assert.equal(after('waiting', 'refused'), 'waiting')
  assert.equal(after('fetching', 'refused'), 'fetching')
})

test('an impossible transition names the task and quotes its transition log', () => {
  const lifecycle = new Lifecycle(TASK_TRANSITIONS)
  lifecycle.next(ID, 'waiting', 'taskSent')
  assert.throws(
    () => lifecycle.next(ID, 'sent', 'taskSent'),
    (error) => {
      assert(error instanceof AssertionError)
      assert.match(error.message, /task 78: taskSent while sent; waiting -taskSent-> sent/)
      return true
    },
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../../base/ids.js'
import type { TaskStory } from '../../wire/message.js'
import { type ExplainedTask, operatorReply } from './operator-reply.js'

const STORY: TaskStory = {
  taskId: taskId('a'),
  name: '',
  function: 'price',
  client: identity('C'),
  status: 'running',
  reason: 'allBusy',
  needs: '',
  forMS: 0,
  dependsOn: [],
  attempts: [],
  attemptCount: 0,
  error: [],
  isPython: false,
}

/** A task, as users read it. */
function explained(more: Partial<TaskStory>): ExplainedTask | undefined {
  const lists = { stack: [], lines: [], objects: [] }
  const answer = { kind: 'operatorAnswer', number: 1, outcome: 'done', note: '' } as const
  const tasks = [{ ...STORY, ...more }]
  return operatorReply({ ...answer, ...lists, tasks, worker: identity('W') }, 0).tasks[0]
}

/** For how long a task has been in its state. */
function secondsOf(forMS: number): number | null | undefined {
  return explained({ forMS })?.seconds
}

test('a waiting task of a Python client has its runtime', () => {
  const runtimeOf = (more: Partial<TaskStory>): unknown => explained(more)?.runtime
  assert.equal(runtimeOf({ status: 'inactive', isPython: true }), 'python')
  assert.equal(runtimeOf({ status: 'running', isPython: true }), null)
  assert.equal(runtimeOf({ status: 'inactive' }), null)
})

test('times are whole milliseconds, also those that a worker measured; 0 is unknown', () => {
  assert.equal(secondsOf(45_490.272448), 45.49)
  assert.equal(secondsOf(0.4), 0)
  assert.equal(secondsOf(0), null)
})

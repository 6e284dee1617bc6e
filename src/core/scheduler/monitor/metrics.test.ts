import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cancel, result, task, withPeers, workerHeartbeat } from '../scheduler.kit.js'

test('metrics count waiting tasks in the words of users, workers by state, and ended tasks', () => {
  const scheduler = withPeers({ clients: ['C'] })
  const { machine } = scheduler
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(Object.fromEntries(machine.metrics.waiting), {
    'no-worker': 3,
    'no-runtime': 0,
    'no-capability': 0,
    'all-busy': 0,
    dependency: 0,
  })
  scheduler.receive('V', workerHeartbeat())
  scheduler.receive('W', workerHeartbeat())
  const { running, workers, waiting } = machine.metrics
  assert.deepEqual([running, waiting.get('all-busy')], [2, 1])
  assert.deepEqual(workers, { idle: 0, busy: 2, leaving: 0 })
  scheduler.receive('V', result('a', 'success')).receive('W', result('b', 'failed'))
  scheduler.receive('C', cancel('c', true)).receive('V', result('c', 'canceled'))
  const after = machine.metrics
  assert.deepEqual(
    ['success', 'failed', 'canceled'].map((status) => after.ended.get(status as 'success')),
    [1, 1, 1],
  )
  assert.deepEqual(after.workers, { idle: 2, busy: 0, leaving: 0 })
})

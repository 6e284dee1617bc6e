import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  FEATURE_INLINE,
  FEATURE_RUNS,
  FEATURE_TASK_UPDATES,
  FEATURE_WAITING,
} from '../../base/features.js'
import { identity } from '../../base/ids.js'
import type { Task } from '../../wire/message.js'
import { nthTaskId } from '../../wire/run.js'
import { unpack } from '../../wire/run.kit.js'
import type { ClientAction } from './events.js'
import {
  Harness,
  inlineResult,
  objectResponse,
  resultOf,
  RUN,
  runResult,
  runTaskId,
  sent,
  storedResult,
  summary,
  taskResult,
  taskUpdate,
} from './harness.test.kit.js'

const FEATURES = FEATURE_INLINE | FEATURE_TASK_UPDATES | FEATURE_WAITING | FEATURE_RUNS
const FIRST = runTaskId(10)

function opened(features = FEATURES): Harness {
  const harness = new Harness()
  harness.open('S1', features)
  return harness
}

/** A run of five tasks, 10 to 14, that was sent. */
function started(): Harness {
  const harness = opened()
  harness.submitRun(FIRST, ['a', 'b', 'c', 'd', 'e'])
  harness.flush()
  return harness
}

function tasksIn(actions: readonly ClientAction<string>[]): readonly Task[] {
  return sent(actions).filter((message) => message.kind === 'task')
}

function argumentsOf({ count, packed }: Task): string[] {
  return unpack(packed, Math.max(count, 1)).map((entry) => Buffer.from(entry).toString())
}

function endsOf(harness: Harness): Record<string, string> {
  const ends: Record<string, string> = {}
  for (const [name, outcome] of harness.ends) {
    const place = Array.from({ length: 5 }, (_, index) => nthTaskId(FIRST, index)).findIndex(
      (id) => id === name,
    )
    ends[place < 0 ? name : 10 + place] = outcome
  }
  return ends
}

test('a run is one message with its function before it', () => {
  const harness = opened()
  harness.submitRun(FIRST, ['a', 'b', 'c'])
  assert.equal(harness.machine.unfinishedTasks, 3)
  const actions = harness.flush()
  assert.deepEqual(summary(actions), ['create f', 'task 10-12'])
  const [task] = tasksIn(actions)
  assert(task !== undefined)
  assert.deepEqual(task.functionArgs, [])
  assert.deepEqual(argumentsOf(task), ['a', 'b', 'c'])
})

test('results come in any parts', () => {
  const harness = started()
  const worker = identity('w')
  const profiles = Buffer.from('aaaabbbb')
  const result = { ...runResult(runTaskId(11), ['B', 'C']), metadata: profiles, worker }
  const [finish, ...rest] = harness.receive(result)
  assert(finish?.type === 'finishRun')
  assert.deepEqual(
    [finish.owner, finish.taskId, finish.count, finish.worker],
    [RUN, runTaskId(11), 2, worker],
  )
  assert.deepEqual(finish.metadata, profiles)
  assert.deepEqual(rest, [])
  harness.receive(runResult(runTaskId(13), ['D']))
  harness.receive(inlineResult(runTaskId(14), 'E'))
  assert.equal(harness.machine.unfinishedTasks, 1)
  harness.receive(runResult(FIRST, ['A']))
  assert.deepEqual(endsOf(harness), {
    10: 'value A',
    11: 'value B',
    12: 'value C',
    13: 'value D',
    14: 'value E',
  })
  assert.equal(harness.machine.heldBytes, 0)
})

test('tasks that have ended are left out of a result', () => {
  const harness = started()
  harness.receive(
    taskResult(runTaskId(12), { status: 'failed', inlineResults: [Buffer.from('!')] }),
  )
  assert.deepEqual(summary(harness.cancel(runTaskId(13))), ['cancel! 13'])
  const finished = harness
    .receive({
      ...runResult(FIRST, ['A', 'B', 'C', 'D', 'E']),
      metadata: Buffer.from('aaaabbbbccccddddeeee'),
    })
    .map((action) => (action.type === 'finishRun' ? Buffer.from(action.metadata).toString() : ''))
  assert.deepEqual(finished, ['aaaabbbb', 'eeee'])
  assert.deepEqual(endsOf(harness), {
    10: 'value A',
    11: 'value B',
    12: 'error !',
    13: 'cancelled',
    14: 'value E',
  })
})

test('a status about several tasks ends each of them', () => {
  const harness = started()
  harness.receive(taskResult(runTaskId(11), { status: 'workerDied', count: 3 }))
  assert.deepEqual(endsOf(harness), { 11: 'workerDied', 12: 'workerDied', 13: 'workerDied' })
  assert.equal(harness.machine.unfinishedTasks, 2)
})

test('malformed results end their tasks', () => {
  const harness = started()
  const { packed } = runResult(FIRST, ['A', 'B', 'C'])
  harness.receive(taskResult(FIRST, { count: 2, packed }))
  harness.receive({ ...runResult(runTaskId(12), ['A', 'B']), metadata: Buffer.from('abc') })
  assert.deepEqual(Object.values(endsOf(harness)), Array(4).fill('malformed'))
  // Nothing to which this could refer.
  harness.receive(taskResult(runTaskId(1000), { count: 2 ** 31, packed }))
  harness.receive(taskResult('unknown', { count: 3, packed }))
})

test('all tasks of a run can be cancelled at once, or a part of them', () => {
  const harness = started()
  const actions = harness.handle({ type: 'cancelRequested', taskId: runTaskId(11), count: 2 })
  assert.deepEqual(summary(actions), ['cancel! 11-12'])
  const rest = harness.handle({ type: 'clearRequested' })
  assert.deepEqual(summary(rest), ['cancel! 10', 'cancel! 13-14'])
  assert.equal(harness.machine.unfinishedTasks, 0)
})

test('an unsent run is cancelled without a trace', () => {
  const harness = opened()
  harness.submitRun(FIRST, ['a', 'b', 'c'])
  harness.cancel(runTaskId(11))
  const [first, last] = tasksIn(harness.flush())
  assert(first !== undefined && last !== undefined)
  assert.deepEqual(argumentsOf(first), ['a'])
  assert.deepEqual(argumentsOf(last), ['c'])
})

test('a limit of the scheduler counts the tasks of a run', () => {
  const harness = opened()
  harness.receive({ kind: 'taskRoom', tasks: 2 })
  harness.submitRun(FIRST, ['a', 'b', 'c', 'd', 'e'])
  assert.deepEqual(summary(harness.flush()), ['create f', 'task 10-11'])
  const refused = taskResult(FIRST, { status: 'noWorker', count: 2 })
  harness.receive(refused)
  assert.equal(harness.machine.unfinishedTasks, 5)
  const actions = harness.receive({ kind: 'taskRoom', tasks: 10 })
  assert.deepEqual(summary([...actions, ...harness.flush()]), ['task 10-11', 'task 12-14'])
})

test('a scheduler without runs gets single tasks with their arguments', () => {
  for (const features of [FEATURE_INLINE | FEATURE_TASK_UPDATES, 0]) {
    const harness = opened(features)
    harness.submitRun(FIRST, ['a', 'b', 'c'])
    const tasks = tasksIn(harness.flush())
    assert.deepEqual(
      tasks.map(({ count, packed }) => [count, packed.byteLength]),
      Array(3).fill([0, 0]),
    )
    if (features > 0) {
      const texts = tasks.map(({ functionArgs: [only] }) =>
        Buffer.from(only?.data ?? []).toString(),
      )
      assert.deepEqual(texts, ['a', 'b', 'c'])
    }
    for (const { taskId } of tasks) harness.receive(inlineResult(taskId))
    assert.equal(harness.machine.unfinishedTasks, 0)
    assert.equal(harness.machine.heldBytes, 0)
  }
})

test('after a lost connection, runs are sent again as far as they are unfinished', () => {
  const harness = started()
  harness.receive(runResult(runTaskId(12), ['C']))
  harness.receive(taskUpdate(runTaskId(14), 'running'))
  harness.disconnect()
  const actions = [...harness.open('S2', FEATURES), ...harness.flush()]
  assert.deepEqual(summary(actions).slice(-4), ['create f', 'task 10-11', 'task 13', 'task 14'])
  for (const { mayHaveRun } of tasksIn(actions)) assert.ok(mayHaveRun)
  harness.disconnect()
  const plain = [...harness.open('', 0), ...harness.flush()]
  assert.equal(tasksIn(plain).length, 4)
})

test('a large result of one task is offered to its owner', () => {
  const harness = started()
  const offers = harness.receive(storedResult(runTaskId(12), 'r1'))
  const [offer] = offers
  assert(offer?.type === 'offerResult')
  assert.deepEqual([offer.owner, offer.taskId], [RUN, runTaskId(12)])
  harness.receive(objectResponse('r1', 'large'))
  assert.deepEqual(endsOf(harness), { 12: 'value large' })
})

test('the result of one task of a run can be an argument', () => {
  const harness = started()
  harness.submit('user', [resultOf(runTaskId(12))])
  harness.receive(runResult(FIRST, ['A', 'B', 'C', 'D', 'E']))
  assert.deepEqual(Object.keys(endsOf(harness)), ['10', '11', '12', '13', '14'])
  const [task] = tasksIn(harness.flush())
  const [argument] = task?.functionArgs ?? []
  assert.equal(Buffer.from(argument?.data ?? []).toString(), 'C')
})

test('a progress report is about one task', () => {
  const harness = started()
  const id = runTaskId(12)
  const actions = harness.receive({
    kind: 'taskUpdate',
    taskId: id,
    update: 'progress',
    done: 1,
    total: 2,
  })
  assert.deepEqual(actions, [{ type: 'reportProgress', owner: RUN, taskId: id, done: 1, total: 2 }])
  assert.equal(harness.machine.whereIs(id), 'running')
  assert.equal(harness.machine.whereIs(runTaskId(11)), 'queued')
})

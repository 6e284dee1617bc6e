// What a client asks about its tasks: always answered, by the scheduler or without.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_PEERS, OUR_FEATURES } from '../../base/features.js'
import { taskId } from '../../base/ids.js'
import type { TaskExplanation } from '../../wire/message.js'
import type { ClientAction } from './events.js'
import { ALL_FEATURES, GraphSetting, sketchGraph } from './graph-scheduler.kit.js'
import { Harness, inlineResult, sent } from './harness.test.kit.js'

function answerFor(id: string): TaskExplanation {
  return {
    kind: 'taskExplanation',
    taskId: taskId(id),
    state: 'waiting',
    reason: 'noWorker',
    needs: '',
    forMS: 1,
    dependsOn: [],
    attempts: [],
  }
}

function ask(harness: Harness, id = 'a'): ClientAction<string>[] {
  return harness.handle({ type: 'explanationRequested', taskId: taskId(id) })
}

/** The tasks that were explained, and whether the scheduler did. */
function explained(actions: readonly ClientAction<string>[]): [string, boolean][] {
  return actions.flatMap((action) =>
    action.type === 'explainTask' ? [[action.taskId, action.explanation !== undefined]] : [],
  )
}

function isAsked(actions: readonly ClientAction<string>[]): boolean {
  return sent(actions).some(({ kind }) => kind === 'taskInquiry')
}

function withTask(features = OUR_FEATURES): Harness {
  const harness = new Harness()
  harness.open('S1', features)
  harness.submit('a')
  harness.flush()
  return harness
}

test('the scheduler is asked about what it has, and its answer is told once', () => {
  const harness = withTask()
  const actions = ask(harness)
  assert.ok(isAsked(actions))
  assert.deepEqual(explained(actions), [])
  assert.deepEqual(explained(harness.receive(answerFor('a'))), [['a', true]])
  assert.deepEqual(explained(harness.receive(answerFor('a'))), [], 'nobody has asked')
})

test('nobody is asked who does not have it, or does not know the question', () => {
  const alone = new Harness()
  alone.submit('a')
  const harnesses = [alone, withTask(OUR_FEATURES & ~FEATURE_PEERS), withTask(0)]
  const ended = withTask()
  ended.receive(inlineResult('a'))
  for (const harness of [...harnesses, ended]) {
    const actions = ask(harness)
    assert.ok(!isAsked(actions))
    assert.deepEqual(explained(actions), [['a', false]])
  }
})

test('an answer that does not come within five seconds is not waited for', () => {
  const harness = withTask()
  ask(harness)
  assert.deepEqual(explained(harness.advance(4_999)), [])
  assert.deepEqual(explained(harness.advance(1)), [['a', false]])
})

test('with the connection, or the client, its questions end', () => {
  const lost = withTask()
  ask(lost)
  assert.deepEqual(explained(lost.disconnect()), [['a', false]])
  const closed = withTask()
  ask(closed)
  assert.deepEqual(explained(closed.handle({ type: 'closeRequested' })), [['a', false]])
  assert.deepEqual(explained(ask(closed)), [['a', false]])
})

function begin(harness: Harness, id = 'a'): void {
  const update = 'running' as const
  harness.receive({ kind: 'taskUpdate', taskId: taskId(id), update, done: 0, total: 0 })
}

/** What was sent, and whose last attempt was asked for. */
function lastWords(actions: readonly ClientAction<string>[]): string[] {
  return actions.flatMap((action) => {
    if (action.type === 'send') return [action.message.kind]
    return action.type === 'requestAttempts' ? [`ask ${action.owner}`] : []
  })
}

test('a task that is cancelled while it runs is asked about before', () => {
  const harness = withTask()
  begin(harness)
  assert.deepEqual(lastWords(harness.cancel('a')), ['ask a', 'taskInquiry', 'taskCancel'])
  assert.deepEqual(explained(harness.receive(answerFor('a'))), [['a', true]])
})

test('one that has not begun, or whose scheduler cannot answer, is not', () => {
  assert.deepEqual(lastWords(withTask().cancel('a')), ['taskCancel'])
  const old = withTask(OUR_FEATURES & ~FEATURE_PEERS)
  begin(old)
  assert.deepEqual(lastWords(old.cancel('a')), ['taskCancel'])
})

test('targets of a cancelled graph that run are asked about before', () => {
  const setting = new GraphSetting('S1', ALL_FEATURES | FEATURE_PEERS)
  const graph = sketchGraph('G', { a: ['f'], b: ['f'] }, ['a', 'b'])
  setting.submit(graph)
  setting.flush()
  begin(setting.harness, graph.idOf('b'))
  const { harness } = setting
  const actions = harness.handle({ type: 'graphCancelRequested', graphId: graph.graphId })
  assert.deepEqual(lastWords(actions), ['ask b', 'taskInquiry', 'graphTaskCancel'])
})

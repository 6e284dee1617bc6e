import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExplainedTask, TaskAnswer } from '../../client/monitor/task-answer.js'
import { cancelText, explanationText, problemText } from './operate-text.js'

const TASK: ExplainedTask = {
  task: '00ff',
  name: null,
  function: 'price',
  client: null,
  state: 'running',
  reason: null,
  requirement: null,
  seconds: null,
  dependsOn: [],
  attempts: [],
  attemptCount: 0,
  error: null,
}

function answer(outcome: TaskAnswer['outcome'], more: Partial<TaskAnswer> = {}): TaskAnswer {
  return { outcome, note: '', tasks: [], ...more }
}

test('a task that waits: for how long, why, what to do, and what it needs', () => {
  const waiting = { ...TASK, state: 'waiting', seconds: 12, client: 'C' }
  assert.equal(
    explanationText(
      {
        ...waiting,
        reason: 'dependency',
        dependsOn: [
          { task: '01', name: 'load' },
          { task: '02', name: null },
        ],
      },
      'tcp://h:1',
    ),
    [
      '00ff (price()): waiting for 12 s',
      '  reason   dependency: it needs the result of an unfinished task',
      '  needs    01 (load)',
      '  needs    02',
      '  client   C',
      '',
    ].join('\n'),
  )
  const lacking = { ...waiting, reason: 'no-capability', requirement: 'gpu=1' } as const
  const [, reason = '', advice = ''] = explanationText(lacking, 'tcp://h:1').split('\n')
  assert.match(reason, /^ {2}reason {3}no-capability: .*tcp:\/\/h:1.*: gpu=1$/)
  assert.match(advice, /^ {11}start one that does/)
})

test('a task that failed: when, its last attempts, and its error without control characters', () => {
  const text = explanationText(
    {
      ...TASK,
      name: 'the price',
      state: 'failed',
      seconds: 3,
      attempts: [{ worker: 'W', outcome: 'failed', durationMs: 20, startedAt: undefined }],
      attemptCount: 21,
      error: { name: 'RangeError', message: 'no\u001b[31m', stack: 'RangeError: no\n    at f' },
    },
    'tcp://h:1',
  )
  assert.match(text, /^00ff \(the price\): failed 3 s ago\n/)
  assert.match(text, /\n {2}20 earlier attempts\n {2}attempt {2}failed, 0 s on W\n/)
  assert.match(text, /\n {2}error {4}RangeError: no[^\u001b\n]*\n {11}at f\n$/)
})

test('what was not done is one line', () => {
  const tasks = [TASK, { ...TASK, task: '00fe', function: null }]
  assert.equal(
    problemText('00f', answer('ambiguous', { tasks })),
    'task 00f could be one of several: 00ff (price()), 00fe',
  )
  assert.match(problemText('00f', answer('ambiguous', { tasks, note: 'more' })), /00fe, …$/)
  assert.equal(problemText('0', answer('unknown', { note: 'why' })), 'task 0 is unknown: why')
  assert.match(problemText('0', answer('busy')), /try again$/)
  assert.match(problemText('0', answer('timedOut')), /give the whole id$/)
  assert.equal(cancelText(answer('done', { tasks: [TASK] })), 'cancelled 00ff (price())\n')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExplainedTask, OperatorReply } from '../../client/monitor/operator-reply.js'
import type { WorkerRow } from '../report/columns.js'
import {
  cancelText,
  choiceText,
  drainText,
  explanationText,
  isNamed,
  linesText,
  meantWorkers,
  problemText,
} from './operate-text.js'

const TASK: ExplainedTask = {
  task: '00ff',
  name: null,
  function: 'price',
  client: null,
  state: 'running',
  reason: null,
  runtime: null,
  requirement: null,
  seconds: null,
  dependsOn: [],
  attempts: [],
  attemptCount: 0,
  error: null,
}

function answer(
  outcome: OperatorReply['outcome'],
  more: Partial<OperatorReply> = {},
): OperatorReply {
  return { outcome, note: '', tasks: [], stack: [], lines: [], worker: null, objects: [], ...more }
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

test('a Python task that waits needs a worker of Python Scaler', () => {
  const waiting = { ...TASK, state: 'waiting', runtime: 'python' } as const
  const linesFor = (reason: 'no-worker' | 'no-runtime'): readonly string[] =>
    explanationText({ ...waiting, reason }, 'tcp://h:1')
      .split('\n')
      .slice(1, 3)
  const command = 'scaler_cluster tcp://h:1 (the command of Python Scaler)'
  assert.deepEqual(linesFor('no-worker'), [
    '  reason   no-worker: the scheduler at tcp://h:1 has no worker that accepts tasks',
    `           start Python workers: ${command}`,
  ])
  assert.deepEqual(linesFor('no-runtime'), [
    '  reason   no-runtime: no worker of the scheduler at tcp://h:1 runs Python',
    `           start some that do: ${command}`,
  ])
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
  assert.match(text, /\n {2}20 earlier attempts\n {2}attempt {2}failed, 20 ms on W\n/)
  assert.match(text, /\n {2}error {4}RangeError: no[^\u001b\n]*\n {11}at f\n$/)
})

test('how long attempts took is precise, however short they were', () => {
  const took = [0.6673, 1.7829, 999.4, 1_500, 65_000]
  const attempts = took.map((durationMs) => {
    return { worker: 'W', outcome: 'retried', durationMs, startedAt: undefined } as const
  })
  const text = explanationText({ ...TASK, attempts, attemptCount: 5 }, 'tcp://h:1')
  assert.deepEqual(
    [...text.matchAll(/retried, (.+) on W/g)].map(([, time]) => time),
    ['0.667 ms', '1.78 ms', '999 ms', '1.5 s', '65 s'],
  )
})

test('what was not done is one line', () => {
  const tasks = [TASK, { ...TASK, task: '00fe', function: null }]
  assert.equal(
    problemText('task 00f', answer('ambiguous', { tasks })),
    'task 00f could be one of several: 00ff (price()), 00fe',
  )
  assert.match(problemText('task 00f', answer('ambiguous', { tasks, note: 'more' })), /00fe, …$/)
  assert.equal(problemText('task 0', answer('unknown', { note: 'why' })), 'task 0 is unknown: why')
  const ended = answer('unknown', { tasks: [{ ...TASK, state: 'failed' }] })
  assert.equal(problemText('task 00f', ended), 'task 00ff (price()) has already ended: failed')
  assert.match(problemText('task 0', answer('busy')), /try again$/)
  assert.match(problemText('task 0', answer('timedOut')), /give the whole id$/)
  assert.equal(cancelText(answer('done', { tasks: [TASK] })), 'cancelled 00ff (price())\n')
})

test('lines have time and source, and cannot control the terminal', () => {
  const time = new Date(Date.UTC(2026, 10, 22, 9, 0, 5, 123))
  const lines = [
    { time, source: 'log', text: '[INFO] registered' },
    { time, source: 'stderr', text: 'a\tb\u001b[2J\u009b' },
  ] as const
  assert.equal(
    linesText(answer('done', { lines })),
    '2026-11-22T09:00:05Z log    [INFO] registered\n' +
      '2026-11-22T09:00:05Z stderr a\tb\\u001b[2J\\u009b\n',
  )
  assert.equal(linesText(answer('done', { worker: 'W' })), 'worker W has written nothing\n')
})

test('a worker that leaves, and what it waits for', () => {
  assert.equal(drainText('W', answer('done'), 60_000), 'draining W: no task is running\n')
  const two = answer('done', { tasks: [TASK, TASK] })
  assert.equal(drainText('W', two, 60_000), 'draining W: 2 running tasks have up to 60 s\n')
  const late = answer('timedOut', { worker: 'W', note: 'no answer' })
  assert.equal(problemText('worker W', late), 'worker W: no answer')
  const left = answer('unknown', { worker: 'W', note: 'it has left' })
  assert.equal(problemText('worker W', left), 'worker W: it has left')
})

test('a worker is meant by its id, its name, or the beginning of its id', () => {
  const ids = ['12|left|a', '12|right|b', '13|left|c']
  const rows = ids.map((id) => ({ id, name: id.split('|')[1], version: '1' }) as WorkerRow)
  const meant = (given: string): readonly string[] => meantWorkers(rows, given).map(({ id }) => id)
  assert.deepEqual(meant('12|left|a'), ['12|left|a'])
  assert.deepEqual(meant('right'), ['12|right|b'])
  assert.deepEqual(meant('left'), ['12|left|a', '13|left|c'])
  assert.deepEqual(meant('12'), ['12|left|a', '12|right|b'])
  assert.deepEqual(meant('13'), ['13|left|c'])
  assert.equal(choiceText('12', []), 'worker 12 is unknown: see scaler workers')
  const twelve = Array.from({ length: 12 }, () => rows[0] as WorkerRow)
  assert.match(choiceText('left', twelve), /^worker left could be .+: 12\|left\|a, .+, …$/)
})

test('a worker of Python Scaler is also meant by the name in its id', () => {
  const of = (pid: number, version?: string): WorkerRow => {
    const id = `${pid}|cafe|${'0'.repeat(32)}`
    return { id, name: '', host: 'cafe', version } as WorkerRow
  }
  const rows = [of(1), of(2), of(3, '0.1.0')]
  assert.deepEqual(
    meantWorkers(rows, 'cafe').map(({ id }) => id.split('|')[0]),
    ['1', '2'],
  )
  assert.ok(isNamed(of(1), 'cafe'))
  assert.ok(!isNamed(of(3, '0.1.0'), 'cafe'))
})

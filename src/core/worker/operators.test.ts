// What a worker answers to operators. How it leaves by their order: worker-leaving.test.ts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskId } from '../../base/ids.js'
import type { OperatorAnswer, OperatorRequest } from '../../wire/message.js'
import type { StackReport, WorkerAction } from './events.js'
import { ScriptedWorker, WORKER } from './scripted-worker.test.js'

const STACK = [{ function: 'f', file: '/x.mjs', line: 1, column: 2 }]

function request(action: OperatorRequest['action'], number = 1, task = ''): OperatorRequest {
  const about = {
    task: '',
    taskId: taskId(task),
    worker: WORKER,
    lines: 9,
    limitMS: 0,
    allocator: '',
  }
  return { kind: 'operatorRequest', number, action, ...about }
}

function ask(
  worker: ScriptedWorker,
  ...about: Parameters<typeof request>
): readonly WorkerAction[] {
  const message = request(...about)
  return worker.handle({ type: 'messageReceived', message }).filter(({ type }) => type !== 'log')
}

function report(worker: ScriptedWorker, found: Partial<StackReport>): readonly OperatorAnswer[] {
  const whole: StackReport = { outcome: 'idle', stack: [], reason: '', ...found }
  return answersIn(worker.handle({ type: 'stackReported', processor: 1, report: whole }))
}

function answersIn(actions: readonly WorkerAction[]): readonly OperatorAnswer[] {
  return actions.flatMap((action) => {
    const isAnswer = action.type === 'send' && action.message.kind === 'operatorAnswer'
    return isAnswer ? [action.message] : []
  })
}

function shown(answers: readonly OperatorAnswer[]): readonly string[] {
  return answers.map(({ number, outcome, note }) => `${number} ${outcome} ${note}`)
}

function busy(): ScriptedWorker {
  const worker = ScriptedWorker.ready({ heartbeatIntervalMs: 3_600_000 })
  worker.run('a')
  worker.update('a', 'progress')
  worker.now += 400
  return worker
}

test('the stack of what runs, with the tasks of the processor', () => {
  const worker = busy()
  assert.deepEqual(ask(worker, 'stack', 1, 'a'), [{ type: 'askStack' }])
  const [answer, ...others] = report(worker, { outcome: 'running', stack: STACK })
  assert.deepEqual([answer?.stack, answer?.note, others], [STACK, '', []])
  assert.deepEqual(
    answer?.tasks.map((task) => [task.taskId, task.forMS]),
    [['a', 400]],
  )
})

test('requests share a look; soon after it, they are refused', () => {
  const worker = busy()
  assert.deepEqual(ask(worker, 'stack', 1), [{ type: 'askStack' }])
  assert.deepEqual([ask(worker, 'stack', 2), ask(worker, 'stack', 3, 'other')], [[], []])
  assert.deepEqual(shown(report(worker, { outcome: 'running', stack: STACK })), [
    '1 done ',
    '2 done ',
    '3 done the worker has not started it',
  ])
  worker.now += 49
  assert.deepEqual(shown(answersIn(ask(worker, 'stack', 4))), ['4 busy it was just asked'])
  worker.now += 1
  assert.deepEqual(ask(worker, 'stack', 5), [{ type: 'askStack' }])
  for (let number = 6; number <= 104; number += 1) ask(worker, 'stack', number)
  assert.deepEqual(shown(answersIn(ask(worker, 'stack', 105))), ['105 busy it was just asked'])
  assert.equal(report(worker, {}).length, 100)
})

test('without a stack, the note says why', () => {
  const noteFor = (found: Partial<StackReport>, worker = busy()): string | undefined => {
    ask(worker, 'stack')
    return report(worker, found)[0]?.note
  }
  assert.match(noteFor({ outcome: 'idle' }) ?? '', /waits for something asynchronous/)
  assert.equal(noteFor({ outcome: 'idle' }, ScriptedWorker.ready()), 'no task is running')
  assert.match(noteFor({ outcome: 'blocked' }) ?? '', /execSync/)
  assert.match(noteFor({ outcome: 'failed', reason: 'no inspector' }) ?? '', /: no inspector$/)
})

test('a processor that exits is not looked at, nor is one that has not started', () => {
  const worker = busy()
  ask(worker, 'stack')
  const exit = { type: 'processorExited', processor: 1, lastRun: 'nothing' } as const
  const actions = worker.handle({ ...exit, death: { exitCode: 1, stderr: '' } })
  assert.deepEqual(shown(answersIn(actions)), ['1 busy its processor has exited'])
  const next = answersIn(ask(worker, 'stack', 2))
  assert.deepEqual(shown(next), ['2 busy its processor is not running'])
  assert.deepEqual(report(worker, {}), [])
})

test('lines come from the shell; other requests are not for workers', () => {
  const worker = ScriptedWorker.ready()
  assert.deepEqual(ask(worker, 'logs', 3), [{ type: 'sendLines', number: 3, most: 9 }])
  assert.deepEqual(shown(answersIn(ask(worker, 'cancel', 4))), ['4 unsupported '])
})

// What operators get for their questions and orders, and that each gets one answer.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_OPERATORS, OUR_FEATURES } from '../../../base/features.js'
import { identity, idToHex, objectId, taskId } from '../../../base/ids.js'
import type { OperatorAnswer, OperatorRequest } from '../../../wire/message.js'
import { graph, node } from '../graph/graph.kit.js'
import {
  clientHeartbeat,
  instruction,
  PYTHON,
  result,
  task,
  withPeers,
  workerHeartbeat,
  type TestScheduler,
} from '../scheduler.kit.js'

const REQUEST: OperatorRequest = {
  kind: 'operatorRequest',
  number: 7,
  action: 'explain',
  task: '',
  taskId: taskId(''),
  worker: identity(''),
  lines: 0,
  limitMS: 0,
  allocator: '',
}
const ANSWER: OperatorAnswer = {
  kind: 'operatorAnswer',
  number: 1,
  outcome: 'done',
  note: '',
  tasks: [],
  stack: [],
  lines: [],
  objects: [],
  worker: identity(''),
}
const ERROR = { name: 'RangeError', message: 'too far', stack: '' }

/** A scheduler with an operator, O. */
function withOperator(options: Parameters<typeof withPeers>[1] = {}): TestScheduler {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, options)
  scheduler.receive('O', { ...clientHeartbeat(), wantsReport: true }).actions()
  return scheduler
}

function answers(scheduler: TestScheduler): readonly OperatorAnswer[] {
  return scheduler.actions().flatMap((action) => {
    const isAnswer = action.type === 'send' && action.message.kind === 'operatorAnswer'
    return isAnswer ? [action.message] : []
  })
}

/** The only answer to a request. */
function ask(scheduler: TestScheduler, request: Partial<OperatorRequest>): OperatorAnswer {
  scheduler.actions()
  const [answer, ...others] = answers(scheduler.receive('O', { ...REQUEST, ...request }))
  assert.ok(answer !== undefined)
  assert.deepEqual([answer.number, others], [request.number ?? 7, []])
  return answer
}

function hex(id: string): string {
  return idToHex(taskId(id))
}

test('a task is explained by its id or by its beginning', () => {
  const scheduler = withOperator()
  scheduler.receive('C', { ...task('abcd', 'C'), name: 'mine' }).moveTo(300)
  for (const digits of [hex('abcd'), hex('abc').toUpperCase(), hex('abc').slice(0, 5)]) {
    const { outcome, tasks } = ask(scheduler, { task: digits })
    assert.equal(outcome, 'done')
    assert.deepEqual(tasks, [
      {
        taskId: 'abcd',
        name: 'mine',
        function: 'name of f',
        client: 'C',
        status: 'running',
        reason: 'allBusy',
        needs: '',
        forMS: 300,
        dependsOn: [],
        attempts: [{ worker: 'W', outcome: 'unfinished', agoMS: 300, forMS: 300 }],
        attemptCount: 1,
        error: [],
        isPython: false,
      },
    ])
  }
})

test('a task or node of a Python client is explained as such', () => {
  const scheduler = withOperator()
  scheduler.receive('P', clientHeartbeat(PYTHON))
  scheduler.receive('P', task('abcd', 'P'))
  scheduler.receive('P', graph('gggg', ['nod2'], [node('nod1', []), node('nod2', ['nod1'])]))
  const explained = ['abcd', 'nod2'].map((id) => ask(scheduler, { task: hex(id) }).tasks[0])
  assert.deepEqual(
    explained.map((story) => [story?.reason, story?.isPython]),
    [
      ['noRuntime', true],
      ['dependency', true],
    ],
  )
})

test('an ambiguous beginning lists the candidates, unfinished and failed ones', () => {
  const scheduler = withOperator()
  scheduler.receive('C', task('abx', 'C'))
  scheduler.receive('W', { ...result('abx', 'failed'), error: [ERROR] })
  scheduler.receive('C', task('aby', 'C')).receive('C', task('abz', 'C'))
  const { outcome, tasks, note } = ask(scheduler, { task: hex('ab') })
  assert.deepEqual([outcome, note], ['ambiguous', ''])
  assert.deepEqual(tasks.map(({ taskId: id, status }) => `${id} ${status}`).toSorted(), [
    'abx failed',
    'aby running',
    'abz inactive',
  ])
  const failed = ask(scheduler, { task: hex('abx') }).tasks[0]
  assert.deepEqual([failed?.error, failed?.attempts.length], [[ERROR], 1])
  for (let index = 0; index < 30; index += 1) scheduler.receive('C', task(`ab${index}`, 'C'))
  const many = ask(scheduler, { task: hex('ab') })
  assert.deepEqual([many.tasks.length, many.note], [10, 'there are more'])
})

test('a task that is not known is unknown, with the reason', () => {
  const scheduler = withOperator()
  scheduler.receive('C', task('done', 'C')).receive('W', result('done'))
  const ended = ask(scheduler, { task: hex('done') })
  assert.equal(ended.outcome, 'unknown')
  assert.match(ended.note, /knows unfinished tasks/)
  assert.match(ask(scheduler, { task: '646' }).note, /at least 4 hexadecimal digits/)
  for (const digits of ['zzzz', 'a'.repeat(10_000), '....']) {
    assert.equal(ask(scheduler, { task: digits }).outcome, 'unknown')
  }
})

test('a node of a graph is explained with the nodes that it needs', () => {
  const scheduler = withOperator()
  scheduler.receive('C', graph('gggg', ['nod2'], [node('nod1', []), node('nod2', ['nod1'])]))
  const [story] = ask(scheduler, { task: hex('nod2') }).tasks
  assert.deepEqual([story?.status, story?.reason, story?.client], ['inactive', 'dependency', 'C'])
  assert.deepEqual(
    story?.dependsOn.map((each) => each.taskId),
    ['nod1'],
  )
  // Cancelled before it was a task, with what needs it.
  const { outcome } = ask(scheduler, { action: 'cancel', task: hex('nod1') })
  assert.equal(outcome, 'done')
  assert.equal(ask(scheduler, { task: hex('nod2') }).outcome, 'unknown')
})

test('a large table is searched in several turns', () => {
  const scheduler = withOperator({ graphStepsPerTurn: 100 })
  for (let index = 0; index < 1_000; index += 1) scheduler.receive('C', task(`t${index}`, 'C'))
  scheduler.receive('C', task('the one', 'C')).actions()
  scheduler.receive('O', { ...REQUEST, task: hex('the o') })
  const [answer] = answers(scheduler.moveTo(100))
  assert.deepEqual(
    answer?.tasks.map((story) => story.taskId),
    ['the one'],
  )
})

test('a cancelled task ends with its children; its client learns who cancelled it', () => {
  const scheduler = withOperator()
  scheduler.receive('C', task('runs', 'C')).receive('C', task('wait', 'C'))
  scheduler.receive('C', { ...task('kid1', 'C'), parentTaskId: taskId('runs') }).actions()
  scheduler.receive('O', { ...REQUEST, action: 'cancel', task: hex('wait') })
  const ended = scheduler.actions().flatMap((action) => {
    const isResult = action.type === 'send' && action.message.kind === 'taskResult'
    return isResult ? [action.message] : []
  })
  assert.deepEqual(
    ended.map((message) => message.kind === 'taskResult' && [message.taskId, message.error]),
    [['wait', [{ name: 'TaskCancelledError', message: 'by an operator', stack: '' }]]],
  )
  const { outcome, worker } = ask(scheduler, { action: 'cancel', task: hex('runs') })
  assert.deepEqual([outcome, worker], ['done', 'W'])
  scheduler.receive('W', result('runs', 'canceled'))
  const told = scheduler.actions().flatMap((action) => {
    return action.type === 'send' && action.to === 'C' ? [action.message] : []
  })
  assert.ok(
    told.some((message) => {
      return message.kind === 'taskResult' && message.error[0]?.message === 'by an operator'
    }),
  )
  assert.equal(ask(scheduler, { task: hex('kid1') }).outcome, 'unknown')
})

test('a 1.9.9 worker is told to stop what an operator cancels, a node of a graph, too', () => {
  const scheduler = withOperator()
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON))
  scheduler.receive('P', task('runs', 'P')).actions()
  scheduler.receive('O', { ...REQUEST, action: 'cancel', task: hex('runs') })
  assert.ok(scheduler.lines().includes('Q <- cancel runs by force'))
  scheduler.receive('Q', result('runs', 'canceled'))
  assert.deepEqual(scheduler.lines(), ['P <- result runs canceled'])
  scheduler.receive('P', graph('g', ['nod1'], [node('nod1')])).moveTo(50)
  scheduler.receive('O', { ...REQUEST, action: 'cancel', task: hex('nod1') })
  const lines = scheduler.lines().filter((line) => line.startsWith('Q'))
  assert.deepEqual(lines, ['Q <- task nod1', 'Q <- cancel nod1 by force'])
})

test('a protected scheduler refuses orders, and answers questions', () => {
  const scheduler = withOperator({ isProtected: true })
  scheduler.receive('C', task('abcd', 'C'))
  const worker = identity('W')
  assert.equal(ask(scheduler, { action: 'cancel', task: hex('abcd') }).outcome, 'refused')
  assert.equal(ask(scheduler, { action: 'drain', worker }).outcome, 'refused')
  assert.equal(ask(scheduler, { task: hex('abcd') }).outcome, 'done')
})

test('a worker is asked, and its answer passed back with what the scheduler knows', () => {
  const scheduler = withOperator()
  scheduler.receive('C', task('abcd', 'C')).actions()
  scheduler.receive('O', { ...REQUEST, action: 'stack', task: hex('abcd') })
  assert.deepEqual(scheduler.actions(), [
    {
      type: 'send',
      to: 'W',
      message: {
        ...REQUEST,
        number: 1,
        action: 'stack',
        task: '',
        taskId: 'abcd',
        worker: 'W',
      },
    },
  ])
  const stack = [{ function: 'f', file: '/x.mjs', line: 1, column: 2 }]
  // Only the worker that was asked may answer.
  assert.deepEqual(answers(scheduler.receive('V', { ...ANSWER, stack })), [])
  const [answer] = answers(scheduler.receive('W', { ...ANSWER, stack }))
  assert.deepEqual(answer, { ...ANSWER, number: 7, stack, worker: 'W', bytes: undefined })
  assert.deepEqual(answers(scheduler.receive('W', { ...ANSWER, stack })), [])
})

test('a worker that does not answer, does not understand or does not exist', () => {
  const scheduler = withOperator()
  const older = { ...workerHeartbeat(), features: OUR_FEATURES & ~FEATURE_OPERATORS }
  scheduler.receive('V', older)
  const asked = (name: string): OperatorAnswer['outcome'] => {
    return ask(scheduler, { action: 'logs', worker: identity(name) }).outcome
  }
  assert.deepEqual([asked('V'), asked('X')], ['unsupported', 'unknown'])
  scheduler.receive('O', { ...REQUEST, action: 'drain', worker: identity('W') })
  assert.deepEqual(answers(scheduler.moveTo(4_999)), [])
  const [late, ...others] = answers(scheduler.moveTo(5_000))
  assert.deepEqual([late?.outcome, late?.worker, others], ['timedOut', 'W', []])
  assert.match(late?.note ?? '', /has not answered within 5 s/)
})

test('a worker of Python Scaler supports nothing: the answer says what to do instead', () => {
  const scheduler = withOperator()
  const resource = { cpu: 0, rss: 1 }
  const processor = { pid: 78, initialized: true, hasTask: true, suspended: false, resource }
  const worker = identity(`77|pyone|${'0'.repeat(32)}`)
  scheduler.receive(worker, { ...workerHeartbeat(PYTHON), processors: [processor] })
  for (const [action, what] of [
    ['drain', /SIGINT to its process 77 on its host, or SIGTERM to its scaler_cluster/],
    ['stack', /py-spy dump --pid 78/],
    ['logs', /the output of its scaler_cluster/],
  ] as const) {
    const { outcome, note, worker: asked } = ask(scheduler, { action, worker })
    assert.deepEqual([outcome, asked], ['unsupported', worker])
    assert.match(note, what)
  }
})

test('a worker that leaves has not answered, and does not any more', () => {
  const scheduler = withOperator()
  scheduler.receive('O', { ...REQUEST, action: 'logs', worker: identity('W') }).actions()
  scheduler.handle({ type: 'peerDisconnected', peer: identity('W') })
  const [answer, ...others] = answers(scheduler)
  assert.deepEqual([answer?.outcome, answer?.note, others], ['unknown', 'the worker has left', []])
  assert.deepEqual(answers(scheduler.moveTo(10_000)), [])
})

test('requests are bounded, and forgotten with their operator', () => {
  const scheduler = withOperator()
  const request: OperatorRequest = { ...REQUEST, action: 'logs', worker: identity('W') }
  for (let number = 0; number < 20; number += 1) scheduler.receive('O', { ...request, number })
  assert.deepEqual(
    answers(scheduler).map(({ number, outcome }) => `${number} ${outcome}`),
    [16, 17, 18, 19].map((number) => `${number} busy`),
  )
  scheduler.handle({ type: 'peerDisconnected', peer: identity('O') })
  assert.deepEqual(answers(scheduler.receive('W', ANSWER).moveTo(6_000)), [])
  // A client without the feature is no operator.
  scheduler.receive('P', { ...clientHeartbeat(), features: 1 }).receive('P', REQUEST)
  assert.deepEqual(answers(scheduler), [])
})

test('the tasks that have waited longest are listed with why, the oldest first', () => {
  const scheduler = withPeers({ clients: ['C', 'D'] }, { graphStepsPerTurn: 50 })
  scheduler.receive('O', { ...clientHeartbeat(), wantsReport: true })
  const gpu = [{ name: 'gpu', value: 1 }]
  scheduler.receive('D', { ...task('d', 'D'), capabilities: gpu, name: 'mine' })
  for (let at = 0; at < 200; at += 1) scheduler.moveTo(at + 1).receive('C', task(`t${at}`, 'C'))
  scheduler.moveTo(500).actions()
  const request = { ...REQUEST, action: 'waiting', lines: 3 } as const
  assert.deepEqual(answers(scheduler.receive('O', request)), [], 'the search takes several turns')
  const [found] = answers(scheduler.moveTo(501))
  assert.deepEqual(
    found?.tasks.map(({ taskId: id, reason, needs, forMS, client, name }) => {
      return [id, reason, needs, forMS, client, name]
    }),
    [
      ['d', 'noWorker', 'gpu=1', 500, 'D', 'mine'],
      ['t0', 'noWorker', '', 499, 'C', ''],
      ['t1', 'noWorker', '', 498, 'C', ''],
    ],
  )
  scheduler.receive('W', workerHeartbeat()).actions()
  scheduler.receive('O', request)
  const [later] = answers(scheduler.moveTo(502))
  assert.equal(later?.tasks[0]?.reason, 'noCapability')
  assert.ok(later.tasks.every(({ status }) => status === 'inactive'))
  scheduler.receive('O', { ...request, lines: 0 })
  assert.deepEqual(answers(scheduler.moveTo(503))[0]?.tasks, [])
})

test('the largest objects are told, with their clients and the workers that have copies', () => {
  const scheduler = withOperator({ objectRetentionMs: 60_000 })
  const store = (client: string, id: string, bytes: number, name = '<obj 1>'): void => {
    const { objectContent, ...order } = instruction('create', client, [id])
    const [objectNames, objectBytes] = [[Buffer.from(name)], [[new Uint8Array(bytes)]]]
    const content = { ...objectContent, objectNames, objectBytes }
    scheduler.receive(client, { ...order, objectContent: content })
  }
  for (let index = 0; index < 50; index += 1) store('C', `small${index}`, 10)
  store('C', 'table', 5_000, 'table')
  scheduler.moveTo(400)
  scheduler.receive('D', clientHeartbeat())
  store('D', 'table', 5_000, 'table')
  store('D', 'blob', 9_000)
  const get = { kind: 'objectRequest', requestType: 'get', objectIds: [objectId('table')] } as const
  scheduler.receive('W', get).moveTo(500)
  const told = (lines: number): readonly unknown[][] => {
    scheduler.actions()
    const request = { ...REQUEST, action: 'objects', lines } as const
    const [answer] = answers(scheduler.receive('O', request).moveTo(500))
    assert.equal(answer?.outcome, 'done')
    return answer.objects.map(({ objectId: id, name, objectBytes, owner, ...rest }) => {
      return [id, name, objectBytes, owner, rest.users, rest.holders, rest.holderCount, rest.forMS]
    })
  }
  const table = ['table', 'table', 5_000, 'C', 2, ['W'], 1, 500]
  const blob = ['blob', '', 9_000, 'D', 1, [], 0, 100]
  assert.deepEqual(told(2), [blob, table])
  assert.deepEqual(told(0), [])
  const small = told(1_000).filter(([id]) => String(id).startsWith('small'))
  assert.equal(small.length, 50)
  scheduler.receive('D', { kind: 'clientDisconnect', disconnectType: 'disconnect' }).moveTo(500)
  assert.deepEqual(told(1), [['blob', '', 9_000, '', 0, [], 0, 100]])
})

// Whatever a peer sends, in any order and under any identity, the machine never throws, and its
// tables stay consistent. (The kit checks them after each event.)

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sized } from '../../base/short-run.kit.js'
import { latin1ToBytes } from '../../base/bytes.js'
import { identity, objectId, taskId } from '../../base/ids.js'
import type { Message, Task, TaskResult } from '../../wire/message.js'
import { graph, node } from './graph/graph.kit.js'
import {
  cancel,
  clientHeartbeat,
  instruction,
  OURS,
  PYTHON,
  result,
  task,
  TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from './scheduler.kit.js'

const id = fc.constantFrom('a', 'b', 'c', 'd', '')
const ids = fc.array(id, { maxLength: 4 })
const name = fc.constantFrom('A', 'B', 'C', '')
const kind = fc.constantFrom(OURS, PYTHON, { ...OURS, features: 7 }, { ...PYTHON, features: 15 })
const number = fc.constantFrom(0, 1, 2, 2 ** 32 - 1)
const status = fc.constantFrom(
  'success',
  'failed',
  'canceled',
  'notFound',
  'workerDied',
  'noWorker',
  'inactive',
  'running',
  'canceling',
)
const seconds = fc.constantFrom(0, 0.000_01, 1, -1, 3e38, Infinity, NaN)

const taskOf = (
  tid: string,
  from: string,
  rest: readonly [number, number, number, string],
): Task => {
  const [priority, retries, attempt, parent] = rest
  return {
    ...task(tid, from, priority % 3),
    retries,
    attempt,
    workerDeathLimit: retries,
    mayHaveRun: attempt % 2 === 1,
    parentTaskId: taskId(parent),
  }
}

const taskMessage = fc
  .tuple(id, name, fc.tuple(number, number, number, id))
  .map(([tid, from, rest]) => taskOf(tid, from, rest))

const resultMessage: fc.Arbitrary<TaskResult> = fc
  .tuple(id, status, seconds, ids, number, fc.nat(20))
  .map(([tid, how, took, results, attempt, size]) => ({
    ...result(tid, how, took),
    ...(size === 16 || size > 18 ? {} : { metadata: new Uint8Array(size) }),
    results: results.map(objectId),
    inlineResults: size % 3 === 0 ? [latin1ToBytes('x')] : [],
    attempt,
  }))

const heartbeatMessage = fc
  .tuple(kind, ids, fc.boolean())
  .map(([who, tasks, isLeaving]): Message => ({
    ...workerHeartbeat(who),
    tasks: tasks.map(taskId),
    isLeaving: isLeaving && tasks.length === 0,
  }))

const graphMessage = fc
  .tuple(id, ids, fc.array(fc.tuple(id, ids), { maxLength: 4 }), fc.boolean())
  .map(([gid, targets, nodes, isOpen]): Message => {
    return graph(
      gid,
      targets,
      nodes.map(([nid, args]) => node(nid, args)),
      isOpen,
    )
  })

const operatorRequest = fc
  .tuple(
    fc.constantFrom('explain', 'cancel', 'stack', 'logs', 'drain'),
    fc.constantFrom('', '6', '61', '6161', '62', 'xyz', 'a'.repeat(1_000)),
    name,
    number,
  )
  .map(([action, digits, worker, count]): Message => ({
    kind: 'operatorRequest',
    number: count,
    action: action as 'explain',
    task: digits,
    taskId: taskId(digits),
    worker: identity(worker),
    lines: count,
    limitMS: count,
    allocator: '',
  }))

const operatorAnswer = fc
  .tuple(fc.nat(4), fc.constantFrom('done', 'unknown', 'ambiguous', 'timedOut'), fc.nat(200))
  .map(([count, outcome, size]): Message => ({
    kind: 'operatorAnswer',
    number: count,
    outcome: outcome as 'done',
    note: 'x'.repeat(size * 100),
    tasks: [],
    stack: Array.from({ length: size }, () => ({ function: '', file: '', line: 0, column: 0 })),
    lines: [{ atMS: NaN, source: 'stdout', text: 'y'.repeat(size * 100) }],
    worker: identity('B'),
    objects: [],
  }))

const message: fc.Arbitrary<Message> = fc.oneof(
  { weight: 6, arbitrary: taskMessage },
  { weight: 8, arbitrary: resultMessage },
  { weight: 5, arbitrary: heartbeatMessage },
  { weight: 2, arbitrary: fc.tuple(kind, name).map(([who, host]) => clientHeartbeat(who, host)) },
  { weight: 3, arbitrary: fc.tuple(id, fc.boolean()).map(([tid, force]) => cancel(tid, force)) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(id, fc.constantFrom('waiting', 'resumed', 'progress'))
      .map(([tid, what]) => update(tid, what as 'waiting')),
  },
  { weight: 2, arbitrary: graphMessage },
  {
    weight: 1,
    arbitrary: id.map((gid): Message => ({ kind: 'graphTaskCancel', taskId: taskId(gid) })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom('create', 'delete', 'clear'), name, ids)
      .map(([type, user, oids]) => instruction(type as 'create', user, oids)),
  },
  { weight: 3, arbitrary: fc.oneof(operatorRequest, operatorAnswer) },
  {
    weight: 1,
    arbitrary: name.map((worker): Message => ({
      kind: 'disconnectRequest',
      worker: identity(worker),
    })),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Message>(
      { kind: 'clientDisconnect', disconnectType: 'disconnect' },
      { kind: 'processorInitialized' },
      { kind: 'clientShutdownResponse', accepted: true },
    ),
  },
)

const event = fc.oneof(
  { weight: 12, arbitrary: fc.record({ from: name, message }) },
  { weight: 1, arbitrary: fc.record({ from: name, lost: fc.constant(true) }) },
  { weight: 2, arbitrary: fc.record({ ms: fc.constantFrom(1, 50, 150, 1000, 6000, 70_000) }) },
)

test('property: a peer may send anything at any time, under any name, and nothing throws', () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 80, size: 'max' }), (events) => {
      const scheduler = new TestScheduler({ workerSilenceMs: 5000 })
      scheduler.handle({ type: 'subscribersChanged', count: 1 })
      for (const step of events) {
        if ('ms' in step) scheduler.moveTo(scheduler.now + step.ms)
        else if ('lost' in step) {
          scheduler.handle({ type: 'peerDisconnected', peer: identity(step.from) })
        } else scheduler.receiveAsIs(step.from, step.message)
      }
      const resource = { cpu: 0, rss: 0 }
      scheduler.handle({ type: 'statisticsSampled', scheduler: resource, rssFree: 0, turnP99Ms: 0 })
    }),
    { numRuns: sized(1_500, 300) },
  )
})

test('absurd durations from a worker affect only the forecast for that function', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', instruction('create', 'C', ['g'])).receive('C', task('a', 'C'))
  scheduler.receive('W', result('a', 'success', 3e38)).actions()
  for (const other of ['b', 'c']) {
    const message = { ...task(other, 'C'), funcObjectId: objectId('g') }
    scheduler.receive('C', message).receive('W', result(other, 'success', 0.001))
  }
  assert.equal(scheduler.lines().filter((line) => line.startsWith('C <-')).length, 2)
})

test('a task whose attempt number has the maximum value is still answered', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('a', 'C'), attempt: 2 ** 32 - 1, retries: 1 }).actions()
  scheduler.receive('W', result('a', 'failed'))
  assert.deepEqual(scheduler.lines(), ['W <- task a'])
  assert.deepEqual(scheduler.receive('W', result('a')).lines(), ['C <- result a success'])
})

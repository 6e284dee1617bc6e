// Chains: nodes that are sent to a worker right behind the one whose result they need.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_LINKS } from '../../../base/features.js'
import { identity, objectId, taskId } from '../../../base/ids.js'
import type { Task, TaskResult } from '../../../wire/message.js'
import type { SchedulerCoreOptions } from '../events.js'
import {
  calls,
  graph,
  large,
  measuredScheduler,
  messageOf,
  node,
  resultsTo,
  small,
} from './graph.kit.js'
import {
  cancel,
  child,
  clientHeartbeat,
  instruction,
  OURS,
  peer,
  result,
  TestScheduler,
  workerHeartbeat,
} from '../scheduler.kit.js'

const TINY = 0.000_1

/** The nodes of a chain: each needs the one before. */
function chain(ids: string, change: Partial<Task> = {}): Task[] {
  const each = Array.from(ids)
  return each.map((id, at) => node(id, each.slice(Math.max(0, at - 1), at), change))
}

function measured(
  seconds: number = TINY,
  workers?: readonly string[],
  options?: Partial<SchedulerCoreOptions>,
): TestScheduler {
  return measuredScheduler(seconds, workers, options)
}

function quick(id: string, value: string, seconds: number = TINY): TaskResult {
  const { metadata } = result(id, 'success', seconds)
  return small(id, value, { metadata, worker: peer('W') })
}

/** The ids of the tasks that were asked to stop. */
function stops(scheduler: TestScheduler): readonly string[] {
  return scheduler.actions().flatMap((action) => {
    const message = messageOf(action)
    return message?.kind === 'taskCancel' ? [message.taskId] : []
  })
}

test('the links of a chain follow its first task, and become tasks when their turn comes', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['b', 'd'], chain('abcd')))
  assert.deepEqual(calls(scheduler.actions()), ['W a()', 'W b(a)', 'W c(b)', 'W d(c)'])
  assert.equal(scheduler.machine.counts.tasks, 1)
  scheduler.receive('W', quick('a', '1')).receive('W', quick('b', '2'))
  assert.equal(scheduler.machine.counts.tasks, 1)
  scheduler.receive('W', quick('c', '3')).receive('W', quick('d', '4'))
  const actions = scheduler.actions()
  assert.deepEqual(calls(actions), [])
  const told = [...resultsTo('C', actions)].map(([id, { status }]) => `${id} ${status}`)
  assert.deepEqual(told, ['b success', 'd success', 'g success'])
  assert.deepEqual(scheduler.machine.counts, { clients: 1, tasks: 0, graphs: 0, objects: 1 })
})

test('the client can tell which node it is: only the one that runs is a task', () => {
  const scheduler = measured()
  scheduler
    .receive('C', graph('g', ['c'], chain('abc')))
    .receive('W', quick('a', '1'))
    .actions()
  scheduler.receive('C', { kind: 'taskInquiry', taskId: taskId('b') })
  scheduler.receive('C', { kind: 'taskInquiry', taskId: taskId('c') })
  const states = scheduler.actions().flatMap((action) => {
    const message = messageOf(action)
    return message?.kind === 'taskExplanation' ? [message.state] : []
  })
  assert.deepEqual(states, ['assigned', 'waiting'])
})

test('no links: long or unknown functions, forks, joins, repeated inputs, objects, open graphs', () => {
  const first = (scheduler: TestScheduler, nodes: readonly Task[], isOpen = false): string[] => {
    scheduler.receive('C', graph('g', [], nodes, isOpen))
    return [...calls(scheduler.actions())]
  }
  assert.deepEqual(first(measured(0.006), chain('ab')), ['W a()'])
  assert.deepEqual(first(measured(), chain('ab', { funcObjectId: objectId('other') })), ['W a()'])
  const fork = [node('a'), node('b', ['a']), node('c', ['a'])]
  assert.deepEqual(first(measured(), fork), ['W a()'])
  const join = [node('a'), node('b'), node('c', ['a', 'b'])]
  assert.deepEqual(first(measured(), join), ['W a()', 'W b()'])
  assert.deepEqual(first(measured(), [node('a'), node('b', ['a', 'a'])]), ['W a()'])
  assert.deepEqual(first(measured(), [node('a'), node('b', ['a', '@f'])]), ['W a()'])
  assert.deepEqual(first(measured(), chain('ab'), true), ['W a()'])
  const [a, b] = chain('ab') as [Task, Task]
  assert.deepEqual(first(measured(), [a, { ...b, retries: 1 }]), ['W a()'])
})

test('the other inputs of a link are in its message', () => {
  const scheduler = measured()
  const nodes = [node('a'), node('b', ['a', '=x']), node('c', ['a', 'b', '=y'])]
  scheduler.receive('C', graph('g', ['c'], nodes))
  assert.deepEqual(calls(scheduler.actions()), ['W a()'])
  scheduler.receive('W', quick('a', '1'))
  assert.deepEqual(calls(scheduler.actions()), ['W b(=1 =x)', 'W c(=1 b =y)'])
})

test('the links of all chains of a worker are limited by the work that it may hold', () => {
  const scheduler = measured(0.000_9)
  const ids = ['abcdefghi', 'jklmnopqr', 'stuvwxy01', '23456789+', '!?%&/()=*']
  scheduler.receive(
    'C',
    graph(
      'g',
      [],
      ids.flatMap((chained) => chain(chained)),
    ),
  )
  const sent = calls(scheduler.actions())
  // Five milliseconds for the links of each chain, twenty in all.
  assert.deepEqual(sent.slice(0, 7).join(), 'W a(),W b(a),W c(b),W d(c),W e(d),W f(e),W j()')
  assert.equal(sent.length, 22)
})

test('a worker that cannot, or holds one task at a time, gets no links', () => {
  const older = { ...OURS, features: OURS.features & ~FEATURE_LINKS }
  const scheduler = measured(TINY, ['W', 'V'])
  scheduler.receive('W', { kind: 'disconnectRequest', worker: identity('W') }).actions()
  scheduler.receive('V', workerHeartbeat(older)).actions()
  const old = new TestScheduler()
  old.receive('C', clientHeartbeat()).receive('C', instruction('create', 'C', ['f']))
  old.receive('W', workerHeartbeat(older)).receive('C', graph('g', [], [node('z')]))
  old.receive('W', quick('z', '0')).actions()
  old.receive('C', graph('h', [], chain('ab')))
  assert.deepEqual(calls(old.actions()), ['W a()'])
  const narrow = new TestScheduler({ perWorkerQueueSize: 1 })
  narrow.receive('C', clientHeartbeat()).receive('C', instruction('create', 'C', ['f']))
  narrow.receive('W', workerHeartbeat()).receive('C', graph('g', [], [node('z')]))
  narrow.receive('W', quick('z', '0')).actions()
  narrow.receive('C', graph('h', [], chain('ab')))
  assert.deepEqual(calls(narrow.actions()), ['W a()'])
})

test('a failure fails the links, which the worker returns', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['c'], chain('abc'))).actions()
  scheduler.receive('W', result('b', 'canceled')).receive('W', result('c', 'canceled'))
  scheduler.receive('W', small('a', 'E', { status: 'failed' }))
  const told = resultsTo('C', scheduler.actions())
  assert.equal(told.get('c')?.status, 'failed')
  assert.equal(told.get('c')?.failedTaskId, 'a')
  assert.equal(scheduler.machine.counts.graphs, 0)
})

test('a retried task gets its links again; late answers about the first ones are ignored', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['c'], chain('abc', { retries: 1 }))).actions()
  scheduler.receive('W', { ...quick('a', 'E'), status: 'failed' })
  assert.deepEqual(calls(scheduler.actions()), ['W a()', 'W b(a)', 'W c(b)'])
  scheduler.receive('W', result('b', 'canceled')).receive('W', result('c', 'canceled'))
  for (const id of 'abc') scheduler.receive('W', quick(id, id))
  const actions = scheduler.actions()
  assert.deepEqual(calls(actions), [])
  assert.equal(resultsTo('C', actions).get('c')?.status, 'success')
})

test('links that a worker returns run as ordinary tasks, before or after the one before them', () => {
  const early = measured()
  early.receive('C', graph('g', ['c'], chain('abc'))).actions()
  early.receive('W', result('b', 'canceled')).receive('W', result('c', 'canceled'))
  assert.deepEqual(calls(early.actions()), [])
  early.receive('W', quick('a', '1'))
  assert.deepEqual(calls(early.actions()), ['W b(=1)', 'W c(b)'])
  const late = measured()
  late
    .receive('C', graph('g', ['c'], chain('abc')))
    .receive('W', quick('a', '1'))
    .actions()
  late.receive('W', result('b', 'canceled'))
  assert.deepEqual(calls(late.actions()), ['W b(=1)', 'W c(b)'])
  late.receive('W', result('c', 'canceled'))
  for (const id of 'bc') late.receive('W', quick(id, id))
  assert.equal(resultsTo('C', late.actions()).get('c')?.status, 'success')
})

test('a result that becomes an object: the worker has dropped the links', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['b'], chain('ab'))).actions()
  scheduler.receive('W', instruction('create', 'C', ['r-a']))
  scheduler.receive('W', large('a', 'r-a', { worker: peer('W') }))
  assert.deepEqual(calls(scheduler.actions()), ['W b(@r-a)'])
  scheduler.receive('W', result('b', 'canceled')).receive('W', quick('b', '2'))
  const actions = scheduler.actions()
  assert.deepEqual(calls(actions), [])
  assert.equal(resultsTo('C', actions).get('b')?.status, 'success')
})

test('a link that is cancelled is stopped at once, with those behind it', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['b', 'c', 'd'], chain('abcd'))).actions()
  scheduler.receive('C', cancel('c'))
  assert.deepEqual(stops(scheduler), ['c', 'd'])
  scheduler.receive('W', result('c', 'canceled')).receive('W', result('d', 'canceled'))
  scheduler.receive('W', quick('a', '1')).receive('W', quick('b', '2'))
  const told = [...resultsTo('C', scheduler.actions())].map(([id, { status }]) => `${id} ${status}`)
  assert.deepEqual(told, ['b success', 'g success'])
})

test('a link whose task before it succeeds while that is being cancelled is stopped', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['a', 'b'], chain('ab'))).receive('C', cancel('a'))
  assert.deepEqual(stops(scheduler), ['a'])
  scheduler.receive('W', quick('a', '1'))
  assert.deepEqual(stops(scheduler), ['b'])
  const whole = measured()
  whole.receive('C', graph('g', ['b'], chain('ab')))
  whole.receive('C', { kind: 'graphTaskCancel', taskId: taskId('g') })
  assert.deepEqual(stops(whole), ['a'])
  whole.receive('W', quick('a', '1'))
  assert.deepEqual(stops(whole), ['b'])
})

test('a chain whose worker is lost continues on another one', () => {
  const scheduler = measured(TINY, ['W', 'V'])
  scheduler
    .receive('C', graph('g', ['c'], chain('abc')))
    .receive('W', quick('a', '1'))
    .actions()
  scheduler.handle({ type: 'peerDisconnected', peer: identity('W') })
  assert.deepEqual(calls(scheduler.actions()), ['V b(=1)'])
  for (const id of 'bc') scheduler.receive('V', quick(id, id))
  assert.equal(resultsTo('C', scheduler.actions()).get('c')?.status, 'success')
})

test('each link behind a cancelled one is stopped: the worker may be further than is known', () => {
  const node1 = measured()
  node1.receive('C', graph('g', ['a', 'd'], chain('abcd'))).receive('C', cancel('d'))
  assert.deepEqual(stops(node1), ['d'])
  const whole = measured()
  whole.receive('C', graph('g', ['d'], chain('abcd')))
  whole.receive('C', { kind: 'graphTaskCancel', taskId: taskId('g') }).receive('W', quick('a', '1'))
  assert.deepEqual(stops(whole), ['a', 'b', 'c', 'd'])
  const left = measured()
  left.receive('C', graph('g', ['d'], chain('abcd')))
  left.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  left.receive('W', quick('a', '1'))
  assert.deepEqual(stops(left), ['a', 'b', 'c', 'd'])
})

test('a client that returns before its task has ended: the links behind that are stopped', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['b'], chain('ab')))
  scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  scheduler.receive('C', clientHeartbeat()).receive('C', instruction('create', 'C', ['f']))
  assert.deepEqual(stops(scheduler), ['a'])
  scheduler.receive('C', graph('g', ['b'], chain('ab')))
  assert.deepEqual(stops(scheduler), ['b'])
})

test('a dropped node that a worker has as a link is stopped with those behind it', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['a', 'd'], chain('abcd'))).receive('C', cancel('d'))
  scheduler.receive('W', quick('a', '1'))
  assert.deepEqual(stops(scheduler), ['d', 'b', 'c'])
  assert.equal(scheduler.machine.counts.graphs, 0)
})

test('a malformed answer has no value for the links, which are stopped', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['b'], chain('ab')))
  const both = { ...quick('a', '1'), count: 0, packed: Buffer.from('x') }
  scheduler.receive('W', both)
  assert.deepEqual(stops(scheduler), ['b'])
  assert.equal(scheduler.machine.counts.graphs, 0)
})

test('a link may fail before its task, whose result was lost: the failure is kept until then', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['c'], chain('abc'))).actions()
  // Its processor has died with both: the task runs again there.
  scheduler.receive('W', result('c', 'canceled'))
  scheduler.receive('W', small('b', 'E', { status: 'failed' }))
  assert.equal(resultsTo('C', scheduler.actions()).size, 0)
  scheduler.receive('W', quick('a', '1'))
  const actions = scheduler.actions()
  assert.deepEqual(calls(actions), [])
  assert.equal(resultsTo('C', actions).get('c')?.failedTaskId, 'b')
  assert.deepEqual(scheduler.machine.counts, { clients: 1, tasks: 0, graphs: 0, objects: 1 })
})

test('a link that has failed before its task is retried once that has succeeded', () => {
  const scheduler = measured()
  scheduler.receive('C', graph('g', ['b'], chain('ab', { retries: 1 }))).actions()
  scheduler.receive('W', small('b', 'E', { status: 'failed' })).receive('W', quick('a', '1'))
  assert.deepEqual(calls(scheduler.actions()), ['W b(=1)'])
  scheduler.receive('W', quick('b', '2'))
  assert.equal(resultsTo('C', scheduler.actions()).get('b')?.status, 'success')
})

test('the failure of a link is dropped with its object if its task does not succeed', () => {
  for (const isLost of [false, true]) {
    const scheduler = measured()
    scheduler.receive('C', graph('g', ['b'], chain('ab')))
    scheduler.receive('W', instruction('create', 'C', ['error']))
    scheduler.receive('W', large('b', 'error', { status: 'failed' }))
    if (isLost) scheduler.handle({ type: 'peerDisconnected', peer: identity('W') })
    else scheduler.receive('W', small('a', 'E', { status: 'failed' }))
    assert.equal(scheduler.machine.counts.objects, 1)
  }
})

test('what a link submits before it is a task is cancelled with it, and needs no room', () => {
  const full = { maxNumberOfTasksWaiting: 0 }
  for (const end of ['failed', 'success', 'canceled'] as const) {
    const scheduler = measured(TINY, ['W'], full)
    scheduler.receive('C', graph('g', ['b'], chain('ab')))
    scheduler
      .receive('N', clientHeartbeat(OURS, 'W'))
      .receive('N', instruction('create', 'N', ['h']))
    const facts = { funcObjectId: objectId('h') }
    scheduler.receive('N', { ...child('k', 'N', 'b'), ...facts })
    scheduler.receive('N', { ...child('l', 'N', 'b'), ...facts })
    scheduler.receive(
      'N',
      graph('i', ['n'], [node('n', [], { ...child('n', 'N', 'b'), ...facts })]),
    )
    assert.equal(resultsTo('N', scheduler.actions()).size, 0)
    if (end !== 'canceled') scheduler.receive('W', quick('a', '1'))
    const values = { failed: small('b', 'E', { status: 'failed' }), success: quick('b', '2') }
    scheduler.receive('W', end === 'canceled' ? result('b', end) : values[end])
    const told = [...resultsTo('N', scheduler.actions())].map(
      ([id, { status }]) => `${id} ${status}`,
    )
    const all = ['i canceled', 'k canceled', 'l canceled', 'n canceled']
    assert.deepEqual(told.sort(), end === 'success' ? [] : all, end)
  }
})

test('a worker that never returns lost links soon gets no more', () => {
  const scheduler = measured()
  let links = 0
  for (let n = 0; n < 40; n += 1) {
    const ids = Array.from({ length: 257 }, (_, at) => `${n}.${at}`)
    const nodes = ids.map((id, at) => node(id, ids.slice(Math.max(0, at - 1), at)))
    scheduler.receive('C', graph(`g${n}`, [], nodes))
    links += calls(scheduler.actions()).length - 1
    scheduler.receive('W', { ...quick(`${n}.0`, 'E'), status: 'failed' }).actions()
  }
  assert.ok(links > 900 && links < 1_100, `${links} links`)
})

test('a link that another worker has returned with runs where it became a task', () => {
  const scheduler = measured(TINY, ['W'])
  scheduler.receive('C', graph('g', ['b'], chain('ab')))
  scheduler.receive('V', { ...workerHeartbeat(), tasks: [taskId('b')] }).actions()
  scheduler.receive('W', quick('a', '1'))
  assert.deepEqual(stops(scheduler), ['b'])
})

test('behind a task that was lost with a worker there are no links: one may have ended it', () => {
  const scheduler = measured(TINY, ['W', 'V'])
  scheduler.receive('C', graph('g', ['b'], chain('ab')))
  assert.deepEqual(calls(scheduler.actions()), ['W a()', 'W b(a)'])
  scheduler.handle({ type: 'peerDisconnected', peer: identity('W') })
  assert.deepEqual(calls(scheduler.actions()), ['V a()'])
  scheduler.receive('V', quick('a', '1'))
  assert.deepEqual(calls(scheduler.actions()), ['V b(=1)'])
})

test('a task that is not a node cannot need the result of another one: it is refused', () => {
  const scheduler = measured()
  scheduler.receive('C', node('a')).actions()
  scheduler.receive('C', node('b', ['a']))
  const actions = scheduler.actions()
  assert.deepEqual(calls(actions), [])
  assert.equal(resultsTo('C', actions).get('b')?.status, 'canceled')
})

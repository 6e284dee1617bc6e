import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesToLatin1 } from '../../../base/bytes.js'
import { identity, taskId } from '../../../base/ids.js'
import { Turn } from '../../../base/machine.js'
import { decode, encode } from '../../../wire/message.js'
import type { Child, TaskEntry } from '../entries.js'
import type { Graph } from '../graph/graph.js'
import {
  adopt,
  checkFamily,
  isGraph,
  leaveParent,
  OwnerlessTasks,
  releaseChildren,
} from './family.js'
import {
  cancel,
  child,
  peer,
  result,
  task,
  type TestScheduler,
  update,
  withPeers,
} from '../scheduler.kit.js'

/** A family: `a` with the children `b` (with a child `d`) and `c`; each with its own client. */
function family(workers: readonly string[]): TestScheduler {
  const scheduler = withPeers({ clients: ['A', 'B', 'C', 'D', 'X'], workers })
  scheduler.receive('A', task('a', 'A')).receive('B', child('b', 'B', 'a'))
  scheduler.receive('D', child('d', 'D', 'b', 2)).receive('C', child('c', 'C', 'a'))
  scheduler.receive('X', task('x', 'X')).actions()
  return scheduler
}

const leave = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const

test('a cancelled task ends all its children, queued or running', () => {
  const scheduler = family(['W', 'V'])
  // W has a and V has b.
  scheduler.receive('A', cancel('a', true))
  assert.deepEqual(scheduler.lines(), [
    'W <- cancel a by force',
    'C <- result c canceled',
    'V <- cancel b by force',
    'D <- result d canceled',
  ])
  scheduler.receive('V', result('b', 'canceled')).receive('W', result('a', 'canceled'))
  assert.deepEqual(scheduler.lines(), [
    'B <- result b canceled',
    'V <- task x',
    'A <- result a canceled',
  ])
})

for (const [title, end, others] of [
  ['fails', (s) => s.receive('W', result('a', 'failed')), ['A <- result a failed']],
  ['loses its worker', (s) => s.handle({ type: 'peerDisconnected', peer: peer('W') }), []],
  ['is given back by its worker', (s) => s.receive('W', result('a', 'canceled')), []],
  ['loses its client', (s) => s.receive('A', leave), ['W <- cancel a by force']],
] as readonly [string, (scheduler: TestScheduler) => unknown, readonly string[]][]) {
  test(`when a task ${title}, all its children are cancelled`, () => {
    const scheduler = family(['W', 'V'])
    end(scheduler)
    const lines = scheduler.lines().filter((line) => !line.endsWith('task x'))
    const ended = ['C <- result c canceled', 'D <- result d canceled', 'V <- cancel b by force']
    assert.deepEqual(lines.toSorted(), [...ended, ...others].toSorted())
  })
}

test('the children of a task that succeeded without waiting for them continue', () => {
  const scheduler = family(['W', 'V'])
  scheduler.receive('W', result('a'))
  const lines = scheduler.lines()
  assert.deepEqual(lines, ['A <- result a success', 'W <- task d'], 'the more urgent one first')
  scheduler.receive('A', cancel('a', true)).receive('A', leave)
  assert.deepEqual(scheduler.lines(), [], 'they have no parent now')
  scheduler.receive('V', result('b'))
  assert.deepEqual(scheduler.lines(), ['B <- result b success', 'V <- task c'])
})

test('a child that arrives while its parent is being cancelled is not started', () => {
  const scheduler = withPeers({ clients: ['A', 'B'], workers: ['W', 'V'] })
  scheduler.receive('A', task('a', 'A')).receive('A', cancel('a', true)).actions()
  scheduler.receive('B', child('b', 'B', 'a'))
  assert.deepEqual(scheduler.lines(), ['B <- result b canceled'])
})

test('a task with an unknown parent, or itself as its parent, is treated like any other', () => {
  const scheduler = withPeers({ clients: ['A'], workers: ['W'] })
  scheduler.receive('A', child('a', 'A', 'gone')).receive('W', result('a'))
  scheduler.receive('A', child('b', 'A', 'b')).receive('A', cancel('b', true))
  assert.deepEqual(scheduler.lines(), [
    'W <- task a',
    'A <- result a success',
    'W <- task b',
    'W <- cancel b by force',
  ])
})

test('a parent does not cancel a cancelled child again, but adds force', () => {
  const scheduler = family(['W', 'V', 'U', 'T', 'S'])
  scheduler.receive('B', cancel('b', true)).receive('C', cancel('c')).actions()
  scheduler.receive('A', cancel('a', true))
  assert.deepEqual(scheduler.lines().toSorted(), [
    'T <- cancel c by force',
    'W <- cancel a by force',
  ])
})

test('parent and child on one lost worker: the parent runs again, without the child', () => {
  const scheduler = withPeers({ clients: ['A', 'B'], workers: ['W'] })
  scheduler.receive('A', task('a', 'A')).receive('W', update('a', 'waiting'))
  scheduler.receive('B', child('b', 'B', 'a')).actions()
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  assert.deepEqual(scheduler.lines(), ['B <- result b canceled'])
  scheduler.receive('B', child('b', 'B', 'a')).receive('A', cancel('a'))
  assert.deepEqual(scheduler.lines(), ['A <- result a canceled', 'B <- result b canceled'])
})

test('a family may be far deeper than the stack', () => {
  const depth = 20_000
  const { machine } = withPeers({ clients: ['A'], workers: [] })
  let ended = 0
  const say = (message: Parameters<typeof encode>[0]): void =>
    machine.handle(
      { type: 'messageReceived', from: identity('A'), message: decode(encode(message)) },
      0,
      (action) => {
        if (action.type === 'send' && action.message.kind === 'taskResult') ended += 1
      },
    )
  say(task('t0', 'A'))
  for (let i = 1; i < depth; i += 1) say(child(`t${i}`, 'A', `t${i - 1}`, i % 8))
  say(cancel('t0'))
  assert.ok(ended > 100 && ended < depth, 'in slices, so that other work does not wait')
  for (let ticks = 0; machine.deadline === 0; ticks += 1) {
    assert.ok(ticks < depth, 'ticks make no progress')
    machine.handle({ type: 'tick' }, 0, () => (ended += 1))
  }
  assert.equal(ended, depth)
  assert.equal(machine.counts.tasks, 0)
  machine.checkInvariants()
})

/** A task with only the fields that these tests need. */
function member(name: string): TaskEntry {
  const { bytes = new Uint8Array(0) } = task(name, 'A')
  return {
    id: taskId(name),
    count: 1,
    part: undefined,
    client: undefined,
    runtime: 'javascript',
    priority: 0,
    requirement: undefined,
    function: undefined,
    encoded: bytesToLatin1(bytes),
    state: 'inactive',
    changedAt: 0,
    expectedSeconds: 0,
    worker: undefined,
    place: undefined,
    extra: undefined,
    node: undefined,
  }
}

test('graphs can be children, and cancelling one may re-enter', () => {
  const [parent, node, grandchild] = [member('p'), member('n'), member('g')]
  const cancelled: Child[] = []
  const ownerless = new OwnerlessTasks(new Turn(), (child) => {
    cancelled.push(child)
    if (isGraph(child)) child.onParentFailed()
  })
  const graph = {
    parent: undefined,
    onParentFailed: () => {
      ownerless.addChildren(node)
      ownerless.drain()
      assert.deepEqual(cancelled, [graph], 'not from inside `cancel`')
    },
  } as unknown as Graph
  adopt(parent, graph)
  adopt(node, grandchild)
  assert.equal(graph.parent, parent)
  ownerless.addChildren(parent)
  ownerless.drain()
  assert.deepEqual(cancelled, [graph, grandchild])
  assert.ok(ownerless.isEmpty && graph.parent === undefined)
})

test('a child that has left its parent is no longer linked', () => {
  const [parent, a, b] = [member('p'), member('a'), member('b')]
  adopt(parent, a)
  adopt(parent, b)
  leaveParent(a)
  leaveParent(a)
  assert.deepEqual([...(parent.extra?.children ?? [])], [b])
  const members = [parent, a, b]
  for (const one of members) checkFamily(one, new Set(members))
  releaseChildren(parent)
  assert.deepEqual([a.extra?.parent, b.extra?.parent], [undefined, undefined])
  const ownerless = new OwnerlessTasks(new Turn(), () => assert.fail('nothing to cancel'))
  ownerless.addChildren(parent)
  assert.ok(ownerless.isEmpty)
})

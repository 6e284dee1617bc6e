import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FEATURE_INLINE } from '../../../base/features.js'
import {
  cancel,
  child,
  clientHeartbeat,
  instruction,
  OURS,
  peer,
  result,
  task,
  type TestScheduler,
  update,
  withPeers,
} from '../scheduler.kit.js'

const DEPTH = 300

test('a worker whose task waits for its children gets another one, until the first resumes', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task a'])
  scheduler.receive('W', update('a', 'waiting'))
  assert.deepEqual(scheduler.lines(), ['W <- task b'])
  scheduler.receive('W', update('a', 'resumed')).receive('W', result('b'))
  assert.deepEqual(scheduler.lines(), ['C <- result b success'], 'a runs again: no room')
  scheduler.receive('W', result('a'))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'W <- task c'])
})

test('tasks that wait do not fill the queue of their worker', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, { perWorkerQueueSize: 1 })
  for (const id of ['a', 'b', 'c']) {
    scheduler.receive('C', task(id, 'C'))
    assert.deepEqual(scheduler.lines(), [`W <- task ${id}`])
    scheduler.receive('W', update(id, 'waiting'))
  }
  for (const id of ['a', 'b', 'c']) scheduler.receive('W', update(id, 'resumed'))
  scheduler.receive('C', task('d', 'C')).receive('W', result('a')).receive('W', result('b'))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'C <- result b success'])
  scheduler.receive('W', result('c'))
  assert.deepEqual(scheduler.lines(), ['C <- result c success', 'W <- task d'])
})

test('a worker whose task waits counts as idle among the others', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  scheduler.receive('C', task('a', 'C')).receive('C', task('b', 'C')).actions()
  scheduler.receive('W', update('b', 'waiting')).receive('C', task('c', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task c'])
})

test('among idle workers, one without waiting tasks comes first', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  scheduler.receive('C', task('parent', 'C')).receive('V', update('parent', 'waiting')).actions()
  // The child may end its process: its parent survives only in another one.
  for (const id of ['first', 'second']) {
    scheduler.receive('C', child(id, 'C', 'parent'))
    assert.deepEqual(scheduler.lines(), [`W <- task ${id}`])
    scheduler.receive('W', result(id)).actions()
  }
  scheduler.receive('W', result('parent')).receive('V', result('parent')).actions()
  scheduler.receive('C', task('next', 'C'))
  assert.deepEqual(scheduler.lines(), ['V <- task next'], 'nothing waits there anymore')
})

test('the children of a task that lost its process go to other workers, if there are any', () => {
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['V', 'W'] })
  scheduler.receive('C', task('parent', 'C')).receive('C', task('busy', 'C')).actions()
  scheduler.receive('V', update('parent', 'waiting', 1)).receive('C', child('a', 'C', 'parent'))
  assert.deepEqual(scheduler.lines(), [], 'only the worker of the parent has room')
  scheduler.receive('D', task('d', 'D')).receive('V', result('d'))
  assert.deepEqual(scheduler.lines(), ['V <- task d', 'D <- result d success'], 'no other waits')
  // Its own client has more tasks as well.
  scheduler.receive('C', task('c', 'C')).receive('V', result('c'))
  assert.deepEqual(scheduler.lines(), ['V <- task c', 'C <- result c success'])
  scheduler.receive('W', result('busy'))
  assert.deepEqual(scheduler.lines(), ['C <- result busy success', 'W <- task a'])
  // Other tasks may use that worker.
  scheduler.receive('C', task('other', 'C'))
  assert.deepEqual(scheduler.lines(), ['V <- task other'])
  scheduler
    .receive('V', result('other'))
    .receive('C', child('b', 'C', 'parent'))
    .actions()
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  assert.deepEqual(scheduler.lines(), ['V <- task a'], 'there is no other worker anymore')
})

test('a child joins its parent if other workers have no room for a long time', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  scheduler.receive('C', task('parent', 'C')).receive('C', task('endless', 'C')).actions()
  scheduler.receive('V', update('parent', 'waiting', 1)).receive('C', child('a', 'C', 'parent'))
  const { now } = scheduler
  scheduler.moveTo(now + 1_900)
  assert.deepEqual(scheduler.lines(), [])
  scheduler.moveTo(now + 4_000)
  assert.deepEqual(scheduler.lines(), ['V <- task a'])
})

test('the limit on waiting tasks does not count waiting parents as room', () => {
  const limits = { maxNumberOfTasksWaiting: 0, perWorkerQueueSize: 1 }
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, limits)
  scheduler.receive('C', task('a', 'C')).receive('W', update('a', 'waiting'))
  scheduler.receive('C', task('b', 'C')).receive('C', task('c', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task a', 'W <- task b', 'C <- result c noWorker'])
})

test('a repeated update that a task waits, or resumes, has no effect', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('C', task('b', 'C')).actions()
  scheduler.receive('W', update('a', 'resumed'))
  for (const _ of [1, 2]) scheduler.receive('W', update('a', 'waiting'))
  assert.deepEqual(scheduler.lines(), ['W <- task b'])
  for (const _ of [1, 2]) scheduler.receive('W', update('a', 'resumed'))
  scheduler.receive('W', result('a')).receive('W', result('b')).receive('C', task('c', 'C'))
  assert.deepEqual(scheduler.lines().at(-1), 'W <- task c')
})

test('only updates from the worker that has a task count', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'X'] })
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  scheduler.actions()
  for (const what of ['waiting', 'progress', 'resumed'] as const) {
    scheduler.receive('X', update('a', what)).receive('C', update('a', what))
    scheduler.receive('W', update('c', what)).receive('W', update('unknown', what))
  }
  assert.deepEqual(scheduler.lines(), [])
})

test('a task that ends, is cancelled or loses its worker while it waits leaves no trace', () => {
  const endings: readonly ((scheduler: TestScheduler) => unknown)[] = [
    (s) => s.receive('W', result('a')),
    (s) => s.receive('C', cancel('a', true)).receive('W', result('a', 'canceled')),
    (s) => s.receive('W', result('a', 'notFound')).receive('W', result('a')),
    (s) => s.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' }),
    (s) => s.handle({ type: 'peerDisconnected', peer: peer('W') }),
  ]
  for (const end of endings) {
    const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W'] })
    scheduler.receive('C', task('a', 'C')).receive('W', update('a', 'waiting'))
    end(scheduler)
    scheduler.receive('D', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
    // The kit checks after each event that the load and counts of the worker match its tasks.
    scheduler.receive('W', update('a', 'resumed')).receive('W', result('a'))
  }
})

test('the duration of a task that has waited is not measured for its function', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('W', update('a', 'waiting'))
  scheduler.receive('W', update('a', 'resumed')).receive('W', result('a', 'success', 0.000_01))
  scheduler.actions()
  for (const id of ['b', 'c', 'd']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task b'], 'the function is not known to be short')
  scheduler.receive('W', result('b', 'success', 0.000_01))
  const sent = scheduler.lines().filter((line) => line.startsWith('W'))
  assert.deepEqual(sent, ['W <- task c', 'W <- task d'])
})

test('progress is forwarded to the client unchanged, while it waits for the task', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).actions()
  scheduler.receive('W', update('a', 'progress', 3, 10))
  assert.deepEqual(scheduler.lines(), ['C <- progress a 3/10'])
  scheduler.receive('C', cancel('a', true)).actions()
  scheduler.receive('W', update('a', 'progress', 4, 10))
  assert.deepEqual(scheduler.lines(), [])
})

test('progress is not sent to clients without the feature, or that have left', () => {
  const scheduler = withPeers({ clients: [], workers: ['W'] })
  scheduler.receive('C', clientHeartbeat({ ...OURS, features: FEATURE_INLINE }))
  scheduler
    .receive('C', instruction('create', 'C', ['f']))
    .receive('C', task('a', 'C'))
    .actions()
  scheduler.receive('W', update('a', 'progress', 1, 2))
  scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  scheduler.receive('W', update('a', 'progress', 2, 2))
  assert.deepEqual(scheduler.lines(), ['W <- cancel a by force'])
})

test(`one worker accepts tasks that wait for each other ${DEPTH} deep`, () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, { perWorkerQueueSize: 3 })
  scheduler.receive('C', task('t0', 'C'))
  for (let depth = 1; depth <= DEPTH; depth += 1) {
    assert.deepEqual(scheduler.lines(), [`W <- task t${depth - 1}`])
    // Either may come first, because they take different paths.
    const said = () => scheduler.receive('W', update(`t${depth - 1}`, 'waiting'))
    if (depth % 2 === 0) said()
    scheduler.receive('C', child(`t${depth}`, 'C', `t${depth - 1}`, depth))
    if (depth % 2 === 1) said()
  }
  scheduler.actions()
  for (let depth = DEPTH; depth >= 0; depth -= 1) {
    if (depth < DEPTH) scheduler.receive('W', update(`t${depth}`, 'resumed'))
    scheduler.receive('W', result(`t${depth}`))
    assert.deepEqual(scheduler.lines(), [`C <- result t${depth} success`])
  }
  assert.equal(scheduler.machine.counts.tasks, 0)
})

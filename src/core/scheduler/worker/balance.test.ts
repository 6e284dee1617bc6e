import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId } from '../../../base/ids.js'
import { sharesOf } from './balance.js'
import {
  cancel,
  child,
  clientHeartbeat,
  instruction,
  peer,
  PYTHON,
  result,
  task,
  TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

const TINY_SECONDS = 0.000_01

const leave = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const

/** A scheduler whose worker W has `count` tasks a, b, … of a function that was tiny until now. */
function withStuck(count: number, others: readonly string[] = ['X']): TestScheduler {
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W'] })
  scheduler.receive('C', task('z', 'C')).receive('W', result('z', 'success', TINY_SECONDS))
  for (let i = 0; i < count; i += 1) {
    scheduler.receive('C', task(String.fromCharCode(97 + i), 'C'))
  }
  for (const worker of others) scheduler.receive(worker, workerHeartbeat())
  scheduler.actions()
  return scheduler
}

/** The tasks that are recalled from workers within `ms`. */
function recalled(scheduler: TestScheduler, ms = 100): readonly string[] {
  const lines = scheduler.moveTo(scheduler.now + ms).lines()
  return lines.flatMap((line) => /^[VWXYQ] <- cancel (\S+)$/.exec(line)?.[1] ?? [])
}

test('a worker without progress is asked for its newest tasks, not for its first', () => {
  const scheduler = withStuck(8)
  assert.deepEqual(recalled(scheduler, 99), [], 'not before it is stuck')
  assert.deepEqual(recalled(scheduler, 1), ['h', 'g', 'f'])
})

test('recalls even out the workers, with at least one task for each idle worker', () => {
  const table: readonly (readonly [counts: readonly number[], shares: readonly number[]])[] = [
    [[8, 0], [3]],
    [[8, 0, 0, 0, 0, 0, 0, 0], [7]],
    [
      [3, 3, 0],
      [1, 0],
    ],
    [[2, 0], [1]],
    [
      [5, 5, 5],
      [0, 0, 0],
    ],
    [
      [10, 4, 0, 0],
      [6, 0],
    ],
    [[4, 1, 0], [2]],
    [
      [3, 2, 2, 0, 0, 0],
      [2, 1, 0],
    ],
  ]
  for (const [counts, shares] of table) {
    const givers = counts.filter((count) => count >= 2)
    const queuedCount = counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0)
    const idleCount = counts.filter((count) => count === 0).length
    const all = { count: counts.length, idleCount, queuedCount }
    assert.deepEqual(sharesOf(givers, all), shares, `of ${counts.join(', ')}`)
  }
})

test('recalled tasks go one by one to idle workers; the rest waits', () => {
  const scheduler = withStuck(8, ['X', 'Y'])
  assert.deepEqual(recalled(scheduler), ['h', 'g', 'f', 'e'])
  for (const id of ['h', 'g', 'f', 'e']) scheduler.receive('W', result(id, 'canceled'))
  assert.deepEqual(scheduler.lines(), ['X <- task h', 'Y <- task g'])
  scheduler.receive('X', result('h', 'success', 10))
  assert.deepEqual(scheduler.lines(), ['C <- result h success', 'X <- task e'])
})

test('a stuck worker gets no tasks back and no new ones', () => {
  const scheduler = withStuck(3)
  scheduler.receive('D', instruction('create', 'D', ['g'])).actions()
  recalled(scheduler)
  scheduler.receive('W', result('c', 'canceled'))
  assert.deepEqual(scheduler.lines(), ['X <- task c'])
  const other = { ...task('o', 'D'), funcObjectId: objectId('g') }
  scheduler.receive('D', other).receive('C', task('d', 'C'))
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('X', result('c', 'success', TINY_SECONDS))
  assert.deepEqual(scheduler.lines(), ['C <- result c success', 'X <- task o'])
})

test('a worker that gets new work, or finishes in time, is not asked', () => {
  const scheduler = withStuck(8)
  assert.deepEqual(recalled(scheduler, 90), [])
  for (let i = 0; i < 7; i += 1) {
    scheduler.receive('W', result(String.fromCharCode(97 + i), 'success', TINY_SECONDS))
  }
  assert.deepEqual(recalled(scheduler, 5000), [])
})

test('a worker that progresses far more slowly than expected is asked', () => {
  const scheduler = withStuck(8)
  recalled(scheduler, 60)
  scheduler.receive('W', result('a', 'success', 0.06)).actions()
  assert.deepEqual(recalled(scheduler, 40), ['h', 'g', 'f'])
  for (const id of ['h', 'g', 'f']) scheduler.receive('W', result(id, 'canceled'))
  assert.deepEqual(scheduler.lines(), ['X <- task h'], 'it takes at least 40 ms, so one at a time')
})

test('no task is recalled while no worker idles, or while other tasks wait for the idle one', () => {
  const scheduler = withStuck(4, [])
  assert.deepEqual(recalled(scheduler, 5000), [])
  scheduler.receive('X', workerHeartbeat()).actions()
  assert.deepEqual(recalled(scheduler, 1), ['d'], 'immediately: W has been stuck for long')
})

test('with an interval of 0 no task is ever recalled', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, { loadBalanceMs: 0 })
  scheduler.receive('C', task('z', 'C')).receive('W', result('z', 'success', TINY_SECONDS))
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  scheduler.receive('X', workerHeartbeat()).actions()
  assert.deepEqual(recalled(scheduler, 5000), [])
})

test('a balance recall answered with "not found" strands no task: it continues where it is', () => {
  const scheduler = withStuck(2)
  assert.deepEqual(recalled(scheduler), ['b'])
  scheduler.receive('W', result('b', 'notFound'))
  assert.deepEqual(recalled(scheduler, 150), ['a'], 'so a may not have begun, and b is left alone')
  scheduler.receive('W', result('a', 'notFound'))
  assert.deepEqual(recalled(scheduler, 40), [])
  scheduler.receive('W', result('b')).receive('W', result('a'))
  assert.deepEqual(scheduler.lines(), ['C <- result b success', 'C <- result a success'])
  assert.equal(scheduler.machine.counts.tasks, 0)
})

/** Like `withStuck(2)`, but W has begun both of its tasks and has reported that. */
function withRefused(loadBalanceTriggerTimes?: number): TestScheduler {
  const options = loadBalanceTriggerTimes === undefined ? {} : { loadBalanceTriggerTimes }
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, options)
  scheduler.receive('C', task('z', 'C')).receive('W', result('z', 'success', TINY_SECONDS))
  scheduler.receive('C', task('a', 'C')).receive('C', task('b', 'C'))
  scheduler.receive('X', workerHeartbeat())
  assert.deepEqual(recalled(scheduler), ['b'])
  scheduler.receive('W', result('b', 'notFound'))
  assert.deepEqual(recalled(scheduler), ['a'])
  scheduler.receive('W', result('a', 'notFound'))
  return scheduler
}

for (const times of [undefined, 1, 5]) {
  test(`a refused task is recalled again after ${times ?? 'two'} intervals`, () => {
    const scheduler = withRefused(times)
    const againAt = scheduler.now + (times ?? 2) * 100 - 100
    const before = recalled(scheduler, againAt - 1 - scheduler.now)
    assert.deepEqual(before, [], 'it has probably begun')
    assert.deepEqual(recalled(scheduler, 201), ['b'])
    scheduler.receive('W', result('b', 'canceled'))
    assert.deepEqual(scheduler.lines(), ['X <- task b'])
  })
}

test('tasks that may be given back are recalled before refused ones, however old', () => {
  const scheduler = withStuck(3)
  assert.deepEqual(recalled(scheduler), ['c'])
  scheduler.receive('W', result('c', 'notFound')).receive('C', task('n', 'C'))
  assert.deepEqual(scheduler.lines(), ['X <- task n'])
  assert.deepEqual(recalled(scheduler, 2_000), [], 'no worker idles')
  scheduler.receive('X', result('n')).actions()
  assert.deepEqual(recalled(scheduler, 100), ['b'])
})

test('a result that crosses a balance recall counts, and the answer to the recall does not', () => {
  const scheduler = withStuck(2)
  recalled(scheduler)
  scheduler
    .receive('W', result('a'))
    .receive('W', result('b'))
    .receive('W', result('b', 'notFound'))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'C <- result b success'])
  assert.equal(scheduler.machine.counts.tasks, 0)
})

test('a task whose failure crosses a recall is retried, and "not found" does not end it', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('z', 'C')).receive('W', result('z', 'success', TINY_SECONDS))
  scheduler.receive('C', task('a', 'C')).receive('C', { ...task('b', 'C'), retries: 1 })
  scheduler.receive('X', workerHeartbeat()).actions()
  assert.deepEqual(recalled(scheduler), ['b'])
  scheduler.receive('W', result('a')).receive('W', result('b', 'failed', TINY_SECONDS))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'W <- task b'])
  scheduler.receive('W', result('b', 'notFound'))
  assert.deepEqual(scheduler.lines(), [])
  assert.deepEqual(scheduler.receive('W', result('b')).lines(), ['C <- result b success'])
})

test('a cancel from the client during a balance recall finishes the task once, as cancelled', () => {
  const answers = [
    ['canceled', 'notFound'],
    ['notFound', 'canceled'],
    ['success', 'notFound'],
  ] as const
  for (const [first, second] of answers) {
    const scheduler = withStuck(2)
    recalled(scheduler)
    scheduler.receive('C', cancel('b', true))
    assert.deepEqual(scheduler.lines(), ['W <- cancel b by force'])
    scheduler.receive('W', result('b', first)).receive('W', result('b', second))
    const end = first === 'success' ? 'success' : 'canceled'
    assert.deepEqual(scheduler.lines(), [`C <- result b ${end}`])
  }
})

test('the answer to a recall of a failed attempt does not affect the next attempt', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('z', 'C')).receive('W', result('z', 'success', TINY_SECONDS))
  for (const id of ['a', 'b']) scheduler.receive('C', { ...task(id, 'C'), retries: 1 })
  scheduler.receive('X', workerHeartbeat()).actions()
  assert.deepEqual(recalled(scheduler), ['b'])
  // It had begun before the recall, and fails before the recall reaches the worker.
  scheduler.receive('X', { kind: 'disconnectRequest', worker: peer('X') }).actions()
  scheduler.receive('W', result('a')).receive('W', result('b', 'failed'))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'W <- task b'])
  scheduler.receive('C', cancel('b', true))
  assert.deepEqual(scheduler.lines(), ['W <- cancel b by force'])
  assert.deepEqual(scheduler.receive('W', result('b', 'notFound')).lines(), [])
  scheduler.receive('W', result('b', 'canceled'))
  assert.deepEqual(scheduler.lines(), ['C <- result b canceled'])
})

test('a child whose parent ends during a balance recall is cancelled', () => {
  const scheduler = withPeers({ clients: ['C', 'N'], workers: ['W'] })
  scheduler.receive('C', task('z', 'C')).receive('W', result('z', 'success', TINY_SECONDS))
  scheduler.receive('C', task('p', 'C')).receive('N', child('n', 'N', 'p', 0))
  scheduler.receive('X', workerHeartbeat()).actions()
  assert.deepEqual(recalled(scheduler), ['n'])
  scheduler.receive('W', result('p', 'failed'))
  assert.deepEqual(scheduler.lines(), ['C <- result p failed', 'W <- cancel n by force'])
  scheduler.receive('W', result('n', 'notFound')).receive('W', result('n', 'canceled'))
  assert.deepEqual(scheduler.lines(), ['N <- result n canceled'])
})

test('a client that leaves during a balance recall leaves nothing behind', () => {
  for (const answer of ['canceled', 'notFound', 'success'] as const) {
    const scheduler = withStuck(2)
    recalled(scheduler)
    scheduler.receive('C', leave).actions()
    for (const id of ['a', 'b']) scheduler.receive('W', result(id, answer))
    scheduler.receive('W', result('b', 'canceled'))
    assert.deepEqual(scheduler.lines(), [])
    assert.equal(scheduler.machine.counts.tasks, 0)
  }
})

test('a worker that dies with recalled tasks loses none of them', () => {
  const scheduler = withStuck(6)
  assert.deepEqual(recalled(scheduler), ['f', 'e'])
  scheduler.receive('W', result('f', 'canceled'))
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') }).actions()
  const ended: string[] = []
  for (let id: string | undefined = 'f'; id !== undefined; id = next(scheduler)) {
    scheduler.receive('X', result(id))
    ended.push(id)
  }
  assert.deepEqual(ended.toSorted(), ['a', 'b', 'c', 'd', 'e', 'f'])
})

function next(scheduler: TestScheduler): string | undefined {
  const line = scheduler.lines().find((text) => text.startsWith('X <- task '))
  return line?.slice('X <- task '.length)
}

test('a worker that does not answer a recall is not asked again', () => {
  const scheduler = withStuck(8, ['X', 'Y'])
  assert.equal(recalled(scheduler).length, 4)
  assert.deepEqual(recalled(scheduler, 4000), [])
})

test('a worker that has answered is asked for more immediately, while others idle', () => {
  const scheduler = withStuck(8)
  assert.equal(recalled(scheduler).length, 3)
  for (const id of ['h', 'g', 'f']) scheduler.receive('W', result(id, 'canceled'))
  for (const id of ['h', 'f', 'g']) scheduler.receive('X', result(id, 'success', TINY_SECONDS))
  scheduler.actions()
  assert.deepEqual(recalled(scheduler, 10), ['e', 'd'])
})

test('if a worker has begun all its tasks, another one is asked', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'V'] })
  scheduler.receive('C', task('z', 'C')).receive('W', result('z', 'success', TINY_SECONDS))
  for (const id of ['a', 'b', 'c', 'd']) scheduler.receive('C', task(id, 'C'))
  scheduler.receive('X', workerHeartbeat()).actions()
  const asked: string[] = []
  for (let look = 0; look < 3; look += 1) {
    const ids = recalled(scheduler)
    asked.push(...ids)
    for (const id of ids) scheduler.receive('W', result(id, 'notFound'))
  }
  assert.deepEqual(asked, ['c', 'a', 'd'])
})

test('when a parent resumes, tasks assigned in its place move to another worker', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('W', update('a', 'waiting'))
  scheduler.receive('C', task('b', 'C')).receive('W', update('a', 'resumed'))
  scheduler.receive('X', workerHeartbeat()).actions()
  assert.deepEqual(recalled(scheduler), ['b'])
  assert.deepEqual(scheduler.receive('W', result('b', 'canceled')).lines(), ['X <- task b'])
})

test('tasks that wait for others, or have waited, are not recalled', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  for (const id of ['a', 'b', 'c']) {
    scheduler.receive('C', task(id, 'C')).receive('W', update(id, 'waiting'))
  }
  scheduler.receive('X', workerHeartbeat()).actions()
  assert.deepEqual(recalled(scheduler, 1000), [])
  scheduler.receive('W', update('a', 'resumed')).receive('W', update('b', 'resumed'))
  assert.deepEqual(recalled(scheduler, 1000), [])
})

test('the first task of a worker is recalled if another one is known to have begun', () => {
  const scheduler = withStuck(3)
  assert.deepEqual(recalled(scheduler), ['c'])
  // It waits for its objects, and c received its own sooner.
  scheduler.receive('W', result('c', 'notFound'))
  assert.deepEqual(recalled(scheduler), ['b'])
  scheduler.receive('W', result('b', 'canceled')).receive('X', result('b')).actions()
  assert.deepEqual(recalled(scheduler), ['a'])
  assert.deepEqual(scheduler.receive('W', result('a', 'canceled')).lines(), ['X <- task a'])
})

test('a worker that has reported which task runs is asked for the others, also for its first', () => {
  const scheduler = withStuck(3)
  scheduler.receive('W', update('c', 'running')).actions()
  assert.deepEqual(recalled(scheduler), ['b'])
  scheduler.receive('W', result('b', 'canceled')).receive('X', result('b')).actions()
  assert.deepEqual(recalled(scheduler), ['a'])
  assert.deepEqual(scheduler.receive('W', result('a', 'canceled')).lines(), ['X <- task a'])
})

test('tasks that are being cancelled are not recalled', () => {
  const scheduler = withStuck(2)
  scheduler.receive('C', cancel('b', true)).actions()
  assert.deepEqual(recalled(scheduler, 1000), [])
})

test('1.9.9 workers with many nested tasks give some to an idle one, despite progress', () => {
  const scheduler = new TestScheduler()
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON))
  for (let i = 0; i < 40; i += 1) scheduler.receive('P', task(`t${i}`, 'P', 1))
  for (let i = 0; i < 4; i += 1) {
    scheduler.now += 50
    scheduler.receive('Q', result(`t${i}`, 'success', 0.05))
  }
  scheduler.receive('X', workerHeartbeat(PYTHON)).actions()
  assert.equal(recalled(scheduler, 1).length, 17)
})

test('tasks are never recalled for workers of another runtime', () => {
  const scheduler = withStuck(8, [])
  scheduler.receive('Q', workerHeartbeat(PYTHON)).actions()
  assert.deepEqual(recalled(scheduler, 1000), [])
})

test('monitors receive which tasks are recalled, and from which worker', () => {
  const scheduler = withStuck(3)
  scheduler.handle({ type: 'subscribersChanged', count: 1 }).moveTo(100)
  const advice = scheduler.actions().flatMap((action) => {
    return action.type === 'publish' && action.message.kind === 'stateBalanceAdvice'
      ? [action.message]
      : []
  })
  assert.deepEqual(advice, [{ kind: 'stateBalanceAdvice', workerId: 'W', taskIds: ['c'] }])
})

test('a worker that joins gets queued work immediately', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task a'])
  scheduler.receive('X', workerHeartbeat())
  assert.deepEqual(scheduler.lines(), ['X <- echo S', 'X <- task b'])
})

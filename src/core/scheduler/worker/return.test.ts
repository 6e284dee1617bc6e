import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskId } from '../../../base/ids.js'
import { nthTaskId } from '../../../wire/run.js'
import { graph, node } from '../graph/graph.kit.js'
import {
  cancel,
  child,
  clientHeartbeat,
  OURS,
  peer,
  PYTHON,
  result,
  run,
  task,
  type TestScheduler,
  update,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

const leave = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const

/** The first heartbeat of a worker that returns with tasks. */
function back(...tasks: readonly string[]): ReturnType<typeof workerHeartbeat> {
  return { ...workerHeartbeat(), tasks: tasks.map(taskId) }
}

type Past = readonly [id: string, attempt: number, retries: number]

/** The same with tasks that had been started before. */
function backWith(...pasts: readonly Past[]): ReturnType<typeof back> {
  const all = pasts.map(([id, attempt, retries]) => ({ taskId: taskId(id), attempt, retries }))
  return { ...back(...pasts.map(([id]) => id)), pasts: all }
}

/** A task that a client resubmits to a new scheduler. */
function again(id: string, client = 'C'): ReturnType<typeof task> {
  return { ...task(id, client), mayHaveRun: true }
}

function lose(scheduler: TestScheduler, worker: string): TestScheduler {
  return scheduler.handle({ type: 'peerDisconnected', peer: peer(worker) })
}

test('a returning worker is assigned the tasks that it still has, whatever its load', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('C', task('b', 'C')).actions()
  lose(scheduler, 'W').receive('W', back('a'))
  assert.deepEqual(scheduler.lines(), ['W <- echo S', 'W <- task a'])
  scheduler.receive('W', result('a'))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'W <- task b'])
})

test('a task that waits behind others goes to the worker that returns with it', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  for (const id of ['a', 'b', 'c', 'd']) scheduler.receive('C', task(id, 'C'))
  scheduler.receive('W', back('c', 'd'))
  assert.deepEqual(scheduler.lines(), ['V <- task a', 'W <- echo S', 'W <- task c', 'W <- task d'])
})

test('a task that another worker has by then is cancelled on the returning worker', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'X'] })
  scheduler.receive('C', task('a', 'C'))
  lose(scheduler, 'W').actions()
  scheduler.receive('W', back('a'))
  assert.deepEqual(scheduler.lines(), ['W <- echo S', 'W <- cancel a by force'])
  // A result that it sent before the cancel belongs to an earlier attempt, and is ignored.
  scheduler.receiveAsIs('W', result('a')).receive('W', result('a', 'canceled'))
  assert.deepEqual(scheduler.lines(), [])
  assert.deepEqual(scheduler.receive('X', result('a')).lines(), ['C <- result a success'])
})

test('a task that a worker reports twice is assigned once', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler
    .receive('C', task('a', 'C'))
    .receive('W', back('a', 'a', 'u', 'u'))
    .actions()
  scheduler.receive('W', back('a', 'u'))
  assert.deepEqual(scheduler.lines(), ['W <- echo S'])
  assert.deepEqual(scheduler.receive('W', result('a')).lines(), ['C <- result a success'])
})

test('after a restart, a worker gets its tasks back as soon as their client resubmits them', () => {
  const scheduler = withPeers({ workers: ['V'] })
  scheduler.receive('W', back('a', 'b')).receive('C', clientHeartbeat()).actions()
  scheduler.receive('C', again('b')).receive('C', again('a'))
  assert.deepEqual(scheduler.lines(), ['W <- task b', 'W <- task a'])
  scheduler.receive('W', result('a')).receive('W', result('b'))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'C <- result b success'])
  assert.deepEqual(scheduler.moveTo(10_000).lines(), [])
})

test('a leased task is assigned to its worker despite the limit on waiting tasks', () => {
  const scheduler = withPeers(
    { clients: ['C'] },
    { maxNumberOfTasksWaiting: 0, perWorkerQueueSize: 1 },
  )
  scheduler.receive('W', back('a', 'b')).actions()
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task a', 'W <- task b', 'C <- result c noWorker'])
})

test('a leased task that no client resubmits is cancelled by force after five seconds', () => {
  const scheduler = withPeers({})
  scheduler.receive('W', back('a', 'b')).actions()
  assert.deepEqual(scheduler.moveTo(4999).lines(), [])
  assert.deepEqual(scheduler.moveTo(5000).lines(), [
    'W <- cancel a by force',
    'W <- cancel b by force',
  ])
  scheduler.receive('W', result('a', 'canceled')).receive('W', result('b', 'notFound'))
  assert.deepEqual(scheduler.moveTo(20_000).lines(), [])
})

test('many leases expire in slices', () => {
  const scheduler = withPeers({})
  const ids = Array.from({ length: 5000 }, (_, index) => `t${index}`)
  scheduler.receive('W', back(...ids)).actions()
  scheduler.now = 5000
  const counts: number[] = []
  while ((scheduler.machine.deadline ?? Infinity) <= 5000) {
    scheduler.handle({ type: 'tick' })
    counts.push(scheduler.lines().length)
  }
  assert.deepEqual(counts, [2000, 2000, 1000])
})

test('the number of leases of a worker is limited', () => {
  const scheduler = withPeers({ clients: ['C'] })
  const ids = Array.from({ length: 100_001 }, (_, index) => taskId(`t${index}`))
  scheduler.machine.handle(
    {
      type: 'messageReceived',
      from: peer('W'),
      message: { ...workerHeartbeat(), tasks: ids },
    },
    0,
    () => {},
  )
  scheduler.receive('X', workerHeartbeat()).actions()
  scheduler.receive('C', task('t99999', 'C')).receive('C', task('t100000', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task t99999', 'X <- task t100000'])
})

test('leases are removed with their worker', () => {
  const scheduler = withPeers({ clients: ['C'] })
  lose(scheduler.receive('W', back('a')), 'W')
  scheduler.receive('X', workerHeartbeat()).actions()
  assert.deepEqual(scheduler.receive('C', task('a', 'C')).lines(), ['X <- task a'])
  assert.deepEqual(scheduler.moveTo(10_000).lines(), [])
})

test('of two workers that report the same task, the first gets the lease', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('W', back('a')).receive('X', back('a'))
  assert.deepEqual(scheduler.lines(), ['W <- echo S', 'X <- echo S', 'X <- cancel a by force'])
  assert.deepEqual(scheduler.receive('C', task('a', 'C')).lines(), ['W <- task a'])
})

test('a worker of another runtime cannot have a task', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['X'] })
  const mixed = { ...back('p', 'q'), runtime: '' }
  scheduler.receive('P', clientHeartbeat({ ...PYTHON, features: OURS.features }))
  scheduler.receive('C', task('b', 'C')).receive('C', task('q', 'C')).actions()
  scheduler.receive('W', mixed).receive('C', task('p', 'C'))
  assert.deepEqual(scheduler.lines(), [
    'W <- echo S',
    'W <- cancel q by force',
    'W <- cancel p by force',
  ])
})

test('a node of a graph goes to the worker that returned with it', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  scheduler.receive('W', back('n2', 'n3', 'n4')).actions()
  const nodes = ['n1', 'n2', 'n3', 'n4', 'n5'].map((id) => node(id))
  scheduler.receive('C', graph('G', ['n1', 'n2', 'n3', 'n4', 'n5'], nodes))
  assert.deepEqual(scheduler.lines().toSorted(), [
    'V <- task n1',
    'W <- task n2',
    'W <- task n3',
    'W <- task n4',
  ])
})

test('twenty thousand leased nodes of one graph do not overflow the stack', () => {
  const count = 20_000
  const ids = Array.from({ length: count }, (_, index) => `n${index}`)
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('W', back(...ids)).actions()
  scheduler.receive(
    'C',
    graph(
      'G',
      [],
      ids.map((id) => node(id)),
    ),
  )
  assert.equal(scheduler.lines().length, count)
})

test('a leased task that ended before it could be assigned is cancelled on its worker', () => {
  const scheduler = withPeers({ clients: ['C', 'N'], workers: ['V'] })
  scheduler.receive('C', task('p', 'C')).receive('C', cancel('p')).receive('W', back('n'))
  scheduler.actions()
  scheduler.receive('N', child('n', 'N', 'p'))
  assert.deepEqual(scheduler.lines(), ['N <- result n canceled', 'W <- cancel n by force'])
})

test('a task whose client has left is cancelled on the worker that returns with it', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('C', task('a', 'C')).receive('C', leave).actions()
  scheduler.receive('W', back('a')).moveTo(6000)
  const lines = scheduler.lines().filter((line) => !line.includes('echo'))
  assert.deepEqual(lines, ['W <- cancel a by force'])
})

test('a returned task that waits for its children reports that again, and takes no capacity', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C')).receive('W', update('a', 'waiting')).actions()
  lose(scheduler, 'W').receive('W', back('a')).receive('C', task('b', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- echo S', 'W <- task a'])
  assert.deepEqual(scheduler.receive('W', update('a', 'waiting')).lines(), ['W <- task b'])
})

test('a worker that returns with a task does not count as lost, however often it disconnects', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('a', 'C'), workerDeathLimit: 2 }).actions()
  for (let cut = 0; cut < 10; cut += 1) {
    lose(scheduler, 'W').receive('W', back('a'))
    assert.deepEqual(scheduler.lines(), ['W <- echo S', 'W <- task a'])
  }
  lose(scheduler, 'W').receive('X', workerHeartbeat()).actions()
  assert.deepEqual(lose(scheduler, 'X').lines(), ['C <- result a workerDied'])
})

test('after a restart, tasks that may have run wait for their workers, and others do not', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  scheduler.receive('C', again('a')).receive('C', task('b', 'C')).receive('C', again('c'))
  assert.deepEqual(scheduler.lines(), ['V <- task b'])
  scheduler.now = 900
  scheduler.receive('W', back('c'))
  assert.deepEqual(scheduler.lines(), ['W <- echo S', 'W <- task c'])
  scheduler.receive('V', result('b', 'success', 10))
  assert.deepEqual(scheduler.lines(), ['C <- result b success'])
  assert.deepEqual(scheduler.moveTo(1499).lines(), [])
  assert.deepEqual(scheduler.moveTo(1500).lines(), ['V <- task a'])
})

test('some time after the start, tasks that may have run are queued like any other', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  scheduler.moveTo(1500).receive('C', again('a'))
  assert.deepEqual(scheduler.lines(), ['V <- task a'])
})

test('many held tasks are released in slices', () => {
  const scheduler = withPeers({ clients: ['C'] })
  for (let i = 0; i < 4500; i += 1) {
    // Without the kit, which checks all invariants after each event.
    const event = { type: 'messageReceived', from: peer('C'), message: again(`t${i}`) } as const
    scheduler.machine.handle(event, 0, () => {})
  }
  scheduler.moveTo(1499).now = 1500
  let ticks = 0
  for (; scheduler.machine.deadline === 1500; ticks += 1) scheduler.handle({ type: 'tick' })
  assert.equal(ticks, 3)
})

test('a held task can be cancelled, also when its client leaves', () => {
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['V'] })
  scheduler.receive('C', again('a')).receive('C', again('b')).receive('D', again('d', 'D'))
  scheduler.receive('C', cancel('a'))
  assert.deepEqual(scheduler.lines(), ['C <- result a canceled'])
  scheduler.receive('C', leave).moveTo(1500)
  assert.deepEqual(scheduler.lines(), ['V <- task d'])
  assert.equal(scheduler.machine.counts.tasks, 1)
})

test('a late result of an earlier attempt is ignored, and its object is not kept', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('a', 'C'))
  lose(scheduler, 'W').receive('W', workerHeartbeat()).actions()
  scheduler.receiveAsIs('W', result('a')).receiveAsIs('W', result('a', 'failed'))
  assert.deepEqual(scheduler.lines(), [], 'its current attempt is 1')
  scheduler.receiveAsIs('W', { ...result('a'), attempt: 1 })
  assert.deepEqual(scheduler.lines(), ['C <- result a success'])
})

test('results of workers that do not report attempts are accepted', () => {
  const scheduler = withPeers({ clients: ['C'] })
  const older = workerHeartbeat({ ...OURS, features: 7 })
  scheduler.receive('W', older).receive('C', task('a', 'C'))
  lose(scheduler, 'W').receive('W', older).actions()
  scheduler.receiveAsIs('W', result('a'))
  assert.deepEqual(scheduler.lines(), ['C <- result a success'])
})

test('a frozen worker that was given up cannot finish a task that another worker has by then', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, { workerSilenceMs: 5000 })
  scheduler.receive('C', task('a', 'C')).actions()
  for (let now = 2000; now <= 8000; now += 2000) {
    scheduler.moveTo(now).receive('X', workerHeartbeat()).receive('C', clientHeartbeat())
  }
  const lines = scheduler.lines().filter((line) => !line.includes('echo'))
  assert.deepEqual(lines, ['disconnect W', 'X <- task a'])
  scheduler.receiveAsIs('W', result('a'))
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('W', back('a')).receive('X', result('a'))
  assert.deepEqual(scheduler.lines(), [
    'W <- echo S',
    'W <- cancel a by force',
    'C <- result a success',
  ])
})

test('nodes that a worker returns with together do not confuse the queue of their graph', () => {
  const scheduler = withPeers({ clients: ['C'] })
  const ids = ['n0', 'n1', 'n2', 'n3', 'n4']
  const nodes = ids.map((id) => node(id))
  scheduler
    .receive('C', graph('g', ids, nodes))
    .receive('C', task('x', 'C'))
    .actions()
  // When its first node is assigned, the graph queues another one behind the second.
  scheduler.receive('W', back('n0', 'n1', 'x'))
  assert.deepEqual(scheduler.lines().slice(0, 4), [
    'W <- echo S',
    'W <- task n0',
    'W <- task n1',
    'W <- task x',
  ])
  const assigned = [...lose(scheduler, 'W').receive('V', workerHeartbeat()).lines()]
  const ran: string[] = []
  for (const line of assigned) {
    const [, id] = /^V <- task (\w+)$/.exec(line) ?? []
    if (id === undefined) continue
    ran.push(id)
    assigned.push(...scheduler.receive('V', result(id)).lines())
  }
  assert.deepEqual(ran.toSorted(), [...ids, 'x'])
})

// What a worker reports of earlier attempts, to a scheduler that is new.

/** The number of runs until a task has failed for good on its worker. */
function runsUntilEnd(scheduler: TestScheduler, worker: string): number {
  for (let runs = 1; ; runs += 1) {
    const lines = scheduler.receive(worker, result('t', 'failed')).lines()
    if (lines.includes('C <- result t failed')) return runs
    assert.deepEqual(lines, [`${worker} <- task t`])
  }
}

test('a run that a worker returns with counts with its number, whoever is there first', () => {
  for (const isFirst of [true, false]) {
    const scheduler = withPeers({})
    if (isFirst) scheduler.receive('W', backWith(['t', 1, 1]))
    scheduler.receive('C', clientHeartbeat()).receive('C', { ...again('t'), retries: 2 })
    if (!isFirst) scheduler.receive('W', backWith(['t', 1, 1]))
    assert.ok(scheduler.lines().includes('W <- task t'))
    assert.equal(scheduler.attemptOf('W', 't'), 1)
    assert.equal(runsUntilEnd(scheduler, 'W'), 2)
    assert.equal(scheduler.attemptOf('W', 't'), 2)
  }
})

test('the last run that a task may have is the last one also for a new scheduler', () => {
  const scheduler = withPeers({})
  scheduler.receive('W', backWith(['t', 1, 0])).receive('C', clientHeartbeat())
  scheduler.receive('C', { ...again('t'), retries: 1 }).actions()
  assert.equal(runsUntilEnd(scheduler, 'W'), 1)
})

test('lost workers are counted as attempts, but take no retries', () => {
  const scheduler = withPeers({})
  scheduler.receive('W', backWith(['t', 2, 1])).receive('C', clientHeartbeat())
  scheduler.receive('C', { ...again('t'), retries: 1 }).actions()
  assert.equal(scheduler.attemptOf('W', 't'), 2)
  assert.equal(runsUntilEnd(scheduler, 'W'), 2)
})

test('of two workers that return with a task, the one with the later attempt gets it', () => {
  for (const order of ['VW', 'WV']) {
    const scheduler = withPeers({})
    for (const worker of order) {
      scheduler.receive(worker, worker === 'V' ? back('t') : backWith(['t', 1, 0]))
    }
    assert.ok(scheduler.lines().includes('V <- cancel t by force'))
    scheduler.receive('V', result('t', 'canceled'))
    scheduler.receive('C', clientHeartbeat()).receive('C', again('t'))
    assert.ok(scheduler.lines().includes('W <- task t'))
    assert.equal(scheduler.attemptOf('W', 't'), 1)
  }
})

test('the number of a run that is reported too late is not given again', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  scheduler.receive('C', { ...task('t', 'C'), retries: 3 }).receive('W', backWith(['t', 2, 1]))
  assert.deepEqual(scheduler.lines(), ['V <- task t', 'W <- echo S', 'W <- cancel t by force'])
  scheduler.receive('W', result('t', 'canceled')).receive('V', result('t', 'failed'))
  const [line] = scheduler.lines()
  assert.equal(scheduler.attemptOf(line === 'W <- task t' ? 'W' : 'V', 't'), 3)
})

test('a task of a run that returns keeps its number, and has the retries that are left', () => {
  const scheduler = withPeers({})
  const first = 'AAthe-middle--AA'
  const second = nthTaskId(taskId(first), 1)
  scheduler.receive('W', backWith([second, 1, 0])).receive('C', clientHeartbeat())
  scheduler.receive('C', { ...run(first, 'C', 3), retries: 1, mayHaveRun: true })
  assert.ok(scheduler.lines().includes(`W <- task ${second}`))
  assert.equal(scheduler.attemptOf('W', second), 1)
  scheduler.receive('W', result(second, 'failed'))
  assert.deepEqual(scheduler.lines(), [`C <- result ${second} failed`])
})

test('a node of a graph that returns keeps its number, and has the retries that are left', () => {
  const scheduler = withPeers({})
  scheduler.receive('W', backWith(['n', 1, 0])).receive('C', clientHeartbeat())
  scheduler.receive('C', graph('g', ['n'], [{ ...node('n'), retries: 1 }])).actions()
  assert.equal(scheduler.attemptOf('W', 'n'), 1)
  scheduler.receive('W', result('n', 'failed'))
  assert.ok(!scheduler.lines().includes('W <- task n'))
})

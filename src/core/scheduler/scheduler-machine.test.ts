import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latin1ToBytes } from '../../base/bytes.js'
import { objectId, taskId } from '../../base/ids.js'
import type { CoreReport } from './events.js'
import { SERIALIZER_SUFFIX } from '../../wire/object-content.js'
import {
  cancel,
  clientHeartbeat,
  instruction,
  OURS,
  peer,
  PYTHON,
  result,
  task,
  TestScheduler,
  withPeers,
  workerHeartbeat,
} from './scheduler.kit.js'

const request = (...ids: readonly string[]) =>
  ({ kind: 'objectRequest', requestType: 'get', objectIds: ids.map(objectId) }) as const

test('every heartbeat is answered: ours with the scheduler id, 1.9.9 with an empty echo', () => {
  const scheduler = new TestScheduler()
  for (const _ of [1, 2]) {
    scheduler.receive('C', clientHeartbeat()).receive('W', workerHeartbeat())
    scheduler.receive('P', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON))
    assert.deepEqual(scheduler.lines(), ['C <- echo S', 'W <- echo S', 'P <- echo', 'Q <- echo'])
  }
})

test('a client that requests a report gets the number of its workers and of idle ones', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  scheduler.receive('Q', workerHeartbeat(PYTHON)).receive('C', task('t', 'C')).lines()
  scheduler.receive('C', { ...clientHeartbeat(), wantsReport: true })
  scheduler.receive('P', { ...clientHeartbeat(PYTHON), wantsReport: true })
  assert.deepEqual(scheduler.lines(), ['C <- report 3 2 1', 'P <- echo'])
})

const INFO = {
  name: 'main.mjs',
  host: 'north',
  machineId: 'm',
  pid: 7,
  version: '1.2.3',
  startedMS: 1,
  endsMS: 2,
  endsInMS: 0,
  allocation: 'night',
}

function reportIn(scheduler: TestScheduler): CoreReport | undefined {
  const [action] = scheduler.actions().filter(({ type }) => type === 'report')
  return action?.type === 'report' ? action.report.report : undefined
}

test('a client that requests the peers gets what they reported about themselves', () => {
  const scheduler = withPeers({ clients: ['C'] })
  const info = { ...INFO, name: 'w' }
  const running = [{ taskId: taskId('t'), forMS: 300, name: '', function: '' }]
  scheduler.receive('W', { ...workerHeartbeat(), agentId: 'a', info: [info] })
  scheduler.receive('C', { ...clientHeartbeat(), info: [INFO] })
  scheduler.receive('C', { ...task('t', 'C'), name: 'fib' })
  // It sends its information only once, but its running tasks each time.
  const gone = { taskId: taskId('gone'), forMS: 1, name: '', function: '' }
  scheduler.receive('W', { ...workerHeartbeat(), agentId: 'a', running: [...running, gone] })
  scheduler.moveTo(200).actions()
  scheduler.receive('V', { ...clientHeartbeat(), wantsReport: true, wantsPeers: true })
  const report = reportIn(scheduler)
  assert.deepEqual(
    report?.workerReports.map(({ worker, ...rest }) => ({ id: worker.workerId, ...rest })),
    [
      {
        id: 'W',
        runtime: OURS.runtime,
        agentId: 'a',
        capabilities: [],
        isLeaving: false,
        info: [info],
        running: [{ taskId: 't', forMS: 500, name: 'fib', function: 'name of f' }],
        address: '',
      },
    ],
  )
  const client = {
    client: 'C',
    runtime: OURS.runtime,
    info: [INFO],
    tasks: 1,
    worker: '',
    objectBytes: 12,
  }
  assert.deepEqual(report?.clientReports, [client])
  assert.equal(report?.clients, 1, 'a visitor is not counted')
  assert.equal(scheduler.machine.counts.clients, 1, 'nor among those that wait for the next one')
  scheduler.receive('V', { ...clientHeartbeat(), wantsReport: true })
  assert.deepEqual(reportIn(scheduler)?.workerReports, [])
})

test('data from peers cannot make a report too long to send', () => {
  const scheduler = withPeers({})
  const long = 'x'.repeat(1_000_000)
  const info = { ...INFO, name: long, host: long, machineId: long, version: long, allocation: long }
  const capabilities = Array.from({ length: 1_000 }, (_, index) => ({
    name: `${index}${long.slice(0, 999)}`,
    value: 1,
  }))
  scheduler.receive('W', {
    ...workerHeartbeat(),
    runtime: long,
    agentId: long,
    capabilities,
    info: [info],
  })
  scheduler.receive('C', { ...clientHeartbeat(), runtime: long, info: [info] })
  scheduler.receive('C', { ...task('t', 'C'), name: long })
  const running = Array.from({ length: 10_000 }, () => ({
    taskId: taskId('t'),
    forMS: 1,
    name: long.slice(0, 99),
    function: '',
  }))
  scheduler.receive('W', { ...workerHeartbeat(), running }).actions()
  scheduler.receive('V', { ...clientHeartbeat(), wantsReport: true, wantsPeers: true })
  const report = reportIn(scheduler)
  assert.equal(report?.workerReports.length, 1)
  assert.equal(report.workerReports[0]?.running.length, 32)
  assert.ok(JSON.stringify(report).length < 50_000)
})

test('a task and its result are forwarded unchanged', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('t', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task t'])
  scheduler.receive('W', result('t'))
  assert.deepEqual(scheduler.lines(), ['C <- result t success'])
})

test('tasks wait for the first worker and are then assigned in order', () => {
  const scheduler = withPeers({ clients: ['C'] })
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('W', workerHeartbeat())
  assert.deepEqual(scheduler.lines(), ['W <- echo S', 'W <- task a'])
  scheduler.receive('W', result('a')).receive('W', result('b'))
  assert.deepEqual(scheduler.lines(), [
    'C <- result a success',
    'W <- task b',
    'C <- result b success',
    'W <- task c',
  ])
})

test('a worker holds one task until its tasks turn out to be short', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  for (let i = 0; i < 9; i += 1) scheduler.receive('C', task(`t${i}`, 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task t0'])
  scheduler.receive('W', result('t0', 'success', 0.005))
  const sent = scheduler.lines().filter((line) => line.startsWith('W'))
  assert.deepEqual(sent, ['W <- task t1', 'W <- task t2', 'W <- task t3', 'W <- task t4'])
  scheduler.receive('W', result('t1', 'success', 60))
  const more = scheduler.lines().filter((line) => line.startsWith('W'))
  assert.deepEqual(more, [], 'long ones close the window again')
})

test('a worker never holds more than the per-worker queue size', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, { perWorkerQueueSize: 3 })
  for (let i = 0; i < 9; i += 1) scheduler.receive('C', task(`t${i}`, 'C'))
  scheduler.receive('W', result('t0', 'success', 0))
  const sent = scheduler.lines().filter((line) => line.startsWith('W'))
  assert.equal(sent.length, 4)
})

test('tasks spread over workers, the least loaded first', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  for (const id of ['a', 'b', 'c', 'd', 'e']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(scheduler.lines(), ['V <- task a', 'W <- task b'])
  scheduler.receive('W', result('b'))
  assert.deepEqual(scheduler.lines(), ['C <- result b success', 'W <- task c'])
})

test('higher priority first; clients of one priority take turns', () => {
  const scheduler = withPeers({ clients: ['A', 'B'] }, { perWorkerQueueSize: 100 })
  for (const id of ['a1', 'a2', 'a3']) scheduler.receive('A', task(id, 'A'))
  scheduler.receive('B', task('b1', 'B')).receive('B', task('b2', 'B', 1))
  const order: string[] = []
  scheduler.receive('W', workerHeartbeat())
  for (let line = next(); line !== undefined; line = next()) order.push(line)
  assert.deepEqual(order, ['b2', 'a1', 'b1', 'a2', 'a3'])

  function next(): string | undefined {
    const sent = scheduler.lines().filter((line) => line.startsWith('W <- task '))
    pending.push(...sent.map((line) => line.slice('W <- task '.length)))
    const id = pending.shift()
    if (id !== undefined) scheduler.receive('W', result(id))
    return id
  }
})
const pending: string[] = []

test('a task of a Python client waits for a Python worker, ours for one of ours', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('P', task('p', 'P'))
  assert.deepEqual(scheduler.lines(), ['P <- echo'])
  scheduler.receive('C', task('t', 'C')).receive('Q', workerHeartbeat(PYTHON))
  assert.deepEqual(scheduler.lines(), ['W <- task t', 'Q <- echo', 'Q <- task p'])
})

test('children of 1.9.9 tasks are assigned although their waiting parents fill the window', () => {
  const scheduler = new TestScheduler({ perWorkerQueueSize: 4 })
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON)).actions()
  for (const id of ['a', 'b', 'c']) scheduler.receive('P', task(id, 'P'))
  assert.deepEqual(scheduler.lines(), ['Q <- task a'])
  for (const id of ['d', 'e', 'f', 'g']) scheduler.receive('P', task(id, 'P', 1))
  assert.deepEqual(scheduler.lines(), ['Q <- task d', 'Q <- task e', 'Q <- task f'])
})

test('a task that is resubmitted while it is unfinished is not run again', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', task('t', 'C')).receive('C', task('t', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task t'])
})

test('a task id that another client uses is refused', () => {
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W'] })
  scheduler.receive('C', task('t', 'C')).receive('D', task('t', 'D'))
  assert.deepEqual(scheduler.lines(), ['W <- task t', 'D <- result t notFound'])
  assert.deepEqual(scheduler.receive('W', result('t')).lines(), ['C <- result t success'])
})

test('only results from the worker that has a task count', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'X'] })
  scheduler.receive('C', task('t', 'C')).actions()
  scheduler.receive('X', result('t')).receive('Z', result('t')).receive('W', result('unknown'))
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('W', result('t')).receive('W', result('t'))
  assert.deepEqual(scheduler.lines(), ['C <- result t success'])
})

for (const [title, lose] of [
  [
    'leaves',
    (s: TestScheduler) => s.receive('W', { kind: 'disconnectRequest', worker: peer('W') }),
  ],
  [
    'loses its connection',
    (s: TestScheduler) => s.handle({ type: 'peerDisconnected', peer: peer('W') }),
  ],
  [
    'falls silent',
    (s: TestScheduler) => s.moveTo(30_000).receive('C', clientHeartbeat()).moveTo(61_000),
  ],
] as const) {
  test(`when a worker ${title}, its tasks go to another one, first and in order`, () => {
    const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
    // Short tasks open the window for two.
    scheduler
      .receive('C', task('z', 'C'))
      .receive('W', result('z', 'success', 0.01))
      .actions()
    for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
    assert.deepEqual(scheduler.lines(), ['W <- task a', 'W <- task b'])
    lose(scheduler)
    scheduler.actions()
    scheduler.receive('Y', workerHeartbeat()).receive('Y', result('a')).receive('Y', result('b'))
    const sent = scheduler.lines().filter((line) => line.startsWith('Y <- task'))
    assert.deepEqual(sent, ['Y <- task a', 'Y <- task b', 'Y <- task c'])
    assert.deepEqual(scheduler.receive('W', result('c')).lines(), [], 'a late result is ignored')
  })
}

test('the loss of a worker is logged as a warning, its leaving is not', () => {
  const scheduler = withPeers({ workers: ['V', 'W', 'X'] })
  scheduler.actions()
  scheduler.receive('V', { kind: 'disconnectRequest', worker: peer('V') })
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  for (const at of [30_000, 61_000]) scheduler.receive('C', clientHeartbeat()).moveTo(at)
  const lines = scheduler.logActions().filter(({ text }) => text.startsWith('worker'))
  assert.deepEqual(
    lines.map(({ level, text, fields }) => [level, text, fields['worker']]),
    [
      ['info', 'worker disconnected', 'V'],
      ['warn', 'worker lost its connection', 'W'],
      ['warn', 'worker timed out', 'X'],
    ],
  )
})

test('a worker that gives a task back unasked gets it, or another one, again', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'X'] })
  scheduler.receive('C', task('t', 'C')).actions()
  scheduler.receive('W', result('t', 'canceled'))
  assert.deepEqual(scheduler.lines(), ['W <- task t'])
})

test('a waiting task is cancelled immediately', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('C', task('t', 'C')).receive('C', cancel('t'))
  assert.deepEqual(scheduler.lines(), ['C <- result t canceled'])
  assert.deepEqual(scheduler.receive('W', workerHeartbeat()).lines(), ['W <- echo S'])
})

test('an assigned task is cancelled by its worker, whose answer goes to the client', () => {
  for (const answer of ['canceled', 'notFound', 'success'] as const) {
    const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
    scheduler.receive('C', task('t', 'C')).receive('C', cancel('t', true))
    assert.deepEqual(scheduler.lines(), ['W <- task t', 'W <- cancel t by force'])
    assert.deepEqual(scheduler.receive('W', result('t', answer)).lines(), [
      `C <- result t ${answer}`,
    ])
  }
})

test('a cancelled task is not run again when its worker is lost', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'X'] })
  scheduler.receive('C', task('t', 'C')).receive('C', cancel('t')).actions()
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  assert.deepEqual(scheduler.lines(), ['C <- result t canceled'])
})

test('cancelling an unknown task, or a task of another client, has no effect', () => {
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W'] })
  scheduler.receive('C', task('t', 'C')).actions()
  scheduler.receive('C', cancel('u')).receive('D', cancel('t'))
  assert.deepEqual(scheduler.lines(), [])
})

for (const [title, leave] of [
  [
    'leaves',
    (s: TestScheduler) =>
      s.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' }),
  ],
  [
    'falls silent',
    (s: TestScheduler) => s.moveTo(30_000).receive('W', workerHeartbeat()).moveTo(61_000),
  ],
] as const) {
  test(`when a client ${title}, its tasks are cancelled and its objects freed`, () => {
    const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
    scheduler.receive('C', instruction('create', 'C', ['x', 'y']))
    for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
    scheduler.receive('W', request('x')).actions()
    leave(scheduler)
    const lines = scheduler.lines().filter((line) => !line.includes('echo'))
    const closed = title === 'leaves' ? [] : ['disconnect C']
    assert.deepEqual(lines, ['W <- cancel a by force', ...closed, 'W <- delete x'])
    scheduler.receive('W', result('a'))
    assert.deepEqual(scheduler.lines(), [], 'nothing is sent to a client that has left')
    scheduler.receive('W', request('x', 'y'))
    assert.deepEqual(scheduler.lines(), ['W <- objectNotExist x y'])
  })
}

test('a long message in transit keeps a silent client alive', () => {
  const scheduler = withPeers({ clients: ['C'], workers: [] })
  scheduler.receive('C', task('t', 'C')).moveTo(50_000)
  scheduler
    .handle({ type: 'peerProgressed', peer: peer('C') })
    .moveTo(100_000)
    .actions()
  assert.deepEqual(scheduler.receive('W', workerHeartbeat()).lines(), [
    'W <- echo S',
    'W <- task t',
  ])
})

test('our peers get the objects that exist, and the ids of those that do not', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', instruction('create', 'C', ['x', 'y']))
  scheduler.receive('W', request('x', 'u', 'y')).receive('C', request('u'))
  assert.deepEqual(scheduler.lines(), [
    'W <- content x y',
    'W <- objectNotExist u',
    'C <- objectNotExist u',
  ])
})

test('a 1.9.9 worker gets its whole list, with empty content for missing objects', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('Q', workerHeartbeat(PYTHON)).actions()
  scheduler.receive('C', instruction('create', 'C', ['x']))
  const answerTo = (...ids: string[]): unknown => {
    const [action] = scheduler.receive('Q', request(...ids)).actions()
    assert.ok(action?.type === 'send' && action.message.kind === 'objectResponse')
    return action.message.objectContent
  }
  const both = {
    objectTypes: ['object', 'object'],
    objectNames: [new Uint8Array(0), latin1ToBytes('name of x')],
    objectBytes: [[], [latin1ToBytes('content of x')]],
  }
  assert.deepEqual(answerTo('u', 'x'), { ...both, objectIds: ['u', 'x'] })
  // The contents that follow would take the place of a missing serializer.
  const serializer = `12345678${SERIALIZER_SUFFIX}`
  const nothing = { objectTypes: [], objectNames: [], objectBytes: [] }
  const none = { ...nothing, objectIds: [serializer, 'u', 'x'] }
  assert.deepEqual(answerTo(serializer, 'u', 'x'), none)
  assert.deepEqual(answerTo('u', 'x', serializer), { ...both, objectIds: ['u', 'x', serializer] })
})

test('a 1.9.9 client gets its whole list with the contents that exist', () => {
  const scheduler = new TestScheduler()
  scheduler.receive('P', clientHeartbeat(PYTHON)).actions()
  scheduler.receive('P', instruction('create', 'P', ['x'])).receive('P', request('u', 'x'))
  const [action] = scheduler.actions()
  assert.ok(action?.type === 'send' && action.message.kind === 'objectResponse')
  assert.deepEqual(action.message.objectContent.objectIds, ['u', 'x'])
  assert.deepEqual(action.message.objectContent.objectBytes, [[latin1ToBytes('content of x')]])
})

test('an object is kept while it has users, and workers that requested it are notified', () => {
  const scheduler = withPeers({ clients: ['C', 'D'], workers: ['W', 'X'] })
  scheduler.receive('C', instruction('create', 'C', ['x', 'y']))
  scheduler
    .receive('D', instruction('create', 'D', ['x']))
    .receive('W', request('x'))
    .actions()
  scheduler.receive('C', instruction('delete', 'C', ['x', 'y', 'unknown']))
  assert.deepEqual(scheduler.lines(), [], 'D uses x, and no worker has y')
  scheduler.receive('D', instruction('delete', 'D', ['x']))
  assert.deepEqual(scheduler.lines(), ['W <- delete x'])
})

test('removals are sent immediately, and then together at most every 100 ms', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', instruction('create', 'C', ['x', 'y', 'z']))
  scheduler.receive('W', request('x', 'y', 'z')).actions()
  for (const id of ['x', 'y', 'z']) scheduler.receive('C', instruction('delete', 'C', [id]))
  assert.deepEqual(scheduler.lines(), ['W <- delete x'])
  assert.deepEqual(scheduler.moveTo(99).lines(), [])
  assert.deepEqual(scheduler.moveTo(100).lines(), ['W <- delete y z'])
})

test('objects of an unknown client are not stored', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('W', instruction('create', 'gone', ['x'])).receive('W', request('x'))
  assert.deepEqual(scheduler.lines(), ['W <- objectNotExist x'])
})

test('a client first considered Python gets the runtime that its heartbeat names', () => {
  const scheduler = withPeers({ workers: ['W'] })
  scheduler.receive('C', task('t', 'C'))
  assert.deepEqual(scheduler.lines(), [], 'there is no Python worker')
  scheduler.receive('C', clientHeartbeat()).receive('C', task('t', 'C'))
  assert.deepEqual(scheduler.lines(), ['C <- echo S', 'W <- task t'])
})

test('tasks that the workers may hold do not count as waiting, wherever they are', () => {
  const scheduler = withPeers(
    { clients: ['C'], workers: ['W'] },
    { maxNumberOfTasksWaiting: 0, perWorkerQueueSize: 2 },
  )
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task a', 'C <- result c noWorker'])
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') })
  scheduler.receive('X', workerHeartbeat()).receive('X', result('a')).actions()
  scheduler.receive('C', task('d', 'C')).receive('C', task('e', 'C'))
  assert.deepEqual(scheduler.lines(), ['C <- result e noWorker'])
})

test('with a limit on waiting tasks, one more is refused', () => {
  const scheduler = withPeers({ clients: ['C'] }, { maxNumberOfTasksWaiting: 1 })
  scheduler.receive('C', task('a', 'C')).receive('C', task('b', 'C'))
  assert.deepEqual(scheduler.lines(), ['C <- result b noWorker'])
})

test('a task with malformed flags is refused: it would crash a 1.9.9 worker', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('t', 'C'), metadata: new Uint8Array(3) })
  assert.deepEqual(scheduler.lines(), ['C <- result t canceled'])
})

test('a client may shut the cluster down, unless that is protected', () => {
  const shutdown = { kind: 'clientDisconnect', disconnectType: 'shutdown' } as const
  const open = withPeers({ clients: ['C'], workers: ['W'] })
  assert.deepEqual(open.receive('C', shutdown).lines(), ['C <- accepted', 'W <- shutdown', 'stop'])
  const guarded = withPeers({ clients: ['C'], workers: ['W'] }, { isProtected: true })
  assert.deepEqual(guarded.receive('C', shutdown).lines(), ['C <- refused'])
})

test('other clients of this package learn that the cluster was shut down', () => {
  const shutdown = { kind: 'clientDisconnect', disconnectType: 'shutdown' } as const
  const scheduler = withPeers({ clients: ['C', 'O', 'P'] })
  scheduler.receive('P', clientHeartbeat(PYTHON)).lines()
  assert.deepEqual(scheduler.receive('C', shutdown).lines(), [
    'C <- accepted',
    'O <- accepted',
    'stop',
  ])
})

test('a message that no peer should send is ignored, and logged', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('C', { kind: 'processorInitialized' })
  assert.deepEqual(scheduler.logs(), ['ignored a message that no peer should send'])
  assert.deepEqual(scheduler.lines(), [])
})

test('monitors see each step of a task and each worker; without monitors nothing is built', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V'] })
  scheduler.handle({ type: 'subscribersChanged', count: 1 })
  scheduler.handle({ type: 'peerDisconnected', peer: peer('V') })
  scheduler.receive('C', task('t', 'C')).receive('W', workerHeartbeat()).receive('W', result('t'))
  const seen = scheduler.lines().filter((line) => line.startsWith('monitor'))
  assert.deepEqual(seen, [
    'monitor <- worker V disconnected',
    'monitor <- task t inactive',
    'monitor <- worker W connected',
    'monitor <- task t running W',
    'monitor <- task t success',
  ])
  scheduler.handle({ type: 'subscribersChanged', count: 0 })
  scheduler.receive('C', task('u', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task u'])
})

test('monitors receive the state of everything on each sample', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.handle({ type: 'subscribersChanged', count: 1 })
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  scheduler.receive('W', result('a')).actions()
  scheduler.handle({
    type: 'statisticsSampled',
    scheduler: { cpu: 5, rss: 6 },
    rssFree: 7,
    turnP99Ms: 0,
  })
  const [action] = scheduler.actions()
  assert.ok(action?.type === 'publish' && action.message.kind === 'stateScheduler')
  const { taskManager, clientManager, workerManager, binder, ...rest } = action.message
  assert.deepEqual(taskManager, {
    unassigned: 1,
    running: 1,
    success: 1,
    failed: 0,
    canceled: 0,
    notFound: 0,
  })
  assert.deepEqual(clientManager.clientToNumOfTask, [{ client: 'C', numTask: 2 }])
  const [worker] = workerManager.workers
  assert.deepEqual(
    [worker?.workerId, worker?.sent, worker?.free, worker?.itl],
    ['W', 1, 999, '001'],
  )
  assert.deepEqual(
    binder.received.find((pair) => pair.client === 'Task'),
    { client: 'Task', number: 3 },
  )
  assert.deepEqual(binder.sent.find((pair) => pair.client === 'TaskResult')?.number, 1)
  assert.deepEqual([rest.scheduler, rest.rssFree], [{ cpu: 5, rss: 6 }, 7])
})

test('a client that reconnects before its old tasks have ended can resubmit them', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'X'] })
  scheduler.receive('C', task('t', 'C')).moveTo(30_000)
  scheduler.receive('W', workerHeartbeat()).receive('X', workerHeartbeat()).moveTo(61_000)
  scheduler.actions()
  scheduler.receive('C', clientHeartbeat()).receive('C', task('t', 'C'))
  assert.deepEqual(scheduler.lines(), ['C <- echo S', 'W <- task t'])
  scheduler.receive('W', result('t', 'canceled'))
  assert.deepEqual(scheduler.lines(), [], 'the answer to the old cancel')
  assert.deepEqual(scheduler.receive('W', result('t')).lines(), ['C <- result t success'])
})

test('answers about a task whose id was reused do not affect the new task', () => {
  for (const crossing of ['success', 'failed', undefined] as const) {
    const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
    scheduler.receive('C', task('t', 'C')).receive('C', cancel('t'))
    scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
    scheduler.receive('C', clientHeartbeat()).receive('C', task('t', 'C')).actions()
    if (crossing !== undefined) scheduler.receive('W', result('t', crossing))
    // One for the cancel of the client, and one for the cancel by force when it left.
    for (const answer of ['notFound', 'canceled'] as const) {
      assert.deepEqual(scheduler.receive('W', result('t', answer)).lines(), [])
    }
    assert.deepEqual(scheduler.receive('W', result('t')).lines(), ['C <- result t success'])
  }
})

test('a late result for an old task is ignored while another worker has the new one', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'X'] })
  scheduler.receive('C', task('t', 'C'))
  scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  scheduler.receive('W', { ...workerHeartbeat(), isLeaving: true })
  scheduler.receive('C', clientHeartbeat()).receive('C', task('t', 'C'))
  assert.equal(scheduler.lines().at(-1), 'X <- task t')
  scheduler.receive('W', result('t', 'canceled'))
  assert.deepEqual(scheduler.lines(), [])
  assert.deepEqual(scheduler.receive('X', result('t')).lines(), ['C <- result t success'])
})

test('a client whose connection is lost has five seconds to reconnect', () => {
  for (const isBack of [true, false]) {
    const scheduler = withPeers({ clients: ['C'] })
    scheduler.receive('C', task('t', 'C'))
    scheduler.handle({ type: 'peerDisconnected', peer: peer('C') }).moveTo(4000)
    if (isBack) scheduler.receive('C', clientHeartbeat())
    scheduler.moveTo(10_000).actions()
    assert.equal(scheduler.machine.counts.tasks, isBack ? 1 : 0)
    assert.equal(scheduler.machine.counts.clients, isBack ? 1 : 0)
  }
})

test('a 1.9.9 client whose connection is lost has as long as any silent one', () => {
  const scheduler = new TestScheduler()
  scheduler.receive('P', clientHeartbeat(PYTHON))
  scheduler.handle({ type: 'peerDisconnected', peer: peer('P') }).moveTo(59_000)
  assert.equal(scheduler.machine.counts.clients, 1)
})

test('a task of an unmeasured or long function goes only to an idle worker', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', instruction('create', 'C', ['g'])).receive('C', task('a', 'C'))
  scheduler.receive('W', result('a', 'success', 0.00001)).actions()
  const other = { ...task('b', 'C'), funcObjectId: objectId('g') }
  scheduler.receive('C', task('c', 'C')).receive('C', task('d', 'C')).receive('C', other)
  assert.deepEqual(scheduler.lines(), ['W <- task c', 'W <- task d'])
  scheduler.receive('W', result('c', 'success', 0.00001)).actions()
  scheduler.receive('W', result('d', 'success', 0.00001))
  assert.deepEqual(scheduler.lines(), ['C <- result d success', 'W <- task b'])
  scheduler.receive('C', task('e', 'C'))
  assert.deepEqual(scheduler.lines(), [], 'a short task does not wait behind one that may be long')
})

test('a silent worker is disconnected, so that it notices', () => {
  const scheduler = withPeers({ clients: [], workers: ['W'] })
  assert.deepEqual(scheduler.moveTo(62_000).lines(), ['disconnect W'])
})

test('a scheduler that was stalled does not consider its peers silent', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.moveTo(10_000)
  scheduler.now = 100_000
  scheduler.handle({ type: 'tick' })
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('C', task('t', 'C'))
  assert.deepEqual(scheduler.lines(), ['W <- task t'])
})

test('a negative priority, which crashes 1.9.9 workers, is refused only for 1.9.9 clients', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON)).actions()
  scheduler.receive('P', task('p', 'P', -1)).receive('C', task('t', 'C', -1))
  assert.deepEqual(scheduler.lines(), ['P <- result p canceled', 'W <- task t'])
})

test('a malformed result ends the task as canceled, because its client would hang or crash', () => {
  const odd = [
    { ...result('t'), status: 'running' },
    { ...result('t'), status: 'inactive' },
    { ...result('t'), results: [] },
    { ...result('t'), metadata: new Uint8Array(5) },
  ] as const
  for (const message of odd) {
    const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
    scheduler.receive('C', task('t', 'C')).actions()
    assert.deepEqual(scheduler.receive('W', message).lines(), ['C <- result t canceled'])
  }
})

test('the object of a result that no client waits for is not kept', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('W', instruction('create', 'C', ['r-t'])).receive('W', result('t'))
  assert.equal(scheduler.machine.counts.objects, 1, 'the function')
})

test('our peers get an object once, even if a request repeats it', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', instruction('create', 'C', ['x'])).receive('W', request('x', 'x', 'x'))
  assert.deepEqual(scheduler.lines(), ['W <- content x'])
})

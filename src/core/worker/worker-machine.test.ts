import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BYTES, asBuffer, totalBytes } from '../../base/bytes.js'
import { OUR_FEATURES } from '../../base/features.js'
import { identity, objectId, taskId } from '../../base/ids.js'
import type { Message } from '../../wire/message.js'
import type { WorkerAction } from './events.js'
import {
  CLIENT,
  KILLED,
  SERIALIZER,
  ScriptedWorker,
  WORKER,
  deletionOf,
  echoOf,
  missingOf,
  objectsOf,
  resultOf,
  taskOf,
} from './scripted-worker.test.js'

const PEER = {
  host: 'north',
  machineId: 'm',
  pid: 7,
  version: '1.2.3',
  startedMS: 1,
  endsMS: 0,
  endsInMS: 0,
  allocation: '',
}

function cancelOf(id: string, force: boolean): Message {
  return {
    kind: 'taskCancel',
    taskId: taskId(id),
    count: 0,
    flags: { force, retrieveTaskObject: false },
  }
}

function messagesOf(actions: readonly WorkerAction[]): Message[] {
  return actions.flatMap((action) => (action.type === 'send' ? [action.message] : []))
}

test('what a worker is it tells once for each connection', () => {
  const info = { ...PEER, name: 'w' }
  const worker = ScriptedWorker.ready({ info })
  const toldIn = (actions: readonly WorkerAction[]): unknown => {
    const [beat] = actions.filter(({ type }) => type === 'sendHeartbeat')
    return beat?.type === 'sendHeartbeat' ? beat.heartbeat.info : undefined
  }
  worker.now += 2_000
  assert.deepEqual(toldIn(worker.handle({ type: 'tick' })), [])
  worker.handle({ type: 'disconnected', reason: '' })
  assert.deepEqual(toldIn(worker.handle({ type: 'connected' })), [info])
})

test('the worker registers when its processor is ready and the scheduler is there', () => {
  const worker = new ScriptedWorker()
  assert.deepEqual(worker.show({ type: 'started' }), ['start 1'])
  assert.deepEqual(worker.show({ type: 'connected' }), [])
  const ready = { type: 'processorReady', processor: 1, pid: 77 } as const
  const [action, ...others] = worker.handle(ready)
  assert.deepEqual(others, [])
  assert.equal(action?.type, 'sendHeartbeat')
  assert.deepEqual(action.heartbeat, {
    kind: 'workerHeartbeat',
    agent: { cpu: 0, rss: 0 },
    rssFree: 0,
    queuedTasks: 0,
    latencyUS: 0,
    taskLock: true,
    processors: [
      {
        pid: 77,
        initialized: true,
        hasTask: false,
        suspended: false,
        resource: { cpu: 0, rss: 0 },
      },
    ],
    features: OUR_FEATURES,
    runtime: 'node/20.0.0',
    capabilities: [],
    agentId: '',
    tasks: [],
    info: [],
    pasts: [],
    running: [],
    isLeaving: false,
    concurrency: 0,
  })
  assert.deepEqual(worker.receive(echoOf()), ['registered'])
})

test('a 1.9.9 scheduler never gets two heartbeats without an echo between them', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(echoOf(0))
  assert.deepEqual(worker.pass(1999), [])
  assert.deepEqual(worker.pass(1), ['sendHeartbeat'])
  assert.deepEqual(worker.pass(10_000), [])
  assert.deepEqual(worker.receive(echoOf(0)), [])
  assert.deepEqual(worker.pass(2000), ['sendHeartbeat'])
})

test('one of ours gets them steadily: a large object may be in the way of an echo', () => {
  const worker = ScriptedWorker.ready()
  assert.deepEqual(worker.pass(1999), [])
  const beats = worker.pass(10_001)
  assert.deepEqual(beats, new Array(6).fill('sendHeartbeat'))
})

test('the latency is that of the heartbeat which an echo belongs to', () => {
  const worker = ScriptedWorker.ready()
  worker.pass(4000)
  // Two are on their way, since two seconds and since now.
  worker.now += 3
  worker.receive(echoOf())
  assert.equal(latencyOf(worker), 1_001_500)
  worker.receive(echoOf())
  assert.equal(latencyOf(worker), 1_000_000)
})

/** What the next heartbeat says, which goes out two seconds after the last. */
function latencyOf(worker: ScriptedWorker): number | undefined {
  worker.now = worker.machine.deadline ?? 0
  const [action] = worker.handle({ type: 'tick' })
  return action?.type === 'sendHeartbeat' ? action.heartbeat.latencyUS : undefined
}

test('heartbeats go on while the processor is started again', () => {
  const worker = ScriptedWorker.ready()
  worker.die('nothing')
  const [action] = worker.pass(2000)
  assert.equal(action, 'start 2')
  worker.receive(echoOf())
  assert.deepEqual(worker.pass(2000), ['sendHeartbeat'])
})

test('a processor that hangs while it starts is given up, and the next is tried', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(taskOf('a'))
  worker.die('nothing')
  assert.equal(worker.pass(100).at(-1), `send request ${SERIALIZER},fn`)
  const kills: string[] = []
  for (let seconds = 0; seconds < 61; seconds += 1) {
    kills.push(...worker.pass(1_000).filter((action) => action === 'killProcessor'))
    worker.receive(echoOf())
  }
  assert.deepEqual(kills, ['killProcessor'])
  const lines = worker.die('unknown', undefined, 2)
  assert.equal(lines[0], 'start 3')
})

test('a new connection starts with a heartbeat and without inline results', () => {
  const worker = ScriptedWorker.ready()
  worker.show({ type: 'disconnected', reason: 'reset' })
  assert.deepEqual(worker.pass(5000), [])
  assert.deepEqual(worker.show({ type: 'connected' }), ['sendHeartbeat'])
  worker.run('a')
  assert.deepEqual(worker.answer(resultOf('a')), ['send create R1', 'send a success R1'])
})

test('a task fetches what it needs, runs, and its result is passed on as it is', () => {
  const worker = ScriptedWorker.ready()
  assert.deepEqual(worker.receive(taskOf('a', { objects: ['x', 'y', 'x'] })), [
    `send request ${SERIALIZER},fn,x,y`,
  ])
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn', 'x')), [
    `tell objects ${SERIALIZER},fn,x`,
  ])
  assert.deepEqual(worker.receive(objectsOf('y')), ['tell objects y', 'dispatch a'])
  const result = resultOf('a')
  const actions = worker.handle({ type: 'taskAnswered', processor: 1, result })
  assert.deepEqual(actions, [{ type: 'send', message: result }])
})

test('what the processor has is not asked for again, and what is on its way only once', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(taskOf('a'))
  assert.deepEqual(worker.receive(taskOf('b', { objects: ['x'] })), ['send request x'])
  assert.deepEqual(worker.receive(objectsOf('x')), ['tell objects x'])
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')), [
    `tell objects ${SERIALIZER},fn`,
    'dispatch a',
  ])
  assert.deepEqual(worker.receive(objectsOf('x')), [])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success', 'dispatch b'])
})

test('a result over the limit becomes an object', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  const chunks = [Buffer.alloc(60, 1), Buffer.alloc(60, 2)]
  const result = resultOf('a', { chunks })
  const actions = worker.handle({ type: 'taskAnswered', processor: 1, result })
  const [create, answer] = messagesOf(actions)
  assert.equal(create?.kind, 'objectInstruction')
  assert.equal(create.objectUser, CLIENT)
  assert.deepEqual(create.objectContent.objectBytes, [chunks])
  assert.deepEqual(create.objectContent.objectTypes, ['object'])
  assert.deepEqual(create.objectContent.objectNames.map(String), ['<res 5231>'])
  assert.equal(answer?.kind, 'taskResult')
  assert.deepEqual(answer.results, ['R1'])
  assert.deepEqual(answer.inlineResults, [])
  assert.equal(answer.metadata, result.metadata)
})

test('a 1.9.9 scheduler gets every result as an object, an empty one without chunks', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(echoOf(0))
  worker.run('a')
  const result = resultOf('a', { chunks: [NO_BYTES] })
  const [create] = messagesOf(worker.handle({ type: 'taskAnswered', processor: 1, result }))
  assert.equal(create?.kind, 'objectInstruction')
  assert.deepEqual(create.objectContent.objectBytes, [[]])
})

test('a missing object fails all tasks that need it, and only those', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(taskOf('a', { objects: ['x', 'z'] }))
  worker.receive(taskOf('b', { objects: ['x'] }))
  worker.receive(taskOf('c', { objects: ['y'] }))
  worker.receive(objectsOf(SERIALIZER, 'fn', 'z'))
  const [first] = messagesOf(worker.handle({ type: 'messageReceived', message: missingOf('x') }))
  assert.equal(first?.kind, 'taskResult')
  const [payload = NO_BYTES] = first.inlineResults
  assert.equal(String(payload), 'MissingObjectError: task 61 needs objects that do not exist: 78')
  assert.deepEqual(worker.receive(objectsOf('y')), ['tell objects y', 'dispatch c'])
})

test('an object that was missing is asked for again by a later task', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(taskOf('b', { objects: ['x'] }))
  assert.deepEqual(worker.receive(missingOf('x')), ['send b failed'])
  assert.deepEqual(worker.receive(taskOf('c', { objects: ['x'] })), ['send request x'])
})

test('when a 1.9.9 scheduler leaves out content, each object is asked for alone', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(taskOf('a', { objects: ['x'] }))
  worker.receive(taskOf('b'))
  const whole = objectsOf(SERIALIZER, 'fn', 'x')
  const { objectIds, objectTypes, objectNames, objectBytes } = whole.objectContent
  const partial = {
    objectIds,
    objectTypes: objectTypes.slice(1),
    objectNames: objectNames.slice(1),
    objectBytes: objectBytes.slice(1),
  }
  assert.deepEqual(worker.receive({ ...whole, objectContent: partial }), [
    `send request ${SERIALIZER}`,
    'send request fn',
    'send request x',
  ])
  worker.receive(objectsOf(SERIALIZER))
  assert.deepEqual(worker.receive(objectsOf('fn')), ['tell objects fn', 'dispatch b'])
  const none = {
    ...objectsOf('x').objectContent,
    objectTypes: [],
    objectNames: [],
    objectBytes: [],
  }
  assert.deepEqual(worker.receive({ ...objectsOf('x'), objectContent: none }), ['send a failed'])
})

test('deleted objects are forgotten; a task that waits its turn fetches them again', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.run('b', { objects: ['x'] })
  assert.deepEqual(worker.receive(deletionOf('unknown')), [])
  assert.deepEqual(worker.receive(deletionOf('x', 'unknown')), [
    'tell delete x,unknown',
    'send request x',
  ])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
  assert.deepEqual(worker.receive(objectsOf('x')), ['tell objects x', 'dispatch b'])
})

test('higher priorities go first, then the order of arrival', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  for (const [id, priority] of [
    ['b', 0],
    ['c', 2],
    ['d', 1],
    ['e', 2],
    ['f', -1],
  ] as const) {
    worker.receive(taskOf(id, { priority }))
  }
  const order: string[] = []
  for (const id of ['a', 'c', 'e', 'd', 'b', 'f']) {
    order.push(...worker.answer(resultOf(id, { durationMs: 50 })))
  }
  const dispatched = order.filter((line) => line.startsWith('dispatch'))
  assert.deepEqual(
    dispatched,
    ['c', 'e', 'd', 'b', 'f'].map((id) => `dispatch ${id}`),
  )
})

test('a task that the worker has is not taken twice', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(taskOf('b'))
  assert.deepEqual(worker.receive(taskOf('a')), [])
  assert.deepEqual(worker.receive(taskOf('b')), [])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success', 'dispatch b'])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success'])
  assert.deepEqual(worker.receive(taskOf('a')), ['dispatch a'])
})

test('tiny tasks are handed over ahead, step by step, and a long one ends that at once', () => {
  const worker = ScriptedWorker.ready()
  worker.run('0')
  for (let id = 1; id < 2000; id += 1) worker.receive(taskOf(String(id)))
  let has = 1
  const widths: number[] = []
  let id = 0
  for (; widths.length < 9; id += 1) {
    const lines = worker.answer(resultOf(String(id), { durationMs: 0.001 }))
    has += lines.filter((line) => line.startsWith('dispatch')).length - 1
    widths.push(has)
  }
  assert.deepEqual(widths, [2, 4, 8, 16, 32, 64, 128, 256, 512])
  const lines = worker.answer(resultOf(String(id), { durationMs: 20 }))
  assert.deepEqual(lines, [`send ${id} success`])
  for (has -= 1; has > 1; has -= 1) {
    id += 1
    const others = worker.answer(resultOf(String(id), { durationMs: 20 }))
    assert.deepEqual(others, [`send ${id} success`])
  }
  const last = worker.answer(resultOf(String(id + 1), { durationMs: 20 }))
  assert.equal(last.filter((line) => line.startsWith('dispatch')).length, 1)
})

test('no more than some milliseconds of measured work are handed over', () => {
  const worker = ScriptedWorker.ready()
  worker.run('0')
  for (let id = 1; id < 30; id += 1) worker.receive(taskOf(String(id)))
  let has = 1
  for (let id = 0; id < 10; id += 1) {
    const lines = worker.answer(resultOf(String(id), { durationMs: 1.2 }))
    has += lines.filter((line) => line.startsWith('dispatch')).length - 1
  }
  assert.equal(has, 8)
})

test('a function that was never measured waits until nothing is before it', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.answer(resultOf('a'))
  worker.receive(taskOf('b'))
  assert.deepEqual(worker.run('c', { fn: 'new' }), [`tell objects ${SERIALIZER},new`])
  assert.deepEqual(worker.receive(taskOf('d')), [])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success', 'dispatch c'])
})

test('nothing is handed over while results cannot leave', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(taskOf('b'))
  worker.show({ type: 'congested' })
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
  assert.deepEqual(worker.show({ type: 'drained' }), ['dispatch b'])
})

test('cancelling: unknown, queued, waiting for objects', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(taskOf('b'))
  worker.receive(taskOf('c', { objects: ['x'] }))
  assert.deepEqual(worker.receive(cancelOf('z', false)), ['send z notFound'])
  assert.deepEqual(worker.receive(cancelOf('b', false)), ['send b canceled'])
  assert.deepEqual(worker.receive(cancelOf('b', true)), ['send b notFound'])
  assert.deepEqual(worker.receive(cancelOf('c', false)), ['send c canceled'])
  assert.deepEqual(worker.receive(objectsOf('x')), ['tell objects x'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
})

test('a running task is not cancelled without force', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  assert.deepEqual(worker.receive(cancelOf('a', false)), ['send a notFound'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
})

test('force ends a running task with its processor; what it had besides runs again', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(taskOf('b'))
  worker.receive(taskOf('c'))
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success', 'dispatch b', 'dispatch c'])
  assert.deepEqual(worker.receive(cancelOf('b', true)), [
    'send b canceled',
    'stop b cancelled',
    'ask 1',
    'retract 1',
  ])
  assert.deepEqual(worker.tell(1, { isStarted: true, isAlone: true }), ['killProcessor'])
  assert.deepEqual(worker.receive(taskOf('d')), [])
  assert.deepEqual(worker.die('unknown'), ['start 2', `send request ${SERIALIZER},fn`])
  worker.show({ type: 'processorReady', processor: 2, pid: 78 })
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')), [
    `tell objects ${SERIALIZER},fn`,
    'dispatch c',
  ])
})

test('when a processor is ended for a cancelled task, nobody else is blamed', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  for (const id of ['b', 'c']) worker.receive(taskOf(id))
  worker.answer(resultOf('a'))
  worker.receive(cancelOf('b', true))
  worker.tell(1, { isStarted: true, isAlone: true })
  assert.deepEqual(worker.answer(resultOf('b')), [])
  assert.deepEqual(worker.die('unknown'), ['start 2', `send request ${SERIALIZER},fn`])
})

test('force skips a task that the processor has not begun, and its neighbours stay', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  for (const id of ['b', 'c']) worker.receive(taskOf(id))
  worker.answer(resultOf('a'))
  worker.receive(cancelOf('c', true))
  assert.deepEqual(worker.tell(2), [])
  assert.deepEqual(worker.pass(49), [])
  assert.deepEqual(worker.pass(1), ['ask 2'])
  assert.deepEqual(worker.answer(resultOf('b')), ['send b success'])
  assert.deepEqual(worker.answer(resultOf('c', { status: 'canceled', chunks: [] })), [])
  assert.deepEqual(worker.tell(2), [])
  assert.deepEqual(worker.pass(1000), [])
})

test('a result of a task that was cancelled by force is dropped', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(cancelOf('a', true))
  assert.deepEqual(worker.answer(resultOf('a')), [])
  assert.deepEqual(worker.tell(0), [])
})

test('a task that was cancelled and comes again runs anew', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(cancelOf('a', true))
  assert.deepEqual(worker.receive(taskOf('a')), [])
  assert.deepEqual(worker.answer(resultOf('a')), ['dispatch a'])
  assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
})

test('a processor that does not tell how far it is is ended for a cancelled task', () => {
  const worker = ScriptedWorker.ready({ heartbeatIntervalMs: 60_000 })
  worker.run('a')
  worker.receive(cancelOf('a', true))
  assert.deepEqual(worker.pass(1999), [])
  assert.deepEqual(worker.pass(1), ['killProcessor'])
})

test('one task, and the processor dies: it fails with what is known', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.now += 30
  const [answer] = messagesOf(
    worker.handle({ type: 'processorExited', processor: 1, death: KILLED, lastRun: 'unknown' }),
  )
  assert.equal(answer?.kind, 'taskResult')
  assert.equal(answer.status, 'failed')
  const [payload = NO_BYTES] = answer.inlineResults
  assert.equal(
    String(payload),
    'ProcessorDiedError: task 61 (fn): the process that ran it was killed by SIGKILL: last words',
  )
  assert.ok(Math.abs(asBuffer(answer.metadata).readFloatBE(0) - 0.03) < 1e-6)
})

test('a task that the processor had not read runs again, but not forever', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  for (let processor = 1; processor <= 4; processor += 1) {
    assert.deepEqual(worker.die('unread', undefined, processor), [
      `start ${processor + 1}`,
      `send request ${SERIALIZER},fn`,
    ])
    worker.show({ type: 'processorReady', processor: processor + 1, pid: 78 })
    assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')).slice(1), ['dispatch a'])
  }
  assert.deepEqual(worker.die('unread', undefined, 5), ['send a failed', 'start 6'])
})

test('what the processor had not read is not the cause of its end', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.answer(resultOf('a'))
  for (const id of ['b', 'c']) assert.deepEqual(worker.receive(taskOf(id)), [`dispatch ${id}`])
  worker.now += 50
  const start = worker.die('unread')
  assert.deepEqual(start, ['start 2', `send request ${SERIALIZER},fn`])
  worker.show({ type: 'processorReady', processor: 2, pid: 78 })
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')).slice(1), ['dispatch b'])
  assert.deepEqual(worker.receive(taskOf('d')), [])
  // A possible cause would run alone.
  const after = worker.answer(resultOf('b'), 2)
  assert.deepEqual(after, ['send b success', 'dispatch c', 'dispatch d'])
})

test('the processor says what it ran: that task fails, the others keep their place', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  for (const id of ['b', 'c', 'd']) worker.receive(taskOf(id))
  worker.answer(resultOf('a'))
  assert.deepEqual(worker.die({ taskIds: [taskId('b')] }), [
    'send b failed',
    'start 2',
    `send request ${SERIALIZER},fn`,
  ])
  worker.show({ type: 'processorReady', processor: 2, pid: 78 })
  assert.deepEqual(worker.receive(objectsOf(SERIALIZER, 'fn')).slice(1), ['dispatch c'])
  const after = worker.answer(resultOf('c'), 2)
  assert.deepEqual(after, ['send c success', 'dispatch d'])
})

test('several candidates run one by one until the cause is found', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  for (const id of ['b', 'c', 'd', 'e']) worker.receive(taskOf(id))
  worker.answer(resultOf('a'))
  worker.answer(resultOf('b'))
  assert.deepEqual(worker.die('unknown').slice(0, 1), ['start 2'])
  worker.show({ type: 'processorReady', processor: 2, pid: 78 })
  const first = worker.receive(objectsOf(SERIALIZER, 'fn')).slice(1)
  assert.deepEqual(first, ['dispatch c'])
  assert.deepEqual(worker.answer(resultOf('c'), 2), ['send c success', 'dispatch d'])
  assert.deepEqual(worker.die('unknown', KILLED, 2).slice(0, 1), ['send d failed'])
})

test('a processor that ran nothing when it died takes no task with it', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  assert.deepEqual(worker.die('nothing'), ['start 2', `send request ${SERIALIZER},fn`])
})

test('a task that no processor can even begin fails in the end', () => {
  const worker = ScriptedWorker.ready()
  worker.receive(taskOf('a'))
  let failures = 0
  for (let processor = 1; processor < 10 && failures === 0; processor += 1) {
    worker.show({ type: 'processorReady', processor, pid: processor })
    worker.receive(objectsOf(SERIALIZER, 'fn'))
    const lines = worker.die('nothing', KILLED, processor)
    failures += lines.filter((line) => line === 'send a failed').length
  }
  assert.equal(failures, 1)
})

test('a processor that dies before it is ready is started again after growing pauses', () => {
  const worker = new ScriptedWorker()
  worker.handle({ type: 'started' })
  const pauses: number[] = []
  for (let processor = 1; processor <= 10; processor += 1) {
    assert.deepEqual(worker.die('unknown', { exitCode: 1, stderr: '' }, processor), [])
    const pauseMs = (worker.machine.deadline ?? NaN) - worker.now
    pauses.push(pauseMs)
    assert.deepEqual(worker.pass(pauseMs), [`start ${processor + 1}`])
  }
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000])
})

test('a processor without a guardian fails no task, and the pauses before the next ones grow', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  const pauses: number[] = []
  for (let processor = 1; processor <= 5; processor += 1) {
    assert.deepEqual(worker.die('unusable', { exitCode: 1, stderr: '' }, processor), [])
    const [next, endedAt] = [processor + 1, worker.now]
    const lines: string[] = []
    // Heartbeats come in between.
    while (!lines.includes(`start ${next}`)) {
      lines.push(...worker.pass((worker.machine.deadline ?? NaN) - worker.now))
    }
    pauses.push(worker.now - endedAt)
    worker.show({ type: 'processorReady', processor: next, pid: next })
    assert.ok(worker.receive(objectsOf(SERIALIZER, 'fn')).includes('dispatch a'))
  }
  assert.deepEqual(pauses, [100, 200, 400, 800, 1600])
  assert.deepEqual(worker.answer(resultOf('a'), 6), ['send a success'])
})

test('a processor that answers what it was not asked is ended', () => {
  for (const result of [
    resultOf('b'),
    resultOf('a', { status: 'canceled' }),
    resultOf('a', { status: 'running' }),
    { ...resultOf('a'), results: [objectId('x'), objectId('y')] },
    resultOf('a', { chunks: [] }),
    { ...resultOf('a'), metadata: Buffer.alloc(3) },
  ]) {
    const worker = ScriptedWorker.ready()
    worker.run('a')
    assert.deepEqual(worker.answer(result), ['killProcessor'])
    assert.deepEqual(worker.answer(resultOf('a')), ['send a success'])
    assert.deepEqual(worker.die('unknown'), ['start 2'])
  }
})

test('events of an earlier processor are ignored', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.die('nothing')
  assert.deepEqual(worker.answer(resultOf('a'), 1), [])
  assert.deepEqual(worker.die('nothing', KILLED, 1), [])
})

test('a lost connection: what waits is forgotten, what runs goes on for nobody', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  worker.receive(taskOf('b'))
  worker.receive(taskOf('c', { objects: ['x'] }))
  assert.deepEqual(worker.show({ type: 'disconnected', reason: 'reset' }), ['tell clear '])
  assert.deepEqual(worker.answer(resultOf('a')), [])
  worker.show({ type: 'connected' })
  worker.receive(echoOf())
  assert.deepEqual(worker.receive(taskOf('b')), [`send request ${SERIALIZER},fn`])
})

test('the worker ends after the silence of its scheduler', () => {
  const worker = ScriptedWorker.ready({ deathTimeoutMs: 10_000 })
  worker.pass(2000)
  worker.receive(echoOf())
  worker.show({ type: 'disconnected', reason: 'reset' })
  assert.deepEqual(worker.pass(9_999), [])
  assert.deepEqual(worker.pass(1), [
    'end received nothing from the scheduler for 10000 ms (failure)',
  ])
  assert.equal(worker.machine.deadline, undefined)
  assert.deepEqual(worker.receive(taskOf('a')), [])
})

test('a worker whose processors never start says so when it ends', () => {
  const worker = new ScriptedWorker({ deathTimeoutMs: 1000 })
  worker.handle({ type: 'started' })
  assert.deepEqual(worker.pass(1000), ['end no processor could be started for 1000 ms (failure)'])
})

test('shutdown by the scheduler ends the worker, and no other message does', () => {
  const worker = ScriptedWorker.ready()
  const disconnect = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const
  assert.deepEqual(worker.receive(disconnect), [])
  assert.deepEqual(worker.receive({ kind: 'disconnectResponse', worker: WORKER }), [])
  assert.deepEqual(worker.receive({ kind: 'processorInitialized' }), [])
  const create = { ...deletionOf('x'), instructionType: 'create' } as const
  assert.deepEqual(worker.receive(create), [])
  assert.deepEqual(worker.receive({ ...disconnect, disconnectType: 'shutdown' }), [
    'end the scheduler is shutting down the cluster',
  ])
})

test('heartbeats count what waits and show what runs', () => {
  const worker = ScriptedWorker.ready()
  worker.run('a')
  for (const id of ['b', 'c', 'd']) worker.receive(taskOf(id, { objects: [id] }))
  worker.receive(cancelOf('a', true))
  worker.receive(taskOf('a', { source: identity('3|Client|00') }))
  worker.now += 2000
  const beats = worker.handle({ type: 'tick' })
  const beat = beats.find((action) => action.type === 'sendHeartbeat')
  assert.equal(beat?.heartbeat.queuedTasks, 4)
  assert.equal(beat.heartbeat.processors[0]?.hasTask, true)
})

test('task flags of a wrong length do no harm', () => {
  const worker = ScriptedWorker.ready()
  const task = { ...taskOf('a'), metadata: Buffer.alloc(7), bytes: Buffer.alloc(8) }
  worker.receive(task)
  assert.equal(worker.receive(objectsOf(SERIALIZER, 'fn')).length, 2)
  assert.equal(totalBytes([task.bytes]), 8)
})

/** The lines of the log when one processor after the other ends, so long after it was ready. */
function linesOfDeaths(count: number, lifeMs: number): string[] {
  const worker = ScriptedWorker.ready({ heartbeatIntervalMs: 3_600_000 })
  const lines: string[] = []
  for (let processor = 1; processor <= count; processor += 1) {
    if (processor > 1) worker.handle({ type: 'processorReady', processor, pid: processor })
    worker.run(`task${processor}`)
    worker.now += lifeMs
    const actions = worker.handle({
      type: 'processorExited',
      processor,
      death: KILLED,
      lastRun: 'unknown',
    })
    for (const action of actions) {
      if (action.type === 'log' && action.level === 'error') lines.push(action.text)
    }
  }
  return lines
}

test('processors that end again and again are one clear line', () => {
  assert.deepEqual(linesOfDeaths(5, 100), [])
  assert.deepEqual(linesOfDeaths(6, 100), [
    'tasks repeatedly end their processors; each is replaced',
  ])
  assert.equal(linesOfDeaths(12, 100).length, 2)
  assert.deepEqual(linesOfDeaths(12, 2_500), [])
})

test('a scheduler is not given up for the time in which this process was frozen', () => {
  const worker = ScriptedWorker.ready({ deathTimeoutMs: 10_000 })
  worker.show({ type: 'disconnected', reason: 'reset' })
  worker.now += 60_000
  assert.deepEqual(worker.show({ type: 'tick' }), [])
  assert.deepEqual(worker.pass(4_999), [])
  assert.match(worker.pass(1).join(), /^end received nothing from the scheduler/)
})

test('a scheduler whose bytes still move is there', () => {
  const worker = ScriptedWorker.ready({ deathTimeoutMs: 3_000 })
  for (let seconds = 0; seconds < 10; seconds += 1) {
    worker.pass(1_000)
    worker.show({ type: 'schedulerProgressed' })
  }
  assert.match(worker.pass(3_200).at(-1) ?? '', /^end/)
})

test('a worker whose processors cannot start, for Node knows an option not, ends and says so', () => {
  const worker = new ScriptedWorker()
  worker.handle({ type: 'started' })
  worker.handle({ type: 'connected' })
  const death = { exitCode: 9, signal: undefined, stderr: 'node: bad option: --odd\n' }
  assert.deepEqual(worker.die('unknown', death), [
    'end Node cannot start a processor: node: bad option: --odd (failure)',
  ])
})

test('so does one whose processors lack a module that they import at their start', () => {
  const worker = new ScriptedWorker()
  worker.handle({ type: 'started' })
  worker.handle({ type: 'connected' })
  const report = [
    'node:internal/modules/esm/resolve:1',
    "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'odd' imported from /app/",
    '    at resolve (node:internal/modules/esm/resolve:1:1) {',
    "  code: 'ERR_MODULE_NOT_FOUND'",
    '}',
    '',
    'Node.js v20.20.2',
  ]
  const death = { exitCode: 1, signal: undefined, stderr: report.join('\n') }
  const reason = "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'odd' imported from /app/"
  assert.deepEqual(worker.die('unknown', death), [
    `end Node cannot start a processor: ${reason} (failure)`,
  ])
})

test('one whose processors have started before goes on: that code is as good as any', () => {
  const worker = ScriptedWorker.ready()
  const death = { exitCode: 9, signal: undefined, stderr: '' }
  assert.deepEqual(worker.die('nothing', death), [])
  assert.deepEqual(worker.pass(100), ['start 2'])
})

test('a processor that cannot be started is tried again, told once a minute, and costs nothing', () => {
  const worker = new ScriptedWorker({ deathTimeoutMs: 3_600_000 })
  worker.handle({ type: 'started' })
  worker.handle({ type: 'connected' })
  const lines: string[] = []
  let starts = 0
  for (let processor = 1; processor <= 30; processor += 1) {
    const death = { exitCode: undefined, signal: undefined, stderr: 'spawn EAGAIN' }
    const event = { type: 'processorExited', processor, death, lastRun: 'nothing' } as const
    for (const action of worker.handle(event)) if (action.type === 'log') lines.push(action.text)
    starts += worker.pass(10_000).filter((shown) => shown.startsWith('start ')).length
  }
  assert.equal(starts, 30)
  assert.ok(lines.length >= 4 && lines.length <= 6, lines.join())
  assert.deepEqual([...new Set(lines)], ['spawn EAGAIN; trying again'])
  worker.receive(echoOf())
  worker.receive(taskOf('t1'))
  const ready = worker.handle({ type: 'processorReady', processor: 31, pid: 7 })
  assert.ok(ready.some(({ type }) => type === 'sendHeartbeat'))
})

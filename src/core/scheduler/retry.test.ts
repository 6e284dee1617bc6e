import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decode, type Task } from '../../wire/message.js'
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
} from './scheduler.kit.js'

/** The attempts in the Tasks that were sent to workers since the last call. */
function attempts(scheduler: TestScheduler): readonly number[] {
  return scheduler.actions().flatMap((action) => {
    const message = action.type === 'forward' ? decode(action.bytes) : undefined
    return message?.kind === 'task' ? [message.attempt] : []
  })
}

function lose(scheduler: TestScheduler, worker: string): TestScheduler {
  return scheduler.handle({ type: 'peerDisconnected', peer: peer(worker) })
}

test('a failing task is retried up to its limit, and its client gets only the last result', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('t', 'C'), retries: 2 }).actions()
  for (const _ of [1, 2]) {
    scheduler.receive('W', result('t', 'failed'))
    assert.deepEqual(scheduler.lines(), ['W <- task t'])
  }
  scheduler.receive('W', result('t', 'failed'))
  assert.deepEqual(scheduler.lines(), ['C <- result t failed'])
})

test('each run carries the number of earlier attempts, and how many retries are left', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  const options = { retries: 3, name: 'ärger', timeoutMs: 7, traceContext: 'trace' }
  const sent: Task = { ...task('t', 'C'), ...options }
  scheduler.receive('C', sent)
  assert.deepEqual(attempts(scheduler), [0])
  scheduler.receive('W', result('t', 'failed'))
  const [action] = scheduler.actions()
  assert.ok(action?.type === 'forward')
  const { bytes: _, ...again } = decode(action.bytes) as Task
  const changed = { metadata: Buffer.from(sent.metadata), attempt: 1, retries: 2 }
  assert.deepEqual(again, { ...sent, ...changed })
  lose(scheduler, 'W').receive('V', workerHeartbeat())
  assert.deepEqual(attempts(scheduler), [2])
})

test('a task that succeeds in its second run has succeeded', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('t', 'C'), retries: 9 }).receive('W', result('t', 'failed'))
  scheduler.actions()
  assert.deepEqual(scheduler.receive('W', result('t')).lines(), ['C <- result t success'])
})

test('a retried task waits behind the others, and intermediate errors are not kept', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('t', 'C'), retries: 1 }).receive('C', task('u', 'C'))
  scheduler.receive('W', instruction('create', 'C', ['r-t'])).actions()
  scheduler.receive('W', result('t', 'failed'))
  assert.deepEqual(scheduler.lines(), ['W <- task u'])
  assert.equal(scheduler.machine.counts.objects, 1, 'the function')
})

test('a cancelled task is not retried', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('t', 'C'), retries: 1 }).receive('C', cancel('t', true))
  scheduler.actions()
  assert.deepEqual(scheduler.receive('W', result('t', 'failed')).lines(), ['C <- result t failed'])
})

test('the children of a failed run are cancelled, although the task is retried', () => {
  const scheduler = withPeers({ clients: ['C', 'N'], workers: ['W'] })
  scheduler.receive('C', { ...task('t', 'C'), retries: 1 })
  scheduler.receive('N', child('n', 'N', 't')).actions()
  scheduler.receive('W', result('t', 'failed'))
  assert.deepEqual(scheduler.lines(), ['N <- result n canceled', 'W <- task t'])
})

test('a task that has waited for others can be retried, and then counts like any other', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('t', 'C'), retries: 1 }).receive('W', update('t', 'waiting'))
  scheduler.receive('W', result('t', 'failed')).actions()
  assert.deepEqual(scheduler.receive('C', task('u', 'C')).lines(), [], 't is the one task of W')
})

for (const [limit, deaths] of [
  [0, 4],
  [1, 1],
  [2, 2],
  [5, 5],
] as const) {
  test(`with a limit of ${limit}, a task ends when ${deaths} of its workers were lost`, () => {
    const scheduler = withPeers({ clients: ['C'] })
    scheduler.receive('C', { ...task('t', 'C'), workerDeathLimit: limit })
    for (let count = 1; count <= deaths; count += 1) {
      assert.deepEqual(scheduler.lines(), [], 'the client hears nothing')
      scheduler.receive(`W${count}`, workerHeartbeat())
      assert.deepEqual(scheduler.lines(), [`W${count} <- echo S`, `W${count} <- task t`])
      lose(scheduler, `W${count}`)
    }
    assert.deepEqual(scheduler.lines(), ['C <- result t workerDied'])
    assert.equal(scheduler.machine.counts.tasks, 0)
  })
}

test('the loss of several workers of one agent, one after the other, counts once', () => {
  const scheduler = withPeers({ clients: ['C'] })
  const join = (worker: string, agentId: string): TestScheduler => {
    return scheduler.receive(worker, { ...workerHeartbeat(), agentId })
  }
  scheduler.receive('C', { ...task('t', 'C'), workerDeathLimit: 3 })
  for (const worker of ['A1', 'A2', 'A3', 'A4']) join(worker, 'a')
  for (const worker of ['A1', 'A2', 'A3', 'A4']) lose(scheduler, worker)
  lose(join('B', 'b'), 'B').moveTo(3_000)
  assert.equal(scheduler.machine.counts.tasks, 1)
  // A worker of the same agent, but a while after the last loss.
  lose(join('B2', 'b'), 'B2')
  assert.deepEqual(scheduler.lines().at(-1), 'C <- result t workerDied')
})

test('a silent worker counts as lost', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('t', 'C'), workerDeathLimit: 1 }).actions()
  scheduler.moveTo(30_000).receive('C', clientHeartbeat()).moveTo(61_000)
  assert.deepEqual(scheduler.lines().slice(1), ['C <- result t workerDied', 'disconnect W'])
})

test('a worker that leaves gracefully does not count as lost', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('C', { ...task('t', 'C'), workerDeathLimit: 1 })
  for (const worker of ['V', 'W', 'X']) {
    scheduler.receive(worker, workerHeartbeat())
    scheduler.receive(worker, { kind: 'disconnectRequest', worker: peer(worker) })
  }
  assert.deepEqual(attempts(scheduler), [0, 1, 2])
  assert.equal(scheduler.machine.counts.tasks, 1)
})

test('a cancelled task whose worker is lost ends as cancelled', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', { ...task('t', 'C'), workerDeathLimit: 1 }).receive('C', cancel('t'))
  scheduler.actions()
  assert.deepEqual(lose(scheduler, 'W').lines(), ['C <- result t canceled'])
})

test('the same applies to tasks of 1.9.9 clients, which reach 1.9.9 workers unchanged', () => {
  const scheduler = new TestScheduler()
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('P', task('t', 'P'))
  for (const worker of ['U', 'V', 'W', 'X'])
    lose(scheduler.receive(worker, workerHeartbeat(PYTHON)), worker)
  const lines = scheduler.lines()
  assert.deepEqual(lines.at(-1), 'P <- result t workerDied')
  scheduler.receive('P', task('u', 'P'))
  lose(scheduler.receive('Y', workerHeartbeat(PYTHON)), 'Y').receive('Z', workerHeartbeat(PYTHON))
  assert.deepEqual(attempts(scheduler), [0, 0])
})

test('monitors see the name of a task if it has one', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.handle({ type: 'subscribersChanged', count: 1 })
  scheduler.receive('C', { ...task('t', 'C'), name: 'résumé' }).receive('C', task('u', 'C'))
  const names = scheduler.actions().flatMap((action) => {
    const isState = action.type === 'publish' && action.message.kind === 'stateTask'
    return isState ? [Buffer.from(action.message.functionName).toString()] : []
  })
  assert.deepEqual(names, ['résumé', 'name of f'])
})

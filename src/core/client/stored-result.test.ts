import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../../base/ids.js'
import {
  Harness,
  inlineResult,
  objectResponse,
  storedResult,
  summary,
  taskResult,
} from './harness.test.kit.js'

/** The result of `a` is in the cluster, as `r1`; nobody has asked for it. */
function stored(): Harness {
  const harness = new Harness()
  harness.open()
  harness.isEager = false
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  return harness
}

test('a large result is offered, and fetched when somebody wants it', () => {
  const harness = new Harness()
  harness.open()
  harness.isEager = false
  harness.submit('a')
  harness.flush()
  const worker = identity('w')
  const result = { ...storedResult('a', 'r1'), metadata: Buffer.from('p'), worker }
  const [offer, ...rest] = harness.receive(result)
  const { metadata } = result
  assert.deepEqual(offer, { type: 'offerResult', owner: 'a', taskId: 'a', metadata, worker })
  assert.deepEqual(summary(rest), [])
  assert.deepEqual(summary(harness.want('a')), ['get r1'])
  assert.deepEqual(summary(harness.want('a')), [])
  const actions = harness.receive(objectResponse('r1', 'one'))
  const [finish] = actions.filter(({ type }) => type === 'finishTask')
  assert(finish?.type === 'finishTask')
  assert.equal(Buffer.from(finish.metadata).toString(), 'p')
  assert.equal(finish.worker, worker)
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
})

test('a result that nobody wants is no unfinished task, and waits for nobody', () => {
  const harness = stored()
  assert.equal(harness.machine.unfinishedTasks, 0)
  assert.equal(harness.machine.has(taskId('a')), true)
  assert.equal(harness.machine.whereIs(taskId('a')), 'running')
  harness.advance(200_000)
  assert.deepEqual(harness.ends, [])
})

test('its arguments are let go, and come again if the task has to', () => {
  const harness = new Harness()
  harness.open()
  harness.isEager = false
  harness.submit('a', [Buffer.alloc(200, 'L'), Buffer.from('x')])
  harness.flush()
  assert.equal(harness.machine.heldBytes, 200 + 1 + 1)
  harness.receive(storedResult('a', 'r1'))
  assert.equal(harness.machine.heldBytes, 0)
  harness.disconnect()
  harness.open('S2')
  const [create, task] = summary(harness.flush())
  assert.match(create ?? '', /^create f <obj/)
  assert.equal(task, 'task a')
  assert.equal(harness.machine.heldBytes, 202)
  harness.receive(inlineResult('a', 'again'))
  assert.equal(harness.endOf('a'), 'value again')
})

test('whoever is left in charge is told what becomes of it', () => {
  const harness = stored()
  harness.handle({ type: 'resultLeft', taskId: taskId('a'), owner: 'resting a' })
  harness.handle({ type: 'closeRequested' })
  assert.deepEqual(harness.ends, [['resting a', 'closed']])
})

test('a result that nobody can ask for is deleted', () => {
  const harness = stored()
  harness.drop('a')
  assert.deepEqual(summary(harness.flush()), ['delete r1'])
  harness.drop('a')
  harness.want('a')
  assert.deepEqual(harness.ends, [['a', 'missingObject']])
})

test('after a lost connection it is asked for where it was; if it is gone the task runs again', () => {
  const harness = stored()
  harness.disconnect()
  harness.open('S1')
  assert.deepEqual(summary(harness.flush()), [])
  assert.deepEqual(summary(harness.want('a')), ['get r1'])
  harness.receive(objectResponse('r1', undefined))
  assert.deepEqual(harness.ends, [])
  assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
  harness.receive(storedResult('a', 'r2'))
  assert.deepEqual(summary(harness.want('a')), ['get r2'])
  harness.receive(objectResponse('r2', 'two'))
  assert.deepEqual(harness.ends, [['a', 'value two']])
})

test('a restarted scheduler, or one that has dropped the client, is sent the task again', () => {
  for (const [scheduler, remembers] of [
    ['S2', true],
    ['S1', false],
  ] as const) {
    const harness = stored()
    harness.disconnect()
    harness.remembers = remembers
    harness.open(scheduler)
    assert.deepEqual(summary(harness.flush()), ['create f', 'task a'])
    harness.receive(inlineResult('a', 'again'))
    assert.equal(harness.endOf('a'), 'value again')
  }
})

test('a result that is lost while there was no connection problem is lost', () => {
  const harness = stored()
  harness.want('a')
  harness.receive(objectResponse('r1', undefined))
  assert.deepEqual(harness.ends, [['a', 'missingObject']])
})

test('a second result of the same task is deleted', () => {
  const harness = stored()
  harness.receive(storedResult('a', 'r2'))
  harness.receive(taskResult('a', { status: 'canceled' }))
  assert.deepEqual(summary(harness.flush()), ['delete r2'])
  assert.deepEqual(summary(harness.want('a')), ['get r1'])
})

test('a 1.9.9 scheduler is told to delete what was never fetched when the client leaves', () => {
  const harness = new Harness()
  harness.open('')
  harness.isEager = false
  harness.submit('a')
  harness.flush()
  harness.receive(storedResult('a', 'r1'))
  const leaving = summary(harness.handle({ type: 'closeRequested' }))
  assert.match(leaving.at(-1) ?? '', /^delete .* r1$/)
})

test('wanting a result keeps an eye on the scheduler again', () => {
  const harness = stored()
  harness.advance(100_000)
  harness.want('a')
  harness.advance(59_000)
  assert.deepEqual(harness.ends, [])
  harness.advance(2_000)
  assert.deepEqual(harness.ends, [['a', 'disconnected']])
})

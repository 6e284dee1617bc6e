import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OUR_FEATURES } from '../../base/features.js'
import { objectId } from '../../base/ids.js'
import type { SharedObject } from '../../wire/message.js'
import type { ClientAction, SharedAnswer } from './events.js'
import { Harness, inlineResult, sent, summary } from './harness.test.kit.js'

function pin(harness: Harness, id: string, sharedAs?: string): void {
  const value = { id: objectId(id), name: Buffer.from(id), content: Buffer.from(id) }
  harness.handle({ type: 'objectPinned', value, sharedAs })
}

function unpin(harness: Harness, id: string): void {
  harness.handle({ type: 'objectUnpinned', id: objectId(id) })
}

function call(
  harness: Harness,
  ticket: number,
  name: string,
  type: 'find' | 'remove' = 'find',
): ClientAction<string>[] {
  return harness.handle({ type: 'sharedCalled', call: { ticket, type, name } })
}

function message(type: SharedObject['type'], name: string, id = ''): SharedObject {
  return { kind: 'sharedObject', type, name, objectId: objectId(id), sizeBytes: 7 }
}

/** The answers among some actions, by ticket. */
function answers(actions: readonly ClientAction<string>[]): [number, SharedAnswer['outcome']][] {
  return actions.flatMap((action) =>
    action.type === 'answerShared' ? [[action.ticket, action.answer.outcome]] : [],
  )
}

/** What is sent at the end of the turn, except heartbeats. */
function flushed(harness: Harness): string[] {
  return summary(harness.flush()).filter((text) => text !== 'heartbeat')
}

function opened(): Harness {
  const harness = new Harness()
  harness.open('S1', OUR_FEATURES)
  return harness
}

/** The client has lost its connection, and a scheduler answers on the next one. */
function reconnect(harness: Harness, scheduler: string, features = OUR_FEATURES): string[] {
  harness.disconnect()
  const lines = summary(harness.open(scheduler, features))
  return lines.filter((text) => text !== 'heartbeat' && text !== 'create serializer')
}

/** The client has found an object of another one. */
function find(harness: Harness, id: string, name: string): void {
  call(harness, 1, name)
  harness.flush()
  harness.receive(message('found', name, id))
}

test('an object is published right after it was sent', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  pin(harness, 'p')
  assert.deepEqual(flushed(harness), ['create o', 'publish model o', 'create p'])
})

test('also if a task sends it, or if it was sent before it got the name', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  harness.submit('t', [{ type: 'object', id: objectId('o') }])
  assert.deepEqual(flushed(harness), ['create f o', 'publish model o', 'task t'])
  const value = { id: objectId('o'), name: Buffer.from('o'), content: Buffer.from('o') }
  const actions = harness.handle({ type: 'objectPinned', value, sharedAs: 'other' })
  assert.deepEqual(summary(actions), ['publish other o'])
})

test('workers are to fetch an object in advance, after a restart, too', () => {
  const harness = opened()
  const value = { id: objectId('o'), name: Buffer.from('o'), content: Buffer.from('o') }
  harness.handle({ type: 'objectPinned', value, isReplicated: true })
  assert.deepEqual(flushed(harness), ['create o', 'replicate o'])
  reconnect(harness, 'S2')
  assert.deepEqual(flushed(harness), ['create o', 'replicate o'])
  unpin(harness, 'o')
  assert.deepEqual(flushed(harness), ['delete o'])
  reconnect(harness, 'S3')
  assert.deepEqual(flushed(harness), [])
})

test('calls are sent after the objects that were sent before', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  call(harness, 1, 'model')
  assert.deepEqual(flushed(harness), ['create o', 'publish model o', 'find model'])
})

test('answers come in the order of the calls', () => {
  const harness = opened()
  call(harness, 1, 'a')
  call(harness, 2, 'b', 'remove')
  call(harness, 3, 'a')
  assert.deepEqual(flushed(harness), ['find a', 'remove b', 'find a'])
  const actions = [
    ...harness.receive(message('found', 'a', 'o')),
    ...harness.receive(message('removed', 'b')),
    ...harness.receive(message('missing', 'a')),
  ]
  assert.deepEqual(answers(actions), [
    [1, 'found'],
    [2, 'removed'],
    [3, 'missing'],
  ])
})

test('an answer that does not fit is ignored', () => {
  const harness = opened()
  assert.deepEqual(answers(harness.receive(message('found', 'a', 'o'))), [])
  call(harness, 1, 'a')
  // Not sent yet.
  assert.deepEqual(answers(harness.receive(message('found', 'a', 'o'))), [])
  harness.flush()
  assert.deepEqual(answers(harness.receive(message('found', 'b', 'o'))), [])
  assert.deepEqual(answers(harness.receive(message('removed', 'a'))), [])
  assert.deepEqual(answers(harness.receive(message('found', 'a', 'o'))), [[1, 'found']])
})

test('what was found is an argument, is never sent, and is given back', () => {
  const harness = opened()
  call(harness, 1, 'model')
  harness.flush()
  const [found] = harness.receive(message('found', 'model', 'o'))
  assert(found?.type === 'answerShared')
  const answer = { outcome: 'found', id: objectId('o'), sizeBytes: 7, isForeign: true }
  assert.deepEqual(found.answer, answer)
  harness.submit('t', [{ type: 'object', id: objectId('o') }])
  const actions = harness.flush()
  assert.deepEqual(summary(actions), ['create f', 'task t'])
  const task = sent(actions).find(({ kind }) => kind === 'task')
  assert(task?.kind === 'task')
  assert.equal(task.functionArgs[0]?.type, 'sharedObjectID')
  unpin(harness, 'o')
  assert.deepEqual(reconnect(harness, 'S2'), ['hold o'])
  assert.deepEqual(flushed(harness), ['create f', 'task t'])
  harness.receive(inlineResult('t'))
  harness.advance(10_000)
  assert.deepEqual(flushed(harness), ['delete o'])
})

test('a client that finds its own object has its content', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  call(harness, 1, 'model')
  harness.flush()
  const [found] = harness.receive(message('found', 'model', 'o'))
  assert(found?.type === 'answerShared' && !found.answer.isForeign)
  unpin(harness, 'o')
  assert.deepEqual(flushed(harness), [])
  unpin(harness, 'o')
  assert.deepEqual(flushed(harness), ['delete o'])
})

test('the next scheduler gets what others may look for, unasked', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  pin(harness, 'p')
  harness.flush()
  harness.receive(message('published', 'model', 'o'))
  find(harness, 'q', 'foreign')
  assert.deepEqual(reconnect(harness, 'S2'), ['hold q'])
  assert.deepEqual(flushed(harness), ['create o', 'restore model o'])
})

test('a name that was never confirmed is published again', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  harness.flush()
  reconnect(harness, 'S2')
  assert.deepEqual(flushed(harness), ['create o', 'publish model o'])
})

test('names that the scheduler has given to other objects are not restored', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  harness.flush()
  // It was on its way before.
  harness.receive(message('withdrawn', 'model', 'o'))
  harness.receive(message('published', 'model', 'o'))
  harness.receive(message('withdrawn', 'model', 'another'))
  reconnect(harness, 'S1')
  assert.deepEqual(flushed(harness), ['create o', 'restore model o'])
  harness.receive(message('withdrawn', 'model', 'o'))
  reconnect(harness, 'S1')
  assert.deepEqual(flushed(harness), ['create o'])
})

test('only the last object of a client keeps a name', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  pin(harness, 'p', 'model')
  assert.deepEqual(flushed(harness), ['create o', 'create p', 'publish model p'])
  harness.receive(message('published', 'model', 'p'))
  reconnect(harness, 'S2')
  assert.deepEqual(flushed(harness), ['create o', 'create p', 'restore model p'])
  unpin(harness, 'o')
  unpin(harness, 'p')
  harness.flush()
  reconnect(harness, 'S3')
  assert.deepEqual(flushed(harness), [])
})

test('an object that is released before others can find it is published first', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  unpin(harness, 'o')
  assert.deepEqual(flushed(harness), ['create o', 'publish model o'])
  harness.receive(message('published', 'model', 'o'))
  assert.deepEqual(flushed(harness), ['delete o'])
})

test('also by a client that leaves', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  pin(harness, 'p')
  const actions = harness.handle({ type: 'closeRequested' })
  assert.deepEqual(summary(actions), ['create o', 'publish model o', 'goodbye'])
})

test('one that is not stored is published when it is sent again, and is not mixed up', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  call(harness, 1, 'model')
  harness.flush()
  harness.receive(message('unstored', 'model', 'o'))
  // The name still stands for an earlier one.
  assert.deepEqual(answers(harness.receive(message('found', 'model', 'old'))), [[1, 'unstored']])
  assert.deepEqual(flushed(harness), ['delete old'])
  reconnect(harness, 'S2')
  assert.deepEqual(flushed(harness), ['create o', 'publish model o'])
})

test('what is being found is not given back meanwhile', () => {
  const harness = opened()
  find(harness, 'q', 'foreign')
  call(harness, 2, 'foreign')
  harness.flush()
  unpin(harness, 'q')
  assert.deepEqual(flushed(harness), [])
  harness.receive(message('found', 'foreign', 'q'))
  assert.deepEqual(flushed(harness), [])
  unpin(harness, 'q')
  assert.deepEqual(flushed(harness), ['delete q'])
})

test('an object that was found is like any other once its value is sent from here', () => {
  const harness = opened()
  find(harness, 'q', 'foreign')
  pin(harness, 'q')
  assert.deepEqual(flushed(harness), [])
  assert.deepEqual(reconnect(harness, 'S2'), [])
  harness.submit('t', [{ type: 'object', id: objectId('q') }])
  assert.deepEqual(flushed(harness), ['create f q', 'task t'])
  const content = harness.machine.contentOf(objectId('q'))
  assert(content instanceof Uint8Array && Buffer.from(content).toString() === 'q')
})

test('calls wait for a scheduler, and are repeated on the next connection', () => {
  const harness = new Harness()
  call(harness, 1, 'a')
  harness.open('S1', OUR_FEATURES)
  assert.deepEqual(flushed(harness), ['find a'])
  assert.deepEqual(reconnect(harness, 'S2'), [])
  assert.deepEqual(flushed(harness), ['find a'])
  assert.deepEqual(answers(harness.receive(message('missing', 'a'))), [[1, 'missing']])
})

test('a scheduler that knows no names ends them, and gets no names', () => {
  const harness = new Harness()
  call(harness, 1, 'a')
  pin(harness, 'o', 'model')
  assert.deepEqual(answers(harness.open('')), [[1, 'unsupported']])
  assert.deepEqual(answers(call(harness, 2, 'a')), [[2, 'unsupported']])
  assert.deepEqual(flushed(harness), ['create o'])
  // Nor does an object stay for it.
  pin(harness, 'p', 'other')
  harness.flush()
  unpin(harness, 'o')
  unpin(harness, 'p')
  assert.deepEqual(flushed(harness), ['delete o p'])
})

test('calls end with the client', () => {
  const harness = opened()
  call(harness, 1, 'a')
  assert.deepEqual(answers(harness.handle({ type: 'closeRequested' })), [[1, 'closed']])
  assert.deepEqual(answers(call(harness, 2, 'a')), [[2, 'closed']])
})

test('a cleared client refers to nothing', () => {
  const harness = opened()
  pin(harness, 'o', 'model')
  harness.flush()
  find(harness, 'q', 'foreign')
  harness.handle({ type: 'clearRequested' })
  assert.deepEqual(flushed(harness), ['delete o q'])
  assert.deepEqual(reconnect(harness, 'S2'), [])
  assert.deepEqual(flushed(harness), [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId } from '../../base/ids.js'
import { Harness, inlineResult, sent, summary } from './harness.test.kit.js'
import type { ArgumentSource, StoredValue } from './events.js'

function value(name: string, bytes = 10): StoredValue {
  return { id: objectId(name), name: Buffer.from(name), content: Buffer.alloc(bytes, name) }
}

function use(name: string): ArgumentSource {
  return { type: 'object', id: objectId(name) }
}

function pin(harness: Harness, name: string, bytes?: number): void {
  harness.handle({ type: 'objectPinned', value: value(name, bytes) })
}

function unpin(harness: Harness, name: string): void {
  harness.handle({ type: 'objectUnpinned', id: objectId(name) })
}

test('an object is sent at the end of the turn, once, and deleted when it is unpinned', () => {
  const harness = new Harness()
  harness.open()
  pin(harness, 'o1')
  pin(harness, 'o1')
  assert.deepEqual(summary(harness.flush()), ['create o1'])
  harness.advance(10_000)
  assert.deepEqual(summary(harness.flush()), [])
  unpin(harness, 'o1')
  assert.deepEqual(summary(harness.flush()), [])
  unpin(harness, 'o1')
  assert.deepEqual(summary(harness.flush()), ['delete o1'])
  unpin(harness, 'o1')
  assert.deepEqual(summary(harness.flush()), [])
})

test('or before the first task that uses it', () => {
  const harness = new Harness()
  harness.open()
  pin(harness, 'o1')
  pin(harness, 'o2')
  harness.submit('a', [use('o1'), Buffer.from('x')])
  const actions = harness.flush()
  assert.deepEqual(summary(actions), ['create f o1', 'task a', 'create o2'])
  const task = sent(actions).find((message) => message.kind === 'task')
  assert(task?.kind === 'task')
  assert.deepEqual(
    task.functionArgs.map(({ type, data }) => [type, Buffer.from(data).toString()]),
    [
      ['sharedObjectID', 'o1'],
      ['inline', 'x'],
    ],
  )
})

test('a plain argument with the content of a pinned object belongs to its task alone', () => {
  const harness = new Harness()
  harness.open()
  pin(harness, 'o1')
  harness.submit('a', [use('o1'), { type: 'value', value: value('o1') }])
  const task = sent(harness.flush()).find((message) => message.kind === 'task')
  assert(task?.kind === 'task')
  assert.deepEqual(
    task.functionArgs.map(({ type, data }) => [type, Buffer.from(data).toString()]),
    [
      ['sharedObjectID', 'o1'],
      ['objectID', 'o1'],
    ],
  )
})

test('one that is unpinned before it was sent never leaves', () => {
  const harness = new Harness()
  harness.open()
  pin(harness, 'o1')
  unpin(harness, 'o1')
  assert.deepEqual(summary(harness.flush()), [])
})

test('tasks keep what they use', () => {
  const harness = new Harness()
  harness.open()
  pin(harness, 'o1')
  harness.submit('a', [use('o1')])
  unpin(harness, 'o1')
  assert.deepEqual(summary(harness.flush()), ['create f o1', 'task a'])
  harness.receive(inlineResult('a'))
  const later = [...harness.advance(10_000), ...harness.flush()]
  assert.deepEqual(
    summary(later).filter((text) => text.startsWith('delete')),
    ['delete o1'],
  )
})

test('a task that uses what is not pinned ends at once', () => {
  const harness = new Harness()
  harness.open()
  pin(harness, 'o1')
  unpin(harness, 'o1')
  harness.submit('a', [Buffer.from('x'), use('o1')])
  assert.deepEqual(harness.ends, [['a', 'missingObject']])
  assert.deepEqual(summary(harness.flush()), [])
})

test('an object stays pinned over a restart of the scheduler, and goes there with its next use', () => {
  const harness = new Harness()
  harness.open('S1')
  pin(harness, 'o1')
  harness.flush()
  harness.disconnect()
  harness.open('S2')
  assert.deepEqual(summary(harness.flush()), [])
  harness.submit('a', [use('o1')])
  assert.deepEqual(summary(harness.flush()), ['create f o1', 'task a'])
})

test('pinned objects do not count as held by tasks', () => {
  const harness = new Harness()
  harness.open()
  pin(harness, 'o1', 5_000)
  harness.submit('a', [use('o1')])
  assert.equal(harness.machine.heldBytes, 1)
  unpin(harness, 'o1')
  assert.equal(harness.machine.heldBytes, 5_001)
  pin(harness, 'o1', 5_000)
  assert.equal(harness.machine.heldBytes, 1)
})

test('objects that were pinned without a connection are sent when there is one', () => {
  const harness = new Harness()
  pin(harness, 'o1')
  pin(harness, 'o2')
  unpin(harness, 'o1')
  harness.open()
  assert.deepEqual(summary(harness.flush()), ['create o2'])
})

test('large objects are sent one by one, as there is room', () => {
  const harness = new Harness()
  harness.open()
  for (const name of ['o1', 'o2', 'o3']) pin(harness, name, 1024 ** 2)
  assert.deepEqual(summary(harness.flush()), ['create o1'])
  assert.deepEqual(summary(harness.flush()), ['create o2'])
  assert.deepEqual(summary(harness.flush()), ['create o3'])
})

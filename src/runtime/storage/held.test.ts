// Which messages may overtake those that wait for content.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, objectId, taskId, type TaskId } from '../../base/ids.js'
import { type Message, PLAIN_TASK, type Task } from '../../wire/message.js'
import { nthTaskId } from '../../wire/run.js'
import { HeldMessages, subjectOf } from './held.js'

/** The first id of a block. */
const BLOCK = taskId('\0\0abcdefghijkl\0\0')

function task(id: TaskId, { count = 0, inputs = [] as Task['functionArgs'] } = {}): Task {
  const fixed = { source: identity('C'), metadata: Buffer.alloc(0), funcObjectId: objectId('f') }
  return { kind: 'task', ...PLAIN_TASK, ...fixed, taskId: id, count, functionArgs: inputs }
}

function cancel(id: TaskId, count = 0): Message {
  const flags = { force: false, retrieveTaskObject: false }
  return { kind: 'taskCancel', taskId: id, count, flags }
}

function remove(id: string): Message {
  return {
    kind: 'objectInstruction',
    instructionType: 'delete',
    objectUser: identity('C'),
    objectContent: {
      objectIds: [objectId(id)],
      objectTypes: [],
      objectNames: [],
      objectBytes: [],
    },
  }
}

const holds = (first: Message, second: Message): boolean => {
  const held = new HeldMessages()
  held.add(subjectOf(first))
  const isHeld = held.holdsBack(subjectOf(second))
  held.remove(subjectOf(first))
  assert.equal(held.holdsBack(subjectOf(second)), false)
  return isHeld
}

const of = (id: string): Task['functionArgs'] => [{ type: 'objectID', data: Buffer.from(id) }]

test('messages about the same task keep their order, others do not', () => {
  const one = nthTaskId(BLOCK, 1)
  const withObject = task(one, { inputs: of('o') })
  assert.equal(holds(withObject, cancel(one)), true)
  assert.equal(holds(withObject, cancel(nthTaskId(BLOCK, 2))), false)
  assert.equal(holds(cancel(one), withObject), true)
  assert.equal(holds(withObject, { kind: 'taskInquiry', taskId: one }), true)
})

test('a run keeps its order with whatever is in its block', () => {
  const run = task(BLOCK, { count: 10, inputs: of('o') })
  const [inside, other] = [nthTaskId(BLOCK, 3), taskId('\0\0ABCDEFGHIJKL\0\0')]
  assert.equal(holds(run, cancel(inside)), true)
  assert.equal(holds(cancel(inside), run), true)
  assert.equal(holds(run, cancel(BLOCK, 10)), true)
  assert.equal(holds(run, cancel(other)), false)
})

test('a task waits for its objects, and for the tasks that it needs', () => {
  const [one, two] = [nthTaskId(BLOCK, 1), nthTaskId(BLOCK, 2)]
  const needs = task(two, { inputs: [{ type: 'task', data: Buffer.from(one, 'latin1') }] })
  assert.equal(holds(task(one), needs), true)
  assert.equal(holds(needs, cancel(one)), true)
  assert.equal(holds(task(BLOCK, { count: 9 }), needs), true)
  assert.equal(holds(remove('o'), task(one, { inputs: of('o') })), true)
  assert.equal(holds(task(one, { inputs: of('o') }), remove('o')), true)
  assert.equal(holds(remove('f'), task(one)), true)
  const inline = [{ type: 'inline', data: Buffer.from('o') }] as const
  assert.equal(holds(remove('o'), task(one, { inputs: inline })), false)
})

test('tasks with the same function or the same inputs do not wait for each other', () => {
  const [one, two] = [nthTaskId(BLOCK, 1), nthTaskId(BLOCK, 2)]
  const other = nthTaskId(BLOCK, 3)
  const input = [{ type: 'task', data: Buffer.from(other, 'latin1') }] as const
  assert.equal(holds(task(one, { inputs: of('o') }), task(two, { inputs: of('o') })), false)
  assert.equal(holds(task(one, { inputs: input }), task(two, { inputs: input })), false)
})

test('the nodes of a graph count like tasks', () => {
  const [one, two] = [nthTaskId(BLOCK, 1), nthTaskId(BLOCK, 2)]
  const graph: Message = {
    kind: 'graphTask',
    taskId: one,
    source: identity('C'),
    targets: [two],
    graph: [task(two, { inputs: of('o') })],
    isOpen: false,
  }
  assert.equal(holds(graph, { kind: 'graphTaskCancel', taskId: one }), true)
  assert.equal(holds(graph, cancel(two)), true)
  assert.equal(holds(remove('o'), graph), true)
  assert.equal(holds(graph, cancel(nthTaskId(BLOCK, 3))), false)
})

test('a farewell waits for everything, and everything waits for it', () => {
  const leave: Message = { kind: 'clientDisconnect', disconnectType: 'disconnect' }
  assert.equal(holds(cancel(BLOCK), leave), true)
  assert.equal(holds(leave, cancel(BLOCK)), true)
  assert.equal(holds(leave, { kind: 'storageServers', servers: [], isServer: false }), false)
})

test('several messages about the same object hold a later one until the last is sent', () => {
  const held = new HeldMessages()
  const [one, two] = [task(nthTaskId(BLOCK, 1)), task(nthTaskId(BLOCK, 2))]
  held.add(subjectOf(one))
  held.add(subjectOf(two))
  held.remove(subjectOf(one))
  assert.equal(held.holdsBack(subjectOf(remove('f'))), true)
  held.clear()
  assert.equal(held.holdsBack(subjectOf(remove('f'))), false)
})

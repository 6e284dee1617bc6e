import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SerializeError } from '../../base/errors.js'
import { runnableTask } from '../runnable-task.kit.js'
import { StoredObject } from './objects.js'
import { TableCodec } from '../table-codec.test.kit.js'
import { readCall, serializeResult, type RunnableTask } from './call.js'

function object(name: string): StoredObject {
  return new StoredObject([Buffer.from(name)])
}

function task(codec: TableCodec, fn: string, inputs: RunnableTask['inputs']): RunnableTask {
  return runnableTask('t', fn, codec, { inputs })
}

test('the last inputs are the attachments of the function, the others its arguments', () => {
  const codec = new TableCodec()
  for (const name of ['x', 'y', 'z']) codec.values.set(name, name)
  codec.values.set('f', () => 1)
  codec.counts.set('f', 2)
  const inputs = [Buffer.from('x'), object('y'), object('a'), object('b')]
  const call = readCall(task(codec, 'f', inputs))
  assert.deepEqual(call.values, ['x', 'y'])
  assert.deepEqual(codec.lastAttachments, ['a', 'b'])
  assert.deepEqual(readCall(task(codec, 'f', inputs.slice(2))).values, [])
})

test('arguments that are older than the task are read after its own', () => {
  const codec = new TableCodec()
  const order: string[] = []
  codec.values.set('f', () => 1)
  for (const name of ['x', 'y', 'z']) codec.values.set(name, name)
  codec.onRead = (name) => order.push(name)
  const inputs = [object('x'), Buffer.from('y'), object('z')]
  const call = readCall(runnableTask('t', 'f', codec, { inputs, shared: new Set([0]) }))
  assert.deepEqual(
    [call.values, order],
    [
      ['x', 'y', 'z'],
      ['f', 'y', 'z', 'x'],
    ],
  )
})

test('arguments are deserialized again for each task', () => {
  const codec = new TableCodec()
  let reads = 0
  codec.values.set('f', () => 1)
  codec.values.set('x', 1)
  codec.onRead = (name) => (reads += Number(name === 'x'))
  const one = task(codec, 'f', [object('x'), object('x')])
  readCall(one)
  readCall(one)
  assert.equal(reads, 4)
})

test('the error for a result that cannot be serialized has a path from result', () => {
  const codec = new TableCodec()
  codec.values.set('f', () => 1)
  const call = readCall(task(codec, 'f', []))
  assert.deepEqual(serializeResult(call, 5), Buffer.from('5'))
  codec.serialize = () => {
    throw new SerializeError('db: it lives here', { path: ['db'] })
  }
  assert.throws(
    () => serializeResult(call, 5),
    (error) => {
      assert.ok(error instanceof SerializeError)
      assert.deepEqual(error.path, ['result', 'db'])
      assert.equal(error.message, 'result -> db: it lives here')
      return true
    },
  )
})

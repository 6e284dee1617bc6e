import assert from 'node:assert/strict'
import { test } from 'node:test'
import { taskId } from '../../../base/ids.js'
import { isBlockId } from '../../../wire/run.js'
import { GraphNodes } from './nodes.js'
import { storedFunction } from '../graph-scheduler.kit.js'

const PREFIX = 'prefix----'

function withCalls(count: number): GraphNodes {
  const nodes = new GraphNodes(PREFIX)
  nodes.addFunction({ function: storedFunction('f'), attachments: [] })
  for (let i = 0; i < count; i += 1) nodes.addCall(0)
  return nodes
}

test('a call and its id lead to each other', () => {
  const nodes = withCalls(70_000)
  for (const position of [0, 1, 255, 256, 65_535, 65_536, 69_999]) {
    const id = nodes.idOf(position)
    assert.equal(id.length, 16)
    assert.equal(nodes.positionOf(id), position)
  }
  assert.notEqual(nodes.idOf(255), nodes.idOf(256))
})

test('calls of one layer and function have consecutive numbers', () => {
  const nodes = new GraphNodes(PREFIX)
  for (const name of ['f', 'g'])
    nodes.addFunction({ function: storedFunction(name), attachments: [] })
  // Depth first: f, f of it, f, f of it, g, g of both.
  const inputs = [[], [0], [], [2], [], [1, 3]]
  for (const [position, needs] of inputs.entries()) {
    nodes.addCall(position < 4 ? 0 : 1)
    for (const input of needs) nodes.addCallArgument(input)
  }
  nodes.finish()
  assert.deepEqual(
    inputs.map((_, position) => nodes.numberOf(position)),
    [0, 3, 1, 4, 2, 5],
  )
  for (const position of inputs.keys()) {
    assert.equal(nodes.positionOf(nodes.idOf(position)), position)
    assert.ok(isBlockId(nodes.idOf(position)))
  }
})

test('other ids are those of no call', () => {
  const nodes = withCalls(3)
  for (const id of ['', PREFIX, nodes.idOf(3), `${nodes.idOf(1)}x`, nodes.idOf(1).slice(1)]) {
    assert.equal(nodes.positionOf(taskId(id)), undefined)
  }
  assert.equal(nodes.positionOf(new GraphNodes('another---').idOf(1)), undefined)
})

test('values of any size keep their bytes', () => {
  const nodes = new GraphNodes(PREFIX)
  const sizes = [0, 1, 1_000, 1_024, 30, 5_000, 3 * 1024 ** 2, 2, 0, 600_000, 600_000]
  const values = sizes.map((size, index) => Buffer.alloc(size, index + 1))
  const numbers = values.map((bytes) => nodes.addValue(bytes))
  nodes.finish()
  for (const [index, number] of numbers.entries()) {
    assert.equal(nodes.sourceOf(number), undefined)
    assert.deepEqual(Buffer.from(nodes.bytesOf(number)), values[index])
  }
})

test('what is added is copied: the client may go on with its buffer', () => {
  const nodes = new GraphNodes(PREFIX)
  const bytes = Buffer.from('before')
  const number = nodes.addValue(bytes)
  bytes.fill('x')
  assert.equal(Buffer.from(nodes.bytesOf(number)).toString(), 'before')
})

test('arguments are calls, bytes and other sources in order', () => {
  const nodes = withCalls(2)
  const text = nodes.addValue(Buffer.from('text'))
  const task = nodes.addValue({ type: 'task', taskId: taskId('other') })
  nodes.addCall(0)
  nodes.addCallArgument(1)
  nodes.addValueArgument(text)
  nodes.addCallArgument(0)
  nodes.addValueArgument(task)
  nodes.addCall(0)
  nodes.finish()
  assert.deepEqual([nodes.argsStart(1), nodes.argsStart(2), nodes.argsStart(3)], [0, 0, 4])
  assert.equal(nodes.argsStart(4), 4)
  assert.deepEqual(
    [0, 1, 2, 3].map((at) => nodes.argAt(at)),
    [1, ~text, 0, ~task],
  )
  assert.deepEqual(nodes.sources[nodes.sourceOf(task) ?? -1], { type: 'task', taskId: 'other' })
})

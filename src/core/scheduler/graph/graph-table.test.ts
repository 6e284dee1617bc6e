import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { latin1ToBytes } from '../../../base/bytes.js'
import { objectId, taskId, type TaskId } from '../../../base/ids.js'
import type { Task } from '../../../wire/message.js'
import { large, node, small } from './graph.kit.js'
import { NodeIndex, NONE, ReadySet } from './index.js'
import { HOLDS_VALUE, IS_OBJECT, NodeTable, SUCCEEDED } from './nodes.js'
import { ByteStore, NodeArgumentStore, ValueStore } from './store.js'

const numbered = (number: number): string => {
  const lower = String.fromCharCode((number >> 8) & 255, number & 255)
  return `${lower}a prefix::${String.fromCharCode(number >>> 24, (number >> 16) & 255)}${lower}`
}

test('property: a node is found by its id, whatever the ids', () => {
  const id = fc.oneof(
    fc.nat(5000).map((number) => numbered(number)),
    fc.string({ maxLength: 20 }).map((text) => Buffer.from(text).toString('latin1')),
  )
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 300 }), fc.nat(40), (ids, inOrder) => {
      const index = new NodeIndex()
      const all = [...Array(inOrder).keys()].map((number) => numbered(number))
      for (const one of ids) if (!all.includes(one)) all.push(one)
      for (const one of all) {
        assert.equal(index.find(taskId(one)), NONE)
        index.add(taskId(one))
      }
      for (const [place, one] of all.entries()) {
        assert.equal(index.find(taskId(one)), place)
        assert.equal(index.findBytes(latin1ToBytes(one)), place)
        assert.equal(index.idOf(place), one)
      }
      for (const other of ['', 'nobody', numbered(6000)].filter((one) => !all.includes(one))) {
        assert.equal(index.find(taskId(other)), NONE)
        assert.equal(index.findBytes(latin1ToBytes(other)), NONE)
      }
    }),
  )
})

test('a hundred thousand ids of all kinds are found again', () => {
  const index = new NodeIndex()
  const ids: TaskId[] = []
  for (let at = 0; at < 100_000; at += 1) {
    // Neither in order nor of one length.
    const id = taskId(at % 3 === 0 ? `${at}` : numbered(at ^ 1))
    ids.push(id)
    index.add(id)
  }
  for (const [place, id] of ids.entries()) assert.equal(index.find(id), place)
})

test('nodes are found by the numbers in their ids, in any order', () => {
  const index = new NodeIndex()
  const numbers = [1_030, 3, 70_000, 0, 1_029, 16_777_215]
  for (const number of numbers) index.add(taskId(numbered(number)))
  const others = ['another id', numbered(2 ** 24), numbered(2 ** 32 - 1)]
  for (const other of others) index.add(taskId(other))
  for (const [node, number] of numbers.entries()) {
    assert.equal(index.numberOf(node), number)
    assert.equal(index.atNumber(number), node)
    assert.equal(index.idOf(node), numbered(number))
  }
  for (const [place, other] of others.entries()) {
    const node = numbers.length + place
    assert.equal(index.numberOf(node), NONE, 'it is in no run')
    assert.equal(index.find(taskId(other)), node)
    assert.equal(index.idOf(node), other)
  }
  for (const other of [1, 1_028, 2_000, 70_001, 2 ** 24]) assert.equal(index.atNumber(other), NONE)
  index.checkInvariants()
})

test('numbers that are far apart take little memory', () => {
  const index = new NodeIndex()
  for (let node = 0; node < 4_000; node += 1) index.add(taskId(numbered(node * 5_000)))
  const isNumbered = (node: number): boolean => index.numberOf(node) !== NONE
  const known = Array.from({ length: 4_000 }, (_, node) => node).filter(isNumbered)
  assert.ok(known.length > 1_000 && known.length < 1_200, String(known.length))
  index.checkInvariants()
})

test('property: the smallest number of a set is the smallest', () => {
  const move = fc.tuple(fc.boolean(), fc.oneof(fc.nat(70), fc.nat(200_000)))
  fc.assert(
    fc.property(fc.array(move, { maxLength: 200, size: 'max' }), (moves) => {
      const set = new ReadySet()
      const model = new Set<number>()
      for (const [isAdded, number] of moves) {
        assert.equal(set.has(number), model.has(number))
        if (isAdded && !model.has(number)) {
          set.add(number)
          model.add(number)
        } else if (!isAdded && model.has(number)) {
          set.remove(number)
          model.delete(number)
        }
        assert.equal(set.first, model.size === 0 ? NONE : Math.min(...model))
        assert.equal(set.size, model.size)
      }
      set.checkInvariants()
    }),
  )
})

test('property: byte strings keep their content until they are released', () => {
  const size = fc.oneof(fc.nat(40), fc.nat(5000), fc.constantFrom(32_764, 32_765, 100_000))
  const move = fc.tuple(fc.boolean(), size, fc.nat(100))
  fc.assert(
    fc.property(fc.array(move, { maxLength: 120, size: 'max' }), (moves) => {
      const store = new ByteStore()
      const live: [number, string][] = []
      for (const [isAdded, length, at] of moves) {
        if (isAdded) {
          const text = String.fromCharCode(65 + at).repeat(length)
          live.push([store.addLatin1(text), text])
        } else if (live.length > 0) {
          const [gone] = live.splice(at % live.length, 1)
          store.release(gone?.[0] ?? 0)
        }
        const handles = live.map(([handle]) => handle)
        assert.ok(!handles.includes(0) && new Set(handles).size === handles.length)
      }
      for (const [handle, text] of live) {
        assert.ok(store.latin1(handle) === text && store.equalsLatin1(handle, text))
        assert.ok(!store.equalsLatin1(handle, `${text}?`))
      }
    }),
    { numRuns: 50 },
  )
})

test('the memory of byte strings is freed once all strings of a chunk are released', () => {
  const store = new ByteStore()
  const handles = [...Array(10_000).keys()].map((at) => store.addLatin1(`${at}`.repeat(10)))
  const full = store.capacity
  for (const handle of handles) store.release(handle)
  assert.ok(full > 400_000 && store.capacity < 40_000)
})

test('names and arguments are returned unchanged, with the inputs in their places', () => {
  const store = new NodeArgumentStore()
  const input = (index: number) => ({ type: 'inline', data: latin1ToBytes(`#${index}`) }) as const
  const tasks = [
    node('a'),
    node('b', ['x', 'y']),
    node('c', ['=1', 'x', '@object', 'y', '=']),
    node('d', [], { name: 'größer' }),
    node('e', ['x'], { name: 'e' }),
  ]
  const handles = tasks.map((task) => store.add(task))
  assert.deepEqual(handles.slice(0, 2), [0, 0], 'nothing is stored for plain nodes')
  for (const [place, task] of tasks.entries()) {
    const inputs = task.functionArgs.filter(({ type }) => type === 'task').length
    const read = store.read(handles[place] ?? 0, inputs, input)
    let seen = 0
    const expected = task.functionArgs.map((argument) => {
      if (argument.type !== 'task') return { ...argument, data: Buffer.from(argument.data) }
      seen += 1
      return input(seen - 1)
    })
    assert.deepEqual(read, { name: task.name, functionArgs: expected })
  }
})

test('a result that is stored whole is returned whole; of others only the value', () => {
  const values = new ValueStore()
  const { bytes: _, ...whole } = small('a', 'value', { worker: 'W' as typeof whole.worker })
  assert.deepEqual(values.resultOf(values.add(whole, true), whole.taskId), {
    ...whole,
    metadata: Buffer.from(whole.metadata),
    inlineResults: [latin1ToBytes('value')],
  })
  const part = values.resultOf(values.add(whole, false), whole.taskId)
  assert.equal(part.worker, '')
  assert.equal(part.metadata.byteLength, 0)
  assert.deepEqual(part.inlineResults, [latin1ToBytes('value')])
  const handle = values.add(large('b', 'object'), false)
  assert.equal(values.objectIdOf(handle), 'object')
  assert.deepEqual(values.valueOf(handle), { isObject: true, data: latin1ToBytes('object') })
})

test('a node has any number of inputs, each repeated as often as it is used', () => {
  const nodes = new NodeTable()
  for (let at = 0; at < 10; at += 1) nodes.add(node(numbered(at)))
  const inputs = [1, 2, 1, 3, 4, 1, 5, 6, 7]
  for (const input of inputs) nodes.addEdge(0, input)
  nodes.addEdge(8, 1)
  assert.equal(nodes.inputCount(0), inputs.length)
  assert.deepEqual(
    inputs.map((_, index) => nodes.input(0, index)),
    inputs,
  )
  assert.deepEqual([nodes.neededBy(1), nodes.pendingOf(0)], [4, inputs.length])
  nodes.setState(1, SUCCEEDED)
  const dependents: number[] = []
  for (let next = nodes.takeDependent(1); next !== NONE; next = nodes.takeDependent(1)) {
    dependents.push(next)
  }
  assert.deepEqual(dependents, [8, 0, 0, 0])
  const taken = inputs.map(() => nodes.takeInput(0))
  assert.deepEqual(taken, inputs.toReversed())
  assert.equal(nodes.takeInput(0), NONE)
})

test('a small result is stored in its node, in place of the edges that it no longer needs', () => {
  const nodes = new NodeTable()
  for (let at = 0; at < 3; at += 1) nodes.add(node(numbered(at)))
  for (const input of [0, 0, 1]) nodes.addEdge(2, input)
  const [long, longest] = [latin1ToBytes('v'.repeat(32)), latin1ToBytes('v'.repeat(33))]
  assert.ok(!nodes.putValue(2, long, false), 'it still has edges')
  for (const input of [0, 1]) {
    nodes.setState(input, SUCCEEDED)
    while (nodes.takeDependent(input) !== NONE) nodes.decreasePending(2)
  }
  while (nodes.takeInput(2) !== NONE);
  assert.ok(!nodes.putValue(2, longest, false) && !nodes.putValue(2, Buffer.alloc(0), false))
  assert.ok(!nodes.has(2, HOLDS_VALUE))
  assert.ok(nodes.putValue(2, long, true))
  assert.ok(nodes.has(2, HOLDS_VALUE) && nodes.has(2, IS_OBJECT))
  assert.deepEqual([nodes.valueOf(2), nodes.outcomeOf(2)], [long, 32])
  assert.deepEqual([nodes.idOf(1), nodes.idOf(2)], [numbered(1), numbered(2)])
})

test('each node has its own function and options, however they are mixed', () => {
  const nodes = new NodeTable()
  const change = (at: number): Partial<Task> => ({
    funcObjectId: objectId(`f${at % 3}`),
    retries: at % 2,
    name: at % 5 === 0 ? 'named' : '',
  })
  const tasks = Array.from({ length: 60 }, (_, at) => node(numbered(at), [], change(at)))
  for (const task of tasks) nodes.add(task)
  for (const [at, task] of tasks.entries()) {
    const { functionId, options } = nodes.kindOf(at)
    assert.deepEqual([functionId, options.retries], [task.funcObjectId, task.retries])
    const input = (): never => assert.fail('it has no inputs')
    assert.equal(nodes.readArguments(at, input).name, task.name)
    nodes.releaseArguments(at)
    assert.equal(nodes.readArguments(at, input).name, '')
  }
})

test('a node with a million inputs, and one with a million dependents', () => {
  const nodes = new NodeTable()
  nodes.add(node('hub'))
  nodes.add(node('other'))
  for (let count = 0; count < 1_000_000; count += 1) nodes.addEdge(0, 1)
  let seen = 0
  while (nodes.takeDependent(1) !== NONE) seen += 1
  assert.equal(seen, 1_000_000)
})

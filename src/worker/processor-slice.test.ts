// Slices of runs in real processors: what is answered when one of the tasks never returns, exits or
// prints.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { latin1ToBytes } from '../base/bytes.js'
import { type TaskId, taskId } from '../base/ids.js'
import { defaultCodec } from '../serializer/task-codec.js'
import type { TaskArgument } from '../wire/message.js'
import { PackedReader } from '../serializer/value/packed/reader.js'
import { countOf, layoutOf, nthTaskId } from '../wire/run.js'
import { unpack } from '../wire/run.kit.js'
import { LiveProcessor } from './live-processor.kit.js'

const FIRST = taskId('\0\0middle-bytes\0\0')

function nth(n: number): TaskId {
  return nthTaskId(FIRST, n)
}

function numberIn(value: unknown): number {
  return (value as { readonly n: number }).n
}

const NUMBERS = Array.from({ length: 1_000 }, (_, n) => n)

test('a thousand tasks are answered in few messages', async (context) => {
  const processor = new LiveProcessor()
  context.after(() => processor.host.end())
  const double = processor.define((n: number) => ({ n, text: `number ${n}` }))
  processor.dispatchSlice(FIRST, double, NUMBERS)
  await processor.until('all answers', () => processor.packedValues.size === NUMBERS.length)
  const values = processor.packedValues
  for (const n of NUMBERS) assert.deepEqual(values.get(nth(n)), { n, text: `number ${n}` })
})

test('the tasks behind one that never returns are taken back', async (context) => {
  const processor = new LiveProcessor()
  context.after(() => processor.host.kill())
  const some = processor.define((n: number) => {
    while (n === 3);
    return n
  })
  processor.dispatchSlice(FIRST, some, NUMBERS.slice(0, 10))
  await processor.begun(3)
  processor.host.askStatus(0, 10)
  const count = processor.statuses.length
  await processor.until('the status', () => processor.statuses.length > count)
  assert.equal(processor.statuses.at(-1)?.taskNumber, 3)
  processor.host.retract(NUMBERS.slice(0, 10))
  await processor.until('an answer', () => processor.retractions.length === 1)
  assert.deepEqual(processor.retractions[0]?.retracted, [4, 5, 6, 7, 8, 9])
})

test('results before a task that runs for long are sent by the guardian, once', async (context) => {
  const processor = new LiveProcessor()
  context.after(() => processor.host.kill())
  const directory = mkdtempSync(join(tmpdir(), 'scaler-'))
  context.after(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'go on')
  const some = processor.define((n: number) => {
    while (n === 5 && !process.getBuiltinModule('fs').existsSync(file));
    return { n }
  })
  // In two parts of one run, whose results are one message.
  processor.dispatchSlice(FIRST, some, NUMBERS.slice(0, 3))
  processor.dispatchSlice(nth(3), some, NUMBERS.slice(3, 10))
  const arrived = (): readonly unknown[] => {
    const taken = processor.taken.flatMap(({ packed, count }) => {
      const bytes = Buffer.from(packed, 'base64')
      const reader = new PackedReader(bytes, layoutOf(bytes, count), defaultCodec)
      return Array.from({ length: count }, (_, at) => reader.value(at))
    })
    const sent = processor.results.flatMap(({ packed, ...result }) => {
      const count = countOf(result)
      const reader = new PackedReader(packed, layoutOf(packed, count), defaultCodec)
      return Array.from({ length: count }, (_, at) => reader.value(at))
    })
    return [...taken, ...sent].toSorted((one, other) => numberIn(one) - numberIn(other))
  }
  const expected = NUMBERS.slice(0, 10).map((n) => ({ n }))
  // Whatever the question is about: task 7 waits.
  await processor.until('the results before it', () => {
    processor.host.askStatus(7, 1)
    return arrived().length >= 5
  })
  assert.deepEqual(arrived(), expected.slice(0, 5))
  writeFileSync(file, '')
  await processor.until('the others', () => arrived().length >= expected.length)
  assert.deepEqual(arrived(), expected)
})

test('nodes of a graph get results, objects and values; their results are any values', async (context) => {
  const processor = new LiveProcessor()
  context.after(() => processor.host.end())
  const big = Array.from({ length: 20_000 }, (_, n) => n)
  const list = (...args: unknown[]): unknown => [...args, big.length]
  const frozen = (...args: unknown[]): unknown => args.map((arg) => Object.isFrozen(arg))
  const bytes = (value: unknown): Uint8Array => defaultCodec.serialize(value)
  const stored = (type: TaskArgument['type'], content: Uint8Array): TaskArgument => {
    return { type, data: latin1ToBytes(processor.store(content)) }
  }
  const object = stored('sharedObjectID', bytes({ stored: true }))
  const own = stored('objectID', bytes({ own: true }))
  const calls = [1, 2].map((n): readonly TaskArgument[] => [
    { type: 'sharedInline', data: bytes({ n }) },
    object,
    { type: 'inline', data: bytes('text') },
    own,
  ])
  processor.dispatchNodes(FIRST, processor.define(frozen), calls)
  await processor.until('two answers', () => processor.packedValues.size === 2)
  assert.deepEqual([...processor.packedValues.values()], Array(2).fill([true, true, true, false]))
  const { bytes: fn, attachments } = defaultCodec.serializeFunction(list)
  assert.equal(attachments.length, 1)
  const attached = attachments.map((attachment) => stored('objectID', attachment))
  processor.dispatchNodes(
    nth(10),
    processor.store(fn),
    calls.map((call) => [...call, ...attached]),
  )
  await processor.until('all answers', () => processor.packedValues.size === 4)
  const values = [nth(10), nth(11)].map((id) => processor.packedValues.get(id))
  const expected = [1, 2].map((n) => [{ n }, { stored: true }, 'text', { own: true }, big.length])
  assert.deepEqual(values, expected)
  for (const { packed, ...result } of processor.results) {
    for (const entry of unpack(packed, countOf(result))) assert.equal(entry[0], 15)
  }
})

test('a task that exits leaves the results before it, and its id', async () => {
  const processor = new LiveProcessor()
  const some = processor.define((n: number) => {
    if (n === 500) process.exit(7)
    return n
  })
  processor.dispatchSlice(FIRST, some, NUMBERS)
  const { death, lastRun } = await processor.exit
  assert.equal(death.exitCode, 7)
  assert.deepEqual(lastRun, { taskIds: [nth(500)] })
  assert.deepEqual([...processor.packedValues.values()], NUMBERS.slice(0, 500))
})

test('what a task prints is its own output, and comes before its result', async (context) => {
  const processor = new LiveProcessor()
  context.after(() => processor.host.end())
  const some = processor.define((n: number) => {
    if (n % 2 === 1) console.log(`I am ${n}`)
    return n
  })
  processor.dispatchSlice(FIRST, some, [0, 1, 2, 3])
  await processor.until('all answers', () => processor.packedValues.size === 4)
  const said = processor.outputs.map(({ taskId: id, content }) => [id, String(content)])
  assert.deepEqual(said, [
    [nth(1), 'I am 1\n'],
    [nth(3), 'I am 3\n'],
  ])
})

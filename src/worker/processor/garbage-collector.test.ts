import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { findCollector, GarbageCollector } from './meter.js'
import { LiveProcessor } from '../live-processor.kit.js'
import { Setup } from './runner.kit.js'

/** A weak reference to an object that is garbage as soon as this returns. */
function newGarbage(): WeakRef<object> {
  return new WeakRef(Array.from({ length: 1_000 }, (_, index) => ({ index })))
}

test('unreachable objects are collected', async () => {
  const garbage = newGarbage()
  // A weak reference holds on until the turn is over.
  await new Promise(setImmediate)
  const fields = new GarbageCollector().collect(0)
  assert.equal(garbage.deref(), undefined)
  assert.equal(fields?.['processorId'], process.pid)
  assert.ok(Number(fields['freedBytes']) >= 0 && Number(fields['tookMs']) >= 0)
})

test('a process below the threshold does not collect', async () => {
  const garbage = newGarbage()
  await new Promise(setImmediate)
  assert.equal(new GarbageCollector().collect(2 ** 40), undefined)
  assert.notEqual(garbage.deref(), undefined)
})

test('user code does not see the garbage collector', () => {
  assert.notEqual(findCollector(), undefined)
  assert.equal(typeof globalThis.gc, 'undefined')
  assert.equal(runInNewContext('typeof gc'), 'undefined')
})

/** How often a processor has collected garbage. */
function collections({ lines }: LiveProcessor): number {
  return lines.filter((line) => line.startsWith('debug collected garbage')).length
}

test('an idle processor collects garbage, and reports the outcome', async (context) => {
  const processor = new LiveProcessor()
  context.after(() => processor.host.end())
  await processor.ready
  processor.host.collectGarbage(0)
  await processor.until('a collection', () => collections(processor) === 1)
  assert.match(processor.lines.join(), /debug collected garbage processorId freedBytes tookMs/)
})

test('a processor below the threshold does not collect', async (context) => {
  const processor = new LiveProcessor()
  context.after(() => processor.host.end())
  const one = processor.define(() => 1)
  processor.host.collectGarbage(2 ** 40)
  await processor.ready
  // An answer arrives after everything that was requested before.
  processor.dispatch('a', one)
  await processor.until('an answer', () => processor.results.length === 1)
  assert.equal(collections(processor), 0)
})

test('a runner with a task is not idle, whatever state the task is in', async () => {
  const setup = new Setup()
  const { runner } = setup
  const seen: boolean[] = []
  let end = (): void => {}
  setup.define('look', () => void seen.push(runner.isIdle))
  setup.define('wait', () => new Promise<void>((resolve) => (end = resolve)))
  assert.equal(runner.isIdle, true)
  setup.add('a', 'look')
  assert.equal(runner.isIdle, false, 'it waits for its turn')
  runner.run()
  assert.deepEqual(seen, [false], 'it ran')
  assert.equal(runner.isIdle, true)
  setup.add('b', 'wait')
  runner.run()
  assert.equal(runner.isIdle, false, 'it awaits a promise')
  end()
  await new Promise(setImmediate)
  assert.deepEqual(setup.outbox.story, ['a success', 'b success'])
  assert.equal(runner.isIdle, true)
})

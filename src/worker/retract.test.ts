import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { taskId } from '../base/ids.js'
import { LiveProcessor } from './live-processor.kit.js'
import { Setup } from './processor/runner.kit.js'

test('a task that was taken back is skipped without an answer', async () => {
  const setup = new Setup()
  setup.define('one', () => 1)
  for (const id of ['a', 'b', 'c']) setup.add(id, 'one')
  assert.equal(setup.taker.retract(1), true)
  setup.runner.run()
  assert.equal(setup.taker.retract(2), false)
  await nextTurn()
  assert.deepEqual(setup.lines, ['a success 1', 'c success 1'])
  assert.equal(setup.runner.exitNote, 'nothing')
})

test('a cancelled task is answered once or taken back, not both', async () => {
  const setup = new Setup()
  setup.define('one', () => 1)
  for (const id of ['a', 'b']) setup.add(id, 'one')
  assert.equal(setup.taker.retract(0), true)
  for (const id of ['a', 'b']) setup.runner.stop(taskId(id), 'cancelled')
  assert.equal(setup.taker.retract(1), false)
  setup.runner.run()
  await nextTurn()
  assert.deepEqual(setup.lines, ['b canceled '])
})

test('tasks behind a busy loop are taken back, and the loop is not', async (context) => {
  const processor = new LiveProcessor()
  context.after(() => processor.host.kill())
  const loop = processor.define(() => {
    for (;;);
  })
  const one = processor.define(() => 1)
  processor.dispatch('one', one)
  await processor.until('an answer', () => processor.results.length === 1)
  processor.dispatch('loop', loop)
  for (const id of ['a', 'b', 'c']) processor.dispatch(id, one)
  await processor.begun(1)
  // The processor does not read any more: these stay in the pipe.
  for (const id of ['d', 'e']) processor.dispatch(id, one)
  processor.host.retract([0, 1, 2, 4])
  processor.host.retract([])
  processor.host.retract([5, 2, 3])
  await processor.until('three answers', () => processor.retractions.length === 3)
  assert.deepEqual(processor.retractions, [
    { asked: [0, 1, 2, 4], retracted: [2, 4] },
    { asked: [], retracted: [] },
    { asked: [5, 2, 3], retracted: [5, 3] },
  ])
  assert.deepEqual(processor.story, ['one success 1'])
})

test('each of ten thousand tiny tasks is answered or taken back, never both', async (context) => {
  const processor = new LiveProcessor()
  context.after(() => processor.host.end())
  const tiny = processor.define((id: number) => id)
  const count = 10_000
  for (let sent = 0; sent < count;) {
    const burst = Math.min(count - sent, 1 + Math.floor(Math.random() * 300))
    for (let number = sent; number < sent + burst; number += 1) {
      processor.dispatch(String(number), tiny, [number], { priority: number % 3 })
    }
    const from = Math.max(sent - 200, 0)
    sent += burst
    const asked = []
    for (let number = from; number < sent; number += 1) {
      if (Math.random() < 0.5) asked.push(number)
    }
    processor.host.retract(asked)
    await nextTurn()
  }
  const retractedCount = (): number => {
    return processor.retractions.reduce((sum, { retracted }) => sum + retracted.length, 0)
  }
  await processor.until('all tasks to finish', () => {
    return processor.results.length + retractedCount() >= count
  })
  const last = processor.define(() => 'last')
  processor.dispatch('last', last)
  await processor.until('the last', () => processor.story.at(-1) === 'last success last')
  const ends = processor.results.map(({ taskId: id }) => id as string)
  ends.push(...processor.retractions.flatMap(({ retracted }) => retracted.map(String)))
  assert.equal(ends.length, count + 1)
  assert.equal(new Set(ends).size, count + 1)
  assert.ok(retractedCount() > 0 && processor.results.length > 1)
})

// Schedulers that end, and others that come in their place: whatever was unfinished goes on there.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { taskId } from '../../base/ids.js'
import { ALL_FEATURES, GraphSetting, sketchGraph, type SketchCall } from './graph-scheduler.kit.js'
import { Harness, inlineResult, storedResult, summary } from './harness.test.kit.js'

const LARGE = Buffer.alloc(101, 'L')
const CALLS: Readonly<Record<string, SketchCall>> = {
  a: ['f', { bytes: '1' }],
  b: ['g', 'a', 'a'],
  c: ['g', 'a'],
  d: ['h', 'b', 'c'],
}

/** What is sent once a scheduler has answered, without the object messages. */
function tasksOf(harness: Harness): string[] {
  return summary(harness.flush()).filter((text) => text.startsWith('task'))
}

describe('two restarts in a row', () => {
  test('each new scheduler gets all that is unfinished, and every future ends once', () => {
    const harness = new Harness()
    harness.isEager = false
    harness.open('S1')
    for (const owner of ['running', 'kept', 'fetched']) harness.submit(owner, [LARGE])
    harness.flush()
    harness.receive(storedResult('kept', 'r1'))
    harness.receive(storedResult('fetched', 'r2'))
    harness.want('fetched')
    harness.submit('waiting')
    for (const scheduler of ['S2', 'S3']) {
      harness.disconnect()
      harness.open(scheduler)
      const all = ['task running', 'task kept', 'task fetched', 'task waiting']
      assert.deepEqual(tasksOf(harness).toSorted(), all.toSorted(), scheduler)
    }
    harness.isEager = true
    for (const owner of ['running', 'kept', 'fetched', 'waiting']) {
      harness.receive(inlineResult(owner, owner))
    }
    const ends = Object.fromEntries(harness.ends)
    assert.equal(harness.ends.length, 4)
    assert.deepEqual(ends, {
      running: 'value running',
      kept: 'value kept',
      fetched: 'value fetched',
      waiting: 'value waiting',
    })
  })

  test('open graphs are sent from their beginning', () => {
    const setting = new GraphSetting()
    const calls: Record<string, SketchCall> = { n0: ['f', { bytes: '0' }] }
    for (let i = 1; i < 12_000; i += 1) calls[`n${i}`] = ['f', `n${i - 1}`]
    setting.submit(sketchGraph('G', calls, ['n0', 'n11999']))
    for (const scheduler of ['S2', 'S3']) {
      setting.flush()
      assert.equal(setting.scheduler.parts.at(-1)?.isOpen, true, 'it is half way')
      setting.disconnect()
      setting.scheduler.restart()
      setting.scheduler.parts = []
      setting.connect(scheduler)
    }
    while (setting.scheduler.parts.at(-1)?.isOpen !== false) setting.flush()
    const nodes = setting.scheduler.parts.flatMap(({ graph }) => graph)
    assert.equal(new Set(nodes.map((task) => task.taskId)).size, 12_000)
    assert.equal(nodes.length, 12_000)
  })
})

describe('a scheduler that goes', () => {
  test('before it has answered a greeting is nobody: the next one gets everything', () => {
    const harness = new Harness()
    harness.submit('a')
    for (let i = 0; i < 3; i += 1) {
      harness.handle({ type: 'connected' })
      harness.disconnect()
    }
    harness.open('S1')
    assert.deepEqual(tasksOf(harness), ['task a'])
    harness.receive(inlineResult('a'))
    assert.deepEqual(harness.ends, [['a', 'value ok']])
  })

  test('while it is asked what it still has, is followed by one that has nothing', () => {
    const harness = new Harness()
    harness.open('S1')
    harness.submit('a')
    harness.flush()
    harness.isEager = false
    harness.receive(storedResult('a', 'r1'))
    harness.disconnect()
    harness.remembers = 'says nothing'
    assert.deepEqual(summary(harness.open('S1')), ['heartbeat', 'get serializer'])
    harness.disconnect()
    harness.open('S2')
    assert.deepEqual(tasksOf(harness), ['task a'])
  })

  test('and comes back in the middle of being asked gets everything, too', () => {
    const harness = new Harness()
    harness.open('S1')
    harness.submit('a')
    harness.flush()
    harness.isEager = false
    harness.receive(storedResult('a', 'r1'))
    harness.disconnect()
    harness.remembers = 'says nothing'
    harness.open('S1')
    harness.disconnect()
    harness.remembers = false
    harness.open('S1')
    assert.deepEqual(tasksOf(harness), ['task a'])
  })

  test('takes along what was cancelled meanwhile', () => {
    const setting = new GraphSetting()
    const { harness } = setting
    setting.submit(sketchGraph('G', CALLS, ['b', 'd']))
    harness.submit('a')
    setting.flush()
    setting.disconnect()
    harness.cancel('a')
    setting.cancel('d')
    setting.scheduler.restart()
    setting.scheduler.parts = []
    setting.connect('S2')
    setting.settle()
    assert.deepEqual(
      harness.ends.map(([owner, end]) => `${owner} ${end}`),
      ['a cancelled', 'd cancelled', 'b value g(f(1) f(1))'],
    )
    assert.equal(
      setting.scheduler.parts.flatMap(({ graph }) => graph).length,
      2,
      'only what b needs',
    )
  })

  test('for good ends all futures in time, and another one later is welcome', () => {
    const setting = new GraphSetting()
    const { harness } = setting
    setting.submit(sketchGraph('G', CALLS, ['d']))
    harness.submit('a')
    setting.flush()
    setting.disconnect()
    harness.advance(59_999)
    assert.deepEqual(harness.ends, [])
    harness.advance(1)
    assert.deepEqual(Object.fromEntries(harness.ends), { a: 'disconnected', d: 'disconnected' })
    harness.advance(600_000)
    setting.scheduler.restart()
    setting.scheduler.parts = []
    setting.connect('S2', ALL_FEATURES)
    setting.submit(sketchGraph('H', { e: ['f', { bytes: '1' }] }, ['e']))
    setting.settle()
    assert.equal(harness.endOf('e'), 'value f(1)')
    assert.equal(setting.scheduler.parts.length, 1, 'and nothing of what was given up')
    assert.ok(setting.isIdle)
  })
})

test('a graph without work finishes immediately, and so do the next ten thousand', () => {
  const setting = new GraphSetting()
  for (let i = 0; i < 10_000; i += 1) {
    setting.submit(sketchGraph(`G${i}`, { [`n${i}`]: ['f', { bytes: '1' }] }, [`n${i}`]))
    setting.settle()
    assert.equal(setting.harness.ends.length, i + 1)
  }
  assert.ok(setting.isIdle)
})

/** What needs a call, directly or not. */
const USERS: Readonly<Record<string, readonly string[]>> = {
  a: ['b', 'c', 'd'],
  b: ['d'],
  c: ['d'],
}

test('cancelling a graph at any node, at any moment, settles every future and leaves nothing', () => {
  const names = Object.keys(CALLS)
  for (let runs = 0; runs <= names.length; runs += 1) {
    for (const cancelled of names) {
      const setting = new GraphSetting()
      setting.submit(sketchGraph('G', CALLS, names))
      if (runs > 0) setting.flush()
      for (let i = 0; i < runs; i += 1) setting.scheduler.runOne()
      setting.cancel(cancelled)
      setting.settle()
      const where = `${cancelled} after ${runs} runs`
      assert.deepEqual(setting.harness.ends.map(([owner]) => owner).toSorted(), names, where)
      const gone = [cancelled, ...(USERS[cancelled] ?? [])]
      for (const [owner, end] of setting.harness.ends) {
        const isRight = end.startsWith('value') || (gone.includes(owner) && end === 'cancelled')
        assert.ok(isRight, `${owner} is ${end}, ${where}`)
      }
      if (runs === 0) {
        const ends = gone.map((owner) => setting.harness.endOf(owner))
        assert.ok(
          ends.every((end) => end === 'cancelled'),
          where,
        )
      }
      assert.ok(setting.isIdle, where)
    }
  }
})

test('a task cancelled right after its submission finishes once, even if cancelled twice', () => {
  const harness = new Harness()
  harness.open()
  for (const owner of ['a', 'b']) {
    harness.submit(owner)
    harness.cancel(owner)
    harness.cancel(owner)
  }
  assert.deepEqual(summary(harness.flush()), [])
  harness.submit('c')
  harness.flush()
  harness.receive(inlineResult('c'))
  assert.deepEqual(harness.cancel('c'), [])
  harness.handle({ type: 'graphCancelRequested', graphId: taskId('nothing') })
  assert.deepEqual(harness.ends, [
    ['a', 'cancelled'],
    ['b', 'cancelled'],
    ['c', 'value ok'],
  ])
})

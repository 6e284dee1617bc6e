import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { objectId, taskId } from '../../../base/ids.js'
import type { Message } from '../../../wire/message.js'
import {
  ALL_FEATURES,
  GraphSetting,
  sketchGraph,
  storedFunction,
  type SketchCall,
} from '../graph-scheduler.kit.js'
import { inlineResult, resultOf, sent, storedResult, taskResult } from '../harness.test.kit.js'

const DIAMOND: Readonly<Record<string, SketchCall>> = {
  a: ['f', { bytes: '1' }],
  b: ['g', 'a', 'a'],
  c: ['g', 'a'],
  d: ['h', 'b', 'c'],
}
const DIAMOND_VALUE = 'value h(g(f(1) f(1)) g(f(1)))'

describe('a graph', () => {
  test('travels in one part, after the functions, and its targets end', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', DIAMOND, ['b', 'd'])
    setting.submit(graph)
    setting.flush()
    const [part, ...others] = setting.scheduler.parts
    assert.equal(others.length, 0)
    assert.deepEqual(part?.targets, [graph.idOf('b'), graph.idOf('d')])
    assert.deepEqual([part?.graph.length, part?.isOpen], [4, false])
    assert.equal(setting.harness.machine.whereIs(graph.idOf('d')), 'queued')
    setting.settle()
    assert.equal(setting.harness.endOf('b'), 'value g(f(1) f(1))')
    assert.equal(setting.harness.endOf('d'), DIAMOND_VALUE)
    assert.equal(setting.harness.ends.length, 2)
    assert.ok(setting.isIdle)
  })

  test('that is submitted before there is a scheduler is sent when there is one', () => {
    const setting = new GraphSetting()
    setting.disconnect()
    setting.submit(sketchGraph('G', DIAMOND, ['d']))
    setting.flush()
    assert.equal(setting.scheduler.parts.length, 0)
    setting.connect()
    setting.settle()
    assert.equal(setting.harness.endOf('d'), DIAMOND_VALUE)
  })

  test('of many calls travels in parts, as there is room', () => {
    const setting = new GraphSetting()
    const calls: Record<string, SketchCall> = { n0: ['f', { bytes: '0' }] }
    for (let i = 1; i < 12_000; i += 1) calls[`n${i}`] = ['f', `n${i - 1}`]
    setting.submit(sketchGraph('G', calls, ['n11999']))
    setting.flush()
    const first = setting.scheduler.parts.length
    assert.ok(first > 5 && first < 30, `${first} parts at once`)
    const last = sketchGraph('G', calls, []).idOf('n11999')
    assert.equal(setting.harness.machine.whereIs(last), 'pending')
    while (setting.scheduler.parts.at(-1)?.isOpen === true) setting.flush()
    const { parts } = setting.scheduler
    assert.equal(
      parts.reduce((sum, { graph }) => sum + graph.length, 0),
      12_000,
    )
    assert.ok(parts.every(({ graph }) => graph.length <= 200))
    assert.equal(parts.filter(({ isOpen }) => !isOpen).length, 1)
  })

  test('does not hold up another one', () => {
    const setting = new GraphSetting()
    const calls: Record<string, SketchCall> = {}
    for (let i = 0; i < 20_000; i += 1) calls[`n${i}`] = ['f']
    setting.submit(sketchGraph('large', calls, ['n0', 'n19999']))
    setting.submit(sketchGraph('small', DIAMOND, ['d']))
    setting.flush()
    const open = setting.scheduler.parts.filter(({ isOpen }) => isOpen)
    assert.deepEqual([...new Set(open.map(({ taskId }) => taskId))], ['large'])
    assert.ok(setting.scheduler.graphs.get(taskId('small'))?.isOpen === false)
  })

  test('leaves room for tasks that wait', () => {
    const setting = new GraphSetting()
    const calls: Record<string, SketchCall> = {}
    for (let i = 0; i < 20_000; i += 1) calls[`n${i}`] = ['f']
    setting.submit(sketchGraph('G', calls, Object.keys(calls)))
    setting.harness.submit('task')
    const kinds = sent(setting.harness.flush()).map(({ kind }) => kind)
    assert.ok(kinds.includes('task'))
    assert.ok(kinds.includes('graphTask'))
  })

  test('has its large values stored before the part that needs them', () => {
    const setting = new GraphSetting()
    const calls: Record<string, SketchCall> = {
      a: ['f', { large: 'big' }],
      b: ['f', 'a', { large: 'big' }],
    }
    setting.submit(sketchGraph('G', calls, ['b']))
    setting.flush()
    const args = setting.scheduler.parts.flatMap(({ graph }) => graph.map((t) => t.functionArgs))
    assert.deepEqual(
      args.map((list) => list.map(({ type }) => type)),
      [['objectID'], ['task', 'objectID']],
    )
    setting.settle()
    assert.equal(setting.harness.endOf('b'), 'value f(f(big) big)')
    assert.ok(setting.isIdle, 'its values are let go')
  })

  test('uses objects that are pinned, and fails only what needs one that is not', () => {
    const setting = new GraphSetting()
    const value = storedFunction('pinned')
    setting.deliver(setting.harness.handle({ type: 'objectPinned', value }))
    const calls: Record<string, SketchCall> = {
      a: ['f', { type: 'object', id: value.id }],
      b: ['f', { type: 'object', id: objectId('gone') }],
      c: ['f', 'a', 'b'],
      d: ['f', 'a'],
    }
    setting.submit(sketchGraph('G', calls, ['a', 'c', 'd']))
    assert.deepEqual(setting.harness.ends, [['c', 'missingObject']])
    setting.settle()
    assert.deepEqual(setting.scheduler.runs, ['f', 'f'], 'what only c needs does not run')
    assert.equal(setting.harness.endOf('d'), 'value f(f(pinned))')
  })

  test('has its options on every call', () => {
    const setting = new GraphSetting()
    const options = { ...sketchGraph('G', {}, []).options, name: 'n', timeoutMs: 5, retries: 2 }
    setting.submit({ ...sketchGraph('G', DIAMOND, ['d']), options })
    setting.flush()
    for (const task of setting.scheduler.parts[0]?.graph ?? []) {
      assert.deepEqual([task.name, task.timeoutMs, task.retries], ['n', 5, 2])
    }
  })

  test('tells which other node has failed', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', { a: ['fail'], b: ['f', 'a'], c: ['f'] }, ['a', 'b', 'c'])
    setting.submit(graph)
    const failed = new Map<string, unknown>()
    setting.flush()
    setting.scheduler.runAll()
    while (setting.answer()) setting.flush()
    for (const action of setting.harness.actions) {
      if (action.type === 'finishTask') failed.set(action.owner, action.failedTaskId)
    }
    assert.equal(setting.harness.endOf('c'), 'value f()')
    assert.equal(setting.harness.endOf('a'), 'error failed')
    assert.equal(setting.harness.endOf('b'), 'error failed')
    assert.equal(failed.get('a'), undefined)
    assert.equal(failed.get('b'), graph.idOf('a'))
  })

  test('that ends without the results of targets ends those', () => {
    const setting = new GraphSetting()
    setting.submit(sketchGraph('G', DIAMOND, ['b', 'd']))
    setting.flush()
    setting.receive(taskResult('G', { status: 'notFound' }))
    assert.deepEqual(setting.harness.ends, [
      ['b', 'notFound'],
      ['d', 'notFound'],
    ])
    assert.ok(setting.isIdle)
  })
})

describe('a cancelled graph', () => {
  test('ends at once, and the scheduler is told', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', DIAMOND, ['b', 'd'])
    setting.submit(graph)
    setting.flush()
    setting.cancelGraph(graph)
    assert.deepEqual(setting.harness.ends, [
      ['b', 'cancelled'],
      ['d', 'cancelled'],
    ])
    assert.equal(setting.scheduler.graphs.size, 0)
    assert.ok(setting.isIdle)
    setting.settle()
    assert.equal(setting.harness.ends.length, 2)
  })

  test('that was not sent leaves no trace', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', DIAMOND, ['d'])
    setting.submit(graph)
    setting.cancelGraph(graph)
    setting.flush()
    assert.equal(setting.scheduler.parts.length, 0)
    assert.deepEqual(setting.harness.ends, [['d', 'cancelled']])
    setting.cancelGraph(graph)
    assert.equal(setting.harness.ends.length, 1)
  })

  test('target by target: the last one takes the graph along', () => {
    const setting = new GraphSetting()
    setting.submit(sketchGraph('G', DIAMOND, ['b', 'c']))
    setting.flush()
    setting.cancel('b')
    assert.equal(setting.scheduler.graphs.size, 1)
    setting.cancel('c')
    assert.equal(setting.scheduler.graphs.size, 0)
    assert.ok(setting.isIdle)
  })

  test('in part: with a target goes what depends on it, directly or not, and nothing else', () => {
    for (const isFlushed of [true, false]) {
      const setting = new GraphSetting()
      const calls = { ...DIAMOND, e: ['e', 'd'], x: ['x', 'c'], y: ['y', 'x'] } as const
      setting.submit(sketchGraph('G', calls, ['b', 'e', 'x', 'y']))
      if (isFlushed) setting.flush()
      setting.cancel('b')
      assert.deepEqual(setting.harness.ends, [
        ['b', 'cancelled'],
        ['e', 'cancelled'],
      ])
      setting.cancel('x')
      assert.deepEqual(setting.harness.ends.slice(2), [
        ['x', 'cancelled'],
        ['y', 'cancelled'],
      ])
      setting.settle()
      assert.equal(setting.harness.ends.length, 4)
      assert.ok(setting.isIdle)
    }
  })

  test('in part: tasks outside of the graph go with the target that they need', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', DIAMOND, ['b', 'c', 'd'])
    setting.submit(graph)
    const source = { type: 'task', taskId: graph.idOf('d') } as const
    setting.submit(sketchGraph('H', { f: ['f', source], h: ['h', 'f'] }, ['h']))
    setting.flush()
    setting.cancel('b')
    assert.deepEqual(
      setting.harness.ends.map(([owner]) => owner),
      ['b', 'd', 'h'],
    )
    setting.settle()
    assert.equal(setting.harness.endOf('c')?.startsWith('value '), true)
    assert.ok(setting.isIdle)
  })

  test('in part: what only the cancelled target needs is not sent', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', { ...DIAMOND, x: ['x'], y: ['y', 'x', 'a'] }, ['d', 'y'])
    setting.submit(graph)
    setting.cancel('d')
    setting.settle()
    assert.deepEqual(setting.scheduler.runs.toSorted(), ['f', 'x', 'y'])
    assert.equal(setting.harness.endOf('y'), 'value y(x() f(1))')
  })

  test('keeps results that are there', () => {
    const setting = new GraphSetting()
    setting.isEager = false
    const graph = sketchGraph('G', DIAMOND, ['a', 'd'])
    setting.submit(graph)
    setting.flush()
    setting.scheduler.objects.set('r', 'kept')
    setting.receive(storedResult(graph.idOf('a'), 'r'))
    setting.cancelGraph(graph)
    assert.deepEqual(setting.harness.ends, [['d', 'cancelled']])
    setting.want('a')
    setting.settle()
    assert.equal(setting.harness.endOf('a'), 'value kept')
    assert.ok(setting.isIdle)
  })

  test('is cancelled as a whole when the client is cleared', () => {
    const setting = new GraphSetting()
    setting.submit(sketchGraph('G', DIAMOND, ['b', 'd']))
    setting.flush()
    const messages = sent(setting.harness.handle({ type: 'clearRequested' }))
    const kinds = messages.map(({ kind }) => kind)
    assert.deepEqual(
      kinds.filter((kind) => kind !== 'objectInstruction'),
      ['graphTaskCancel'],
    )
    assert.deepEqual(
      setting.harness.ends.map(([, end]) => end),
      ['cleared', 'cleared'],
    )
  })
})

describe('after a lost connection', () => {
  test('the graph is sent again to the same scheduler, which goes on', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', DIAMOND, ['b', 'd'])
    setting.submit(graph)
    setting.flush()
    setting.scheduler.runOne()
    setting.disconnect()
    setting.scheduler.runOne()
    setting.answer()
    setting.connect()
    setting.settle()
    assert.deepEqual(setting.scheduler.runs, ['f', 'g', 'g', 'h'], 'each runs once')
    assert.equal(setting.harness.endOf('d'), DIAMOND_VALUE)
    assert.equal(setting.harness.endOf('b'), 'value g(f(1) f(1))')
    assert.ok(setting.isIdle)
  })

  test('the same scheduler is told of a graph that it only keeps for results sent before', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', DIAMOND, ['b'])
    setting.submit(graph)
    setting.flush()
    setting.receive(inlineResult(graph.idOf('b')))
    setting.disconnect()
    const cancels: string[] = []
    const { scheduler } = setting
    const handle = scheduler.handle.bind(scheduler)
    scheduler.handle = (message) => {
      if (message.kind === 'graphTaskCancel') cancels.push(message.taskId)
      handle(message)
    }
    setting.connect()
    setting.settle()
    assert.deepEqual(cancels, ['G'])
    assert.ok(setting.isIdle)
  })

  test('a new scheduler gets what is still needed', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', { ...DIAMOND, x: ['x'] }, ['x', 'd'])
    setting.submit(graph)
    setting.flush()
    setting.receive(inlineResult(graph.idOf('x')))
    setting.disconnect()
    setting.scheduler.restart()
    setting.scheduler.parts = []
    setting.connect('S2')
    setting.settle()
    const names = setting.scheduler.parts.flatMap((part) => part.graph.map((task) => task.taskId))
    assert.deepEqual(names, ['a', 'b', 'c', 'd'].map(graph.idOf))
    assert.deepEqual(setting.harness.ends, [
      ['x', 'value ok'],
      ['d', DIAMOND_VALUE],
    ])
    assert.ok(setting.isIdle)
  })

  test('a result that was kept in a lost scheduler is computed again', () => {
    const setting = new GraphSetting()
    setting.isEager = false
    const graph = sketchGraph('G', DIAMOND, ['b', 'd'])
    setting.submit(graph)
    setting.flush()
    setting.receive(storedResult(graph.idOf('b'), 'r1'))
    setting.receive(storedResult(graph.idOf('d'), 'r2'))
    setting.receive(taskResult('G', { status: 'success' }))
    setting.disconnect()
    setting.scheduler.restart()
    setting.connect('S2')
    setting.isEager = true
    setting.settle()
    assert.equal(setting.harness.endOf('d'), DIAMOND_VALUE)
    assert.equal(setting.harness.endOf('b'), 'value g(f(1) f(1))')
    assert.ok(setting.isIdle)
  })

  test('what needs a lost result gets it, also if nobody else wants it any more', () => {
    const setting = new GraphSetting()
    setting.isEager = false
    const graph = sketchGraph('G', DIAMOND, ['b', 'd'])
    setting.submit(graph)
    setting.flush()
    setting.receive(storedResult(graph.idOf('b'), 'r1'))
    setting.disconnect()
    setting.restart()
    setting.connect('S2')
    setting.flush()
    // Until now, b has been sent again, for d and for whoever has its future.
    const actions = setting.harness.handle({ type: 'resultDropped', taskId: graph.idOf('b') })
    // A cancel would reach d, too.
    assert.deepEqual(sent(actions), [])
    setting.isEager = true
    setting.settle()
    assert.equal(setting.harness.endOf('d'), DIAMOND_VALUE)
    assert.ok(setting.isIdle)
  })

  test('one that had a result at a cancel goes with the next one if it has to run again', () => {
    const setting = new GraphSetting()
    setting.isEager = false
    const calls = { a: ['f'], b: ['f'], c: ['g', 'a', 'b'], d: ['f'] } as const
    setting.submit(sketchGraph('G', calls, ['a', 'b', 'c', 'd']))
    setting.flush()
    // The results of a and b are lost on their way; that of c is kept in the cluster.
    setting.scheduler.runOne(0)
    setting.scheduler.runOne(0)
    setting.disconnect()
    setting.answer()
    setting.connect()
    setting.scheduler.runOne(0)
    setting.answer()
    assert.ok(setting.hasResult('c'))
    setting.cancel('a')
    assert.equal(setting.harness.endOf('c'), undefined)
    setting.disconnect()
    setting.restart()
    setting.connect('S2')
    setting.cancel('b')
    assert.equal(setting.harness.endOf('c'), 'cancelled')
    setting.isEager = true
    setting.settle()
    assert.ok(setting.harness.endOf('d')?.startsWith('value '))
    assert.ok(setting.isIdle)
  })

  test('a target that was cancelled meanwhile is not asked for again', () => {
    const setting = new GraphSetting()
    const graph = sketchGraph('G', { ...DIAMOND, x: ['x'] }, ['x', 'd'])
    setting.submit(graph)
    setting.flush()
    setting.disconnect()
    setting.cancel('d')
    setting.scheduler.restart()
    setting.connect('S2')
    setting.settle()
    assert.deepEqual(setting.scheduler.runs, ['x'])
    assert.ok(setting.isIdle)
  })

  for (const isOffline of [false, true]) {
    const when = isOffline ? 'while there was no connection' : 'shortly before'
    test(`a result that is lost is computed again, though its graph was cancelled ${when}`, () => {
      const setting = new GraphSetting()
      setting.isEager = false
      const graph = sketchGraph('G', DIAMOND, ['a', 'd'])
      setting.submit(graph)
      setting.flush()
      const id = graph.idOf('a')
      setting.receive(storedResult(id, 'r'))
      if (isOffline) setting.disconnect()
      setting.cancelGraph(graph)
      if (isOffline) setting.connect()
      else setting.flush()
      const lost = { objectIds: [objectId('r')], graphTaskIds: [graph.graphId] }
      setting.receive({ kind: 'objectLoss', ...lost, nodeTaskIds: [], results: [] })
      setting.flush()
      // The answer to the cancel, which the client sent before the graph.
      assert.ok(setting.answer())
      assert.equal(setting.harness.endOf('a'), undefined)
      setting.isEager = true
      setting.settle()
      assert.equal(setting.harness.endOf('a'), 'value f(1)')
      assert.equal(setting.harness.endOf('d'), 'cancelled')
      assert.ok(setting.isIdle)
    })
  }

  test('a new scheduler is not told of a cancel that was meant for the last one', () => {
    const setting = new GraphSetting()
    setting.isEager = false
    const graph = sketchGraph('G', DIAMOND, ['b', 'd'])
    setting.submit(graph)
    setting.flush()
    setting.receive(storedResult(graph.idOf('d'), 'kept'))
    setting.harness.submit('needy', [{ type: 'task', taskId: graph.idOf('d') }], 'n')
    setting.disconnect()
    setting.cancelGraph(graph)
    setting.scheduler.restart()
    setting.connect('S2')
    setting.isEager = true
    setting.settle()
    assert.equal(setting.harness.endOf('b'), 'cancelled')
    assert.match(setting.harness.endOf('needy') ?? '', /^value n/)
  })
})

describe('a graph that is refused while parts of it are on their way', () => {
  /** More calls than are sent at a time. */
  function largeGraph(): ReturnType<typeof sketchGraph> {
    const calls: Record<string, SketchCall> = { n0: ['f'] }
    for (let i = 1; i < 12_000; i += 1) calls[`n${i}`] = ['f', `n${i - 1}`]
    return sketchGraph('G', calls, ['n0', 'n11999'])
  }

  /** Sends what there is to send, into the void. Returns what it was. */
  function sendAll(setting: GraphSetting): Message[] {
    const all: Message[] = []
    for (;;) {
      const messages = sent(setting.harness.flush())
      if (messages.length === 0) return all
      all.push(...messages)
    }
  }

  test('ends with its last target, and is not kept', () => {
    const setting = new GraphSetting()
    const graph = largeGraph()
    setting.harness.handle({ type: 'graphSubmitted', graph })
    sent(setting.harness.flush())
    setting.receive(taskResult(graph.idOf('n0'), { status: 'noWorker' }))
    setting.receive(taskResult('G', { status: 'noWorker' }))
    const rest = sendAll(setting)
    assert.ok(rest.length > 10 && rest.every(({ kind }) => kind === 'graphTask'))
    const refusal = taskResult(graph.idOf('n11999'), { status: 'noWorker' })
    const last = sent(setting.harness.receive(refusal)).map(({ kind }) => kind)
    assert.deepEqual(last, ['graphTaskCancel'], 'should the scheduler wait for more')
    assert.deepEqual(setting.harness.ends, [
      ['n0', 'noWorker'],
      ['n11999', 'noWorker'],
    ])
    assert.ok(setting.isIdle, 'it holds nothing any more')
  })

  test('and had ended before the link was lost runs again, and ends once', () => {
    const setting = new GraphSetting()
    const graph = largeGraph()
    setting.harness.handle({ type: 'graphSubmitted', graph })
    sendAll(setting)
    setting.harness.disconnect()
    setting.harness.open('S1', ALL_FEATURES)
    sent(setting.harness.flush())
    setting.receive(taskResult('G', { status: 'success' }))
    sendAll(setting)
    setting.receive(inlineResult(graph.idOf('n0'), '0'))
    setting.receive(inlineResult(graph.idOf('n11999'), '1'))
    setting.receive(taskResult('G', { status: 'success' }))
    assert.deepEqual(setting.harness.ends, [
      ['n0', 'value 0'],
      ['n11999', 'value 1'],
    ])
    assert.ok(setting.isIdle)
  })
})

describe('a graph that needs the results of other tasks', () => {
  const CALLS: Readonly<Record<string, SketchCall>> = {
    a: ['f', resultOf('task')],
    b: ['g', 'a'],
    c: ['g', { bytes: '2' }],
    d: ['h', 'b', 'c'],
  }

  test('sends at once what needs none of them, and the rest when they are there', () => {
    const setting = new GraphSetting()
    setting.harness.submit('task', [Buffer.from('x')], 't')
    const graph = sketchGraph('G', CALLS, ['c', 'd'])
    setting.submit(graph)
    setting.flush()
    assert.deepEqual(
      setting.scheduler.parts.map(({ graph: calls, isOpen }) => [calls.length, isOpen]),
      [[1, true]],
    )
    setting.settle()
    assert.equal(setting.harness.endOf('c'), 'value g(2)')
    assert.equal(setting.harness.endOf('d'), 'value h(g(f(t(x))) g(2))')
    assert.equal(setting.scheduler.parts.at(-1)?.isOpen, false)
    assert.ok(setting.isIdle)
  })

  test('fails what depends on one that fails, and nothing else', () => {
    const setting = new GraphSetting()
    setting.harness.submit('task', [], 'fail')
    setting.submit(sketchGraph('G', CALLS, ['c', 'd']))
    setting.settle()
    assert.equal(setting.harness.endOf('c'), 'value g(2)')
    assert.equal(setting.harness.endOf('d'), 'error failed')
    assert.deepEqual(setting.scheduler.runs.toSorted(), ['fail', 'g'])
    assert.ok(setting.isIdle)
  })

  test('waits for them again after a scheduler was lost', () => {
    const setting = new GraphSetting()
    setting.isEager = false
    setting.harness.submit('task', [Buffer.from('x')], 't')
    setting.submit(sketchGraph('G', CALLS, ['d']))
    setting.flush()
    setting.receive(storedResult('task', 'kept'))
    setting.disconnect()
    setting.scheduler.restart()
    setting.connect('S2')
    setting.isEager = true
    setting.settle()
    assert.equal(setting.harness.endOf('d'), 'value h(g(f(t(x))) g(2))')
    assert.ok(setting.isIdle)
  })

  test('takes a large one by its object', () => {
    const setting = new GraphSetting()
    setting.isEager = false
    setting.harness.submit('task', [], 't')
    const graph = sketchGraph('G', CALLS, ['b'])
    setting.submit(graph)
    setting.flush()
    setting.scheduler.tasks.clear()
    setting.scheduler.objects.set('kept', 'large')
    setting.receive(storedResult('task', 'kept'))
    setting.isEager = true
    setting.settle()
    assert.equal(setting.harness.endOf('b'), 'value g(f(large))')
  })
})

describe('with a scheduler that takes no graphs in parts', () => {
  test('calls travel as tasks, each when its inputs are there', () => {
    const setting = new GraphSetting('', 0)
    const graph = sketchGraph('G', { ...DIAMOND, x: ['x'] }, ['b', 'd'])
    setting.submit(graph)
    setting.settle()
    assert.equal(setting.scheduler.parts.length, 0)
    assert.deepEqual(setting.scheduler.runs, ['f', 'g', 'g', 'h'])
    assert.equal(setting.harness.endOf('b'), 'value g(f(1) f(1))')
    assert.equal(setting.harness.endOf('d'), DIAMOND_VALUE)
    assert.ok(setting.isIdle)
  })

  test('a graph that another one had goes on there', () => {
    const setting = new GraphSetting()
    setting.submit(sketchGraph('G', DIAMOND, ['b', 'd']))
    setting.flush()
    setting.scheduler.runOne()
    setting.disconnect()
    setting.scheduler.restart()
    setting.connect('', 0)
    setting.settle()
    assert.equal(setting.harness.endOf('b'), 'value g(f(1) f(1))')
    assert.equal(setting.harness.endOf('d'), DIAMOND_VALUE)
    assert.ok(setting.isIdle)
  })

  test('a failing call fails what depends on it, and nothing else', () => {
    const setting = new GraphSetting('', 0)
    setting.submit(sketchGraph('G', { a: ['fail'], b: ['f', 'a'], c: ['f'] }, ['b', 'c']))
    setting.settle()
    assert.equal(setting.harness.endOf('b'), 'error failed')
    assert.equal(setting.harness.endOf('c'), 'value f()')
  })

  test('a cancelled target takes along what depends on it, and what only that needs', () => {
    const setting = new GraphSetting('', 0)
    const calls = { ...DIAMOND, x: ['x'], y: ['y', 'x'] } as const
    setting.submit(sketchGraph('G', calls, ['b', 'c', 'd', 'x', 'y']))
    setting.flush()
    for (const owner of ['b', 'y']) setting.cancel(owner)
    assert.deepEqual(setting.harness.ends, [
      ['b', 'cancelled'],
      ['d', 'cancelled'],
      ['y', 'cancelled'],
    ])
    setting.settle()
    assert.equal(setting.harness.endOf('x'), 'value x()')
    assert.equal(setting.harness.endOf('c')?.startsWith('value '), true)
    assert.ok(!setting.scheduler.runs.includes('y'), 'what is cancelled is not run')
    assert.ok(setting.isIdle)
  })

  test('a cancelled graph takes its calls along', () => {
    const setting = new GraphSetting('', 0)
    setting.submit(sketchGraph('G', DIAMOND, ['b', 'd']))
    setting.flush()
    for (const owner of ['b', 'd']) setting.cancel(owner)
    setting.settle()
    assert.deepEqual(setting.scheduler.runs, [])
    assert.ok(setting.isIdle)
  })
})

// What starts over when an object storage server is lost, and what does not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, objectId } from '../../../base/ids.js'
import { NO_LOSS, type ObjectInstruction, type Task } from '../../../wire/message.js'
import { storedChunk } from '../../../wire/object-content.js'
import { calls, graph, large, node, small } from '../graph/graph.kit.js'
import {
  clientHeartbeat,
  instruction,
  result,
  shared,
  task,
  type TestScheduler,
  withPeers,
} from '../scheduler.kit.js'

const [ONE, TWO] = ['tcp://one:1', 'tcp://two:2']

/** A client stores an object, whose content is on a server. */
function create(id: string, at: string, client = 'C'): ObjectInstruction {
  const message = instruction('create', client, [id])
  const content = { byteLength: 1_000_000, address: at, id: objectId(id.padStart(24, '.')) }
  const stored = { objectTypes: ['stored'], objectBytes: [[storedChunk(content)]] } as const
  return { ...message, objectContent: { ...message.objectContent, ...stored } }
}

function using(id: string, object: string): Task {
  return { ...task(id, 'C'), functionArgs: [{ type: 'objectID', data: Buffer.from(object) }] }
}

/** Client C, and workers that each take one task of its function, which is never measured. */
function setting(...workers: readonly string[]): TestScheduler {
  const scheduler = withPeers({ clients: ['C'], workers }, { workerSilenceMs: 86_400_000 })
  scheduler.receive('C', create('o', ONE)).receive('C', create('p', TWO))
  scheduler.actions()
  return scheduler
}

function lose(scheduler: TestScheduler, address = ONE): readonly string[] {
  scheduler.actions()
  const lines = scheduler.handle({ type: 'serverLost', address }).lines()
  return lines.filter((line) => !line.startsWith('remove '))
}

test('only the tasks that need a lost object are dropped, and their client learns of it', () => {
  const scheduler = setting('V', 'W')
  for (const [id, object] of ['oo', 'pp', 'o2', 'p2'].entries()) {
    scheduler.receive('C', using(`t${id}`, object.charAt(0)))
  }
  assert.deepEqual(lose(scheduler), ['V <- cancel t0 by force', 'C <- lost o; ; ; '])
  assert.equal(scheduler.machine.counts.tasks, 3, 't0 until V has answered, t1, t3')
  scheduler.receive('V', result('t0', 'canceled'))
  assert.deepEqual(scheduler.lines(), ['V <- task t3'], 'C is not told that t0 was cancelled')
  scheduler.receive('W', result('t1'))
  assert.deepEqual(scheduler.lines(), ['C <- result t1 success'])
})

test('a client may submit a dropped task at once, with its object', () => {
  const scheduler = setting('W').receive('C', using('t', 'o'))
  lose(scheduler)
  scheduler.receive('C', NO_LOSS).receive('C', create('o', TWO)).receive('C', using('t', 'o'))
  assert.deepEqual(scheduler.lines(), ['W <- task t'])
  scheduler.receive('W', result('t', 'canceled'))
  assert.deepEqual(scheduler.lines(), [], 'that is its answer about the first one')
  scheduler.receive('W', result('t'))
  assert.deepEqual(scheduler.lines(), ['C <- result t success'])
})

test('a task that was sent before its client knew is dropped; others are not', () => {
  const scheduler = setting('V', 'W')
  lose(scheduler)
  scheduler.receive('C', using('t1', 'o')).receive('C', using('t2', 'p'))
  assert.deepEqual(scheduler.lines(), ['V <- task t2'])
  scheduler.receive('C', NO_LOSS).receive('C', using('t1', 'o'))
  assert.deepEqual(scheduler.lines(), ['W <- task t1'])
})

test('a client confirms one message after the other', () => {
  const scheduler = setting('W')
  lose(scheduler)
  assert.deepEqual(lose(scheduler, TWO), ['C <- lost p; ; ; '])
  scheduler.receive('C', NO_LOSS).receive('C', using('t1', 'p')).receive('C', using('t2', 'o'))
  assert.deepEqual(scheduler.lines(), ['W <- task t2'], 'o may be there again, p may not')
  scheduler.receive('C', NO_LOSS).receive('C', NO_LOSS).receive('C', using('t1', 'p'))
  assert.equal(scheduler.machine.counts.tasks, 2)
})

test('a client that was not connected, or may not have got the message, is told again', () => {
  const scheduler = setting()
  lose(scheduler)
  scheduler.handle({ type: 'peerDisconnected', peer: identity('C') })
  assert.deepEqual(lose(scheduler, TWO), [])
  scheduler.receive('C', clientHeartbeat())
  const told = scheduler.lines().filter((line) => line.includes('lost'))
  assert.deepEqual(told, ['C <- lost o; ; ; ', 'C <- lost p; ; ; '])
  scheduler.receive('C', clientHeartbeat())
  assert.equal(scheduler.lines().filter((line) => line.includes('lost')).length, 0)
})

test('the result of a dropped task that comes in spite of it is deleted', () => {
  const scheduler = setting('W').receive('C', using('t', 'o'))
  lose(scheduler)
  const { objects } = scheduler.machine.counts
  scheduler.receive('W', create('r-t', TWO)).receive('W', result('t'))
  assert.equal(scheduler.machine.counts.objects, objects)
  assert.deepEqual(scheduler.lines(), [`remove ${'r-t'.padStart(24, '.')} at ${TWO}`])
})

test('a task whose result is lost before it is known runs again, as often as it may', () => {
  const scheduler = setting('V')
  scheduler.receive('C', { ...task('t', 'C'), workerDeathLimit: 2 })
  for (const place of [ONE, TWO]) {
    scheduler.receive('V', create('r', place))
    lose(scheduler, place)
    scheduler.receive('C', NO_LOSS)
    scheduler.receive('V', {
      ...result('t'),
      results: [objectId('r')],
      attempt: place === ONE ? 0 : 1,
    })
    const expected = place === ONE ? ['V <- task t'] : ['C <- result t workerDied']
    assert.deepEqual(scheduler.lines(), expected)
  }
})

test('clients that share a lost object begin anew', () => {
  const scheduler = withPeers({ clients: ['C', 'D'] })
  scheduler.receive('C', create('o', ONE)).receive('C', shared('publish', 'name', 'o'))
  scheduler.receive('D', shared('find', 'name'))
  const lines = lose(scheduler)
  assert.deepEqual(
    lines.filter((line) => line.startsWith('disconnect')),
    ['disconnect C', 'disconnect D'],
  )
})

/** Of the nodes of graph G, `a` and `b` have results on servers, `c` has a small one, `d` runs. */
function graphSetting(): TestScheduler {
  const scheduler = setting('W')
  const nodes = [node('a'), node('b'), node('c'), node('d'), node('e', ['a', 'b', 'c', 'd'])]
  scheduler.receive('C', graph('G', ['e'], nodes))
  scheduler.receive('W', create('ra', ONE)).receive('W', large('a', 'ra'))
  scheduler.receive('W', create('rb', TWO)).receive('W', large('b', 'rb'))
  scheduler.receive('W', small('c', 'three'))
  assert.deepEqual(calls(scheduler.actions()).at(-1), 'W d()')
  scheduler.receive('C', instruction('delete', 'C', ['o', 'p']))
  return scheduler
}

test('a graph that needs a lost result is dropped; its client learns what is still there', () => {
  const scheduler = graphSetting()
  const lines = lose(scheduler)
  assert.deepEqual(lines, ['W <- cancel d by force', 'C <- lost ra; G; a; b c'])
  scheduler.receive('W', result('d', 'canceled')).receive('C', NO_LOSS)
  const e = node('e', ['a', '@rb', '=three', 'd'])
  scheduler.receive('C', graph('G', ['e'], [node('a'), node('d'), e]))
  scheduler.receive('W', create('ra2', TWO)).receive('W', large('a', 'ra2'))
  scheduler.receive('W', small('d', 'four'))
  assert.deepEqual(calls(scheduler.actions()), ['W a()', 'W d()', 'W e(@ra2 @rb =three =four)'])
  scheduler.receive('W', small('e', 'five'))
  assert.deepEqual(scheduler.lines().includes('C <- result e success'), true)
})

test('a graph without lost content goes on', () => {
  const scheduler = graphSetting()
  scheduler.receive('C', graph('H', ['x'], [node('x')])).receive('C', create('q', ONE))
  scheduler.receive('C', instruction('delete', 'C', ['q']))
  assert.deepEqual(lose(scheduler), ['W <- cancel d by force', 'C <- lost ra; G; a; b c'])
  scheduler.receive('W', result('d', 'canceled'))
  assert.deepEqual(calls(scheduler.actions()), ['W x()'])
})

test('with an argument, all graphs of its client are dropped, as they may need it', () => {
  const scheduler = setting('W').receive('C', graph('G', ['x'], [node('x', ['@o'])]))
  assert.deepEqual(lose(scheduler), ['W <- cancel x by force', 'C <- lost o; G; ; '])
  assert.equal(scheduler.machine.counts.graphs, 0)
})

test('parts of dropped graphs, and new graphs, are dropped until the client knows', () => {
  const scheduler = setting('W').receive('C', graph('G', ['x'], [node('x', ['@o'])], true))
  lose(scheduler)
  scheduler.receive('W', result('x', 'canceled')).actions()
  scheduler.receive('C', graph('G', ['y'], [node('y', ['x'])]))
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('C', graph('H', ['z'], [node('z', ['@o'])], true))
  assert.deepEqual(scheduler.lines(), ['C <- lost ; H; ; '])
  scheduler.receive('C', graph('H', [], [])).receive('C', NO_LOSS)
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('C', graph('G', ['y'], [node('x', ['@o']), node('y', ['x'])]))
  assert.deepEqual(calls(scheduler.actions()), ['W x(@o)'])
  scheduler.receive('C', graph('H', ['z'], [node('z')]))
  assert.equal(scheduler.machine.counts.graphs, 1, 'H is dropped until it is confirmed')
  scheduler.receive('C', NO_LOSS).receive('C', graph('H', ['z'], [node('z')]))
  assert.equal(scheduler.machine.counts.graphs, 2)
})

test('what must not run twice ends, if it may have begun', () => {
  const once = { workerDeathLimit: 1 }
  const scheduler = setting('V', 'W')
  scheduler
    .receive('C', { ...using('t', 'o'), ...once })
    .receive('C', { ...using('u', 'o'), ...once })
  scheduler.receive('C', { ...using('queued', 'o'), ...once })
  const lines = lose(scheduler).filter((line) => line.startsWith('C '))
  assert.deepEqual(lines, ['C <- lost o; ; ; t u'])
})

test('nodes that must not run twice count as lost, if they have run and their result is not kept', () => {
  const once = { workerDeathLimit: 1 }
  const scheduler = setting('W')
  const nodes = [
    node('a', [], once),
    node('b', [], once),
    node('c', [], once),
    node('d', ['a', 'b', 'c'], once),
  ]
  scheduler.receive('C', graph('G', ['a', 'd'], nodes))
  scheduler.receive('W', create('ra', TWO)).receive('W', large('a', 'ra'))
  scheduler.receive('W', small('b', 'two'))
  assert.deepEqual(calls(scheduler.actions()).at(-1), 'W c()')
  assert.deepEqual(lose(scheduler), ['W <- cancel c by force', 'C <- lost o; G; a c; b'])
})

test('of many results, those beyond a limit are not kept; all that are lost count', () => {
  const scheduler = setting('W')
  const count = 5_001
  const names = Array.from({ length: count }, (_, at) => `n${at}`)
  scheduler.receive(
    'C',
    graph(
      'G',
      ['e'],
      [...names, 'x'].map((id) => node(id)),
      true,
    ),
  )
  scheduler.receive('C', graph('G', ['e'], [node('e', ['e0', ...names, 'x']), node('e0')]))
  for (const name of names) scheduler.receive('W', small(name, '1'))
  scheduler.receive('W', create('rx', ONE)).receive('W', large('x', 'rx'))
  scheduler.receive('C', instruction('delete', 'C', ['o', 'p']))
  const [told = ''] = lose(scheduler).filter((line) => line.startsWith('C <- lost'))
  assert.ok(told.startsWith('C <- lost rx; G; x; n0 n1 '))
  assert.equal(told.split('; ').at(-1)?.split(' ').length, 5_000)
})

test('a client that becomes a user of results keeps half of its quota for what it sends', () => {
  const storage = { memoryBytes: Infinity, diskBytes: 0, quotaBytes: 4_500_000 }
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] }, { storage })
  const nodes = [node('a'), node('b'), node('c'), node('d', ['a', 'b', 'c'])]
  scheduler.receive('C', graph('G', ['d'], nodes))
  scheduler.receive('W', create('ra', TWO)).receive('W', large('a', 'ra'))
  scheduler.receive('W', create('rb', TWO)).receive('W', large('b', 'rb'))
  scheduler.receive('C', create('o', ONE))
  assert.deepEqual(lose(scheduler).at(-1), 'C <- lost o; G; ; a b')
  scheduler.receive('W', result('c', 'canceled')).receive('C', NO_LOSS)
  scheduler.receive('C', graph('H', ['d2'], [node('a2'), node('b2'), node('d2', ['a2', 'b2'])]))
  scheduler.receive('W', create('ra2', TWO)).receive('W', large('a2', 'ra2'))
  scheduler.receive('C', create('o', ONE))
  assert.deepEqual(lose(scheduler).at(-1), 'C <- lost o; H; ; ')
})

test('a client that confirms nothing is given up in the end', () => {
  const scheduler = setting('W')
  lose(scheduler)
  for (let at = 0; at < 10_000; at += 1) scheduler.receive('C', graph(`G${at}`, ['x'], [node('x')]))
  const lines = scheduler.lines()
  assert.equal(lines.filter((line) => line.startsWith('C <- lost')).length, 9_999)
  assert.deepEqual(
    lines.filter((line) => line.startsWith('disconnect')),
    ['disconnect C'],
  )
})

test('what is found missing at the same time is lost at once', () => {
  const scheduler = setting('W').receive('C', create('q', ONE))
  for (const id of ['o', 'q', 'o']) {
    const content = { byteLength: 0, address: ONE, id: objectId(id.padStart(24, '.')) }
    scheduler.handle({ type: 'contentLost', objectId: objectId(id), content })
  }
  const told = scheduler.moveTo(scheduler.now).lines()
  assert.deepEqual(
    told.filter((line) => !line.startsWith('remove ')),
    ['C <- lost o q; ; ; '],
  )
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latin1ToBytes } from '../../../base/bytes.js'
import { identity, objectId, taskId } from '../../../base/ids.js'
import { calls, graph, large, messageOf, node, resultsTo, small } from './graph.kit.js'
import {
  cancel,
  clientHeartbeat,
  instruction,
  OLDER,
  peer,
  PYTHON,
  result,
  task,
  TestScheduler,
  withPeers,
  workerHeartbeat,
} from '../scheduler.kit.js'

const cancelGraph = (id: string) => ({ kind: 'graphTaskCancel', taskId: taskId(id) }) as const

const leave = { kind: 'clientDisconnect', disconnectType: 'disconnect' } as const

const one = (): TestScheduler => withPeers({ clients: ['C'], workers: ['W'] })

/** A worker stores an object as a result, and sends the result. */
function finishLarge(scheduler: TestScheduler, worker: string, id: string): TestScheduler {
  scheduler.receive(worker, instruction('create', 'C', [`r-${id}`]))
  return scheduler.receive(worker, large(id, `r-${id}`, { worker: identity(worker) }))
}

test('a node runs once its inputs have succeeded, and gets their results', () => {
  const scheduler = one()
  const options = { name: 'the end', traceContext: 'trace' }
  scheduler.receive('C', graph('g', ['c'], [node('a'), node('b', ['a', '=x', 'a', '@o'])], true))
  scheduler.receive('C', graph('g', ['c'], [node('c', ['b', 'a'], options)]))
  assert.deepEqual(calls(scheduler.actions()), ['W a()'])
  scheduler.receive('W', small('a', '1'))
  assert.deepEqual(calls(scheduler.actions()), ['W b(=1 =x =1 @o)'])
  scheduler.receive('W', small('b', '2'))
  const actions = scheduler.actions()
  assert.deepEqual(calls(actions), ['W c(=2 =1)'])
  const [sent] = actions.flatMap((action) => messageOf(action) ?? [])
  assert.ok(sent?.kind === 'task' && sent.name === 'the end' && sent.source === 'C')
  assert.equal(sent.traceContext, 'trace')
  scheduler.receive('W', small('c', '3'))
  assert.deepEqual(scheduler.lines(), ['C <- result c success', 'C <- result g success'])
  assert.deepEqual(scheduler.machine.counts, { clients: 1, tasks: 0, graphs: 0, objects: 1 })
})

test('the result of a target is forwarded unchanged; results of other nodes are not sent', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['a', 'c'], [node('a'), node('b', ['a']), node('c', ['b'])]))
  scheduler.receive('W', small('a', '1', { worker: peer('W') }))
  const told = resultsTo('C', scheduler.actions())
  assert.deepEqual([...told.keys()], ['a'])
  assert.equal(told.get('a')?.worker, 'W')
  scheduler.receive('W', small('b', '2'))
  assert.equal(resultsTo('C', scheduler.actions()).size, 0)
})

test('nodes may be in any order in one message, and an empty graph succeeds', () => {
  const scheduler = new TestScheduler()
  scheduler.receive('C', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON)).actions()
  scheduler.receive('C', graph('g', ['c'], [node('c', ['b', 'b']), node('b', ['a']), node('a')]))
  assert.deepEqual(calls(scheduler.actions()), ['Q a()'])
  scheduler.receive('Q', instruction('create', 'C', ['r-a'])).receive('Q', result('a'))
  assert.deepEqual(calls(scheduler.actions()), ['Q b(@r-a)'])
  scheduler.receive('Q', instruction('create', 'C', ['r-b'])).receive('Q', result('b'))
  assert.deepEqual(calls(scheduler.actions()), ['Q c(@r-b @r-b)'])
  scheduler.receive('Q', result('c')).moveTo(50)
  assert.deepEqual(scheduler.lines(), ['C <- result c success', 'C <- result g success'])
  scheduler.receive('C', graph('h', [], [])).moveTo(100)
  assert.deepEqual(scheduler.lines(), ['C <- result h success'])
})

test('results for a 1.9.9 client, which registers them after it sent a graph, are delayed', () => {
  const scheduler = new TestScheduler()
  scheduler.receive('C', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON))
  scheduler.moveTo(1_000)
  scheduler.receive('C', graph('g', ['a', 'b', 'c'], [node('a'), node('b', ['a']), node('c')]))
  scheduler.receive('Q', result('a', 'canceled')).actions()
  scheduler.receive('Q', instruction('create', 'C', ['r-a'])).receive('Q', result('a', 'failed'))
  assert.deepEqual(
    scheduler
      .moveTo(1_049)
      .lines()
      .filter((line) => line.startsWith('C')),
    [],
  )
  assert.deepEqual(scheduler.moveTo(1_050).lines(), [
    'C <- result a failed',
    'C <- result b failed',
  ])
  // After that there is no delay.
  scheduler.moveTo(1_060).receive('Q', result('c'))
  assert.deepEqual(scheduler.lines(), ['C <- result c success', 'C <- result g failed'])
  scheduler.receive('C', graph('h', ['x', 'y'], [node('x'), node('y')]))
  scheduler.receive('Q', result('x')).actions()
  scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  const late = scheduler.moveTo(2_000).lines()
  assert.deepEqual(
    late.filter((line) => line.includes('result')),
    [],
  )
})

test('ready nodes run in the order in which they were sent, whenever they became ready', () => {
  const scheduler = one()
  const nodes = [node('a'), node('b', ['a']), node('c'), node('d', ['c']), node('e'), node('f')]
  scheduler.receive('C', graph('g', ['f'], nodes)).receive('C', task('t', 'C'))
  const order: string[] = []
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 't']) {
    order.push(...calls(scheduler.actions()).map((call) => call.charAt(2)))
    scheduler.receive('W', small(id, id))
  }
  assert.deepEqual(order, ['a', 'b', 'c', 'd', 'e', 'f', 't'])
})

test('tasks submitted before a graph run first, and clients take turns', () => {
  const scheduler = withPeers({ clients: ['C', 'D'] })
  scheduler.receive('C', task('t', 'C'))
  scheduler.receive('C', graph('g', ['a', 'b'], [node('a'), node('b')]))
  scheduler.receive('C', task('u', 'C')).receive('D', task('v', 'D')).receive('D', task('w', 'D'))
  scheduler.receive('W', workerHeartbeat())
  const order: string[] = []
  for (const id of ['t', 'v', 'a', 'w', 'b', 'u']) {
    order.push(...calls(scheduler.actions()).map((call) => call.charAt(2)))
    scheduler.receive('W', small(id, id))
  }
  assert.deepEqual(order, ['t', 'v', 'a', 'w', 'b', 'u'])
})

test('a failing node fails its dependents, each once, and no other node', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W', 'X'] })
  const nodes = [node('a'), node('b', ['a']), node('c', ['b', 'x']), node('x'), node('y', ['x'])]
  scheduler.receive('C', graph('g', ['a', 'b', 'c', 'y'], nodes)).actions()
  scheduler.receive('W', small('a', 'oh', { status: 'failed' }))
  const actions = scheduler.actions()
  const told = resultsTo('C', actions)
  assert.deepEqual([...told.keys()], ['a', 'b', 'c'])
  for (const id of ['b', 'c']) {
    const { status, failedTaskId, inlineResults, metadata } = told.get(id) ?? {}
    assert.deepEqual([status, failedTaskId, metadata?.byteLength], ['failed', 'a', 0])
    assert.deepEqual(inlineResults, [latin1ToBytes('oh')])
  }
  assert.equal(told.get('a')?.failedTaskId, '')
  assert.deepEqual(calls(actions), [], 'x is already running, and y waits for it')
  scheduler.receive('X', small('x', '1')).receive('W', small('y', '2'))
  scheduler.receive('X', small('y', '2'))
  const lines = scheduler.lines().filter((line) => line.startsWith('C'))
  assert.deepEqual(lines, ['C <- result y success', 'C <- result g failed'])
  assert.equal(scheduler.machine.counts.graphs, 0)
})

test('nodes that only failed nodes needed are not started', () => {
  const scheduler = one()
  const nodes = [node('a'), node('x'), node('y', ['x']), node('c', ['a', 'y'])]
  scheduler.receive('C', graph('g', ['c'], nodes)).actions()
  scheduler.receive('W', small('a', 'oh', { status: 'failed' }))
  assert.deepEqual(scheduler.lines(), ['C <- result c failed', 'C <- result g failed'])
})

test('a 1.9.9 client gets a copy of the error for each target, under an id of 16 bytes', () => {
  const scheduler = new TestScheduler()
  scheduler.receive('C', clientHeartbeat(PYTHON)).receive('Q', workerHeartbeat(PYTHON)).actions()
  const nodes = [node('a'), node('b', ['a']), node('c', ['b'])]
  scheduler.receive('C', graph('g', ['b', 'c'], nodes))
  scheduler.receive('Q', instruction('create', 'C', ['r-a'])).receive('Q', result('a', 'failed'))
  scheduler.moveTo(50)
  const told = resultsTo('C', scheduler.actions())
  const ids = ['b', 'c'].flatMap((id) => told.get(id)?.results ?? [])
  assert.deepEqual(
    ids.map((id) => id.length),
    [16, 16],
  )
  assert.notEqual(ids[0], ids[1])
  assert.equal(told.get('b')?.failedTaskId, '')
  assert.equal(told.get('b')?.metadata.byteLength, 16)
  const objectIds = [...ids, objectId('r-a')]
  scheduler.receive('C', { kind: 'objectRequest', requestType: 'get', objectIds })
  const [action] = scheduler.actions()
  assert.ok(action?.type === 'send' && action.message.kind === 'objectResponse')
  const content = latin1ToBytes('content of r-a')
  assert.deepEqual(action.message.objectContent.objectBytes, [[content], [content]])
})

for (const [what, nodes] of [
  ['a cycle', [node('a'), node('b', ['a', 'c']), node('c', ['b'])]],
  ['a node that needs itself', [node('a'), node('b', ['b']), node('c')]],
  ['an unknown argument', [node('a'), node('b', ['a']), node('c', ['nobody'])]],
  ['malformed flags', [node('a'), node('b'), node('c', [], { metadata: new Uint8Array(3) })]],
] as const) {
  test(`a graph with ${what} is refused entirely, and logged`, () => {
    const scheduler = one()
    scheduler.receive('C', graph('g', ['c', 'b', 'unknown'], nodes))
    assert.deepEqual(scheduler.logs().length, 1)
    const told = resultsTo('C', scheduler.actions())
    assert.deepEqual([...told.keys()].sort(), ['b', 'c', 'g', 'unknown'])
    assert.ok([...told.values()].every(({ status }) => status === 'notFound'))
    assert.deepEqual(scheduler.machine.counts, { clients: 1, tasks: 0, graphs: 0, objects: 1 })
  })
}

test('a node that is repeated in a graph is added once', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['a'], [node('a'), node('a', ['=2'])]))
  assert.deepEqual(calls(scheduler.actions()), ['W a()'])
  scheduler.receive('W', small('a', '1'))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'C <- result g success'])
})

test('a node with the id of an unfinished task fails; the task does not', () => {
  const scheduler = one()
  scheduler.receive('C', task('b', 'C'))
  scheduler.receive('C', graph('g', ['a', 'c'], [node('a'), node('b', ['a']), node('c', ['b'])]))
  scheduler.receive('W', small('b', '1')).receive('W', small('a', '1'))
  assert.equal(resultsTo('C', scheduler.actions()).get('b')?.status, 'success')
  scheduler.receive('C', task('e', 'C')).receive('W', small('b', '2')).actions()
  scheduler.receive('C', graph('h', ['d'], [node('e'), node('d', ['e'])]))
  const told = resultsTo('C', scheduler.actions())
  assert.deepEqual(
    [...told].map(([id, { status }]) => `${id} ${status}`),
    ['d notFound', 'h failed'],
  )
})

test('intermediate objects are freed when no longer needed, and their holders are notified', () => {
  const scheduler = one()
  const nodes = [node('a'), node('b', ['a']), node('c', ['a', 'b'])]
  scheduler.receive('C', graph('g', ['c'], nodes))
  finishLarge(scheduler, 'W', 'a')
  assert.deepEqual(calls(scheduler.actions()), ['W a()', 'W b(@r-a)'])
  finishLarge(scheduler, 'W', 'b')
  assert.deepEqual(scheduler.lines(), ['W <- task c'])
  assert.equal(scheduler.machine.counts.objects, 3)
  finishLarge(scheduler, 'W', 'c')
  const lines = scheduler.moveTo(200).lines()
  assert.deepEqual([...lines].sort(), [
    'C <- result c success',
    'C <- result g success',
    'W <- delete r-b r-a',
  ])
  assert.equal(scheduler.machine.counts.objects, 2, 'the function and the target are the client’s')
})

test('a target that other nodes need stays although its client has deleted it', () => {
  const scheduler = one()
  scheduler.receive(
    'C',
    graph('g', ['a', 'c'], [node('a'), node('b', ['=1']), node('c', ['a', 'b'])]),
  )
  finishLarge(scheduler, 'W', 'a').actions()
  scheduler.receive('C', instruction('delete', 'C', ['r-a'])).receive('W', small('b', '2'))
  assert.deepEqual(calls(scheduler.actions()), ['W c(@r-a =2)'])
  assert.equal(scheduler.machine.counts.objects, 2)
  scheduler.receive('W', small('c', '3')).moveTo(200)
  assert.equal(scheduler.machine.counts.objects, 1)
})

test('an open graph keeps all results; when it is closed, unneeded results are freed', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', [], [node('a'), node('b', ['a'])], true))
  finishLarge(scheduler, 'W', 'a')
  finishLarge(scheduler, 'W', 'b')
  assert.equal(scheduler.machine.counts.objects, 3)
  scheduler.receive('C', graph('g', ['c'], [node('c', ['a'])], true))
  assert.deepEqual(calls(scheduler.actions()).slice(-1), ['W c(@r-a)'])
  scheduler.receive('C', graph('g', [], []))
  assert.equal(scheduler.machine.counts.objects, 2, 'b is not needed, a is')
  scheduler.receive('W', small('c', '1'))
  assert.equal(scheduler.machine.counts.objects, 1)
  assert.equal(scheduler.machine.counts.graphs, 0)
})

test('a later part may request finished nodes: their values are sent, small or large', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('C', graph('G', [], [node('a'), node('b'), node('c')], true))
  scheduler.receive('W', small('a', 'value')).receive('W', large('b', 'object'))
  scheduler.receive('W', small('c', 'v'.repeat(100))).actions()
  scheduler.receive('C', graph('G', ['a', 'b', 'c'], [], false))
  const results = resultsTo('C', scheduler.actions())
  assert.deepEqual(results.get('a')?.inlineResults, [latin1ToBytes('value')])
  assert.deepEqual(results.get('b')?.results, ['object'])
  assert.deepEqual(results.get('c')?.inlineResults, [latin1ToBytes('v'.repeat(100))])
  assert.equal(results.get('G')?.status, 'success')
})

test('a worker is asked to keep results that other nodes need, or may still need', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['c'], [node('a')], true))
  scheduler.receive('W', small('a', '1'))
  scheduler.receive('C', graph('g', ['c'], [node('b', ['a']), node('c', ['b'])]))
  scheduler.receive('W', small('b', '1')).receive('W', small('c', '1'))
  const asked = scheduler.actions().flatMap((action) => {
    const sent = messageOf(action)
    return sent?.kind === 'task' ? [`${sent.taskId} ${sent.keepsResult}`] : []
  })
  assert.deepEqual(asked, ['a true', 'b true', 'c false'])
})

test('a node goes to the worker that has its largest object, unless another one is idle', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  const nodes = [node('a'), node('b'), node('c', ['b', 'a']), node('d', ['a'])]
  scheduler.receive('C', graph('g', ['c', 'd'], nodes))
  assert.deepEqual(calls(scheduler.actions()), ['V a()', 'W b()'])
  finishLarge(scheduler, 'W', 'b').actions()
  scheduler.receive('V', small('a', '1'))
  assert.deepEqual(calls(scheduler.actions()), ['W c(@r-b =1)', 'V d(=1)'])
  scheduler.receive('W', small('c', '1')).receive('V', small('d', '1')).actions()

  const again = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  again.receive('C', graph('g', ['c'], [node('a'), node('b'), node('c', ['b'])]))
  again.receive('C', task('t', 'C')).actions()
  finishLarge(again, 'W', 'b')
  assert.deepEqual(calls(again.actions()), ['W c(@r-b)'])
  again.receive('V', small('a', '1'))
  assert.deepEqual(calls(again.actions()), ['V t()'])
})

test('a node does not wait for the worker that has its object while another one is idle', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  const { metadata } = result('t', 'success', 0.0001)
  scheduler
    .receive('C', task('t', 'C'))
    .receive('V', small('t', '1', { metadata }))
    .actions()
  scheduler.receive('C', graph('g', ['c', 'd'], [node('b'), node('d', ['b']), node('c', ['b'])]))
  scheduler.receive('V', instruction('create', 'C', ['r-b']))
  scheduler.receive('V', large('b', 'r-b', { metadata, worker: identity('V') }))
  // V would have room for both, because the function is short.
  assert.deepEqual(calls(scheduler.actions()).slice(1), ['V d(@r-b)', 'W c(@r-b)'])
})

test('a node that is ready late precedes other nodes of its graph, but not requeued ones', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  scheduler.receive('C', task('t', 'C'))
  const nodes = [node('a'), node('b', ['a']), node('x'), node('y')]
  scheduler.receive('C', graph('g', ['b', 'x', 'y'], nodes)).actions()
  scheduler.handle({ type: 'peerDisconnected', peer: peer('V') })
  const order: string[] = []
  for (const id of ['a', 't', 'b', 'x', 'y']) {
    scheduler.receive('W', small(id, '1'))
    order.push(...calls(scheduler.actions()).map((call) => call.charAt(2)))
  }
  assert.deepEqual(order, ['t', 'b', 'x', 'y'])
})

test('work on very many nodes is done in slices, and other messages are handled meanwhile', () => {
  const many = 5000
  const fan = [...Array(many).keys()].map((at) => node(`n${at}`, ['hub']))
  const all = fan.map(({ taskId: id }) => id)
  for (const end of ['fail', 'cancel'] as const) {
    const scheduler = withPeers(
      { clients: ['C', 'D'], workers: ['W'] },
      { graphStepsPerTurn: 3000 },
    )
    const { machine } = scheduler
    const say = (from: string, message: Parameters<TestScheduler['receive']>[1]): number => {
      let told = 0
      machine.handle({ type: 'messageReceived', from: peer(from), message }, 0, () => (told += 1))
      return told
    }
    say('C', graph('g', all, [node('hub'), ...fan]))
    say('D', task('t', 'D'))
    const first =
      end === 'fail'
        ? say('W', small('hub', 'oh', { status: 'failed' }))
        : say('C', cancelGraph('g'))
    assert.ok(first < 200, `${first} messages in one turn`)
    assert.equal(machine.deadline, 0, 'it continues immediately')
    assert.equal(say('D', clientHeartbeat()), 1)
    const turns: number[] = []
    while (machine.deadline === 0) {
      let told = 0
      machine.handle({ type: 'tick' }, 0, () => (told += 1))
      turns.push(told)
    }
    assert.ok(Math.max(...turns) < 200 && turns.length > many / 200)
    machine.checkInvariants()
    assert.equal(machine.counts.graphs, 0)
  }
})

test('a chain may be far longer than the stack', () => {
  const length = 100_000
  const chain = [...Array(length).keys()].map((at) =>
    node(`n${at}`, at === 0 ? [] : [`n${at - 1}`]),
  )
  for (const order of [chain, chain.toReversed()]) {
    const { machine } = withPeers({ clients: ['C'], workers: ['W'] })
    const told: string[] = []
    const handle = (event: Parameters<typeof machine.handle>[0]): void =>
      machine.handle(event, 0, (action) => {
        const sent = messageOf(action)
        if (sent?.kind === 'taskResult') told.push(`${sent.taskId} ${sent.status}`)
      })
    const message = graph('g', [`n${length - 1}`], order)
    handle({ type: 'messageReceived', from: peer('C'), message })
    const failure = small('n0', 'oh', { status: 'failed' })
    handle({ type: 'messageReceived', from: peer('W'), message: failure })
    while (machine.deadline === 0) handle({ type: 'tick' })
    assert.deepEqual(told, [`n${length - 1} failed`, 'g failed'])
  }
})

test('a cancelled graph ends immediately: nodes stop, targets and graph are answered', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  const nodes = [node('a'), node('b'), node('c', ['a']), node('d', ['b'])]
  scheduler.receive('C', graph('g', ['a', 'c', 'd'], nodes)).actions()
  finishLarge(scheduler, 'V', 'a').actions()
  scheduler.receive('C', cancelGraph('g'))
  assert.deepEqual(scheduler.lines(), [
    'W <- cancel b by force',
    'V <- cancel c by force',
    'C <- result c canceled',
    'C <- result d canceled',
    'C <- result g canceled',
  ])
  scheduler.receive('C', cancelGraph('g'))
  assert.deepEqual(scheduler.lines(), ['C <- result g notFound'])
  scheduler.receive('V', result('c', 'canceled'))
  finishLarge(scheduler, 'W', 'b').moveTo(200)
  assert.deepEqual(scheduler.lines(), [])
  assert.deepEqual(scheduler.machine.counts, { clients: 1, tasks: 0, graphs: 0, objects: 2 })
})

test('parts that follow the cancellation of an open graph are ignored', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['b'], [node('a'), node('b', ['a'])], true)).actions()
  scheduler.receive('C', cancelGraph('g')).receive('W', result('a', 'canceled'))
  assert.deepEqual(scheduler.lines(), [
    'W <- cancel a by force',
    'C <- result b canceled',
    'C <- result g canceled',
  ])
  assert.equal(scheduler.machine.counts.graphs, 0)
})

test('parts of an open graph that was refused end with it', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['a'], [node('a', ['?'])], true))
  assert.deepEqual(scheduler.lines(), ['C <- result a notFound', 'C <- result g notFound'])
  scheduler.receive('C', graph('g', ['b'], [node('b', ['a'])], true))
  assert.deepEqual(scheduler.lines(), ['C <- result b notFound'])
  scheduler.receive('C', graph('g', ['c'], [node('c')]))
  assert.deepEqual(scheduler.lines(), ['C <- result c notFound'])
  assert.equal(scheduler.machine.counts.graphs, 0)
})

test('a cancelled target is dropped together with the nodes that only it needed', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  const nodes = [node('a'), node('x'), node('b', ['a']), node('y', ['x', 'a']), node('z', ['y'])]
  scheduler.receive('C', graph('g', ['b', 'z'], nodes)).actions()
  scheduler.receive('C', cancel('z'))
  assert.deepEqual(scheduler.lines(), ['C <- result z canceled', 'W <- cancel x by force'])
  scheduler.receive('W', result('x', 'canceled')).receive('V', small('a', '1'))
  assert.deepEqual(scheduler.lines(), ['V <- task b'])
  scheduler.receive('V', small('b', '1'))
  assert.deepEqual(scheduler.lines(), ['C <- result b success', 'C <- result g success'])
})

test('a cancelled target ends its dependents, and the nodes that only those needed', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  const nodes = [node('a'), node('x'), node('b', ['a']), node('c', ['b', 'x']), node('y', ['x'])]
  scheduler.receive('C', graph('g', ['a', 'c', 'y'], nodes)).actions()
  scheduler.receive('C', cancel('a')).receive('C', cancel('a'))
  const told = ['C <- result a canceled', 'V <- cancel a by force', 'C <- result c canceled']
  assert.deepEqual(scheduler.lines(), told)
  scheduler.receive('V', result('a', 'canceled')).receive('W', small('x', '1'))
  assert.deepEqual(scheduler.lines(), ['V <- task y'])
  scheduler.receive('V', small('y', '1'))
  assert.deepEqual(scheduler.lines(), ['C <- result y success', 'C <- result g success'])
})

test('nodes that only a cancelled node and its dependents needed are stopped', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  const nodes = [node('a'), node('x'), node('c', ['a', 'x'])]
  scheduler.receive('C', graph('g', ['a', 'c'], nodes)).actions()
  scheduler.receive('C', cancel('a'))
  const actions = scheduler.actions()
  assert.deepEqual(
    actions.map((action) => scheduler.describe(action)),
    [
      'C <- result a canceled',
      'V <- cancel a by force',
      'C <- result c canceled',
      'W <- cancel x by force',
      'C <- result g success',
    ],
  )
  assert.equal(resultsTo('C', actions).get('c')?.failedTaskId, 'a')
})

test('a target of an open graph is cancelled immediately, and so are its later dependents', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['b'], [node('a'), node('b', ['a'])], true)).actions()
  scheduler.receive('C', cancel('b'))
  assert.deepEqual(scheduler.lines(), ['C <- result b canceled'])
  scheduler.receive('C', graph('g', ['c', 'd'], [node('c', ['b']), node('d')]))
  const told = ['C <- result c canceled', 'W <- cancel a by force']
  assert.deepEqual(scheduler.lines().slice(0, 2), told)
})

test('only a target can be cancelled, not a node in between', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['b'], [node('a'), node('b', ['a'])])).actions()
  scheduler.receive('C', cancel('a'))
  assert.deepEqual(scheduler.lines(), [])
  scheduler.receive('W', small('a', '1'))
  assert.deepEqual(scheduler.lines(), ['W <- task b'])
})

test('when its client leaves, a graph is removed with everything that it kept', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['V', 'W'] })
  const nodes = [node('a'), node('b'), node('c', ['a', 'b']), node('d', ['c'])]
  scheduler.receive('C', graph('g', ['d'], nodes)).actions()
  finishLarge(scheduler, 'V', 'a').receive('C', leave)
  assert.deepEqual(
    scheduler.lines().filter((line) => line.includes('cancel')),
    ['W <- cancel b by force'],
  )
  scheduler.receive('W', result('b', 'canceled')).moveTo(200)
  assert.deepEqual(scheduler.machine.counts, { clients: 0, tasks: 0, graphs: 0, objects: 0 })
})

test('a graph that is resent adds nothing, and its client gets the results that it missed', () => {
  const scheduler = one()
  const parts = [
    graph('g', ['a', 'b'], [node('a'), node('b', ['a'])], true),
    graph('g', ['c'], [node('c', ['b'])]),
  ]
  for (const part of parts) scheduler.receive('C', part)
  scheduler.receive('W', small('a', '1', { worker: peer('W') })).actions()
  scheduler.handle({ type: 'peerDisconnected', peer: peer('C') })
  scheduler.receive('W', small('b', 'oh', { status: 'failed' }))
  assert.deepEqual(scheduler.lines().slice(-1), ['C <- result c failed'], 'the graph has not ended')
  scheduler.receive('C', clientHeartbeat()).actions()
  for (const part of parts) scheduler.receive('C', part)
  const actions = scheduler.actions()
  const told = resultsTo('C', actions)
  assert.deepEqual([...told.keys()], ['a', 'b', 'c', 'g'])
  assert.deepEqual(told.get('a')?.inlineResults, [latin1ToBytes('1')])
  assert.equal(told.get('a')?.worker, 'W')
  assert.deepEqual(told.get('b')?.inlineResults, [latin1ToBytes('oh')])
  assert.deepEqual([told.get('c')?.failedTaskId, told.get('g')?.status], ['b', 'failed'])
  assert.deepEqual(calls(actions), [])
})

test('the rest of a graph is added after its client lost its connection in between', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['a'], [node('a')], true))
  scheduler.handle({ type: 'peerDisconnected', peer: peer('C') }).receive('W', small('a', '1'))
  scheduler.receive('C', clientHeartbeat()).actions()
  scheduler.receive('C', graph('g', ['a'], [node('a')], true))
  scheduler.receive('C', graph('g', ['b'], [node('b', ['a'])]))
  assert.deepEqual(scheduler.lines(), ['C <- result a success', 'W <- task b'])
})

test('a node whose worker is lost runs again, and nothing else does', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['c'], [node('a'), node('b', ['a']), node('c', ['b'])]))
  scheduler.receive('W', small('a', '1')).actions()
  scheduler.handle({ type: 'peerDisconnected', peer: peer('W') }).receive('X', workerHeartbeat())
  assert.deepEqual(calls(scheduler.actions()), ['X b(=1)'])
  scheduler.receive('X', small('b', '2')).receive('X', small('c', '3'))
  assert.deepEqual(scheduler.lines().slice(-2), ['C <- result c success', 'C <- result g success'])
})

test('a node may be retried before it fails', () => {
  const scheduler = one()
  scheduler.receive('C', graph('g', ['b'], [node('a', [], { retries: 1 }), node('b', ['a'])]))
  scheduler.receive('W', small('a', 'oh', { status: 'failed' })).receive('W', small('a', '1'))
  assert.deepEqual(calls(scheduler.actions()), ['W a()', 'W a()', 'W b(=1)'])
})

test('a graph submitted by a task is cancelled with it', () => {
  const scheduler = withPeers({ clients: ['C', 'N'], workers: ['V', 'W'] })
  scheduler.receive('C', task('t', 'C'))
  const inside = { parentTaskId: taskId('t') }
  const nodes = [node('a', [], inside), node('b', ['a'], inside)]
  scheduler.receive('N', graph('g', ['b'], nodes)).actions()
  scheduler.receive('C', cancel('t', true))
  assert.deepEqual(scheduler.lines(), [
    'V <- cancel t by force',
    'W <- cancel a by force',
    'N <- result b canceled',
    'N <- result g canceled',
  ])
  scheduler.receive('N', graph('h', ['c'], [node('c', [], inside)]))
  assert.deepEqual(scheduler.lines(), ['N <- result c canceled', 'N <- result h canceled'])
})

test('a graph continues after the task that submitted it has succeeded', () => {
  const scheduler = withPeers({ clients: ['C', 'N'], workers: ['V', 'W'] })
  scheduler.receive('C', task('t', 'C'))
  scheduler.receive('N', graph('g', ['a'], [node('a', [], { parentTaskId: taskId('t') })]))
  scheduler.receive('V', small('t', '1')).receive('W', small('a', '1'))
  assert.deepEqual(scheduler.lines().slice(-2), ['N <- result a success', 'N <- result g success'])
})

test('with a limit on waiting tasks, another graph of an older client is refused entirely', () => {
  const scheduler = withPeers({ clients: ['C'] }, { maxNumberOfTasksWaiting: 1 })
  scheduler.receive('C', clientHeartbeat(OLDER)).actions()
  scheduler
    .receive('C', graph('g', ['a'], [node('a')]))
    .receive('C', graph('h', ['b'], [node('b')]))
  assert.deepEqual(scheduler.lines(), ['C <- result b noWorker', 'C <- result h noWorker'])
})

test('monitors see the nodes of a graph when they arrive and when they end', () => {
  const scheduler = one()
  scheduler.handle({ type: 'subscribersChanged', count: 1 })
  scheduler.receive('C', graph('g', ['b'], [node('a'), node('b', ['a', 'a'])]))
  scheduler.receive('W', small('a', 'oh', { status: 'failed' }))
  const seen = scheduler.actions().flatMap((action) => {
    if (action.type !== 'publish') return []
    if (action.message.kind !== 'stateGraphTask') return [scheduler.describe(action)]
    const { graphTaskId, taskId: id, nodeTaskType, parentTaskIds } = action.message
    return [`${graphTaskId} ${id} ${nodeTaskType} ${parentTaskIds.join()}`]
  })
  assert.deepEqual(seen, [
    'g a normal ',
    'g b target a',
    'monitor <- task a inactive',
    'monitor <- task a running W',
    'monitor <- task a failed',
    'monitor <- task b failed',
  ])
})

test('monitors count a graph as unfinished work of its client, and ready nodes as waiting', () => {
  const scheduler = one()
  scheduler.handle({ type: 'subscribersChanged', count: 1 })
  const nodes = ['a', 'b', 'c', 'd'].map((id) => node(id))
  scheduler.receive('C', graph('g', ['d'], [...nodes, node('e', ['d'])])).actions()
  scheduler.handle({
    type: 'statisticsSampled',
    scheduler: { cpu: 0, rss: 0 },
    rssFree: 0,
    turnP99Ms: 0,
  })
  const [action] = scheduler.actions()
  assert.ok(action?.type === 'publish' && action.message.kind === 'stateScheduler')
  const { taskManager, clientManager } = action.message
  assert.deepEqual([taskManager.running, taskManager.unassigned], [1, 3])
  // A task with its worker, two in the queue, and the graph itself.
  assert.deepEqual(clientManager.clientToNumOfTask, [{ client: 'C', numTask: 4 }])
})

test('a client has as many unfinished tasks as nodes of its graphs that have not ended', () => {
  const scheduler = one()
  scheduler.receive('C', { ...clientHeartbeat(), wantsReport: true })
  const wishes = { wantsEvents: false, wantsFailures: false, wantsGraphs: false, wantsPeers: false }
  const request = { kind: 'monitorRequest', credit: 9, failuresAfter: 0, ...wishes } as const
  const unfinished = (): unknown => {
    const use = { scheduler: { cpu: 0, rss: 0 }, rssFree: 0, turnP99Ms: 0 }
    scheduler.receive('C', request).actions()
    scheduler.handle({ type: 'statisticsSampled', ...use })
    for (const action of scheduler.actions()) {
      if (action.type !== 'send' || action.message.kind !== 'monitorReport') continue
      return action.message.states[0]?.clientReports[0]?.tasks
    }
    return undefined
  }
  scheduler.receive('C', graph('g', ['c'], [node('a'), node('b', ['a']), node('c', ['b'])]))
  assert.equal(unfinished(), 3)
  scheduler.receive('W', small('a', 'oh'))
  assert.equal(unfinished(), 2)
})

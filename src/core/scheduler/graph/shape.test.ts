// What monitors see of graphs.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../../../base/ids.js'
import type { GraphReport, MonitorRequest } from '../../../wire/message.js'
import { clientHeartbeat, result, type TestScheduler, withPeers } from '../scheduler.kit.js'
import { graph, node, small } from './graph.kit.js'

const WISH: MonitorRequest = {
  kind: 'monitorRequest',
  credit: 32,
  wantsEvents: false,
  wantsFailures: false,
  failuresAfter: 0,
  wantsGraphs: true,
  wantsPeers: false,
}

function watched(wish: Partial<MonitorRequest> = {}): TestScheduler {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  scheduler.receive('M', { ...clientHeartbeat(), wantsReport: true })
  return scheduler.receive('M', { ...WISH, ...wish })
}

/** The graphs of the next state. */
function seen(scheduler: TestScheduler): readonly GraphReport[] {
  scheduler.actions()
  const use = { scheduler: { cpu: 0, rss: 0 }, rssFree: 0, turnP99Ms: 0 }
  return scheduler
    .handle({ type: 'statisticsSampled', ...use })
    .actions()
    .flatMap((action) => {
      if (action.type !== 'send' || action.message.kind !== 'monitorReport') return []
      return action.message.states.flatMap(({ graphs }) => graphs)
    })
}

/** `waiting ready running succeeded failed dropped`, by layer. */
function layersOf({ layers }: GraphReport): readonly string[] {
  return layers.map((counts) => {
    const { waiting, ready, running, succeeded, failed, dropped } = counts
    return [waiting, ready, running, succeeded, failed, dropped].join(' ')
  })
}

/** Needs two, which need one. */
const DIAMOND = [node('a'), node('b', ['a']), node('c', ['a', 'a']), node('d', ['b', 'c'])]

test('a graph is reported by layer, with its nodes and edges, until it has ended', () => {
  const scheduler = watched()
  scheduler.moveTo(100).receive('C', graph('g', ['d'], DIAMOND))
  const [first] = seen(scheduler.moveTo(300))
  assert.ok(first !== undefined)
  assert.deepEqual(layersOf(first), ['0 0 1 0 0 0', '2 0 0 0 0 0', '1 0 0 0 0 0'])
  assert.deepEqual([first.status, first.begunAgoMS, first.endedAgoMS], ['running', 200, 0])
  assert.deepEqual(
    first.nodes.map(({ taskId: id, function: name, layer, nodeState }) => [
      id,
      name,
      layer,
      nodeState,
    ]),
    [
      ['a', 'name of f', 0, 'running'],
      ['b', 'name of f', 1, 'waiting'],
      ['c', 'name of f', 1, 'waiting'],
      ['d', 'name of f', 2, 'waiting'],
    ],
  )
  assert.deepEqual(
    first.edges.map(({ input, node: to }) => `${input}-${to}`),
    ['0-1', '0-2', '1-3', '2-3'],
  )
  scheduler.receive('W', small('a', '1'))
  const [second] = seen(scheduler)
  assert.deepEqual(second && layersOf(second), ['0 0 0 1 0 0', '0 1 1 0 0 0', '1 0 0 0 0 0'])
  scheduler.receive('W', small('b', '1')).receive('W', small('c', '1'))
  scheduler.receive('W', small('d', '1'))
  const [last, ...others] = seen(scheduler.moveTo(500))
  assert.deepEqual(others, [])
  assert.deepEqual([last?.status, last?.begunAgoMS], ['success', 400])
  assert.ok((last?.endedAgoMS ?? 0) > 0)
  assert.deepEqual(last?.counts, {
    layers: 0,
    waiting: 0,
    ready: 0,
    running: 0,
    succeeded: 4,
    failed: 0,
    dropped: 0,
  })
  assert.equal(last?.edges.length, 4)
  assert.deepEqual(seen(scheduler), [])
})

test('layers do not depend on the order of the nodes', () => {
  const scheduler = watched()
  scheduler.receive('C', graph('g', ['d'], DIAMOND.toReversed()))
  const [report] = seen(scheduler)
  assert.deepEqual(report && layersOf(report), ['0 0 1 0 0 0', '2 0 0 0 0 0', '1 0 0 0 0 0'])
})

test('what depends on a failed node has failed too', () => {
  const scheduler = watched()
  scheduler.receive('C', graph('g', ['d'], DIAMOND)).receive('W', result('a', 'failed'))
  const [report] = seen(scheduler)
  // Of two nodes that need it, the first to fail takes the last one with it: the other one is no
  // longer needed.
  assert.deepEqual(
    [report?.status, report?.counts.failed, report?.counts.dropped],
    ['failed', 3, 1],
  )
})

test('a graph whose client leaves, or that it cancels, has ended', () => {
  const scheduler = watched()
  scheduler.receive('C', graph('g', ['d'], DIAMOND))
  scheduler.receive('C', graph('h', ['x'], [node('x'), node('y', ['x'])]))
  scheduler.receive('C', { kind: 'graphTaskCancel', taskId: taskId('h') })
  scheduler.receive('C', { kind: 'clientDisconnect', disconnectType: 'disconnect' })
  assert.deepEqual(
    seen(scheduler)
      .map(({ graphId, status }) => `${graphId} ${status}`)
      .sort(),
    ['g canceled', 'h canceled'],
  )
})

test('many layers are added up, and many nodes only counted', () => {
  const scheduler = watched()
  const chain = Array.from({ length: 250 }, (_, at) =>
    node(`n${at}`, at === 0 ? [] : [`n${at - 1}`]),
  )
  scheduler.receive('C', graph('g', ['n249'], chain))
  const [report] = seen(scheduler)
  assert.deepEqual([report?.nodes, report?.edges], [[], []])
  assert.deepEqual([report?.layers.length, report?.layers[0]?.layers], [84, 3])
  assert.equal(report?.layers.at(-1)?.layers, 1)
  const sum = report?.layers.reduce((all, { waiting, running }) => all + waiting + running, 0)
  assert.equal(sum, 250)
})

test('without a monitor that wants graphs, only small ones are remembered', () => {
  const scheduler = watched({ wantsGraphs: false, wantsPeers: false })
  scheduler.receive('C', graph('small', ['d'], DIAMOND))
  const many = Array.from({ length: 201 }, (_, at) => node(`n${at}`))
  scheduler.receive('C', graph('large', ['n1'], many))
  assert.deepEqual(seen(scheduler), [])
  scheduler.receive('M', { ...WISH, credit: 1 })
  const reports = seen(scheduler)
  assert.deepEqual(
    reports.map(({ graphId, layers, counts }) => [graphId, layers.length, counts.ready]),
    [
      ['small', 3, 0],
      ['large', 0, 201],
    ],
  )
  assert.equal(reports[0]?.client, identity('C'))
})

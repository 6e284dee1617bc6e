import assert from 'node:assert/strict'
import { test } from 'node:test'
import { objectId } from '../../../base/ids.js'
import { latin1ToBytes } from '../../../base/bytes.js'
import type { ObjectEntry } from '../entries.js'
import { FunctionTable } from './report.js'
import type { Task } from '../../../wire/message.js'
import { graph, node } from '../graph/graph.kit.js'
import {
  cancel,
  instruction,
  result,
  task,
  withPeers,
  workerHeartbeat,
  type TestScheduler,
} from '../scheduler.kit.js'
import type { SchedulerMetrics } from './metrics.js'

test('metrics count waiting tasks in the words of users, workers by state, and ended tasks', () => {
  const scheduler = withPeers({ clients: ['C'] })
  const { machine } = scheduler
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  assert.deepEqual(Object.fromEntries(machine.metrics.waiting), {
    'no-worker': 3,
    'no-runtime': 0,
    'no-capability': 0,
    'all-busy': 0,
    dependency: 0,
  })
  scheduler.receive('V', workerHeartbeat())
  scheduler.receive('W', workerHeartbeat())
  const { running, workers, waiting } = machine.metrics
  assert.deepEqual([running, waiting.get('all-busy')], [2, 1])
  assert.deepEqual(workers, { idle: 0, busy: 2, leaving: 0 })
  scheduler.receive('V', result('a', 'success')).receive('W', result('b', 'failed'))
  scheduler.receive('C', cancel('c', true)).receive('V', result('c', 'canceled'))
  const after = machine.metrics
  assert.deepEqual(
    ['success', 'failed', 'canceled'].map((status) => after.ended.get(status as 'success')),
    [1, 1, 1],
  )
  assert.deepEqual(after.workers, { idle: 2, busy: 0, leaving: 0 })
})

test('waiting tasks are counted exactly, whatever the number of reasons, functions and graphs', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  for (let n = 0; n < 250; n += 1) {
    const capabilities = [{ name: `needs-${n}`, value: -1 }]
    scheduler.receive('C', { ...task(`n${n}`, 'C'), capabilities })
  }
  for (const id of ['a', 'b', 'c']) scheduler.receive('C', task(id, 'C'))
  for (let n = 0; n < 250; n += 1) {
    const id = `g${n}`
    const nodes = [node(`${id}-first`), node(`${id}-then`, [`${id}-first`])]
    scheduler.receive('C', graph(id, [`${id}-then`], nodes))
  }
  const { waiting } = scheduler.machine.metrics
  assert.deepEqual(
    ['no-capability', 'all-busy', 'dependency'].map((reason) => waiting.get(reason as 'all-busy')),
    [250, 252, 250],
  )
})

test('the time in the queue is counted at each assignment', () => {
  const scheduler = withPeers({ clients: ['C'] })
  scheduler.receive('C', task('a', 'C')).moveTo(scheduler.now + 2_000)
  scheduler.receive('W', workerHeartbeat()).receive('C', task('b', 'C'))
  scheduler.moveTo(scheduler.now + 500).receive('W', result('a'))
  const { queueTimes } = scheduler.machine.metrics
  assert.deepEqual([queueTimes.count, queueTimes.sum], [2, 2_500])
})

/** Runs tasks of a function, one after the other; half of them fail. */
function runTasks(scheduler: TestScheduler, name: string, count: number): void {
  scheduler.receive('C', instruction('create', 'C', [name]))
  const { now } = scheduler
  for (let n = 0; n < count; n += 1) {
    const id = `${name}-${now}-${n}`
    const one: Task = { ...task(id, 'C'), funcObjectId: objectId(name) }
    scheduler.receive('C', one).receive('W', result(id, n % 2 === 0 ? 'success' : 'failed', 0.5))
  }
  scheduler.moveTo(now + 1).actions()
}

type Row = SchedulerMetrics['functions'][number]

/** The rows by function; fails if a counter is less than in `before`, or their sum is wrong. */
function rowsOf(scheduler: TestScheduler, before: ReadonlyMap<string, Row>): Map<string, Row> {
  const { functions, ended, durations } = scheduler.machine.metrics
  const rows = new Map(functions.map((row) => [row.name, row]))
  const sum = (key: Exclude<keyof Row, 'name'>): number =>
    functions.reduce((all, row) => all + row[key], 0)
  const failed = ended.get('failed') ?? 0
  assert.equal(sum('ended'), (ended.get('success') ?? 0) + failed)
  assert.equal(sum('failed'), failed)
  assert.deepEqual([sum('measured'), sum('totalMs')], [durations.count, durations.sum])
  for (const [name, old] of before) {
    const row = rows.get(name)
    for (const key of ['ended', 'failed', 'measured', 'totalMs'] as const) {
      assert.ok(row !== undefined && row[key] >= old[key], `${key} of ${name}`)
    }
  }
  return rows
}

test('the busiest functions have counters of their own, none of which decreases', () => {
  const scheduler = withPeers({ clients: ['C'], workers: ['W'] })
  let rows: Map<string, Row> = new Map()
  for (let n = 0; n < 60; n += 1) runTasks(scheduler, `early-${n}`, 3)
  rows = rowsOf(scheduler, rows)
  assert.equal(rows.size, 51)
  assert.equal(rows.get('name of early-49')?.ended, 3)
  assert.equal(rows.get('other')?.ended, 30)
  runTasks(scheduler, 'busy', 99)
  rows = rowsOf(scheduler, rows)
  assert.ok(!rows.has('name of busy'))
  runTasks(scheduler, 'busy', 5)
  rows = rowsOf(scheduler, rows)
  assert.equal(rows.get('name of busy')?.ended, 3, 'since it was listed')
  assert.equal(rows.get('other')?.ended, 30 + 101)
})

test('at most 200 functions have counters of their own, and equally busy ones keep theirs', () => {
  const table = new FunctionTable()
  const functions = Array.from({ length: 300 }, (_, n) => {
    return { name: latin1ToBytes(`f${n}`), counts: undefined } as unknown as ObjectEntry
  })
  const run = (fn: ObjectEntry, count: number): void => {
    for (let n = 0; n < count; n += 1) table.count(fn, 'success', undefined)
  }
  const listed = (): number => [...table.all()].filter(({ before }) => before !== undefined).length
  for (const fn of functions) run(fn, 150)
  assert.equal(listed(), 50)
  for (const [group, expected] of [100, 150, 200, 200].entries()) {
    const begin = 50 * (group + 1)
    for (const fn of functions.slice(begin, begin + 50)) run(fn, 450 * 3 ** group)
    assert.equal(listed(), expected)
  }
})

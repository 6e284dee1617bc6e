import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId } from '../../base/ids.js'
import type { MonitorReport, StateScheduler, StateTask, TaskStatus } from '../../wire/message.js'
import { encodeProfileResult } from '../../wire/metadata.js'
import { PublishedState } from './published.js'

const WORKER = identity('7|one|0123456789abcdef0123456789abcdef')

function state(more: Partial<StateScheduler['taskManager']> = {}, itl = '111'): StateScheduler {
  const counts = { unassigned: 3, running: 2, success: 10, failed: 4, canceled: 1, notFound: 0 }
  return {
    kind: 'stateScheduler',
    binder: { received: [], sent: [] },
    scheduler: { cpu: 12, rss: 500 },
    rssFree: 900,
    clientManager: { clientToNumOfTask: [{ client: identity('C'), numTask: 5 }] },
    objectManager: { numberOfObjects: 6 },
    taskManager: { ...counts, ...more },
    workerManager: {
      workers: [
        {
          workerId: WORKER,
          agent: { cpu: 1, rss: 2 },
          rssFree: 3,
          free: 998,
          sent: 2,
          queued: 1,
          suspended: 0,
          lagUS: 4,
          lastS: 0,
          itl,
          processorStatuses: [],
        },
      ],
    },
  }
}

function change(id: string, status: TaskStatus, more: Partial<StateTask> = {}): StateTask {
  return {
    kind: 'stateTask',
    taskId: taskId(id),
    functionName: Buffer.from('price'),
    status,
    worker: identity(''),
    metadata: new Uint8Array(),
    ...more,
  }
}

function reportOf(published: PublishedState, at: number, of = state()): MonitorReport {
  const report = published.handle(of, at)
  assert.ok(report !== undefined)
  return report
}

test('the state of the scheduler becomes a report', () => {
  const published = new PublishedState()
  const [first] = reportOf(published, 1_000).states
  assert.ok(first !== undefined)
  assert.deepEqual([first.waiting, first.running, first.objects], [3, 2, 6])
  assert.deepEqual(
    first.ended.map(({ status, tasks }) => [status, tasks]),
    [
      ['success', 10],
      ['failed', 4],
      ['canceled', 1],
      ['notFound', 0],
    ],
  )
  assert.deepEqual(
    first.clientReports.map(({ client, tasks }) => [client, tasks]),
    [['C', 5]],
  )
  assert.equal(first.workerReports[0]?.worker.workerId, WORKER)
  assert.ok(Number.isNaN(first.submittedPerS))
  const [second] = reportOf(published, 3_000, state({ success: 20, failed: 5 })).states
  assert.deepEqual([second?.submittedPerS, second?.endedPerS, second?.failedPerS], [5.5, 5.5, 0.5])
})

test('tasks end with the worker that they ran on, and with their times', () => {
  const published = new PublishedState()
  published.handle(change('t', 'inactive'), 1_000)
  published.handle(change('t', 'running', { worker: WORKER }), 1_400)
  const profile = { durationSeconds: 0.25, peakMemoryBytes: 0, cpuSeconds: 0 }
  const metadata = encodeProfileResult(profile)
  assert.equal(published.handle(change('t', 'success', { metadata }), 1_700), undefined)
  const [event, ...others] = reportOf(published, 2_000).events
  assert.deepEqual(others, [])
  assert.deepEqual(event, {
    taskId: 't',
    name: '',
    function: 'price',
    client: '',
    worker: WORKER,
    status: 'success',
    queuedAgoMS: 1_000,
    startAgoMS: 600,
    endAgoMS: 300,
    durationMS: 250,
    errorName: '',
    attempts: 1,
    past: [],
  })
  const { events, states } = reportOf(published, 3_000)
  assert.deepEqual(events, [])
  const [price, ...functions] = states[0]?.functions ?? []
  assert.deepEqual(functions, [])
  assert.deepEqual([price?.name, price?.ended, price?.failed, price?.p99MS], ['price', 1, 0, 250])
})

test('a task that was sent before has no times, one that was lost has two attempts', () => {
  const published = new PublishedState()
  published.handle(change('old', 'failed'), 500)
  published.handle(change('t', 'running', { worker: identity('W') }), 600)
  published.handle(change('t', 'inactive'), 700)
  published.handle(change('t', 'running', { worker: WORKER }), 800)
  published.handle(change('t', 'canceling'), 850)
  published.handle(change('t', 'canceled'), 900)
  const [old, task] = reportOf(published, 1_000).events
  assert.deepEqual([old?.worker, old?.startAgoMS, old?.attempts], ['', 0, 0])
  assert.deepEqual([task?.worker, task?.startAgoMS, task?.attempts], [WORKER, 200, 2])
})

test('a worker runs the oldest of its tasks, if it runs any', () => {
  const published = new PublishedState()
  for (const [at, id] of ['a', 'b'].entries()) {
    published.handle(change(id, 'running', { worker: WORKER }), 100 * at)
  }
  const runningOf = (itl: string): unknown => {
    const [report] = reportOf(published, 1_000, state({}, itl)).states
    return report?.workerReports[0]?.running
  }
  const price = { name: 'price', function: 'price' }
  assert.deepEqual(runningOf('111'), [{ taskId: 'a', ...price, forMS: 1_000 }])
  assert.deepEqual(runningOf('101'), [])
  published.handle(change('a', 'success'), 1_100)
  assert.deepEqual(runningOf('111'), [{ taskId: 'b', ...price, forMS: 900 }])
})

test('what is remembered is bounded, and what is left out is counted', () => {
  const published = new PublishedState()
  for (let index = 0; index < 100_010; index += 1) {
    published.handle(change(`t${index}`, 'running', { worker: WORKER }), 1)
  }
  for (let index = 0; index < 10_020; index += 1) published.handle(change(`t${index}`, 'failed'), 2)
  const report = reportOf(published, 3)
  assert.deepEqual([report.events.length, report.lostEvents], [10_000, 20])
  assert.deepEqual([report.events[0]?.worker, report.events[10]?.worker], ['', WORKER])
})

// What monitors are told about the tasks that run on workers of Python Scaler, which do not tell.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MonitorRequest, RunningTask, WorkerHeartbeat } from '../../../wire/message.js'
import {
  cancel,
  clientHeartbeat,
  PYTHON,
  result,
  task,
  TestScheduler,
  workerHeartbeat,
} from '../scheduler.kit.js'

const STATES: MonitorRequest = {
  kind: 'monitorRequest',
  credit: 100,
  wantsEvents: false,
  wantsFailures: false,
  failuresAfter: 0,
  wantsGraphs: false,
  wantsPeers: false,
}
const BUSY = { hasTask: true, suspended: false }
const SUSPENDED = { hasTask: true, suspended: true }
const FREE = { hasTask: false, suspended: false }

/** A heartbeat of a 1.9.9 worker: its processors, and how many tasks have not begun. */
function beat(
  queuedTasks: number,
  ...processors: readonly { readonly hasTask: boolean; readonly suspended: boolean }[]
): WorkerHeartbeat {
  const statuses = processors.map((processor, index) => {
    return { ...processor, pid: index + 1, initialized: true, resource: { cpu: 0, rss: 1 } }
  })
  return { ...workerHeartbeat(PYTHON), queuedTasks, processors: statuses }
}

/** A scheduler with the monitor M, the Python client P and its worker Q. */
function withPython(): TestScheduler {
  const scheduler = new TestScheduler()
  scheduler.receive('M', { ...clientHeartbeat(), wantsReport: true }).receive('M', STATES)
  scheduler.receive('P', clientHeartbeat(PYTHON)).receive('Q', beat(0, FREE))
  return scheduler
}

/** What the only worker runs, and how many tasks it has. */
function look(scheduler: TestScheduler): readonly [readonly RunningTask[], number] {
  scheduler.actions()
  scheduler.handle({
    type: 'statisticsSampled',
    scheduler: { cpu: 0, rss: 1 },
    rssFree: 1,
    turnP99Ms: 1,
  })
  const [report] = scheduler
    .moveTo(scheduler.now)
    .actions()
    .flatMap((action) => {
      const isReport = action.type === 'send' && action.message.kind === 'monitorReport'
      return isReport ? action.message.states.flatMap(({ workerReports }) => workerReports) : []
    })
  assert.ok(report !== undefined)
  return [report.running, report.worker.sent]
}

/** The ids of the tasks that it runs. */
function running(scheduler: TestScheduler): readonly string[] {
  return look(scheduler)[0].map(({ taskId }) => taskId)
}

test('a busy 1.9.9 worker runs the oldest of its tasks, since it was assigned', () => {
  const scheduler = withPython()
  for (const id of ['a', 'b']) scheduler.receive('P', { ...task(id, 'P', 1), name: id })
  assert.deepEqual(running(scheduler), [], 'its last heartbeat is from before')
  scheduler.moveTo(700).receive('Q', beat(1, BUSY)).moveTo(1_000)
  const first = { taskId: 'a', forMS: 1_000, name: 'a', function: '' }
  assert.deepEqual(look(scheduler), [[first], 2])
  scheduler.receive('Q', result('a'))
  assert.deepEqual(running(scheduler), [], 'it has not said what follows')
  assert.deepEqual(running(scheduler.receive('Q', beat(0, BUSY))), ['b'])
  assert.deepEqual(running(scheduler.receive('Q', beat(0, FREE))), [])
})

test('a more urgent task runs instead of the one that is suspended for it', () => {
  const scheduler = withPython()
  scheduler.receive('P', task('a', 'P', 1)).receive('P', task('b', 'P', 2))
  assert.deepEqual(running(scheduler.receive('Q', beat(0, SUSPENDED, BUSY))), ['b'])
  scheduler.receive('Q', result('b'))
  assert.deepEqual(running(scheduler.receive('Q', beat(0, BUSY))), ['a'])
})

test('a worker that still runs a task which its client has cancelled runs none that is known', () => {
  const scheduler = withPython()
  scheduler.receive('P', task('a', 'P', 1)).receive('P', task('b', 'P', 1))
  scheduler.receive('P', cancel('a')).receive('Q', result('a', 'notFound'))
  assert.deepEqual(running(scheduler.receive('Q', beat(1, BUSY))), [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity } from '../../base/ids.js'
import { PLAIN_REPORT, type SchedulerReport, type WorkerReport } from '../../wire/message.js'
import { type FoundWaiting, foundHosts, foundWaiting } from './peers.js'
import { countWorkers, type WorkerCount, workerProblem } from './workers.js'

const REPORT: SchedulerReport = {
  version: '1.2.3',
  runtime: 'node/20.20.2',
  clockMS: 1_000_000,
  monitorAddress: 'tcp://0.0.0.0:99',
  workers: 3,
  suitable: 2,
  idle: 1,
  ...PLAIN_REPORT,
}

const VIEW = {
  workers: 5,
  readyWorkers: 4,
  idleWorkers: 3,
  waitingTasks: 0,
  runningTasks: 0,
  objects: 0,
}

const NO_USE = { cpu: 0, rss: 0 }

/** A worker of Python Scaler that is ready and has `sent` tasks. */
function pythonWorker(sent: number, more: Partial<WorkerReport> = {}): WorkerReport {
  return {
    worker: {
      workerId: identity(`${sent}|vm|00112233445566778899aabbccddeeff`),
      agent: NO_USE,
      rssFree: 0,
      free: 1_000 - sent,
      sent,
      queued: 0,
      suspended: 0,
      lagUS: 0,
      lastS: 0,
      itl: '101',
      processorStatuses: [],
    },
    runtime: '',
    agentId: '',
    capabilities: [],
    isLeaving: false,
    info: [],
    running: [],
    address: '',
    ...more,
  }
}

const PYTHON_ONLY: WorkerCount = { total: 2, suitable: 0, idle: 0, python: { total: 2, idle: 2 } }

function waitingFor(reason: FoundWaiting['reason'], runtime?: 'python'): FoundWaiting {
  const kind = { reason, needs: '', function: 'f', tasks: 2, forMs: 0 }
  return runtime === undefined ? kind : { ...kind, runtime }
}

test('workers are counted by the report, or else as monitors see them', () => {
  assert.deepEqual(countWorkers(REPORT, VIEW), { total: 3, suitable: 2, idle: 1 })
  assert.deepEqual(countWorkers(undefined, VIEW), { total: 5, suitable: undefined, idle: 3 })
  assert.equal(countWorkers(undefined, undefined), undefined)
})

test('workers of Python Scaler that accept tasks are counted on their own, by host', () => {
  const reports = [
    pythonWorker(0),
    pythonWorker(1),
    pythonWorker(2, { isLeaving: true }),
    pythonWorker(3, { runtime: 'node/20.20.2' }),
  ]
  const report = { ...REPORT, workers: 4, workerReports: reports }
  const python = { total: 2, idle: 1 }
  assert.deepEqual(countWorkers(report, VIEW), { total: 4, suitable: 2, idle: 1, python })
  const [host] = foundHosts({ ...report, workerReports: [pythonWorker(0)] })
  assert.equal(host?.host, 'vm')
})

test('waiting tasks of Python clients are told apart', () => {
  const row = { reason: 'noRuntime', needs: '', function: 'f', tasks: 1, forMS: 2 } as const
  const waiting = [true, false].map((isPython) => ({ ...row, isPython }))
  const found = { reason: 'no-runtime', needs: '', function: 'f', tasks: 1, forMs: 2 }
  assert.deepEqual(foundWaiting({ ...REPORT, waiting }), [{ ...found, runtime: 'python' }, found])
})

test('it is fatal if there are no workers, or none accepts tasks', () => {
  const problem = (total: number, suitable: number | undefined): string | undefined =>
    workerProblem({ total, suitable, idle: 0 }, 'tcp://h:1')?.what
  assert.match(problem(0, 0) ?? '', /no workers/)
  assert.match(problem(0, undefined) ?? '', /no workers/)
  assert.match(problem(1, 0) ?? '', /its only worker does not accept tasks, so no task would run/)
  assert.match(problem(2, 0) ?? '', /none of its 2 workers accepts tasks/)
  assert.equal(problem(2, 1), undefined)
  assert.equal(problem(2, undefined), undefined)
})

test('without workers, the advice is for the tasks that wait', () => {
  const advice = (...waiting: readonly FoundWaiting[]): string | undefined =>
    workerProblem({ total: 0, suitable: 0, idle: 0 }, 'tcp://h:1', waiting)?.advice
  const python = 'Python workers: scaler_cluster tcp://h:1 (the command of Python Scaler)'
  const ours = 'start JavaScript workers: scaler_cluster tcp://h:1'
  assert.equal(advice(), ours)
  assert.equal(advice(waitingFor('no-worker')), ours)
  assert.equal(advice(waitingFor('no-worker', 'python')), `start ${python}`)
  const both = [waitingFor('no-worker', 'python'), waitingFor('no-worker')]
  assert.equal(advice(...both), `${ours}, and ${python}`)
})

test('a cluster of Python workers is healthy, with a note for users of this package', () => {
  const problem = workerProblem(PYTHON_ONLY, 'tcp://h:1', [waitingFor('all-busy', 'python')])
  assert.equal(problem?.isFatal, false)
  assert.equal(
    problem.what,
    'none of its 2 workers runs JavaScript: tasks of Python clients run, but those of this ' +
      'package would wait, so no test task was submitted',
  )
  assert.equal(problem.advice, 'for these, start JavaScript workers: scaler_cluster tcp://h:1')
  const one = { total: 1, suitable: 0, idle: 0, python: { total: 1, idle: 1 } }
  assert.match(workerProblem(one, 'tcp://h:1')?.what ?? '', /^its only worker does not run Java/)
})

test('it is fatal if tasks of JavaScript clients wait and no worker runs JavaScript', () => {
  const waiting = [waitingFor('no-runtime'), waitingFor('no-runtime')]
  const problem = workerProblem(PYTHON_ONLY, 'tcp://h:1', waiting)
  assert.equal(problem?.isFatal, true)
  assert.equal(
    problem.what,
    'none of its 2 workers runs JavaScript, and 4 tasks of JavaScript clients wait for one ' +
      'that does',
  )
  assert.equal(problem.advice, 'start JavaScript workers: scaler_cluster tcp://h:1')
})

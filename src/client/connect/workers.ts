// The workers that `scaler doctor` finds, and whether tasks would run: those of this package, and
// those of Python clients.

import { counted } from '../../base/text.js'
import type { SchedulerReport } from '../../wire/message.js'
import { workerStateOf } from '../monitor/worker-report.js'
import { startWorkersText } from '../worker-advice.js'
import type { DiagnosisProblem } from './diagnosis.js'
import type { FoundWaiting } from './peers.js'
import type { MonitorView } from './probe.js'

/** The number of workers of a scheduler. */
export interface WorkerCount {
  readonly total: number
  /** The number of them that run JavaScript; undefined if the scheduler does not report it. */
  readonly suitable: number | undefined
  /** The number of idle ones: among the suitable workers, or among all if that is unknown. */
  readonly idle: number
  /** Those of Python Scaler, among the first 1,000 workers. Absent: none, or unknown. */
  readonly python?: PythonWorkerCount
}

/** The workers of Python Scaler that accept tasks. */
interface PythonWorkerCount {
  readonly total: number
  readonly idle: number
}

/** The workers as the scheduler reports them, or else as monitors see them. */
export function countWorkers(
  report: SchedulerReport | undefined,
  view: MonitorView | undefined,
): WorkerCount | undefined {
  if (report !== undefined) {
    const { workers: total, suitable, idle } = report
    return { total, suitable, idle, ...pythonWorkers(report) }
  }
  if (view === undefined) return undefined
  return { total: view.workers, suitable: undefined, idle: view.idleWorkers }
}

function pythonWorkers({ workerReports }: SchedulerReport): Pick<WorkerCount, 'python'> {
  const all = workerReports.filter(({ runtime, isLeaving }) => runtime === '' && !isLeaving)
  if (all.length === 0) return {}
  const idle = all.filter((report) => workerStateOf(report) === 'idle')
  return { python: { total: all.length, idle: idle.length } }
}

/**
 * Why no task of this package would run; undefined if tasks would run. A cluster for Python clients
 * is healthy, unless tasks of this package wait already.
 */
export function workerProblem(
  { total, suitable, python }: WorkerCount,
  address: string,
  waiting: readonly FoundWaiting[] = [],
): DiagnosisProblem | undefined {
  if (suitable !== 0 && total !== 0) return undefined
  if (total === 0 || python === undefined) {
    const all =
      total === 1 ? 'its only worker does not accept' : `none of its ${total} workers accepts`
    const who = total === 0 ? 'the scheduler has no workers' : `${all} tasks`
    const runtimes = waiting.map(({ runtime }) => runtime ?? 'javascript')
    const advice = startWorkersText(runtimes, address)
    return { part: 'workers', isFatal: true, what: `${who}, so no task would run`, advice }
  }
  const who = total === 1 ? 'its only worker does not run' : `none of its ${total} workers runs`
  const advice = startWorkersText(['javascript'], address)
  const lacking = waiting.filter(({ reason, runtime }) => {
    return reason === 'no-runtime' && runtime === undefined
  })
  const tasks = lacking.reduce((sum, each) => sum + each.tasks, 0)
  if (tasks > 0) {
    const wait = `${counted(tasks, 'task')} of JavaScript clients ${tasks === 1 ? 'waits' : 'wait'}`
    const what = `${who} JavaScript, and ${wait} for one that does`
    return { part: 'workers', isFatal: true, what, advice }
  }
  const what =
    `${who} JavaScript: tasks of Python clients run, but those of this package would wait, ` +
    'so no test task was submitted'
  return { part: 'workers', isFatal: false, what, advice: `for these, ${advice}` }
}

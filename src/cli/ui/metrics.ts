// What `scaler ui` knows as metrics, for clusters whose scheduler serves none. Those that the
// scheduler has as well have the same names. docs/monitoring.md#metrics-of-the-page

import { WAITING_REASONS } from '../../base/waiting-reason.js'
import { MetricsText, samplesOf, type Sample } from '../../scheduler/metrics-text.js'
import { overviewOf } from './answers.js'
import type { Board } from './board.js'

/** The text of a scrape, in the format 0.0.4. */
export function uiMetrics(board: Board, nowMs: number): string {
  const text = new MetricsText('plain')
  const { stale, workers, objects, cpu, memory, lost, lostEvents, graphs } = overviewOf(
    board,
    nowMs,
  )
  const { info } = board
  text.gauge('scaler_up', 'Whether the scheduler reports.', one(stale ? 0 : 1))
  // What an absent scheduler said last is not how it is.
  if (info === undefined || stale) return text.end()
  const { running, waiting: _, ...ended } = info.tasks
  text.counter('scaler_tasks', 'Tasks that ended.', samplesOf('outcome', mapOf(ended)))
  const waiting = new Map<string, number>(WAITING_REASONS.map((reason) => [reason, 0]))
  for (const { reason, count } of info.waiting) {
    waiting.set(reason, (waiting.get(reason) ?? 0) + count)
  }
  text.gauge('scaler_tasks_waiting', 'Tasks that wait.', samplesOf('reason', waiting))
  text.gauge('scaler_tasks_running', 'Tasks held by workers.', one(running))
  text.gauge('scaler_workers', 'Connected workers.', samplesOf('state', mapOf(workers)))
  // Not the counter of the scheduler: workers that have returned are not included.
  const missing = lost === null ? [] : one(lost.count)
  text.gauge('scaler_workers_missing', 'Workers lost in the last ten minutes.', missing)
  text.gauge('scaler_clients', 'Connected clients.', one(info.clients.length))
  text.gauge('scaler_graphs', 'Graphs that have not ended.', graphs === null ? [] : one(graphs))
  text.gauge('scaler_objects', 'Stored objects.', objects === null ? [] : one(objects.count))
  text.gauge('scaler_workers_cpu_cores', 'CPU of workers and agents.', one(cpu / 100))
  text.gauge('scaler_workers_resident_memory_bytes', 'Memory of workers.', one(memory))
  text.counter(
    'scaler_function_tasks',
    'Tasks that ended, by function.',
    info.functions.flatMap(({ name, count, failed }): Sample[] => [
      [{ function: name, outcome: 'failed' }, failed],
      [{ function: name, outcome: 'other' }, count - failed],
    ]),
  )
  text.counter('scaler_ui_lost_events', 'Events that were not reported.', one(lostEvents))
  return text.end()
}

function one(value: number): readonly Sample[] {
  return [[{}, value]]
}

function mapOf(counts: Readonly<Record<string, number>>): ReadonlyMap<string, number> {
  return new Map(Object.entries(counts))
}

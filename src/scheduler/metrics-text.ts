// Metrics as text: OpenMetrics 1.0, and the older format 0.0.4 for readers that know only that one.

import type { Histogram } from '../base/histogram.js'
import type { SchedulerMetrics } from '../core/scheduler/monitor/metrics.js'

/** Everything that is shown. Times in milliseconds. */
export interface MetricsSnapshot extends SchedulerMetrics {
  /** The turns of the event loop. */
  readonly turns: Histogram
}

/** What the scheduler's process is and uses. */
interface ProcessFacts {
  readonly cpuSeconds: number
  readonly residentBytes: number
  /** File descriptors: how many are open, and may be; undefined where that is unknown. */
  readonly openDescriptors: number | undefined
  readonly maxDescriptors: number | undefined
  /** Seconds since 1970. */
  readonly startedAtSeconds: number
  readonly version: string
  readonly node: string
}

/** The two formats. */
export type MetricsFormat = 'openmetrics' | 'plain'

type Labels = Readonly<Record<string, string>>
/** One value. */
export type Sample = readonly [labels: Labels, value: number]

/** Bounds in a histogram: each 1.77 times the one before, about fifty in all. */
const BUCKET_STEP = 6

/** The text of a scrape. */
export function metricsText(
  metrics: MetricsSnapshot,
  facts: ProcessFacts,
  format: MetricsFormat,
): string {
  const text = new MetricsText(format)
  const { ended, waiting, workers, objects, functions } = metrics
  text.counter('scaler_tasks', 'Tasks that ended.', samplesOf('outcome', ended))
  text.gauge('scaler_tasks_waiting', 'Tasks that wait.', samplesOf('reason', waiting))
  text.gauge('scaler_tasks_running', 'Tasks held by workers.', [[{}, metrics.running]])
  const states = new Map(Object.entries(workers))
  text.gauge('scaler_workers', 'Connected workers.', samplesOf('state', states))
  const lost = new Map(Object.entries(metrics.lost))
  text.counter('scaler_workers_lost', 'Workers that were lost.', samplesOf('cause', lost))
  const { durations, queueTimes, turns } = metrics
  text.histogram('scaler_task_duration_seconds', 'Measured durations of tasks.', durations)
  text.histogram('scaler_task_queue_seconds', 'Time in the queue of the scheduler.', queueTimes)
  text.gauge('scaler_objects', 'Stored objects.', [[{}, objects.count]])
  const inMemory: Sample = [{ place: 'scheduler' }, objects.bytes - objects.fileBytes]
  const inFiles: Sample = [{ place: 'files' }, objects.fileBytes - objects.diskBytes]
  const onDisk: Sample = [{ place: 'disk' }, objects.diskBytes]
  const onServers: Sample = [{ place: 'servers' }, objects.serverBytes]
  const places = [inMemory, inFiles, onDisk, onServers]
  text.gauge('scaler_object_bytes', 'Size of stored objects.', places)
  text.gauge('scaler_object_limit_bytes', 'Room for objects.', [[{}, objects.limitBytes]])
  text.counter('scaler_objects_refused', 'Objects without room.', [[{}, objects.refused]])
  text.histogram('scaler_scheduler_turn_seconds', 'Turns of the event loop.', turns)
  text.counter(
    'scaler_function_tasks',
    'Tasks that ended, by function.',
    functions.flatMap(({ name, ended: all, failed }): Sample[] => [
      [{ function: name, outcome: 'failed' }, failed],
      [{ function: name, outcome: 'other' }, all - failed],
    ]),
  )
  text.summary(
    'scaler_function_duration_seconds',
    'Measured durations of tasks, by function.',
    functions.map(({ name, measured }) => [{ function: name }, measured]),
    functions.map(({ name, totalMs }) => [{ function: name }, totalMs / 1_000]),
  )
  text.counter('scaler_process_cpu_seconds', 'CPU time.', [[{}, facts.cpuSeconds]])
  text.gauge('scaler_process_resident_memory_bytes', 'Memory.', [[{}, facts.residentBytes]])
  text.gauge('scaler_process_open_fds', 'File descriptors.', known(facts.openDescriptors))
  text.gauge('scaler_process_max_fds', 'Limit of these.', known(facts.maxDescriptors))
  text.gauge('scaler_process_start_time_seconds', 'Start.', [[{}, facts.startedAtSeconds]])
  const { version, node } = facts
  text.gauge('scaler_build_info', 'Versions.', [[{ version, node }, 1]])
  return text.end()
}

/** A value for each value of a label. */
export function samplesOf(label: string, counts: ReadonlyMap<string, number>): readonly Sample[] {
  return [...counts].map(([value, count]): Sample => [{ [label]: value }, count])
}

function known(value: number | undefined): readonly Sample[] {
  return value === undefined ? [] : [[{}, value]]
}

/** Writes metrics, one family after the other. */
export class MetricsText {
  readonly #format: MetricsFormat
  #text = ''

  constructor(format: MetricsFormat) {
    this.#format = format
  }

  /** `name`: without `_total`. */
  counter(name: string, help: string, samples: readonly Sample[]): void {
    this.#head(this.#format === 'openmetrics' ? name : `${name}_total`, 'counter', help)
    this.#samples(`${name}_total`, samples)
  }

  /** A gauge without samples is left out. */
  gauge(name: string, help: string, samples: readonly Sample[]): void {
    if (samples.length === 0) return
    this.#head(name, 'gauge', help)
    this.#samples(name, samples)
  }

  /** Times in milliseconds, shown in seconds. */
  histogram(name: string, help: string, histogram: Histogram): void {
    this.#head(name, 'histogram', help)
    for (const [boundMs, count] of histogram.cumulative(BUCKET_STEP)) {
      const le = String(Number((boundMs / 1_000).toPrecision(6)))
      this.#samples(`${name}_bucket`, [[{ le }, count]])
    }
    this.#samples(`${name}_bucket`, [[{ le: '+Inf' }, histogram.count]])
    this.#samples(`${name}_count`, [[{}, histogram.count]])
    this.#samples(`${name}_sum`, [[{}, histogram.sum / 1_000]])
  }

  /** Counts and sums without quantiles, in seconds. */
  summary(name: string, help: string, counts: readonly Sample[], sums: readonly Sample[]): void {
    this.#head(name, 'summary', help)
    const sumsOf = added(sums)
    // The two samples with the same labels must follow each other.
    for (const [key, count] of added(counts)) {
      this.#text += `${name}_count${key} ${count}\n${name}_sum${key} ${sumsOf.get(key) ?? 0}\n`
    }
  }

  end(): string {
    return this.#format === 'openmetrics' ? `${this.#text}# EOF\n` : this.#text
  }

  #head(name: string, type: string, help: string): void {
    this.#text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`
  }

  #samples(name: string, samples: readonly Sample[]): void {
    for (const [key, value] of added(samples)) this.#text += `${name}${key} ${value}\n`
  }
}

/** The values by labels as text. Those with the same text are added: no series may occur twice. */
function added(samples: readonly Sample[]): ReadonlyMap<string, number> {
  const series = new Map<string, number>()
  for (const [labels, value] of samples) {
    const key = labelText(labels)
    series.set(key, (series.get(key) ?? 0) + value)
  }
  return series
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** Lone surrogates become U+FFFD, as they do in UTF-8. */
function escaped(value: string): string {
  const text = Buffer.from(value).toString()
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

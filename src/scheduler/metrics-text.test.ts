import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram } from '../base/histogram.js'
import { type MetricsFormat, type MetricsSnapshot, metricsText } from './metrics-text.js'
import { readMetrics } from './metrics.kit.js'

const FACTS = {
  cpuSeconds: 1.5,
  residentBytes: 1_000,
  startedAtSeconds: 100,
  version: '1.2.3',
  node: '20.0.0',
}

function snapshot(changes: Partial<MetricsSnapshot> = {}): MetricsSnapshot {
  const none = { histogram: new Histogram(0.01, 600_000), sumMs: 0 }
  return {
    ended: new Map(),
    waiting: new Map(),
    running: 0,
    workers: { idle: 0, busy: 0, leaving: 0 },
    objects: { count: 0, bytes: 0 },
    durations: none,
    turns: none,
    functions: [],
    ...changes,
  }
}

const textOf = (metrics: MetricsSnapshot, format: MetricsFormat = 'openmetrics'): string =>
  metricsText(metrics, FACTS, format)

test('counts are shown with their labels', () => {
  const samples = readMetrics(
    textOf(
      snapshot({
        ended: new Map([
          ['success', 7],
          ['failed', 2],
        ]),
        running: 3,
        workers: { idle: 1, busy: 2, leaving: 4 },
      }),
    ),
  )
  assert.equal(samples.get('scaler_tasks_total{outcome="success"}'), 7)
  assert.equal(samples.get('scaler_tasks_total{outcome="failed"}'), 2)
  assert.equal(samples.get('scaler_tasks_running'), 3)
  assert.equal(samples.get('scaler_workers{state="leaving"}'), 4)
  assert.equal(samples.get('scaler_build_info{version="1.2.3",node="20.0.0"}'), 1)
})

test('a histogram is cumulative, in seconds, and complete', () => {
  const histogram = new Histogram(0.01, 600_000)
  for (const ms of [0.001, 1, 1_000, 10 ** 9]) histogram.add(ms)
  const samples = readMetrics(textOf(snapshot({ turns: { histogram, sumMs: 5_000 } })))
  const name = 'scaler_scheduler_turn_seconds'
  assert.equal(
    samples.get(`${name}_bucket{le="0.00001"}`) ?? samples.get(`${name}_bucket{le="1e-5"}`),
    1,
  )
  assert.equal(samples.get(`${name}_bucket{le="+Inf"}`), 4)
  assert.equal(samples.get(`${name}_count`), 4)
  assert.equal(samples.get(`${name}_sum`), 5)
  const buckets = [...samples].filter(([key]) => key.startsWith(`${name}_bucket`))
  const counts = buckets.map(([, count]) => count)
  assert.deepEqual(
    counts,
    counts.toSorted((a, b) => a - b),
  )
})

test('hostile function names are escaped, and equal ones are added', () => {
  const names = ['a"b', 'c\\', 'd\ne', '}\n# EOF\n', '\ud800', '\ufffd', '', 'other', 'other']
  const functions = names.map((name) => ({ name, ended: 3, failed: 1 }))
  const samples = readMetrics(textOf(snapshot({ functions })))
  const failed = (name: string): number | undefined =>
    samples.get(`scaler_function_tasks_total{function="${name}",outcome="failed"}`)
  assert.equal(failed('a\\"b'), 1)
  assert.equal(failed('c\\\\'), 1)
  assert.equal(failed('d\\ne'), 1)
  assert.equal(failed('}\\n# EOF\\n'), 1)
  assert.equal(failed('\ufffd'), 2)
  assert.equal(failed('other'), 2)
})

test('the older format has no end line, and types counters by their full name', () => {
  const text = textOf(snapshot(), 'plain')
  assert.doesNotMatch(text, /# EOF/)
  assert.match(text, /^# TYPE scaler_tasks_total counter$/m)
})

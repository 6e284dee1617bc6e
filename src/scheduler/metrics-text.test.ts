import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram } from '../base/histogram.js'
import { type MetricsFormat, type MetricsSnapshot, metricsText } from './metrics-text.js'
import { readMetrics, snapshot } from './metrics.kit.js'

const FACTS = {
  cpuSeconds: 1.5,
  residentBytes: 1_000,
  openDescriptors: 20,
  maxDescriptors: undefined,
  startedAtSeconds: 100,
  version: '1.2.3',
  node: '20.0.0',
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
        lost: { connection: 5, silence: 0 },
      }),
    ),
  )
  assert.equal(samples.get('scaler_tasks_total{outcome="success"}'), 7)
  assert.equal(samples.get('scaler_tasks_total{outcome="failed"}'), 2)
  assert.equal(samples.get('scaler_tasks_running'), 3)
  assert.equal(samples.get('scaler_workers{state="leaving"}'), 4)
  assert.equal(samples.get('scaler_workers_lost_total{cause="connection"}'), 5)
  assert.equal(samples.get('scaler_workers_lost_total{cause="silence"}'), 0)
  assert.equal(samples.get('scaler_process_open_fds'), 20)
  assert.ok(!samples.has('scaler_process_max_fds'), 'it is unknown')
  assert.equal(samples.get('scaler_build_info{version="1.2.3",node="20.0.0"}'), 1)
})

test('a histogram is cumulative, in seconds, and complete', () => {
  const histogram = new Histogram(0.01, 600_000)
  for (const ms of [0.001, 1, 1_000, 10 ** 9]) histogram.add(ms)
  const samples = readMetrics(textOf(snapshot({ turns: histogram })))
  const name = 'scaler_scheduler_turn_seconds'
  assert.equal(
    samples.get(`${name}_bucket{le="0.00001"}`) ?? samples.get(`${name}_bucket{le="1e-5"}`),
    1,
  )
  assert.equal(samples.get(`${name}_bucket{le="+Inf"}`), 4)
  assert.equal(samples.get(`${name}_count`), 4)
  assert.equal(samples.get(`${name}_sum`), 1_000_001.001001)
  const buckets = [...samples].filter(([key]) => key.startsWith(`${name}_bucket`))
  assert.ok(buckets.length < 60, `${buckets.length} bounds`)
  const bounds = buckets.slice(0, -1).map(([key]) => Number(/le="(.+)"/.exec(key)?.[1]))
  for (const [at, bound] of bounds.slice(1).entries()) {
    const ratio = bound / (bounds[at] ?? 0)
    assert.ok(ratio > 1.5 && ratio < 2, `${bound} after ${bounds[at]}`)
  }
  const counts = buckets.map(([, count]) => count)
  assert.deepEqual(
    counts,
    counts.toSorted((a, b) => a - b),
  )
})

test('hostile function names are escaped, and equal ones are added', () => {
  const names = ['a"b', 'c\\', 'd\ne', '}\n# EOF\n', '\ud800', '\ufffd', '', 'other', 'other']
  const functions = names.map((name) => {
    return { name, ended: 3, failed: 1, measured: 2, totalMs: 500 }
  })
  const samples = readMetrics(textOf(snapshot({ functions })))
  const failed = (name: string): number | undefined =>
    samples.get(`scaler_function_tasks_total{function="${name}",outcome="failed"}`)
  assert.equal(failed('a\\"b'), 1)
  assert.equal(failed('c\\\\'), 1)
  assert.equal(failed('d\\ne'), 1)
  assert.equal(failed('}\\n# EOF\\n'), 1)
  assert.equal(failed('\ufffd'), 2)
  assert.equal(failed('other'), 2)
  assert.equal(samples.get('scaler_function_duration_seconds_sum{function="other"}'), 1)
})

test('the older format has no end line, and types counters by their full name', () => {
  const text = textOf(snapshot(), 'plain')
  assert.doesNotMatch(text, /# EOF/)
  assert.match(text, /^# TYPE scaler_tasks_total counter$/m)
})

// For tests of metrics: a strict reader of OpenMetrics text, which shares no code with the writer, and
// something to write.

import assert from 'node:assert/strict'
import { Histogram } from '../base/histogram.js'
import type { MetricsSnapshot } from './metrics-text.js'

const SAMPLE =
  /^([a-z_]+)((?:\{[a-z]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z]+="(?:[^"\\\n]|\\[\\"n])*")*\})?) (\S+)$/
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum'],
  summary: ['_count', '_sum'],
}

/** The samples of a text, by name with labels. Fails if the text is not OpenMetrics. */
export function readMetrics(text: string): ReadonlyMap<string, number> {
  assert.ok(text.endsWith('\n# EOF\n'))
  const samples = new Map<string, number>()
  const families = new Set<string>()
  const groups = new Set<string>()
  let lastGroup = ''
  let family = ''
  let suffixes: readonly string[] = []
  for (const line of text.slice(0, -'# EOF\n'.length).trimEnd().split('\n')) {
    const type = /^# TYPE ([a-z_]+) ([a-z]+)$/.exec(line)
    if (type !== null) {
      family = type[1] ?? ''
      suffixes = SUFFIXES[type[2] ?? ''] ?? []
      assert.ok(suffixes.length > 0 && !families.has(family), line)
      families.add(family)
      continue
    }
    if (/^# HELP [a-z_]+ [^\n]+$/.test(line)) continue
    const [, name = '', labels = '', value = ''] = SAMPLE.exec(line) ?? []
    assert.ok(
      suffixes.some((suffix) => name === family + suffix),
      `not a sample of ${family}: ${line}`,
    )
    assert.ok(Number.isFinite(Number(value)), line)
    assert.ok(!samples.has(name + labels), `twice: ${line}`)
    samples.set(name + labels, Number(value))
    // The samples of one set of labels follow each other.
    const group = family + labels.replace(/[{,]le="[^"]*"/, '')
    assert.ok(group === lastGroup || !groups.has(group), `apart: ${line}`)
    groups.add((lastGroup = group))
  }
  return samples
}

/** The metrics of a scheduler without peers. */
export function snapshot(changes: Partial<MetricsSnapshot> = {}): MetricsSnapshot {
  const none = new Histogram(0.01, 600_000)
  return {
    ended: new Map(),
    waiting: new Map(),
    running: 0,
    workers: { idle: 0, busy: 0, leaving: 0 },
    lost: { connection: 0, silence: 0 },
    objects: {
      count: 0,
      bytes: 0,
      fileBytes: 0,
      diskBytes: 0,
      serverBytes: 0,
      limitBytes: 0,
      refused: 0,
    },
    durations: none,
    queueTimes: none,
    turns: none,
    functions: [],
    ...changes,
  }
}

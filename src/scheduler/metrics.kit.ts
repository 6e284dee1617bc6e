// A strict reader of OpenMetrics text, for tests. It shares no code with the writer.

import assert from 'node:assert/strict'

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
  }
  return samples
}

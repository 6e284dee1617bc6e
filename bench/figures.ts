// Figures and their output: medians over repetitions, a table for people, JSON for programs.

import { arch, cpus, platform } from 'node:os'

/** One measured quantity. */
export interface Figure {
  readonly name: string
  readonly unit: string
  /** One value per repetition; empty if it could not be measured on this machine. */
  readonly values: readonly number[]
  /** A remark for the reader: why there are no values, how it was measured. */
  readonly note?: string
}

/** The middle value; for an even count, the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}

/** The smallest value that at least `share` of all values do not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}

/** The ratio of each pair of figures, ours to theirs, if both were measured. */
export function ratios(figures: readonly Figure[]): Figure[] {
  const pairs = [
    ['map, no-op', 'limit'],
    ['submit, no-op', 'limit'],
    ['map, no-op', 'piscina, no-op'],
    ['map, no-op', 'workerpool, no-op'],
    ['submit, no-op', 'piscina, no-op'],
    ['submit, no-op', 'workerpool, no-op'],
  ] as const
  return pairs.flatMap(([ours, theirs]) => {
    const values = [ours, theirs].map((name) => figures.find((figure) => figure.name === name))
    const [one, other] = values.map((figure) => median(figure?.values ?? []))
    if (one === undefined || other === undefined || Number.isNaN(one / other)) return []
    return [{ name: `${ours} : ${theirs}`, unit: 'times', values: [one / other] }]
  })
}

/** All figures as aligned lines: name, median, unit, and the range of the repetitions. */
export function toTable(figures: readonly Figure[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length))
  const lines = figures.map(({ name, unit, values, note }) => {
    const value = values.length === 0 ? '-' : short(median(values))
    const range =
      values.length < 2 ? '' : `  (${short(Math.min(...values))} to ${short(Math.max(...values))})`
    const remark = note === undefined ? '' : `  ${note}`
    const columns = [name.padEnd(width), value.padStart(11), unit.padEnd(8)]
    return `${columns.join(' ')}${range}${remark}`.trimEnd()
  })
  return lines.join('\n')
}

/** The same for programs, with the information needed to compare runs. `more`: further fields. */
export function toJson(figures: readonly Figure[], options: unknown, more: object = {}): string {
  const results = withMedians(figures)
  return `${JSON.stringify({ machine: machine(), options, results, ...more }, undefined, 2)}\n`
}

/** The figures, each with the median of its values. */
export function withMedians(figures: readonly Figure[]): (Figure & { median: number })[] {
  return figures.map((figure) => ({ ...figure, median: median(figure.values) }))
}

/** The machine that the figures apply to. */
export function machine(): Readonly<Record<string, string | number>> {
  const processors = cpus()
  return {
    node: process.version,
    platform: `${platform()} ${arch()}`,
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
  }
}

function short(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString('en')
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

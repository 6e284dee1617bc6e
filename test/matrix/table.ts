// The outcome of a run of the matrix, as text.

import type { Outcome, Result } from './kit/case.js'
import type { EnvironmentReport } from './matrix.js'

const RESULTS: readonly Result[] = ['right', 'refused', 'declined', 'failed', 'not run']

/** A Markdown table: a row for each environment, with the number of cases by outcome. */
export function tableOf(reports: readonly EnvironmentReport[]): string {
  const all = Math.max(...reports.map(({ report }) => report?.cases.length ?? 0))
  const rows = reports.map(({ environment, report }) => [
    environment.name,
    report?.nodeVersion ?? '',
    ...(report === undefined ? RESULTS.map(() => '?') : countsOf(report.cases, all)),
  ])
  return markdown(['environment', 'Node', ...RESULTS], rows)
}

/** Cases that a program does not contain count as not run. */
function countsOf(cases: readonly Outcome[], all: number): readonly string[] {
  const counts = RESULTS.map((wanted) => cases.filter(({ result }) => result === wanted).length)
  return counts.map((count, index) => {
    return String(RESULTS[index] === 'not run' ? count + all - cases.length : count)
  })
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]): string => {
    const padded = cells.map((cell, column) =>
      column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    )
    return `| ${padded.join(' | ')} |`
  }
  const rule = widths.map((width, column) =>
    column < 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

/** The cases with a result, each with the environments that have it and one of the details. */
export function casesWith(
  result: Result,
  reports: readonly EnvironmentReport[],
  part: 'cases' | 'smoke' = 'cases',
): string {
  const found = new Map<string, { readonly where: string[]; readonly details: Set<string> }>()
  for (const { environment, report } of reports) {
    for (const outcome of report?.[part] ?? []) {
      if (outcome.result !== result) continue
      const entry = found.get(outcome.name) ?? { where: [], details: new Set() }
      found.set(outcome.name, entry)
      entry.where.push(environment.name)
      entry.details.add(shortened(outcome.detail))
    }
  }
  return [...found]
    .map(([name, { where, details }]) => {
      const places = where.length === reports.length ? 'everywhere' : where.join('; ')
      const onCluster = part === 'smoke' ? ' on a cluster' : ''
      return [`${result}${onCluster}: ${name} (${places})`, ...[...details].slice(0, 3)].join(
        '\n    ',
      )
    })
    .join('\n')
}

/** The errors of one environment, a line or more for each case; empty if there are none. */
export function failuresOf({ report, output }: EnvironmentReport): string {
  if (report === undefined) return `the program has not come to its end:\n${output.slice(-4_000)}`
  const failed = (outcomes: readonly Outcome[], where: string): string[] =>
    outcomes
      .filter(({ result }) => result === 'failed')
      .map(({ name, detail }) => `${name}${where}: ${shortened(detail)}`)
  return [...failed(report.cases, ''), ...failed(report.smoke, ' (on a cluster)')].join('\n')
}

function shortened(detail: string): string {
  const text = detail.split('\n    at ')[0]?.replaceAll(/\s*\n\s*/g, ' ') ?? ''
  return text.length > 300 ? `${text.slice(0, 300)} …` : text
}

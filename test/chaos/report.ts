// The outcome of the chaos as text: a table for people, and all details of a finding.

import { seconds } from './journal.js'
import { megabytes, type ChaosOutcome } from './run-chaos.js'

/** The table. */
export function summary({ counts, deeds, recoveryMs, memory, findings }: ChaosOutcome): string {
  const lines = ['work                 ended  killed with it    late   longest']
  for (const [kind, { ended, collateral, late, longestMs }] of counts) {
    const cells = [column(ended, 8), column(collateral, 16), column(late, 8)]
    lines.push(`${kind.padEnd(18)}${cells.join('')}${column(`${longestMs} ms`, 10)}`)
  }
  const done = [...deeds].map(([deed, count]) => `${deed} ${count}`).toSorted()
  lines.push('', `faults: ${done.join(', ')}`)
  lines.push(`all work had ended ${Math.round(recoveryMs)} ms after the last fault`)
  lines.push(`the scheduler had ${megabytes(memory.base)}, at the end ${megabytes(memory.end)}`)
  lines.push(`findings: ${findings.length}`)
  return lines.join('\n')
}

/** All findings, and the events before the first. */
export function story({ findings, journal }: ChaosOutcome): string {
  const found = findings.map(({ atMs, text }) => `${seconds(atMs)} ${text}`)
  return ['FINDINGS', ...found, '', 'THE LAST 100 SECONDS', ...journal, ''].join('\n')
}

function column(value: number | string, width: number): string {
  return String(value).padStart(width)
}

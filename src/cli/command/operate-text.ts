// What `scaler explain` and `scaler cancel` print.

import { describeWaiting } from '../../client/explanation.js'
import type { ExplainedTask, TaskAnswer } from '../../client/monitor/task-answer.js'
import { plainText } from '../table.js'
import { functionName, span } from './cluster-columns.js'

/** The states in which a task has not ended. */
const UNFINISHED: ReadonlySet<string> = new Set(['waiting', 'running', 'canceling'])

/** What is known of a task. Ends with a line end. `address`: that of the scheduler. */
export function explanationText(task: ExplainedTask, address: string): string {
  const { state, seconds, reason, requirement, dependsOn, attempts, attemptCount, error } = task
  const since = UNFINISHED.has(state) ? ` for ${span(seconds ?? 0)}` : ` ${span(seconds ?? 0)} ago`
  const lines = [`${title(task)}: ${state}${seconds === null ? '' : since}`]
  if (reason !== null) {
    const { what, advice } = describeWaiting(reason, address, requirement ?? '')
    lines.push(`  reason   ${reason}: ${what}`)
    if (advice !== '') lines.push(`           ${advice}`)
  }
  for (const each of dependsOn) lines.push(`  needs    ${title({ ...each, function: null })}`)
  if (task.client !== null) lines.push(`  client   ${plainText(task.client)}`)
  if (attemptCount > attempts.length) {
    lines.push(`  ${attemptCount - attempts.length} earlier attempts`)
  }
  for (const { worker, outcome, durationMs, startedAt } of attempts) {
    const start = startedAt === undefined ? '' : `, from ${startedAt.toISOString()}`
    lines.push(`  attempt  ${outcome}, ${span(durationMs / 1_000)} on ${plainText(worker)}${start}`)
  }
  if (error !== null) {
    lines.push(`  error    ${plainText(`${error.name}: ${error.message}`)}`)
    const [, ...frames] = error.stack.split('\n')
    for (const frame of frames) lines.push(`           ${plainText(frame.trim())}`)
  }
  return `${lines.join('\n')}\n`
}

/** Which task was cancelled. Ends with a line end. */
export function cancelText({ tasks }: TaskAnswer): string {
  return tasks.map((task) => `cancelled ${title(task)}\n`).join('')
}

/** One line: why nothing is shown or done. `digits`: what the user gave. */
export function problemText(digits: string, { outcome, note, tasks }: TaskAnswer): string {
  const about = `task ${plainText(digits)}`
  const more = note === '' ? '' : `: ${plainText(note)}`
  switch (outcome) {
    case 'ambiguous':
      return `${about} could be one of several: ${tasks.map(title).join(', ')}${more && ', …'}`
    case 'busy':
      return `${about}: the scheduler has too many requests; try again`
    case 'timedOut':
      return `${about} was not found in time; try again, or give the whole id`
    default:
      return `${about} is unknown${more}`
  }
}

/** `0001ad… (price())`. */
function title({
  task,
  name,
  function: fn,
}: Pick<ExplainedTask, 'task' | 'name' | 'function'>): string {
  const shown = name ?? (fn === null ? null : functionName(fn))
  return shown === null ? task : `${task} (${plainText(shown)})`
}

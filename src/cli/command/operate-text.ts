// What the commands of operators print, and which workers their arguments mean.

import { describeWaiting } from '../../client/explanation.js'
import type { ExplainedTask, OperatorReply } from '../../client/monitor/operator-reply.js'
import { pythonNameIn } from '../../client/monitor/worker-report.js'
import { counted } from '../../base/text.js'
import { visibleText } from '../../runtime/log/line.js'
import { plainText } from '../table.js'
import { functionName, span, type WorkerRow } from '../report/columns.js'

/** The states in which a task has not ended. */
const UNFINISHED: ReadonlySet<string> = new Set(['waiting', 'running', 'canceling'])

/** What is known of a task. Ends with a line end. `address`: that of the scheduler. */
export function explanationText(task: ExplainedTask, address: string): string {
  const { state, seconds, reason, requirement, runtime, dependsOn, error } = task
  const { attempts, attemptCount } = task
  const since = UNFINISHED.has(state) ? ` for ${span(seconds ?? 0)}` : ` ${span(seconds ?? 0)} ago`
  const lines = [`${title(task)}: ${state}${seconds === null ? '' : since}`]
  if (reason !== null) {
    const needs = requirement ?? ''
    const { what, advice } = describeWaiting(reason, address, needs, runtime ?? 'javascript')
    lines.push(`  reason   ${reason}: ${what}`)
    if (advice !== '') lines.push(`           ${advice}`)
  }
  for (const each of dependsOn) lines.push(`  needs    ${title({ ...each, function: null })}`)
  if (task.client !== null) lines.push(`  client   ${plainText(task.client)}`)
  // The attempt that ended a task is listed only if it failed.
  const unlisted = UNFINISHED.has(state) || state === 'failed' ? 0 : 1
  const earlier = attemptCount - attempts.length - unlisted
  if (earlier > 0) lines.push(`  ${counted(earlier, 'earlier attempt')}`)
  for (const { worker, outcome, durationMs, startedAt } of attempts) {
    const start = startedAt === undefined ? '' : `, from ${startedAt.toISOString()}`
    lines.push(`  attempt  ${outcome}, ${tookText(durationMs)} on ${plainText(worker)}${start}`)
  }
  if (error !== null) {
    lines.push(`  error    ${plainText(`${error.name}: ${error.message}`)}`)
    const [, ...frames] = error.stack.split('\n')
    for (const frame of frames) lines.push(`           ${plainText(frame.trim())}`)
  }
  return `${lines.join('\n')}\n`
}

/** `0.667 ms`, `20 ms`, `12 s`: most runs are short. */
function tookText(ms: number): string {
  return ms < 999.5 ? `${Number(ms.toPrecision(3))} ms` : span(ms / 1_000)
}

/** Which task was cancelled. Ends with a line end. */
export function cancelText({ tasks }: OperatorReply): string {
  return tasks.map((task) => `cancelled ${title(task)}\n`).join('')
}

/** What a worker runs: its tasks, and the stack or why there is none. Ends with a line end. */
export function stackText({ worker, note, tasks, stack }: OperatorReply): string {
  const lines = [`${plainText(worker ?? '')}: ${plainText(note) || 'running JavaScript'}`]
  for (const task of tasks) {
    const since = task.seconds === null ? '' : `, running for ${span(task.seconds)}`
    lines.push(`  task     ${title(task)}${since}`)
  }
  for (const [at, { function: name, file, line, column }] of stack.entries()) {
    const place = `${file}:${line}:${column}`
    const call = plainText(name === '' ? place : `${name} (${place})`)
    lines.push(`  ${at === 0 ? 'stack' : '     '}    ${call}`)
  }
  return `${lines.join('\n')}\n`
}

/** The last lines of a worker, each with its time and source. Ends with a line end. */
export function linesText({ lines, worker }: OperatorReply): string {
  if (lines.length === 0) return `worker ${plainText(worker ?? '')} has written nothing\n`
  const shown = lines.map(({ time, source, text }) => {
    const at = time.toISOString().replace(/\.\d+/, '')
    // A tab does no harm.
    const line = text.split('\t').map(visibleText).join('\t')
    return `${at} ${source.padEnd('stdout'.length)} ${line}\n`
  })
  return shown.join('')
}

/** That a worker leaves, and what it waits for. Ends with a line end. */
export function drainText(worker: string, { tasks }: OperatorReply, graceMs: number): string {
  const count = counted(tasks.length, 'running task')
  const time = `${tasks.length === 1 ? 'has' : 'have'} up to ${span(graceMs / 1_000)}`
  const what = tasks.length === 0 ? 'no task is running' : `${count} ${time}`
  return `draining ${plainText(worker)}: ${what}\n`
}

/** One line: why nothing is shown or done. `about`: `task 0001`, as the user gave it. */
export function problemText(about: string, reply: OperatorReply): string {
  const { outcome, note, tasks, worker } = reply
  const it = plainText(about)
  const more = note === '' ? '' : `: ${plainText(note)}`
  switch (outcome) {
    case 'ambiguous':
      return `${it} could be one of several: ${tasks.map(title).join(', ')}${more && ', …'}`
    case 'busy':
      return `${it}${more || ': the scheduler has too many requests'}; try again`
    case 'timedOut':
      if (worker !== null) return `${it}${more}`
      return `${it} was not found in time; try again, or give the whole id`
    case 'unsupported':
      return `${it}${more}`
    default: {
      const [ended] = tasks
      if (ended !== undefined) return `task ${title(ended)} has already ended: ${ended.state}`
      return worker === null ? `${it} is unknown${more}` : `${it}${more}`
    }
  }
}

/**
 * Whether a worker has this id or name. One of Python Scaler reports only the name in its id,
 * which is shown as its host.
 */
export function isNamed({ id, name, version }: WorkerRow, given: string): boolean {
  return id === given || name === given || (version === undefined && pythonNameIn(id) === given)
}

/** The workers with this id or name; otherwise those whose ids begin like this. */
export function meantWorkers(all: readonly WorkerRow[], given: string): readonly WorkerRow[] {
  const exact = all.filter((worker) => isNamed(worker, given))
  return exact.length > 0 ? exact : all.filter(({ id }) => id.startsWith(given))
}

/** The most candidates that are listed. */
const MAX_CANDIDATES = 10

/** One line: why an argument does not name one worker. */
export function choiceText(given: string, found: readonly WorkerRow[]): string {
  const about = `worker ${plainText(given)}`
  if (found.length === 0) return `${about} is unknown: see scaler workers`
  const ids = found.slice(0, MAX_CANDIDATES).map(({ id }) => plainText(id))
  const more = found.length > ids.length ? ', …' : ''
  return `${about} could be one of several: ${ids.join(', ')}${more}`
}

/** `0001ad… (price())`. */
function title({
  task,
  name,
  function: fn,
}: Pick<ExplainedTask, 'task' | 'name' | 'function'>): string {
  const shown = name === null || name === fn ? fn && functionName(fn) : name
  return shown === null ? task : `${task} (${plainText(shown)})`
}

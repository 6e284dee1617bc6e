// What `scaler doctor` has found, as lines for people.

import type { ClockDifference } from '../client/connect-clock.js'
import type {
  Diagnosis,
  DiagnosisProblem,
  FoundMonitor,
  FoundScheduler,
  WorkerCount,
} from '../client/connect-outcome.js'
import type { TrialTask } from '../client/connect-trial.js'

/** A label and what is told under it. */
type Line = readonly [label: string, text: string]

const LABEL_WIDTH = 12

/** How a line begins, and its colour on a terminal: green, yellow. */
const COLORS = { ok: 32, note: 33 } as const

/**
 * One line per part that was looked at, in the order in which it was, and one per thing that is
 * remarkable; each ends with a newline. What is fatal is told where errors are told.
 */
export function diagnosisText(diagnosis: Diagnosis, color: boolean): string {
  const show = (mark: keyof typeof COLORS, [label, text]: Line): string => {
    const shown = mark.padEnd('note'.length)
    const start = color ? `\u001b[${COLORS[mark]}m${shown}\u001b[0m` : shown
    return `${start}  ${label.padEnd(LABEL_WIDTH)}${text}\n`
  }
  const { address, scheduler, workers, monitor, task, problems } = diagnosis
  const good = [
    ...(scheduler === undefined ? [] : schedulerLines(scheduler, address)),
    ...(workers === undefined || workers.total === 0 ? [] : [workerLine(workers)]),
    ...(monitor === undefined ? [] : [monitorLine(monitor)]),
    ...(task === undefined ? [] : taskLines(task)),
  ]
  const notes = problems.flatMap((problem): Line[] => {
    return problem.isFatal ? [] : [[problem.part, problemText(problem)]]
  })
  return [...good.map((line) => show('ok', line)), ...notes.map((line) => show('note', line))].join(
    '',
  )
}

/** What is wrong and what to look at, as one line. */
export function problemText({ what, advice }: DiagnosisProblem): string {
  return advice === '' ? what : `${what}; ${advice}`
}

function schedulerLines(scheduler: FoundScheduler, address: string): readonly Line[] {
  const { kind, version, runtime, id, roundTrip, clock } = scheduler
  const { medianMs, minMs, maxMs, count } = roundTrip
  const what = [kind, version].filter((each) => each !== undefined).join(' ')
  const details = [runtime, id === '' ? undefined : `id ${id.slice(0, 8)}`]
  const told = [what, ...details.filter((each) => each !== undefined)].join(', ')
  const clockLines: readonly Line[] = clock === undefined ? [] : [['clock', clockText(clock)]]
  return [
    ['scheduler', `${address} answers: ${told}`],
    ['round trip', `${medianMs} ms (median of ${count}; ${minMs} to ${maxMs})`],
    ...clockLines,
  ]
}

function workerLine({ total, suitable, idle }: WorkerCount): Line {
  const kinds = suitable === undefined ? '' : `${suitable} of them run JavaScript, `
  return ['workers', `${total}: ${kinds}${idle} idle`]
}

function monitorLine({ address, waitingTasks, runningTasks, objects }: FoundMonitor): Line {
  const load = `${waitingTasks} tasks wait, ${runningTasks} are with workers, ${objects} objects`
  return ['monitor', `${address} publishes: ${load}`]
}

function taskLines({ worker, runtime, durationMs, clock }: TrialTask): readonly Line[] {
  const where = worker === '' ? '' : ` on ${worker}`
  return [
    ['task', `ran${where} (${runtime}) in ${durationMs} ms`],
    ['its clock', clockText(clock)],
  ]
}

function clockText({ aheadMs, errorMs }: ClockDifference): string {
  const difference = Math.abs(aheadMs)
  const side = aheadMs < 0 ? 'behind' : 'ahead of'
  const what =
    difference <= errorMs ? 'agrees with that here' : `is ${difference} ms ${side} that here`
  return `${what} (± ${errorMs} ms)`
}

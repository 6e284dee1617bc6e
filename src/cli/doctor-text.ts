// What `scaler doctor` has found, as lines for people.

import { counted } from '../base/counted.js'
import { clockText, isFarOff } from '../client/connect-clock.js'
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
  const isGood = clock !== undefined && !isFarOff(clock)
  const clockLines: readonly Line[] = isGood ? [['clock', clockText(clock)]] : []
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
  const waiting = `${counted(waitingTasks, 'task')} ${waitingTasks === 1 ? 'waits' : 'wait'}`
  const running = `${runningTasks} ${runningTasks === 1 ? 'is' : 'are'} with workers`
  const load = `${waiting}, ${running}, ${counted(objects, 'object')}`
  return ['monitor', `${address} publishes: ${load}`]
}

function taskLines({ worker, version, runtime, durationMs, clock }: TrialTask): readonly Line[] {
  const where = worker === '' ? '' : ` on ${worker}`
  const what = version === undefined ? runtime : `scaler-ts ${version}, ${runtime}`
  const clockLines: readonly Line[] = isFarOff(clock) ? [] : [['its clock', clockText(clock)]]
  return [['task', `ran${where} (${what}) in ${durationMs} ms`], ...clockLines]
}

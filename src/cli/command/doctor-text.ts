// The findings of `scaler doctor`, as lines of text.

import { counted } from '../../base/text.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import { clockText, isFarOff } from '../../client/connect/clock.js'
import type {
  Diagnosis,
  DiagnosisProblem,
  FoundMonitor,
  FoundScheduler,
  TrialTask,
} from '../../client/connect/diagnosis.js'
import type {
  FoundClient,
  FoundHost,
  FoundWaiting,
  FoundWorker,
} from '../../client/connect/peers.js'
import type { FoundServer } from '../../client/connect/storage-servers.js'
import type { WorkerCount } from '../../client/connect/workers.js'
import { LANGUAGES } from '../../client/worker-advice.js'
import { plainText } from '../table.js'

/** A label and its text. */
type Line = readonly [label: string, text: string]

const LABEL_WIDTH = 12

/** At most this many of a kind are named. */
const MAX_NAMED = 5

/** How a line begins, and its colour on a terminal: green, yellow. */
const COLORS = { ok: 32, note: 33 } as const

/**
 * One line per part that was checked, in that order, and one per note; each ends with a newline.
 * Fatal problems are not included: they are printed as errors.
 */
export function diagnosisText(diagnosis: Diagnosis, color: boolean): string {
  const show = (mark: keyof typeof COLORS, [label, text]: Line): string => {
    const shown = mark.padEnd('note'.length)
    const start = color ? `\u001b[${COLORS[mark]}m${shown}\u001b[0m` : shown
    return `${start}  ${label.padEnd(LABEL_WIDTH)}${plainText(text)}\n`
  }
  const { address, scheduler, workers, hosts, clients, monitor, task, problems } = diagnosis
  const servers = (diagnosis.storageServers ?? []).filter(isUsable)
  const waiting = (diagnosis.waiting ?? []).slice(0, MAX_NAMED)
  const good = [
    ...(scheduler === undefined ? [] : schedulerLines(scheduler, address)),
    ...(workers === undefined || workers.total === 0 ? [] : [workerLine(workers)]),
    ...hostLines(hosts ?? []),
    ...(clients === undefined || clients.length === 0 ? [] : [clientLine(clients)]),
    ...waiting.filter((each) => !cannotRun(each)).map(waitingLine),
    ...(monitor === undefined ? [] : [monitorLine(monitor)]),
    ...(task === undefined ? [] : taskLines(task)),
    ...(servers.length === 0 ? [] : [storageLine(servers)]),
  ]
  const notes = problems.flatMap((problem): Line[] => {
    return problem.isFatal ? [] : [[problem.part, problemText(problem)]]
  })
  notes.push(...waiting.filter(cannotRun).map(waitingLine))
  return [...good.map((line) => show('ok', line)), ...notes.map((line) => show('note', line))].join(
    '',
  )
}

function isUsable({ state, trouble }: FoundServer): boolean {
  return state !== 'away' && trouble === ''
}

function storageLine(servers: readonly FoundServer[]): Line {
  const objects = servers.reduce((sum, server) => sum + server.objects, 0)
  const names = listed(servers.map(({ address }) => address))
  return ['storage', `${servers.length}: ${names}; ${counted(objects, 'object')} there`]
}

/** A problem and what to check, as one line. */
export function problemText({ what, advice }: DiagnosisProblem): string {
  return advice === '' ? what : `${what}; ${advice}`
}

function schedulerLines(scheduler: FoundScheduler, address: string): readonly Line[] {
  const { kind, version, runtime, id, roundTrip, clock } = scheduler
  const { medianMs, minMs, maxMs, count } = roundTrip
  const what = [kind, version].filter((each) => each !== undefined).join(' ')
  const details = [runtime, id === '' ? undefined : `id ${id.slice(0, 8)}`]
  const identity = [what, ...details.filter((each) => each !== undefined)].join(', ')
  const isGood = clock !== undefined && !isFarOff(clock)
  const clockLines: readonly Line[] = isGood ? [['clock', clockText(clock)]] : []
  return [
    ['scheduler', `${address} healthy: ${identity}`],
    ['round trip', `${medianMs} ms (median of ${count}; ${minMs} to ${maxMs})`],
    ...clockLines,
  ]
}

function workerLine({ total, suitable, idle, python }: WorkerCount): Line {
  const which = suitable === undefined ? '' : `${suitable} of them run JavaScript, `
  const others =
    python === undefined ? [] : [`${python.total} of them run Python, ${python.idle} idle`]
  const ours = suitable === 0 && python !== undefined ? [] : [`${which}${idle} idle`]
  return ['workers', `${total}: ${[...ours, ...others].join('; ')}`]
}

/** One line per host with its workers; beyond a few, hosts are only counted. */
function hostLines(hosts: readonly FoundHost[]): readonly Line[] {
  const lines = hosts.slice(0, MAX_NAMED).map((host): Line => ['host', hostText(host)])
  const more = hosts.slice(MAX_NAMED)
  const workers = more.reduce((sum, host) => sum + host.workers.length, 0)
  const rest = `${counted(more.length, 'more host')} with ${counted(workers, 'worker')}`
  return more.length === 0 ? lines : [...lines, ['host', rest]]
}

function hostText({ host, workers }: FoundHost): string {
  const kinds = new Set(workers.map(kindOf))
  const running = workers.reduce((sum, each) => sum + each.running.length, 0)
  const offers = new Set(workers.map((worker) => listed(offeredBy(worker))))
  offers.delete('')
  const ends = workers.flatMap(({ endsAt }) => endsAt ?? []).toSorted()
  const parts = [
    `${counted(workers.length, 'worker')} (${[...kinds].join('; ')})`,
    offers.size === 0
      ? ''
      : `${workers.length === 1 ? 'offers' : 'offer'} ${[...offers].join(', others ')}`,
    running === 0 ? '' : `${counted(running, 'task')} ${running === 1 ? 'runs' : 'run'}`,
    ends[0] === undefined ? '' : `the first stops at ${ends[0]}`,
  ]
  return `${host === '' ? 'unknown' : host}: ${parts.filter((part) => part !== '').join(', ')}`
}

function kindOf({ version, runtime }: FoundWorker): string {
  return version === '' ? runtime : `scaler-ts ${version}, ${runtime}`
}

function offeredBy({ capabilities }: FoundWorker): readonly string[] {
  return Object.entries(capabilities).map(([name, value]) =>
    value < 0 ? name : `${name}=${value}`,
  )
}

function clientLine(clients: readonly FoundClient[]): Line {
  const outer = clients.filter(({ worker }) => worker === '')
  const inner = clients.length - outer.length
  const inside = inner === 0 ? '' : `, and ${inner} inside tasks`
  const names = outer.map(clientText)
  return ['clients', `${outer.length}${names.length === 0 ? '' : `: ${listed(names)}`}${inside}`]
}

function clientText({ id, name, host, pid, tasks }: FoundClient): string {
  const where = host === '' ? '' : ` on ${host} (pid ${pid})`
  const work = tasks === 0 ? '' : `, ${counted(tasks, 'unfinished task')}`
  return `${name === '' ? id : name}${where}${work}`
}

/** The first few, and how many more. */
function listed(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMED
  const named = texts.slice(0, MAX_NAMED).join('; ')
  return more > 0 ? `${named}; and ${more} more` : named
}

/** Whether tasks wait for something that the cluster does not have. */
function cannotRun({ reason }: FoundWaiting): boolean {
  return reason === 'no-worker' || reason === 'no-runtime' || reason === 'no-capability'
}

const WHY: Readonly<Record<WaitingReason, string>> = {
  'no-scheduler': 'no scheduler answers',
  'no-worker': 'no worker accepts tasks',
  'no-runtime': 'no worker runs',
  'no-capability': 'no worker offers what they ask for',
  'all-busy': 'all workers are busy',
  limit: 'the queue is full',
  dependency: 'they need the results of other tasks',
}

function waitingLine({ reason, needs, function: fn, runtime, tasks, forMs }: FoundWaiting): Line {
  const subject = `${counted(tasks, 'task')}${fn === '' ? '' : ` of ${fn}`}`
  const what = `${subject} ${tasks === 1 ? 'waits' : 'wait'}`
  const language = reason === 'no-runtime' ? ` ${LANGUAGES[runtime ?? 'javascript']}` : ''
  const why = `${WHY[reason]}${language}${needs === '' ? '' : ` (${needs})`}`
  const since = forMs < 1_000 ? '' : `, the first for ${Math.floor(forMs / 1_000)} s`
  return ['waiting', `${what}: ${why}${since}`]
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

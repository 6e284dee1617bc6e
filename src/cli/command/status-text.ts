// What `scaler status` prints: whether the cluster is well and what to do if not, then tables. It
// fits into 80 columns, and uses more where there are more.

import { counted } from '../../base/text.js'
import type {
  ClusterInfo,
  FunctionInfo,
  HostInfo,
  WaitingInfo,
} from '../../client/monitor/cluster-info.js'
import { textWidth } from '../../runtime/progress/line.js'
import { type Column, grouped, plainText, tableLines, type TableStyle, UNKNOWN } from '../table.js'
import {
  CLIENT_COLUMNS,
  FAILURE_COLUMNS,
  failureRows,
  functionName,
  size,
  span,
  WORKER_COLUMNS,
} from './cluster-columns.js'

/** Something that keeps the cluster from doing its work, and what to do about it. */
export interface StatusProblem {
  readonly what: string
  readonly advice: string
}

/** At most this many rows of each table. */
const MAX_ROWS = 20
const MIN_WIDTH = 40
const COLORS = { good: 32, bad: 31 } as const
/** Turns of the scheduler that take longer hold up everything. */
const LONG_TURN_MS = 100

/** All of it, each line ended by a newline. */
export function statusText(info: ClusterInfo, style: TableStyle): string {
  const width = Math.max(MIN_WIDTH, style.width)
  const paint = (text: string, color: number): string => {
    return style.color ? `\u001b[${color}m${text}\u001b[0m` : text
  }
  const show = <Row>(
    columns: readonly Column<Row>[],
    all: readonly Row[],
    title?: string,
  ): readonly string[] => {
    const hidden = { count: all.length - MAX_ROWS, hint: '--json has all' }
    const rows = all.slice(0, MAX_ROWS)
    return tableLines(
      { columns, rows, ...(title && { title }), ...(hidden.count > 0 && { hidden }) },
      { width, color: style.color },
    )
  }
  const sections = [
    verdictLines(info, width, paint),
    summaryLines(info),
    show(WAITING_COLUMNS, info.waiting),
    ...info.hosts.map((host) => {
      const rows = host.workers.map((worker) => ({ host: host.host, ...worker }))
      return show(STATUS_WORKER_COLUMNS, rows, hostTitle(host))
    }),
    show(CLIENT_COLUMNS, info.clients, 'clients'),
    show(FUNCTION_COLUMNS, info.functions),
    show(FAILURE_COLUMNS, failureRows(info), 'failures, the last first'),
  ]
  const lines = sections.filter((section) => section.length > 0)
  return `${lines.map((section) => section.join('\n')).join('\n\n')}\n`
}

/** The title has the host. */
const STATUS_WORKER_COLUMNS = WORKER_COLUMNS.filter(({ name }) => name !== 'host')

/** What is wrong, the worst first. */
export function problemsOf(info: ClusterInfo): readonly StatusProblem[] {
  const { address = 'ADDRESS' } = info.scheduler
  const problems: StatusProblem[] = []
  const workers = info.hosts.flatMap((host) => host.workers)
  if (workers.length === 0) {
    problems.push({
      what: 'there are no workers',
      advice: `start JavaScript workers: scaler_cluster ${address}`,
    })
  } else {
    for (const waiting of info.waiting) {
      const problem = problemOfWaiting(waiting, address)
      if (problem !== undefined) problems.push(problem)
    }
  }
  const turnMs = info.scheduler.turnP99Ms ?? 0
  if (turnMs > LONG_TURN_MS) {
    const advice = 'give it a core of its own, or submit fewer and longer tasks'
    problems.push({ what: `the scheduler is overloaded (turns of ${turnMs} ms)`, advice })
  }
  return problems
}

/** Tasks that only wait for workers to become free are no problem. */
function problemOfWaiting(waiting: WaitingInfo, address: string): StatusProblem | undefined {
  const { reason, count, requirement } = waiting
  const tasks = `${grouped(count)} ${count === 1 ? 'task' : 'tasks'}${ofFunction(waiting.function)}`
  const subject = `${tasks} ${count === 1 ? 'waits' : 'wait'}`
  switch (reason) {
    case 'no-capability': {
      const offer = plainText(requirement).replaceAll(', ', ',')
      return {
        what: `${subject}: no worker offers ${plainText(requirement)}`,
        advice: `start one that does: scaler_cluster --capabilities ${offer} ${address}`,
      }
    }
    case 'no-runtime':
      return {
        what: `${subject}: no worker runs their language`,
        advice: 'start workers of the same language as the client',
      }
    case 'no-worker':
      return {
        what: `${subject}: no worker accepts tasks`,
        advice: `start JavaScript workers: scaler_cluster ${address}`,
      }
    case 'limit':
      return {
        what: `${subject}: the queue is full`,
        advice: 'add workers, or raise --max-number-of-tasks-waiting',
      }
    default:
      return undefined
  }
}

type Paint = (text: string, color: number) => string

function verdictLines(info: ClusterInfo, width: number, paint: Paint): readonly string[] {
  const problems = problemsOf(info)
  if (problems.length === 0) return [`${paint('well', COLORS.good)}: ${loadText(info)}`]
  return problems.slice(0, MAX_ROWS).flatMap(({ what, advice }) => {
    const label = 'attention: '
    const [first = '', ...rest] = wrapped(`${what}; ${advice}`, width - label.length)
    const indent = ' '.repeat(label.length)
    return [`${paint('attention', COLORS.bad)}: ${first}`, ...rest.map((line) => indent + line)]
  })
}

/** Whether the cluster is well, in one sentence. */
export function healthOf(info: ClusterInfo): { readonly isWell: boolean; readonly text: string } {
  const [worst, ...others] = problemsOf(info)
  if (worst === undefined) return { isWell: true, text: loadText(info) }
  const more = others.length === 0 ? '' : ` (and ${counted(others.length, 'other problem')})`
  return { isWell: false, text: `${worst.what}; ${worst.advice}${more}` }
}

function loadText({ hosts, tasks: { running, waiting } }: ClusterInfo): string {
  const workers = hosts.reduce((sum, host) => sum + host.workers.length, 0)
  const load = `${grouped(running)} running, ${grouped(waiting)} waiting`
  return `${counted(workers, 'worker')} on ${counted(hosts.length, 'host')}; ${load}`
}

function summaryLines({ scheduler, tasks, rates, objects }: ClusterInfo): readonly string[] {
  const { uptimeS, turnP99Ms } = scheduler
  const parts = [
    `scaler ${scheduler.version ?? UNKNOWN}`,
    `up ${uptimeS === undefined ? UNKNOWN : span(uptimeS)}`,
    `cpu ${scheduler.cpu} %`,
    size(scheduler.rssBytes),
    `turns ${turnP99Ms === undefined ? UNKNOWN : `${turnP99Ms} ms`}`,
  ]
  const ended = [
    `${grouped(tasks.success)} succeeded`,
    `${grouped(tasks.failed)} failed`,
    `${grouped(tasks.canceled)} cancelled`,
    ...(tasks.notFound === 0 ? [] : [`${grouped(tasks.notFound)} not found`]),
  ]
  const rate = (perSecond: number): string => `${grouped(Math.round(perSecond))}/s`
  const speed =
    rates === undefined
      ? UNKNOWN
      : (['submitted', 'ended', 'failed'] as const)
          .map((key) => `${rate(rates[key])} ${key}`)
          .join(', ')
  const stored = objects.bytes === undefined ? '' : `, ${size(objects.bytes)}`
  return [
    `scheduler  ${scheduler.address}`,
    `           ${parts.join(', ')}`,
    `tasks      ${grouped(tasks.waiting)} waiting, ${grouped(tasks.running)} running`,
    `           ${ended.join(', ')}`,
    `rates      ${speed}`,
    `objects    ${grouped(objects.count)}${stored}`,
  ]
}

/** Columns of the reasons for waiting. */
export const WAITING_COLUMNS: readonly Column<WaitingInfo>[] = [
  {
    name: 'waiting',
    cell: ({ function: name, requirement }) => {
      return `${functionName(name)}${requirement === '' ? '' : ` (${requirement})`}`
    },
  },
  { name: 'reason', cell: ({ reason }) => reason, isText: true },
  { name: 'count', cell: ({ count }) => grouped(count) },
  { name: 'for', cell: ({ seconds }) => span(seconds) },
]

/** Columns of functions. */
export const FUNCTION_COLUMNS: readonly Column<FunctionInfo>[] = [
  { name: 'functions', cell: ({ name }) => functionName(name) },
  { name: 'ended', cell: ({ count }) => grouped(count) },
  { name: 'failed', cell: ({ failed }) => grouped(failed) },
  { name: 'p50 ms', cell: ({ p50Ms }) => short(p50Ms) },
  { name: 'p90 ms', cell: ({ p90Ms }) => short(p90Ms) },
  { name: 'p99 ms', cell: ({ p99Ms }) => short(p99Ms) },
  {
    name: 'memory',
    cell: ({ peakBytes }) => (peakBytes === undefined ? UNKNOWN : size(peakBytes)),
  },
]

function hostTitle(host: HostInfo): string {
  const name = host.host === '' ? 'unknown host' : plainText(host.host)
  return `${name}: cpu ${host.cpu} %, ${size(host.freeBytes)} free`
}

/** Breaks a text between words into lines of at most `width` columns, if its words fit. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && textWidth(line) + 1 + textWidth(word) > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

function ofFunction(name: string): string {
  return name === '' || name.startsWith('(') ? '' : ` of ${plainText(name)}()`
}

function short(ms: number | undefined): string {
  if (ms === undefined) return UNKNOWN
  return ms >= 100 ? String(Math.round(ms)) : String(Number(ms.toPrecision(3)))
}

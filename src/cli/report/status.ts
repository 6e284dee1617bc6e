// What `scaler status` prints: whether the cluster is well and what to do if not, then tables. It
// fits into 80 columns, and uses more where there are more.

import { sizeText } from '../../base/text.js'
import type {
  ClusterInfo,
  FunctionInfo,
  HostInfo,
  WaitingInfo,
} from '../../client/monitor/cluster-info.js'
import { textWidth } from '../../runtime/progress/line.js'
import {
  type Column,
  countText,
  grouped,
  plainText,
  tableLines,
  type TableStyle,
  UNKNOWN,
} from '../table.js'
import {
  CLIENT_COLUMNS,
  ALLOCATOR_COLUMNS,
  FAILURE_COLUMNS,
  failureRows,
  functionName,
  LOST_COLUMNS,
  lostRows,
  NEEDS_COLUMN,
  span,
  STORAGE_SERVER_COLUMNS,
  waitedSeconds,
  WORKER_COLUMNS,
} from './columns.js'
import { problemsOf } from './problem.js'

/** At most this many rows of each table. */
const MAX_ROWS = 20
const MIN_WIDTH = 40
const COLORS = { good: 32, bad: 31 } as const

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
    show(LOST_COLUMNS, lostRows(info), 'lost workers, the last first'),
    show(ALLOCATOR_COLUMNS, info.allocators ?? [], 'allocators'),
    show(STORAGE_SERVER_COLUMNS, info.storageServers ?? []),
    show(CLIENT_COLUMNS, info.clients, 'clients'),
    show(FUNCTION_COLUMNS, info.functions),
    show(FAILURE_COLUMNS, failureRows(info), 'failures, the last first'),
  ]
  const lines = sections.filter((section) => section.length > 0)
  return `${lines.map((section) => section.join('\n')).join('\n\n')}\n`
}

/** The title has the host. */
const STATUS_WORKER_COLUMNS = WORKER_COLUMNS.filter(({ name }) => name !== 'host')

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
  const more = others.length === 0 ? '' : ` (and ${countText(others.length, 'other problem')})`
  return { isWell: false, text: `${worst.what}; ${worst.advice}${more}` }
}

function loadText({ hosts, tasks: { running, waiting } }: ClusterInfo): string {
  const workers = hosts.reduce((sum, host) => sum + host.workers.length, 0)
  const load = `${grouped(running)} running, ${grouped(waiting)} waiting`
  return `${countText(workers, 'worker')} on ${countText(hosts.length, 'host')}; ${load}`
}

function summaryLines({ scheduler, tasks, rates, objects }: ClusterInfo): readonly string[] {
  const { uptimeS, turnP99Ms } = scheduler
  const parts = [
    `scaler ${scheduler.version ?? UNKNOWN}`,
    `up ${uptimeS === undefined ? UNKNOWN : span(uptimeS)}`,
    `cpu ${scheduler.cpu} %`,
    sizeText(scheduler.rssBytes),
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
  return [
    `scheduler  ${scheduler.address}`,
    `           ${parts.join(', ')}`,
    `tasks      ${grouped(tasks.waiting)} waiting, ${grouped(tasks.running)} running`,
    `           ${ended.join(', ')}`,
    `rates      ${speed}`,
    `objects    ${objectText(objects)}`,
  ]
}

/** The limit is shown once it matters. */
function objectText(objects: ClusterInfo['objects']): string {
  const { count, bytes, serverBytes = 0, limitBytes = Infinity } = objects
  const { diskBytes = 0, refused = 0 } = objects
  if (bytes === undefined) return grouped(count)
  const own = bytes - serverBytes
  const isNear = own > limitBytes / 2 || refused > 0
  const stored = isNear ? `${sizeText(own)} of ${sizeText(limitBytes)}` : sizeText(own)
  const parts = [
    grouped(count),
    stored,
    ...(serverBytes === 0 ? [] : [`${sizeText(serverBytes)} on object storage servers`]),
    ...(diskBytes === 0 ? [] : [`${sizeText(diskBytes)} on disk`]),
    ...(refused === 0 ? [] : [`${grouped(refused)} refused`]),
  ]
  return parts.join(', ')
}

/** Columns of the reasons for waiting. */
export const WAITING_COLUMNS: readonly Column<WaitingInfo>[] = [
  { name: 'waiting', cell: ({ function: name }) => functionName(name) },
  { name: 'reason', cell: ({ reason }) => reason, isText: true },
  { name: 'count', cell: ({ count }) => grouped(count) },
  { name: 'for', cell: (kind) => span(waitedSeconds(kind)) },
  NEEDS_COLUMN,
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
    cell: ({ peakBytes }) => (peakBytes === undefined ? UNKNOWN : sizeText(peakBytes)),
  },
]

function hostTitle(host: HostInfo): string {
  const name = host.host === '' ? 'unknown host' : plainText(host.host)
  return `${name}: cpu ${host.cpu} %, ${sizeText(host.freeBytes)} free`
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

function short(ms: number | undefined): string {
  if (ms === undefined) return UNKNOWN
  return ms >= 100 ? String(Math.round(ms)) : String(Number(ms.toPrecision(3)))
}

// What `scaler status` prints: whether the cluster is well and what to do if not, then tables. It
// fits into 80 columns, and uses more where there are more.

import { counted } from '../../base/text.js'
import type {
  ClusterInfo,
  FunctionInfo,
  HostInfo,
  WaitingInfo,
  WorkerInfo,
} from '../../client/monitor/cluster-info.js'
import { fitText, textWidth } from '../../runtime/progress/line.js'

/** How it is to look. */
export interface StatusStyle {
  /** Columns of the terminal. */
  readonly width: number
  readonly color: boolean
}

/** Something that keeps the cluster from doing its work, and what to do about it. */
export interface StatusProblem {
  readonly what: string
  readonly advice: string
}

/** At most this many rows of each table. */
const MAX_ROWS = 20
const MIN_WIDTH = 40
const COLORS = { good: 32, bad: 31, title: 1 } as const
/** What is not known. */
const UNKNOWN = '–'
/** Turns of the scheduler that take longer hold up everything. */
const LONG_TURN_MS = 100

/** All of it, each line ended by a newline. */
export function statusText(info: ClusterInfo, style: StatusStyle): string {
  const width = Math.max(MIN_WIDTH, style.width)
  const paint = (text: string, color: number): string => {
    return style.color ? `\u001b[${color}m${text}\u001b[0m` : text
  }
  const sections = [
    verdictLines(info, width, paint),
    summaryLines(info),
    ...[waitingTable(info.waiting), ...info.hosts.map(hostTable), clientTable(info)].flatMap(
      (table) => tableLines(table, width, paint),
    ),
    ...tableLines(functionTable(info.functions), width, paint),
    ...tableLines(failureTable(info), width, paint),
  ]
  const lines = sections.filter((section) => section.length > 0)
  return `${lines.map((section) => section.join('\n')).join('\n\n')}\n`
}

/** What is wrong, the worst first. */
export function problemsOf(info: ClusterInfo): readonly StatusProblem[] {
  const { address } = info.scheduler
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
    case 'no-capability':
      return {
        what: `${subject}: no worker offers ${plain(requirement)}`,
        advice: `start one that does: scaler_cluster --capabilities … ${address}`,
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
  const workers = info.hosts.reduce((sum, host) => sum + host.workers.length, 0)
  if (problems.length === 0) {
    const { running, waiting } = info.tasks
    const hosts = info.hosts.length === 1 ? '1 host' : `${info.hosts.length} hosts`
    const load = `${grouped(running)} running, ${grouped(waiting)} waiting`
    return [`${paint('well', COLORS.good)}: ${counted(workers, 'worker')} on ${hosts}; ${load}`]
  }
  return problems.slice(0, MAX_ROWS).flatMap(({ what, advice }) => {
    const label = 'attention: '
    const [first = '', ...rest] = wrapped(`${what}; ${advice}`, width - label.length)
    const indent = ' '.repeat(label.length)
    return [`${paint('attention', COLORS.bad)}: ${first}`, ...rest.map((line) => indent + line)]
  })
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

/** A table: the first column takes the room that the others leave. */
interface Table {
  readonly title: string
  /** The other columns; those after the room is used up are left out. */
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** How many rows there are in all. */
  readonly total: number
}

function waitingTable(waiting: readonly WaitingInfo[]): Table {
  return table('waiting', ['reason', 'count', 'for'], waiting, (each) => [
    `${functionName(each.function)}${each.requirement === '' ? '' : ` (${each.requirement})`}`,
    each.reason,
    grouped(each.count),
    span(each.seconds),
  ])
}

function hostTable(host: HostInfo): Table {
  const name = host.host === '' ? 'unknown host' : host.host
  const title = `${name}: cpu ${host.cpu} %, ${size(host.freeBytes)} free`
  const columns = ['state', 'queued', 'cpu %', 'memory', 'lag ms', 'running']
  return table(title, columns, host.workers, (worker) => [
    worker.id,
    worker.state,
    grouped(worker.queued),
    String(worker.cpu),
    size(worker.rssBytes),
    String(worker.lagMs),
    runningText(worker),
  ])
}

function runningText({ running }: WorkerInfo): string {
  const [first] = running
  if (first === undefined) return ''
  const more = running.length > 1 ? ` +${running.length - 1}` : ''
  const name = first.name === '' ? first.task.slice(0, 8) : first.name
  return `${name} ${span(first.sinceMs / 1_000)}${more}`
}

function clientTable({ clients }: ClusterInfo): Table {
  return table('clients', ['host', 'unfinished'], clients, (client) => [
    client.name === '' ? client.id : `${client.name} (${client.id.split('|', 1)[0]})`,
    client.host,
    grouped(client.unfinished),
  ])
}

function functionTable(functions: readonly FunctionInfo[]): Table {
  const columns = ['ended', 'failed', 'p50 ms', 'p90 ms', 'p99 ms', 'memory']
  return table('functions', columns, functions, (each) => [
    functionName(each.name),
    grouped(each.count),
    grouped(each.failed),
    short(each.p50Ms),
    short(each.p90Ms),
    short(each.p99Ms),
    each.peakBytes === undefined ? UNKNOWN : size(each.peakBytes),
  ])
}

function failureTable({ failures, time }: ClusterInfo): Table {
  return table('failures, the last first', ['ago', 'task'], failures.toReversed(), (each) => [
    `${functionName(each.function)} ${each.errorName}: ${each.message.split('\n', 1)[0]}`,
    span((time.getTime() - each.time.getTime()) / 1_000),
    each.task.slice(0, 8),
  ])
}

function table<T>(
  title: string,
  columns: readonly string[],
  items: readonly T[],
  row: (item: T) => readonly string[],
): Table {
  const rows = items.slice(0, MAX_ROWS).map((item) => row(item).map(plain))
  return { title, columns, rows, total: items.length }
}

function tableLines(of: Table, width: number, paint: Paint): readonly (readonly string[])[] {
  if (of.total === 0) return []
  const { columns, widths } = fitted(of, width)
  const used = widths.reduce((sum, each) => sum + each + 2, 0)
  const firsts = [of.title, ...of.rows.map(([first = '']) => first)]
  const firstWidth = Math.min(width - used, Math.max(...firsts.map(textWidth)))
  const line = ([first = '', ...cells]: readonly string[]): string => {
    const padded = columns.map((_, at) => padStart(cells[at] ?? '', widths[at] ?? 0))
    return [pad(fitText(first, firstWidth, '…'), firstWidth), ...padded].join('  ').trimEnd()
  }
  const hidden = of.total - of.rows.length
  return [
    [
      paint(line([of.title, ...columns]), COLORS.title),
      ...of.rows.map(line),
      ...(hidden > 0 ? [`… ${grouped(hidden)} more (--json has all)`] : []),
    ],
  ]
}

/** The columns for which there is room beside a third of the width for the first one. */
function fitted(
  { columns, rows }: Table,
  width: number,
): {
  readonly columns: readonly string[]
  readonly widths: readonly number[]
} {
  const room = width - Math.floor(width / 3)
  const kept: string[] = []
  const widths: number[] = []
  let used = 0
  for (const [at, name] of columns.entries()) {
    const cells = rows.map((row) => textWidth(row[at + 1] ?? ''))
    const wanted = Math.max(textWidth(name), ...cells) + 2
    if (used + wanted > room) break
    used += wanted
    kept.push(name)
    widths.push(wanted - 2)
  }
  return { columns: kept, widths }
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)))
}

function padStart(text: string, width: number): string {
  return ' '.repeat(Math.max(0, width - textWidth(text))) + text
}

function wrapped(text: string, width: number): readonly string[] {
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

/** Names come from programs anywhere: nothing in them may control the terminal. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '?')
}

function functionName(name: string): string {
  return name === '' ? '(unnamed)' : name.startsWith('(') ? name : `${name}()`
}

function ofFunction(name: string): string {
  return name === '' || name.startsWith('(') ? '' : ` of ${plain(name)}()`
}

/** `4,000`, whatever the language of the machine. */
function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/gu, ',')
}

function short(ms: number | undefined): string {
  if (ms === undefined) return UNKNOWN
  return ms >= 100 ? String(Math.round(ms)) : String(Number(ms.toPrecision(3)))
}

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB'] as const

function size(bytes: number): string {
  let value = bytes
  let at = 0
  for (; value >= 1_000 && at < SIZES.length - 1; at += 1) value /= 1_000
  return `${value >= 100 || at === 0 ? Math.round(value) : value.toFixed(1)} ${SIZES[at]}`
}

/** `12 s`, `3 min`, `5 h`, `2 d`. */
function span(seconds: number): string {
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

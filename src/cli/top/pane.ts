// The panes of `scaler_top` that take the place of the tables: one worker, why tasks wait,
// failures, tasks, and the help.

import { sizeText } from '../../base/text.js'
import type { AllocatorInfo } from '../../client/monitor/cluster-info.js'
import type { WorkerLine } from '../../client/monitor/operator-reply.js'
import {
  ALLOCATOR_COLUMNS,
  capabilitiesText,
  errorText,
  FAILURE_COLUMNS,
  type FailureRow,
  functionName,
  LOST_COLUMNS,
  type LostRow,
  span,
  TASK_COLUMNS,
} from '../report/columns.js'
import { LOSS_TEXTS, problemsOf } from '../report/problem.js'
import { WAITING_COLUMNS, wrapped } from '../report/status.js'
import { type Column, countText, plainText, tableLines, UNKNOWN } from '../table.js'
import type { TopView } from './top.js'
import { DROP_ORDER, duration } from './worker-table.js'

/** The contents of a pane: lines of any width, without control characters. */
export interface PaneText {
  /** Always visible; the first line is a title. */
  readonly head: readonly string[]
  readonly list: {
    readonly lines: readonly string[]
    /** Whether one of the lines is selected; else the keys scroll. */
    readonly hasCursor: boolean
  }
  /** What is shown below about the selected line. */
  readonly detail?: (cursor: number) => readonly string[]
  /** Begins at the end, and is scrolled from there. */
  readonly isLog?: boolean
}

/** The last lines of a worker; before they have come, undefined. */
export type LastLines =
  | { readonly lines: readonly WorkerLine[] }
  /** Why there are none. */
  | { readonly problem: string }
  | undefined

/** More rows than that are in no table of a pane. */
const MAX_ROWS = 1_000

/** The text of the open pane for a terminal of `width` columns; undefined for the first one. */
export function paneText(view: TopView, width: number): PaneText | undefined {
  switch (view.pane) {
    case 'workers':
      return undefined
    case 'worker':
      return workerPane(view)
    case 'waiting':
      return waitingPane(view, width)
    case 'failures':
      return failuresPane(view, width)
    case 'tasks':
      return tasksPane(view, width)
    case 'lost':
      return lostPane(view, width)
    case 'allocators':
      return allocatorsPane(view, width)
    case 'help':
      return helpPane(width)
  }
}

const NOT_TOLD = 'none that this scheduler tells'

/** Why a pane has no rows: `none`, unless a filter leaves them out. */
function noneOr({ filter }: TopView, none: string): string {
  return filter === '' ? none : `none match "${plainText(filter)}" (Esc Esc shows all)`
}

/** The title of a pane of rows that may be filtered. */
function titleOf({ filter }: TopView, title: string): string {
  return filter === '' ? title : `${title} that match "${plainText(filter)}"`
}

function tasksPane(view: TopView, width: number): PaneText {
  const { running, waiting } = view.info.tasks
  const none =
    running + waiting === 0
      ? 'no task runs or waits'
      : 'none, as of the last heartbeats of the workers: tasks may be short (waiting: e)'
  const table = { columns: TASK_COLUMNS, rows: view.tasks, none: noneOr(view, none) }
  return tablePane(titleOf(view, 'tasks'), table, width)
}

function workerPane({ worker, log }: TopView): PaneText {
  if (worker === undefined) return note('worker', 'it has left')
  const { id, name, host, state, version, cpu, rssBytes, lagMs, queued, silentS } = worker
  const capabilities = capabilitiesText(worker.capabilities)
  const what = [
    `${state}, ${queued} queued, cpu ${cpu} %, ${sizeText(rssBytes)}, lag ${duration(lagMs)}`,
    `host ${host || UNKNOWN}, version ${version ?? UNKNOWN}, last heartbeat ${span(silentS)} ago`,
    ...(capabilities === '' ? [] : [`offers ${capabilities}`]),
  ]
  const running = worker.running.map(({ task, name: title, sinceMs }) => {
    return `running ${functionName(title)} for ${span(sinceMs / 1_000)}, task ${task}`
  })
  const head = [
    `worker ${id}${name === '' ? '' : ` (${name})`}`,
    ...what,
    ...(running.length === 0 ? ['at its last heartbeat it was running nothing'] : running),
    '',
    'its last lines:',
  ]
  return {
    head: head.map(plainText),
    list: { lines: logLines(log), hasCursor: false },
    isLog: true,
  }
}

function logLines(log: LastLines): readonly string[] {
  if (log === undefined) return ['(asking)']
  if ('problem' in log) return [plainText(log.problem)]
  if (log.lines.length === 0) return ['(none)']
  return log.lines.map(({ time, source, text }) => {
    const at = time.toISOString().slice(11, 19)
    return `${at} ${source.padEnd('stdout'.length)} ${plainText(text)}`
  })
}

function waitingPane({ info }: TopView, width: number): PaneText {
  const problems = problemsOf(info).flatMap(({ what, advice }) => [
    ...wrapped(`- ${what}; ${advice}`, width),
  ])
  const rows = info.waiting.slice(0, MAX_ROWS)
  const table = tableLines({ columns: WAITING_COLUMNS, rows }, { width, color: false })
  const isUntold = rows.length === 0 && info.tasks.waiting > 0
  const none = isUntold ? 'this scheduler does not tell why' : 'nothing waits'
  const lines = [...problems, '', ...(table.length === 0 ? [none] : table)]
  return {
    head: [`why tasks wait: ${countText(info.tasks.waiting, 'task')}`, ''],
    list: { lines: problems.length === 0 ? lines.slice(1) : lines, hasCursor: false },
  }
}

function failuresPane(view: TopView, width: number): PaneText {
  const { info, failures } = view
  const none = noneOr(view, info.tasks.failed === 0 ? 'no task has failed' : NOT_TOLD)
  const table = { columns: FAILURE_COLUMNS, rows: failures, none }
  const pane = tablePane(titleOf(view, 'failures'), table, width)
  if (failures.length === 0) return pane
  return { ...pane, detail: (cursor) => failureLines(failures[cursor], width) }
}

function failureLines(failure: FailureRow | undefined, width: number): readonly string[] {
  if (failure === undefined) return []
  const { task, worker, client, clientName, stack } = failure
  const who = client === undefined ? UNKNOWN : `${clientName} (${client})`
  const place = `task ${task}, worker ${worker ?? UNKNOWN}, client ${who}`
  const unknown = `error ${UNKNOWN}: the worker does not report it; only the client can read it`
  const error = stack || errorText(failure) || unknown
  const lines = [place, ...error.split('\n')].map(plainText)
  return ['-'.repeat(width), ...lines.flatMap((line) => wrapped(line, width))]
}

function lostPane(view: TopView, width: number): PaneText {
  const { info, lost } = view
  const none = info.lost === undefined ? NOT_TOLD : 'no worker was lost in the last 10 minutes'
  const table = { columns: LOST_COLUMNS, rows: lost, none: noneOr(view, none) }
  const pane = tablePane(titleOf(view, 'lost workers'), table, width)
  return lost.length === 0 ? pane : { ...pane, detail: (cursor) => lostLines(lost[cursor], width) }
}

function lostLines(row: LostRow | undefined, width: number): readonly string[] {
  if (row === undefined) return []
  const { id, name, host, cause, hasReturned, tasks, taskCount, secondsAgo } = row
  const after = hasReturned ? '; it has returned' : ''
  const listed = tasks.map(({ task, name: title }) => `had ${functionName(title)}, task ${task}`)
  const rest = taskCount - tasks.length
  const lines = [
    `worker ${id}${name === '' ? '' : ` (${name})`}, host ${host || UNKNOWN}`,
    `lost ${span(secondsAgo)} ago: ${LOSS_TEXTS[cause]}${after}`,
    ...listed,
    ...(rest > 0 ? [`had ${countText(rest, 'more task')}`] : []),
    ...(taskCount === 0 ? ['had no task'] : []),
  ]
  return ['-'.repeat(width), ...lines.map(plainText).flatMap((line) => wrapped(line, width))]
}

function allocatorsPane(view: TopView, width: number): PaneText {
  const { info, allocators } = view
  const none = info.allocators === undefined ? NOT_TOLD : 'no allocator starts workers here'
  const table = { columns: ALLOCATOR_COLUMNS, rows: allocators, none: noneOr(view, none) }
  const pane = tablePane(titleOf(view, 'allocators'), table, width)
  if (allocators.length === 0) return pane
  return { ...pane, detail: (cursor) => allocatorLines(allocators[cursor], width) }
}

function allocatorLines(allocator: AllocatorInfo | undefined, width: number): readonly string[] {
  if (allocator === undefined) return []
  const { name, provider, runtime, offers, paused, action, reason, problem } = allocator
  const { running, pending, room } = allocator
  const workers = `${countText(running, 'worker')}, ${pending} on their way, room for ${room}`
  const offered = capabilitiesText(offers)
  const lines = [
    `allocator ${name}, provider ${provider}: ${workers}`,
    `${runtime} workers${offered === '' ? '' : ` that offer ${offered}`}`,
    paused ? 'paused by an operator' : `${action}: ${reason}`,
    ...(problem === '' ? [] : [`the last start has failed: ${problem}`]),
  ]
  return ['-'.repeat(width), ...lines.map(plainText).flatMap((line) => wrapped(line, width))]
}

interface RowsOf<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly none: string
}

function tablePane<Row>(title: string, { none, ...table }: RowsOf<Row>, width: number): PaneText {
  if (table.rows.length === 0) return note(title, none)
  const rows = table.rows.slice(0, MAX_ROWS)
  const [header = '', ...lines] = tableLines({ ...table, rows }, { width, color: false })
  return { head: [title, header], list: { lines, hasCursor: true } }
}

function note(title: string, text: string): PaneText {
  return { head: [title], list: { lines: [text], hasCursor: false } }
}

function helpPane(width: number): PaneText {
  const lines = HELP.flatMap((line) => wrapped(line, width))
  return { head: ['help', ''], list: { lines, hasCursor: false } }
}

const HELP: readonly string[] = [
  'n C M c m o f w d s l   sort by the column with this letter; again: the other direction',
  '[cpu↓] marks the column: ↓ the largest first, ↑ the smallest first',
  'Up Down PageUp PageDown Home End   move',
  'Enter   what the worker runs, and its last lines',
  'e   why tasks wait, and what to do',
  'F   failures, with their errors and stacks',
  't   tasks that run or wait, the longest first',
  'L   workers that were lost in the last 10 minutes, and what they had',
  'A   allocators, which start workers: their last decisions, and why',
  '/   show only workers, clients, functions, tasks, failures and allocators with a text',
  'Esc   back; on the first screen: show all again',
  'p   pause, and go on',
  'q, Ctrl-C   quit; Ctrl-Z suspends',
  '',
  'turns: the 99th percentile of how long the event loop of the scheduler works at a time',
  'agt_cpu, agt_rss: of the agent; cpu, rss: of the process that runs tasks',
  'free: tasks that the scheduler may still assign; sent: assigned; queued: of these, not running',
  'lag: half a round trip; before it the age of the last heartbeat, if that is late',
  'ITL: its process is initialized, has a task, holds the task lock',
  '',
  `A narrow terminal leaves out, in this order: ${DROP_ORDER.join(', ')}.`,
  '–: the scheduler does not tell.',
]

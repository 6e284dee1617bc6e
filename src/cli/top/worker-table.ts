// The table of workers on the screen of `scaler_top`: the columns of Python Scaler's, the keys that
// sort by them, and which of them a narrow terminal shows.

import { fitText, textWidth } from '../../runtime/progress/line.js'
import type { WorkerRow } from '../report/columns.js'
import { type Column, grouped, plainText, UNKNOWN } from '../table.js'

/** A column of workers. */
type TopColumn = Column<WorkerRow> & {
  /** The key that sorts by it. */
  readonly key?: string
  /** Its cells are padded to this width, so that it does not jump when values change. */
  readonly width: number
}

/** A worker that has been silent for longer is marked, as Python Scaler does. */
export const SILENT_S = 5

/** All columns, in the order of the screen. The first and the last one share what is left. */
export const TOP_COLUMNS: readonly TopColumn[] = [
  { name: 'worker', key: 'n', width: 0, cell: ({ id }) => id },
  numeric('agt_cpu', 'C', ({ agentCpu }) => agentCpu, percent),
  numeric('agt_rss', 'M', ({ agentRssBytes }) => agentRssBytes, bytes),
  numeric('cpu', 'c', ({ cpu }) => cpu, percent),
  numeric('rss', 'm', ({ rssBytes }) => rssBytes, bytes),
  numeric('os_rss_free', 'o', ({ freeBytes }) => freeBytes, bytes),
  numeric('free', 'f', ({ free }) => free, grouped),
  numeric('sent', 'w', ({ sent }) => sent, grouped),
  numeric('queued', 'd', ({ queued }) => queued, grouped),
  numeric('suspended', 's', ({ suspended }) => suspended, grouped),
  { name: 'lag', key: 'l', width: 9, cell: lagText, value: ({ lagMs }) => lagMs },
  { name: 'ITL', width: 3, cell: ({ itl }) => itl },
  { name: 'host', width: 0, cell: ({ host }) => host, isText: true },
]

/** The columns that a narrow terminal does without, the least used first. */
export const DROP_ORDER: readonly string[] = [
  'ITL',
  'suspended',
  'agt_rss',
  'agt_cpu',
  'os_rss_free',
  'free',
  'host',
  'lag',
  'queued',
  'sent',
  'rss',
]

/** By what rows are sorted. */
export interface TopSort {
  /** The name of the column. */
  readonly column: string
  readonly isAscending: boolean
}

/** What a table shows. */
interface TableView {
  readonly rows: readonly WorkerRow[]
  readonly sort: TopSort
  /** Columns of the terminal. */
  readonly width: number
}

/** A column with its place on the screen. */
interface PlacedColumn {
  readonly column: TopColumn
  readonly title: string
  readonly cells: readonly string[]
  readonly width: number
}

/** A name is not cut to less than this because of other columns. */
const MIN_NAME = 16
const MAX_HOST = 24

/** A table of workers; header and lines are at most as wide as the terminal. */
interface WorkerTable {
  readonly header: string
  /** The columns that are shown, with the keys that sort by them. */
  readonly keys: string
  readonly lines: readonly string[]
}

/** Draws the table. */
export function workerLines(view: TableView): WorkerTable {
  const placed = placedColumns(view)
  const keys = placed.flatMap(({ column: { name, key } }) => {
    return key === undefined ? [] : [`${name}[${key}]`]
  })
  const line = (textOf: (column: PlacedColumn) => string): string => {
    const cells = placed.map((column) => {
      const text = fitText(textOf(column), column.width, '+')
      const space = ' '.repeat(Math.max(0, column.width - textWidth(text)))
      return column.column.isText === true ? text + space : space + text
    })
    return fitText(cells.join(' ').trimEnd(), view.width, '')
  }
  return {
    header: line(({ title }) => title),
    keys: keys.join(' '),
    lines: view.rows.map((_, at) => line(({ cells }) => cells[at] ?? '')),
  }
}

/** `[cpu↓]`: the largest values come first. */
function sortTitle({ column, isAscending }: TopSort): string {
  return `[${column}${isAscending ? '↑' : '↓'}]`
}

/** The columns for which there is room. That of the order is always there. */
function placedColumns({ rows, sort, width }: TableView): readonly PlacedColumn[] {
  let placed = TOP_COLUMNS.map((column) => {
    const title = column.name === sort.column ? sortTitle(sort) : column.name
    const cells = rows.map((row) => plainText(column.cell(row)))
    const widest = Math.max(column.width, textWidth(title), ...cells.map(textWidth))
    return { column, title, cells, width: column.isText ? Math.min(widest, MAX_HOST) : widest }
  })
  const roomForName = (): number => {
    return placed.slice(1).reduce((left, column) => left - column.width - 1, width)
  }
  for (const name of DROP_ORDER) {
    if (roomForName() >= Math.min(MIN_NAME, placed[0]?.width ?? 0)) break
    if (name !== sort.column) placed = placed.filter(({ column }) => column.name !== name)
  }
  const name = Math.max(0, roomForName())
  return placed.map((column, at) => {
    return at === 0 ? { ...column, width: Math.min(column.width, name) } : column
  })
}

/** A number; the width of its cells is that of common values. */
function numeric(
  name: string,
  key: string,
  value: (row: WorkerRow) => number,
  text: (value: number) => string,
): TopColumn {
  return { name, key, width: text === grouped ? 5 : 6, value, cell: (row) => text(value(row)) }
}

/** Preceded by the age of the last heartbeat if that is late. */
function lagText({ lagMs, silentS }: WorkerRow): string {
  const lag = duration(lagMs)
  if (silentS <= SILENT_S) return lag
  return `(${silentS <= 60 ? `${silentS}s` : '60+s'}) ${lag}`
}

// The short forms of Python Scaler's screen, of which a dozen fit into a line.

/** `5.3%` */
export function percent(value: number): string {
  return `${value.toFixed(1)}%`
}

const UNITS = ['B', 'K', 'M', 'G', 'T'] as const

/** Powers of 1024: `900B`, `1K`, `37.5M`. */
export function bytes(value: number): string {
  let rest = value
  let at = 0
  for (; rest >= 1024 && at < UNITS.length - 1; at += 1) rest /= 1024
  return `${at < 2 ? Math.trunc(rest) : rest.toFixed(1)}${UNITS[at]}`
}

/** `0.7ms`, `12ms`, `2s`. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return UNKNOWN
  if (ms < 1) return `${ms.toFixed(1)}ms`
  return ms < 1_000 ? `${Math.trunc(ms)}ms` : `${Math.trunc(ms / 1_000)}s`
}

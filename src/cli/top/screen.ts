// What `scaler_top` draws: exactly as many lines as the terminal has, none wider than it. Pure, so
// that every size can be tested. From top to bottom: one line about the scheduler, one about the
// health of the cluster, then a pane; the first pane has the tables of Python Scaler's screen.

import type { ClusterInfo } from '../../client/monitor/cluster-info.js'
import { fitText, textWidth } from '../../runtime/progress/line.js'
import {
  CLIENT_COLUMNS,
  FAILURE_COLUMNS,
  span,
  TASK_COLUMNS,
  type WorkerRow,
} from '../report/columns.js'
import { problemsOf } from '../report/problem.js'
import { FUNCTION_COLUMNS } from '../report/status.js'
import { countText, grouped, plainText, tableLines, UNKNOWN } from '../table.js'
import { type PaneText, paneText } from './pane.js'
import type { TopView } from './top.js'
import { bytes, duration, percent, SILENT_S, workerLines } from './worker-table.js'

/** The terminal. */
export interface TopSize {
  readonly rows: number
  readonly columns: number
  /** Without colours, text is still bold or inverse. */
  readonly hasColors: boolean
}

/** A screen, and how far its pane can be scrolled. */
export interface Frame {
  /** One for each row of the terminal; they end with the default style. */
  readonly lines: readonly string[]
  /** The first row of the table that is shown. */
  readonly first: number
  /** How many rows are shown. */
  readonly page: number
  /** The last position of the cursor. */
  readonly last: number
}

/** After this time without a report, a line says so. Reports come every second. In ms. */
const SILENCE_MS = 3_000

const STYLES = { bold: 1, dim: 2, inverse: 7, red: 31, green: 32, yellow: 33 } as const
type Style = keyof typeof STYLES

/** Draws a state. */
export function drawTop(view: TopView, size: TopSize): Frame {
  return new Drawing(view, size).frame()
}

/** One screen. */
class Drawing {
  readonly #view: TopView
  readonly #size: TopSize
  readonly #info: ClusterInfo

  constructor(view: TopView, size: TopSize) {
    this.#view = view
    this.#size = size
    this.#info = view.info
  }

  frame(): Frame {
    const { rows } = this.#size
    // Of a tiny terminal, the table gets the most.
    const head = [this.#title(), this.#health()].slice(0, Math.max(0, rows - 3))
    const foot = rows < 5 ? [] : [this.#hints()]
    const room = Math.max(0, rows - head.length - foot.length)
    const text = paneText(this.#view, this.#size.columns)
    const body = text === undefined ? this.#workers(room) : this.#pane(text, room)
    const empty = Array.from({ length: room }, () => '')
    const lines = [...head, ...[...body.lines, ...empty].slice(0, room), ...foot].slice(0, rows)
    return { ...body, lines }
  }

  #title(): string {
    const { scheduler, time } = this.#info
    const { silentMs, isPaused } = this.#view
    if (this.#isSilent) {
      const age = span(Math.floor(silentMs / 1_000))
      return this.#filled(`no news for ${age}; reconnecting to ${this.#address}`)
    }
    const parts = [
      `scaler ${scheduler.version ?? UNKNOWN}`,
      this.#address,
      `up ${scheduler.uptimeS === undefined ? UNKNOWN : span(scheduler.uptimeS)}`,
      timeOf(time),
    ]
    if (!isPaused) return this.#paint(plainText(parts.join('  ')), 'bold')
    return this.#filled(`paused, p goes on  ${plainText(parts.join('  '))}`)
  }

  get #isSilent(): boolean {
    return this.#view.silentMs >= SILENCE_MS
  }

  get #address(): string {
    const { address, monitorAddress } = this.#info.scheduler
    return plainText(address ?? monitorAddress ?? UNKNOWN)
  }

  #health(): string {
    if (this.#isSilent) {
      const advice = 'is the scheduler running (not stopped, not overloaded)?'
      return this.#paint(`what follows is from ${timeOf(this.#info.time)}; ${advice}`, 'red')
    }
    const problems = problemsOf(this.#info)
    const [first] = problems
    if (first === undefined) {
      const { hosts, rates } = this.#info
      const rate = rates === undefined ? UNKNOWN : grouped(Math.round(rates.ended))
      const failed =
        rates === undefined || rates.failed === 0 ? '' : this.#failureRate(rates.failed)
      const places = countText(hosts.length, 'host')
      const workers = `${countText(this.#view.total, 'worker')} on ${places}`
      return this.#paint(`well: ${workers}; ${rate}/s tasks ended${failed}`, 'green')
    }
    const which = problems.length === 1 ? '' : ` (1 of ${problems.length}: e)`
    return this.#paint(`attention${which}: ${first.what}; ${first.advice}`, 'red')
  }

  #failureRate(perSecond: number): string {
    return `, ${grouped(Math.round(perSecond))}/s failed: F`
  }

  #hints(): string {
    const { isTyping, filter, pane } = this.#view
    if (isTyping) return this.#filled(`filter: ${plainText(filter)}_`)
    const back = pane === 'workers' ? 'Enter worker' : 'Esc back'
    const keys = `${back}  / filter  p pause  e waiting  F failures  t tasks  ? help  q quit`
    return this.#paint(keys, 'dim')
  }

  // The first pane.

  #workers(room: number): Frame {
    const { rows, sort } = this.#view
    const upper = this.#upper(room)
    const left = Math.max(0, room - upper.length)
    const most = Math.max(Math.floor(left / 3), left - rows.length - OVER_TABLE)
    const lower = left < 10 ? [] : this.#lower(most)
    const page = Math.max(0, Math.min(rows.length, left - lower.length - OVER_TABLE))
    const window = this.#windowOf(rows.length, page)
    const shown = rows.slice(window.first, window.first + page)
    const width = this.#size.columns
    const { header, keys, lines } = workerLines({ rows: shown, sort, width })
    const table = lines.map((line, at) => {
      const row = shown[at]
      if (window.first + at === window.cursor) return this.#filled(line)
      return this.#paint(line, row && styleOf(row))
    })
    const above = [this.#caption(), this.#fitted(`Sort: ${keys}`), this.#paint(header, 'bold')]
    return { ...window, page, lines: [...upper, ...above.slice(-left), ...table, ...lower] }
  }

  /** How many workers there are, in a line that separates. */
  #caption(): string {
    const { rows, total, filter } = this.#view
    const of = rows.length === total ? '' : `${grouped(rows.length)} of `
    const match = filter === '' ? '' : ` match ${JSON.stringify(plainText(filter))}`
    const count = total === 0 ? 'No workers' : `${of}${countText(total, 'worker')}${match}`
    const { count: gone = 0 } = this.#info.lost ?? {}
    const lost = gone === 0 ? '' : `, ${grouped(gone)} lost in 10 min: L`
    return this.#fitted(`-- ${count}${lost}${this.#pending()} ${'-'.repeat(this.#size.columns)}`)
  }

  /** What allocators do, if they do anything or are kept from it. */
  #pending(): string {
    const { allocators = [] } = this.#info
    const pending = allocators.reduce((sum, each) => sum + each.pending, 0)
    const isPaused = allocators.some(({ paused }) => paused)
    const parts = [
      ...(pending === 0 ? [] : [`${grouped(pending)} on their way`]),
      ...(isPaused ? ['allocation paused'] : []),
    ]
    return parts.length === 0 ? '' : `, ${parts.join(', ')}: A`
  }

  /** Scheduler, task manager and messages side by side; in few rows, a summary. */
  #upper(room: number): readonly string[] {
    const { scheduler, tasks, objects } = this.#info
    if (room < 8) return []
    if (room < 18) {
      const { waiting, running, success, failed } = tasks
      const counts = `${grouped(waiting)} waiting, ${grouped(running)} running`
      const ended = `${grouped(success)} succeeded, ${grouped(failed)} failed`
      return [this.#fitted(`cpu ${percent(scheduler.cpu)}  tasks ${counts}, ${ended}`)]
    }
    const rows = room < 32 ? 6 : 9
    const own: Pairs = [
      ['cpu', percent(scheduler.cpu)],
      ['rss', bytes(scheduler.rssBytes)],
      ['rss_free', bytes(scheduler.freeBytes)],
      ['turns', duration(scheduler.turnP99Ms)],
      ['objects', grouped(objects.count)],
      ['stored', objects.bytes === undefined ? UNKNOWN : bytes(objects.bytes)],
    ]
    const manager: Pairs = [
      ['unassigned', grouped(tasks.waiting)],
      ['running', grouped(tasks.running)],
      ['success', grouped(tasks.success)],
      ['failed', grouped(tasks.failed)],
      ['canceled', grouped(tasks.canceled)],
      ['not_found', grouped(tasks.notFound)],
    ]
    const { received, sent } = scheduler.messages ?? { received: {}, sent: {} }
    const blocks = [
      block('scheduler', own, rows),
      block('task_manager', manager, rows),
      block('scheduler_sent', messagePairs(sent), rows),
      block('scheduler_received', messagePairs(received), rows),
    ]
    while (blocks.length > 1 && widthOf(blocks) > this.#size.columns) blocks.pop()
    const height = Math.max(...blocks.map((lines) => lines.length))
    const lines = Array.from({ length: height }, (_, at) => {
      const cells = blocks.map((block) => padded(block[at] ?? '', block))
      return this.#fitted(joined(cells).trimEnd())
    })
    const [title = '', ...rest] = lines
    return [this.#paint(title, 'bold'), ...rest]
  }

  /** Clients and functions side by side; where there is room, old tasks and new failures. */
  #lower(room: number): readonly string[] {
    const { clients, functions, tasks, failures } = this.#view
    const width = Math.floor((this.#size.columns - SEPARATOR.length) / 2)
    const [half, full] = [width, this.#size.columns].map((columns) => ({
      width: columns,
      color: false,
    }))
    if (half === undefined || full === undefined) return []
    const rows = Math.max(0, room - 2)
    const left = tableLines({ columns: CLIENT_COLUMNS, rows: clients.slice(0, rows) }, half)
    const right = tableLines({ columns: FUNCTION_COLUMNS, rows: functions.slice(0, rows) }, half)
    const both = Array.from({ length: Math.max(left.length, right.length) }, (_, at) => {
      const [first = '', second = ''] = [left[at], right[at]]
      return `${first}${spaces(width - textWidth(first))}${SEPARATOR}${second}`
    })
    let lines = this.#titled(both)
    const add = (table: readonly string[], most: number): void => {
      if (most >= 3) lines = [...lines, ...this.#titled(table.slice(0, most - 1))]
    }
    const shown = { columns: TASK_COLUMNS, title: 'tasks', rows: tasks.slice(0, rows) }
    const rest = room - lines.length
    add(tableLines(shown, full), Math.min(rest, Math.max(3, Math.ceil(rest / 2))))
    const failed = { columns: FAILURE_COLUMNS, rows: failures.slice(0, rows) }
    add(tableLines(failed, full), room - lines.length)
    return lines
  }

  /** A table below another one. */
  #titled([title, ...rows]: readonly string[]): readonly string[] {
    if (title === undefined) return []
    return ['', this.#paint(title, 'bold'), ...rows.map((line) => this.#fitted(line))]
  }

  // The other panes.

  #pane({ head, list, detail, isLog = false }: PaneText, room: number): Frame {
    const top = head.slice(0, Math.max(0, room - 1))
    const left = Math.max(0, room - top.length)
    const about = detail?.(this.#view.cursor) ?? []
    const below = about.slice(0, Math.floor(left / 2)).map((line) => this.#fitted(line))
    const page = left - below.length
    const { hasCursor, lines } = list
    const window = hasCursor
      ? this.#windowOf(lines.length, page)
      : this.#scrolled(lines.length, page, isLog)
    const shown = lines.slice(window.first, window.first + page).map((line, at) => {
      const isSelected = hasCursor && window.first + at === window.cursor
      return isSelected ? this.#filled(line) : this.#fitted(line)
    })
    const blank = Array.from({ length: page - shown.length }, () => '')
    const [title = '', ...rest] = top.map((line) => this.#fitted(line))
    const all = [this.#paint(title, 'bold'), ...rest, ...shown, ...blank, ...below]
    return { ...window, page, lines: all }
  }

  /** The rows around the cursor, moved as little as possible. */
  #windowOf(count: number, page: number): Pick<Frame, 'first' | 'last'> & { cursor: number } {
    const last = Math.max(0, count - 1)
    const cursor = Math.min(this.#view.cursor, last)
    const least = Math.max(0, cursor - page + 1)
    const most = Math.min(cursor, Math.max(0, count - page))
    return { first: Math.max(least, Math.min(this.#view.first, most)), last, cursor }
  }

  /** The lines from the cursor on; of a log, those that end that far before its end. */
  #scrolled(
    count: number,
    page: number,
    isLog: boolean,
  ): Pick<Frame, 'first' | 'last'> & { cursor: number } {
    const last = Math.max(0, count - page)
    const cursor = Math.min(this.#view.cursor, last)
    return { first: isLog ? last - cursor : cursor, last, cursor }
  }

  // Styles.

  /** A whole line, inverted, and cut if it is too wide. */
  #filled(text: string): string {
    const line = this.#fitted(text)
    return this.#paint(line + spaces(this.#size.columns - textWidth(line)), 'inverse')
  }

  #fitted(text: string): string {
    return fitText(text, this.#size.columns, '')
  }

  #paint(text: string, style: Style | undefined): string {
    const line = this.#fitted(text)
    if (style === undefined || line === '') return line
    const code = STYLES[style]
    return code >= 30 && !this.#size.hasColors ? line : `\u001b[${code}m${line}\u001b[0m`
  }
}

function timeOf(time: Date): string {
  return time.toTimeString().slice(0, 8)
}

function styleOf({ state, silentS }: WorkerRow): Style | undefined {
  if (silentS > SILENT_S) return 'red'
  if (state === 'leaving') return 'dim'
  return state === 'starting' ? 'yellow' : undefined
}

// Tables of names and values, with a title.

type Pairs = readonly (readonly [name: string, value: string])[]

const SEPARATOR = ' | '
/** Lines of the table of workers besides its rows. */
const OVER_TABLE = 3
const MAX_MESSAGE_NAME = 24

function messagePairs(counts: Readonly<Record<string, number>>): Pairs {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => [fitText(plainText(name), MAX_MESSAGE_NAME, '+'), grouped(count)])
}

/** Lines of one width: names and values are aligned. */
function block(title: string, pairs: Pairs, rows: number): readonly string[] {
  const shown: Pairs = pairs.length === 0 ? [[UNKNOWN, '']] : pairs.slice(0, rows)
  const name = Math.max(...shown.map(([text]) => textWidth(text)))
  const value = Math.max(...shown.map(([, text]) => text.length))
  const width = Math.max(textWidth(title), name + 1 + value)
  const lines = shown.map(([text, number]) => {
    return `${spaces(width - value - 1 - textWidth(text))}${text} ${number.padStart(value)}`
  })
  return [`${title}${spaces(width - textWidth(title))}`, ...lines]
}

function padded(line: string, block: readonly string[]): string {
  return line === '' ? spaces(textWidth(block[0] ?? '')) : line
}

function widthOf(blocks: readonly (readonly string[])[]): number {
  return textWidth(joined(blocks.map(([title = '']) => title)))
}

function joined(cells: readonly string[]): string {
  return cells.join(SEPARATOR)
}

function spaces(count: number): string {
  return ' '.repeat(Math.max(0, count))
}

// The state of `scaler_top`: which reports and keys have come, and what is therefore shown. Pure:
// the time is an argument.

import type {
  AllocatorInfo,
  ClusterInfo,
  ConnectedClient,
  FunctionInfo,
} from '../../client/monitor/cluster-info.js'
import {
  type FailureRow,
  failureRows,
  type LostRow,
  lostRows,
  type TaskRow,
  taskRows,
  type WorkerRow,
  workerRows,
} from '../report/columns.js'
import { readOrder } from '../table.js'
import type { LastLines } from './pane.js'
import { drawTop, type Frame, type TopSize } from './screen.js'
import { TOP_COLUMNS, type TopSort } from './worker-table.js'

/** `workers`: the first one, with all tables. */
type Pane = 'workers' | 'worker' | 'waiting' | 'failures' | 'tasks' | 'lost' | 'allocators' | 'help'

/** What is shown, as of one moment. */
export interface TopView {
  readonly info: ClusterInfo
  readonly pane: Pane
  /** The workers that match the filter, sorted. */
  readonly rows: readonly WorkerRow[]
  /** How many workers there are. */
  readonly total: number
  /** What matches the filter. */
  readonly clients: readonly ConnectedClient[]
  readonly functions: readonly FunctionInfo[]
  /** The one that has run or waited longest comes first. */
  readonly tasks: readonly TaskRow[]
  readonly failures: readonly FailureRow[]
  readonly lost: readonly LostRow[]
  readonly allocators: readonly AllocatorInfo[]
  readonly sort: TopSort
  /** The selected row, or the first line of a text. */
  readonly cursor: number
  /** The first row that was shown last. */
  readonly first: number
  readonly filter: string
  readonly isTyping: boolean
  readonly isPaused: boolean
  /** For how long no report has come. */
  readonly silentMs: number
  /** Of the pane `worker`; undefined once it has left. */
  readonly worker: WorkerRow | undefined
  readonly log: LastLines
}

/** A key, as `node:readline` reports it. */
export interface TopKey {
  readonly name?: string | undefined
  /** The character, or what the terminal sends for the key. */
  readonly sequence?: string | undefined
  readonly ctrl?: boolean | undefined
}

/** What a key asks of the shell. */
type TopAction = 'quit' | 'interrupt' | 'suspend' | 'redraw' | undefined

const PANE_KEYS: ReadonlyMap<string, Pane> = new Map([
  ['e', 'waiting'],
  ['F', 'failures'],
  ['t', 'tasks'],
  ['L', 'lost'],
  ['A', 'allocators'],
  ['?', 'help'],
])

/** Enough to filter by. */
const MAX_FILTER = 100

/** A report and the rows that are made from it, once. */
interface Shown {
  readonly info: ClusterInfo
  readonly workers: readonly WorkerRow[]
  readonly tasks: readonly TaskRow[]
  readonly failures: readonly FailureRow[]
}

/** The state. There is nothing to draw before the first report. */
export class TopState {
  /** The last report, and the one that is shown: while paused an older one. */
  #latest: ClusterInfo | undefined
  #shown: Shown | undefined
  #receivedMs = 0
  #pane: Pane = 'workers'
  #sort: TopSort = { column: 'cpu', isAscending: false }
  #filter = ''
  #isTyping = false
  #isPaused = false
  #cursor = 0
  /** The cursor of the first pane while another one is open. */
  #workersCursor = 0
  #frame: Pick<Frame, 'first' | 'page' | 'last'> = { first: 0, page: 1, last: 0 }
  #worker: string | undefined
  #log: LastLines
  /** Of what is shown; undefined after a change. */
  #rows: readonly WorkerRow[] | undefined

  /** The worker of which the last lines are wanted. */
  get wantedLog(): string | undefined {
    return this.#pane === 'worker' && !this.#isPaused ? this.#worker : undefined
  }

  /** The cluster has reported, at `nowMs` by a clock that never goes back. */
  onInfo(info: ClusterInfo, nowMs: number): void {
    this.#latest = info
    this.#receivedMs = nowMs
    if (!this.#isPaused || this.#shown === undefined) this.#show(info)
  }

  /** The last lines of a worker have come, or why they do not. */
  onLog(worker: string, log: LastLines): void {
    if (worker === this.wantedLog) this.#log = log
  }

  /** A key was pressed. */
  onKey(key: TopKey): TopAction {
    const { name = '', sequence = '', ctrl = false } = key
    if (ctrl) return this.#onControl(name)
    if (this.#isTyping) return this.#onTyped(name, sequence)
    if (sequence === 'q') return 'quit'
    if (this.#onMove(name)) return undefined
    const pane = PANE_KEYS.get(sequence)
    if (pane !== undefined) this.#open(pane)
    else if (sequence === 'p') this.#pause()
    else if (sequence === '/') {
      // A new filter: what was typed before is not continued.
      this.#setFilter('')
      this.#isTyping = true
    } else if (name === 'escape' || name === 'backspace') this.#back()
    else if (this.#pane === 'workers') this.#onTableKey(name, sequence)
    return undefined
  }

  /** Draws it; undefined before the first report. */
  frame(size: TopSize, nowMs: number): readonly string[] | undefined {
    const shown = this.#shown
    if (shown === undefined) return undefined
    const frame = drawTop(this.#view(shown, nowMs), size)
    this.#frame = frame
    this.#cursor = Math.min(this.#cursor, frame.last)
    return frame.lines
  }

  #onControl(name: string): TopAction {
    switch (name) {
      case 'c':
        return 'interrupt'
      case 'z':
        return 'suspend'
      case 'l':
        return 'redraw'
      case 'u':
        if (this.#isTyping) this.#setFilter('')
        return undefined
      default:
        return undefined
    }
  }

  #onTyped(name: string, sequence: string): TopAction {
    if (name === 'return' || name === 'enter') this.#isTyping = false
    else if (name === 'escape') {
      this.#isTyping = false
      this.#setFilter('')
    } else if (name === 'backspace') this.#setFilter(Array.from(this.#filter).slice(0, -1).join(''))
    else if (/^\P{C}+$/u.test(sequence)) this.#setFilter(this.#filter + sequence)
    return undefined
  }

  #onMove(name: string): boolean {
    const { page, last } = this.#frame
    const steps: ReadonlyMap<string, number> = new Map([
      ['up', -1],
      ['down', 1],
      ['pageup', -page],
      ['pagedown', page],
      ['home', -last],
      ['end', last],
    ])
    const step = steps.get(name)
    if (step === undefined) return false
    // The cursor of last lines counts from their end.
    const sign = this.#pane === 'worker' ? -1 : 1
    this.#cursor = Math.max(0, Math.min(last, this.#cursor + sign * step))
    return true
  }

  #onTableKey(name: string, sequence: string): void {
    if (name === 'return' || name === 'enter') {
      const shown = this.#shown
      const worker = shown && this.#rowsOf(shown)[this.#cursor]
      if (worker === undefined) return
      this.#worker = worker.id
      this.#log = undefined
      this.#open('worker')
      return
    }
    const column = TOP_COLUMNS.find(({ key }) => key === sequence)?.name
    if (column === undefined) return
    const isSame = column === this.#sort.column
    this.#sort = { column, isAscending: isSame && !this.#sort.isAscending }
    this.#rows = undefined
  }

  #open(pane: Pane): void {
    if (this.#pane === 'workers') this.#workersCursor = this.#cursor
    this.#pane = pane
    this.#cursor = pane === 'workers' ? this.#workersCursor : 0
    this.#frame = { ...this.#frame, first: 0 }
  }

  #back(): void {
    if (this.#pane === 'workers') this.#setFilter('')
    else this.#open('workers')
  }

  #pause(): void {
    this.#isPaused = !this.#isPaused
    if (!this.#isPaused && this.#latest !== undefined) this.#show(this.#latest)
  }

  #setFilter(text: string): void {
    this.#filter = text.slice(0, MAX_FILTER)
    this.#rows = undefined
  }

  #show(info: ClusterInfo): void {
    const tasks = taskRows(info).toSorted((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0))
    this.#shown = { info, workers: workerRows(info), tasks, failures: failureRows(info) }
    this.#rows = undefined
  }

  #rowsOf({ workers }: Shown): readonly WorkerRow[] {
    const { column, isAscending } = this.#sort
    return (this.#rows ??= readOrder(TOP_COLUMNS, [`${isAscending ? '' : '-'}${column}`])(
      this.#matching(workers, ({ id, name, host, running }) => {
        return [id, name, host, ...running.map((task) => task.name)]
      }),
    ))
  }

  #matching<Row>(rows: readonly Row[], textsOf: (row: Row) => readonly string[]): readonly Row[] {
    if (this.#filter === '') return rows
    const wanted = this.#filter.toLowerCase()
    return rows.filter((row) => textsOf(row).some((text) => text.toLowerCase().includes(wanted)))
  }

  #view(shown: Shown, nowMs: number): TopView {
    const { info, workers, tasks, failures } = shown
    return {
      info,
      pane: this.#pane,
      rows: this.#rowsOf(shown),
      total: workers.length,
      clients: this.#matching(info.clients, ({ id, name, host }) => [id, name, host]),
      functions: this.#matching(info.functions, ({ name }) => [name]),
      tasks: this.#matching(tasks, (row) => [row.name, row.worker ?? '', row.host ?? '']),
      failures: this.#matching(failures, (row) => {
        const { name, errorName, message, worker = '', client = '', clientName } = row
        return [row.function, name, errorName, message, worker, client, clientName]
      }),
      lost: this.#matching(lostRows(info), ({ id, name, host }) => [id, name, host]),
      allocators: this.#matching(info.allocators ?? [], ({ name, provider }) => [name, provider]),
      sort: this.#sort,
      cursor: this.#cursor,
      first: this.#frame.first,
      filter: this.#filter,
      isTyping: this.#isTyping,
      isPaused: this.#isPaused,
      silentMs: nowMs - this.#receivedMs,
      worker: workers.find(({ id }) => id === this.#worker),
      log: this.#log,
    }
  }
}

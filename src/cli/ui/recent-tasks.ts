// The last tasks that have ended, and what the timeline draws of many more: both bounded, the
// oldest go first.

import type { TaskEnded } from '../../client/monitor/cluster-info.js'
import type { TimeWindow } from './history.js'

/** The last tasks that have ended, findable by id. */
export class RecentTasks {
  readonly #capacity: number
  /** A ring: a `Map` alone would look for its oldest entry among those that it has removed. */
  readonly #ring: TaskEnded[] = []
  readonly #byId = new Map<string, TaskEnded>()
  #next = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#byId.size
  }

  /** A task that ends twice, because its scheduler restarted, is listed once. */
  add(task: TaskEnded): void {
    const oldest = this.#ring[this.#next]
    if (oldest !== undefined && this.#isCurrent(oldest)) this.#byId.delete(oldest.task)
    this.#ring[this.#next] = task
    this.#next = (this.#next + 1) % this.#capacity
    this.#byId.set(task.task, task)
  }

  get(id: string): TaskEnded | undefined {
    return this.#byId.get(id)
  }

  /** The last one first. */
  list(): readonly TaskEnded[] {
    const inOrder = [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)]
    return inOrder.filter((task) => this.#isCurrent(task)).reverse()
  }

  #isCurrent(task: TaskEnded): boolean {
    return this.#byId.get(task.task) === task
  }
}

/** A run of a task, or several that are too short to be drawn one by one. */
export interface TimelineBar {
  /** Index in the `workers` of the answer. */
  readonly row: number
  readonly from: number
  readonly to: number
  /** Index in the `functions` of the answer. */
  readonly function: number
  /** How many runs it stands for; how many of these failed, and how many lost their worker. */
  readonly count: number
  readonly failed: number
  readonly killed: number
  /** The task, if it is one. */
  readonly task: string | null
}

/** Part of a timeline. */
interface TimelineBars {
  readonly bars: readonly TimelineBar[]
  readonly functions: readonly string[]
  /** How much time the shortest bar stands for, in milliseconds. */
  readonly stepMs: number
}

/** At most this many bars are sent at once; shorter tasks are drawn together until they fit. */
const MAX_BARS = 4_000
/** Functions with colours of their own; further ones share the last. */
const MAX_FUNCTIONS = 1_000
const OTHERS = '(others)'

/** How a run ended. KILLED: its worker was lost. */
const [ENDED, FAILED, KILLED] = [0, 1, 2]

/** One run of a task. Times are milliseconds since 1970. */
interface Run {
  readonly task: string
  readonly name: string
  readonly worker: string
  readonly from: number
  readonly to: number
  readonly end: number
}

/** When the last tasks ran, and where: columns of numbers, because there are many. */
export class Timeline {
  readonly #capacity: number
  readonly #starts: Float64Array
  readonly #ends: Float64Array
  readonly #workers: Int32Array
  readonly #functions: Int32Array
  readonly #outcomes: Uint8Array
  readonly #ids: string[] = []
  readonly #functionNames = new Names(MAX_FUNCTIONS)
  readonly #workerNames = new Names(100_000)
  #next = 0
  #lastEnd: number | undefined

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#starts = new Float64Array(capacity)
    this.#ends = new Float64Array(capacity)
    this.#workers = new Int32Array(capacity)
    this.#functions = new Int32Array(capacity)
    this.#outcomes = new Uint8Array(capacity)
  }

  /** When the last of all runs ended. */
  get lastEnd(): number | undefined {
    return this.#lastEnd
  }

  /** Tasks that never ran are not drawn. */
  add({ time, durationMs, worker, status, task, past, ...names }: TaskEnded): void {
    const name = names.function || names.name
    for (const { worker: lost, startedAt, durationMs: forMs, outcome } of past) {
      const from = startedAt?.getTime() ?? 0
      const end = outcome === 'worker-lost' ? KILLED : FAILED
      this.#add({ task, name, worker: lost, from, to: from + forMs, end })
    }
    if (durationMs === undefined || worker === undefined) return
    const to = time.getTime()
    const end = status === 'success' || status === 'canceled' ? ENDED : FAILED
    this.#add({ task, name, worker, from: to - durationMs, to, end })
  }

  #add({ task, name, worker, from, to, end }: Run): void {
    const at = this.#next
    this.#next = (at + 1) % this.#capacity
    this.#ends[at] = to
    this.#lastEnd = Math.max(this.#lastEnd ?? to, to)
    this.#starts[at] = from
    this.#workers[at] = this.#workerNames.indexOf(worker)
    this.#functions[at] = this.#functionNames.indexOf(name)
    this.#outcomes[at] = end
    this.#ids[at] = task
  }

  /** The workers of the tasks that are known, in the order in which they were seen first. */
  workersIn({ from, to }: TimeWindow): readonly string[] {
    const found = new Set<number>()
    for (let at = 0; at < this.#ids.length; at += 1) {
      if (this.#overlaps(at, from, to)) found.add(this.#workers[at] ?? 0)
    }
    return [...found].sort((a, b) => a - b).map((index) => this.#workerNames.nameOf(index))
  }

  /** What some workers ran in a window: `width` is that of the drawing, in pixels. */
  read({ from, to, width }: TimeWindow, workers: readonly string[]): TimelineBars {
    const rows = new Map(workers.map((worker, row) => [this.#workerNames.known(worker), row]))
    const chosen: number[] = []
    for (let at = 0; at < this.#ids.length; at += 1) {
      if (rows.has(this.#workers[at] ?? -1) && this.#overlaps(at, from, to)) chosen.push(at)
    }
    chosen.sort((a, b) => (this.#starts[a] ?? 0) - (this.#starts[b] ?? 0))
    let stepMs = (to - from) / Math.max(1, width)
    let bars = this.#merged(chosen, rows, stepMs)
    while (bars.length > MAX_BARS) {
      stepMs *= 2
      bars = this.#merged(chosen, rows, stepMs)
    }
    return { bars, functions: [...this.#functionNames.all], stepMs }
  }

  #overlaps(at: number, from: number, to: number): boolean {
    return (this.#ends[at] ?? 0) >= from && (this.#starts[at] ?? 0) <= to
  }

  /** Joins neighbours of a row that both are shorter than two steps and less than one apart. */
  #merged(
    chosen: readonly number[],
    rows: ReadonlyMap<number, number>,
    stepMs: number,
  ): readonly TimelineBar[] {
    const bars: TimelineBar[] = []
    /** Where the last bar of a row is, and its longest task, which gives it its function. */
    const lasts = new Map<number, { readonly at: number; longestMs: number }>()
    for (const at of chosen) {
      const bar: TimelineBar = {
        row: rows.get(this.#workers[at] ?? -1) ?? 0,
        from: tenth(this.#starts[at] ?? 0),
        to: tenth(this.#ends[at] ?? 0),
        function: this.#functions[at] ?? 0,
        count: 1,
        failed: this.#outcomes[at] === FAILED ? 1 : 0,
        killed: this.#outcomes[at] === KILLED ? 1 : 0,
        task: this.#ids[at] ?? null,
      }
      const longestMs = bar.to - bar.from
      const lastBar = lasts.get(bar.row)
      const last = lastBar && bars[lastBar.at]
      if (lastBar !== undefined && last !== undefined && canJoin(last, bar, stepMs)) {
        const isLonger = longestMs > lastBar.longestMs
        bars[lastBar.at] = {
          ...joined(last, bar),
          function: isLonger ? bar.function : last.function,
        }
        if (isLonger) lastBar.longestMs = longestMs
      } else lasts.set(bar.row, { at: bars.push(bar) - 1, longestMs })
    }
    return bars
  }
}

/** More digits would only be more bytes. */
function tenth(ms: number): number {
  return Math.round(ms * 10) / 10
}

function canJoin(last: TimelineBar, next: TimelineBar, stepMs: number): boolean {
  const isShort = last.to - last.from < 2 * stepMs && next.to - next.from < 2 * stepMs
  return isShort && next.from - last.to < stepMs
}

function joined(last: TimelineBar, next: TimelineBar): TimelineBar {
  return {
    ...last,
    to: Math.max(last.to, next.to),
    count: last.count + next.count,
    failed: last.failed + next.failed,
    killed: last.killed + next.killed,
    task: null,
  }
}

/** Numbers for names. Beyond `max` of them, all have the last number. */
class Names {
  /** By number. */
  readonly all: string[] = []
  readonly #max: number
  readonly #numbers = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  indexOf(name: string): number {
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    if (this.all.length >= this.#max) return this.#max - 1
    const number = this.all.length
    const kept = number === this.#max - 1 ? OTHERS : name
    this.all.push(kept)
    this.#numbers.set(kept, number)
    return number
  }

  known(name: string): number {
    return this.#numbers.get(name) ?? -1
  }

  nameOf(number: number): string {
    return this.all[number] ?? OTHERS
  }
}

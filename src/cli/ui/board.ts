// Everything that `scaler ui` knows of its cluster: the last state, and a bounded past. Pure: it
// is given what has come and the time. A reload of the page loses nothing of it.

import { WAITING_REASONS } from '../../base/waiting-reason.js'
import type {
  ClusterEvent,
  ClusterInfo,
  FailureInfo,
  TaskEnded,
} from '../../client/monitor/cluster-info.js'
import type { GraphInfo } from '../../client/monitor/graph-info.js'
import { EventLog } from './event-log.js'
import { FailureGroups } from './failure-groups.js'
import { History } from './history.js'
import { PeerNames } from './peer-names.js'
import { RecentTasks, Timeline } from './recent-tasks.js'
import { WorkerEntries } from './worker-entries.js'
import { Histogram } from '../../base/histogram.js'

/** Ended tasks that can be listed and found by id. */
const MAX_TASKS = 10_000
/** Ended tasks that the timeline draws. */
const MAX_TIMELINE = 100_000
/** Schedulers report once per second: after this time without a report, the data is stale. */
const STALE_MS = 3_000

/** The series of the history. Those that begin with `waiting:` are by reason. */
const SERIES = [
  'submitted',
  'ended',
  'failed',
  'running',
  'waiting',
  'cpu',
  'memory',
  'turn',
  ...WAITING_REASONS.map((reason) => `waiting:${reason}`),
] as const

/** No task waits. */
const NO_REASONS: Readonly<Record<string, number>> = Object.fromEntries(
  WAITING_REASONS.map((reason) => [`waiting:${reason}`, 0]),
)

/** How old what is known is. */
export interface Freshness {
  /** Since the last report, in milliseconds; null before the first one. */
  readonly ageMs: number | null
  /** Nothing has come for three seconds. */
  readonly stale: boolean
}

/** The state and the past of one cluster. Times are milliseconds since 1970. */
export class Board {
  readonly history: History = new History(SERIES)
  readonly tasks: RecentTasks = new RecentTasks(MAX_TASKS)
  readonly timeline: Timeline = new Timeline(MAX_TIMELINE)
  readonly failures: FailureGroups = new FailureGroups()
  readonly log: EventLog = new EventLog()
  readonly workers: WorkerEntries = new WorkerEntries()
  readonly durations: Durations = new Durations()
  readonly peers: PeerNames = new PeerNames()
  /** The address at which it is watched. */
  address: string | undefined
  /** Why the cluster cannot be reached, if it was not reached yet. */
  problem: string | undefined
  #info: ClusterInfo | undefined
  #reportedAt: number | undefined
  #lostEvents = 0
  #graphs: readonly GraphInfo[] = []
  #graphCount = 0

  /** The last state; undefined before there is one. */
  get info(): ClusterInfo | undefined {
    return this.#info
  }

  /** How many events were not reported, because there were too many: most are of ended tasks. */
  get lostEvents(): number {
    return this.#lostEvents
  }

  /** Those that have not ended, the oldest first; then the last ones that have, the last first. */
  get graphs(): readonly GraphInfo[] {
    return this.#graphs
  }

  /** How many graphs have not ended; some may not be listed. */
  get graphCount(): number {
    return this.#graphCount
  }

  /** The graphs of a report. */
  onGraphs(graphs: readonly GraphInfo[], count: number): void {
    this.#graphs = graphs
    this.#graphCount = count
  }

  /** A report has come. */
  onEvents(events: readonly ClusterEvent[], nowMs: number): void {
    const silentMs = nowMs - (this.#reportedAt ?? nowMs)
    if (silentMs >= STALE_MS) this.log.onSilence(silentMs, nowMs)
    this.#reportedAt = nowMs
    const failures: FailureInfo[] = []
    for (const event of events) {
      if (event.type === 'task') {
        this.tasks.add(event)
        this.timeline.add(event)
        this.durations.add(event)
      } else if (event.type === 'lost') this.#lostEvents += event.count
      else if (event.type === 'sample') {
        this.#onSample(event.info, nowMs)
        failures.push(...this.failures.update(event.info.failures))
      }
    }
    this.log.onReport(events, failures, nowMs)
  }

  freshness(nowMs: number): Freshness {
    const ageMs = this.#reportedAt === undefined ? null : Math.max(0, nowMs - this.#reportedAt)
    return { ageMs, stale: ageMs === null || ageMs >= STALE_MS }
  }

  #onSample(info: ClusterInfo, nowMs: number): void {
    this.#info = info
    this.workers.update(info)
    this.peers.update(info)
    const { rates, tasks, waiting, scheduler } = info
    const byReason = new Map<string, number>()
    for (const { reason, count } of waiting) {
      byReason.set(`waiting:${reason}`, (byReason.get(`waiting:${reason}`) ?? 0) + count)
    }
    this.history.note(nowMs, {
      ...rates,
      running: tasks.running,
      waiting: tasks.waiting,
      ...usageOf(info),
      turn: scheduler.turnP99Ms,
      // A scheduler of Python Scaler does not tell why tasks wait.
      ...(info.lost === undefined ? {} : NO_REASONS),
      ...Object.fromEntries(byReason),
    })
  }
}

/** What all hosts together use: percent of one core, and bytes. */
export function usageOf({ hosts }: ClusterInfo): { readonly cpu: number; readonly memory: number } {
  let [cpu, memory] = [0, 0]
  for (const host of hosts) {
    cpu += host.cpu
    for (const worker of host.workers) memory += worker.rssBytes
  }
  return { cpu: Math.round(cpu * 10) / 10, memory }
}

// How long the tasks of each function took, as far as their ends were reported here.

/** The bounds of durations in milliseconds: a microsecond to two weeks. */
const [SHORTEST_MS, LONGEST_MS] = [0.001, 1_209_600_000]
/** Functions that are counted; those beyond are not. */
const MAX_FUNCTIONS = 1_000
/** Each bar stands for as many buckets, which makes it 1.46 times as long as the one before. */
const STEP = 4

/** How many tasks took more than `from` and at most `to` milliseconds. */
export interface DurationBar {
  readonly from: number
  readonly to: number
  readonly count: number
}

/** The durations of all functions. */
export class Durations {
  readonly #byFunction = new Map<string, Histogram>()

  add({ function: name, durationMs }: TaskEnded): void {
    if (durationMs === undefined) return
    let durations = this.#byFunction.get(name)
    if (durations === undefined) {
      if (this.#byFunction.size >= MAX_FUNCTIONS) return
      durations = new Histogram(SHORTEST_MS, LONGEST_MS)
      this.#byFunction.set(name, durations)
    }
    durations.add(durationMs)
  }

  /** From the first bar that is not empty to the last one. */
  of(name: string): readonly DurationBar[] {
    const bars: DurationBar[] = []
    let [last, before] = [0, 0]
    for (const [to, count] of this.#byFunction.get(name)?.cumulative(STEP) ?? []) {
      bars.push({ from: last, to, count: count - before })
      last = to
      before = count
    }
    const first = bars.findIndex(({ count }) => count > 0)
    const end = bars.findLastIndex(({ count }) => count > 0)
    return first < 0 ? [] : bars.slice(first, end + 1)
  }
}

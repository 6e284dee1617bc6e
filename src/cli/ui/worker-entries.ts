// The workers as the page shows them: their times are moments instead of ages, which would change
// with each report, and they have a short past.

import type { ClusterInfo, RunningInfo } from '../../client/monitor/cluster-info.js'
import { type WorkerRow, workerRows } from '../report/columns.js'

/** A worker. */
export interface WorkerEntry extends Omit<WorkerRow, 'silentS' | 'running'> {
  readonly running: readonly RunningSince[]
  /** When its last heartbeat came, if that is more than five seconds ago. */
  readonly silentSince: Date | undefined
  /** Its CPU in percent of one core: one value per ten seconds of the last five minutes. */
  readonly past: readonly (number | null)[]
}

/** A task that runs. */
interface RunningSince {
  readonly task: string
  readonly name: string
  readonly function: string
  readonly since: Date
}

const SILENT_S = 5
const STEP_MS = 10_000
const STEPS = 30
/** Reported ages differ from the true ones by less than this. */
const SAME_MS = 1_500

/** What is kept of a worker from one report to the next. */
interface Kept {
  readonly entry: WorkerEntry
  /** Values of steps that are over. */
  readonly past: readonly (number | null)[]
  readonly step: number
}

/** All workers, in the order of the hosts. */
export class WorkerEntries {
  #kept = new Map<string, Kept>()

  /** The workers of the last report. */
  get all(): readonly WorkerEntry[] {
    return [...this.#kept.values()].map(({ entry }) => entry)
  }

  get(id: string): WorkerEntry | undefined {
    return this.#kept.get(id)?.entry
  }

  update(info: ClusterInfo): void {
    const timeMs = info.time.getTime()
    const next = new Map<string, Kept>()
    for (const row of workerRows(info))
      next.set(row.id, keptOf(row, timeMs, this.#kept.get(row.id)))
    this.#kept = next
  }
}

function keptOf(row: WorkerRow, timeMs: number, before: Kept | undefined): Kept {
  const { silentS, running, ...rest } = row
  const step = Math.floor(timeMs / STEP_MS)
  const isNext = before?.step !== step
  const old = before?.past ?? []
  const gap = before === undefined ? 0 : Math.min(STEPS, step - before.step - 1)
  const past = isNext
    ? [...old, ...Array.from({ length: gap }, () => null), Math.round(row.cpu)].slice(-STEPS)
    : old
  const silentMs = silentS * 1_000
  const silentSince =
    silentS > SILENT_S ? moment(timeMs - silentMs, before?.entry.silentSince) : undefined
  const entry = {
    ...rest,
    running: running.map((task) => since(task, timeMs, before?.entry.running)),
    silentSince,
    past,
  }
  return { entry, past, step }
}

function since(
  { sinceMs, ...run }: RunningInfo,
  timeMs: number,
  before: readonly RunningSince[] | undefined,
): RunningSince {
  const known = before?.find(({ task }) => task === run.task)
  return { ...run, since: moment(timeMs - sinceMs, known?.since) }
}

/** The time as reported before, unless it has changed. */
function moment(ms: number, before: Date | undefined): Date {
  if (before !== undefined && Math.abs(before.getTime() - ms) < SAME_MS) return before
  return new Date(ms)
}

// The workers that were lost a short while ago, so that operators see more of them than a missing
// row: which, why, and what they had. docs/protocol.md#state

import type { Identity } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type { LossCause, LostWorker, MonitorState } from '../../../wire/message.js'
import type { WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { titleOf } from '../task/extra.js'

/** For how long a loss is reported. */
const RECENT_MS = 600_000

/** Maximum number of workers that are kept, and of those that are listed in a report. */
const MOST = { kept: 10_000, listed: 100, tasks: 8 } as const

type Loss = Omit<LostWorker, 'agoMS' | 'hasReturned'> & {
  readonly at: InstantMs
  hasReturned: boolean
}

/** The lost workers of one scheduler. */
export class Losses {
  readonly #state: SchedulerState
  /** In order of loss. */
  readonly #recent = new Map<Identity, Loss>()
  /** Losses since the start, by cause: a worker may be lost repeatedly. */
  readonly totals: Record<LossCause, number> = { connection: 0, silence: 0 }

  constructor(state: SchedulerState) {
    this.#state = state
  }

  /** A worker was lost; it still has its tasks. */
  add(worker: WorkerEntry, cause: LossCause): void {
    this.totals[cause] += 1
    const { identity, info, assigned } = worker
    const tasks = []
    for (const { id: taskId, extra, function: fn } of assigned) {
      if (tasks.length === MOST.tasks) break
      tasks.push({ taskId, name: titleOf(extra?.name ?? '', fn) })
    }
    const { name = '', host = '' } = info ?? {}
    const about = { worker: identity, name, host, cause, tasks, taskCount: assigned.size }
    this.#recent.delete(identity)
    this.#recent.set(identity, { ...about, at: this.#state.turn.now, hasReturned: false })
    if (this.#recent.size > MOST.kept) this.#forgetOld()
  }

  /** A worker has connected, perhaps again. */
  onConnected(worker: Identity): void {
    const loss = this.#recent.get(worker)
    if (loss !== undefined) loss.hasReturned = true
  }

  /** The part of a monitor's state. */
  report(): Pick<MonitorState, 'lost' | 'lostWorkers'> {
    this.#forgetOld()
    const { now } = this.#state.turn
    const all = [...this.#recent.values()]
    const listed = all.slice(-MOST.listed).map(({ at, ...loss }) => ({ ...loss, agoMS: now - at }))
    return { lost: all.filter(({ hasReturned }) => !hasReturned).length, lostWorkers: listed }
  }

  #forgetOld(): void {
    const { now } = this.#state.turn
    for (const [worker, { at }] of this.#recent) {
      if (now - at <= RECENT_MS && this.#recent.size <= MOST.kept) return
      this.#recent.delete(worker)
    }
  }
}

// The events of a world that checkers need: which tasks ran where and when, which processors ended
// and why, which failures there were. It only records.

import type { InstantMs } from '#src/base/machine.js'
import type { LastRun } from '#src/core/worker/events.js'
import type { Identity, TaskId } from '#src/base/ids.js'
import type { Message } from '#src/wire/message.js'

/** One run of a task in a processor. */
export interface RunRecord {
  readonly name: string
  readonly taskId: TaskId
  readonly attempt: number
  readonly worker: Identity
  readonly processor: string
  readonly beganAt: InstantMs
  /** Undefined while it runs. */
  endedAt: InstantMs | undefined
  /** `answered`: it reached its end. `lost`: its processor ended. `givenUp`: it was not needed. */
  end: 'answered' | 'lost' | 'givenUp' | undefined
}

/** The end of one processor. */
export interface DeathRecord {
  readonly processor: string
  readonly at: InstantMs
  /** `own`: a task caused it. `told`: its worker caused it. `fault`: the cause is unknown. */
  readonly cause: 'own' | 'told' | 'fault'
  /** As its worker hears of it, some time later. */
  lastRun: LastRun
  /** All tasks of which its worker had not seen the end: set by then. */
  readonly had: ReadonlySet<TaskId>
  /** Those of them that it had started. */
  readonly begun: ReadonlySet<TaskId>
}

/** A fault of the world, not of the programs. */
export interface FaultRecord {
  readonly at: InstantMs
  readonly what: string
}

/** A message that a process handles. */
export type MessageWatcher = (message: Message, reader: 'scheduler' | 'worker' | 'client') => void

/** The record of one world. */
export class Journal {
  readonly runs: RunRecord[] = []
  readonly runsOf: Map<TaskId, RunRecord[]> = new Map()
  readonly deaths: DeathRecord[] = []
  readonly faults: FaultRecord[] = []
  /** Tasks that were cancelled and are not needed otherwise, by name; and when first. */
  readonly cancels: Map<string, InstantMs> = new Map()
  /** How often the scheduler has lost a worker. */
  workerLosses = 0
  /** Whether some process was stopped for a while. */
  hasFrozen = false
  readonly #names = new Map<TaskId, string>()
  readonly #watchers: MessageWatcher[] = []
  readonly #now: () => InstantMs

  constructor(now: () => InstantMs) {
    this.#now = now
  }

  /** A task begins. */
  begin(record: Omit<RunRecord, 'beganAt' | 'endedAt' | 'end'>): RunRecord {
    const run: RunRecord = { ...record, beganAt: this.#now(), endedAt: undefined, end: undefined }
    this.runs.push(run)
    const known = this.runsOf.get(run.taskId)
    if (known === undefined) this.runsOf.set(run.taskId, [run])
    else known.push(run)
    return run
  }

  /** A run is over. */
  end(run: RunRecord, end: NonNullable<RunRecord['end']>): void {
    if (run.end !== undefined) return
    run.endedAt = this.#now()
    run.end = end
  }

  /** A task was submitted. */
  name(id: TaskId, name: string): void {
    this.#names.set(id, name)
  }

  /** The name of the program of a task. */
  nameOf(id: TaskId): string | undefined {
    return this.#names.get(id)
  }

  /** A task is not needed any more. */
  cancel(name: string): void {
    if (!this.cancels.has(name)) this.cancels.set(name, this.#now())
  }

  /** The world has ended: nothing is checked any more. */
  forget(): void {
    this.runs.length = 0
    this.runsOf.clear()
    this.deaths.length = 0
    this.cancels.clear()
    this.#names.clear()
  }

  fault(what: string): void {
    this.faults.push({ at: this.#now(), what })
  }

  /** Calls `watcher` for all messages that are handled. */
  watch(watcher: MessageWatcher): void {
    this.#watchers.push(watcher)
  }

  /** A process handles a message. */
  handled(message: Message, reader: 'scheduler' | 'worker' | 'client'): void {
    for (const watcher of this.#watchers) watcher(message, reader)
  }
}

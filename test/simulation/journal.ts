// What has happened in a world, as far as checkers need to know: who ran what and when, which
// processors ended and why, which failures there were. It judges nothing.

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
  /** `answered`: it came to its end. `lost`: its processor ended. `givenUp`: nobody wants it. */
  end: 'answered' | 'lost' | 'givenUp' | undefined
}

/** The end of one processor. */
export interface DeathRecord {
  readonly processor: string
  readonly at: InstantMs
  /** `own`: a task did it. `told`: its worker did it. `fault`: nobody knows. */
  readonly cause: 'own' | 'told' | 'fault'
  readonly lastRun: LastRun
  /** All that its worker had not seen the end of: filled by then. */
  readonly had: ReadonlySet<TaskId>
  /** Of that, what it had begun. */
  readonly begun: ReadonlySet<TaskId>
}

/** Something that goes wrong in the world, not in the programs. */
export interface FaultRecord {
  readonly at: InstantMs
  readonly what: string
}

/** A message that somebody handles. */
export type MessageWatcher = (message: Message, reader: 'scheduler' | 'worker' | 'client') => void

/** The book of one world. */
export class Journal {
  readonly runs: RunRecord[] = []
  readonly runsOf: Map<TaskId, RunRecord[]> = new Map()
  readonly deaths: DeathRecord[] = []
  readonly faults: FaultRecord[] = []
  /** Tasks that were cancelled, that nothing else needs, by name; and when first. */
  readonly cancels: Map<string, InstantMs> = new Map()
  /** How often the scheduler has lost a worker. */
  workerLosses = 0
  /** Whether some process stood still for a while. */
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

  /** Nobody wants a task any more. */
  cancel(name: string): void {
    if (!this.cancels.has(name)) this.cancels.set(name, this.#now())
  }

  /** It is over: nobody will ask. */
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

  /** Calls `watcher` for all messages that anybody handles. */
  watch(watcher: MessageWatcher): void {
    this.#watchers.push(watcher)
  }

  /** Somebody handles a message. */
  handled(message: Message, reader: 'scheduler' | 'worker' | 'client'): void {
    for (const watcher of this.#watchers) watcher(message, reader)
  }
}

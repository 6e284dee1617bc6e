// The reports of a simulated processor about its runs: results, skipped or abandoned runs, runs
// that wait or continue. Like src/worker/processor/reports.ts.

import { NO_BYTES } from '#src/base/bytes.js'
import { taskId, type Identity, type ObjectId } from '#src/base/ids.js'
import type { TaskResult, TaskUpdate } from '#src/wire/message.js'
import { encodeProfileResult } from '#src/wire/metadata.js'
import type { ProcessorRun } from './processor-run.js'
import type { ProcessorVoice } from './processor-voice.js'

/** The parts that reports need. */
export interface ReportsSetup {
  readonly worker: Identity
  readonly voice: ProcessorVoice
  /** Keeps a result as an object, if it will be needed; returns its id. */
  keep(run: ProcessorRun, bytes: Uint8Array): ObjectId | undefined
  onResult(result: TaskResult): void
  onUpdate(update: TaskUpdate): void
}

/** The reports of one processor. They are sent with the next flush of its voice. */
export class ProcessorReports {
  readonly #setup: ReportsSetup

  constructor(setup: ReportsSetup) {
    this.#setup = setup
  }

  /** A run has ended after this time. */
  result(run: ProcessorRun, status: 'success' | 'failed', text: string, durationMs: number): void {
    const bytes = Buffer.from(text, 'latin1')
    const id = status === 'success' ? this.#setup.keep(run, bytes) : undefined
    const metadata = encodeProfileResult({
      durationSeconds: durationMs / 1_000,
      peakMemoryBytes: 0,
      cpuSeconds: 0,
    })
    const results = id === undefined ? [] : [id]
    this.#answer(run, { status, metadata, results, inlineResults: [bytes] })
  }

  /** A run was skipped, or is not needed any more. */
  canceled(run: ProcessorRun): void {
    const nothing = { metadata: NO_BYTES, results: [], inlineResults: [] }
    this.#answer(run, { status: 'canceled', ...nothing })
  }

  /** A run waits for its children, or continues. */
  waits({ task }: ProcessorRun, isWaiting: boolean): void {
    const update = isWaiting ? 'waiting' : 'resumed'
    const message = { kind: 'taskUpdate', taskId: task.taskId, update, done: 0, total: 0 } as const
    this.#setup.voice.add(() => this.#setup.onUpdate(message))
  }

  #answer(
    { task }: ProcessorRun,
    part: Pick<TaskResult, 'status' | 'metadata' | 'results' | 'inlineResults'>,
  ): void {
    const result: TaskResult = {
      kind: 'taskResult',
      taskId: task.taskId,
      ...part,
      worker: this.#setup.worker,
      failedTaskId: taskId(''),
      attempt: task.attempt,
      attempts: [],
      error: [],
      count: 0,
      packed: NO_BYTES,
    }
    this.#setup.voice.add(() => this.#setup.onResult(result))
  }
}

// The reports of a simulated processor about its runs: results, skipped or abandoned runs, runs
// that wait or continue. Like src/worker/processor/reports.ts.

import { NO_BYTES } from '#src/base/bytes.js'
import { taskId, type Identity, type ObjectId } from '#src/base/ids.js'
import { PLAIN_RESULT, type Task, type TaskResult, type TaskUpdate } from '#src/wire/message.js'
import { encodeProfileResult } from '#src/wire/metadata.js'
import { mayBeginRun, nthTaskId } from '#src/wire/run.js'
import { pack } from '#src/wire/run.kit.js'
import { anyValue, type ProcessorRun } from './processor-run.js'
import type { ProcessorVoice } from './processor-voice.js'

/** The parts that reports need. */
export interface ReportsSetup {
  readonly worker: Identity
  readonly voice: ProcessorVoice
  readonly inlineLimitBytes: number
  /** Keeps a result as an object, if it will be needed; returns its id. */
  keep(run: ProcessorRun, bytes: Uint8Array): ObjectId | undefined
  onResult(result: TaskResult): void
  onUpdate(update: TaskUpdate): void
}

/** The result of one of several tasks that are answered together. */
interface PackedResult {
  readonly task: Task
  readonly bytes: Uint8Array
  readonly metadata: Uint8Array
}

function isAfter(results: readonly PackedResult[], { taskId: id, attempt }: Task): boolean {
  const [first] = results
  const isSame = first !== undefined && first.task.attempt === attempt
  return (
    isSame &&
    mayBeginRun(first.task.taskId, results.length + 1) &&
    nthTaskId(first.task.taskId, results.length) === id
  )
}

function packedResultOf(results: readonly PackedResult[], worker: Identity): TaskResult {
  const { task } = results[0] as PackedResult
  return {
    kind: 'taskResult',
    taskId: task.taskId,
    status: 'success',
    ...PLAIN_RESULT,
    metadata: Buffer.concat(results.map(({ metadata }) => metadata)),
    results: [],
    worker,
    attempt: task.attempt,
    count: results.length,
    packed: pack(results.map(({ bytes }) => anyValue(bytes))),
  }
}

/** The reports of one processor. They are sent with the next flush of its voice. */
export class ProcessorReports {
  readonly #setup: ReportsSetup
  /** The packed results that were added last. */
  #packed: { readonly results: PackedResult[]; readonly word: () => void } | undefined

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
    const isPacked = run.task.packed.byteLength > 0 && status === 'success' && this.#fits(bytes)
    if (isPacked) return this.#pack(run, bytes, metadata)
    this.#answer(run, { status, metadata, results, inlineResults: [bytes] })
  }

  #fits(bytes: Uint8Array): boolean {
    return bytes.byteLength <= this.#setup.inlineLimitBytes
  }

  /** Results of consecutive tasks leave together if nothing is reported between them. */
  #pack({ task }: ProcessorRun, bytes: Uint8Array, metadata: Uint8Array): void {
    const last = this.#packed
    const isNext =
      last !== undefined && this.#setup.voice.isLast(last.word) && isAfter(last.results, task)
    if (isNext) {
      last.results.push({ task, bytes, metadata })
      return
    }
    const results = [{ task, bytes, metadata }]
    const word = (): void => {
      if (results.length > 0) this.#setup.onResult(packedResultOf(results, this.#setup.worker))
    }
    this.#packed = { results, word }
    this.#setup.voice.add(word)
  }

  /** The guardian takes the results that leave with the next flush; undefined: there are none. */
  take(): TaskResult | undefined {
    const last = this.#packed
    if (last === undefined || last.results.length === 0) return undefined
    if (!this.#setup.voice.isLast(last.word)) return undefined
    return packedResultOf(last.results.splice(0), this.#setup.worker)
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
      isInFile: false,
    }
    this.#setup.voice.add(() => this.#setup.onResult(result))
  }
}

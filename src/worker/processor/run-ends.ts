// How runs end in a processor: their result or error is serialized and reported. runner.ts decides
// what runs next.

import { types } from 'node:util'
import { NO_BYTES } from '../../base/bytes.js'
import { errorTextOf } from '../../base/text.js'
import type { TaskScopes } from '../../runtime/task-scope.js'
import type { TaskError } from '../../wire/message.js'
import {
  checkedResult,
  type ResultBytes,
  serializeFailure,
  serializeResult,
  type TaskCall,
} from './call.js'
import type { TaskMeter } from './meter.js'
import type { RunReports } from './reports.js'
import type { TaskRun } from './run.js'
import type { TaskBoard } from './shared-memory.js'
import type { SliceRunner, SliceTask } from './slice.js'

/** What is needed to end runs. */
interface RunEndParts {
  readonly meter: TaskMeter
  readonly board: TaskBoard
  readonly scopes: TaskScopes
  readonly reports: RunReports
  /** A run is over. */
  readonly onOver: (run: TaskRun) => void
}

/** Ends runs. */
export class RunEnds {
  readonly #parts: RunEndParts

  constructor(parts: RunEndParts) {
    this.#parts = parts
  }

  /** The task has a result. Returns true. Throws `SerializeError`. */
  succeed(run: TaskRun, value: unknown): true {
    if (run.isGivenUp) return this.finish(run, 'success', NO_BYTES)
    const { reports, scopes } = this.#parts
    const call = run.call as TaskCall
    const { packed, keepsResult } = run.task
    // The classes in it are those of this task, also while its parent waits in this process.
    const payload = scopes.within(run, () => {
      if (packed === undefined)
        return reports.moveOut(call, value, keepsResult) ?? serializeResult(call, value)
      const large = reports.write(packed, call, value, run.isProfiled)
      return large && checkedResult(large)
    })
    return this.finish(run, 'success', payload)
  }

  /** The task has a result, or fails because that cannot be serialized. */
  succeedOrFail(run: TaskRun, value: unknown): void {
    try {
      this.succeed(run, value)
    } catch (error) {
      this.fail(run, error)
    }
  }

  /** The task has a result that was serialized, and is not part of a run. Returns true. */
  succeedLarge(run: TaskRun, bytes: ResultBytes): true {
    try {
      return this.finish(run, 'success', checkedResult(bytes))
    } catch (error) {
      return this.fail(run, error)
    }
  }

  /** The task has thrown this. Returns true. */
  fail(run: TaskRun, error: unknown): true {
    if (run.isGivenUp) return this.finish(run, 'failed', NO_BYTES)
    const payload = this.#parts.scopes.within(run, () => serializeFailure(error))
    run.endSpan('failed', error)
    return this.finish(run, 'failed', payload, [errorTextOf(error)])
  }

  /** Finishes the task; `payload`: undefined if it was written already. Returns true. */
  finish(
    run: TaskRun,
    status: 'success' | 'failed',
    payload: ResultBytes | undefined,
    error: readonly TaskError[] = [],
  ): true {
    const { board, meter, reports, scopes, onOver } = this.#parts
    onOver(run)
    meter.stop(run)
    run.isOver = true
    scopes.end(run)
    run.endSpan('done')
    const seenBytes = board.leave(run.slot, run.isGivenUp)
    if (run.isGivenUp) return true
    run.task.fn.lastCallMs = meter.lastMs
    const profile = meter.profile(run, seenBytes)
    const now = meter.endedAt
    if (payload !== undefined) reports.result(run, status, payload, { profile, now, error })
    else reports.written(run, meter.lastMs, now, run.isProfiled ? profile : undefined)
    return true
  }
}

/** What a held task needs. */
interface HeldParts extends Pick<RunEndParts, 'board' | 'scopes' | 'reports'> {
  readonly ends: RunEnds
  readonly slices: SliceRunner
  /** The task that was held is over, or has become a run that is pending. */
  readonly onReleased: (run: TaskRun | undefined) => void
  /** A promise was settled: other tasks may run. */
  readonly onSettled: () => void
}

/**
 * The started task of a slice whose promise is not settled, and of which nothing else is needed: at
 * most one, because no other task starts before it has finished or waits, and to wait, it becomes a
 * run.
 */
export class HeldTask {
  readonly #parts: HeldParts
  #task: SliceTask | undefined

  constructor(parts: HeldParts) {
    this.#parts = parts
  }

  /** The task; undefined: there is none. */
  get task(): SliceTask | undefined {
    return this.#task
  }

  /** Holds a task until its promise is settled. */
  hold(task: SliceTask, promise: Promise<unknown>): void {
    this.#task = task
    void promise.then(
      (value) => this.#onFulfilled(task, value),
      (error: unknown) => this.#onRejected(task, error),
    )
  }

  /** A task has become a run. */
  onMade(task: SliceTask, run: TaskRun): void {
    if (this.#task !== task) return
    this.#task = undefined
    this.#parts.onReleased(run)
  }

  #onFulfilled(task: SliceTask, value: unknown): void {
    if (this.#task === task) this.#write(task, value)
    else this.#parts.ends.succeedOrFail(task.scope, value)
    this.#parts.onSettled()
  }

  #onRejected(task: SliceTask, error: unknown): void {
    this.#parts.ends.fail(task.scope, error)
    this.#parts.onSettled()
  }

  #write(task: SliceTask, value: unknown): void {
    const { board, ends, reports, scopes, slices, onReleased } = this.#parts
    let large: ResultBytes | undefined
    try {
      const { isProfiled } = task.slice.task
      large = scopes.within(task, () => reports.write(task, task, value, isProfiled))
    } catch (error) {
      ends.fail(task.scope, error)
      return
    }
    if (large !== undefined) ends.succeedLarge(task.scope, large)
    else if (task.made !== undefined) ends.finish(task.made, 'success', undefined)
    else {
      this.#task = undefined
      onReleased(undefined)
      slices.finish(task)
      board.leave(task.slot, false)
    }
  }
}

/** Whether `then` does the same with the value as `await`. */
export function isPlainPromise(value: PromiseLike<unknown>): value is Promise<unknown> {
  const isNative = types.isPromise(value) && value.constructor === Promise
  return isNative && !Object.hasOwn(value, 'then')
}

// What `currentTask()` gives to user code: the little of a run that it may see and do.

import { idToHex, type TaskId } from '../base/ids.js'
import type { Logger, LogLevel } from '../base/logger.js'
import type { Units } from '../core/worker/queue/units.js'
import type { TaskContext } from '../runtime/task-scope.js'
import type { LogWords } from './log-frame.js'

/** How far a task says that it is: in its own unit, a total of 0 stands for unknown. */
export interface Progress {
  readonly done: number
  readonly total: number
}

/** The run behind a context. */
export interface ContextRun {
  readonly id: TaskId
  readonly name: string
  readonly signal: AbortSignal
  readonly task: { readonly attempt: number; readonly units: Units }
  setProgress(progress: Progress): void
  log(level: LogLevel, words: LogWords): void
}

/** The context of one run. Works on after its end, without effect. */
export class OwnContext implements TaskContext {
  readonly #run: ContextRun
  #log: Logger | undefined

  constructor(run: ContextRun) {
    this.#run = run
  }

  get id(): string {
    return idToHex(this.#run.id)
  }

  get name(): string {
    return this.#run.name
  }

  get attempt(): number {
    return this.#run.task.attempt + 1
  }

  get capabilities(): Units {
    return this.#run.task.units
  }

  get signal(): AbortSignal {
    return this.#run.signal
  }

  get log(): Logger {
    const run = this.#run
    this.#log ??= {
      debug: (text, fields) => run.log('debug', { text, fields }),
      info: (text, fields) => run.log('info', { text, fields }),
      warn: (text, fields) => run.log('warn', { text, fields }),
      error: (text, fields) => run.log('error', { text, fields }),
    }
    return this.#log
  }

  setProgress(done: number, total: number = 0): void {
    this.#run.setProgress({ done: amount('done', done), total: amount('total', total) })
  }
}

function amount(name: string, value: unknown): number {
  if (typeof value === 'number' && Number.isFinite(value) && value >= 0) return value
  throw new RangeError(`setProgress: ${name} must be a number from 0, got ${String(value)}`)
}

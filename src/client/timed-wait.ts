// Waiting for one future, but not for ever.

import { ConfigError, TimeoutError } from '../base/errors.js'
import { idToHex } from '../base/ids.js'
import { checkNames } from '../base/option-table.js'
import { numberOption } from '../base/option.js'
import type { FutureState } from './future-state.js'
import { signalWatches } from './signal-watch.js'
import { blameCaller, captureSite, type CallSite } from '../runtime/call-site.js'

/** How long to wait for a result. */
export interface ResultOptions {
  /**
   * Reject with `TimeoutError` after this time. Default: never. 0 to 2,147,483,647 milliseconds.
   */
  readonly timeoutMs?: number | undefined
  /** Reject with the signal's reason when it is aborted. The task is not cancelled by it. */
  readonly signal?: AbortSignal | undefined
}

const NAMES: Record<keyof ResultOptions, true> = { timeoutMs: true, signal: true }
const MAX_TIMER_MS = 2 ** 31 - 1

/** Checks a time limit; undefined = none. Throws `ConfigError`. */
export function checkTimeLimit(timeoutMs: unknown): number | undefined {
  if (timeoutMs === undefined) return undefined
  return numberOption('timeoutMs', timeoutMs, 0, { min: 0, max: MAX_TIMER_MS, fraction: true })
}

/** The outcome of a future, unless the time limit or the signal comes first. */
export async function waitForOutcome(state: FutureState, options: ResultOptions): Promise<unknown> {
  checkNames('result', NAMES, options)
  const { timeoutMs, signal } = options
  const limit = checkTimeLimit(timeoutMs)
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new ConfigError('option signal: expected an AbortSignal')
  }
  signal?.throwIfAborted()
  const { promise } = state
  if (state.outcome !== undefined || (limit === undefined && signal === undefined)) return promise
  // Below are this function and the method of the future that the user's program called.
  return raced(state, { promise, limit, signal, site: captureSite(2) })
}

function timeoutError(state: FutureState, limit: number | undefined): TimeoutError {
  const { waiting } = state
  const why = waiting === undefined ? '' : `: ${waiting.text} (${waiting.reason})`
  const message = `task ${idToHex(state.taskId)} has no result after ${limit} ms; it goes on${why}`
  return new TimeoutError(message, { reason: waiting?.reason })
}

interface Race {
  readonly promise: Promise<unknown>
  readonly limit: number | undefined
  readonly signal: AbortSignal | undefined
  readonly site: CallSite
}

function raced(state: FutureState, { promise, limit, signal, site }: Race): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const watch = signal === undefined ? undefined : signalWatches.of(signal)
    const waiting = { cancel: (reason: unknown) => settle(() => reject(reason)) }
    const onTimeout = (): void => {
      settle(() => reject(blameCaller(timeoutError(state, limit), site)))
    }
    const settle = (decide: () => void): void => {
      clearTimeout(timer)
      watch?.delete(waiting)
      decide()
    }
    const timer = limit === undefined ? undefined : setTimeout(onTimeout, limit)
    watch?.add(waiting)
    promise.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    )
  })
}

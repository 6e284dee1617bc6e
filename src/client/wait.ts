// Waiting for some of many futures.

import { ConfigError } from '../base/errors.js'
import { checkNames } from '../base/option-table.js'
import { Future } from './future.js'
import type { EndListener, FutureState } from './future-state.js'
import { checkTimeLimit } from './timed-wait.js'

/** What to wait for, and how long. */
export interface WaitOptions {
  /**
   * `'all'` (the default): until every future has ended. `'first'`: until one has.
   * `'firstError'`: until one has failed or was cancelled, or all have ended.
   */
  readonly until?: 'all' | 'first' | 'firstError' | undefined
  /** Go on after this time anyway. Default: never. 0 to 2,147,483,647 milliseconds. */
  readonly timeoutMs?: number | undefined
}

/** The futures that had ended, however, and those that had not. */
export interface WaitResult<F> {
  readonly done: Set<F>
  readonly pending: Set<F>
}

const NAMES: Record<keyof WaitOptions, true> = { until: true, timeoutMs: true }
const CONDITIONS = ['all', 'first', 'firstError'] as const

/**
 * Waits until the condition holds or the time is up; it never rejects because of what a future
 * does. Futures in `done` count as looked after: no warning will tell of their failure. Rejects
 * with `ConfigError` for a bad option and with `TypeError` for what is not a future.
 */
export async function wait<F extends Future<unknown>>(
  futures: Iterable<F>,
  options: WaitOptions = {},
): Promise<WaitResult<F>> {
  checkNames('wait', NAMES, options)
  const { until = 'all', timeoutMs } = options
  const limit = checkTimeLimit(timeoutMs)
  if (!CONDITIONS.includes(until)) {
    throw new ConfigError(`option until: expected ${CONDITIONS.join(', ')}, got ${String(until)}`)
  }
  const all = new Set(checkFutures(futures))
  await conditionOf(all, until, limit)
  const done = new Set<F>()
  const pending = new Set<F>()
  for (const future of all) {
    const state = Future.stateOf(future)
    if (state.hasEnded) state.markObserved()
    ;(state.hasEnded ? done : pending).add(future)
  }
  return { done, pending }
}

/** The futures in their order. Throws `TypeError` for anything else. */
export function checkFutures<F extends Future<unknown>>(futures: Iterable<F>): readonly F[] {
  // Who has no types may pass anything, and an array would take some of it for nothing.
  if (typeof futures !== 'object' || (futures as unknown) === null) throw notFutures()
  const all = [...futures]
  for (const future of all as readonly unknown[]) {
    if (!(future instanceof Future)) throw notFutures()
  }
  return all
}

function notFutures(): TypeError {
  return new TypeError('expected futures, got something else')
}

function conditionOf(
  futures: ReadonlySet<Future<unknown>>,
  until: 'all' | 'first' | 'firstError',
  limit: number | undefined,
): Promise<void> {
  return new Promise((resolve) => {
    let open = 0
    let isDecided = false
    const states = Array.from(futures, (future) => Future.stateOf(future))
    const finish = (): void => {
      isDecided = true
      clearTimeout(timer)
      for (const state of states) state.ignore(listener)
      resolve()
    }
    const isEnough = (state: FutureState): boolean =>
      until === 'first' || (until === 'firstError' && state.state !== 'done')
    const listener: EndListener = {
      onEnd(state) {
        open -= 1
        if (!isDecided && (open === 0 || isEnough(state))) finish()
      },
    }
    const timer = limit === undefined ? undefined : setTimeout(finish, limit)
    const ended = states.filter((state) => state.hasEnded)
    open = states.length - ended.length
    if (open === 0 || ended.some(isEnough)) return finish()
    for (const state of states) if (!state.hasEnded) state.listen(listener)
  })
}

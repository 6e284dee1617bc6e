// Waiting for some of many futures.

import { argumentError } from '../../runtime/call-site.js'
import { ConfigError } from '../../base/errors.js'
import { Fifo } from '../../base/collection/fifo.js'
import { checkNames } from '../../base/option.js'
import { checkTimeLimit, Future } from './future.js'
import type { EndListener, FutureState } from './state.js'

/** The condition and the time limit of a wait. */
export interface WaitOptions {
  /**
   * `'all'` (the default): until every future has ended. `'first'`: until one has.
   * `'firstError'`: until one has failed or was cancelled, or all have ended.
   */
  readonly until?: 'all' | 'first' | 'firstError' | undefined
  /** Return after this time in any case. Default: never. 0 to 2,147,483,647 milliseconds. */
  readonly timeoutMs?: number | undefined
}

/** All futures that were given. */
export interface WaitResult<F> {
  /** Those that have settled, with any outcome. */
  readonly done: Set<F>
  /** The others. */
  readonly pending: Set<F>
}

const NAMES: Record<keyof WaitOptions, true> = { until: true, timeoutMs: true }
const CONDITIONS = ['all', 'first', 'firstError'] as const

/**
 * Waits until the condition holds or the time is up; never rejects because of a future. Futures in
 * `done` count as observed: no warning reports their failure. Rejects with `ConfigError` for a bad
 * option and with `TypeError` if an argument is not a future.
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
  // JavaScript callers may pass anything, and an array would accept some of it as empty.
  if (typeof futures !== 'object' || (futures as unknown) === null) throw notFutures()
  if (!(Symbol.iterator in futures)) throw notFutures()
  const all = [...futures]
  for (const future of all as readonly unknown[]) {
    if (!(future instanceof Future)) throw notFutures()
  }
  return all
}

function notFutures(): TypeError {
  return argumentError('expected futures, got something else')
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

// Futures in the order in which they settle.

/**
 * The outcome of a future, as in `Promise.allSettled` (`status` is `'fulfilled'`, with `value`, or
 * `'rejected'`, with `reason`), with the future itself and its index among the arguments.
 */
export type CompletedFuture<T> = { future: Future<T>; index: number } & PromiseSettledResult<T>

/**
 * One record for each future as it settles, with any outcome: `{ future, index, status, value }`,
 * or `reason` in place of `value`. Futures that have already settled come first. A future that is
 * given twice comes once, with its first index. The loop does not throw because of a future, and
 * failures that it has yielded count as observed. A large value is fetched when its record is
 * requested. Leaving the loop early leaves the tasks alone. Throws `TypeError` if an argument is
 * not a future.
 */
export function asCompleted<F extends Future<unknown>>(
  futures: Iterable<F>,
): AsyncIterable<CompletedFuture<Awaited<F>>>
/** The same, with the type of the values. */
export function asCompleted<T>(futures: Iterable<Future<T>>): AsyncIterable<CompletedFuture<T>>
export function asCompleted<T>(futures: Iterable<Future<T>>): AsyncIterable<CompletedFuture<T>> {
  const places = placesOf(futures)
  return { [Symbol.asyncIterator]: () => new CompletionIterator(places) }
}

/** The futures, each once, with their first places. */
function placesOf<T>(futures: Iterable<Future<T>>): ReadonlyMap<Future<T>, number> {
  const places = new Map<Future<T>, number>()
  for (const [index, future] of checkFutures(futures).entries()) {
    if (!places.has(future)) places.set(future, index)
  }
  return places
}

type Ask<T> = (result: IteratorResult<CompletedFuture<T>>) => void

class CompletionIterator<T> implements AsyncIterableIterator<CompletedFuture<T>>, EndListener {
  readonly #places: ReadonlyMap<Future<T>, number>
  readonly #open = new Map<FutureState, Future<T>>()
  /** Settled, and not yet requested. */
  #ready = new Fifo<Future<T>>()
  /** Requested when none had settled. */
  readonly #asked: Ask<T>[] = []

  constructor(places: ReadonlyMap<Future<T>, number>) {
    this.#places = places
    for (const future of places.keys()) {
      const state = Future.stateOf(future)
      if (state.hasEnded) {
        this.#ready.push(future)
        continue
      }
      this.#open.set(state, future)
      state.listen(this)
    }
  }

  next(): Promise<IteratorResult<CompletedFuture<T>>> {
    return new Promise((resolve) => {
      const future = this.#ready.shift()
      if (future !== undefined) this.#answer(resolve, future)
      else if (this.#open.size > 0) this.#asked.push(resolve)
      else resolve({ done: true, value: undefined })
    })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  return(): Promise<IteratorResult<CompletedFuture<T>>> {
    for (const state of this.#open.keys()) state.ignore(this)
    this.#open.clear()
    this.#ready = new Fifo()
    this.#finish()
    return Promise.resolve({ done: true, value: undefined })
  }

  onEnd(state: FutureState): void {
    const future = this.#open.get(state)
    if (future === undefined) return
    this.#open.delete(state)
    const ask = this.#asked.shift()
    if (ask === undefined) this.#ready.push(future)
    else this.#answer(ask, future)
    if (this.#open.size === 0) this.#finish()
  }

  #answer(ask: Ask<T>, future: Future<T>): void {
    const place = { future, index: this.#places.get(future) ?? 0 }
    future.then(
      (value) => ask({ done: false, value: { ...place, status: 'fulfilled', value } }),
      (reason: unknown) => ask({ done: false, value: { ...place, status: 'rejected', reason } }),
    )
  }

  /** There are no more records for the open requests. */
  #finish(): void {
    for (const ask of this.#asked.splice(0)) ask({ done: true, value: undefined })
  }
}

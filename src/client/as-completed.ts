// Futures in the order in which they end.

import { Fifo } from '../base/fifo.js'
import type { EndListener, FutureState } from './future-state.js'
import { Future } from './future.js'
import { checkFutures } from './wait.js'

/**
 * How a future ended, as `Promise.allSettled` tells it (`status` is `'fulfilled'`, with `value`, or
 * `'rejected'`, with `reason`), and which one it is: itself, and its place among those given.
 */
export type CompletedFuture<T> = { future: Future<T>; index: number } & PromiseSettledResult<T>

/**
 * One record for each future as it ends, however it ends: `{ future, index, status, value }`, or
 * `reason` in place of `value`. Those that have ended already come first. A future that is given
 * twice comes once, with its first index. The loop does not throw because of a future, and no
 * warning will tell of the failure of one that has come. A large value is fetched when its record
 * is asked for. Leaving the loop early leaves the tasks alone. Throws `TypeError` for what is not a
 * future.
 */
export function asCompleted<F extends Future<unknown>>(
  futures: Iterable<F>,
): AsyncIterable<CompletedFuture<Awaited<F>>>
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

class CompletionIterator<T> implements AsyncIterator<CompletedFuture<T>>, EndListener {
  readonly #places: ReadonlyMap<Future<T>, number>
  readonly #open = new Map<FutureState, Future<T>>()
  /** Ended, and not asked for yet. */
  #ready = new Fifo<Future<T>>()
  /** Asked for, and nothing had ended. */
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

  /** Nothing more will come for those who have asked. */
  #finish(): void {
    for (const ask of this.#asked.splice(0)) ask({ done: true, value: undefined })
  }
}

// Futures in the order in which they end.

import { Fifo } from '../base/fifo.js'
import type { EndListener, FutureState } from './future-state.js'
import { Future } from './future.js'
import { checkFutures } from './wait.js'

/**
 * The futures as they end, however they end; those that have ended already come first. Each
 * counts as looked after once it has come: no warning will tell of its failure. Throws
 * `TypeError` for what is not a future. Leaving the loop early leaves the tasks alone.
 *
 * The loop variable is the future itself, ended: `await` it for its result, or look at its `state`.
 * (TypeScript gives the variable of any `for await` the type of the awaited result.)
 */
export function asCompleted<T>(futures: Iterable<Future<T>>): AsyncIterable<Future<T>> {
  const all = checkFutures(futures)
  return { [Symbol.asyncIterator]: () => new CompletionIterator(all) }
}

class CompletionIterator<T> implements AsyncIterator<Future<T>>, EndListener {
  readonly #futures = new Map<FutureState, Future<T>>()
  /** Ended, and not asked for yet. */
  #ready = new Fifo<Future<T>>()
  /** Asked for, and nothing had ended. */
  readonly #asked: ((result: IteratorResult<Future<T>>) => void)[] = []

  constructor(futures: ReadonlySet<Future<T>>) {
    for (const future of futures) {
      const state = Future.stateOf(future)
      if (state.hasEnded) {
        this.#ready.push(future)
        continue
      }
      this.#futures.set(state, future)
      state.listen(this)
    }
  }

  next(): Promise<IteratorResult<Future<T>>> {
    const future = this.#ready.shift()
    if (future !== undefined) return Promise.resolve(yielded(future))
    if (this.#futures.size === 0) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => this.#asked.push(resolve))
  }

  return(): Promise<IteratorResult<Future<T>>> {
    for (const state of this.#futures.keys()) state.ignore(this)
    this.#futures.clear()
    this.#ready = new Fifo()
    this.#finish()
    return Promise.resolve({ done: true, value: undefined })
  }

  onEnd(state: FutureState): void {
    const future = this.#futures.get(state)
    if (future === undefined) return
    this.#futures.delete(state)
    const ask = this.#asked.shift()
    if (ask === undefined) this.#ready.push(future)
    else ask(yielded(future))
    if (this.#futures.size === 0) this.#finish()
  }

  /** Nothing more will come for those who have asked. */
  #finish(): void {
    for (const ask of this.#asked.splice(0)) ask({ done: true, value: undefined })
  }
}

function yielded<T>(future: Future<T>): IteratorResult<Future<T>> {
  Future.stateOf(future).markObserved()
  return { done: false, value: future }
}

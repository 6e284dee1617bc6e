// All results of many futures as one promise.

import { Future } from './future.js'
import type { EndListener, FutureState } from './state.js'
import { checkFutures } from './wait.js'

/**
 * The results of the futures, in their order. Like `Promise.all`, it rejects with the error of the
 * first one that fails or is cancelled, and the others continue; unlike `Promise.all`, it makes no
 * promise for each of them, so that a million futures cost little. Failures count as observed.
 * Large values are fetched. Rejects with `TypeError` if an argument is not a future.
 */
export function gather<F extends Future<unknown>>(futures: Iterable<F>): Promise<Awaited<F>[]>
/** The same, with the type of the values. */
export function gather<T>(futures: Iterable<Future<T>>): Promise<T[]>
export async function gather<T>(futures: Iterable<Future<T>>): Promise<T[]> {
  const states = Array.from(checkFutures(futures), (future) => Future.stateOf(future))
  await allEnded(states)
  return states.map(valueOf) as T[]
}

/** Resolves when all futures have values; rejects with the first error. Observes them. */
export function allEnded(states: readonly FutureState[]): Promise<void> {
  return new Promise((resolve, reject) => new Gathering(states, resolve, reject).start())
}

/** The value of a future that has one. */
export function valueOf(state: FutureState): unknown {
  const { outcome } = state
  return outcome?.isSuccess === true ? outcome.value : undefined
}

/** Waits until all futures have their values, or one has none. */
class Gathering implements EndListener {
  readonly #states: readonly FutureState[]
  readonly #resolve: () => void
  readonly #reject: (error: unknown) => void
  #openCount = 0

  constructor(
    states: readonly FutureState[],
    resolve: () => void,
    reject: (error: unknown) => void,
  ) {
    this.#states = states
    this.#resolve = resolve
    this.#reject = reject
  }

  start(): void {
    // One more than there are, so that none of them can be the last before all were looked at.
    this.#openCount = 1
    for (const state of this.#states) {
      state.markObserved()
      if (state.hasEnded) this.#look(state)
      else if (state.listen(this)) this.#openCount += 1
    }
    this.#close()
  }

  onEnd(state: FutureState): void {
    this.#look(state)
    this.#close()
  }

  #look(state: FutureState): void {
    const { outcome } = state
    if (outcome === undefined) {
      // The value is in the cluster.
      this.#openCount += 1
      state.promise.then(() => this.#close(), this.#reject)
    } else if (!outcome.isSuccess) this.#reject(outcome.error)
  }

  #close(): void {
    this.#openCount -= 1
    if (this.#openCount === 0) this.#resolve()
  }
}

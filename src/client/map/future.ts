// The return value of `map` and `starmap`: the future results of many tasks.

import { ConfigError } from '../../base/errors.js'
import { booleanOption, checkNames, numberOption, show } from '../../base/option.js'
import type { RejectionReason } from '../future/future.js'
import type { MapProgressListener } from './progress.js'
import type { MapResults } from './results.js'

/** The options of a map. */
export interface MapOptions {
  /**
   * True: iterating gives results in input order. False: pairs `[index, result]` as they finish.
   */
  readonly ordered?: boolean | undefined
  /**
   * The most tasks in flight; while iterating, including results that have not been taken. 1 to
   * 4,294,967,295, or `Infinity`: limited by the client's `maxUnfinishedTasks` only. Default:
   * 10,000 if the map is awaited; while iterating, 50 ms of work for each worker, as measured, but
   * at least 4 tasks for each.
   */
  readonly concurrency?: number | undefined
  /**
   * False. True: shows progress on stderr, if that is a terminal (but not if `CI` is set or `TERM`
   * is `dumb`): finished tasks, the rate, the remaining time, failures. A function is called with
   * the same information ten times per second, on any output, and once when the map has ended.
   */
  readonly progress?: boolean | MapProgressListener | undefined
}

/**
 * The items when iterating over a map with options `O`: results, or pairs with `ordered: false`. If
 * the compiler only knows that the options are `MapOptions`, it takes the items for results, and
 * does not see the pairs.
 */
export type MapItem<R, O extends MapOptions> = O extends { readonly ordered: false }
  ? [index: number, result: R]
  : MapOptions extends O
    ? R
    : 'ordered' extends keyof O
      ? O extends { readonly ordered?: true | undefined }
        ? R
        : R | [index: number, result: R]
      : R

/** The state of a map future. */
interface MapFutureSetup {
  readonly results: MapResults
  readonly cancel: (reason: unknown) => boolean
}

/**
 * The results of many tasks. Either await it (an array in input order), or iterate over it with
 * `for await` (results are yielded and not kept, and inputs are pulled as results are taken), but
 * not both. The first failure rejects it and cancels the rest. A failed map that is never awaited
 * does not end the process.
 */
export class MapFuture<R, Item = R> implements Promise<R[]>, AsyncIterable<Item> {
  readonly #results: MapResults
  readonly #cancel: (reason: unknown) => boolean

  /** Made by `map` and `starmap`. @internal */
  constructor(setup: MapFutureSetup) {
    this.#results = setup.results
    this.#cancel = setup.cancel
  }

  /** For `Object.prototype.toString`. */
  get [Symbol.toStringTag](): string {
    return 'MapFuture'
  }

  /**
   * Cancels all unfinished tasks: the map is rejected immediately with `TaskCancelledError`, whose
   * `cause` is `reason`. False if it had already ended.
   */
  cancel(reason?: unknown): boolean {
    return this.#cancel(reason)
  }

  /**
   * All outcomes in input order, like those of `Promise.allSettled`: a failure does not cancel the
   * rest. Call it immediately: failures before the call have already cancelled the rest. Rejects
   * only if the function cannot travel, or the input could not be read to its end.
   */
  allSettled(): Promise<PromiseSettledResult<R>[]> {
    return this.#results.allSettled() as Promise<PromiseSettledResult<R>[]>
  }

  then<A = R[], B = never>(
    onFulfilled?: ((values: R[]) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: RejectionReason) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return (this.#results.promise as Promise<R[]>).then(onFulfilled, onRejected)
  }

  catch<B = never>(
    onRejected?: ((reason: RejectionReason) => B | PromiseLike<B>) | null,
  ): Promise<R[] | B> {
    return this.then(undefined, onRejected)
  }

  finally(onFinally?: (() => void) | null): Promise<R[]> {
    return (this.#results.promise as Promise<R[]>).finally(onFinally)
  }

  /**
   * Results in input order, or pairs `[index, result]` as they finish. If a task fails, results
   * that have already arrived are yielded first; then the loop throws. Leaving the loop early
   * cancels the rest. Throws `TypeError` if the map is already awaited or iterated over.
   */
  [Symbol.asyncIterator](): AsyncIterator<Item, undefined> & AsyncIterable<Item> {
    return this.#results.iterate() as AsyncIterator<Item, undefined> & AsyncIterable<Item>
  }
}

// The options of a map, checked.

const MAX_CONCURRENCY = 2 ** 32 - 1
const NAMES: Record<keyof MapOptions, true> = { ordered: true, concurrency: true, progress: true }

/** The same with all defaults. */
interface CheckedMapOptions {
  readonly isOrdered: boolean
  /** Undefined: as the work is measured (window.ts). */
  readonly concurrency: number | undefined
  /** Whether the user has set the limit. */
  readonly isBounded: boolean
  readonly progress: boolean | MapProgressListener
}

/** The options, checked, with defaults. Throws `ConfigError`. */
export function checkMapOptions(options: MapOptions, maxTasks: number): CheckedMapOptions {
  checkNames('map', NAMES, options)
  const isOrdered = booleanOption('ordered', options.ordered, true)
  const progress = progressOption(options.progress)
  const given = options.concurrency
  if (given === Infinity) return { isOrdered, concurrency: maxTasks, isBounded: false, progress }
  if (given === undefined) return { isOrdered, concurrency: given, isBounded: false, progress }
  const bounds = { min: 1, max: MAX_CONCURRENCY }
  const concurrency = numberOption('concurrency', given, 1, bounds)
  return { isOrdered, concurrency, isBounded: true, progress }
}

function progressOption(progress: unknown): boolean | MapProgressListener {
  if (progress === undefined) return false
  if (typeof progress === 'boolean') return progress
  if (typeof progress === 'function') return progress as MapProgressListener
  throw new ConfigError(
    `option progress: expected true, false or a function, got ${show(progress)}`,
  )
}

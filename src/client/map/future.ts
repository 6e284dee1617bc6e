// What `map` and `starmap` return: the results of many tasks, which are on their way.

import { ConfigError } from '../../base/errors.js'
import { booleanOption, checkNames, numberOption, show } from '../../base/option.js'
import type { RejectionReason } from '../future/future.js'
import type { MapProgressListener } from './progress.js'
import type { MapResults } from './results.js'

/** How a map goes about its work. */
export interface MapOptions {
  /**
   * True: iterating gives results in input order. False: pairs `[index, result]` as they finish.
   */
  readonly ordered?: boolean | undefined
  /**
   * Tasks in flight at most; while iterating, with the results that wait to be taken. Default:
   * 10,000. 1 to 4,294,967,295, or `Infinity`: as many as the client's `maxUnfinishedTasks` allows.
   */
  readonly concurrency?: number | undefined
  /**
   * False. True: shows on stderr how far the map is, if that is a terminal (but not if `CI` is set
   * or `TERM` is `dumb`): what has ended, the rate, the time that is left, failures. A function is
   * called with the same ten times in a second, anywhere, and once when the map has ended.
   */
  readonly progress?: boolean | MapProgressListener | undefined
}

/** What iterating over a map with options `O` gives: results, or pairs with `ordered: false`. */
export type MapItem<R, O extends MapOptions> = O extends { readonly ordered: false }
  ? [index: number, result: R]
  : 'ordered' extends keyof O
    ? O extends { readonly ordered?: true | undefined }
      ? R
      : R | [index: number, result: R]
    : R

/**
 * The options of a map that was given none: from these the compiler knows what a function for
 * `progress` takes.
 */
export type NoMapOptions = Pick<MapOptions, 'progress'>

/** What a map future is about. */
interface MapFutureSetup {
  readonly results: MapResults
  readonly cancel: (reason: unknown) => boolean
}

/**
 * The results of many tasks. Either await it (an array in input order), or iterate over it with
 * `for await` (results are handed out and forgotten, inputs pulled as results are taken), but not
 * both. The first failure rejects it and cancels the rest. One that nobody uses does not end the
 * process.
 */
export class MapFuture<R, Item = R> implements Promise<R[]>, AsyncIterable<Item> {
  readonly #results: MapResults
  readonly #cancel: (reason: unknown) => boolean

  /** These are made by `map` and `starmap`. @internal */
  constructor(setup: MapFutureSetup) {
    this.#results = setup.results
    this.#cancel = setup.cancel
  }

  get [Symbol.toStringTag](): string {
    return 'MapFuture'
  }

  /**
   * Cancels what has not ended: the map ends at once with `TaskCancelledError`, whose `cause` is
   * `reason`. False if it had ended.
   */
  cancel(reason?: unknown): boolean {
    return this.#cancel(reason)
  }

  /**
   * All outcomes in input order, as those of `Promise.allSettled`: a failure does not cancel the
   * rest. Call it at once: what failed before has cancelled the rest. Rejects only if the input
   * could not be read to its end.
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
   * Results in input order, or pairs `[index, result]` as they finish. After a failure, those
   * that came before it are followed by the error. Leaving the loop early cancels the rest.
   * Throws `TypeError` if the map is awaited or iterated over already.
   */
  [Symbol.asyncIterator](): AsyncIterator<Item, undefined> {
    return this.#results.iterate() as AsyncIterator<Item, undefined>
  }
}

// How a map goes about its work, checked.

const MAX_CONCURRENCY = 2 ** 32 - 1
/** Enough for thousands of workers; more would only wait, and fill caches and tables. */
const DEFAULT_CONCURRENCY = 10_000
const NAMES: Record<keyof MapOptions, true> = { ordered: true, concurrency: true, progress: true }

/** The same with nothing left open. */
interface CheckedMapOptions {
  readonly isOrdered: boolean
  readonly concurrency: number
  /** Whether the user has bounded the map himself. */
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
  const bounds = { min: 1, max: MAX_CONCURRENCY }
  const concurrency = numberOption('concurrency', given, DEFAULT_CONCURRENCY, bounds)
  return { isOrdered, concurrency, isBounded: given !== undefined, progress }
}

function progressOption(progress: unknown): boolean | MapProgressListener {
  if (progress === undefined) return false
  if (typeof progress === 'boolean') return progress
  if (typeof progress === 'function') return progress as MapProgressListener
  throw new ConfigError(
    `option progress: expected true, false or a function, got ${show(progress)}`,
  )
}

// From calls to tasks: serializes functions and arguments as they are at that moment, and submits
// them.

import { ClientClosedError, ConfigError } from '../base/errors.js'
import { booleanOption, numberOption } from '../base/option.js'
import { withPathPrefix } from '../serializer/path.js'
import { encodeTaskFlags } from '../wire/task-flags.js'
import type { ClientConnection } from './client-connection.js'
import { FailureCount } from './failure-count.js'
import { FunctionObjects, type AnyFunction, type FunctionObject } from './function-objects.js'
import { FutureState } from './future-state.js'
import { Future } from './future.js'
import { TaskIds } from './ids.js'
import { MapFuture, type MapOptions } from './map-future.js'
import { openInput } from './map-input.js'
import { MapResults } from './map-results.js'
import { MapRun } from './map-run.js'
import { captureSite } from './submit-site.js'

/**
 * The stack of a `submit` is kept while not more tasks than this are unfinished: with more,
 * capturing it costs as much as the rest of the submission.
 */
const MAX_TASKS_WITH_SITE = 32
const MAX_CONCURRENCY = 2 ** 32 - 1
/** Enough for thousands of workers; more would only wait, and fill caches and tables. */
const DEFAULT_CONCURRENCY = 10_000

/** Submits tasks over one connection. */
export class Submitter {
  readonly failures: FailureCount = new FailureCount()
  readonly #connection: ClientConnection
  readonly #functions: FunctionObjects
  readonly #ids = new TaskIds()
  readonly #flags: Uint8Array

  constructor(connection: ClientConnection) {
    const { serializer, objectIds, settings } = connection
    this.#connection = connection
    this.#functions = new FunctionObjects(serializer.codec, objectIds)
    this.#flags = encodeTaskFlags({ profiling: settings.profiling, priority: 0 })
  }

  /** One task. Throws `TypeError` if `fn` is no function; every other failure is the future's. */
  submit(fn: AnyFunction, args: readonly unknown[]): Future<unknown> {
    checkFunction(fn)
    const connection = this.#connection
    const taskId = this.#ids.next()
    const hasSite = connection.unfinishedTasks < MAX_TASKS_WITH_SITE
    const site = hasSite ? captureSite() : undefined
    const state = new FutureState(taskId, connection, this.failures, site)
    try {
      const { function: stored, attachments } = this.#functionObject(fn)
      const bytes = this.#argumentBytes(args)
      const flags = this.#flags
      connection.submit({ taskId, function: stored, attachments, args: bytes, flags, owner: state })
    } catch (error) {
      state.refuse(error)
    }
    return new Future(state)
  }

  /**
   * A task per input; with `isSpread` each input is a list of arguments. Throws `TypeError` if
   * `fn` is no function or `inputs` no iterable, and `ConfigError` for a bad option; every other
   * failure is the map's.
   */
  map(
    fn: AnyFunction,
    inputs: unknown,
    options: MapOptions,
    isSpread: boolean,
  ): MapFuture<unknown, unknown> {
    checkFunction(fn)
    const checked = checkMapOptions(options, this.#connection.settings.maxUnfinishedTasks)
    if (!isIterable(inputs)) throw new TypeError(`map: expected an iterable, got ${typeof inputs}`)
    const site = captureSite()
    try {
      const run = new MapRun({
        connection: this.#connection,
        failures: this.failures,
        ids: this.#ids,
        function: this.#functionObject(fn),
        flags: this.#flags,
        input: openInput(inputs),
        argsOf: (input, index) => this.#inputBytes(input, index, isSpread),
        ...checked,
        site,
      })
      run.start()
      return new MapFuture({ results: run.results, cancel: (reason) => run.cancel(reason) })
    } catch (error) {
      return this.#refusedMap(error, checked.isOrdered)
    }
  }

  #refusedMap(error: unknown, isOrdered: boolean): MapFuture<unknown, unknown> {
    const nobody = { onConsumed: () => {}, onAbandoned: () => {} }
    const results = new MapResults(isOrdered, this.failures, nobody)
    results.finish({ kind: 'failed', error, isInputRead: false })
    return new MapFuture({ results, cancel: () => false })
  }

  #functionObject(fn: AnyFunction): FunctionObject {
    if (this.#connection.isClosed) throw new ClientClosedError()
    this.#connection.serializer.check()
    return this.#functions.of(fn)
  }

  #argumentBytes(args: readonly unknown[]): Uint8Array[] {
    const { codec } = this.#connection.serializer
    const bytes: Uint8Array[] = []
    for (const argument of args) {
      try {
        bytes.push(codec.serialize(argument))
      } catch (error) {
        throw withPathPrefix(error, [`argument ${bytes.length + 1}`])
      }
    }
    return bytes
  }

  #inputBytes(input: unknown, index: number, isSpread: boolean): Uint8Array[] {
    if (isSpread && !Array.isArray(input)) {
      throw new TypeError(`starmap: input ${index} must be an array of arguments`)
    }
    try {
      return isSpread
        ? this.#argumentBytes(input as unknown[])
        : [this.#connection.serializer.codec.serialize(input)]
    } catch (error) {
      throw withPathPrefix(error, [`input ${index}`])
    }
  }
}

function checkFunction(fn: unknown): void {
  if (typeof fn !== 'function') throw new TypeError(`expected a function to run, got ${typeof fn}`)
}

interface CheckedMapOptions {
  readonly isOrdered: boolean
  readonly concurrency: number
  /** Whether the user has bounded the map himself. */
  readonly isBounded: boolean
}

function checkMapOptions(options: MapOptions, maxTasks: number): CheckedMapOptions {
  for (const name of Object.keys(options)) {
    if (name === 'ordered' || name === 'concurrency') continue
    throw new ConfigError(`unknown map option ${name}; there are ordered, concurrency`)
  }
  const isOrdered = booleanOption('ordered', options.ordered, true)
  const given = options.concurrency
  if (given === Infinity) return { isOrdered, concurrency: maxTasks, isBounded: false }
  const bounds = { min: 1, max: MAX_CONCURRENCY }
  const concurrency = numberOption('concurrency', given, DEFAULT_CONCURRENCY, bounds)
  return { isOrdered, concurrency, isBounded: given !== undefined }
}

function isIterable(inputs: unknown): boolean {
  const source = inputs as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined
  return (
    typeof source?.[Symbol.asyncIterator] === 'function' ||
    typeof source?.[Symbol.iterator] === 'function'
  )
}

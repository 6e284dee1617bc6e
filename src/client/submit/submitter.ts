// Turns calls into tasks: serializes functions and arguments in their current state, and submits
// them. One per view of a client.

import { withoutFrames } from '../../base/error-stack.js'
import { TaskCancelledError } from '../../base/errors.js'
import { idToHex } from '../../base/ids.js'
import type { TaskOptions } from '../../core/client/events.js'
import {
  argumentError,
  blameCaller,
  type CallSite,
  captureSite,
  OWN_FRAMES,
} from '../../runtime/call-site.js'
import { type TaskScope, taskScopes } from '../../runtime/task-scope.js'
import { findTracing, type TaskSpan } from '../../runtime/tracing.js'
import type { ClientConnection } from '../connection.js'
import { Future } from '../future/future.js'
import { FailureCount, FutureHome } from '../future/home.js'
import { FutureState } from '../future/state.js'
import type { GraphFuture } from '../graph/run.js'
import { submitGraph } from '../graph/submitter.js'
import { TaskIds } from '../ids.js'
import { checkMapOptions, MapFuture, type MapOptions } from '../map/future.js'
import { openInput } from '../map/input.js'
import { watchMap } from '../map/progress.js'
import { MapResults } from '../map/results.js'
import { MapRun } from '../map/run.js'
import { ArgumentSources, FailedInput } from './arguments.js'
import {
  type AnyFunction,
  type FunctionObject,
  FunctionObjects,
  nameOf,
} from './function-objects.js'
import { InputSources } from './inputs.js'
import { ObjectReferences } from './objects.js'
import { SubmitRuns } from './runs.js'
import type { Cancellable } from './signal.js'
import { encodeTaskSettings, type TaskSettings } from './task-options.js'

// The context of a submission: its options, the signals that cancel it, and the task in which it
// happens.

/** The context of everything that one view submits inside one task, or outside of tasks. */
export class SubmitContext {
  readonly options: TaskOptions
  readonly #settings: TaskSettings
  /** The task that submits. */
  readonly scope: TaskScope | undefined
  /** Whether beginnings and ends must be reported. */
  readonly isWatched: boolean

  constructor(settings: TaskSettings, scope: TaskScope | undefined) {
    this.options = encodeTaskSettings(settings, scope)
    this.#settings = settings
    this.scope = scope
    this.isWatched = settings.signals.length > 0 || scope !== undefined
  }

  /** Whether it belongs to a task. */
  isOf(scope: TaskScope): boolean {
    return this.scope === scope
  }

  /** The signal that has aborted, if one has: new submissions are cancelled immediately. */
  get aborted(): AbortSignal | undefined {
    const { signals } = this.#settings
    return signals.find(({ signal }) => signal.aborted)?.signal
  }

  /** The options of what is submitted in a span. */
  optionsIn(span: TaskSpan | undefined): TaskOptions {
    const { options } = this
    return span === undefined ? options : { ...options, traceContext: span.traceContext }
  }

  /** Something was submitted: one call for a map or a graph. */
  begin(item: Cancellable): void {
    for (const watch of this.#settings.signals) watch.add(item)
    this.scope?.childStarted()
  }

  /** It has ended; called once. */
  end(item: Cancellable): void {
    for (const watch of this.#settings.signals) watch.delete(item)
    this.scope?.childEnded()
  }
}

/** The contexts in which one view submits. */
class SubmitContexts {
  readonly #settings: TaskSettings
  readonly #outside: SubmitContext
  /** The context of the task that submitted last. */
  #inside: SubmitContext | undefined

  constructor(settings: TaskSettings) {
    this.#settings = settings
    this.#outside = new SubmitContext(settings, undefined)
  }

  /** The context of the caller. */
  get current(): SubmitContext {
    const scope = taskScopes.current
    if (scope === undefined) return this.#outside
    if (this.#inside?.isOf(scope) !== true) this.#inside = new SubmitContext(this.#settings, scope)
    return this.#inside
  }
}

/**
 * The stack of a `submit` is captured unless more tasks than this are unfinished: then, capturing
 * would cost as much as the rest of the submission.
 */
const MAX_TASKS_WITH_SITE = 32

/** The parts for submitting that all views of one client share. */
export class SubmitterParts {
  readonly connection: ClientConnection
  readonly failures: FailureCount = new FailureCount()
  /** Of futures that are submitted without a watcher. */
  readonly home: FutureHome
  readonly functions: FunctionObjects
  readonly ids: TaskIds = new TaskIds()
  readonly references: ObjectReferences
  readonly sources: ArgumentSources
  readonly runs: SubmitRuns

  constructor(connection: ClientConnection) {
    const { serializer, objectIds } = connection
    this.connection = connection
    this.home = new FutureHome(connection, this.failures)
    this.functions = new FunctionObjects(serializer.codec, objectIds)
    this.references = new ObjectReferences(connection)
    this.sources = new ArgumentSources(connection, this.references)
    this.runs = new SubmitRuns(connection)
  }
}

/** Submits tasks over one connection, with certain options. */
export class Submitter {
  readonly #parts: SubmitterParts
  readonly #connection: ClientConnection
  readonly #contexts: SubmitContexts
  /** Empty: each task has the name of its function. */
  readonly #taskName: string

  constructor(parts: SubmitterParts, settings: TaskSettings) {
    this.#taskName = settings.name
    this.#parts = parts
    this.#connection = parts.connection
    this.#contexts = new SubmitContexts(settings)
  }

  /**
   * Submits one task. Throws `TypeError` if `fn` is not a function; any other failure rejects the
   * future.
   */
  submit(fn: AnyFunction, args: readonly unknown[]): Future<unknown> {
    checkFunction(fn)
    const connection = this.#connection
    const { home, ids } = this.#parts
    const context = this.#contexts.current
    const hasSite = connection.unfinishedTasks < MAX_TASKS_WITH_SITE
    const site = hasSite ? captureSite(OWN_FRAMES, this.#taskName || nameOf(fn)) : undefined
    const taskId = ids.next()
    const idCount = ids.count
    const span = findTracing()?.start({
      operation: 'submit',
      name: this.#taskName || nameOf(fn),
      traceContext: context.options.traceContext,
      attributes: { 'messaging.message.id': idToHex(taskId) },
    })
    const isPlain = span === undefined && !context.isWatched
    const place = isPlain ? home : home.with({ context, span })
    const state = new FutureState(taskId, place, site)
    const { aborted } = context
    const options = context.optionsIn(span)
    if (aborted === undefined) this.#submitTask(state, { fn, args, options, site, idCount })
    else state.abort(aborted.reason)
    return new Future(state)
  }

  /**
   * Submits a task per input; with `isSpread`, each input is a list of arguments. Throws
   * `TypeError` if `fn` is not a function or `inputs` is not iterable, and `ConfigError` for an
   * invalid option; any other failure ends the map.
   */
  map(
    fn: AnyFunction,
    inputs: unknown,
    options: MapOptions,
    isSpread: boolean,
  ): MapFuture<unknown, unknown> {
    checkFunction(fn)
    const checked = checkMapOptions(options, this.#connection.settings.maxUnfinishedTasks)
    if (!isIterable(inputs)) {
      const method = isSpread ? 'starmap' : 'map'
      throw argumentError(`${method}: expected an iterable, got ${typeof inputs}`)
    }
    const context = this.#contexts.current
    const site = captureSite(OWN_FRAMES, this.#taskName || nameOf(fn))
    const { aborted } = context
    if (aborted !== undefined) return this.#cancelledMap(aborted.reason, checked.isOrdered)
    const span = findTracing()?.start({
      operation: isSpread ? 'starmap' : 'map',
      name: site.taskName,
      traceContext: context.options.traceContext,
      attributes: {},
    })
    try {
      const run = new MapRun({
        connection: this.#connection,
        failures: this.#parts.failures,
        ids: this.#parts.ids,
        function: this.#functionObject(fn),
        context,
        span,
        input: openInput(inputs),
        isSpread,
        sources: new InputSources({ inputs, isSpread, sources: this.#parts.sources, site }),
        ...checked,
        watcher: watchMap(checked.progress, { label: site.taskName || 'map', inputs }),
        site,
      })
      run.start()
      return new MapFuture({ results: run.results, cancel: (reason) => run.cancel(reason) })
    } catch (error) {
      span?.end({ outcome: 'failed', error })
      return this.#endedMap('failed', blameCaller(error, site), checked.isOrdered)
    }
  }

  /**
   * Submits a graph. Throws `TypeError` unless it is a graph with a list of keys; any other failure
   * rejects the graph's future.
   */
  get(graph: unknown, keys: unknown): GraphFuture<Record<string, unknown>> {
    const call = { context: this.#contexts.current, site: captureSite() }
    return submitGraph(graph, keys, this.#parts, call)
  }

  #submitTask(state: FutureState, { fn, args, options, site, idCount }: SubmitCall): void {
    try {
      const object = this.#functionObject(fn)
      if (this.#parts.runs.add(state, args, { function: object, options }, idCount)) return
      const { function: stored, attachments } = object
      const sources = this.#parts.sources.ofAll(args, this.#parts.runs.takeSerialized())
      const { taskId } = state
      const task = { taskId, function: stored, attachments, args: sources, options, owner: state }
      this.#connection.submit(task)
    } catch (error) {
      if (error instanceof FailedInput) state.inherit(error.state)
      else state.refuse(blameCaller(error, site ?? captureSite(3)))
    }
  }

  #cancelledMap(cause: unknown, isOrdered: boolean): MapFuture<unknown, unknown> {
    const error = withoutFrames(() => new TaskCancelledError('the map was cancelled', { cause }))
    return this.#endedMap('cancelled', error, isOrdered)
  }

  #endedMap(
    kind: 'failed' | 'cancelled',
    error: unknown,
    isOrdered: boolean,
  ): MapFuture<unknown, unknown> {
    const results = new MapResults(isOrdered, this.#parts.failures)
    results.finish({ kind, error, isInputRead: false })
    return new MapFuture({ results, cancel: () => false })
  }

  #functionObject(fn: AnyFunction): FunctionObject {
    this.#connection.checkOpen()
    this.#connection.serializer.check()
    return this.#parts.functions.of(fn)
  }
}

/** One call of `submit`. */
interface SubmitCall {
  readonly fn: AnyFunction
  readonly args: readonly unknown[]
  readonly options: TaskOptions
  /** Undefined: too many tasks are unfinished to capture it. */
  readonly site: CallSite | undefined
  /** How many ids were taken, with that of this task. */
  readonly idCount: number
}

function checkFunction(fn: unknown): void {
  if (typeof fn !== 'function') throw argumentError(`expected a function to run, got ${typeof fn}`)
}

function isIterable(inputs: unknown): boolean {
  const source = inputs as Partial<AsyncIterable<unknown> & Iterable<unknown>> | null | undefined
  return (
    typeof source?.[Symbol.asyncIterator] === 'function' ||
    typeof source?.[Symbol.iterator] === 'function'
  )
}

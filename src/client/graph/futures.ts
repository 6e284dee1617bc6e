// The futures of one graph: one for each requested key, whether its node is a call or a value.

import { runInThisContext } from 'node:vm'
import { NO_BYTES } from '../../base/bytes.js'
import { SerializeError } from '../../base/errors.js'
import { identity, type TaskId } from '../../base/ids.js'
import { nodeNumber } from '../../core/client/graph/nodes.js'
import { blameCaller } from '../../runtime/call-site.js'
import { Future } from '../future/future.js'
import { valueOf } from '../future/gather.js'
import type { FutureHome, TargetNames } from '../future/home.js'
import { FutureState } from '../future/state.js'
import { FailedInput } from '../submit/arguments.js'
import type { AnyFunction } from '../submit/function-objects.js'
import { ObjectReference } from '../submit/objects.js'
import { plainValue } from './reading.js'
import type { GraphCall, GraphParts, NodeFailure } from './submitter.js'

// Which node has failed, for the errors of its dependants. Referenced by the futures of a graph
// until they settle.

const FIRST_FRAME = /\n {4}(?:at |---)/

/** The names of the nodes of one graph. */
export class NodeNames implements TargetNames {
  /** Why the graph was cancelled, if it was. */
  cancelReason: unknown
  readonly #idPrefix: string
  /** By the numbers in their ids. */
  readonly #keys: readonly string[]
  /** Nodes that are futures, by the ids of their tasks. */
  readonly #futures: ReadonlyMap<TaskId, string>

  constructor(idPrefix: string, keys: readonly string[], futures: ReadonlyMap<TaskId, string>) {
    this.#idPrefix = idPrefix
    this.#keys = keys
    this.#futures = futures
  }

  explain(error: unknown, id: TaskId, failedId: TaskId | undefined): void {
    const target = this.#keyOf(id)
    const failed = this.#keyOf(failedId ?? id)
    if (failed !== undefined) nameNode(error, failed, target)
  }

  #keyOf(id: TaskId): string | undefined {
    const number = nodeNumber(this.#idPrefix, id)
    return number === undefined ? this.#futures.get(id) : this.#keys[number]
  }
}

/**
 * Names the failed node in an error: its `nodeKey`, and a line of its stack. `target`: the
 * requested node that needs it.
 */
function nameNode(error: unknown, failed: string, target: string | undefined): void {
  if (!(error instanceof Error)) return
  // A user's error may be frozen: then it stays as it is.
  const attributes = { value: failed, configurable: true, writable: true }
  if (!Reflect.defineProperty(error, 'nodeKey', attributes)) return
  const why = target === undefined || target === failed ? '' : `, which ${quote(target)} needs`
  const line = `\n    at node ${quote(failed)} of the graph${why}`
  const { stack } = error
  if (typeof stack !== 'string') return
  const found = stack.search(FIRST_FRAME)
  const at = found < 0 ? stack.length : found
  const value = stack.slice(0, at) + line + stack.slice(at)
  Reflect.defineProperty(error, 'stack', { value, configurable: true, writable: true })
}

function quote(key: string): string {
  return JSON.stringify(key)
}

/**
 * The errors of this number of targets lead back to the call of `get`: for all it would take too
 * long.
 */
const MAX_TARGETS_WITH_SITE = 32
const NOTHING = { metadata: NO_BYTES, worker: identity(''), failedTaskId: undefined }

/** A requested node that is a value. */
class ReadyValue {
  readonly value: unknown

  constructor(value: unknown) {
    this.value = value
  }
}

/** Returns its argument. In a script of its own: functions of this package do not travel. */
const itself = (): AnyFunction => runInThisContext('(value) => value') as AnyFunction

/** The futures of one graph. */
export class GraphFutures {
  /** The requested keys. */
  readonly keys: string[] = []
  /** Those of calls. */
  readonly targets: FutureState[] = []
  /** By requested key. A value gets a future only when somebody asks for it. */
  readonly #states: (FutureState | ReadyValue)[] = []
  /** Futures that are nodes, by their keys. */
  readonly #given = new Map<string, Future<unknown>>()
  readonly #parts: GraphParts
  readonly #call: GraphCall
  /** The home of the futures. A graph is watched as a whole, not future by future. */
  readonly #home: FutureHome
  /** The same for the futures of calls. */
  #named: FutureHome | undefined

  constructor(parts: GraphParts, call: GraphCall) {
    this.#parts = parts
    this.#call = call
    const { scope } = call.context
    this.#home = scope === undefined ? parts.home : parts.home.with({ scope })
  }

  /** All futures, in the order of the keys. */
  all(): readonly Future<unknown>[] {
    return this.keys.map((key, index) => {
      const state = this.#states[index]
      if (state instanceof FutureState) return this.#given.get(key) ?? new Future(state)
      const made = this.#make()
      made.succeed(state?.value, NOTHING)
      this.#states[index] = made
      return new Future(made)
    })
  }

  /** Of all keys but those of values. */
  get states(): readonly FutureState[] {
    return this.#states.filter((state) => state instanceof FutureState)
  }

  /** The values of all, once they are here, in the order of the keys. */
  get values(): readonly unknown[] {
    return this.#states.map((state) =>
      state instanceof FutureState ? valueOf(state) : state.value,
    )
  }

  /** The future of a call. */
  addTarget(key: string, taskId: TaskId, names: NodeNames): FutureState {
    const state = this.#add(key, taskId, names)
    this.targets.push(state)
    return state
  }

  /** A node with a value: its future has settled already. */
  addValue(key: string, node: unknown): void {
    if (node instanceof Future) {
      this.#given.set(key, node as Future<unknown>)
      this.keys.push(key)
      this.#states.push(Future.stateOf(node as Future<unknown>))
    } else if (node instanceof ObjectReference) {
      this.#read(this.#add(key), key, node as ObjectReference<unknown>)
    } else {
      this.keys.push(key)
      this.#states.push(new ReadyValue(plainValue(node)))
    }
  }

  /** The future of a node that needs one which cannot travel. */
  addFailure(key: string, failure: NodeFailure): void {
    const { error } = failure
    const state = this.#add(key)
    if (error instanceof FailedInput) return state.inherit(error.state)
    const own = error instanceof SerializeError ? copyOf(error) : error
    nameNode(own, failure.key, key)
    state.refuse(blameCaller(own, this.#call.site))
  }

  /** The future of a node of a graph that cannot be computed at all. */
  addRefused(key: string, error: unknown): void {
    this.#add(key).refuse(error)
  }

  #read(state: FutureState, key: string, reference: ObjectReference<unknown>): void {
    try {
      const { sources, functions, connection } = this.#parts
      const source = sources.of(reference)
      const { objectId, isForeign } = ObjectReference.setupOf(reference)
      if (!isForeign) return connection.readObject(state, objectId)
      // Only the scheduler has its content.
      const { function: stored, attachments } = functions.of(itself())
      const { options } = this.#call.context
      const { taskId } = state
      const args = [source]
      connection.submit({ taskId, function: stored, attachments, args, options, owner: state })
    } catch (error) {
      nameNode(error, key, undefined)
      state.refuse(error)
    }
  }

  #add(key: string, taskId?: TaskId, names?: NodeNames): FutureState {
    const state = this.#make(taskId, names)
    this.keys.push(key)
    this.#states.push(state)
    return state
  }

  #make(taskId: TaskId = this.#parts.ids.next(), names?: NodeNames): FutureState {
    const { scope } = this.#call.context
    if (names !== undefined) this.#named ??= this.#parts.home.with({ names, scope })
    const place = names === undefined ? this.#home : (this.#named ?? this.#home)
    const site = this.targets.length < MAX_TARGETS_WITH_SITE ? this.#call.site : undefined
    return new FutureState(taskId, place, site)
  }
}

/** Each future gets an error of its own. */
function copyOf(error: SerializeError): SerializeError {
  return new SerializeError(error.message, { path: error.path, cause: error.cause })
}

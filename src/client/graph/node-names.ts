// Which node has failed, for the errors of those that depend on it. Held by the futures of a graph,
// as long as they have not ended.

import type { TaskId } from '../../base/ids.js'
import { nodePosition } from '../../core/client/graph/nodes.js'
import type { TargetNames } from '../future-home.js'

const FIRST_FRAME = /\n {4}(?:at |---)/

/** The names of the nodes of one graph. */
export class NodeNames implements TargetNames {
  /** Why the graph was cancelled, if it was. */
  cancelReason: unknown
  readonly #idPrefix: string
  /** By position. */
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
    const position = nodePosition(this.#idPrefix, id)
    return position === undefined ? this.#futures.get(id) : this.#keys[position]
  }
}

/**
 * Says in an error which node has failed: its `nodeKey`, and a line of its stack. `target`: the
 * requested node that needs it.
 */
export function nameNode(error: unknown, failed: string, target: string | undefined): void {
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

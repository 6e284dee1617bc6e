// The part of a graph that some keys need: each node once, numbered in the order in which it was
// met. Culling is this: what is not met is never looked at.

import { GraphKeyError } from '../../base/errors.js'
import { isCall } from './graph-node.js'
import { IntList } from '../../base/int-list.js'

/** Nodes of a graph, by their numbers. */
export interface GraphReading {
  readonly keys: readonly string[]
  /** As they stand in the graph. */
  readonly nodes: readonly unknown[]
  /** The numbers of the requested nodes, each once, in the order of the request. */
  readonly requested: Int32Array
  /**
   * The inputs of node n, one for each string among its arguments, are those from `starts[n]` to
   * before `starts[n + 1]`.
   */
  readonly starts: Int32Array
  readonly inputs: Int32Array
}

/**
 * Reads what `keys` need. Only a graph's own enumerable properties are nodes. Throws
 * `GraphKeyError` for a key that is not there, and what a getter throws.
 */
export function readGraph(
  graph: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): GraphReading {
  const reader = new GraphReader(graph)
  const requested = new Set<number>()
  for (const key of keys) requested.add(reader.numberOf(key, undefined))
  reader.readAll()
  return reader.finish(Int32Array.from(requested))
}

class GraphReader {
  readonly #graph: Readonly<Record<string, unknown>>
  readonly #numbers = new Map<string, number>()
  readonly #keys: string[] = []
  readonly #nodes: unknown[] = []
  readonly #starts = new IntList()
  readonly #inputs = new IntList()

  constructor(graph: Readonly<Record<string, unknown>>) {
    this.#graph = graph
  }

  /** The number of a node, which is read if it is new. */
  numberOf(key: string, neededBy: string | undefined): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    if (!Object.prototype.propertyIsEnumerable.call(this.#graph, key)) {
      throw new GraphKeyError(key, neededBy)
    }
    const number = this.#keys.length
    this.#numbers.set(key, number)
    this.#keys.push(key)
    this.#nodes.push(this.#graph[key])
    return number
  }

  /** Reads the inputs of all nodes, those that this finds included. */
  readAll(): void {
    for (let number = 0; number < this.#nodes.length; number += 1) {
      this.#starts.push(this.#inputs.length)
      const node = this.#nodes[number]
      if (isCall(node)) this.#readInputs(node, this.#keys[number])
    }
    this.#starts.push(this.#inputs.length)
  }

  finish(requested: Int32Array): GraphReading {
    return {
      keys: this.#keys,
      nodes: this.#nodes,
      requested,
      starts: this.#starts.toArray(),
      inputs: this.#inputs.toArray(),
    }
  }

  #readInputs(node: readonly unknown[], key: string | undefined): void {
    for (let at = 1; at < node.length; at += 1) {
      const argument = node[at]
      if (typeof argument === 'string') this.#inputs.push(this.numberOf(argument, key))
    }
  }
}

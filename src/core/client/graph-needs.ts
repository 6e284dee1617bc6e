// Which results of tasks outside of a graph, and which objects, its targets depend on, directly or
// through other nodes. Most graphs need none; then this costs nothing.

import { IntList } from '../../base/int-list.js'
import type { GraphNodes } from './graph-nodes.js'

const NOTHING = 0

/**
 * Sets of sources: a set is one source, or the union of two other sets. So a chain of nodes that
 * adds nothing shares one set, and one that adds a source per node takes one union per node.
 */
class SourceSets {
  readonly #left = new IntList()
  readonly #right = new IntList()
  /** Which walk has seen a set last. */
  #seenBy = new Int32Array(0)
  #walk = 0

  constructor() {
    // Set 0 is empty.
    this.#add(0, 0)
  }

  ofSource(source: number): number {
    return this.#add(~source, 0)
  }

  union(one: number, other: number): number {
    if (one === other || other === NOTHING) return one
    return one === NOTHING ? other : this.#add(one, other)
  }

  /** The sources in a set. */
  list(set: number): number[] {
    if (set === NOTHING) return []
    if (this.#seenBy.length < this.#left.length) this.#seenBy = new Int32Array(this.#left.length)
    this.#walk += 1
    const sources: number[] = []
    const open = [set]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (this.#seenBy[next] === this.#walk) continue
      this.#seenBy[next] = this.#walk
      const left = this.#left.at(next)
      if (left < 0) sources.push(~left)
      else open.push(this.#right.at(next), left)
    }
    return sources
  }

  #add(left: number, right: number): number {
    this.#left.push(left)
    this.#right.push(right)
    return this.#left.length - 1
  }
}

/**
 * Calls `tell` for each of some calls with the numbers of the sources that it depends on, among
 * those for which `isMeant`.
 */
export function needsOf(
  nodes: GraphNodes,
  positions: Iterable<number>,
  isMeant: (source: number) => boolean,
  tell: (position: number, sources: readonly number[]) => void,
): void {
  const sets = new SourceSets()
  const ofSource = nodes.sources.map((_, source) =>
    isMeant(source) ? sets.ofSource(source) : NOTHING,
  )
  const ofNode = new Int32Array(nodes.count)
  for (let position = 0; position < nodes.count; position += 1) {
    let set = NOTHING
    const end = nodes.argsStart(position + 1)
    for (let at = nodes.argsStart(position); at < end; at += 1) {
      const argument = nodes.argAt(at)
      if (argument >= 0) set = sets.union(set, ofNode[argument] ?? NOTHING)
      else set = sets.union(set, ofSource[nodes.sourceOf(~argument) ?? -1] ?? NOTHING)
    }
    ofNode[position] = set
  }
  for (const position of positions) tell(position, sets.list(ofNode[position] ?? NOTHING))
}

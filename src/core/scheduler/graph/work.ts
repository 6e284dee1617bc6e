// What graphs have to do that may be long: to cancel, fail, free or forget a million nodes; and
// the objects of a client that leaves (client/peer.ts). It is done a slice at a time, so that no
// turn of the scheduler is long for it: what one turn leaves over is for the ticks that follow.

import { latin1ToBytes } from '../../../base/bytes.js'
import { objectIdOf, type ObjectId, type SchedulerId } from '../../../base/ids.js'
import type { Runtime } from '../entries.js'
import type { NodeKind } from './nodes.js'

/** What looking at a node or following an edge costs; everything else is in proportion. */
export const STEP_COST = 1
/** What telling a client or the monitors about a node costs, or freeing an object. */
export const MESSAGE_COST = 30

/** How much is done in one turn, unless told otherwise: a few milliseconds. */
const STEPS_PER_TURN = 24_000

/** Somebody with long work. */
export interface Worklist {
  /** Works until all is done (true) or `GraphWork.left` is used up. */
  advance(): boolean
}

/** A graph, as those see it who know nothing of graphs. */
export interface GraphWorklist extends Worklist {
  /** That of its client. */
  readonly runtime: Runtime
  /** How many of its nodes could run and are not in the queue. */
  readonly readyCount: number
  /** The kinds of its nodes, which say how many have no task yet. */
  readonly kinds: readonly NodeKind[]
  /** Throws if its tables disagree. */
  checkInvariants(): void
}

/** The long work of all graphs of one scheduler. */
export class GraphWork {
  /** All graphs, from their first part until they are forgotten. */
  readonly graphs: Set<GraphWorklist> = new Set()
  /** How much may still be done in this turn; below 0 when the last step was long. */
  left: number
  /** Those that are not done, whose turn it is first. */
  readonly #waiting = new Set<Worklist>()
  readonly #perTurn: number
  readonly #idPrefix: Buffer
  #copies = 0

  /** `id`: what makes the ids of copies this scheduler's own. */
  constructor(id: SchedulerId, stepsPerTurn: number = STEPS_PER_TURN) {
    this.#perTurn = stepsPerTurn
    this.left = stepsPerTurn
    this.#idPrefix = Buffer.concat([latin1ToBytes(id), Buffer.alloc(8)]).subarray(0, 8)
  }

  /** How many nodes could run and are not in the queue. */
  get ready(): number {
    let count = 0
    for (const graph of this.graphs) count += graph.readyCount
    return count
  }

  /** Whether a tick is wanted at once. */
  get isDue(): boolean {
    return this.#waiting.size > 0 || this.left < this.#perTurn / 2
  }

  /** Works now as far as this turn allows, and goes on with the next ticks. */
  begin(graph: Worklist): void {
    if (this.#waiting.has(graph) || graph.advance()) return
    this.#waiting.add(graph)
  }

  /** A new turn: goes on with what is left, one graph after the other. */
  resume(): void {
    this.left = this.#perTurn
    for (let count = this.#waiting.size; count > 0 && this.left > 0; count -= 1) {
      const [graph] = this.#waiting
      if (graph === undefined) return
      this.#waiting.delete(graph)
      if (!graph.advance()) this.#waiting.add(graph)
    }
  }

  /** The id of a copy of an object: 16 bytes that no other object has. */
  nextCopyId(): ObjectId {
    const number = Buffer.alloc(8)
    number.writeBigUInt64BE(BigInt((this.#copies += 1)))
    return objectIdOf(Buffer.concat([this.#idPrefix, number]))
  }

  /** Throws if a graph that waits is not known, or one disagrees with itself. */
  checkInvariants(): void {
    for (const graph of this.graphs) graph.checkInvariants()
  }
}

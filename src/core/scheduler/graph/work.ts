// Long work: cancelling, failing or freeing a million nodes of graphs, releasing the objects of a
// client that leaves (client/peer.ts), and reports to many monitors (monitor/monitors.ts). It is
// done in slices, so that no turn of the scheduler takes long: the work left over from one turn
// continues in the next ticks.

import { latin1ToBytes } from '../../../base/bytes.js'
import { objectIdOf, type ObjectId, type SchedulerId } from '../../../base/ids.js'
import type { Alarm, Turn } from '../../../base/machine.js'
import type { ClientEntry } from '../entries.js'
import type { SchedulerAction } from '../events.js'
import type { Graph } from './graph.js'

/** The cost of visiting a node or following an edge; other costs are in proportion. */
export const STEP_COST = 1
/** The cost of a message to a client or the monitors about a node, or of freeing an object. */
export const MESSAGE_COST = 30

/** Default budget of one turn: a few milliseconds. */
const STEPS_PER_TURN = 24_000

/** A piece of long work. */
export interface Worklist {
  /** Works until all is done (returns true) or `GraphWork.left` is used up. */
  advance(): boolean
}

/** The long work of one scheduler. */
export class GraphWork {
  /** All graphs, from their first part until they are removed. */
  readonly graphs: Set<Graph> = new Set()
  /** The budget left in this turn; negative if the last step exceeded it. */
  left: number
  /** Unfinished work; the next one is first. */
  readonly #waiting = new Set<Worklist>()
  readonly #turn: Turn<SchedulerAction>
  readonly #next: Alarm
  readonly #perTurn: number
  readonly #idPrefix: Buffer
  #copies = 0

  /** `id`: makes the ids of copies unique to this scheduler. */
  constructor(turn: Turn<SchedulerAction>, id: SchedulerId, stepsPerTurn: number = STEPS_PER_TURN) {
    this.#turn = turn
    this.#next = turn.alarm(() => this.#resume())
    this.#perTurn = stepsPerTurn
    this.left = stepsPerTurn
    this.#idPrefix = Buffer.concat([latin1ToBytes(id), Buffer.alloc(8)]).subarray(0, 8)
  }

  /** The number of ready nodes of all graphs that are not queued. */
  get ready(): number {
    let count = 0
    for (const graph of this.graphs) count += graph.readyCount
    return count
  }

  /** The number of nodes of all graphs that wait or are ready, and are not tasks yet. */
  get unstarted(): number {
    return unstartedOf(this.graphs)
  }

  /** Works now as far as the budget allows, and continues in the next ticks. */
  begin(work: Worklist): void {
    if (this.#waiting.has(work)) return
    if (!work.advance()) this.#waiting.add(work)
    this.#planNext()
  }

  /** Starts a new turn: continues the unfinished work, one piece after the other. */
  #resume(): void {
    this.left = this.#perTurn
    for (let count = this.#waiting.size; count > 0 && this.left > 0; count -= 1) {
      const [work] = this.#waiting
      if (work === undefined) break
      this.#waiting.delete(work)
      if (!work.advance()) this.#waiting.add(work)
    }
    this.#planNext()
  }

  /** The next tick continues the work, or renews a budget of which little is left. */
  #planNext(): void {
    const isDue = this.#waiting.size > 0 || this.left < this.#perTurn / 2
    if (isDue) this.#next.setBy(this.#turn.now)
  }

  /** A unique id for a copy of an object: 16 bytes. */
  nextCopyId(): ObjectId {
    const number = Buffer.alloc(8)
    number.writeBigUInt64BE(BigInt((this.#copies += 1)))
    return objectIdOf(Buffer.concat([this.#idPrefix, number]))
  }

  /** Throws if a graph is inconsistent. */
  checkInvariants(): void {
    for (const graph of this.graphs) graph.checkInvariants()
  }
}

/** How many tasks of a client have not ended: also the nodes that are not tasks yet. */
export function unfinishedOf({
  taskCount,
  graphs,
}: Pick<ClientEntry, 'taskCount' | 'graphs'>): number {
  return taskCount + unstartedOf(graphs.values())
}

function unstartedOf(graphs: Iterable<Graph>): number {
  let count = 0
  for (const { kinds } of graphs) {
    for (const { waiting, ready } of kinds) count += waiting + ready
  }
  return count
}

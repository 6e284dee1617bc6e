// Everything that is known about one graph. The modules that change it are part.ts (nodes
// arrive), task.ts (they are started), settle.ts (they end) and graph.ts (its life).

import type { TaskId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type { TaskResult } from '../../../wire/message.js'
import { EARLY_MS } from '../client/early-results.js'
import type { ClientEntry, ObjectEntry, TaskEntry } from '../entries.js'
import { NONE, ReadySet } from './index.js'
import { NodeTable } from './nodes.js'
import { ValueStore } from './value.js'
import type { SchedulerState } from '../state.js'

/** A node that ran and failed. */
export interface Failure {
  /** Its result, in memory of its own. */
  readonly result: TaskResult
  /** The error, where it is an object that is stored. */
  readonly error: Pick<ObjectEntry, 'type' | 'name' | 'chunks'> | undefined
}

/** The tables of one graph. */
export class GraphTables {
  readonly state: SchedulerState
  readonly client: ClientEntry
  readonly id: TaskId
  readonly nodes: NodeTable = new NodeTable()
  /** Of succeeded nodes, by their outcome. */
  readonly values: ValueStore = new ValueStore()
  /** Of failed nodes, by their outcome minus 1. */
  readonly failures: Failure[] = []
  /** Invariant: the nodes whose state is ready. */
  readonly ready: ReadySet = new ReadySet()
  /**
   * Tasks of nodes that have waited since they became one. Invariant: they stand in the queue in
   * the opposite order, so the last is the first, and comes before each node that is ready.
   */
  readonly queued: TaskEntry[] = []
  /** Objects that its nodes need, or may need. Invariant: each has this graph among its users. */
  readonly objects: Set<ObjectEntry> = new Set()
  /** Whether more nodes may come. */
  isOpen = true
  /** Whether it had anything in the queue before. */
  hasBegun = false
  /** The first of the nodes that have ended, of which others have not been told; a chain. */
  ended: number = NONE
  /** How many nodes have not ended. */
  unfinished = 0
  /** Its client is told nothing before. */
  readonly tellsFrom: InstantMs
  /** Nodes before this one have been looked at since the graph was closed. */
  swept = 0

  constructor(state: SchedulerState, client: ClientEntry, id: TaskId) {
    this.state = state
    this.client = client
    this.id = id
    this.tellsFrom = client.features === 0 ? state.now + EARLY_MS : -Infinity
  }
}

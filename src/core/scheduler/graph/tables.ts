// The state of one graph. The modules that change it are part.ts (nodes arrive), task.ts (nodes
// start), settle.ts (nodes end) and graph.ts (the life of the graph).

import type { TaskId } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type { TaskResult } from '../../../wire/message.js'
import type { ClientEntry, ObjectEntry, TaskEntry } from '../entries.js'
import { NONE, ReadySet } from './index.js'
import { NodeTable } from './nodes.js'
import { EARLY_MS } from './outcome.js'
import { ValueStore } from './store.js'
import type { SchedulerState } from '../state.js'

/** A node that ran and failed. */
export interface Failure {
  /** Its result, in its own memory. */
  readonly result: TaskResult
  /** The error, if it is a stored object. */
  readonly error: Pick<ObjectEntry, 'type' | 'name' | 'chunks'> | undefined
}

/** The tables of one graph. */
export class GraphTables {
  readonly state: SchedulerState
  readonly client: ClientEntry
  readonly id: TaskId
  readonly nodes: NodeTable = new NodeTable()
  /** Values of succeeded nodes, by outcome. */
  readonly values: ValueStore = new ValueStore()
  /** Failures of failed nodes, by outcome minus 1. */
  readonly failures: Failure[] = []
  /** Invariant: the nodes whose state is ready. */
  readonly ready: ReadySet = new ReadySet()
  /**
   * Queued tasks of nodes that no worker has had yet. Invariant: the queue has them in reverse
   * order, so the last one is first there, and precedes each ready node.
   */
  readonly queued: TaskEntry[] = []
  /** Objects that its nodes need, or may need. Invariant: each has this graph among its users. */
  readonly objects: Set<ObjectEntry> = new Set()
  objectBytes = 0
  /** Whether more nodes may arrive. */
  isOpen = true
  /** Whether any of its tasks has been queued before. */
  hasBegun = false
  /** The first finished node whose effects are pending; the head of a chain. */
  ended: number = NONE
  /** The number of unfinished nodes. */
  unfinished = 0
  /** No result is sent to its client before this time. */
  readonly tellsFrom: InstantMs
  /** Nodes before this one have been swept since the graph was closed. */
  swept = 0

  constructor(state: SchedulerState, client: ClientEntry, id: TaskId) {
    this.state = state
    this.client = client
    this.id = id
    this.tellsFrom = client.features === 0 ? state.turn.now + EARLY_MS : -Infinity
  }
}

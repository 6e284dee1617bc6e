// The rows of the scheduler's tables, and nothing else: who refers to whom, and which invariants
// the modules that change them keep.

import type { FifoNode } from '../../base/fifo.js'
import type { HeapItem } from '../../base/indexed-heap.js'
import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { WorkerHeartbeat, ObjectContentType } from '../../wire/message.js'
import type { TaskState } from './task-state.js'

/** Which language a peer's functions are in. A task needs a worker of its client's runtime. */
export type Runtime = 'javascript' | 'python'

/** A client, from its first heartbeat (or task) until it leaves or falls silent. */
export interface ClientEntry {
  readonly identity: Identity
  readonly runtime: Runtime
  features: number
  lastSeen: InstantMs
  /** It has left, or was given up: nothing is sent to it any more. */
  hasLeft: boolean
  /** Unfinished tasks. Invariant: each names this client. */
  readonly tasks: Set<TaskEntry>
  /** Invariant: each has this client among its users. */
  readonly objects: Set<ObjectEntry>
}

/** A worker, from its first heartbeat until it leaves, loses its connection or falls silent. */
export interface WorkerEntry extends HeapItem {
  readonly identity: Identity
  readonly runtime: Runtime
  /** Order of registration: the last tie-break. */
  readonly sequence: number
  /** When anything came from it. */
  lastSeen: InstantMs
  lastHeartbeat: InstantMs
  heartbeat: WorkerHeartbeat
  /** In order of assignment. Invariant: each is running or canceling and names this worker. */
  readonly assigned: Set<TaskEntry>
  /** How long its tasks are expected to take together, in seconds. */
  load: number
  /** Objects it has asked for and may have kept. Invariant: each has this worker as a holder. */
  readonly held: Set<ObjectEntry>
}

/** An unfinished task. */
export interface TaskEntry {
  readonly id: TaskId
  /** Undefined once the client has left: the task then only waits for its worker's answer. */
  client: ClientEntry | undefined
  readonly runtime: Runtime
  readonly priority: number
  /** Its function, if it was stored when the task came. */
  readonly function: ObjectEntry | undefined
  /** The encoded Task, in memory of its own. */
  readonly bytes: Uint8Array
  state: TaskState
  /** How long it was expected to take when it was assigned, in seconds. */
  expectedSeconds: number
  /** Invariant: set exactly when the state is running or canceling. */
  worker: WorkerEntry | undefined
  /** Invariant: set exactly when the state is inactive. */
  place: FifoNode<TaskEntry> | undefined
}

/** A stored object. It lives as long as it has users. */
export interface ObjectEntry {
  readonly id: ObjectId
  type: ObjectContentType
  name: Uint8Array
  chunks: readonly Uint8Array[]
  /** Of a function: moving average of its tasks' durations in seconds, once one has ended. */
  averageSeconds: number | undefined
  readonly users: Set<ClientEntry>
  /** Workers to tell when it goes. */
  readonly holders: Set<WorkerEntry>
}

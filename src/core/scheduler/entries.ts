// The rows of the scheduler's tables, and nothing else: who refers to whom, and which invariants
// the modules that change them keep.

import type { Fifo, FifoNode } from '../../base/fifo.js'
import type { HeapItem } from '../../base/indexed-heap.js'
import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { SpreadSet } from '../../base/spread.js'
import type { InstantMs } from '../../base/machine.js'
import type {
  AttemptOutcome,
  GraphTask,
  ObjectContentType,
  PeerInfo,
  TaskResult,
  WorkerHeartbeat,
} from '../../wire/message.js'
import type { Requirement } from './worker/placement.js'
import type { Silence } from './worker/peer.js'
import type { TaskState } from './task/state.js'

/** Which language a peer's functions are in. A task needs a worker of its client's runtime. */
export type Runtime = 'javascript' | 'python'

/** A client, from its first heartbeat (or task) until it leaves or falls silent. */
export interface ClientEntry {
  readonly identity: Identity
  readonly runtime: Runtime
  /** As its heartbeats say it; '' until the first. */
  runtimeText: string
  /** What it has told of itself. */
  info: PeerInfo | undefined
  features: number
  lastSeen: InstantMs
  /** It only looks whether all is well, and may do so often: a matter for DEBUG. */
  readonly isVisitor: boolean
  /** False from the end of its connection to its next heartbeat. */
  isConnected: boolean
  /** The worker inside of whose tasks it lives. Invariant: that has it as a guest. */
  host: WorkerEntry | undefined
  /**
   * How many tasks it may send before it is told again; undefined: it was never refused one, and
   * sends what it has.
   */
  allowance: number | undefined
  /** It has left, or was given up: nothing is sent to it any more. */
  hasLeft: boolean
  /** Unfinished tasks. Invariant: each names this client. */
  readonly tasks: SpreadSet<TaskEntry>
  /** Graphs that have not ended, or of which parts may still come. */
  readonly graphs: Map<TaskId, GraphEntry>
  /** Invariant: each has this client among its users. */
  readonly objects: Set<ObjectEntry>
}

/** A worker, from its first heartbeat until it leaves, loses its connection or falls silent. */
export interface WorkerEntry extends HeapItem {
  readonly identity: Identity
  readonly runtime: Runtime
  /** Order of registration: the last tie-break. */
  readonly sequence: number
  /** Follows when anything came from it. */
  readonly silence: Silence
  lastHeartbeat: InstantMs
  /** The last one, without its bytes and what it tells once. */
  heartbeat: WorkerHeartbeat
  /** What it has told of itself. */
  info: PeerInfo | undefined
  /** It gets nothing new, and keeps what it has. Never false again. */
  isLeaving: boolean
  /** In order of assignment. Invariant: each is running or canceling and names this worker. */
  readonly assigned: Fifo<TaskEntry>
  /** When it last got a task to run, or one of its tasks went on. */
  filledAt: InstantMs
  /** When that, or the opposite, was last so: what it runs has not ended since. */
  movedAt: InstantMs
  /** How many of its tasks it was asked to give back, and has not answered for. */
  recalledCount: number
  /** How many of them only wait for tasks of their own: they count for nothing. */
  waitingCount: number
  /** How long the others are expected to take together, in seconds. */
  load: number
  /** Objects it has asked for and may have kept. Invariant: each has this worker as a holder. */
  readonly held: Set<ObjectEntry>
  /**
   * How many answers to TaskCancels are still to come for ids that somebody has used again since:
   * they, and all before them, are not about the new tasks.
   */
  owed: Map<TaskId, number> | undefined
  /** The same for earlier attempts of tasks: these answers can only be that it has none. */
  late: Map<TaskId, number> | undefined
  /** What it offers to tasks that ask for it; undefined: nothing. */
  readonly offer: Offer | undefined
  /** Clients that live inside of its tasks. Invariant: each has this worker as its host. */
  readonly guests: Set<ClientEntry>
}

/** What a worker offers to tasks that ask for it. */
export interface Offer {
  /** By name: how many units its agent has, or -1 where there is no number. */
  readonly units: ReadonlyMap<string, number>
  readonly supply: Supply
  /** What tasks take that need this, as far as somebody has asked. */
  readonly takes: WeakMap<Requirement, readonly Take[]>
}

/** The units of one agent, shared by its workers (core/scheduler/worker/placement.ts). */
export interface Supply {
  /** Invariant: each has this supply in its offer. */
  readonly workers: Set<WorkerEntry>
  readonly stocks: Map<string, Stock>
}

/** The units of one capability of one agent. */
export interface Stock {
  total: number
  /** What tasks have. More than the total after some have come back that others were given. */
  used: number
  /** The most that a lane's tasks take of it: where so many are left, none is short of it. */
  largest: number
}

/** What a task takes of a stock while it has a worker. */
export interface Take {
  readonly stock: Stock
  readonly units: number
}

/** An unfinished task. */
export interface TaskEntry {
  readonly id: TaskId
  /** Undefined once the client has left: the task then only waits for its worker's answer. */
  client: ClientEntry | undefined
  readonly runtime: Runtime
  readonly priority: number
  /** What its worker must offer; undefined: nothing. */
  readonly requirement: Requirement | undefined
  /** Its function, if it was stored when the task came. */
  readonly function: ObjectEntry | undefined
  /** The encoded Task, in memory of its own. */
  bytes: Uint8Array
  state: TaskState
  /** When it began to wait, or was given to its worker. */
  changedAt: InstantMs
  /** How long it was expected to take when it was assigned, in seconds. */
  expectedSeconds: number
  /** Invariant: set exactly when the state is running or canceling. */
  worker: WorkerEntry | undefined
  /** Its place among those that wait if it is inactive, else among those of its worker. */
  place: FifoNode<TaskEntry> | undefined
  /** What only some tasks have. `extraOf` makes it. */
  extra: TaskExtra | undefined
  /** Set for a node of a graph: the graph is told how it ends, instead of the client. */
  node: GraphNode | undefined
}

/** What a task may have beside the usual (core/scheduler/task/extra.ts). */
export interface TaskExtra {
  /** Shown by monitors; empty: they show the name of its function. */
  readonly name: string
  /** How often it may still be run again after it has failed. */
  retriesLeft: number
  /** It is given up when so many workers were lost with it. */
  readonly deathLimit: number
  deaths: number
  /** The worker that was lost with it last, and may come back with it. */
  lostWith: Identity | undefined
  /** The attempt that its bytes name. */
  attempt: number
  /** The last workers that had it, the oldest first; undefined: none had. */
  attempts: PastAttempt[] | undefined
  /** The unfinished task inside which it was submitted. Invariant: it has this one as a child. */
  parent: TaskEntry | undefined
  /** What was submitted inside of it. Invariant: each names this task as its parent. */
  children: Set<Child> | undefined
  /** It only waits for tasks of its own. Never without a worker. */
  isWaiting: boolean
  /** It has waited since it was given to its worker: how long it takes says nothing. */
  hasWaited: boolean
  /** Its client was told that it has begun. */
  isBegun: boolean
  /** It has lost its process while others ran there beside it: its children run elsewhere. */
  isFragile: boolean
  /** Its worker was told to cancel it by force. */
  isForced: boolean
  /** How many TaskCancels its worker has not answered. */
  unanswered: number
  /** When it began to wait for the worker that it has, if a monitor wanted to know. */
  queuedAt: InstantMs | undefined
  /** The subscribers were told of it, so they are told how it ends. */
  isPublished: boolean
  /** Whether its worker was asked to give it back, or said that it has begun it. */
  recall: 'no' | 'asked' | 'refused'
  /** When it said that it has begun it. Of meaning only then. */
  refusedAt: InstantMs
}

/** A worker had a task, and the task has not ended there. */
export interface PastAttempt {
  readonly worker: Identity
  readonly outcome: AttemptOutcome
  readonly from: InstantMs
  readonly to: InstantMs
}

/** What can run inside of a task, and ends with it (core/scheduler/task/family.ts). */
export type Child = TaskEntry | ChildGraph

/** A graph, as the task inside which it was submitted sees it. */
export interface ChildGraph {
  /** Written by `adopt` and `leaveParent` alone. */
  parent: TaskEntry | undefined
  /**
   * Cancels all that is unfinished of the graph by force and tells its client. Does nothing when
   * the graph has ended.
   */
  cancel(): void
}

/** A node of a graph that has become a task. */
export interface GraphNode {
  readonly graph: GraphEntry
  /** Its place in the graph: those with smaller ones go first. */
  readonly index: number
  /** The largest object that it needs, if any: best to run it where that is. */
  readonly input: ObjectEntry | undefined
}

/** A graph (core/scheduler/graph/graph.ts), as those see it who know its tasks or its client. */
export interface GraphEntry extends ChildGraph {
  /** A part arrives: the next, or one that had come before. */
  add(message: GraphTask): void
  /** Its client gives it up: no part will follow. */
  cancelByClient(): void
  /** The nodes that a node waits for, the first few; undefined: it has no such node. */
  needsOf(id: TaskId): readonly TaskId[] | undefined
  /** Its client does not want a target any more. False: there is no such target. */
  cancelTarget(id: TaskId): boolean
  /** The task of a node was given to a worker. */
  onTaken(task: TaskEntry): void
  /** The task of a node has ended, and is in no table any more. */
  onEnded(task: TaskEntry, result: TaskResult): void
  /** Its client has lost its connection, and may come back. */
  onLinkLost(): void
  /** Its client has left: nobody is told anything any more. Its tasks are the caller's. */
  forget(): void
}

/** Whoever needs stored objects: a client, or a graph for its nodes. */
export interface ObjectUser {
  /** Invariant: each has this one among its users. */
  readonly objects: Set<ObjectEntry>
}

/** An object without users, and until when it stays. */
export interface RetainedObject {
  readonly entry: ObjectEntry
  readonly until: InstantMs
}

/** What is counted of the functions of one name. */
export interface FunctionCounts {
  readonly name: string
  /** Tasks that have ended. */
  ended: number
  /** Those that have failed. */
  failed: number
  /** Those of which it is known how long they took. */
  measured: number
  totalMs: number
  longestMs: number
}

/** A stored object. It lives as long as it has users, and some time longer if it is retained. */
export interface ObjectEntry {
  readonly id: ObjectId
  type: ObjectContentType
  name: Uint8Array
  chunks: readonly Uint8Array[]
  /** Of a function that a task has had: what is counted under its name. */
  counts: FunctionCounts | undefined
  /** Of a function: moving average of its tasks' durations in seconds, once one has ended. */
  averageSeconds: number | undefined
  readonly users: Set<ObjectUser>
  /** Workers to tell when it goes. */
  readonly holders: Set<WorkerEntry>
  /** Its place among those that stay for a while. Invariant: undefined while it has users. */
  retained: FifoNode<RetainedObject> | undefined
}

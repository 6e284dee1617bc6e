// The rows of the scheduler's tables: how they refer to each other, and the invariants that the
// modules that change them maintain.

import type { Fifo, FifoNode } from '../../base/collection/fifo.js'
import type { HeapItem } from '../../base/collection/indexed-heap.js'
import type { Identity, ObjectId, TaskId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type {
  AttemptOutcome,
  ObjectContentType,
  ObjectLoss,
  PeerInfo,
  Task,
  TaskResult,
  WorkerHeartbeat,
} from '../../wire/message.js'
import type { FunctionTally } from '../function-tally.js'
import type { Graph } from './graph/graph.js'
import type { Stay } from './object/room.js'
import type { Requirement } from './worker/capabilities.js'
import type { WorkerSilence } from './worker/silence.js'
import type { Links } from './task/links.js'
import type { TaskState } from './task/state.js'

/** The language of a peer's functions. A task needs a worker of its client's runtime. */
export type Runtime = 'javascript' | 'python'

/** A client, from its first heartbeat (or task) until it leaves or falls silent. */
export interface ClientEntry {
  readonly identity: Identity
  readonly runtime: Runtime
  /** As given in its heartbeats; '' before the first one. */
  runtimeText: string
  /** What it reported about itself. */
  info: PeerInfo | undefined
  features: number
  lastSeen: InstantMs
  /** It only checks the scheduler's health, perhaps often: logged at level debug. */
  readonly isVisitor: boolean
  /** False from the loss of its connection until its next heartbeat. */
  isConnected: boolean
  /** The worker in whose tasks it was created. Invariant: one of that worker's `nestedClients`. */
  host: WorkerEntry | undefined
  /**
   * How many tasks it may send before the next grant; undefined: none of its tasks was ever
   * refused, and it sends without limit.
   */
  allowance: number | undefined
  /** It has left or was given up: nothing is sent to it anymore. */
  hasLeft: boolean
  /** How many unfinished tasks name this client. */
  taskCount: number
  /** Graphs that are unfinished, or of which more parts may arrive. */
  readonly graphs: Map<TaskId, Graph>
  /** What it has not confirmed to know; undefined: nothing. */
  losses: Losses | undefined
  /** Invariant: each has this client among its users. */
  readonly objects: Set<ObjectEntry>
  objectBytes: number
}

/** What is lost to a client that may not know it yet (object/losses.ts). */
export interface Losses {
  /** Messages that were sent to it, or will be when it has connected again; the oldest first. */
  readonly messages: ObjectLoss[]
  /** How many of them name each object. Invariant: above 0. */
  readonly objects: Map<ObjectId, number>
  /** The same for graphs, which were dropped. */
  readonly graphs: Map<TaskId, number>
}

/** A worker, from its first heartbeat until it leaves, disconnects or falls silent. */
export interface WorkerEntry extends HeapItem {
  readonly identity: Identity
  readonly runtime: Runtime
  /** Order of registration: the final tie-breaker. */
  readonly sequence: number
  /** Tracks when messages arrive from it. */
  readonly silence: WorkerSilence
  lastHeartbeat: InstantMs
  /** The last heartbeat, without its bytes and the fields that are sent only once. */
  readonly heartbeat: WorkerHeartbeat
  /** What it reported about itself. */
  info: PeerInfo | undefined
  /** When its time limit ends; Infinity: it has none. */
  endsAt: InstantMs
  /** Whether a task was not assigned to it because it would take longer than that. Never reset. */
  isLate: boolean
  /** It receives no new tasks but keeps those that it has. Never reset. */
  isLeaving: boolean
  /** In order of assignment. Invariant: each is running or canceling and names this worker. */
  readonly assigned: Fifo<TaskEntry>
  /** When it last received a task to run, or one of its waiting tasks resumed. */
  filledAt: InstantMs
  /** When its load last changed in either direction: none of its tasks has finished since. */
  movedAt: InstantMs
  /** How many of its tasks it was asked to give back without having answered yet. */
  recalledCount: number
  /** How many tasks the assigned entries are. */
  taskCount: number
  /** How many of its tasks only wait for their own child tasks: they take no capacity. */
  waitingCount: number
  /** Expected total duration of its other tasks, in seconds. */
  load: number
  /** How much of that it may hold for each of its slots, if none of these is free (load.ts). */
  windowSeconds: number
  /** How many tasks it runs at a time. */
  readonly slots: number
  /** Tasks of a priority above 0 ignore the window, which their parents may fill (pool.ts). */
  readonly nestedPass: boolean
  /**
   * Objects that it requested and may cache; undefined until the first one. Invariant: each has
   * this worker as a holder.
   */
  held: Set<ObjectEntry> | undefined
  /**
   * How many answers to TaskCancels are outstanding for ids that have been reused since. Those
   * answers, and all before them, do not refer to the new tasks.
   */
  owed: Map<TaskId, number> | undefined
  /** The same for earlier attempts of tasks: these answers can only be `notFound`. */
  late: Map<TaskId, number> | undefined
  /** The links that it has, which are no tasks here: each is behind one of its tasks. */
  links: Map<TaskId, Links> | undefined
  /** Links that it has dropped with the task before them: it has yet to return them. */
  lostLinks: Set<TaskId> | undefined
  /** The capabilities that it offers; undefined: none. */
  readonly offer: Offer | undefined
  /**
   * Clients created inside its tasks; undefined until the first one. Invariant: each has this
   * worker as its host.
   */
  nestedClients: Set<ClientEntry> | undefined
}

/** The capabilities that a worker offers. */
export interface Offer {
  /** Units of its agent by capability name; -1 for capabilities that are not counted. */
  readonly units: ReadonlyMap<string, number>
  readonly supply: Supply
  /** What tasks with a requirement take, computed on first use. */
  readonly takes: WeakMap<Requirement, readonly Take[]>
  /** The last one of them: the next task usually requires the same. */
  last: { readonly requirement: Requirement; readonly takes: readonly Take[] } | undefined
}

/** The units of one agent, shared by its workers (core/scheduler/worker/capabilities.ts). */
export interface Supply {
  /** Invariant: each has this supply in its offer. */
  readonly workers: Set<WorkerEntry>
  readonly stocks: Map<string, Stock>
}

/** The units of one capability of one agent. */
export interface Stock {
  total: number
  /** Units in use. May exceed the total after workers return with units granted to others. */
  used: number
  /** The most units that a task of any lane takes: if this many are free, no lane lacks it. */
  largest: number
}

/** What a task takes of a stock while it has a worker. */
export interface Take {
  readonly stock: Stock
  readonly units: number
}

/** A part of a run: entries of one run share its Task (core/scheduler/task/run.ts). */
export interface RunPart {
  /** The Task of the whole run, in its own memory. */
  readonly task: Task
  /** The position in it of the first task of the entry. */
  readonly from: number
}

/** An unfinished task, or consecutive ones to which the same has happened. */
export interface TaskEntry {
  /** The id of the first task. */
  readonly id: TaskId
  /** How many tasks it is: more than one only for a part of a run. */
  count: number
  /** Undefined for a task that arrived alone. */
  readonly part: RunPart | undefined
  /** Undefined once the client has left and the task only waits for its worker's answer. */
  client: ClientEntry | undefined
  readonly runtime: Runtime
  readonly priority: number
  /** The capabilities that its worker must offer; undefined: none. */
  readonly requirement: Requirement | undefined
  /** Its function, if that was stored when the task arrived. */
  readonly function: ObjectEntry | undefined
  /**
   * The encoded Task, as latin1: a byte array would need a buffer of its own, over 100 bytes more.
   * '' for a part of a run.
   */
  encoded: string
  state: TaskState
  /** When it was queued, or assigned to its worker. */
  changedAt: InstantMs
  /** Expected duration of all its tasks at the time of assignment, in seconds. */
  expectedSeconds: number
  /** Invariant: set exactly when the state is running or canceling. */
  worker: WorkerEntry | undefined
  /** Its place in the queue if it is inactive, otherwise among the tasks of its worker. */
  place: FifoNode<TaskEntry> | undefined
  /** Fields that few tasks need. Created by `extraOf`. */
  extra: TaskExtra | undefined
  /** Set for a node of a graph: its result goes to the graph instead of the client. */
  node: GraphNode | undefined
}

/** Fields that few tasks need (core/scheduler/task/extra.ts). */
export interface TaskExtra {
  /** Shown by monitors; if empty, they show the name of its function. */
  readonly name: string
  /** How many times it may still be retried after a failure. */
  retriesLeft: number
  /** The number of workers lost with it at which it is given up. */
  readonly deathLimit: number
  deaths: number
  /** The last worker that was lost with it, and that may return with it. */
  lostWith: Identity | undefined
  /** The agent process of the last worker that was lost with it, and when that was. */
  lostAgent: string
  lostAt: InstantMs
  /** Its largest input, if that is large; undefined for nodes of graphs, which have their own. */
  input: ObjectEntry | undefined
  /** The attempt number in its bytes. */
  attempt: number
  /** A later one, which a worker had that returned too late to continue; otherwise 0. */
  lastAttempt: number
  /** The last workers that had it, oldest first; undefined: none. */
  attempts: PastAttempt[] | undefined
  /** The unfinished task that submitted it. Invariant: this task is one of its children. */
  parent: TaskEntry | undefined
  /** Tasks and graphs that it submitted. Invariant: each names this task as its parent. */
  children: Set<Child> | undefined
  /** It only waits for its own child tasks. Never true without a worker. */
  isWaiting: boolean
  /** It has waited since it was assigned, so its duration is not representative. */
  hasWaited: boolean
  /** Its client was notified that it has begun. */
  isBegun: boolean
  /** It lost its process while other tasks ran there: its children run on other workers. */
  isFragile: boolean
  /** Its worker was asked to cancel it by force. */
  isForced: boolean
  /** An operator has cancelled it, which is reported to its client. */
  isOrdered: boolean
  /** How many TaskCancels its worker has not answered. */
  unanswered: number
  /** When it was queued before its current assignment, if a monitor receives events. */
  queuedAt: InstantMs | undefined
  /** Subscribers received an event about it, so they also receive how it ends. */
  isPublished: boolean
  /** Whether its worker was asked to give it back, or answered that it has begun. */
  recall: 'no' | 'asked' | 'refused'
  /** When the worker refused. Meaningful only if `recall` is `refused`. */
  refusedAt: InstantMs
}

/** An attempt of a task that did not finish it. */
export interface PastAttempt {
  readonly worker: Identity
  readonly outcome: AttemptOutcome
  readonly from: InstantMs
  readonly to: InstantMs
}

/** A task or graph that was submitted by a task, and ends with it (task/family.ts). */
export type Child = TaskEntry | Graph

/** The link from a task to the graph node that it runs. */
export interface GraphNode {
  readonly graph: Graph
  /** Its position in the graph. Of several: that of the first. */
  readonly index: number
  /** Nodes of lower rank run first: usually the position. */
  readonly rank: number
  /** The largest object that it needs, if any: it preferably runs where that is cached. */
  readonly input: ObjectEntry | undefined
  /** What its worker got behind it. Meaningful only while it has that worker. */
  links: Links | undefined
}

/**
 * What happened to the task of a node, or to the parent of a graph. Tasks do not call graphs: they
 * record facts, which `settleGraphs` applies after the event, in order.
 */
export type GraphFact =
  /** The task was assigned to a worker. */
  | { readonly type: 'taskAssigned'; readonly graph: Graph; readonly task: TaskEntry }
  /** The task has ended and left all tables. */
  | {
      readonly type: 'taskEnded'
      readonly graph: Graph
      readonly task: TaskEntry
      readonly result: TaskResult
    }
  /** The task that submitted the graph did not succeed. */
  | { readonly type: 'parentFailed'; readonly graph: Graph }

/** A user of stored objects: a client, or a graph for its nodes. */
export interface ObjectUser {
  /** The client that it is or belongs to. */
  readonly identity: Identity
  /** Invariant: each has this one among its users. */
  readonly objects: Set<ObjectEntry>
  /** The total size of these, kept by the object table. */
  objectBytes: number
}

/** An object without users, and until when it is kept. */
export interface RetainedObject {
  readonly entry: ObjectEntry
  readonly until: InstantMs
}

/** Counters for all functions of one name. */
export interface FunctionCounts extends FunctionTally {
  /** What was counted before metrics listed it on its own; undefined: they do not. */
  before: FunctionTotals | undefined
}

/** Totals of a function, none of which ever decreases. */
export interface FunctionTotals {
  /** Tasks that finished. */
  readonly ended: number
  /** Tasks that failed. */
  readonly failed: number
  /** Tasks that were measured, and their durations in milliseconds. */
  readonly measured: number
  readonly totalMs: number
}

/** A stored object. It is kept while it has users, and for some time after if retained. */
export interface ObjectEntry {
  readonly id: ObjectId
  type: ObjectContentType
  name: Uint8Array
  chunks: readonly Uint8Array[]
  /** The size of its content, which may be in a file. */
  bytes: number
  readonly createdAt: InstantMs
  /** The counters of its name, once a task has used it as its function. */
  counts: FunctionCounts | undefined
  /** For functions: moving average of task durations in seconds, once a task has finished. */
  averageSeconds: number | undefined
  /** Of a function: how long its results are that are objects, in bytes; 0: none was long. */
  resultBytes: number
  /** How many tasks were measured for it; not counted any more once there are thousands. */
  measuredTasks: number
  readonly users: Set<ObjectUser>
  /** Workers to notify when it is deleted. */
  readonly holders: Set<WorkerEntry>
  /** Where its content is; undefined: in memory, where it stays. */
  stay: Stay | undefined
  /** By which clients find it; undefined: none. Invariant: each stands for it in the table. */
  names: Set<string> | undefined
  /** Its place among the retained objects. Invariant: undefined while it has users. */
  retained: FifoNode<RetainedObject> | undefined
}

// What a worker's core is given when it is made: settings, and the few functions of the outside
// that are pure or come from the outside's luck.

import type { Identity, ObjectId } from '../../base/ids.js'
import type { PeerInfo } from '../../wire/message.js'
import type { HostUnits } from './host-units.js'

/** Settings of one worker. Times are in milliseconds, sizes in bytes. */
export interface WorkerCoreOptions {
  readonly identity: Identity
  /** What runs the tasks, for example `node/20.20.2`. */
  readonly runtime: string
  /** Whether each step of each task is logged. Default: false. */
  readonly tellsTasks?: boolean
  readonly heartbeatIntervalMs: number
  /** The worker ends after this silence of the scheduler. */
  readonly deathTimeoutMs: number
  /**
   * A worker that is told to leave has this time to end what runs; with 0 it leaves at once. Not
   * longer than a timer can wait.
   */
  readonly drainMs: number
  /** No task may run for longer. Default: 0, any may run for ever. */
  readonly taskTimeoutMs?: number
  /** Default: it offers nothing. */
  readonly units?: HostUnits
  /** The same for all workers of the agent. Default: its units are its own. */
  readonly agentId?: string
  /** What the scheduler is told of this worker. Default: nothing. */
  readonly info?: PeerInfo
  /** Whether the scheduler is told errors as text, too, for its monitors. Default: true. */
  readonly tellsErrors?: boolean
  /** Longer results become objects. */
  readonly inlineLimitBytes: number
  /** A task that listens to its abort signal may go on for so long before force is used. */
  readonly cancelGraceMs: number
  /** Objects of more are forgotten that no task needs, those first that were not used for long. */
  readonly objectCacheBytes: number
  /** So often an idle processor that has worked collects garbage. Default: 0, never. */
  readonly garbageCollectIntervalMs?: number
  /**
   * An idle processor that has worked and holds more memory than this gives back what it can.
   * Default: 0, never.
   */
  readonly trimMemoryThresholdBytes?: number
  /** The id of the serializer object of a client. */
  serializerIdOf(source: Identity): ObjectId
  /** A fresh id for a result object of a client. */
  newResultId(source: Identity): ObjectId
  /** An error as the bytes that clients read. */
  encodeError(error: Error): Uint8Array
}

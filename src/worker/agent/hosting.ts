// What runs the tasks of a worker: processors of Node, or something that takes their place. Its
// machine is made here, because this is what machines differ in.

import type { Identity } from '../../base/ids.js'
import { type Logger, logsTasks } from '../../base/logger.js'
import type { Gateway } from '../../core/worker/events.js'
import type { HostUnits } from '../../core/worker/queue/units.js'
import { WorkerMachine } from '../../core/worker/worker-machine.js'
import { ownErrorToBytes } from '../../serializer/own-error.js'
import type { PeerInfo } from '../../wire/message.js'
import { newResultId, serializerIdOf } from '../object-ids.js'
import type { CheckedAgentOptions } from './options.js'
import type { ProcessorHost } from './processor-host.js'

/** What takes the place of processors. */
export interface TaskHosting {
  /** As `WorkerHeartbeat.runtime`; '' = Python. */
  readonly runtime: string
  readonly gateway: Gateway
  /** Results up to this size travel inside the result message. Default: that of the agent. */
  readonly inlineLimitBytes?: number
  /** Encodes an error in the form that clients read. */
  encodeError(error: Error): Uint8Array
  /** Starts what takes the place of the next processor. */
  newProcessor(): ProcessorHost
}

/** What the machine of a worker needs. */
interface MachineOptions {
  readonly identity: Identity
  readonly info: PeerInfo
  readonly settings: CheckedAgentOptions
  readonly logger: Logger
  readonly agentId: string
  readonly units: HostUnits
  readonly hosting: TaskHosting | undefined
}

/** The machine of a worker. */
export function newMachine(options: MachineOptions): WorkerMachine {
  const { identity, info, settings, logger, agentId, units, hosting } = options
  return new WorkerMachine({
    identity,
    info,
    agentId,
    units,
    logsTasks: logsTasks(logger),
    ...(hosting === undefined ? {} : { gateway: hosting.gateway }),
    runtime: hosting?.runtime ?? `node/${process.versions.node}`,
    heartbeatIntervalMs: settings.heartbeatIntervalMs,
    deathTimeoutMs: settings.deathTimeoutMs,
    drainMs: settings.drainMs,
    reportsErrors: settings.errorTexts,
    inlineLimitBytes: hosting?.inlineLimitBytes ?? settings.inlineLimitBytes,
    cancelGraceMs: settings.cancelGraceMs,
    objectCacheBytes: settings.objectCacheBytes,
    taskTimeoutMs: settings.taskTimeoutMs,
    garbageCollectIntervalMs: settings.garbageCollectIntervalMs,
    trimMemoryThresholdBytes: settings.trimMemoryThresholdBytes,
    serializerIdOf,
    newResultId,
    encodeError: (error) => hosting?.encodeError(error) ?? encodeOwnError(error),
  })
}

/** Serializes an error of the agent, without its stack, which does not help users. */
export function encodeOwnError(error: Error): Uint8Array {
  error.stack = String(error)
  return ownErrorToBytes(error)
}

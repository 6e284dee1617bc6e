// The settings of a worker's machine, as they follow from the options of its agent.

import { logsTasks } from '../../base/logger.js'
import { WorkerMachine } from '../../core/worker/worker-machine.js'
import { ownErrorToBytes } from '../../serializer/own-error.js'
import { newResultId, serializerIdOf } from '../object-ids.js'
import type { AgentWorkerOptions } from './worker.js'

/** The machine of a worker. */
export function newMachine(options: AgentWorkerOptions): WorkerMachine {
  const { identity, info, settings, logger, agentId, units } = options
  return new WorkerMachine({
    identity,
    info,
    agentId,
    units,
    logsTasks: logsTasks(logger),
    runtime: `node/${process.versions.node}`,
    heartbeatIntervalMs: settings.heartbeatIntervalMs,
    deathTimeoutMs: settings.deathTimeoutMs,
    drainMs: settings.drainMs,
    reportsErrors: settings.errorTexts,
    inlineLimitBytes: settings.inlineLimitBytes,
    cancelGraceMs: settings.cancelGraceMs,
    objectCacheBytes: settings.objectCacheBytes,
    taskTimeoutMs: settings.taskTimeoutMs,
    garbageCollectIntervalMs: settings.garbageCollectIntervalMs,
    trimMemoryThresholdBytes: settings.trimMemoryThresholdBytes,
    serializerIdOf,
    newResultId,
    encodeError: encodeOwnError,
  })
}

/** Serializes an error of the agent, without its stack, which does not help users. */
function encodeOwnError(error: Error): Uint8Array {
  error.stack = String(error)
  return ownErrorToBytes(error)
}

// The heartbeat of a worker, without what its shell measures.

import { OUR_FEATURES } from '../../base/features.js'
import { PLAIN_HEARTBEAT, type RunningTask, type WorkerHeartbeat } from '../../wire/message.js'
import type { WorkerCoreOptions } from './events.js'

const NO_RESOURCE = { cpu: 0, rss: 0 }

/** What changes from one heartbeat to the next. */
interface HeartbeatFacts {
  /** The first heartbeat of this connection contains more. */
  readonly isFirst: boolean
  readonly queuedCount: number
  /** Whether its processor has a task that is not waiting for others. */
  readonly isBusy: boolean
  /** That of its processor; 0 = none. */
  readonly pid: number
  readonly latencyUs: number
  /** The tasks that the scheduler can recover from it, for the first heartbeat. */
  readonly recoverable: Pick<WorkerHeartbeat, 'tasks' | 'pasts'>
  readonly runs: readonly RunningTask[]
  readonly isDraining: boolean
}

/** The next heartbeat. */
export function ownHeartbeat(options: WorkerCoreOptions, facts: HeartbeatFacts): WorkerHeartbeat {
  const { info, gateway, runtime, units, agentId } = options
  const { isFirst, pid, isBusy } = facts
  const resource = NO_RESOURCE
  return {
    kind: 'workerHeartbeat',
    agent: NO_RESOURCE,
    rssFree: 0,
    queuedTasks: facts.queuedCount,
    latencyUS: facts.latencyUs,
    // As 1.9.9 workers almost always report, and monitors show.
    taskLock: true,
    processors:
      pid === 0 ? [] : [{ pid, initialized: true, hasTask: isBusy, suspended: false, resource }],
    features: gateway?.features ?? OUR_FEATURES,
    runtime,
    ...PLAIN_HEARTBEAT,
    concurrency: gateway?.concurrency.limit ?? 0,
    capabilities: units?.capabilities ?? PLAIN_HEARTBEAT.capabilities,
    agentId: agentId ?? PLAIN_HEARTBEAT.agentId,
    tasks: facts.recoverable.tasks,
    pasts: facts.recoverable.pasts,
    info: isFirst && info !== undefined ? [info] : PLAIN_HEARTBEAT.info,
    running: facts.runs,
    isLeaving: facts.isDraining,
  }
}

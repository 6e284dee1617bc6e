// Workers of Python Scaler 1.9.9 for monitors and operators: what they run, which they do not tell,
// and what to do instead of what they do not support. docs/protocol.md#state

import { FEATURE_INLINE, hasFeature } from '../../../base/features.js'
import type { OperatorRequest } from '../../../wire/message.js'
import type { TaskEntry, WorkerEntry } from '../entries.js'

/** Whether a worker is one of Python Scaler. */
export function isPythonScaler({ heartbeat }: WorkerEntry): boolean {
  return !hasFeature(heartbeat.features, FEATURE_INLINE)
}

/**
 * What such a worker runs. It tells only how many of its processors are busy, and how many tasks
 * have not begun; of those that it has, it runs the most urgent first, the oldest of these.
 */
export function presumedRunning({ assigned, heartbeat, lastHeartbeat }: WorkerEntry): TaskEntry[] {
  const { processors, queuedTasks } = heartbeat
  const active = processors.filter(({ hasTask, suspended }) => hasTask && !suspended).length
  if (active === 0) return []
  const suspended = processors.filter((processor) => processor.suspended).length
  const held = [...assigned].filter(({ changedAt }) => changedAt <= lastHeartbeat)
  // A processor may be busy with a task that is no longer assigned, as its client has cancelled it.
  const begun = Math.max(0, held.length - queuedTasks - suspended)
  const running = Math.min(active, begun)
  return running === 0 ? [] : held.sort((a, b) => b.priority - a.priority).slice(0, running)
}

/** One line: that such a worker does not do what an operator wants, and what to do instead. */
export function insteadOf(
  action: OperatorRequest['action'],
  { identity, heartbeat }: WorkerEntry,
): string {
  const agent = /^(\d+)\|/.exec(identity)?.[1]
  const busy = heartbeat.processors.find(({ hasTask, suspended }) => hasTask && !suspended)
  switch (action) {
    case 'drain':
      return (
        'a worker of Python Scaler cannot be drained: to end it, send SIGINT to its process ' +
        `${agent === undefined ? '' : `${agent} `}on its host, or SIGTERM to its scaler_cluster ` +
        'to end all of its workers; what they run starts over on others'
      )
    case 'stack':
      return (
        'a worker of Python Scaler does not report its stack: on its host, ' +
        `py-spy dump --pid ${busy?.pid ?? 'PID'} shows it`
      )
    case 'logs':
      return (
        'a worker of Python Scaler keeps no lines: see the output of its scaler_cluster, ' +
        'or the files of its --logging-paths'
      )
    default:
      return 'a worker of Python Scaler does not support this'
  }
}

// What the report about one worker says in users' words: the same for monitors and for the
// diagnosis, which is loaded only on demand.

import type { WorkerReport } from '../../wire/message.js'
import type { WorkerState } from './cluster-info.js'

/**
 * The name in the identity of a worker of Python Scaler, `<pid>|<name>|<32 hex digits>`: by default
 * that of its host, which it does not report. '' if there is none.
 */
export function pythonNameIn(worker: string): string {
  return /^\d+\|(.*)\|[0-9a-f]{32}$/s.exec(worker)?.[1] ?? ''
}

/** What a worker does, as the scheduler sees it. */
export function workerStateOf({ worker, isLeaving }: WorkerReport): WorkerState {
  if (isLeaving) return 'leaving'
  if (!worker.itl.startsWith('1')) return 'starting'
  return worker.sent === 0 ? 'idle' : 'busy'
}

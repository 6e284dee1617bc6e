// The state of everything, as a monitor of ours is told it once a second. Of many workers and
// clients a message has some, and the next one has the next. docs/protocol.md#monitors

import type { EndedCount, MonitorState, Resource } from '../../wire/message.js'
import type { FirstRows } from './monitors.js'
import { clientRows, MAX_ROWS, workerRows } from './report.js'
import type { SchedulerState } from './state.js'
import { waitingCounts } from './waiting-counts.js'

const MAX_FUNCTIONS = 200

/** What the scheduler's own process uses. */
interface OwnUse {
  readonly scheduler: Resource
  readonly rssFree: number
}

/** Costs at most some milliseconds, however much there is. */
export function stateFor(
  state: SchedulerState,
  { scheduler, rssFree }: OwnUse,
  first: FirstRows,
): MonitorState {
  const { workers, objects, graphWork } = state
  const clients = [...state.clients.values()].filter(({ isVisitor }) => !isVisitor)
  const firstWorker = first.firstWorker < workers.size ? first.firstWorker : 0
  const firstClient = first.firstClient < clients.length ? first.firstClient : 0
  let running = 0
  for (const { assigned } of workers.values()) running += assigned.size
  return {
    scheduler,
    rssFree,
    waiting: state.waitingCount + graphWork.ready,
    running,
    ended: [...state.ended].map(([status, tasks]): EndedCount => ({ status, tasks })),
    workers: workers.size,
    firstWorker,
    workerReports: workerRows(
      state,
      [...workers.values()].slice(firstWorker, firstWorker + MAX_ROWS),
    ),
    clients: clients.length,
    firstClient,
    clientReports: clientRows(clients.slice(firstClient, firstClient + MAX_ROWS)),
    functions: state.functions.reports(MAX_FUNCTIONS),
    waitingCounts: waitingCounts(state),
    objects: objects.size,
    objectBytes: objects.bytes,
  }
}

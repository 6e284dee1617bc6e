// Why tasks wait, by reason, requirement and function: for monitors and reports. Counted where they
// wait (task-queue.ts); here it is only put together. docs/protocol.md#waiting

import type { InstantMs } from '../../base/machine.js'
import type { WaitingCount } from '../../wire/message.js'
import { waitReasonOf } from '../../wire/wait-reason.js'
import type { Runtime } from './entries.js'
import type { SchedulerState } from './state.js'
import type { TaskQueue, WaitingGroup } from './task-queue.js'
import { needsOf, reasonFor } from './waiting.js'

/** Of so many clients with different functions, and graphs, what waits is put together. */
const MAX_LOOKS = 10_000

const MAX_ROWS = 200

/** 32 bits. */
const MAX_MS = 2 ** 32 - 1
const MAX_TASKS = 2 ** 32 - 1

/** Where some tasks wait. */
interface Place extends Pick<WaitingCount, 'reason' | 'needs'> {
  readonly queue: TaskQueue
}

interface Row extends Place {
  readonly name: string
  tasks: number
  since: InstantMs
}

/** Those first that are the most. */
export function waitingCounts(state: SchedulerState): readonly WaitingCount[] {
  const rows = new Map<string, Row>()
  let looks = MAX_LOOKS
  const add = (place: Place, { counts, tasks, since }: WaitingGroup): void => {
    const name = counts?.name ?? ''
    const key = `${place.reason} ${name} ${place.needs}`
    const row = rows.get(key)
    if (row === undefined) rows.set(key, { ...place, name, tasks, since })
    else {
      row.tasks += tasks
      row.since = Math.min(row.since, since)
    }
  }
  for (const place of placesOf(state)) {
    if (looks < 0) break
    for (const group of place.queue.groups()) {
      if ((looks -= 1) < 0) break
      add(place, group)
    }
  }
  for (const graph of state.graphWork.graphs) {
    if ((looks -= 1) < 0) break
    const { plain: queue } = state.pools[graph.runtime].queue
    const nodes = { counts: undefined, since: state.now }
    const reason = waitReasonOf(reasonFor(state, graph.runtime))
    if (graph.readyCount > 0) {
      add({ reason, needs: '', queue }, { ...nodes, tasks: graph.readyCount })
    }
    if (graph.blockedCount > 0) {
      add({ reason: 'dependency', needs: '', queue }, { ...nodes, tasks: graph.blockedCount })
    }
  }
  const most = [...rows.values()].toSorted((a, b) => b.tasks - a.tasks).slice(0, MAX_ROWS)
  return most.map(({ reason, needs, name, tasks, since }) => ({
    reason,
    needs,
    function: name,
    tasks: Math.min(tasks, MAX_TASKS),
    forMS: Math.min(Math.floor(state.now - since), MAX_MS),
  }))
}

function* placesOf(state: SchedulerState): Iterable<Place> {
  for (const runtime of ['javascript', 'python'] satisfies Runtime[]) {
    const { queue, held } = state.pools[runtime]
    const reason = waitReasonOf(reasonFor(state, runtime))
    yield { reason, needs: '', queue: queue.plain }
    yield { reason, needs: '', queue: held }
    const lacking = new Set(state.waiting.lackingLanes(state, runtime))
    for (const lane of queue.all) {
      const isLacking = reason === 'allBusy' && lacking.has(lane)
      const needs = isLacking ? needsOf(lane) : lane.requirement.key
      yield { reason: isLacking ? 'noCapability' : reason, needs, queue: lane.queue }
    }
  }
}

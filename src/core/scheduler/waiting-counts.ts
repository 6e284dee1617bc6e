// Why tasks wait, by reason, requirement and function: for monitors and reports. Counted where they
// wait (task-queue.ts); here it is only put together. docs/protocol.md#waiting

import type { InstantMs } from '../../base/machine.js'
import type { WaitingCount } from '../../wire/message.js'
import { waitReasonOf } from '../../wire/wait-reason.js'
import type { Runtime } from './entries.js'
import type { NodeKind } from './graph-option.js'
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

interface Row extends Pick<WaitingCount, 'reason' | 'needs'> {
  readonly name: string
  tasks: number
  since: InstantMs
}

/** Those first that are the most. */
export function waitingCounts(state: SchedulerState): readonly WaitingCount[] {
  const rows = new Map<string, Row>()
  let looks = MAX_LOOKS
  const add = (
    place: Pick<WaitingCount, 'reason' | 'needs'>,
    { counts, tasks, since }: WaitingGroup,
  ): void => {
    const name = counts?.name ?? ''
    const key = `${place.reason} ${name} ${place.needs}`
    const row = rows.get(key)
    if (row === undefined)
      rows.set(key, { reason: place.reason, needs: place.needs, name, tasks, since })
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
    for (const kind of graph.kinds) {
      if ((looks -= 1) < 0) break
      if (kind.waiting + kind.ready > 0) addNodes(state, graph.runtime, kind, add)
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

/** Nodes of a graph that are no tasks yet. How long they have waited is not known. */
function addNodes(
  state: SchedulerState,
  runtime: Runtime,
  { functionId, options, waiting, ready }: NodeKind,
  add: (place: Pick<WaitingCount, 'reason' | 'needs'>, group: WaitingGroup) => void,
): void {
  const found = state.requirements.of(options.capabilities)
  const requirement = found === 'refused' ? undefined : found
  const counts = state.functions.of(state.objects.get(functionId))
  const nodes = { counts, since: state.now }
  const needs = requirement?.key ?? ''
  if (waiting > 0) add({ reason: 'dependency', needs }, { ...nodes, tasks: waiting })
  if (ready === 0) return
  const why = state.waiting.reasonOf(state, { runtime, requirement })
  add({ reason: why.reason, needs: why.needs || needs }, { ...nodes, tasks: ready })
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

// The limit on waiting tasks. A client with that feature holds back tasks that exceed it, and is
// notified how many it may send once there is room; tasks of other clients are refused.
// docs/protocol.md#room

import { FEATURE_WAITING, hasFeature } from '../../../base/features.js'
import type { ClientEntry } from '../entries.js'
import { leastRoom } from '../monitor/waiting.js'
import type { SchedulerState } from '../state.js'

/** Counts tasks, or a graph, that a client has sent, whether or not it is accepted. */
export function spendRoom(state: SchedulerState, client: ClientEntry, tasks: number = 1): void {
  if (client.allowance === undefined || client.allowance === 0) return
  client.allowance = Math.max(0, client.allowance - tasks)
  if (client.allowance === 0) state.waiting.holdingBack.add(client)
}

/**
 * For how many of `tasks` more tasks of a client there is room. If not for all, a client that holds
 * tasks back will be notified when there is more.
 */
export function roomFor(state: SchedulerState, client: ClientEntry, tasks: number = 1): number {
  const { waiting } = state
  const limit = state.options.maxNumberOfTasksWaiting
  const room = limit < 0 ? tasks : limit - state.pools[client.runtime].overflow
  if (room >= tasks) return tasks
  waiting.noteFull(client.runtime)
  if (holdsBack(client)) {
    client.allowance = 0
    waiting.holdingBack.add(client)
  }
  return Math.max(0, room)
}

/** Whether a client holds back refused tasks. */
export function holdsBack({ features }: ClientEntry): boolean {
  return hasFeature(features, FEATURE_WAITING)
}

/** Grants room to clients that hold tasks back. Called after each event. */
export function giveRoom(state: SchedulerState): void {
  const { holdingBack } = state.waiting
  if (holdingBack.size === 0) return
  for (const runtime of ['javascript', 'python'] as const) {
    const pool = state.pools[runtime]
    const clients = [...holdingBack].filter((client) => client.runtime === runtime)
    const free = state.options.maxNumberOfTasksWaiting - pool.overflow
    if (clients.length === 0 || free < leastRoom(state, pool)) continue
    const share = Math.max(1, Math.floor(free / clients.length))
    for (const client of clients.slice(0, free)) {
      holdingBack.delete(client)
      client.allowance = share
      state.output.send(client.identity, { kind: 'taskRoom', tasks: share })
    }
  }
}

/** Resets the allowance of a client that left or disconnected. */
export function forgetRoom(state: SchedulerState, client: ClientEntry): void {
  state.waiting.holdingBack.delete(client)
  client.allowance = undefined
}

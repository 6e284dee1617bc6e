// What tasks print goes to the clients that have asked for it. docs/protocol.md#output

import { FEATURE_OUTPUT, hasFeature } from '../../base/features.js'
import type { Identity } from '../../base/ids.js'
import type { TaskOutput } from '../../wire/message.js'
import type { SchedulerState } from './state.js'

/**
 * A worker passes on what a task has printed. The task need not be known: the last of it may come
 * when it has ended.
 */
export function onTaskOutput(state: SchedulerState, from: Identity, message: TaskOutput): void {
  if (!state.workers.has(from)) return
  const client = state.clients.get(message.client)
  if (client !== undefined && hasFeature(client.features, FEATURE_OUTPUT)) {
    state.output.passOn(message)
  }
}

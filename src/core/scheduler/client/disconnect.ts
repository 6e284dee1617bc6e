// A client disconnects, or shuts down the whole cluster. docs/protocol.md#disconnect

import type { Identity } from '../../../base/ids.js'
import type { ClientDisconnect } from '../../../wire/message.js'
import { removeClient } from './peer.js'
import type { SchedulerState } from '../state.js'
import { removeWorker } from '../worker/peer.js'

/** A client leaves, or requests the shutdown of the cluster. */
export function onClientDisconnect(
  state: SchedulerState,
  from: Identity,
  message: ClientDisconnect,
): void {
  if (message.disconnectType === 'shutdown') onShutdown(state, from)
  else {
    const client = state.clients.get(from)
    if (client !== undefined) removeClient(state, client, 'disconnected')
  }
}

function onShutdown(state: SchedulerState, from: Identity): void {
  const accepted = !state.options.isProtected
  state.output.log('info', accepted ? 'shutdown' : 'refused a shutdown', { client: from })
  state.output.send(from, { kind: 'clientShutdownResponse', accepted })
  if (!accepted) return
  for (const worker of state.workers.values()) {
    state.output.send(worker.identity, { kind: 'clientDisconnect', disconnectType: 'shutdown' })
    removeWorker(state, worker, 'shut down')
  }
  state.output.stop('a client shut the cluster down')
}

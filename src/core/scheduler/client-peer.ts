// Clients: how they come, stay and go. docs/protocol.md#heartbeat, docs/protocol.md#disconnect

import type { Identity, TaskId } from '../../base/ids.js'
import { idToHex } from '../../base/ids.js'
import { FEATURE_INLINE, hasFeature } from '../../base/features.js'
import type { InstantMs } from '../../base/machine.js'
import type { ClientDisconnect, ClientHeartbeat, GraphTask } from '../../wire/message.js'
import type { ClientEntry } from './entries.js'
import { ourEcho } from './echo.js'
import { runtimeFamily, type SchedulerState } from './state.js'
import { cancelTask, sendStatus } from './task.js'
import { removeWorker } from './worker-peer.js'

/** Registers or refreshes a client, and answers: always, or it falls silent for good. */
export function onClientHeartbeat(
  state: SchedulerState,
  from: Identity,
  message: ClientHeartbeat,
  now: InstantMs,
): void {
  const known = state.clients.get(from)
  // It was taken for another runtime's by what it sent first: begin anew with what it is.
  const isMistaken = known !== undefined && known.runtime !== runtimeFamily(message.runtime)
  if (isMistaken) removeClient(state, known, 'said what it is')
  const client = clientOf(state, from, now, message.runtime)
  client.features = message.features
  state.output.send(from, { kind: 'clientHeartbeatEcho', ...ourEcho(state, message.features) })
}

/** The client of an identity; a new one that shows no runtime is taken for Python's. */
export function clientOf(
  state: SchedulerState,
  identity: Identity,
  now: InstantMs,
  runtime = '',
): ClientEntry {
  const known = state.clients.get(identity)
  if (known !== undefined) {
    known.lastSeen = now
    return known
  }
  const client: ClientEntry = {
    identity,
    runtime: runtimeFamily(runtime),
    features: 0,
    lastSeen: now,
    hasLeft: false,
    tasks: new Set(),
    objects: new Set(),
  }
  state.clients.set(identity, client)
  state.output.log('info', 'client connected', { client: identity, runtime: client.runtime })
  return client
}

/** A client leaves, or wants the whole cluster to end. */
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

/** Cancels what a client has unfinished and frees what it stored. */
export function removeClient(state: SchedulerState, client: ClientEntry, reason: string): void {
  state.output.log('info', `client ${reason}`, {
    client: client.identity,
    unfinishedTasks: client.tasks.size,
  })
  client.hasLeft = true
  state.clients.delete(client.identity)
  for (const task of client.tasks) {
    // A 1.9.9 worker is only asked to drop what it has not started, as its own scheduler does.
    const force = task.worker !== undefined && isOurs(task.worker.heartbeat.features)
    if (task.state !== 'canceling') cancelTask(state, task, force)
    task.client = undefined
  }
  client.tasks.clear()
  state.objects.forgetClient(client)
}

/** Graphs come with a later version. An answer, even this one, is better than none. */
export function onGraphTask(state: SchedulerState, client: ClientEntry, message: GraphTask): void {
  const ids: TaskId[] = [...message.targets, message.taskId]
  const fields = { client: client.identity, graph: idToHex(message.taskId) }
  state.output.log('error', 'refused a graph: this version of the scheduler runs none', fields)
  for (const id of ids) sendStatus(state, client, id, 'noWorker')
}

/** Drops clients that were silent for too long. */
export function dropSilentClients(state: SchedulerState, now: InstantMs): void {
  for (const client of state.clients.values()) {
    const silence = now - client.lastSeen
    if (silence <= state.options.clientTimeoutMs) continue
    removeClient(state, client, 'timed out')
    state.output.disconnect(client.identity, 'silent for too long')
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

function isOurs(features: number): boolean {
  return hasFeature(features, FEATURE_INLINE)
}

// Clients: how they come, stay and go. docs/protocol.md#heartbeat, docs/protocol.md#disconnect

import { FEATURE_INLINE, hasFeature } from '../../../base/features.js'
import type { Identity } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import { SpreadSet } from '../../../base/spread.js'
import type { ClientHeartbeat } from '../../../wire/message.js'
import type { ClientEntry, ObjectUser, WorkerEntry } from '../entries.js'
import { MESSAGE_COST } from '../graph/work.js'
import { keptInfo, reportFor } from '../monitor/report.js'
import { ourEcho } from '../output.js'
import { runtimeFamily, type SchedulerState } from '../state.js'
import { cancelOrphans, cancelTask } from '../task/task.js'
import { forgetRoom, holdsBack } from '../worker/load.js'

// The objects of a client that has left: perhaps a hundred thousand, so they go a slice at a time,
// as the long work of graphs does.

/** Nobody needs the objects of `user` any more, unless somebody else uses them, too. */
function leaveObjects(state: SchedulerState, user: ObjectUser): void {
  state.graphWork.begin({ advance: () => releaseSome(state, user) })
}

/** False: the turn is over before all is done. */
function releaseSome({ objects, graphWork }: SchedulerState, user: ObjectUser): boolean {
  for (const entry of user.objects) {
    if (graphWork.left <= 0) return false
    graphWork.left -= MESSAGE_COST
    objects.release(user, entry)
  }
  return true
}

/** Why a client is forgotten that was silent for too long. */
const TIMED_OUT = 'timed out'

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
  const host = state.workers.get(message.worker)
  if (host !== undefined && !state.clients.has(from)) clearOut(state, host)
  const client = clientOf(state, from, now, message)
  client.features = message.features
  client.runtimeText = message.runtime
  client.info = keptInfo(message.info) ?? client.info
  client.isConnected = true
  state.pools[client.runtime].queue.unpark(client)
  moveIn(client, host)
  const waiting = holdsBack(client) ? state.waiting.of(state, client) : []
  const answer = ourEcho(state, message.features)
  const echo = { kind: 'clientHeartbeatEcho', ...answer, waiting } as const
  const isReport = message.wantsReport && message.features !== 0
  if (isReport) {
    state.output.report(from, { ...echo, report: reportFor(state, client.runtime, message) })
  } else state.output.send(from, { ...echo, reports: [] })
}

/** The client of an identity; a new one that shows no runtime is taken for Python's. */
export function clientOf(
  state: SchedulerState,
  identity: Identity,
  now: InstantMs,
  shown: Partial<Pick<ClientHeartbeat, 'runtime' | 'wantsReport'>> = {},
): ClientEntry {
  const known = state.clients.get(identity)
  if (known !== undefined) {
    known.lastSeen = now
    return known
  }
  const client: ClientEntry = {
    identity,
    runtime: runtimeFamily(shown.runtime ?? ''),
    runtimeText: shown.runtime ?? '',
    info: undefined,
    features: 0,
    lastSeen: now,
    isVisitor: shown.wantsReport === true,
    isConnected: true,
    host: undefined,
    allowance: undefined,
    hasLeft: false,
    tasks: new SpreadSet(),
    graphs: new Map(),
    objects: new Set(),
  }
  state.clients.set(identity, client)
  state.output.log(levelOf(client), 'client connected', {
    client: identity,
    runtime: client.runtime,
  })
  return client
}

/**
 * A client has lost its connection. If it lives inside of a worker its process has ended, most
 * likely, and what it has waiting is not begun: a task that begins anew there would meet it.
 */
export function onClientLost(state: SchedulerState, client: ClientEntry): void {
  client.isConnected = false
  tellOf(state, client, 'lost its connection')
  forgetRoom(state, client)
  if (client.host !== undefined) state.pools[client.runtime].queue.park(client)
}

/** A new client lives in a worker: those that had lost their connection went with their process. */
function clearOut(state: SchedulerState, host: WorkerEntry): void {
  for (const guest of host.guests) {
    if (!guest.isConnected) removeClient(state, guest, 'went with its process')
  }
}

/** Cancels what a client has unfinished and frees what it stored. */
export function removeClient(state: SchedulerState, client: ClientEntry, reason: string): void {
  tellOf(state, client, reason)
  client.hasLeft = true
  state.monitors.leave(client)
  forgetRoom(state, client)
  moveIn(client, undefined)
  state.clients.delete(client.identity)
  for (const graph of client.graphs.values()) graph.forget()
  for (const tasks of state.pools[client.runtime].drop(client)) state.orphans.addAll(tasks)
  // Not through its tasks, which may be a million: workers have fewer.
  for (const worker of state.workers.values()) cancelAssigned(state, worker, client)
  cancelOrphans(state)
  leaveObjects(state, client)
}

/** Asks a worker to drop what it has of a client that has left. */
function cancelAssigned(state: SchedulerState, worker: WorkerEntry, client: ClientEntry): void {
  // A 1.9.9 worker is only asked to drop what it has not started, as its own scheduler does.
  const force = isOurs(worker.heartbeat.features)
  for (const task of worker.assigned) {
    if (task.client !== client) continue
    cancelTask(state, task, force)
    task.client = undefined
    client.tasks.delete(task)
  }
}

/** Drops clients that were silent for too long. */
export function dropSilentClients(state: SchedulerState, now: InstantMs): void {
  for (const client of state.clients.values()) {
    const silence = now - client.lastSeen
    if (silence <= state.options.clientTimeoutMs || isInBusyWorker(client)) continue
    removeClient(state, client, TIMED_OUT)
    state.output.disconnect(client.identity, 'silent for too long')
  }
}

/**
 * Whether a client may well be silent: it lives in a process that computes for its worker. While
 * that worker lives, the connection tells when the client is gone.
 */
function isInBusyWorker(client: ClientEntry): boolean {
  return client.host !== undefined && client.isConnected
}

/** A client lives inside of the tasks of `host` from now on, or (undefined) of none. */
function moveIn(client: ClientEntry, host: WorkerEntry | undefined): void {
  if (client.host === host) return
  client.host?.guests.delete(client)
  client.host = host
  host?.guests.add(client)
}

/** That it has gone without a word is a warning where it has tasks: they are cancelled with it. */
function tellOf(state: SchedulerState, client: ClientEntry, what: string): void {
  const { identity, tasks } = client
  const isLoss = what === TIMED_OUT && tasks.size > 0
  const level = isLoss ? 'warn' : levelOf(client)
  state.output.log(level, `client ${what}`, { client: identity, unfinishedTasks: tasks.size })
}

/** How loudly is said that it comes and goes. */
function levelOf({ isVisitor }: ClientEntry): 'debug' | 'info' {
  return isVisitor ? 'debug' : 'info'
}

function isOurs(features: number): boolean {
  return hasFeature(features, FEATURE_INLINE)
}

// Clients: how they register, stay alive and leave. docs/protocol.md#heartbeat,
// docs/protocol.md#disconnect

import { FEATURE_INLINE, FEATURE_RUNS, hasFeature } from '../../../base/features.js'
import type { Identity, TaskId } from '../../../base/ids.js'
import type { ClientHeartbeat } from '../../../wire/message.js'
import type { ClientEntry, ObjectUser, WorkerEntry } from '../entries.js'
import { MESSAGE_COST, unfinishedOf } from '../graph/work.js'
import { keptInfo, reportFor } from '../monitor/report.js'
import { ourEcho } from '../output.js'
import { runtimeFamily, type SchedulerState } from '../state.js'
import { idsOf } from '../task/run.js'
import { cancelTask, statusResult } from '../task/task.js'
import { forgetRoom, holdsBack } from '../worker/waiting-limit.js'

// The objects of a client that has left, perhaps a hundred thousand, are released in slices, like
// long work on graphs.

/** Starts to release the objects of `user`; those with other users stay. */
function leaveObjects(state: SchedulerState, user: ObjectUser): void {
  state.graphWork.begin({ advance: () => releaseSome(state, user) })
}

/** Returns false if the budget of this turn is spent before all objects are released. */
function releaseSome({ objects, graphWork }: SchedulerState, user: ObjectUser): boolean {
  for (const entry of user.objects) {
    if (graphWork.left <= 0) return false
    graphWork.left -= MESSAGE_COST
    objects.release(user, entry)
  }
  return true
}

/** The reason to remove a client that was silent for too long. */
const TIMED_OUT = 'timed out'

/** Registers or refreshes a client. Always answers: without an echo it stops sending. */
export function onClientHeartbeat(
  state: SchedulerState,
  from: Identity,
  message: ClientHeartbeat,
): void {
  const known = state.clients.get(from)
  // Its first message did not show its runtime: register it again with the right one.
  const isMistaken = known !== undefined && known.runtime !== runtimeFamily(message.runtime)
  if (isMistaken) removeClient(state, known, 'registered again with its runtime')
  const host = state.workers.get(message.worker)
  if (host !== undefined && !state.clients.has(from)) clearOut(state, host)
  const client = clientOf(state, from, message)
  client.features = message.features
  client.runtimeText = message.runtime
  client.info = keptInfo(message.info) ?? client.info
  client.isConnected = true
  state.pools[client.runtime].queue.unpark(client)
  attach(client, host)
  const waiting = holdsBack(client) ? state.waiting.of(client) : []
  const answer = ourEcho(state, message.features)
  const withheld = state.runless.size > 0 ? FEATURE_RUNS : 0
  const features = answer.features & ~withheld
  const echo = { kind: 'clientHeartbeatEcho', ...answer, features, waiting } as const
  const isReport = message.wantsReport && message.features !== 0
  if (isReport) {
    state.output.report(from, { ...echo, report: reportFor(state, client.runtime, message) })
  } else state.output.send(from, { ...echo, reports: [] })
}

/** The client of an identity; a new one that sends no runtime is considered Python. */
export function clientOf(
  state: SchedulerState,
  identity: Identity,
  shown: Partial<Pick<ClientHeartbeat, 'runtime' | 'wantsReport'>> = {},
): ClientEntry {
  const known = state.clients.get(identity)
  if (known !== undefined) {
    known.lastSeen = state.turn.now
    return known
  }
  const client: ClientEntry = {
    identity,
    runtime: runtimeFamily(shown.runtime ?? ''),
    runtimeText: shown.runtime ?? '',
    info: undefined,
    features: 0,
    lastSeen: state.turn.now,
    isVisitor: shown.wantsReport === true,
    isConnected: true,
    host: undefined,
    allowance: undefined,
    hasLeft: false,
    taskCount: 0,
    graphs: new Map(),
    losses: undefined,
    objects: new Set(),
    objectBytes: 0,
  }
  state.clients.set(identity, client)
  state.monitors.peers.onJoined({ client })
  state.turn.log(levelOf(client), 'client connected', {
    client: identity,
    runtime: client.runtime,
  })
  tellCancelled(state, client)
  return client
}

/**
 * A client lost its connection. If it is nested in a worker, its process has probably exited, so
 * its queued tasks are not started: they could meet the restarted run of their parent task.
 */
export function onClientLost(state: SchedulerState, client: ClientEntry): void {
  client.isConnected = false
  tellOf(state, client, 'lost its connection')
  forgetRoom(state, client)
  if (client.host !== undefined) state.pools[client.runtime].queue.park(client)
}

/** Before a new client attaches to a worker: disconnected ones ended with their process. */
function clearOut(state: SchedulerState, host: WorkerEntry): void {
  for (const client of host.nestedClients ?? []) {
    if (!client.isConnected) removeClient(state, client, 'ended with its process')
  }
}

/**
 * Cancels the unfinished tasks of a client, and releases its objects. `mayReturn`: it is cut off,
 * and probably registers again.
 */
export function removeClient(
  state: SchedulerState,
  client: ClientEntry,
  reason: string,
  mayReturn = false,
): void {
  tellOf(state, client, reason)
  state.monitors.peers.onLeft({ client }, mayReturn)
  client.hasLeft = true
  state.monitors.leave(client)
  state.operators.leave(client)
  state.allocators.leave(client)
  forgetRoom(state, client)
  attach(client, undefined)
  state.clients.delete(client.identity)
  for (const graph of client.graphs.values()) graph.forget()
  for (const tasks of state.pools[client.runtime].drop(client)) state.ownerless.addAll(tasks)
  // Iterates over workers, because the client may have a million tasks.
  for (const worker of state.workers.values()) cancelAssigned(state, worker, client)
  state.ownerless.drain()
  state.shared.onClientLeft(client.identity)
  leaveObjects(state, client)
}

/** Asks a worker to drop the tasks of a client that has left. */
function cancelAssigned(state: SchedulerState, worker: WorkerEntry, client: ClientEntry): void {
  const isOurs = hasFeature(worker.heartbeat.features, FEATURE_INLINE)
  for (const task of worker.assigned) {
    if (task.client !== client) continue
    // On a 1.9.9 worker, what a client cancelled before it left runs on, as with its own scheduler.
    cancelTask(state, task, isOurs || task.state === 'running')
    task.client = undefined
    client.taskCount -= task.count
  }
}

/** The most tasks that are remembered, for all clients together. */
const MAX_REMEMBERED = 100_000

/**
 * Remembers the tasks of a 1.9.9 client that is given up. If it was only suspended, it will connect
 * again, and would wait for them for ever: it does not submit a task twice.
 */
function remember(state: SchedulerState, client: ClientEntry): void {
  const { givenUp } = state
  const ids = [...client.graphs.values()].flatMap((graph) => graph.awaited)
  for (const task of client.taskCount > 0 ? state.tasks.values() : []) {
    if (task.client === client && task.node === undefined) ids.push(...idsOf(task))
  }
  if (ids.length === 0) return
  givenUp.set(client.identity, ids.slice(0, MAX_REMEMBERED))
  let count = 0
  for (const known of givenUp.values()) count += known.length
  for (const [identity, { length }] of givenUp) {
    if (count <= MAX_REMEMBERED) return
    givenUp.delete(identity)
    count -= length
  }
}

/** A client has returned after it was given up: it is told that its tasks were cancelled. */
function tellCancelled(state: SchedulerState, { identity }: ClientEntry): void {
  const { givenUp, graphWork, output } = state
  const ids = givenUp.get(identity)
  if (ids === undefined) return
  givenUp.delete(identity)
  let told = 0
  const advance = (): boolean => {
    for (; told < ids.length; told += 1) {
      if (graphWork.left <= 0) return false
      output.send(identity, statusResult(ids[told] as TaskId, 'canceled'))
      graphWork.left -= MESSAGE_COST
    }
    return true
  }
  graphWork.begin({ advance })
}

/** Removes clients that were silent for too long. */
export function dropSilentClients(state: SchedulerState): void {
  for (const client of state.clients.values()) {
    const silence = state.turn.now - client.lastSeen
    if (silence <= state.options.clientTimeoutMs || isInBusyWorker(client)) continue
    if (client.runtime === 'python') remember(state, client)
    removeClient(state, client, TIMED_OUT)
    disconnect(state, client.identity, 'silent for too long')
  }
}

/** Closes the connection of a peer that was given up. */
export function disconnect({ turn }: SchedulerState, peer: Identity, reason: string): void {
  turn.act({ type: 'disconnect', peer, reason })
}

/**
 * Whether a client may be silent: it is nested in a process that runs tasks for its worker. While
 * that worker is alive, the loss of the connection shows that the client has exited.
 */
function isInBusyWorker(client: ClientEntry): boolean {
  return client.host !== undefined && client.isConnected
}

/**
 * The worker of a nested client was cut off, and probably returns: nothing that this client has
 * submitted ends because of that, but what is queued waits for its next message.
 */
export function leaveHost(state: SchedulerState, client: ClientEntry): void {
  state.pools[client.runtime].queue.park(client)
  attach(client, undefined)
}

/** Attaches a client to the worker that runs it; undefined: to no worker. */
function attach(client: ClientEntry, host: WorkerEntry | undefined): void {
  if (client.host === host) return
  client.host?.nestedClients?.delete(client)
  client.host = host
  if (host !== undefined) (host.nestedClients ??= new Set()).add(client)
}

/** Logs what happened to a client: a warning if it timed out and its tasks are cancelled. */
function tellOf(state: SchedulerState, client: ClientEntry, what: string): void {
  const { identity } = client
  const unfinishedTasks = unfinishedOf(client)
  const isLoss = what === TIMED_OUT && unfinishedTasks > 0
  const level = isLoss ? 'warn' : levelOf(client)
  state.turn.log(level, `client ${what}`, { client: identity, unfinishedTasks })
}

/** The log level for the connections of a client. */
function levelOf({ isVisitor }: ClientEntry): 'debug' | 'info' {
  return isVisitor ? 'debug' : 'info'
}

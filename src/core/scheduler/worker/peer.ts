// Workers: how they register, stay alive and leave. docs/protocol.md#heartbeat,
// docs/protocol.md#disconnect

import { FEATURE_RECOVERY, FEATURE_RUNS, hasFeature } from '../../../base/features.js'
import { Fifo } from '../../../base/collection/fifo.js'
import type { Identity } from '../../../base/ids.js'
import type { DisconnectRequest, WorkerHeartbeat } from '../../../wire/message.js'
import { disconnect, leaveHost, removeClient } from '../client/peer.js'
import type { WorkerEntry } from '../entries.js'
import { keptInfo } from '../monitor/report.js'
import { ourEcho } from '../output.js'
import { publishWorker } from '../publication.js'
import { runtimeFamily, type SchedulerState } from '../state.js'
import { taskFields } from '../task/extra.js'
import { expectBack, takeTasksBack } from '../task/task.js'
import { windowSeconds } from './load.js'
import { onReturn } from './return.js'
import { type SilenceBounds, WorkerSilence } from './silence.js'

/** Registers or refreshes a worker. Always answers: without an echo it stops sending. */
export function onWorkerHeartbeat(
  state: SchedulerState,
  from: Identity,
  message: WorkerHeartbeat,
): void {
  // Sent before the first task, so that the worker has the features. 1.9.9 accepts any order.
  state.output.send(from, { kind: 'workerHeartbeatEcho', ...ourEcho(state, message.features) })
  const known = state.workers.get(from)
  const worker = known ?? addWorker(state, from, message)
  if (known === undefined) state.shared.onWorker(worker)
  bringUpToDate(worker.heartbeat, withoutRest(message))
  const info = keptInfo(message.info)
  if (info !== undefined) {
    state.nearness.leave(worker)
    worker.info = info
    state.nearness.join(worker)
    worker.endsAt = info.endsInMS === 0 ? Infinity : state.turn.now + info.endsInMS
  }
  state.pools[worker.runtime].setWindow(worker, windowSeconds(message.latencyUS))
  worker.silence.heard(state.turn.now)
  worker.lastHeartbeat = state.turn.now
  if (message.isLeaving && !worker.isLeaving) {
    state.turn.log('info', 'worker is about to leave', { worker: from })
    state.pools[worker.runtime].retire(worker)
  }
  if (message.tasks.length > 0) onReturn(state, worker, message)
}

/** A worker leaves gracefully. The message, not the sender, identifies it. */
export function onDisconnectRequest(
  state: SchedulerState,
  from: Identity,
  message: DisconnectRequest,
): void {
  const worker = state.workers.get(message.worker)
  if (worker !== undefined) removeWorker(state, worker, 'disconnected')
  state.output.send(from, { kind: 'disconnectResponse', worker: message.worker })
}

/** How a worker ends: gracefully (the first two), or lost, perhaps because of a task. */
type WorkerEnd = 'disconnected' | 'shut down' | 'lost its connection' | 'timed out'

/** Removes a worker with its nested clients, and requeues its tasks. */
export function removeWorker(state: SchedulerState, worker: WorkerEntry, end: WorkerEnd): void {
  const isLost = end === 'lost its connection' || end === 'timed out'
  const until = end === 'lost its connection' && canReturn(worker) ? state.returnsUntil : undefined
  const { first: oldest } = worker.assigned
  if (isLost) state.losses.add(worker, end === 'timed out' ? 'silence' : 'connection')
  state.turn.log(isLost ? 'warn' : 'info', `worker ${end}`, {
    worker: worker.identity,
    tasksTakenBack: worker.taskCount,
    ...(oldest === undefined ? {} : taskFields(oldest)),
  })
  state.monitors.peers.onLeft({ worker }, isLost)
  state.workers.delete(worker.identity)
  state.runless.delete(worker)
  const tasks = state.pools[worker.runtime].remove(worker)
  state.nearness.leave(worker)
  state.supplies.leave(worker, agentOf(worker.identity, worker.heartbeat))
  state.objects.forgetWorker(worker)
  state.leases.forget(worker)
  state.operators.forget(worker)
  publishWorker(state, worker, false)
  for (const client of worker.nestedClients ?? []) {
    if (until !== undefined) {
      leaveHost(state, client)
      continue
    }
    removeClient(state, client, 'lost its worker', isLost)
    // If it is still alive, it notices and registers again. At a shutdown it exits anyway.
    if (end !== 'shut down') disconnect(state, client.identity, 'its worker has left')
  }
  if (until === undefined) takeTasksBack(state, tasks, worker, isLost)
  else for (const task of tasks) expectBack(state, task, worker, until)
}

/** Drops workers that were silent for too long. */
export function dropSilentWorkers(state: SchedulerState): void {
  for (const worker of state.workers.values()) {
    if (!worker.silence.isTooLong(state.turn.now, silenceBounds(state, worker))) continue
    removeWorker(state, worker, 'timed out')
    disconnect(state, worker.identity, 'silent for too long')
  }
}

/** Whether it reports the tasks that it still has when it reconnects. */
function canReturn({ heartbeat }: WorkerEntry): boolean {
  return hasFeature(heartbeat.features, FEATURE_RECOVERY)
}

/** Only a worker that can return with its tasks has the shorter limit. */
function silenceBounds(state: SchedulerState, worker: WorkerEntry): SilenceBounds {
  const { workerSilenceMs, workerTimeoutMs } = state.options
  return { leastMs: canReturn(worker) ? workerSilenceMs : workerTimeoutMs, mostMs: workerTimeoutMs }
}

function addWorker(
  state: SchedulerState,
  identity: Identity,
  message: WorkerHeartbeat,
): WorkerEntry {
  const runtime = runtimeFamily(message.runtime)
  const { now } = state.turn
  const worker: WorkerEntry = {
    identity,
    runtime,
    sequence: state.nextWorkerSequence,
    heapIndex: -1,
    silence: new WorkerSilence(now),
    lastHeartbeat: now,
    heartbeat: ownCopy(withoutRest(message)),
    info: undefined,
    endsAt: Infinity,
    isLate: false,
    isLeaving: false,
    assigned: new Fifo(),
    taskCount: 0,
    filledAt: now,
    movedAt: now,
    recalledCount: 0,
    waitingCount: 0,
    load: 0,
    windowSeconds: windowSeconds(message.latencyUS),
    slots: Math.max(1, message.concurrency),
    nestedPass: runtime === 'python' || message.concurrency > 0,
    held: undefined,
    owed: undefined,
    late: undefined,
    links: undefined,
    lostLinks: undefined,
    offer: state.supplies.offerOf(agentOf(identity, message), message.capabilities),
    nestedClients: undefined,
  }
  state.nextWorkerSequence += 1
  state.workers.set(identity, worker)
  const readsRuns = hasFeature(message.features, FEATURE_RUNS)
  if (runtime === 'javascript' && !readsRuns) state.runless.add(worker)
  state.losses.onConnected(identity)
  state.supplies.join(worker)
  state.pools[runtime].add(worker)
  state.turn.log('info', 'worker connected', { worker: identity, runtime })
  publishWorker(state, worker, true)
  state.monitors.peers.onJoined({ worker })
  return worker
}

/** A worker that names no agent has its own units. */
function agentOf(worker: Identity, { agentId }: WorkerHeartbeat): string {
  return agentId === '' ? worker : agentId
}

/** What is kept: no reference to the read buffer, and no long lists. */
function withoutRest(message: WorkerHeartbeat): WorkerHeartbeat {
  return { ...message, tasks: [], pasts: [], info: [], bytes: undefined }
}

// Copies that are kept for long and follow values that come often, as the last heartbeat of each of
// thousands of workers. Kept in place of the copy, each new value would survive until the garbage
// collector has moved it twice; a copy that is brought up to date costs it nothing.

type Fields = Record<string, unknown>

/** Most lists are empty: one for all copies. */
const NONE: readonly never[] = []

/** A copy of plain data. Views of bytes are shared. */
export function ownCopy<T>(value: T): T {
  if (!isPlain(value)) return value
  if (Array.isArray(value)) return (value.length === 0 ? NONE : value.map(ownCopy)) as T
  const copy: Fields = { ...value }
  for (const key of Object.keys(copy)) copy[key] = ownCopy(copy[key])
  return copy as T
}

/** Makes a copy of `ownCopy` equal to `value`, and keeps those of its parts that need no change. */
export function bringUpToDate<T extends object>(copy: T, value: T): void {
  update(copy as Fields, value as Fields)
}

function update(copy: Fields, value: Fields): void {
  for (const key of Object.keys(value)) {
    const [old, now] = [copy[key], value[key]]
    if (isPlain(old) && isPlain(now) && isAlike(old, now)) update(old, now)
    else if (old !== now) copy[key] = ownCopy(now)
  }
}

/** Whether one can be made into the other: lists of the same length, or two objects. */
function isAlike(old: Fields, now: Fields): boolean {
  if (Array.isArray(old) || Array.isArray(now)) {
    return Array.isArray(old) && Array.isArray(now) && old.length === now.length
  }
  return true
}

function isPlain(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !ArrayBuffer.isView(value)
}

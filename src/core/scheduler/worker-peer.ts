// Workers: how they come, stay and go. docs/protocol.md#heartbeat, docs/protocol.md#disconnect

import { FEATURE_RECOVERY, hasFeature } from '../../base/features.js'
import { Fifo } from '../../base/fifo.js'
import type { Identity } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { DisconnectRequest, WorkerHeartbeat } from '../../wire/message.js'
import { ourEcho } from './echo.js'
import type { WorkerEntry } from './entries.js'
import { publishWorker } from './publication.js'
import { keptInfo } from './report.js'
import { onReturn } from './return.js'
import { Silence, type SilenceBounds } from './silence.js'
import { runtimeFamily, type SchedulerState } from './state.js'
import { removeClient } from './client-peer.js'
import { takeTasksBack } from './task.js'
import { taskFields } from './task-fields.js'

/** Registers or refreshes a worker, and answers: always, or it falls silent for good. */
export function onWorkerHeartbeat(
  state: SchedulerState,
  from: Identity,
  message: WorkerHeartbeat,
  now: InstantMs,
): void {
  // Before its first task: a 1.9.9 worker takes both in any order, ours learns the features first.
  state.output.send(from, { kind: 'workerHeartbeatEcho', ...ourEcho(state, message.features) })
  const worker = state.workers.get(from) ?? addWorker(state, from, message, now)
  worker.heartbeat = withoutRest(message)
  worker.info = keptInfo(message.info) ?? worker.info
  worker.silence.heard(now)
  worker.lastHeartbeat = now
  if (message.isLeaving && !worker.isLeaving) {
    state.output.log('info', 'worker is about to leave', { worker: from })
    state.pools[worker.runtime].retire(worker)
  }
  if (message.tasks.length > 0) onReturn(state, worker, message.tasks)
}

/** A worker leaves in good order. The message, not the sender, says which. */
export function onDisconnectRequest(
  state: SchedulerState,
  from: Identity,
  message: DisconnectRequest,
): void {
  const worker = state.workers.get(message.worker)
  if (worker !== undefined) removeWorker(state, worker, 'disconnected')
  state.output.send(from, { kind: 'disconnectResponse', worker: message.worker })
}

/** How a worker goes: in good order (the first two), or lost, perhaps because of a task. */
export type WorkerEnd = 'disconnected' | 'shut down' | 'lost its connection' | 'timed out'

/** Forgets a worker, with the clients inside of it, and lets its tasks wait for another. */
export function removeWorker(state: SchedulerState, worker: WorkerEntry, end: WorkerEnd): void {
  const isLost = end === 'lost its connection' || end === 'timed out'
  const { first: oldest } = worker.assigned
  state.output.log(isLost ? 'warn' : 'info', `worker ${end}`, {
    worker: worker.identity,
    tasksTakenBack: worker.assigned.size,
    ...(oldest === undefined ? {} : taskFields(oldest)),
  })
  state.workers.delete(worker.identity)
  const tasks = state.pools[worker.runtime].remove(worker)
  state.supplies.leave(worker, agentOf(worker.identity, worker.heartbeat))
  state.objects.forgetWorker(worker)
  state.claims.forget(worker)
  publishWorker(state, worker, false)
  for (const guest of worker.guests) {
    removeClient(state, guest, 'lost its worker')
    // Where it lives on, it finds out, and begins anew. (At the end of all, it will in any case.)
    if (end !== 'shut down') state.output.disconnect(guest.identity, 'its worker has gone')
  }
  takeTasksBack(state, tasks, worker, isLost)
}

/** Drops workers that were silent for too long. */
export function dropSilentWorkers(state: SchedulerState, now: InstantMs): void {
  for (const worker of state.workers.values()) {
    if (!worker.silence.isTooLong(now, silenceBounds(state, worker))) continue
    removeWorker(state, worker, 'timed out')
    state.output.disconnect(worker.identity, 'silent for too long')
  }
}

/** Only a worker that can come back with what it has is given up soon. */
function silenceBounds(state: SchedulerState, { heartbeat }: WorkerEntry): SilenceBounds {
  const { workerSilenceMs, workerTimeoutMs } = state.options
  const canReturn = hasFeature(heartbeat.features, FEATURE_RECOVERY)
  return { leastMs: canReturn ? workerSilenceMs : workerTimeoutMs, mostMs: workerTimeoutMs }
}

function addWorker(
  state: SchedulerState,
  identity: Identity,
  message: WorkerHeartbeat,
  now: InstantMs,
): WorkerEntry {
  const runtime = runtimeFamily(message.runtime)
  const worker: WorkerEntry = {
    identity,
    runtime,
    sequence: state.nextWorkerSequence,
    heapIndex: -1,
    silence: new Silence(now),
    lastHeartbeat: now,
    heartbeat: withoutRest(message),
    info: undefined,
    isLeaving: false,
    assigned: new Fifo(),
    filledAt: now,
    movedAt: now,
    recalledCount: 0,
    waitingCount: 0,
    load: 0,
    held: new Set(),
    owed: undefined,
    late: undefined,
    offer: state.supplies.offerOf(agentOf(identity, message), message.capabilities),
    guests: new Set(),
  }
  state.nextWorkerSequence += 1
  state.workers.set(identity, worker)
  state.supplies.join(worker)
  state.pools[runtime].add(worker)
  state.output.log('info', 'worker connected', { worker: identity, runtime })
  publishWorker(state, worker, true)
  return worker
}

/** Workers that do not say whose they are have their units to themselves. */
function agentOf(worker: Identity, { agentId }: WorkerHeartbeat): string {
  return agentId === '' ? worker : agentId
}

/** What is kept of a heartbeat must not keep the read buffer that it came in, nor long lists. */
function withoutRest(message: WorkerHeartbeat): WorkerHeartbeat {
  return { ...message, tasks: [], info: [], bytes: undefined }
}

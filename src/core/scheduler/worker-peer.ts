// Workers: how they come, stay and go. docs/protocol.md#heartbeat, docs/protocol.md#disconnect

import type { Identity } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import type { DisconnectRequest, WorkerHeartbeat } from '../../wire/message.js'
import { ourEcho } from './echo.js'
import type { WorkerEntry } from './entries.js'
import { publishWorker } from './publication.js'
import { runtimeFamily, type SchedulerState } from './state.js'
import { removeClient } from './client-peer.js'
import { takeTasksBack } from './task.js'

/** Registers or refreshes a worker, and answers: always, or it falls silent for good. */
export function onWorkerHeartbeat(
  state: SchedulerState,
  from: Identity,
  message: WorkerHeartbeat,
  now: InstantMs,
): void {
  const known = state.workers.get(from)
  // Before its first task: a 1.9.9 worker takes both in any order, ours learns the features first.
  state.output.send(from, { kind: 'workerHeartbeatEcho', ...ourEcho(state, message.features) })
  if (known === undefined) addWorker(state, from, message, now)
  else {
    known.heartbeat = withoutBytes(message)
    known.lastSeen = now
    known.lastHeartbeat = now
  }
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
  state.output.log('info', `worker ${end}`, {
    worker: worker.identity,
    tasksTakenBack: worker.assigned.size,
  })
  state.workers.delete(worker.identity)
  const tasks = state.pools[worker.runtime].remove(worker)
  state.objects.forgetWorker(worker)
  publishWorker(state, worker, false)
  for (const guest of worker.guests) {
    removeClient(state, guest, 'lost its worker')
    // Where it lives on, it finds out, and begins anew. (At the end of all, it will in any case.)
    if (end !== 'shut down') state.output.disconnect(guest.identity, 'its worker has gone')
  }
  takeTasksBack(state, tasks, end === 'lost its connection' || end === 'timed out')
}

/** Drops workers that were silent for too long. */
export function dropSilentWorkers(state: SchedulerState, now: InstantMs): void {
  for (const worker of state.workers.values()) {
    const silence = now - worker.lastSeen
    if (silence <= state.options.workerTimeoutMs) continue
    removeWorker(state, worker, 'timed out')
    state.output.disconnect(worker.identity, 'silent for too long')
  }
}

function addWorker(
  state: SchedulerState,
  identity: Identity,
  message: WorkerHeartbeat,
  now: InstantMs,
): void {
  const runtime = runtimeFamily(message.runtime)
  const worker: WorkerEntry = {
    identity,
    runtime,
    sequence: state.nextWorkerSequence,
    heapIndex: -1,
    lastSeen: now,
    lastHeartbeat: now,
    heartbeat: withoutBytes(message),
    assigned: new Set(),
    waitingCount: 0,
    load: 0,
    held: new Set(),
    guests: new Set(),
  }
  state.nextWorkerSequence += 1
  state.workers.set(identity, worker)
  state.pools[runtime].add(worker)
  state.output.log('info', 'worker connected', { worker: identity, runtime })
  publishWorker(state, worker, true)
}

/** What is kept of a heartbeat must not keep the read buffer that it came in. */
function withoutBytes(message: WorkerHeartbeat): WorkerHeartbeat {
  return { ...message, bytes: undefined }
}

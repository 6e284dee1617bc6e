// Workers: how they come, stay and go. docs/protocol.md#heartbeat, docs/protocol.md#disconnect

import { FEATURE_RECOVERY, hasFeature } from '../../../base/features.js'
import { Fifo } from '../../../base/fifo.js'
import type { Identity } from '../../../base/ids.js'
import type { InstantMs } from '../../../base/machine.js'
import type { DisconnectRequest, WorkerHeartbeat } from '../../../wire/message.js'
import { removeClient } from '../client/peer.js'
import type { WorkerEntry } from '../entries.js'
import { keptInfo } from '../monitor/report.js'
import { ourEcho } from '../output.js'
import { publishWorker } from '../publication.js'
import { runtimeFamily, type SchedulerState } from '../state.js'
import { taskFields } from '../task/extra.js'
import { takeTasksBack } from '../task/task.js'
import { onReturn } from './return.js'

// How long a worker may be silent before it is taken for gone: soon enough to lose little time, but
// never before three times the longest silence from which it has come back lately. So a slow link
// or a machine with too much to do costs patience, not workers.

/** So many times its longest silence is a worker waited for. */
const PATIENCE = 3

/** After so long the longest silence counts half. */
const HALF_LIFE_MS = 30_000

/** The bounds of the patience with a worker, in milliseconds. */
interface SilenceBounds {
  /** What a worker may always be silent for. */
  readonly leastMs: number
  /** What none may be silent for. Where it is less than the other, it counts. */
  readonly mostMs: number
}

/** Follows the signs of life of one worker. */
export class Silence {
  #lastHeard: InstantMs
  /** The longest silence of this half-life. */
  #longestMs = 0
  /** That of those before, of which the older count less. */
  #earlierMs = 0
  #turnsAt: InstantMs

  constructor(now: InstantMs) {
    this.#lastHeard = now
    this.#turnsAt = now + HALF_LIFE_MS
  }

  /** Anything has come from the worker. */
  heard(now: InstantMs): void {
    const silenceMs = now - this.#lastHeard
    if (silenceMs > this.#longestMs) this.#longestMs = silenceMs
    this.#lastHeard = now
    if (now >= this.#turnsAt) this.#turn(now)
  }

  /** For so long the scheduler itself has read nothing: that was no silence of the worker. */
  forgive(ms: number, now: InstantMs): void {
    this.#lastHeard = Math.min(now, this.#lastHeard + ms)
  }

  /** How long the worker may be silent now. */
  patienceMs({ leastMs, mostMs }: SilenceBounds): number {
    const longestMs = Math.max(this.#longestMs, this.#earlierMs)
    return Math.min(mostMs, Math.max(leastMs, PATIENCE * longestMs))
  }

  /** Whether the worker has been silent for longer than that. */
  isTooLong(now: InstantMs, bounds: SilenceBounds): boolean {
    return now - this.#lastHeard > this.patienceMs(bounds)
  }

  #turn(now: InstantMs): void {
    this.#earlierMs = Math.max(this.#longestMs, this.#earlierMs / 2)
    this.#longestMs = 0
    this.#turnsAt = now + HALF_LIFE_MS
  }
}

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
type WorkerEnd = 'disconnected' | 'shut down' | 'lost its connection' | 'timed out'

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

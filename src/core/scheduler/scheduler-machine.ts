// The scheduler as a state machine: passes each event to its handler. Start reading here, then
// continue with task/task.ts.

import { unreachable } from '../../base/assert.js'
import { earliest, type InstantMs, type Machine } from '../../base/machine.js'
import type { Identity } from '../../base/ids.js'
import type { Message } from '../../wire/message.js'
import { Balancer } from './worker/balance.js'
import { onClientDisconnect } from './client/disconnect.js'
import { clientOf, dropSilentClients, onClientHeartbeat, onClientLost } from './client/peer.js'
import type { Act, SchedulerAction, SchedulerCoreOptions, SchedulerEvent } from './events.js'
import { onTaskInquiry } from './monitor/explain.js'
import { onGraphTask, onGraphTaskCancel } from './graph/graph.js'
import { onObjectInstruction, onObjectRequest, sendRemovals } from './object/object.js'
import { stateFor } from './monitor/report.js'
import { publishScheduler } from './publication.js'
import { expireLeases } from './worker/return.js'
import { giveRoom } from './worker/load.js'
import { SchedulerState } from './state.js'
import { assignWaiting, cancelOwnerless, onTask, onTaskCancel } from './task/task.js'
import { onTaskOutput, onTaskUpdate } from './task/update.js'
import { onTaskResult } from './task/result.js'
import {
  dropSilentWorkers,
  onDisconnectRequest,
  onWorkerHeartbeat,
  removeWorker,
} from './worker/peer.js'

/** How often the scheduler checks for silent peers. */
const SWEEP_INTERVAL_MS = 1000

/** How long a client may take to reconnect after it lost its connection. */
const CLIENT_RETURN_MS = 5000

/** Minimum interval between notices to workers about removed objects. */
const REMOVAL_INTERVAL_MS = 100

/** Maximum number of tasks held for workers that did not return which one turn releases. */
const MAX_RELEASES_PER_TURN = 2000

/** Routes tasks to workers and results to clients, stores objects, and detects lost peers. */
export class SchedulerMachine implements Machine<SchedulerEvent, SchedulerAction> {
  readonly #state: SchedulerState
  readonly #balancer = new Balancer()
  #nextSweep: InstantMs | undefined
  #nextRemovals: InstantMs = 0
  constructor(options: SchedulerCoreOptions) {
    this.#state = new SchedulerState(options)
  }

  get deadline(): InstantMs | undefined {
    const { objects, ownerless, graphWork, leases, releaseAt, now } = this.#state
    const { monitors, earlyResults } = this.#state
    const toldAt = earliest(monitors.deadline, earlyResults.deadline)
    const removalsAt = objects.hasRemovals ? this.#nextRemovals : undefined
    const isBusy = !ownerless.isEmpty || graphWork.isDue
    const objectsAt = earliest(earliest(removalsAt, objects.deadline), toldAt)
    const workAt = earliest(isBusy ? now : undefined, earliest(objectsAt, this.#nextSweep))
    return earliest(workAt, earliest(this.#balancer.deadline, earliest(leases.deadline, releaseAt)))
  }

  /** The sizes of the tables: all zero once every peer has left. */
  get counts(): Readonly<Record<'clients' | 'tasks' | 'graphs' | 'objects', number>> {
    const { clients, tasks, graphWork, objects } = this.#state
    const graphs = graphWork.graphs.size
    return { clients: clients.size, tasks: tasks.size, graphs, objects: objects.size }
  }

  handle(event: SchedulerEvent, now: InstantMs, act: Act): void {
    this.#state.output.direct(act)
    this.#state.moveTo(now)
    switch (event.type) {
      case 'messageReceived':
        this.#onMessage(event.from, event.message, now)
        break
      case 'peerProgressed':
        this.#touch(event.peer, now)
        break
      case 'peerDisconnected':
        this.#onPeerDisconnected(event.peer, now)
        break
      case 'subscribersChanged':
        this.#state.output.hasSubscribers = event.count > 0
        break
      case 'statisticsSampled':
        publishScheduler(this.#state, now, event.scheduler, event.rssFree)
        this.#state.rates.sample(this.#state)
        this.#state.monitors.sendStates(this.#state, (first) => stateFor(this.#state, event, first))
        break
      case 'tick':
        this.#onTick(now)
        break
      default:
        unreachable(event)
    }
    this.#afterEvent(now)
  }

  checkInvariants(): void {
    this.#state.checkInvariants()
  }

  #onMessage(from: Identity, message: Message, now: InstantMs): void {
    const state = this.#state
    state.received.set(message.kind, (state.received.get(message.kind) ?? 0) + 1)
    switch (message.kind) {
      case 'task':
        return onTask(state, clientOf(state, from, now), message)
      case 'taskResult':
        this.#touch(from, now)
        return onTaskResult(state, from, message)
      case 'taskUpdate':
        this.#touch(from, now)
        return onTaskUpdate(state, from, message)
      case 'taskOutput':
        this.#touch(from, now)
        return onTaskOutput(state, from, message)
      case 'taskCancel':
        return onTaskCancel(state, clientOf(state, from, now), message)
      case 'taskInquiry':
        return onTaskInquiry(state, clientOf(state, from, now), message)
      case 'monitorRequest':
        this.#touch(from, now)
        return state.monitors.onRequest(state, from, message)
      case 'graphTask':
        return onGraphTask(state, clientOf(state, from, now), message)
      case 'graphTaskCancel':
        return onGraphTaskCancel(state, clientOf(state, from, now), message)
      case 'objectInstruction':
        this.#touch(from, now)
        return onObjectInstruction(state, message)
      case 'objectRequest':
        this.#touch(from, now)
        return onObjectRequest(state, from, message)
      case 'clientHeartbeat':
        return onClientHeartbeat(state, from, message, now)
      case 'workerHeartbeat':
        return onWorkerHeartbeat(state, from, message, now)
      case 'disconnectRequest':
        return onDisconnectRequest(state, from, message)
      case 'clientDisconnect':
        return onClientDisconnect(state, from, message)
      default:
        state.output.log('warn', 'ignored a message that no peer should send', {
          peer: from,
          kind: message.kind,
        })
    }
  }

  /** Any message from a peer shows that it is alive. */
  #touch(peer: Identity, now: InstantMs): void {
    const worker = this.#state.workers.get(peer)
    if (worker !== undefined) {
      worker.silence.heard(now)
      return
    }
    const client = this.#state.clients.get(peer)
    if (client !== undefined) client.lastSeen = now
  }

  /**
   * A worker's tasks go to other workers immediately. A client of this version gets a few seconds
   * to reconnect; it then resubmits its unfinished tasks, so nothing more is lost if it returns
   * later. A 1.9.9 client does not notice a lost connection, so the normal client timeout applies.
   */
  #onPeerDisconnected(peer: Identity, now: InstantMs): void {
    const worker = this.#state.workers.get(peer)
    if (worker !== undefined) removeWorker(this.#state, worker, 'lost its connection')
    const client = this.#state.clients.get(peer)
    if (client === undefined) return
    this.#state.monitors.leave(client)
    if (client.runtime === 'python') return
    onClientLost(this.#state, client)
    for (const graph of client.graphs.values()) graph.onLinkLost()
    const lastSeen = now - this.#state.options.clientTimeoutMs + CLIENT_RETURN_MS
    client.lastSeen = Math.min(client.lastSeen, lastSeen)
  }

  #onTick(now: InstantMs): void {
    cancelOwnerless(this.#state)
    this.#state.graphWork.resume()
    this.#state.earlyResults.flush(this.#state.output, now)
    expireLeases(this.#state)
    this.#state.objects.freeExpired()
    this.#releaseHeld(now)
    if (this.#nextSweep === undefined || now < this.#nextSweep) return
    const lateMs = now - this.#nextSweep
    this.#nextSweep = now + SWEEP_INTERVAL_MS
    // Everything that arrived in the meantime will have been read before the next sweep.
    if (lateMs > SWEEP_INTERVAL_MS) return this.#forgive(lateMs, now)
    dropSilentClients(this.#state, now)
    dropSilentWorkers(this.#state, now)
    this.#state.waiting.tell(this.#state)
  }

  #releaseHeld(now: InstantMs): void {
    const { releaseAt, pools } = this.#state
    if (releaseAt === undefined || now < releaseAt) return
    for (const pool of [pools.javascript, pools.python]) pool.releaseHeld(MAX_RELEASES_PER_TURN)
  }

  /** This process was stalled: messages that arrived meanwhile may still be unread. */
  #forgive(lateMs: number, now: InstantMs): void {
    const { clients, workers } = this.#state
    for (const client of clients.values()) {
      client.lastSeen = Math.min(now, client.lastSeen + lateMs)
    }
    for (const worker of workers.values()) worker.silence.forgive(lateMs, now)
  }

  #afterEvent(now: InstantMs): void {
    assignWaiting(this.#state, this.#state.pools.javascript)
    assignWaiting(this.#state, this.#state.pools.python)
    this.#balancer.update(this.#state)
    this.#state.waiting.update(this.#state)
    giveRoom(this.#state)
    this.#state.monitors.flush(this.#state)
    if (this.#state.objects.hasRemovals && now >= this.#nextRemovals) {
      this.#nextRemovals = now + REMOVAL_INTERVAL_MS
      sendRemovals(this.#state)
    }
    const hasPeers = this.#state.clients.size > 0 || this.#state.workers.size > 0
    if (!hasPeers) this.#nextSweep = undefined
    else this.#nextSweep ??= now + SWEEP_INTERVAL_MS
  }
}

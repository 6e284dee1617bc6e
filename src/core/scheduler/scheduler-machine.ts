// The scheduler as a machine: hands each event to its handler. Start reading here, then
// task/task.ts.

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
import { expireClaims } from './worker/return.js'
import { giveRoom } from './worker/load.js'
import { SchedulerState } from './state.js'
import { assignWaiting, cancelOrphans, onTask, onTaskCancel } from './task/task.js'
import { onTaskOutput, onTaskUpdate } from './task/update.js'
import { onTaskResult } from './task/result.js'
import {
  dropSilentWorkers,
  onDisconnectRequest,
  onWorkerHeartbeat,
  removeWorker,
} from './worker/peer.js'

/** How often silent peers are looked for. */
const SWEEP_INTERVAL_MS = 1000

/** How long a client whose connection was lost may take to come back. */
const CLIENT_RETURN_MS = 5000

/** Workers are told of removed objects at once, but no more often than this. */
const REMOVAL_INTERVAL_MS = 100

/** How many tasks that were held for workers that did not come back are let go in one turn. */
const LET_GO_AT_ONCE = 2000

/** Routes tasks from clients to workers and results back; keeps objects; notices who is gone. */
export class SchedulerMachine implements Machine<SchedulerEvent, SchedulerAction> {
  readonly #state: SchedulerState
  readonly #balancer = new Balancer()
  #nextSweep: InstantMs | undefined
  #nextRemovals: InstantMs = 0
  constructor(options: SchedulerCoreOptions) {
    this.#state = new SchedulerState(options)
  }

  get deadline(): InstantMs | undefined {
    const { objects, orphans, graphWork, claims, letGoAt, now } = this.#state
    const { monitors, earlyResults } = this.#state
    const toldAt = earliest(monitors.deadline, earlyResults.deadline)
    const removalsAt = objects.hasRemovals ? this.#nextRemovals : undefined
    const isBusy = !orphans.isEmpty || graphWork.isDue
    const objectsAt = earliest(earliest(removalsAt, objects.deadline), toldAt)
    const workAt = earliest(isBusy ? now : undefined, earliest(objectsAt, this.#nextSweep))
    return earliest(workAt, earliest(this.#balancer.deadline, earliest(claims.deadline, letGoAt)))
  }

  /** How much the tables hold: all zero once everybody has left. */
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

  /** Whatever comes from a peer shows that it lives. */
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
   * A worker's tasks go to others at once. A client of ours is given a moment to come back: then it
   * sends again what it has unfinished, so no more is lost if it comes later. One of 1.9.9 does not
   * notice that its connection was lost, so it keeps the whole time that any silent client has.
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
    cancelOrphans(this.#state)
    this.#state.graphWork.resume()
    this.#state.earlyResults.flush(this.#state.output, now)
    expireClaims(this.#state)
    this.#state.objects.freeExpired()
    this.#letGo(now)
    if (this.#nextSweep === undefined || now < this.#nextSweep) return
    const lateMs = now - this.#nextSweep
    this.#nextSweep = now + SWEEP_INTERVAL_MS
    // By the next time all that has come meanwhile will have been read.
    if (lateMs > SWEEP_INTERVAL_MS) return this.#forgive(lateMs, now)
    dropSilentClients(this.#state, now)
    dropSilentWorkers(this.#state, now)
    this.#state.waiting.tell(this.#state)
  }

  #letGo(now: InstantMs): void {
    const { letGoAt, pools } = this.#state
    if (letGoAt === undefined || now < letGoAt) return
    for (const pool of [pools.javascript, pools.python]) pool.letGo(LET_GO_AT_ONCE)
  }

  /** This process stood still: what its peers said meanwhile may not have been read yet. */
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

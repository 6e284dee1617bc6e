// The scheduler as a state machine: passes each event to its handler. Start reading here, then
// continue with task/task.ts.

import { unreachable } from '../../base/assert.js'
import { OUR_FEATURES } from '../../base/features.js'
import type { Alarm, InstantMs, Machine } from '../../base/machine.js'
import { identity, type Identity, type ObjectId, type SchedulerId } from '../../base/ids.js'
import type {
  ClientDisconnect,
  ClientHeartbeat,
  GraphTask,
  Message,
  Task,
  TaskCancel,
} from '../../wire/message.js'
import { type StoredContent, storedContentOf } from '../../wire/object-content.js'
import { Balancer } from './worker/balance.js'
import {
  clientOf,
  dropSilentClients,
  onClientHeartbeat,
  onClientLost,
  removeClient,
} from './client/peer.js'
import type { ClientEntry, ObjectEntry } from './entries.js'
import type {
  Act,
  SchedulerAction,
  SchedulerCoreOptions,
  SchedulerEvent,
  SeenServer,
} from './events.js'
import { onTaskInquiry } from './monitor/explain.js'
import { cancelTarget, onGraphTask, onGraphTaskCancel } from './graph/graph.js'
import { settleGraphs } from './graph/settle.js'
import { dropsOutdated, onContentLost, onLossConfirmed, tellLosses } from './object/losses.js'
import { onObjectInstruction, answerRequest, noteObjects, sendRemovals } from './object/object.js'
import { stateFor } from './monitor/report.js'
import { publishScheduler } from './publication.js'
import { giveRoom } from './worker/waiting-limit.js'
import { metricsOf, type SchedulerMetrics } from './monitor/metrics.js'
import { ourEcho } from './output.js'
import { SchedulerState } from './state.js'
import { onTask } from './task/arrival.js'
import { assignLeased, assignNext, onTaskCancel } from './task/task.js'
import { onTaskOutput, onTaskUpdate } from './task/update.js'
import { onTaskResult } from './task/result.js'
import type { WorkerPool } from './worker/pool.js'
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

/**
 * At most this many assignments follow one event: thousands of idle workers and a long `map` would
 * otherwise hold up all other peers. The rest follow in later turns of the event loop.
 */
const MAX_ASSIGNMENTS = 256

/** What a scheduler that only stores objects refuses. */
const NOT_FOR_STORAGE: ReadonlySet<Message['kind']> = new Set([
  'task',
  'graphTask',
  'workerHeartbeat',
] as const)

/** Routes tasks to workers and results to clients, stores objects, and detects lost peers. */
export class SchedulerMachine implements Machine<SchedulerEvent, SchedulerAction> {
  readonly #state: SchedulerState
  /** Checks for silent peers. */
  readonly #sweep: Alarm
  readonly #removals: Alarm
  /** Due at once while more tasks could be assigned: its tick, like any event, assigns some. */
  readonly #assignments: Alarm
  readonly #balancer: Balancer
  #nextRemovals: InstantMs = 0
  /** Content that its server does not have, until the next tick. */
  readonly #missing: { readonly objectId: ObjectId; readonly content: StoredContent }[] = []
  readonly #missingAlarm: Alarm

  constructor(options: SchedulerCoreOptions) {
    this.#state = new SchedulerState(options)
    const { turn } = this.#state
    this.#sweep = turn.alarm((latenessMs) => this.#onSweep(latenessMs))
    this.#removals = turn.alarm(() => this.#tellRemovals())
    this.#assignments = turn.alarm(() => {})
    this.#missingAlarm = turn.alarm(() => this.#loseMissing())
    this.#balancer = new Balancer(this.#state)
  }

  /** See `SchedulerCoreOptions.schedulerId`. */
  get id(): SchedulerId {
    return this.#state.options.schedulerId
  }

  get deadline(): InstantMs | undefined {
    return this.#state.turn.nextAlarmAt
  }

  /** What is counted, for metrics. */
  get metrics(): SchedulerMetrics {
    return metricsOf(this.#state)
  }

  /** The sizes of the tables, without visitors: all zero once every peer has left. */
  get counts(): Readonly<Record<'clients' | 'tasks' | 'graphs' | 'objects', number>> {
    const { clients, tasks, graphWork, objects } = this.#state
    const graphs = graphWork.graphs.size
    const users = [...clients.values()].filter(({ isVisitor }) => !isVisitor)
    return { clients: users.length, tasks: tasks.size, graphs, objects: objects.count }
  }

  handle(event: SchedulerEvent, now: InstantMs, act: Act): void {
    this.#state.begin(now, act)
    switch (event.type) {
      case 'messageReceived':
        this.#onMessage(event.from, event.message)
        break
      case 'peerProgressed':
        this.#touch(event.peer)
        break
      case 'peerDisconnected':
        this.#onPeerDisconnected(event.peer)
        break
      case 'subscribersChanged':
        this.#state.output.hasSubscribers = event.count > 0
        break
      case 'statisticsSampled':
        publishScheduler(this.#state, event.scheduler, event.rssFree)
        this.#state.rates.sample(this.#state)
        this.#state.nearness.setServers(this.#machinesOf(event.storageServers ?? []))
        this.#state.monitors.sendStates((first) => stateFor(this.#state, event, first))
        break
      case 'movedToDisk':
        this.#state.objects.onMoved(event.move, event.file)
        break
      case 'moveFailed':
        this.#state.objects.onMoveFailed(event.move, event.error)
        break
      case 'serverLost':
        this.#onServerLost(event.address)
        break
      case 'contentMoved':
        this.#state.objects.moveStored(event.objectId, event.from, event.address)
        break
      case 'contentLost':
        this.#onMissing(event.objectId, event.content)
        break
      case 'responseOutdated':
        answerRequest(this.#state, event.peer, event.objectIds)
        break
      case 'tick':
        this.#state.turn.ring()
        break
      default:
        unreachable(event)
    }
    this.#afterEvent()
  }

  checkInvariants(): void {
    this.#state.checkInvariants(this.#assignments.isSet)
  }

  #onMessage(from: Identity, message: Message): void {
    const state = this.#state
    state.received.set(message.kind, (state.received.get(message.kind) ?? 0) + 1)
    if (state.options.isStorage === true && NOT_FOR_STORAGE.has(message.kind)) {
      return this.#refuse(from, message)
    }
    switch (message.kind) {
      case 'task':
        return this.#onTask(clientOf(state, from), message)
      case 'taskResult':
        this.#touch(from)
        return onTaskResult(state, from, message)
      case 'taskUpdate':
        this.#touch(from)
        return onTaskUpdate(state, from, message)
      case 'taskOutput':
        this.#touch(from)
        return onTaskOutput(state, from, message)
      case 'taskCancel':
        return this.#onTaskCancel(from, message)
      case 'taskInquiry':
        return onTaskInquiry(state, clientOf(state, from), message)
      case 'monitorRequest':
        this.#touch(from)
        return state.monitors.onRequest(from, message)
      case 'operatorRequest':
        this.#touch(from)
        return state.operators.onRequest(from, message)
      case 'allocatorReport':
        this.#touch(from)
        return state.allocators.onReport(from, message)
      case 'operatorAnswer':
        this.#touch(from)
        return state.operators.onAnswer(from, message)
      case 'graphTask':
        return this.#onGraphTask(clientOf(state, from), message)
      case 'graphTaskCancel':
        return onGraphTaskCancel(state, clientOf(state, from), message)
      case 'objectInstruction':
        this.#touch(from)
        return onObjectInstruction(state, message)
      case 'objectRequest':
        this.#touch(from)
        if (message.requestType === 'note') return noteObjects(state, from, message.objectIds)
        return answerRequest(state, from, message.objectIds)
      case 'sharedObject':
        return state.shared.onMessage(clientOf(state, from), message)
      case 'clientHeartbeat':
        return this.#onClientHeartbeat(from, message)
      case 'objectLoss':
        this.#touch(from)
        return onLossConfirmed(state, from)
      case 'workerHeartbeat':
        return onWorkerHeartbeat(state, from, message)
      case 'disconnectRequest':
        return onDisconnectRequest(state, from, message)
      case 'clientDisconnect':
        return this.#onClientDisconnect(from, message)
      default:
        state.blame('ignored a message that no peer should send', {
          peer: from,
          kind: message.kind,
        })
    }
  }

  /** This is an object storage server. Its own peers, which only store objects, send no such. */
  #refuse(peer: Identity, { kind }: Message): void {
    const { turn } = this.#state
    const text = 'refused a peer that needs a scheduler; this is an object storage server'
    turn.log('warn', text, { peer, kind })
    if (kind === 'workerHeartbeat') {
      const answer = ourEcho(this.#state, OUR_FEATURES)
      return this.#state.output.send(peer, { kind: 'workerHeartbeatEcho', ...answer })
    }
    turn.act({ type: 'disconnect', peer, reason: 'this is an object storage server' })
  }

  /** Together with others that are found missing now: each time, all tasks are looked at. */
  #onMissing(objectId: ObjectId, content: StoredContent): void {
    this.#missing.push({ objectId, content })
    this.#missingAlarm.set(this.#state.turn.now)
  }

  /** Objects may have got other content since. */
  #loseMissing(): void {
    const lost = this.#missing.splice(0).flatMap(({ objectId, content: { address, id } }) => {
      const entry = this.#state.objects.get(objectId)
      const content = entry?.type === 'stored' ? storedContentOf(entry.chunks) : undefined
      return content?.id === id && content.address === address && entry ? [entry] : []
    })
    onContentLost(this.#state, [...new Set(lost)], 'servers do not have their content')
  }

  /** The machines of servers, by their addresses, as far as they have told theirs. */
  #machinesOf(servers: readonly SeenServer[]): ReadonlyMap<string, string> {
    const machines = new Map<string, string>()
    for (const { address, registrant = identity('') } of servers) {
      const machine = this.#state.clients.get(registrant)?.info?.machineId
      if (machine !== undefined) machines.set(address, machine)
    }
    return machines
  }

  #onServerLost(address: string): void {
    const lost: ObjectEntry[] = []
    const entries = this.#state.objects.values()
    for (let next = entries.next(); next.done !== true; next = entries.next()) {
      const { type, chunks } = next.value
      if (type === 'stored' && storedContentOf(chunks)?.address === address) lost.push(next.value)
    }
    onContentLost(this.#state, lost, `the object storage server ${address} is gone`)
  }

  #onTask(client: ClientEntry, message: Task): void {
    if (!dropsOutdated(this.#state, client, message)) onTask(this.#state, client, message)
  }

  #onGraphTask(client: ClientEntry, message: GraphTask): void {
    if (!dropsOutdated(this.#state, client, message)) onGraphTask(this.#state, client, message)
  }

  #onClientHeartbeat(from: Identity, message: ClientHeartbeat): void {
    const { clients } = this.#state
    const isBack = clients.get(from)?.isConnected === false
    onClientHeartbeat(this.#state, from, message)
    const client = clients.get(from)
    if (isBack && client !== undefined) tellLosses(this.#state, client)
  }

  #onTaskCancel(from: Identity, message: TaskCancel): void {
    const client = clientOf(this.#state, from)
    if (message.count <= 1 && cancelTarget(this.#state, client, message.taskId)) return
    onTaskCancel(this.#state, client, message)
  }

  /** Any message from a peer shows that it is alive. */
  #touch(peer: Identity): void {
    const worker = this.#state.workers.get(peer)
    if (worker !== undefined) {
      worker.silence.heard(this.#state.turn.now)
      return
    }
    const client = this.#state.clients.get(peer)
    if (client !== undefined) client.lastSeen = this.#state.turn.now
  }

  /**
   * A worker's tasks go to other workers immediately, unless it was cut off because this scheduler
   * stood still; the end of its connection may be read before the alarm that is late. A client of
   * this version gets a few seconds to reconnect; it then resubmits its unfinished tasks, so
   * nothing more is lost if it returns later. A 1.9.9 client does not notice a lost connection, so
   * the normal client timeout applies.
   */
  #onPeerDisconnected(peer: Identity): void {
    this.#state.noteLateness(this.#state.turn.now - this.#sweep.at)
    const worker = this.#state.workers.get(peer)
    if (worker !== undefined) removeWorker(this.#state, worker, 'lost its connection')
    const client = this.#state.clients.get(peer)
    if (client === undefined) return
    this.#state.monitors.leave(client)
    this.#state.operators.leave(client)
    this.#state.allocators.leave(client)
    if (client.runtime === 'python') return
    onClientLost(this.#state, client)
    for (const graph of client.graphs.values()) graph.onLinkLost()
    const { turn, options } = this.#state
    const lastSeen = turn.now - options.clientTimeoutMs + CLIENT_RETURN_MS
    client.lastSeen = Math.min(client.lastSeen, lastSeen)
  }

  /** A client leaves, or requests the shutdown of the cluster. docs/protocol.md#disconnect */
  #onClientDisconnect(from: Identity, { disconnectType }: ClientDisconnect): void {
    const { clients, workers, options, output, turn } = this.#state
    if (disconnectType !== 'shutdown') {
      const client = clients.get(from)
      if (client !== undefined) removeClient(this.#state, client, 'disconnected')
      return
    }
    const accepted = !options.isProtected
    turn.log('info', accepted ? 'shutdown' : 'refused a shutdown', { client: from })
    output.send(from, { kind: 'clientShutdownResponse', accepted })
    if (!accepted) return
    for (const { identity, features } of clients.values()) {
      // Those of 1.9.9 do not expect it.
      if (identity !== from && features !== 0)
        output.send(identity, { kind: 'clientShutdownResponse', accepted })
    }
    for (const worker of workers.values()) {
      output.send(worker.identity, { kind: 'clientDisconnect', disconnectType: 'shutdown' })
      removeWorker(this.#state, worker, 'shut down')
    }
    turn.act({ type: 'stop', reason: 'a client shut the cluster down' })
  }

  /** `latenessMs`: how much later than planned this sweep is. */
  #onSweep(latenessMs: number): void {
    this.#sweep.set(this.#state.turn.now + SWEEP_INTERVAL_MS)
    this.#state.noteLateness(latenessMs)
    // Everything that arrived in the meantime will have been read before the next sweep.
    if (latenessMs > SWEEP_INTERVAL_MS) return this.#forgive(latenessMs)
    dropSilentClients(this.#state)
    dropSilentWorkers(this.#state)
    this.#state.waiting.tell()
  }

  /** This process was stalled: messages that arrived meanwhile may still be unread. */
  #forgive(lateMs: number): void {
    const { clients, workers, turn } = this.#state
    for (const client of clients.values()) {
      client.lastSeen = Math.min(turn.now, client.lastSeen + lateMs)
    }
    for (const worker of workers.values()) worker.silence.forgive(lateMs, turn.now)
  }

  #afterEvent(): void {
    const { clients, workers, pools, objects, turn } = this.#state
    this.#assignments.clear()
    this.#assign(pools.javascript)
    this.#assign(pools.python)
    if (!this.#assignments.isSet) this.#balancer.update()
    this.#state.waiting.update()
    this.#state.allocators.update()
    giveRoom(this.#state)
    this.#state.monitors.flush()
    if (objects.hasRemovals) this.#tellRemovals()
    if (clients.size === 0 && workers.size === 0) this.#sweep.clear()
    else if (!this.#sweep.isSet) this.#sweep.set(turn.now + SWEEP_INTERVAL_MS)
  }

  /**
   * Assigns tasks while any wait and a worker has room. Each one may let a graph queue others. A
   * task whose worker has already begun it never waits.
   */
  #assign(pool: WorkerPool): void {
    let left = MAX_ASSIGNMENTS
    do settleGraphs(this.#state)
    while (assignLeased(this.#state) || (left-- > 0 && assignNext(this.#state, pool)))
    if (left < 0) this.#assignments.set(this.#state.turn.now)
  }

  /** Notifies workers of removed objects: immediately, unless that was done a moment ago. */
  #tellRemovals(): void {
    const { objects, turn } = this.#state
    if (turn.now >= this.#nextRemovals) {
      this.#nextRemovals = turn.now + REMOVAL_INTERVAL_MS
      sendRemovals(this.#state)
    }
    if (objects.hasRemovals) this.#removals.set(this.#nextRemovals)
  }
}

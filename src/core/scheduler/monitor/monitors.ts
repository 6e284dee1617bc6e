// Monitors of this version: clients that request events. Each receives as many messages as it has
// given credit for. Events without credit are kept for a while, for all monitors together, and then
// dropped. Without monitors nothing is recorded except failures, which are few. Reports are long
// work (graph/work.ts): a turn sends what its budget allows, one message to each monitor in turn.
// docs/protocol.md#monitors

import { FEATURE_MONITORS, FEATURE_OPERATORS, hasFeature } from '../../../base/features.js'
import type { Identity, TaskId } from '../../../base/ids.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import { Recurrence } from '../../../base/recurrence.js'
import type {
  GraphReport,
  MonitorReport,
  MonitorRequest,
  MonitorState,
  TaskStatus,
} from '../../../wire/message.js'
import type { ClientEntry, TaskEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { Budget } from '../publication.js'
import type { Worklist } from '../graph/work.js'
import {
  type EndedGraph,
  endedGraphs,
  endedReport,
  graphReports,
  newRoom,
  type ReportRoom,
} from '../graph/shape.js'
import { type Ended, endedOf, failureOf, type TaskEnding } from './ended.js'
import { History, nextOf, NO_NEWS, type News } from './history.js'
import { type Change, eventsOf, isTask, Peers } from './peers.js'
import { hasFailed } from '../../function-tally.js'

/** Maximum number of events that are kept for slow monitors. */
const MAX_EVENTS = 10_000

/**
 * Rate limit for events: above it, monitors would take a share of the throughput that they observe.
 */
const EVENT_RATE = { perMs: 5, burst: 5_000 } as const

const MAX_FAILURES = 1_000
const MAX_MONITORS = 100

/** Maximum credit of a monitor: the messages that it has not read yet. */
const MAX_CREDIT = 32

/** Maximum items in one message. */
const MOST = { events: 500, failures: 50 } as const

/** Maximum delay of an event. */
const DELAY_MS = 100

/** Minimum interval between further states of one second: they are costly in a large cluster. */
const STATE_INTERVAL_MS = 20

/** With more monitors than this, the interval is shorter, so that each gets its states in time. */
const FULL_INTERVAL_MONITORS = 20

/** The cost of a report with its encoding, in the steps of `GraphWork`, of about 0.1 µs. */
const COST = { message: 500, state: 5_000, item: 15, failure: 200 } as const

/** How many states a monitor gets a second, at most, while there are more rows than fit in one. */
const STATES_PER_SECOND = 2

/** Rate limit for the texts of failures, in characters, for all monitors together. */
const FAILURE_TEXT = { perMs: 1_000, burst: 250_000 } as const

/** The cost of a failure besides its texts, in characters. */
const FAILURE_LENGTH = 200

/** Minimum interval between log lines about too many monitors. */
const REFUSAL_INTERVAL_MS = 60_000

/** The first rows of a state message. */
export interface FirstRows {
  readonly firstWorker: number
  readonly firstClient: number
}

/** A subscribed client. Numbers are those of the next item to send; undefined: none is wanted. */
interface Monitor {
  readonly client: Identity
  credit: number
  events: number | undefined
  /** The number of skipped events that was last reported to it. */
  skippedEvents: number
  wantsFailures: boolean
  /** Undefined if it never requested failures. */
  failures: number | undefined
  graphs: number | undefined
  /** The first rows of its next state message. */
  firstWorker: number
  firstClient: number
  /** How many states it gets before the next second; all of them when it has just subscribed. */
  statesLeft: number
  /** Whether it has not received the state of this second yet. */
  isStateDue: boolean
  /** Whether it can know all peers: a state has listed each since it missed a change. */
  peers: 'unwanted' | 'unknown' | 'listing' | 'known'
}

/** All monitors. */
export class Monitors {
  readonly #byClient = new Map<ClientEntry, Monitor>()
  readonly #events = new History<Ended | Change>(MAX_EVENTS)
  readonly #failures = new History<Ended>(MAX_FAILURES)
  readonly #graphs: History<EndedGraph> = endedGraphs()
  readonly #eventRate = new Budget(EVENT_RATE.perMs, EVENT_RATE.burst)
  /** Events above the rate limit, since the start. */
  #skippedEvents = 0
  readonly #failureText = new Budget(FAILURE_TEXT.perMs, FAILURE_TEXT.burst)
  readonly #refusals = new Recurrence(REFUSAL_INTERVAL_MS)
  readonly #state: SchedulerState
  readonly #alarm: Alarm
  /** Whether messages are sent after this event. */
  #isDue = false
  /** Those that may get a message now; the next one is first. Invariant: each is subscribed. */
  readonly #queue = new Set<Monitor>()
  readonly #work: Worklist = { advance: () => this.#advance() }
  /** The present state, with the resource usage of the last second; undefined before the first. */
  #stateFor: ((first: FirstRows) => MonitorState) | undefined
  /** No monitor receives a further state of the same second before this time. */
  #nextState: InstantMs = -Infinity
  /** Whether events are recorded, because a monitor requested them. */
  wantsEvents = false
  /** Whether a monitor requested graphs. */
  wantsGraphs = false
  /** Those that join and leave. */
  readonly peers: Peers

  constructor(state: SchedulerState) {
    this.#state = state
    this.#alarm = state.turn.alarm(() => (this.#isDue = true))
    const pass = (change: Change): void => {
      this.#events.push(change)
      this.#tellSoon()
    }
    this.peers = new Peers(state, pass, (table) => this.#onRemoval(table))
  }

  /** A client subscribes, changes its subscription, or adds credit. */
  onRequest(from: Identity, message: MonitorRequest): void {
    const state = this.#state
    const client = state.clients.get(from)
    if (client === undefined || !hasFeature(client.features, FEATURE_MONITORS)) {
      const fields = { client: from }
      state.turn.log('debug', 'ignored a monitor without the feature', fields)
      return
    }
    const known = this.#byClient.get(client)
    const monitor = known ?? this.#subscribe(client)
    if (monitor === undefined) return
    const { credit, wantsEvents, wantsFailures, failuresAfter, wantsGraphs } = message
    monitor.credit = Math.min(MAX_CREDIT, monitor.credit + credit)
    if (monitor.events === undefined) monitor.skippedEvents = this.#skippedEvents
    if (!wantsEvents || !message.wantsPeers) monitor.peers = 'unwanted'
    else if (monitor.peers === 'unwanted') monitor.peers = 'unknown'
    monitor.events = wantsEvents ? (monitor.events ?? this.#events.end) : undefined
    monitor.wantsFailures = wantsFailures
    monitor.graphs = wantsGraphs ? (monitor.graphs ?? this.#graphs.start) : undefined
    if (wantsFailures) monitor.failures ??= Math.min(failuresAfter, this.#failures.end)
    this.#onWishes()
    // A monitor that adds one credit per message must not get a message for each task.
    if (known === undefined || this.#hasFullMessage(monitor)) this.#isDue = true
    else this.#alarm.setBy(state.turn.now + DELAY_MS)
  }

  /** Removes a client that left or disconnected: it subscribes again when it reconnects. */
  leave(client: ClientEntry): void {
    const monitor = this.#byClient.get(client)
    if (monitor === undefined) return
    this.#byClient.delete(client)
    this.#queue.delete(monitor)
    this.#onWishes()
  }

  /**
   * How many of the tasks that end with this status together have to be passed to `onEnded`. The
   * rest exceed the rate limit and are counted here.
   */
  admit(status: TaskStatus, tasks: number): number {
    if (hasFailed(status)) return tasks
    if (!this.wantsEvents) return 0
    const room = Math.floor(this.#eventRate.room(this.#state.turn.now))
    const admitted = Math.max(0, Math.min(tasks, room))
    this.#skippedEvents += tasks - admitted
    return admitted
  }

  /** A task has ended. */
  onEnded(task: TaskEntry, ending: TaskEnding): void {
    const isEvent = this.wantsEvents && this.#eventRate.has(1, this.#state.turn.now)
    const isFailure = hasFailed(ending.result.status)
    if (this.wantsEvents && !isEvent) this.#skippedEvents += 1
    if (!isEvent && !isFailure) return
    const ended = endedOf(this.#state, task, ending)
    if (isFailure) this.#failures.push(ended)
    if (isEvent) {
      this.#eventRate.spend(1)
      this.#events.push(ended)
    }
    if (this.#byClient.size > 0) this.#tellSoon()
  }

  /** A graph is about to end. */
  onGraphEnded(reportFor: (room: ReportRoom) => GraphReport): void {
    if (!this.wantsGraphs) return
    this.#graphs.push({ report: reportFor(newRoom()), endAt: this.#state.turn.now })
  }

  /** At most `most` of the ended tasks that are kept, those with these ids; each once. */
  endedWhere(isMeant: (id: TaskId) => boolean, most: number): readonly Ended[] {
    const found = new Map<TaskId, Ended>()
    for (const history of [this.#failures, this.#events]) {
      for (const ended of history.slice(history.start, MAX_EVENTS)) {
        if (isTask(ended) && isMeant(ended.taskId)) found.set(ended.taskId, ended)
        if (found.size >= most) return [...found.values()]
      }
    }
    return [...found.values()]
  }

  /** Sends what is due, as far as the budget of this turn allows. Called after each event. */
  flush(): void {
    this.peers.settle()
    if (!this.#isDue) return
    this.#isDue = false
    this.#alarm.clear()
    for (const monitor of this.#byClient.values()) this.#queue.add(monitor)
    this.#state.graphWork.begin(this.#work)
  }

  /** Sends the state of everything to all monitors that have credit, in this turn or soon. */
  sendStates(stateFor: (first: FirstRows) => MonitorState): void {
    this.#stateFor = stateFor
    for (const monitor of this.#byClient.values()) {
      monitor.statesLeft = Math.max(monitor.statesLeft, STATES_PER_SECOND)
      monitor.isStateDue = true
    }
    this.#isDue = this.#byClient.size > 0
  }

  /**
   * Sends the present state to some monitors soon, besides those of every second: an allocator
   * can start workers for tasks that wait.
   */
  hurry(isMeant: (client: ClientEntry) => boolean): void {
    for (const [client, monitor] of this.#byClient) {
      if (!isMeant(client)) continue
      monitor.statesLeft = Math.max(monitor.statesLeft, 1)
      this.#isDue = true
    }
  }

  /** One message to each in turn, until nothing may be sent now or the budget is used up. */
  #advance(): boolean {
    const { graphWork, turn } = this.#state
    // A monitor that is added again comes last.
    for (const monitor of this.#queue) {
      if (graphWork.left <= 0) return false
      this.#queue.delete(monitor)
      if (this.#tellNext(monitor, turn.now)) this.#queue.add(monitor)
    }
    return true
  }

  /** Returns whether it got a message: there may be another one. */
  #tellNext(monitor: Monitor, now: InstantMs): boolean {
    const { isStateDue, statesLeft } = monitor
    monitor.isStateDue = false
    if (monitor.credit === 0) return false
    if (isStateDue) return this.#tellState(monitor)
    if (this.#mayTell(monitor, now)) {
      this.#tell(monitor, [])
      return true
    }
    if (this.#hasFailures(monitor)) this.#alarm.setBy(now + DELAY_MS)
    // A monitor that has all failures need not wait for the next second.
    else if (statesLeft > 0 && now >= this.#nextState) return this.#tellState(monitor)
    else if (statesLeft > 0) this.#alarm.setBy(this.#nextState)
    return false
  }

  #tellState(monitor: Monitor): boolean {
    if (this.#stateFor === undefined) return false
    const told = this.#stateFor(monitor)
    monitor.firstWorker = nextRow(told.firstWorker, told.workerReports.length, told.workers)
    monitor.firstClient = nextRow(told.firstClient, told.clientReports.length, told.clients)
    const hasAllRows = monitor.firstWorker === 0 && monitor.firstClient === 0
    monitor.statesLeft = hasAllRows ? 0 : monitor.statesLeft - 1
    const sharers = Math.max(1, this.#byClient.size / FULL_INTERVAL_MONITORS)
    this.#nextState = this.#state.turn.now + STATE_INTERVAL_MS / sharers
    this.#tell(monitor, [{ ...told, graphs: this.#nextGraphs(monitor) }])
    return true
  }

  /** Those that have not ended, and those that have ended since the last state. */
  #nextGraphs(monitor: Monitor): readonly GraphReport[] {
    if (monitor.graphs === undefined) return []
    const { turn } = this.#state
    const { items, to } = nextOf(this.#graphs, monitor.graphs, Infinity)
    monitor.graphs = to
    return [...graphReports(this.#state), ...items.map((ended) => endedReport(ended, turn.now))]
  }

  #subscribe(client: ClientEntry): Monitor | undefined {
    const { identity: id } = client
    const { turn } = this.#state
    if (this.#byClient.size >= MAX_MONITORS) {
      const count = this.#refusals.note(turn.now)
      const fields = { client: id, limit: MAX_MONITORS, requests: count }
      if (count > 0) turn.log('warn', 'refused a monitor: there are too many', fields)
      const note = `it serves at most ${MAX_MONITORS} monitors at a time`
      if (hasFeature(client.features, FEATURE_OPERATORS)) this.#state.operators.refuse(client, note)
      return undefined
    }
    const none = { events: undefined, skippedEvents: 0, wantsFailures: false, failures: undefined }
    const rows = { graphs: undefined, firstWorker: 0, firstClient: 0, statesLeft: Infinity }
    const nothing = { isStateDue: false, peers: 'unwanted' } as const
    const monitor: Monitor = { client: id, credit: 0, ...none, ...rows, ...nothing }
    this.#byClient.set(client, monitor)
    turn.log('debug', 'a client subscribed as a monitor', { client: id })
    return monitor
  }

  /** The rows behind the one that leaves move up: the next part must not skip any of them. */
  #onRemoval(table: 'worker' | 'client'): void {
    const first = table === 'worker' ? 'firstWorker' : 'firstClient'
    for (const each of this.#byClient.values()) each[first] = Math.max(0, each[first] - 1)
  }

  /** Something has happened: monitors get it with others, unless that fills a message. */
  #tellSoon(): void {
    if (this.#events.end % MOST.events === 0) this.#isDue = true
    else this.#alarm.setBy(this.#state.turn.now + DELAY_MS)
  }

  #onWishes(): void {
    this.wantsEvents = [...this.#byClient.values()].some(({ events }) => events !== undefined)
    if (!this.wantsEvents) this.#events.clear()
    this.peers.isWanted = [...this.#byClient.values()].some(({ peers }) => peers !== 'unwanted')
    this.wantsGraphs = [...this.#byClient.values()].some(({ graphs }) => graphs !== undefined)
    if (!this.wantsGraphs) this.#graphs.clear()
  }

  #hasFullMessage({ events, failures }: Monitor): boolean {
    const pending = (next: number | undefined, end: number): number => end - (next ?? end)
    return (
      pending(events, this.#events.end) >= MOST.events ||
      pending(failures, this.#failures.end) >= MOST.failures
    )
  }

  /** Whether there is something to send, and it may be sent now. */
  #mayTell(monitor: Monitor, now: InstantMs): boolean {
    const { credit, events } = monitor
    const hasEvents = events !== undefined && events < this.#events.end
    const hasFailures = this.#hasFailures(monitor) && this.#failureText.has(FAILURE_LENGTH, now)
    return credit > 0 && (hasEvents || hasFailures)
  }

  #hasFailures({ credit, wantsFailures, failures }: Monitor): boolean {
    return credit > 0 && wantsFailures && failures !== undefined && failures < this.#failures.end
  }

  /** The next failures of a monitor, as far as they may be sent now. */
  #nextFailures({ wantsFailures, failures }: Monitor, now: InstantMs): News<Ended> {
    if (!wantsFailures || !this.#failureText.has(FAILURE_LENGTH, now)) return NO_NEWS
    const { items, ...news } = nextOf(this.#failures, failures, MOST.failures)
    let count = 0
    // The last one may exceed the budget: the next ones wait until it has recovered.
    while (count < items.length && this.#failureText.has(FAILURE_LENGTH, now)) {
      this.#failureText.spend(lengthOf(items[count]))
      count += 1
    }
    return { ...news, items: items.slice(0, count), to: news.from + count }
  }

  /** A monitor has received a state, and the events of the same message. */
  #noteListed(monitor: Monitor, { firstWorker, firstClient }: MonitorState): void {
    if (monitor.peers === 'unknown' && firstWorker === 0 && firstClient === 0) {
      monitor.peers = 'listing'
    }
    const hasAllRows = monitor.firstWorker === 0 && monitor.firstClient === 0
    const isUpToDate = monitor.events === this.#events.end && !this.peers.hasMissing
    if (monitor.peers === 'listing' && hasAllRows && isUpToDate) monitor.peers = 'known'
  }

  #tell(monitor: Monitor, states: readonly MonitorState[]): void {
    const { output, turn } = this.#state
    const { now } = turn
    const news = nextOf(this.#events, monitor.events, MOST.events)
    const { count, ...lists } = eventsOf(news.items, monitor.peers !== 'unwanted', now)
    const failures = this.#nextFailures(monitor, now)
    const message: MonitorReport = {
      kind: 'monitorReport',
      states,
      ...lists,
      lostEvents: news.lost + (news === NO_NEWS ? 0 : this.#skippedEvents - monitor.skippedEvents),
      failures: failures.items.map((ended, index) => {
        return failureOf(ended, failures.from + index + 1, now)
      }),
      lostFailures: failures.lost,
      hasAllPeers: news.lost === 0 && monitor.peers === 'known',
    }
    if (monitor.events !== undefined) monitor.events = news.from + count
    if (news.lost > 0 && monitor.peers !== 'unwanted') monitor.peers = 'unknown'
    for (const state of states) this.#noteListed(monitor, state)
    monitor.skippedEvents = this.#skippedEvents
    if (failures !== NO_NEWS) monitor.failures = failures.to
    monitor.credit -= 1
    output.send(monitor.client, message)
    this.#state.graphWork.left -= costOf(message)
  }
}

function lengthOf(failure: Ended | undefined): number {
  const { name = '', message = '', stack = '' } = failure?.error ?? {}
  return FAILURE_LENGTH + name.length + message.length + stack.length
}

function costOf({ states, events, peers, failures }: MonitorReport): number {
  const items = events.length + peers.length
  const base = COST.message + COST.item * items + COST.failure * failures.length
  return states.reduce((sum, state) => sum + COST.state + COST.item * itemsOf(state), base)
}

/** How much is listed in a state. */
function itemsOf({
  workerReports,
  clientReports,
  graphs,
  allocators,
  ...state
}: MonitorState): number {
  let count = clientReports.length + state.functions.length + state.waitingCounts.length
  for (const { capabilities, running } of workerReports) {
    count += 1 + capabilities.length + running.length
  }
  for (const { nodes, edges } of graphs) count += 1 + nodes.length + edges.length
  for (const { offers } of allocators) count += 1 + offers.length
  return count
}

/** The first row of the next message. */
function nextRow(first: number, told: number, all: number): number {
  return first + told >= all ? 0 : first + told
}

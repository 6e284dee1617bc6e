// One monitor's side of the conversation with a scheduler: it introduces itself, stays alive by
// heartbeats, and gives credit for as many reports as its reader takes. docs/protocol.md#monitors

import { unreachable } from '../../base/assert.js'
import {
  FEATURE_ALLOCATORS,
  FEATURE_MONITORS,
  FEATURE_OPERATORS,
  hasFeature,
} from '../../base/features.js'
import type { SchedulerId } from '../../base/ids.js'
import {
  type Alarm,
  type InstantMs,
  type LogAction,
  type Machine,
  Turn,
} from '../../base/machine.js'
import type {
  AllocatorStatus,
  ClientHeartbeatEcho,
  Message,
  MonitorReport,
  OperatorAnswer,
  OperatorRequest,
  SchedulerReport,
} from '../../wire/message.js'

/** What a monitor receives. */
export interface MonitorWishes {
  /** Each task that ends, and who joins and leaves. */
  readonly events: boolean
  /** Failures with their texts: those that the scheduler keeps, and further ones. */
  readonly failures: boolean
  /** Graphs, with each state. */
  readonly graphs?: boolean
}

/** Settings of one monitor. */
interface MonitorCoreOptions {
  /** Undefined: no reports. */
  readonly wishes: MonitorWishes | undefined
  readonly heartbeatIntervalMs: number
}

/** Facts. */
export type MonitorEvent =
  | { readonly type: 'connected' }
  | { readonly type: 'disconnected' }
  | { readonly type: 'messageReceived'; readonly message: Message }
  /** The reader has taken all of one report. */
  | { readonly type: 'reportRead' }
  /** A question or an order; sent again after a lost connection, until it is answered. */
  | { readonly type: 'requested'; readonly request: OperatorRequest }
  /** This monitor is an allocator, and says so while there is a scheduler that understands it. */
  | { readonly type: 'announced'; readonly status: AllocatorStatus }
  /** It answers an order. */
  | { readonly type: 'answered'; readonly answer: OperatorAnswer }
  | { readonly type: 'tick' }

/** What the shell carries out. */
export type MonitorAction =
  | { readonly type: 'send'; readonly message: Message }
  /** The shell adds what the process uses. */
  | { readonly type: 'sendHeartbeat' }
  /** The scheduler has said what it is. */
  | { readonly type: 'greet'; readonly report: SchedulerReport }
  /** `isFirst`: it is the first of another scheduler, so that nothing from before holds. */
  | { readonly type: 'report'; readonly report: MonitorReport; readonly isFirst: boolean }
  | { readonly type: 'answer'; readonly answer: OperatorAnswer }
  /** An order for an allocator. */
  | { readonly type: 'order'; readonly request: OperatorRequest }
  /** The scheduler cannot serve monitors of this kind: it is one of Python Scaler. */
  | { readonly type: 'refuse' }
  /** It has no room for another one, and says why. It is asked again after each heartbeat. */
  | { readonly type: 'crowded'; readonly note: string }
  | LogAction

/** Reports that may be on their way or unread. */
const CREDIT = 4

/** Requests that may be open: the scheduler refuses more. docs/protocol.md#operators */
const MAX_OPEN = 16

/** The number of an answer to requests for reports. docs/protocol.md#monitors */
const NO_REPORTS = 0

/** One monitor. It goes on after a lost connection, and with the next scheduler. */
export class MonitorMachine implements Machine<MonitorEvent, MonitorAction> {
  readonly #options: MonitorCoreOptions
  readonly #turn = new Turn<MonitorAction>()
  readonly #heartbeat: Alarm
  #schedulerId: SchedulerId | undefined
  /** The number of the last failure that was received from this scheduler. */
  #lastFailure = 0
  /** Reports that the scheduler may still send on this connection. */
  #credit = 0
  /** Whether the scheduler has had no room for this monitor since the last report. */
  #isCrowded = false
  /** Reports that were received and have not been read. */
  #unread = 0
  /** Whether the next report is the first of this scheduler. */
  #isFirst = true
  /** What has not been answered, by number. */
  readonly #requests = new Map<number, OperatorRequest>()
  /** Those that were sent on this connection. Invariant: the first of `#requests`. */
  readonly #open = new Set<number>()
  /** Whether the scheduler at the other end of this connection takes requests. */
  #takesRequests = false
  /** The same for what allocators announce. */
  #takesAllocators = false

  constructor(options: MonitorCoreOptions) {
    this.#options = options
    this.#heartbeat = this.#turn.alarm(() => this.#beat())
  }

  get deadline(): InstantMs | undefined {
    return this.#turn.nextAlarmAt
  }

  handle(event: MonitorEvent, now: InstantMs, act: (action: MonitorAction) => void): void {
    this.#turn.begin(now, act)
    switch (event.type) {
      case 'connected':
        this.#credit = 0
        return this.#beat()
      case 'disconnected':
        this.#credit = 0
        this.#takesRequests = false
        this.#open.clear()
        this.#takesAllocators = false
        return this.#heartbeat.clear()
      case 'messageReceived':
        return this.#onMessage(event.message)
      case 'reportRead':
        this.#unread -= 1
        return this.#giveCredit()
      case 'requested':
        this.#requests.set(event.request.number, event.request)
        return this.#sendRequests()
      case 'announced':
        if (!this.#takesAllocators) return
        return this.#send({ kind: 'allocatorReport', allocator: event.status })
      case 'answered':
        return this.#takesAllocators ? this.#send(event.answer) : undefined
      case 'tick':
        return this.#turn.ring()
      default:
        return unreachable(event)
    }
  }

  checkInvariants(): void {
    this.#turn.checkInvariants()
  }

  #beat(): void {
    this.#turn.act({ type: 'sendHeartbeat' })
    this.#heartbeat.set(this.#turn.now + this.#options.heartbeatIntervalMs)
  }

  #onMessage(message: Message): void {
    if (message.kind === 'clientHeartbeatEcho') return this.#onEcho(message)
    if (message.kind === 'monitorReport') return this.#onReport(message)
    if (message.kind === 'operatorAnswer') return this.#onAnswer(message)
    if (message.kind === 'operatorRequest') {
      return this.#turn.act({ type: 'order', request: message })
    }
    this.#turn.log('warn', 'ignored a message that is not for monitors', { kind: message.kind })
  }

  #onEcho({ schedulerId, features, reports }: ClientHeartbeatEcho): void {
    const [report] = reports
    if (report !== undefined) this.#turn.act({ type: 'greet', report })
    if (!hasFeature(features, FEATURE_MONITORS)) return this.#turn.act({ type: 'refuse' })
    if (schedulerId !== this.#schedulerId) {
      this.#schedulerId = schedulerId
      this.#lastFailure = 0
      this.#isFirst = true
    }
    this.#giveCredit()
    this.#takesAllocators = hasFeature(features, FEATURE_ALLOCATORS)
    if (this.#takesRequests) return
    this.#takesRequests = hasFeature(features, FEATURE_OPERATORS)
    if (this.#requests.size === 0) return
    if (!this.#takesRequests) return this.#turn.act({ type: 'refuse' })
    this.#sendRequests()
  }

  /** Each answer makes room for another one. */
  #sendRequests(): void {
    if (!this.#takesRequests) return
    for (const [number, request] of this.#requests) {
      if (this.#open.size >= MAX_OPEN) return
      if (this.#open.has(number)) continue
      this.#open.add(number)
      this.#send(request)
    }
  }

  #onAnswer(answer: OperatorAnswer): void {
    if (answer.number === NO_REPORTS) return this.#onCrowded(answer.note)
    if (!this.#requests.delete(answer.number)) return
    this.#open.delete(answer.number)
    this.#turn.act({ type: 'answer', answer })
    this.#sendRequests()
  }

  #onCrowded(note: string): void {
    if (this.#credit === 0) return
    this.#credit = 0
    if (!this.#isCrowded) this.#turn.act({ type: 'crowded', note })
    this.#isCrowded = true
  }

  #send(message: Message): void {
    this.#turn.act({ type: 'send', message })
  }

  #onReport(report: MonitorReport): void {
    this.#credit -= 1
    this.#unread += 1
    this.#isCrowded = false
    this.#lastFailure = report.failures.at(-1)?.number ?? this.#lastFailure
    const isFirst = this.#isFirst
    this.#isFirst = false
    this.#turn.act({ type: 'report', report, isFirst })
  }

  #giveCredit(): void {
    const { wishes } = this.#options
    const credit = CREDIT - this.#credit - this.#unread
    if (wishes === undefined) return
    if (this.#schedulerId === undefined || !this.#heartbeat.isSet || credit <= 0) return
    this.#credit += credit
    this.#send({
      kind: 'monitorRequest',
      credit,
      wantsEvents: wishes.events,
      wantsFailures: wishes.failures,
      failuresAfter: this.#lastFailure,
      wantsGraphs: wishes.graphs ?? false,
      wantsPeers: wishes.events,
    })
  }
}

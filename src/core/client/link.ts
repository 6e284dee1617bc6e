// The connection of a client, as its machine sees it: its state, when heartbeats are due, and what
// an answering scheduler can be expected to know. docs/protocol.md#heartbeat

import { schedulerId, type SchedulerId } from '../../base/ids.js'
import { Heartbeat } from '../../base/heartbeat.js'
import type { InstantMs } from '../../base/machine.js'
import type { ClientHeartbeatEcho, ObjectResponse } from '../../wire/message.js'
import { type ClientCoreOptions, type ClientTurn, send } from './events.js'
import { requestMessage } from './messages.js'

// The states of the connection to the scheduler, as a table: from a state and a fact to the next
// state.

/**
 * `connecting`: there is no connection. `greeting`: a heartbeat was sent, its echo has not arrived,
 * and nothing else may be sent. `asking`: the scheduler was asked whether it still has the objects
 * of this client. `open`: tasks flow. `closing`: the last messages are being written.
 */
export type LinkState = 'connecting' | 'greeting' | 'asking' | 'open' | 'closing' | 'closed'

/** An event that changes the state of the connection. */
export type LinkFact =
  /** The handshake is complete. */
  | 'connected'
  /** The scheduler answered a heartbeat. */
  | 'echoed'
  /** It did, but may meanwhile have forgotten this client, which has results stored there. */
  | 'echoedAfterGap'
  /** The scheduler has reported whether it still has the objects. */
  | 'answered'
  /** The last echo is so old that the scheduler may have forgotten this client. */
  | 'grewStale'
  /** The connection ended; the transport reconnects. */
  | 'disconnected'
  /** This client ends. */
  | 'closeRequested'
  /** The connection has ended permanently. */
  | 'linkClosed'

const CLOSING = {
  connected: 'closing',
  echoed: 'closing',
  echoedAfterGap: 'closing',
  answered: 'closing',
  grewStale: 'closing',
  disconnected: 'closing',
  closeRequested: 'closing',
  linkClosed: 'closed',
} as const

const CLOSED = {
  connected: 'closed',
  echoed: 'closed',
  echoedAfterGap: 'closed',
  answered: 'closed',
  grewStale: 'closed',
  disconnected: 'closed',
  closeRequested: 'closed',
  linkClosed: 'closed',
} as const

/** Complete on purpose: every report of the transport is valid in every state. */
const TRANSITIONS: Readonly<Record<LinkState, Readonly<Record<LinkFact, LinkState>>>> = {
  connecting: {
    connected: 'greeting',
    echoed: 'connecting',
    echoedAfterGap: 'connecting',
    answered: 'connecting',
    grewStale: 'connecting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  greeting: {
    connected: 'greeting',
    echoed: 'open',
    echoedAfterGap: 'asking',
    answered: 'greeting',
    grewStale: 'greeting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  asking: {
    connected: 'greeting',
    echoed: 'asking',
    echoedAfterGap: 'asking',
    answered: 'open',
    grewStale: 'greeting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  open: {
    connected: 'greeting',
    echoed: 'open',
    echoedAfterGap: 'open',
    answered: 'open',
    grewStale: 'greeting',
    disconnected: 'connecting',
    closeRequested: 'closing',
    linkClosed: 'closed',
  },
  closing: CLOSING,
  closed: CLOSED,
}

/** The state after `fact`. */
export function nextLinkState(state: LinkState, fact: LinkFact): LinkState {
  return TRANSITIONS[state][fact]
}

/** The scheduler id in the echo of a 1.9.9 scheduler. */
const NO_SCHEDULER_ID = schedulerId('')
/** After this time without a heartbeat, a scheduler may have dropped the client: 60 s in 1.9.9. */
const FORGETFUL_MS = 50_000

/**
 * Echoes of a 1.9.9 scheduler that are further apart than this many intervals, and than
 * `MIN_STALE_MS`, show that one of the two processes was suspended. A 1.9.9 scheduler silently
 * drops a client after a long silence; a scheduler of this package closes the connection.
 */
const STALE_INTERVALS = 5
const MIN_STALE_MS = 5_000

/** The connection of one client. */
export class Link<Owner> {
  readonly #options: ClientCoreOptions
  readonly #turn: ClientTurn<Owner>
  readonly #heartbeat: Heartbeat
  readonly #onRead: (sentBefore: InstantMs) => void
  #state: LinkState = 'connecting'
  /** The scheduler that answered last; undefined before the first answer. */
  #schedulerId: SchedulerId | undefined
  /** Results may have been lost since the scheduler last answered. */
  #mayHaveLostResults = false
  /** The echo of a scheduler that was asked for the objects of this client. */
  #pendingEcho: ClientHeartbeatEcho | undefined
  /** Why the last connection or connection attempt ended; '' if there was none. */
  reason = ''

  /** `onRead`: the scheduler has read all that was sent on this connection before that time. */
  constructor(
    options: ClientCoreOptions,
    turn: ClientTurn<Owner>,
    onRead: (sentBefore: InstantMs) => void,
  ) {
    this.#options = options
    this.#turn = turn
    this.#onRead = onRead
    const { heartbeatIntervalMs } = options
    this.#heartbeat = new Heartbeat(turn, heartbeatIntervalMs, () => this.#sendHeartbeat())
  }

  /** Whether tasks can be sent. */
  get isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Whether this client is leaving, or has left. */
  get isEnding(): boolean {
    return this.#state === 'closing' || this.#state === 'closed'
  }

  /** Whether there is a peer that can be notified of the end. */
  get isConnected(): boolean {
    return this.#state !== 'connecting' && !this.isEnding
  }

  /** Whether the scheduler that answered last is one of this package. */
  get isOurs(): boolean {
    return this.#schedulerId !== NO_SCHEDULER_ID
  }

  /** The scheduler that answered last. */
  get schedulerId(): SchedulerId {
    return this.#schedulerId ?? NO_SCHEDULER_ID
  }

  /** Whether the oldest heartbeat without an echo was sent at least `ms` ago. */
  isUnanswered(ms: number): boolean {
    const since = this.#heartbeat.unansweredSince
    return since !== undefined && this.#turn.now - since >= ms
  }

  /** When the oldest heartbeat without an echo will have been sent `ms` ago. */
  echoDueAt(ms: number): InstantMs | undefined {
    const since = this.#heartbeat.unansweredSince
    return since === undefined ? undefined : since + ms
  }

  /** Makes the scheduler answer now rather than at the next heartbeat. */
  ask(): void {
    this.#heartbeat.hasten()
  }

  /** The handshake is complete. False if this client is leaving. */
  connected(): boolean {
    this.#state = nextLinkState(this.#state, 'connected')
    if (this.#state !== 'greeting') return false
    this.#heartbeat.start()
    return true
  }

  /** The connection ended. False if this client is leaving. */
  disconnected(reason: string): boolean {
    this.#state = nextLinkState(this.#state, 'disconnected')
    this.#pendingEcho = undefined
    this.#heartbeat.stop()
    if (this.#state !== 'connecting') return false
    this.reason = reason
    this.#mayHaveLostResults = true
    return true
  }

  /** This client is leaving. */
  close(): void {
    this.#state = nextLinkState(this.#state, 'closeRequested')
    this.#heartbeat.stop()
  }

  /** The connection has ended permanently. */
  closed(): void {
    this.#state = nextLinkState(this.#state, 'linkClosed')
  }

  /**
   * A scheduler has answered a heartbeat. If tasks can be sent from now on, returns what it can be
   * expected to know. `hasStored`: there are results that it must have.
   */
  onEcho(echo: ClientHeartbeatEcho, hasStored: boolean): SchedulerMemory | undefined {
    const isOurs = echo.schedulerId !== NO_SCHEDULER_ID
    const pauseMs = this.#heartbeat.onEcho(isOurs)
    this.#onRead(this.#heartbeat.answeredSentAt)
    const staleMs = Math.max(STALE_INTERVALS * this.#options.heartbeatIntervalMs, MIN_STALE_MS)
    if (!isOurs && pauseMs > staleMs) {
      // Only the echo of a new heartbeat shows that the scheduler knows this client (again).
      this.#mayHaveLostResults ||= pauseMs >= FORGETFUL_MS
      this.#pendingEcho = undefined
      this.#state = nextLinkState(this.#state, 'grewStale')
      this.#heartbeat.hasten()
      return undefined
    }
    const isSame = echo.schedulerId === this.#schedulerId
    // A scheduler that has dropped this client, with all results, answers in the same way.
    const hasToAsk = this.#state === 'greeting' && this.#mayHaveLostResults && isSame && hasStored
    if (hasToAsk) return this.#ask(echo)
    const wasOpen = this.isOpen
    this.#state = nextLinkState(this.#state, 'echoed')
    return this.isOpen && !(wasOpen && isSame) ? this.#open(echo, isSame) : undefined
  }

  /** Objects have arrived, which may be the awaited answer. Returns the same as `onEcho`. */
  onObjectResponse({ responseType, objectContent }: ObjectResponse): SchedulerMemory | undefined {
    const echo = this.#pendingEcho
    const { objectIds, objectBytes } = objectContent
    if (echo === undefined || !objectIds.includes(this.#options.serializer.id)) return undefined
    this.#pendingEcho = undefined
    this.#state = nextLinkState(this.#state, 'answered')
    return this.#open(echo, responseType === 'content' && objectIds.length === objectBytes.length)
  }

  #sendHeartbeat(): void {
    this.#turn.act({ type: 'sendHeartbeat', latencyUS: this.#heartbeat.latencyUs })
  }

  /**
   * Requests a small object that was stored from the start and is deleted when the client is
   * dropped.
   */
  #ask(echo: ClientHeartbeatEcho): undefined {
    this.#pendingEcho = echo
    this.#state = nextLinkState(this.#state, 'echoedAfterGap')
    send(this.#turn, requestMessage(this.#options.serializer.id))
  }

  #open({ schedulerId: id, features }: ClientHeartbeatEcho, isSame: boolean): SchedulerMemory {
    const isNew = id !== this.#schedulerId
    const mayHaveLostResults = this.#mayHaveLostResults
    this.#schedulerId = id
    this.#mayHaveLostResults = false
    this.reason = ''
    // A 1.9.9 scheduler crashes if it receives a task twice, and cannot be distinguished from its
    // successor.
    return {
      isSame,
      mayRepeat: this.isOurs || isNew,
      mayHaveLostResults,
      features,
      schedulerId: id,
    }
  }
}

// What the client learns about a scheduler that answers on a new connection. Separate because all
// parts of the core use it.

/** What an answering scheduler can be expected to know. */
export interface SchedulerMemory {
  /** It is apparently the one that answered last, and still knows this client. */
  readonly isSame: boolean
  /** It may be sent a task that it already has. */
  readonly mayRepeat: boolean
  /** It may have lost, or failed to deliver, the outcome of its tasks. */
  readonly mayHaveLostResults: boolean
  /** The features that it supports beyond 1.9.9. */
  readonly features: number
  /** The id of its process; '' = a 1.9.9 scheduler, which has none. */
  readonly schedulerId: SchedulerId
}

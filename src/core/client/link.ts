// The connection of a client as its machine sees it: which state it is in, when heartbeats are due,
// and what a scheduler that answers can be expected to know. docs/protocol.md#heartbeat

import { schedulerId, type SchedulerId } from '../../base/ids.js'
import { Heartbeat } from '../../base/heartbeat.js'
import type { InstantMs } from '../../base/machine.js'
import type { ClientHeartbeatEcho, ObjectResponse } from '../../wire/message.js'
import { type ClientCoreOptions, type ClientTurn, send } from './events.js'
import { requestMessage } from './messages.js'

// The states of the connection to the scheduler, as a table: from a state and a fact to the next
// one.

/**
 * `connecting`: there is no connection. `greeting`: a heartbeat was sent, its echo has not come;
 * nothing else may be sent. `asking`: the scheduler was asked whether it still has what this client
 * has stored. `open`: tasks flow. `closing`: the last messages are being written.
 */
export type LinkState = 'connecting' | 'greeting' | 'asking' | 'open' | 'closing' | 'closed'

/** What changes the state of the connection. */
export type LinkFact =
  /** The handshake is done. */
  | 'connected'
  /** The scheduler answered a heartbeat. */
  | 'echoed'
  /** It did, but may have forgotten this client in between, which has results stored there. */
  | 'echoedAfterGap'
  /** The scheduler has said what it still has. */
  | 'answered'
  /** There was no echo for so long that the scheduler may have forgotten this client. */
  | 'grewStale'
  /** The connection ended; there will be another one. */
  | 'disconnected'
  /** This client ends. */
  | 'closeRequested'
  /** The connection is gone for good. */
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

/** Complete on purpose: whatever the transport reports at whatever moment has a meaning. */
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

/** What a 1.9.9 scheduler's echo has for an id. */
const NO_SCHEDULER_ID = schedulerId('')
/** After this time without a heartbeat, a scheduler may have dropped the client: 60 s in 1.9.9. */
const FORGETFUL_MS = 50_000

/**
 * Echoes of a 1.9.9 scheduler that are further apart than this many intervals, and than
 * `MIN_STALE_MS`, show that one of the two processes was suspended. Such a scheduler silently drops
 * a client that it has not heard from for long; one of ours closes the connection.
 */
const STALE_INTERVALS = 5
const MIN_STALE_MS = 5_000

/** The connection of one client. */
export class Link<Owner> {
  readonly #options: ClientCoreOptions
  readonly #turn: ClientTurn<Owner>
  readonly #heartbeat: Heartbeat
  #state: LinkState = 'connecting'
  /** The scheduler that answered last; undefined before the first answer. */
  #schedulerId: SchedulerId | undefined
  /** Results may have been lost since the scheduler answered last. */
  #mayHaveLostResults = false
  /** The echo of a scheduler that was asked what it still has. */
  #asked: ClientHeartbeatEcho | undefined
  /** Why the last connection, or attempt to get one, ended; '' if there was none. */
  reason = ''

  constructor(options: ClientCoreOptions, turn: ClientTurn<Owner>) {
    this.#options = options
    this.#turn = turn
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

  /** Whether there is somebody to whom good-bye can be said. */
  get isConnected(): boolean {
    return this.#state !== 'connecting' && !this.isEnding
  }

  /** Whether the scheduler that answered last is one of ours. */
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

  /** Has the scheduler answer now, and not with the next heartbeat. */
  ask(): void {
    this.#heartbeat.hasten()
  }

  /** The handshake is done. False if this client is leaving. */
  connected(): boolean {
    this.#state = nextLinkState(this.#state, 'connected')
    if (this.#state !== 'greeting') return false
    this.#heartbeat.start()
    return true
  }

  /** The connection ended. False if this client is leaving. */
  disconnected(reason: string): boolean {
    this.#state = nextLinkState(this.#state, 'disconnected')
    this.#asked = undefined
    this.#heartbeat.stop()
    if (this.#state !== 'connecting') return false
    this.reason = reason
    this.#mayHaveLostResults = true
    return true
  }

  /** This client leaves. */
  close(): void {
    this.#state = nextLinkState(this.#state, 'closeRequested')
    this.#heartbeat.stop()
  }

  /** The connection is gone for good. */
  closed(): void {
    this.#state = nextLinkState(this.#state, 'linkClosed')
  }

  /**
   * A scheduler has answered a heartbeat. Returns what it can be expected to know if tasks can be
   * sent from now on. `hasStored`: there are results that it has to have.
   */
  onEcho(echo: ClientHeartbeatEcho, hasStored: boolean): SchedulerMemory | undefined {
    const isOurs = echo.schedulerId !== NO_SCHEDULER_ID
    const pauseMs = this.#heartbeat.onEcho(isOurs)
    const staleMs = Math.max(STALE_INTERVALS * this.#options.heartbeatIntervalMs, MIN_STALE_MS)
    if (!isOurs && pauseMs > staleMs) {
      // Only the echo of a new heartbeat shows that the scheduler knows this client (again).
      this.#mayHaveLostResults ||= pauseMs >= FORGETFUL_MS
      this.#asked = undefined
      this.#state = nextLinkState(this.#state, 'grewStale')
      this.#heartbeat.hasten()
      return undefined
    }
    const isSame = echo.schedulerId === this.#schedulerId
    // One that has dropped this client, and with it all results, greets like any other.
    const hasToAsk = this.#state === 'greeting' && this.#mayHaveLostResults && isSame && hasStored
    if (hasToAsk) return this.#ask(echo)
    const wasOpen = this.isOpen
    this.#state = nextLinkState(this.#state, 'echoed')
    return this.isOpen && !(wasOpen && isSame) ? this.#open(echo, isSame) : undefined
  }

  /** Objects have come: maybe the answer to what was asked. Returns the same as `onEcho`. */
  onObjectResponse({ responseType, objectContent }: ObjectResponse): SchedulerMemory | undefined {
    const echo = this.#asked
    const { objectIds, objectBytes } = objectContent
    if (echo === undefined || !objectIds.includes(this.#options.serializer.id)) return undefined
    this.#asked = undefined
    this.#state = nextLinkState(this.#state, 'answered')
    return this.#open(echo, responseType === 'content' && objectIds.length === objectBytes.length)
  }

  #sendHeartbeat(): void {
    this.#turn.act({ type: 'sendHeartbeat', latencyUS: this.#heartbeat.latencyUs })
  }

  /** Asks for a small object that goes when the client is dropped, and was there from the start. */
  #ask(echo: ClientHeartbeatEcho): undefined {
    this.#asked = echo
    this.#state = nextLinkState(this.#state, 'echoedAfterGap')
    send(this.#turn, requestMessage(this.#options.serializer.id))
  }

  #open({ schedulerId: id, features }: ClientHeartbeatEcho, isSame: boolean): SchedulerMemory {
    const isNew = id !== this.#schedulerId
    const mayHaveLostResults = this.#mayHaveLostResults
    this.#schedulerId = id
    this.#mayHaveLostResults = false
    this.reason = ''
    // A 1.9.9 scheduler dies of a task that it has already, and cannot be told from its successor.
    return {
      isSame,
      mayRepeat: this.isOurs || isNew,
      mayHaveLostResults,
      features,
      schedulerId: id,
    }
  }
}

// What the client finds out about a scheduler when that answers on a new connection. Apart, because
// all parts of the core go by it.

/** What the scheduler can be expected to know when it has answered. */
export interface SchedulerMemory {
  /** It is, as far as can be told, the one that answered last, and still knows this client. */
  readonly isSame: boolean
  /** It may be sent a task again that it has already. */
  readonly mayRepeat: boolean
  /** It may have lost, or may have sent into the void, what became of the tasks that it had. */
  readonly mayHaveLostResults: boolean
  /** What it understands beyond 1.9.9. */
  readonly features: number
  /** Which process it is; '' = a 1.9.9 one, which does not say. */
  readonly schedulerId: SchedulerId
}

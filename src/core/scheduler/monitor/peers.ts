// Workers and clients that join and leave, as they are reported to monitors.
// docs/protocol.md#changes-of-peers

import type { Identity } from '../../../base/ids.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type { MonitorReport, PeerChange, TaskEvent } from '../../../wire/message.js'
import type { ClientEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'
import { type Ended, eventOf } from './ended.js'
import { clientRows, workerRows } from './report.js'

/**
 * A peer that was cut off and connects again sooner has not left. Ours try it for the first time
 * within 0.1 seconds.
 */
const RETURN_MS = 1_000

/** Maximum number of peers in one message. */
const MAX_PEERS = 100

/** A peer has joined or left. */
export type Change = Omit<PeerChange, 'after'>

type Peer = { readonly worker: WorkerEntry } | { readonly client: ClientEntry }

/** Passes on who has joined or left, once each event has been handled. */
export class Peers {
  readonly #state: SchedulerState
  readonly #pass: (change: Change) => void
  readonly #onRemoval: (table: 'worker' | 'client') => void
  readonly #alarm: Alarm
  /** During this event. A peer that has joined has no report yet: it is not complete. */
  #fresh: { readonly peer: Peer; readonly left: Change | undefined }[] = []
  /** Those that may return, in the order in which they were cut off. */
  readonly #missing = new Map<Identity, { readonly left: Change; readonly until: InstantMs }>()
  #isWanted = false

  /** `onRemoval`: a row is about to leave one of the tables that states list. */
  constructor(
    state: SchedulerState,
    pass: (change: Change) => void,
    onRemoval: (table: 'worker' | 'client') => void,
  ) {
    this.#state = state
    this.#pass = pass
    this.#onRemoval = onRemoval
    this.#alarm = state.turn.alarm(() => this.#onDue())
  }

  /** Whether a monitor requested it: otherwise nothing is recorded. */
  set isWanted(isWanted: boolean) {
    this.#isWanted = isWanted
    if (isWanted) return
    this.#fresh = []
    this.#missing.clear()
    this.#alarm.clear()
  }

  /** Whether some were cut off a moment ago, and are not listed in states. */
  get hasMissing(): boolean {
    return this.#missing.size > 0
  }

  /** A peer has been registered, perhaps again. */
  onJoined(peer: Peer): void {
    if (!this.#isMeant(peer) || this.#missing.delete(identityOf(peer))) return
    const { left, peer: last } = this.#fresh.at(-1) ?? {}
    const isSame = left !== undefined && last && identityOf(last) === identityOf(peer)
    if (isSame === true) this.#fresh.pop()
    else this.#fresh.push({ peer, left: undefined })
  }

  /** A peer is about to be removed. `mayReturn`: it was cut off, and may connect again. */
  onLeft(peer: Peer, mayReturn: boolean): void {
    this.#onRemoval('worker' in peer ? 'worker' : 'client')
    if (!this.#isMeant(peer)) return
    const left = this.#change(peer, true)
    if (!mayReturn) {
      this.#fresh.push({ peer, left })
      return
    }
    const until = this.#state.turn.now + RETURN_MS
    this.#missing.set(identityOf(peer), { left, until })
    this.#alarm.setBy(until)
  }

  /** An event has been handled. */
  settle(): void {
    if (this.#fresh.length === 0) return
    for (const { peer, left } of this.#fresh) this.#pass(left ?? this.#change(peer, false))
    this.#fresh = []
  }

  #onDue(): void {
    const { now } = this.#state.turn
    for (const [id, { left, until }] of this.#missing) {
      if (until > now) return this.#alarm.set(until)
      this.#missing.delete(id)
      this.#pass(left)
    }
  }

  #isMeant(peer: Peer): boolean {
    return this.#isWanted && !('client' in peer && peer.client.isVisitor)
  }

  #change(peer: Peer, hasLeft: boolean): Change {
    return 'worker' in peer
      ? { hasLeft, worker: workerRows(this.#state, [peer.worker]), client: [] }
      : { hasLeft, worker: [], client: clientRows([peer.client]) }
  }
}

function identityOf(peer: Peer): Identity {
  return 'worker' in peer ? peer.worker.identity : peer.client.identity
}

/** Whether a task has ended. */
export function isTask(event: Ended | Change): event is Ended {
  return 'taskId' in event
}

/** As many of these events as fit in one message: the first `count`. */
export function eventsOf(
  items: readonly (Ended | Change)[],
  wantsPeers: boolean,
  now: InstantMs,
): Pick<MonitorReport, 'events' | 'peers'> & { readonly count: number } {
  const events: TaskEvent[] = []
  const peers: PeerChange[] = []
  let count = 0
  for (const item of items) {
    if (isTask(item)) events.push(eventOf(item, now))
    else if (peers.length === MAX_PEERS) break
    else if (wantsPeers) peers.push({ ...item, after: events.length })
    count += 1
  }
  return { events, peers, count }
}

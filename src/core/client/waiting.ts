// Why tasks of this client wait, and when the user is warned. The client itself knows that no
// scheduler answers, or that it accepts no more tasks; the other reasons are in the scheduler's
// echoes. docs/protocol.md#waiting

import type { Alarm, InstantMs } from '../../base/machine.js'
import type { Silence } from '../../base/silence.js'
import { FEATURE_PEERS, FEATURE_WAITING, hasFeature } from '../../base/features.js'
import type { TaskId } from '../../base/ids.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type { ClientHeartbeatEcho, TaskExplanation } from '../../wire/message.js'
import { waitingReasonOf } from '../../wire/wait-reason.js'
import type { Link } from './link.js'
import type { Sender } from './sender.js'
import type { TaskRecord, ClientTaskTable } from './task/task.js'
import { type ClientTurn, send } from './events.js'

/** A message names at most this many unmet needs. */
const MAX_NEEDS = 3

/** How long tasks wait before the user is warned. */
const PATIENCE_MS = 5_000
/** The same for a deadlock, so that the user is warned within five seconds of when it began. */
const DEADLOCK_PATIENCE_MS = 3_000
/** When the scheduler is first asked why tasks wait. */
const FIRST_LOOK_MS = 250
/** An echo that takes longer counts as missing. */
const ECHO_MS = 1_000

/** Why tasks wait, and since when. */
export interface WaitingCause {
  readonly reason: WaitingReason
  readonly since: InstantMs
  /** The requirements of the tasks that no worker meets, with `no-capability`. */
  readonly needs?: string
}

/** The parts that show why tasks wait. */
interface WaitingParts<Owner> {
  readonly tasks: ClientTaskTable<Owner>
  readonly link: Link<Owner>
  readonly silence: Silence
  readonly sender: Sender<Owner>
  /** Whether anything waits for the scheduler. */
  readonly isWaiting: () => boolean
}

/** Tracks why one client waits. */
export class ClientWaiting<Owner> {
  readonly #turn: ClientTurn<Owner>
  readonly #parts: WaitingParts<Owner>
  /** Rings when something may be due, or earlier. */
  readonly #alarm: Alarm
  /** The scheduler's latest report about the tasks that it has. */
  #reported: (WaitingCause & { readonly tasks: number }) | undefined
  /** Since when tasks are held back. */
  #heldSince: InstantMs | undefined
  /** When the scheduler is next asked, unless it reports on its own. */
  #askAt: InstantMs = 0
  /** When it is first asked about the tasks that wait now. */
  #firstLookAt: InstantMs = 0
  /** Reasons of which the user was warned and that still apply. */
  readonly #warned = new Set<WaitingReason>()

  constructor(turn: ClientTurn<Owner>, parts: WaitingParts<Owner>) {
    this.#turn = turn
    this.#parts = parts
    this.#alarm = turn.alarm(() => this.#onAlarm())
  }

  /** Waiting begins, or a scheduler has answered. */
  start(): void {
    this.#firstLookAt = this.#turn.now + FIRST_LOOK_MS
    this.#askAt = this.#firstLookAt
  }

  /** Something arrived from the scheduler. */
  onHeard(): void {
    if (this.#warned.size > 0) this.#warned.delete('no-scheduler')
  }

  /** A task has run: there are workers. */
  onResult(): void {
    const reported = this.#reported
    // Other tasks may run while one needs a capability that is missing.
    if (reported?.reason === 'no-capability') return this.#forget(reported.reason)
    if (reported !== undefined && isBlocking(reported.reason)) this.#reported = undefined
    this.#forget(undefined)
  }

  /** The connection ended: the scheduler's report no longer applies. */
  onDisconnected(): void {
    this.#reported = undefined
    this.#heldSince = undefined
  }

  /** The scheduler reports why the tasks that it has are waiting. */
  onEcho({ waiting }: ClientHeartbeatEcho): void {
    const { now } = this.#turn
    const [worst] = waiting
    this.#askAt = now < this.#firstLookAt ? this.#firstLookAt : now + PATIENCE_MS
    if (worst === undefined) {
      this.#reported = undefined
      if (this.#parts.isWaiting()) this.#forget(undefined)
      return
    }
    const reason = waitingReasonOf(worst.reason)
    const since = now - worst.forMS
    const alike = waiting.filter((each) => each.reason === worst.reason)
    const tasks = alike.reduce((sum, each) => sum + each.tasks, 0)
    const needs = someOf(alike.map((each) => each.needs))
    this.#reported = { reason, since, tasks, needs }
    this.#forget(reason)
    if (!isBlocking(reason) || this.#warned.has(reason)) return
    const patienceMs = worst.isDeadlocked ? DEADLOCK_PATIENCE_MS : PATIENCE_MS
    const leftMs = patienceMs - worst.forMS
    if (leftMs <= 0) this.#warn(this.#reported, tasks + this.#heldCount, needs)
    else this.#askAt = now + leftMs
  }

  /** An event may have caused tasks to be held back, or sent. */
  update(): void {
    const { sender, link } = this.#parts
    if (this.#heldCount === 0 || !link.isOpen) {
      if (this.#heldSince !== undefined) {
        this.#heldSince = undefined
        this.#warned.delete('limit')
      }
    } else if (!sender.hasRoom) this.#heldSince ??= this.#turn.now
    this.#alarm.setBy(Math.max(this.#dueAt, this.#turn.now))
  }

  /** When something is due; Infinity while nothing waits. */
  get #dueAt(): InstantMs {
    if (!this.#parts.isWaiting()) return Infinity
    const heldAt = this.#isLimitDue ? (this.#heldSince ?? 0) + PATIENCE_MS : Infinity
    const askAt = this.#canAsk ? this.#askAt : Infinity
    return Math.min(this.#silentAt, heldAt, askAt)
  }

  /** When the user is warned that no scheduler answers. */
  get #silentAt(): InstantMs {
    if (this.#warned.has('no-scheduler')) return Infinity
    const { link, silence } = this.#parts
    // Only a missing echo distinguishes silence from a pause between heartbeats.
    const echoDueAt = link.isOpen ? (link.echoDueAt(ECHO_MS) ?? 0) : 0
    return Math.max(silence.since + PATIENCE_MS, echoDueAt)
  }

  /** Asks the scheduler, or warns the user, if that is due. */
  #onAlarm(): void {
    const { now } = this.#turn
    if (now < this.#dueAt) return
    const { silence, link, tasks } = this.#parts
    if (this.#canAsk && now >= this.#askAt) this.#ask()
    if (!this.#warned.has('no-scheduler') && now >= silence.since + PATIENCE_MS) {
      if (!this.#isSilent) this.#ask()
      else
        this.#warn({ reason: 'no-scheduler', since: silence.since }, tasks.openCount, link.reason)
    }
    const since = this.#heldSince
    if (since === undefined || !this.#isLimitDue || now < since + PATIENCE_MS) return
    this.#warn({ reason: 'limit', since }, this.#heldCount)
  }

  /** Why the unfinished work of this client waits; undefined if some of it may be running. */
  get cause(): WaitingCause | undefined {
    if (!this.#parts.isWaiting()) return undefined
    const { silence } = this.#parts
    if (this.#isSilent) return { reason: 'no-scheduler', since: silence.since }
    const reported = this.#reported
    if (reported !== undefined && isBlocking(reported.reason)) return reported
    return this.#heldSince === undefined ? undefined : { reason: 'limit', since: this.#heldSince }
  }

  /** Why one task waits; undefined if it does not wait, or the reason is unknown. */
  reasonOf(task: TaskRecord<Owner>): WaitingReason | undefined {
    if (this.#isSilent) return 'no-scheduler'
    const { state, hasBegun } = task
    if (state === 'blocked') return 'dependency'
    const { reason } = this.#reported ?? {}
    if (state === 'waiting') {
      if (reason !== undefined && isBlocking(reason)) return reason
      return this.#heldSince === undefined ? undefined : 'limit'
    }
    return state === 'sent' && !hasBegun ? reason : undefined
  }

  /** Whether there is no scheduler, or none that answers. */
  get #isSilent(): boolean {
    const { link } = this.#parts
    return !link.isOpen || link.isUnanswered(ECHO_MS)
  }

  /** The number of tasks beyond the limit that the scheduler has reported. */
  get #heldCount(): number {
    const { sender } = this.#parts
    return sender.isBounded ? sender.unsentCount : 0
  }

  /** Whether the user must be warned of the limit, because no worse reason applies. */
  get #isLimitDue(): boolean {
    if (this.#heldSince === undefined || this.#warned.has('limit')) return false
    return this.#reported === undefined || !isBlocking(this.#reported.reason)
  }

  get #canAsk(): boolean {
    const { link, sender } = this.#parts
    return link.isOpen && hasFeature(sender.features, FEATURE_WAITING)
  }

  #ask(): void {
    this.#askAt = this.#turn.now + ECHO_MS
    this.#parts.link.ask()
  }

  #warn({ reason, since }: WaitingCause, tasks: number, detail = ''): void {
    this.#warned.add(reason)
    const forMs = this.#turn.now - since
    this.#turn.act({ type: 'warnWaiting', warning: { reason, tasks, forMs, detail } })
  }

  /** Earlier reasons no longer apply, except `reason`. */
  #forget(reason: WaitingReason | undefined): void {
    if (this.#warned.size === 0) return
    for (const warned of this.#warned) {
      if (isBlocking(warned) && warned !== reason) this.#warned.delete(warned)
    }
  }
}

/** Whether no worker can run the tasks that wait for this reason. */
function isBlocking(reason: WaitingReason): boolean {
  return reason === 'no-worker' || reason === 'no-runtime' || reason === 'no-capability'
}

// Inquiries of this client about its tasks, which the scheduler answers. An inquiry that cannot be
// answered ends without an answer: the client then reports what it knows.
// docs/protocol.md#explanation

/** How long to wait for an answer. */
const ANSWER_MS = 5_000

/** The inquiries that are under way. */
export class Inquiries<Owner> {
  readonly #turn: ClientTurn<Owner>
  readonly #link: Link<Owner>
  readonly #sender: Sender<Owner>
  /** When each was last sent, the oldest first. */
  readonly #asked = new Map<TaskId, InstantMs>()
  readonly #alarm: Alarm

  constructor(turn: ClientTurn<Owner>, link: Link<Owner>, sender: Sender<Owner>) {
    this.#turn = turn
    this.#link = link
    this.#sender = sender
    this.#alarm = turn.alarm(() => this.#onTimeout())
  }

  /** Asks about a task. `record`: what this client has of it. */
  ask(taskId: TaskId, record: TaskRecord<Owner> | undefined): void {
    const { state, graph } = record ?? {}
    // The scheduler does not know tasks that have not been sent.
    const isSent = state !== undefined && state !== 'waiting' && state !== 'blocked'
    if (this.#canAsk && (isSent || graph !== undefined)) this.#send(taskId)
    else this.#end(taskId, undefined)
  }

  /** Once a running task is cancelled, no scheduler can report any more which worker had it. */
  askAttempts({ id: taskId, owner, state, hasBegun }: TaskRecord<Owner>): void {
    if (owner === undefined || state !== 'sent' || !hasBegun || !this.#canAsk) return
    this.#turn.act({ type: 'requestAttempts', taskId, owner })
    this.#send(taskId)
  }

  /** Whether there is a scheduler that answers. */
  get #canAsk(): boolean {
    const { isOpen, isEnding } = this.#link
    return isOpen && !isEnding && hasFeature(this.#sender.features, FEATURE_PEERS)
  }

  #send(taskId: TaskId): void {
    this.#asked.delete(taskId)
    this.#asked.set(taskId, this.#turn.now)
    this.#alarm.setBy(this.#turn.now + ANSWER_MS)
    send(this.#turn, { kind: 'taskInquiry', taskId })
  }

  onAnswer(answer: TaskExplanation): void {
    if (this.#asked.has(answer.taskId)) this.#end(answer.taskId, answer)
  }

  /** No more answers will arrive. */
  endAll(): void {
    for (const taskId of this.#asked.keys()) this.#end(taskId, undefined)
  }

  /** Some answers may have taken too long. */
  #onTimeout(): void {
    for (const [taskId, askedAt] of this.#asked) {
      if (this.#turn.now < askedAt + ANSWER_MS) {
        this.#alarm.set(askedAt + ANSWER_MS)
        return
      }
      this.#end(taskId, undefined)
    }
  }

  #end(taskId: TaskId, explanation: TaskExplanation | undefined): void {
    this.#asked.delete(taskId)
    this.#turn.act({ type: 'explainTask', taskId, explanation })
  }
}

/** The first few texts, and how many more there are. */
function someOf(texts: readonly string[]): string {
  const some = texts.slice(0, MAX_NEEDS).join('; ')
  return texts.length > MAX_NEEDS ? `${some} and ${texts.length - MAX_NEEDS} more` : some
}

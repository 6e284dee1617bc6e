// How many tasks the workers of an agent run at a time if these run elsewhere, and not in
// processors of this machine. Which tasks wait for their children is unknown then, so a task of a
// higher priority than all that are running exceeds the limit: it may be one of those children. At
// most one task of each priority does, so a limit of c, with tasks that are nested d levels deep,
// never runs more than c + d tasks.

import { assert } from '../../../base/assert.js'
import { Recurrence } from '../../../base/recurrence.js'
import type { WorkerTurn } from '../events.js'

/** How often it is logged that tasks exceed the limit, in milliseconds. */
const LOG_INTERVAL_MS = 60_000

/** What a worker would run next. */
interface Claim {
  readonly priority: number
  /** Smaller: it has waited for longer. */
  readonly number: number
}

/** The slots that all workers of one agent share. */
export class HostConcurrency {
  /** How many tasks run at a time, without those that exceed it. */
  readonly limit: number
  /** How many tasks of each worker run, by priority. */
  readonly #running = new Map<object, Map<number, number>>()
  #count = 0
  /** Workers with a task that found no slot. They take turns. */
  readonly #claims = new Map<object, Claim>()
  #claimCount = 0
  readonly #excess = new Recurrence(LOG_INTERVAL_MS)
  #onFree: () => void = () => {}

  constructor(limit: number) {
    this.limit = limit
  }

  /** How many tasks run, including those that exceed the limit. */
  get count(): number {
    return this.#count
  }

  /** `listener` is called when a worker should try again for a task that found no slot. */
  listen(listener: () => void): void {
    this.#onFree = listener
  }

  /** Whether a task may start. If not, its worker is considered when a slot becomes free. */
  hasRoom(owner: object, priority: number): boolean {
    const number = this.#claims.get(owner)?.number ?? (this.#claimCount += 1)
    const claim = { priority, number }
    const isFree = this.#count < this.limit || priority > this.#topPriority
    if (isFree && this.#isNext(owner, claim)) return true
    this.#claims.set(owner, claim)
    return false
  }

  /** Whether a worker runs only tasks of lower priorities. */
  isAboveOwn(owner: object, priority: number): boolean {
    return priority > topOf(this.#running.get(owner))
  }

  /** The worker has no task that could start. */
  withdraw(owner: object): void {
    if (this.#claims.delete(owner)) this.#notify()
  }

  /** A task starts. */
  take(owner: object, priority: number, turn: WorkerTurn): void {
    this.#claims.delete(owner)
    const running = this.#running.get(owner) ?? new Map<number, number>()
    this.#running.set(owner, running)
    running.set(priority, (running.get(priority) ?? 0) + 1)
    this.#count += 1
    if (this.#count > this.limit) this.#warn(priority, turn)
    // Another worker was not considered for this slot while it was the turn of this one.
    if (this.#count < this.limit) this.#notify()
  }

  /** A task has ended. */
  giveBack(owner: object, priority: number): void {
    const running = this.#running.get(owner)
    const count = running?.get(priority)
    assert(running !== undefined && count !== undefined, 'a slot was given back twice')
    if (count > 1) running.set(priority, count - 1)
    else running.delete(priority)
    this.#count -= 1
    this.#notify()
  }

  /** A worker has ended. */
  giveBackAll(owner: object): void {
    for (const count of this.#running.get(owner)?.values() ?? []) this.#count -= count
    this.#running.delete(owner)
    this.#claims.delete(owner)
    this.#notify()
  }

  /** Throws unless a worker runs this many tasks. */
  checkInvariants(owner: object, count: number): void {
    let sum = 0
    for (const more of this.#running.get(owner)?.values() ?? []) sum += more
    assert(sum === count, 'the slots of a worker are miscounted')
  }

  get #topPriority(): number {
    let top = -Infinity
    for (const running of this.#running.values()) top = Math.max(top, topOf(running))
    return top
  }

  #isNext(owner: object, { priority, number }: Claim): boolean {
    for (const [other, claim] of this.#claims) {
      if (other === owner) continue
      if (claim.priority > priority) return false
      if (claim.priority === priority && claim.number < number) return false
    }
    return true
  }

  /** Makes it visible that the limit leaves little room for nested tasks. */
  #warn(priority: number, turn: WorkerTurn): void {
    const tasks = this.#excess.note(turn.now)
    if (tasks === 0) return
    const fields = { limit: this.limit, running: this.#count, priority, tasks }
    const text = 'all slots have tasks of a lower priority, which may wait for their children'
    turn.log('warn', `${text}; children exceed the limit, one of each priority at a time`, fields)
  }

  #notify(): void {
    if (this.#claims.size > 0) this.#onFree()
  }
}

/** The highest priority of tasks that run. */
function topOf(running: ReadonlyMap<number, number> | undefined): number {
  return Math.max(-Infinity, ...(running?.keys() ?? []))
}

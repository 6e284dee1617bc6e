// The units of one allocator: what it has asked for, what the provider lists, and which workers
// have come. Also learns from them how long a start takes, and how often it fails.

import type { InstantMs } from '../../base/machine.js'
import type { ListedUnit, SeenWorker } from './events.js'

/** A worker that was there may reconnect within this time, for example to a new scheduler. */
const RETURN_MS = 15_000

/** The workers of a unit come within this time after the first. */
const COMPLETE_MS = 30_000

/** A unit whose workers have not left by then is drained again. */
const DRAIN_RETRY_MS = 60_000

/** After a restart, units that were already on their way are waited for, for this long. */
const RELEARN_MS = 120_000

/** Weight of the newest start in the average. */
const NEWEST_WEIGHT = 0.3

/** A unit, from the order to start it until the provider does not list it any more. */
export interface Unit {
  listed: ListedUnit
  /** The number of the last list that had it. */
  listing: number
  /** Undefined: it was started before this allocator, at an unknown time. */
  readonly askedAt: InstantMs | undefined
  /** When it was first known. */
  readonly knownAt: InstantMs
  /** Since when it is running, as far as is known; undefined: it is queued. */
  runningAt: InstantMs | undefined
  /** The workers that are there and stay. */
  readonly workers: SeenWorker[]
  /** How many of them are in the current view. */
  workerCount: number
  /** The number of workers that are there and leave. */
  leavingCount: number
  firstWorkerAt: InstantMs | undefined
  lastWorkerAt: InstantMs | undefined
  /** Whether some of its workers have left in good order: they do not return. */
  hasLeft: boolean
  /** Since when all of its workers have been idle. */
  idleSince: InstantMs | undefined
  /** When it was asked to end. */
  endedAt: InstantMs | undefined
}

/** A unit that has ended or hangs without having had a worker. */
export interface FailedUnit {
  readonly unit: ListedUnit
  readonly why: string
}

/** The settings that matter here. */
interface UnitRules {
  readonly name: string
  readonly workersPerUnit: number
  readonly startTimeoutMs: number
}

function isIdleWorker({ isIdle }: SeenWorker): boolean {
  return isIdle
}

/** All units of one allocator. */
export class UnitTable {
  readonly #rules: UnitRules
  readonly #byKey = new Map<string, Unit>()
  /** The same by the allocation of their workers: for many workers, cutting the key out costs. */
  readonly #byAllocation = new Map<string, Unit>()
  /** From order to first worker, in seconds; 0: unknown. */
  #bootSeconds = 0
  /** See `staying`; undefined once it may have changed. */
  #staying: readonly Unit[] | undefined
  /** Sums over these, which a decision needs several times; undefined once they may differ. */
  #running: number | undefined
  #ending: number | undefined
  #missingWorkers: { readonly at: InstantMs; readonly count: number } | undefined
  /** Units that are being started. */
  #ordered = 0
  /** How many lists there have been. */
  #listings = 0

  constructor(rules: UnitRules) {
    this.#rules = rules
  }

  /** Whether the provider has told what there is. */
  get isListed(): boolean {
    return this.#listings > 0
  }

  /** From order to first worker, as learnt, in seconds; 0: unknown. */
  get bootSeconds(): number {
    return this.#bootSeconds
  }

  /** Whether an order to start has not been answered. */
  get isStarting(): boolean {
    return this.#ordered > 0
  }

  /**
   * Whether there are units from before a restart whose workers have not come, while it is unknown
   * how long that takes: how much they will have done by then is unknown, too.
   */
  isRelearning(now: InstantMs): boolean {
    if (this.#bootSeconds > 0) return false
    return this.waiting.some((unit) => {
      return unit.askedAt === undefined && now - unit.knownAt < RELEARN_MS
    })
  }

  /** All that are not ending. */
  get staying(): readonly Unit[] {
    this.#staying ??= [...this.#byKey.values()].filter(({ endedAt }) => endedAt === undefined)
    return this.#staying
  }

  /** Those that have not had a worker yet. */
  get waiting(): readonly Unit[] {
    return this.staying.filter(({ firstWorkerAt }) => firstWorkerAt === undefined)
  }

  /** How many have been asked for and do not run yet. */
  get queuedCount(): number {
    return this.waiting.filter(({ listed }) => listed.state === 'queued').length + this.#ordered
  }

  /** Why units are still queued, as the provider says of the first one; '' if it says nothing. */
  get queuedWhy(): string {
    return this.waiting.find(({ listed }) => listed.why !== undefined)?.listed.why ?? ''
  }

  /** Workers that are there and stay. */
  get running(): number {
    this.#running ??= this.staying.reduce((sum, { workers }) => sum + workers.length, 0)
    return this.#running
  }

  /** Workers that leave, or have left while their unit is still listed: all of a unit that ends. */
  get ending(): number {
    this.#ending ??= [...this.#byKey.values()].reduce((sum, unit) => sum + this.#endingOf(unit), 0)
    return this.#ending
  }

  /** The ids of workers whose units are ending. */
  get leaving(): ReadonlySet<string> {
    const ids = new Set<string>()
    if (this.staying.length === this.#byKey.size) return ids
    for (const { endedAt, workers } of this.#byKey.values()) {
      if (endedAt !== undefined) for (const { id } of workers) ids.add(id)
    }
    return ids
  }

  /** Workers that are on their way. */
  pending(now: InstantMs): number {
    if (this.#missingWorkers?.at !== now) {
      const count = this.staying.reduce((sum, unit) => sum + this.#missing(unit, now), 0)
      this.#missingWorkers = { at: now, count }
    }
    return this.#missingWorkers.count + this.#ordered * this.#rules.workersPerUnit
  }

  onOrdered(count: number): void {
    this.#ordered += count
  }

  onStarted(asked: number, units: readonly ListedUnit[], now: InstantMs): void {
    this.#ordered -= asked
    for (const listed of units) {
      if (!this.#byKey.has(listed.key)) this.#add(listed, { askedAt: now, now })
    }
  }

  /** The provider lists its units, as of `begunAt`. Returns those that have failed. */
  onListed(
    units: readonly ListedUnit[],
    begunAt: InstantMs,
    now: InstantMs,
  ): readonly FailedUnit[] {
    this.#listings += 1
    for (const listed of units) {
      const known = this.#byKey.get(listed.key) ?? this.#add(listed, { askedAt: undefined, now })
      known.listed = listed
      known.listing = this.#listings
      known.runningAt = listed.state === 'running' ? (known.runningAt ?? now) : undefined
    }
    const failed: FailedUnit[] = []
    for (const [key, unit] of this.#byKey) {
      // Started while the provider made its list.
      if (unit.listing === this.#listings || unit.knownAt >= begunAt) continue
      this.#byKey.delete(key)
      this.#byAllocation.delete(this.#allocationOf(key))
      this.#onChanged()
      const isExpected = unit.firstWorkerAt !== undefined || unit.endedAt !== undefined
      if (!isExpected) failed.push({ unit: unit.listed, why: 'it ended without a worker' })
    }
    return failed
  }

  /** The workers of the cluster. Returns how many units have got their first worker. */
  onWorkers(workers: readonly SeenWorker[], now: InstantMs): number {
    this.#running = undefined
    this.#ending = undefined
    this.#missingWorkers = undefined
    for (const unit of this.#byKey.values()) {
      unit.workerCount = 0
      unit.leavingCount = 0
    }
    for (const worker of workers) {
      const unit = this.#byAllocation.get(worker.allocation)
      if (unit === undefined) continue
      if (!worker.isLeaving) unit.workers[unit.workerCount++] = worker
      else {
        unit.hasLeft = true
        unit.leavingCount += 1
      }
    }
    let joined = 0
    for (const unit of this.#byKey.values()) {
      // Most units keep their number of workers, and so the memory for them.
      if (unit.workers.length > unit.workerCount) unit.workers.length = unit.workerCount
      if (unit.workers.length > 0) {
        if (unit.firstWorkerAt === undefined) joined += 1
        this.#onThere(unit, now)
      }
      const isIdle = unit.workers.length > 0 && unit.workers.every(isIdleWorker)
      unit.idleSince = isIdle ? (unit.idleSince ?? now) : undefined
      const isLate = unit.endedAt !== undefined && now - unit.endedAt > DRAIN_RETRY_MS
      if (isLate) unit.endedAt = undefined
      if (isLate) this.#staying = undefined
    }
    return joined
  }

  /** Those that have been running for too long without a worker. */
  hanging(now: InstantMs): readonly FailedUnit[] {
    const { startTimeoutMs } = this.#rules
    const why = `no worker has come within ${startTimeoutMs / 1_000} s`
    return this.waiting
      .filter((unit) => unit.runningAt !== undefined && now - unit.runningAt > startTimeoutMs)
      .map(({ listed }) => ({ unit: listed, why }))
  }

  /** A unit is asked to end. */
  end(key: string, now: InstantMs): void {
    const unit = this.#byKey.get(key)
    this.#onChanged()
    if (unit !== undefined) unit.endedAt = now
  }

  #add(listed: ListedUnit, { askedAt, now }: Pick<Unit, 'askedAt'> & { now: InstantMs }): Unit {
    const nothing = { firstWorkerAt: undefined, lastWorkerAt: undefined, idleSince: undefined }
    const runningAt = listed.state === 'running' ? now : undefined
    const rest = {
      runningAt,
      workers: [],
      workerCount: 0,
      leavingCount: 0,
      hasLeft: false,
      endedAt: undefined,
      ...nothing,
    }
    const unit = { listed, listing: 0, askedAt, knownAt: now, ...rest }
    this.#byKey.set(listed.key, unit)
    this.#byAllocation.set(this.#allocationOf(listed.key), unit)
    this.#onChanged()
    return unit
  }

  #allocationOf(key: string): string {
    return `${this.#rules.name}/${key}`
  }

  #onThere(unit: Unit, now: InstantMs): void {
    unit.lastWorkerAt = now
    if (unit.firstWorkerAt !== undefined) return
    unit.firstWorkerAt = now
    if (unit.askedAt === undefined) return
    const seconds = (now - unit.askedAt) / 1_000
    const isFirst = this.#bootSeconds === 0
    this.#bootSeconds += (isFirst ? 1 : NEWEST_WEIGHT) * (seconds - this.#bootSeconds)
  }

  #onChanged(): void {
    this.#staying = undefined
    this.#running = undefined
    this.#ending = undefined
    this.#missingWorkers = undefined
  }

  #endingOf({ endedAt, hasLeft, workers, leavingCount }: Unit): number {
    const isEnding = endedAt !== undefined || (hasLeft && workers.length === 0)
    return isEnding ? this.#rules.workersPerUnit : leavingCount
  }

  #missing(unit: Unit, now: InstantMs): number {
    const { workers, firstWorkerAt, lastWorkerAt, hasLeft } = unit
    if (hasLeft) return 0
    const { workersPerUnit } = this.#rules
    const mayCome = firstWorkerAt === undefined || now - firstWorkerAt < COMPLETE_MS
    const mayReturn =
      workers.length === 0 && lastWorkerAt !== undefined && now - lastWorkerAt < RETURN_MS
    return mayCome || mayReturn ? Math.max(0, workersPerUnit - workers.length) : 0
  }
}

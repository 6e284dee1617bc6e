// An allocator as a state machine: it compares the waiting work with the workers that are there or
// on their way, and starts, drains and cancels units. It decides when the scheduler has described
// the cluster, so that without a scheduler nothing happens. Several allocators share the work
// through what they announce: each first claims what it is about to start.

import { unreachable } from '../../base/assert.js'
import { type InstantMs, type Machine, Turn } from '../../base/machine.js'
import { counted } from '../../base/text.js'
import { type Demand, demandOf } from './demand.js'
import type {
  AllocatorAction,
  AllocatorCoreOptions,
  AllocatorEvent,
  Announcement,
  ClusterView,
  Decision,
  ListedUnit,
} from './events.js'
import { type FailedUnit, type Unit, UnitTable } from './units.js'

/** The pause after a failed start; each further failure doubles it. */
const FIRST_PAUSE_MS = 5_000
const MAX_PAUSE_MS = 300_000

/**
 * If all workers are leaving, a task that runs on one may be waiting for tasks that need a worker:
 * after this long, one more unit than the maximum is allowed.
 */
const LEAVING_PATIENCE_MS = 5_000

const MAX_PROBLEM = 500

/** Maximum number of units whose output is shown if they fail together. */
const MAX_SHOWN = 3

/** A decision without what the view says. */
type Choice = Pick<Decision, 'action' | 'units' | 'reason'>

/** One allocator. */
export class AllocatorMachine implements Machine<AllocatorEvent, AllocatorAction> {
  readonly #options: AllocatorCoreOptions
  readonly #turn = new Turn<AllocatorAction>()
  readonly #units: UnitTable
  #isPaused = false
  /** What it is about to start, in workers, unless another allocator does so first. */
  #claim = 0
  /** Consecutive failed starts. */
  #failures = 0
  #startsAgainAt: InstantMs = -Infinity
  #problem = ''
  #listProblem = ''
  /** Since when tasks wait although there are enough workers for them. */
  #enoughSince: InstantMs | undefined
  /** Since when tasks wait while all workers are leaving. */
  #starvedSince: InstantMs | undefined
  /** Since when more workers are on their way than are needed. */
  #surplusSince: InstantMs | undefined
  #last: Decision | undefined

  constructor(options: AllocatorCoreOptions) {
    this.#options = options
    this.#units = new UnitTable(options)
  }

  /** Views of the cluster come once a second, and make it decide. */
  get deadline(): InstantMs | undefined {
    return this.#turn.nextAlarmAt
  }

  handle(event: AllocatorEvent, now: InstantMs, act: (action: AllocatorAction) => void): void {
    this.#turn.begin(now, act)
    switch (event.type) {
      case 'viewed':
        return this.#onViewed(event.view)
      case 'listed':
        return this.#onListed(event.units, event.begunAt)
      case 'listFailed':
        this.#listProblem = event.problem.slice(0, MAX_PROBLEM)
        return undefined
      case 'started':
        this.#units.onStarted(event.asked, event.units, now)
        if (event.problem !== '') this.#onFailure(event.problem)
        return undefined
      case 'inspected':
        return this.#onInspected(event.key, event.output)
      case 'pauseOrdered':
        this.#isPaused = event.isPaused
        return this.#turn.log('info', event.isPaused ? 'paused' : 'resumed')
      case 'tick':
        return this.#turn.ring()
      default:
        return unreachable(event)
    }
  }

  checkInvariants(): void {
    this.#turn.checkInvariants()
  }

  #onViewed(view: ClusterView): void {
    const { now } = this.#turn
    const joined = this.#units.onWorkers(view.workers, now)
    if (joined > 0) {
      this.#failures = 0
      this.#startsAgainAt = -Infinity
      this.#problem = ''
    }
    const hanging = this.#units.hanging(now)
    if (hanging.length > 0) {
      for (const { unit } of hanging) this.#units.end(unit.key, now)
      this.#onFailed(hanging)
      this.#turn.act({ type: 'cancel', units: hanging.map(({ unit }) => unit) })
    }
    const demand = demandOf(view, {
      own: this.#options,
      backlogSeconds: this.#options.backlogMs / 1_000,
      bootSeconds: this.#units.bootSeconds,
      workersPerUnit: this.#options.workersPerUnit,
      lifetimeSeconds: (this.#options.lifetimeMs ?? 0) / 1_000 || Infinity,
      enoughSeconds: (now - (this.#enoughSince ?? now)) / 1_000,
      leaving: this.#units.leaving,
    })
    const isStarved = this.#stayingCount === 0 && this.#units.ending > 0
    this.#starvedSince =
      isStarved && demand.waitingTasks > 0 ? (this.#starvedSince ?? now) : undefined
    const waitsInVain = demand.isEnough && demand.waitingTasks > 0
    this.#enoughSince = waitsInVain ? (this.#enoughSince ?? now) : undefined
    const choice = this.#decide(demand, view)
    this.#onDecided(choice, demand)
    this.#turn.act({ type: 'announce', report: this.#report(choice) })
  }

  #onListed(units: readonly ListedUnit[], begunAt: InstantMs): void {
    this.#listProblem = ''
    this.#onFailed(this.#units.onListed(units, begunAt, this.#turn.now))
  }

  /** The first few show what is wrong with all. */
  #onFailed(failed: readonly FailedUnit[]): void {
    for (const { unit, why } of failed.slice(0, MAX_SHOWN)) {
      this.#turn.act({ type: 'inspect', unit })
      this.#onFailure(`${unit.id}: ${why}`)
    }
    const units = failed.length - MAX_SHOWN
    if (units > 0) this.#turn.log('warn', 'more starts have failed', { units })
  }

  #onFailure(problem: string): void {
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures, MAX_PAUSE_MS)
    // Units that fail together are one failure.
    if (this.#turn.now >= this.#startsAgainAt) {
      this.#failures = Math.min(this.#failures + 1, 30)
      this.#startsAgainAt = this.#turn.now + pauseMs
    }
    this.#problem = problem.slice(0, MAX_PROBLEM)
    this.#turn.log('warn', 'a start has failed', { problem: this.#problem })
  }

  #onInspected(key: string, output: string): void {
    if (output === '') return
    this.#turn.log('warn', 'the last output of a unit that has failed', { unit: key, output })
    this.#problem = `${this.#problem}: ${output.trim().split('\n').at(-1) ?? ''}`
    this.#problem = this.#problem.slice(0, MAX_PROBLEM)
  }

  #decide(demand: Demand, view: ClusterView): Choice {
    this.#claim = 0
    if (!this.#units.isListed) return wait(reasonWithoutList(this.#listProblem))
    if (this.#isPaused) return wait('paused by an operator')
    const { now } = this.#turn
    const { name, minWorkers } = this.#options
    const namesakes = view.allocators.filter((announced) => announced.name === name)
    if (namesakes.length > 1) return wait('another allocator has the same name')
    const pending = this.#units.pending(now)
    const own = this.#stayingCount
    const supply = demand.workers + pending + demand.othersPending
    const missing = Math.max(demand.target - supply, minWorkers - own)
    if (missing > 0) {
      this.#surplusSince = undefined
      const isRestarted = this.#units.isRelearning(now)
      if (isRestarted) return wait('the units from before a restart are on their way')
      return this.#grow(missing, demand, view)
    }
    // Work that waits belongs to whoever is idle.
    const shrunk = this.#shrink(supply - demand.target, own)
    return shrunk ?? wait(reasonToWait(demand, pending, this.#units.queuedWhy))
  }

  /** Starts as many units as are needed, allowed, and not claimed by another allocator. */
  #grow(missing: number, demand: Demand, view: ClusterView): Choice {
    const { now } = this.#turn
    const { maxQueuedUnits, workersPerUnit } = this.#options
    const room = this.#room()
    const wanted = Math.ceil(Math.min(missing, room) / workersPerUnit)
    const unitRoom = Math.floor(room / workersPerUnit)
    const queueRoom = Math.max(0, maxQueuedUnits - this.#units.queuedCount)
    const units = Math.min(wanted, unitRoom, queueRoom)
    if (now < this.#startsAgainAt) {
      const failures = counted(this.#failures, 'failed start')
      return { action: 'back-off', units: 0, reason: `${failures}: ${this.#problem}` }
    }
    if (this.#units.isStarting) return wait('a start has not been answered yet')
    if (unitRoom < 1) return wait(this.#reasonOfMaximum)
    if (queueRoom < 1) {
      const reason = `the maximum of ${counted(maxQueuedUnits, 'unit')} is queued`
      return wait(withWhy(reason, this.#units.queuedWhy))
    }
    const allowed = this.#claimed(units, missing, demand, view)
    if (allowed < 1) return wait('other allocators start workers for this work, or are about to')
    this.#claim = 0
    this.#units.onOrdered(allowed)
    return { action: 'start', units: allowed, reason: reasonToStart(missing, demand) }
  }

  /**
   * How many units may be started now. With other allocators for the same work, it announces its
   * claim first, and starts once the scheduler has passed it back and no other claim is in the way:
   * whoever claims later sees this one. Of two that see each other, the first by name goes on.
   */
  #claimed(units: number, missing: number, { rivals }: Demand, view: ClusterView): number {
    if (rivals.length === 0) return units
    const { name, workersPerUnit } = this.#options
    const own = view.allocators.find((announced) => announced.name === name)
    const claimOf = (some: readonly Announcement[]): number => {
      return some.reduce((sum, { claim }) => sum + claim, 0)
    }
    // The last unit may have more workers than are missing.
    const unitsFor = (workers: number): number => {
      return Math.min(units, Math.max(0, Math.ceil(workers / workersPerUnit)))
    }
    const before = claimOf(rivals.filter((rival) => rival.name < name))
    this.#claim = unitsFor(missing - before) * workersPerUnit
    return unitsFor(Math.min(own?.claim ?? 0, missing - claimOf(rivals)))
  }

  /** Ends units that have been idle, or are on their way for nothing. */
  #shrink(surplus: number, own: number): Choice | undefined {
    const { now } = this.#turn
    const { idleMs, minWorkers, workersPerUnit } = this.#options
    let left = Math.min(surplus, own - minWorkers)
    if (surplus < workersPerUnit) this.#surplusSince = undefined
    else this.#surplusSince ??= now
    const drained: Unit[] = []
    for (const unit of this.#units.staying) {
      const isIdle = unit.idleSince !== undefined && now - unit.idleSince >= idleMs
      if (!isIdle || unit.workers.length > left) continue
      left -= unit.workers.length
      drained.push(unit)
    }
    const cancelled: Unit[] = []
    if (this.#surplusSince !== undefined && now - this.#surplusSince >= idleMs) {
      for (const unit of this.#units.waiting.toReversed()) {
        if (workersPerUnit > left) break
        left -= workersPerUnit
        cancelled.push(unit)
      }
    }
    if (drained.length + cancelled.length === 0) return undefined
    this.#end(drained, cancelled)
    const idle = `${counted(drained.length, 'unit')} idle for ${idleMs / 1_000} s`
    const queued = `${counted(cancelled.length, 'unit')} not needed any more`
    const reason = [drained.length > 0 ? idle : '', cancelled.length > 0 ? queued : '']
    const units = drained.length + cancelled.length
    return { action: 'drain', units, reason: reason.filter((text) => text !== '').join(', ') }
  }

  #end(drained: readonly Unit[], cancelled: readonly Unit[]): void {
    if (this.#options.isDryRun) return
    const { now } = this.#turn
    for (const { listed, workers } of drained) {
      this.#units.end(listed.key, now)
      this.#turn.act({ type: 'drain', unit: listed, workers: workers.map(({ id }) => id) })
    }
    for (const { listed } of cancelled) this.#units.end(listed.key, now)
    if (cancelled.length === 0) return
    this.#turn.act({ type: 'cancel', units: cancelled.map(({ listed }) => listed) })
  }

  /** How many more workers it may ask for. Those that are leaving count until they have ended. */
  #room(): number {
    const { maxWorkers, workersPerUnit } = this.#options
    const room = Math.max(0, maxWorkers - this.#stayingCount)
    const starvedMs = this.#turn.now - (this.#starvedSince ?? this.#turn.now)
    const least = starvedMs < LEAVING_PATIENCE_MS ? 0 : Math.min(room, workersPerUnit)
    return Math.max(least, room - this.#units.ending)
  }

  /** Workers that are there and stay, or are on their way. */
  get #stayingCount(): number {
    return this.#units.running + this.#units.pending(this.#turn.now)
  }

  get #reasonOfMaximum(): string {
    const { maxWorkers } = this.#options
    const verb = maxWorkers === 1 ? 'is' : 'are'
    const reason = `${counted(maxWorkers, 'worker')} ${verb} the maximum`
    return this.#units.ending === 0 ? reason : `${reason}, with those that are leaving`
  }

  #onDecided(choice: Choice, demand: Demand): void {
    const pending = this.#units.pending(this.#turn.now) + demand.othersPending
    const { waitingTasks, waitingSeconds, workers } = demand
    const seconds = Math.round(waitingSeconds * 10) / 10
    const decision = { ...choice, waitingTasks, waitingSeconds: seconds, workers, pending }
    const last = this.#last
    this.#last = decision
    const isSame = choice.action === last?.action && choice.reason === last.reason
    const isStart = choice.units > 0 && !this.#options.isDryRun
    if (isStart || !isSame) this.#turn.act({ type: 'decided', decision })
    if (choice.action !== 'start') return
    if (this.#options.isDryRun) this.#units.onStarted(choice.units, [], this.#turn.now)
    else this.#turn.act({ type: 'start', units: choice.units })
  }

  #report({ action, reason }: Choice): Announcement {
    const { name, provider, offers, runtime } = this.#options
    const isBlocked = this.#isPaused || this.#turn.now < this.#startsAgainAt
    return {
      name,
      provider,
      offers,
      runtime,
      room: isBlocked ? 0 : this.#room(),
      pending: this.#units.pending(this.#turn.now),
      claim: this.#claim,
      running: this.#units.running,
      isPaused: this.#isPaused,
      action,
      reason,
      problem: this.#problem === '' ? this.#listProblem : this.#problem,
    }
  }
}

function wait(reason: string): Choice {
  return { action: 'wait', units: 0, reason }
}

function reasonWithoutList(problem: string): string {
  if (problem === '') return 'the provider has not listed its units yet'
  return `the provider cannot list its units: ${problem}`
}

/** A reason without numbers that change all the time: a log has one line for each. */
function reasonToWait(demand: Demand, pending: number, queuedWhy: string): string {
  const { waitingTasks, tooLong, workers, target } = demand
  if (waitingTasks === 0 && tooLong > 0) {
    const takes = tooLong === 1 ? 'takes' : 'take'
    return `${counted(tooLong, 'task')} ${takes} longer than workers live`
  }
  if (waitingTasks === 0) return workers === 0 ? 'no work' : 'no work waits'
  if (workers >= target) return 'the present workers will finish the work in time'
  return pending === 0
    ? 'other allocators are starting the workers that are needed'
    : withWhy('workers are on their way', queuedWhy)
}

function withWhy(reason: string, why: string): string {
  return why === '' ? reason : `${reason} (${why})`.slice(0, MAX_PROBLEM)
}

function reasonToStart(missing: number, demand: Demand): string {
  const { waitingTasks, waitingSeconds, target } = demand
  if (waitingTasks === 0) return `${counted(missing, 'worker')} below the minimum`
  const work = waitingSeconds > 0 ? ` (${Math.round(waitingSeconds)} s of work)` : ''
  const tasks = `${counted(waitingTasks, 'task')} ${waitingTasks === 1 ? 'waits' : 'wait'}${work}`
  return `${tasks}: ${counted(target, 'worker')} needed, ${missing} missing`
}

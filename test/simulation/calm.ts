// What must hold in worlds in which nothing goes wrong, beyond what must hold in all: no worker
// idles while another one has more than it has begun and could give away (what needs units may have
// to wait for those of others), and what was cancelled ends soon.

import type { Identity, TaskId } from '#src/base/ids.js'
import type { AgentHost } from './agent-host.js'
import type { Journal } from './journal.js'
import { mayNeedUnits } from './program.js'
import type { Scenario } from './scenario.js'
import { Violation } from './violation.js'

/** A worker may idle for so long beside one that has too much, beyond `loadBalanceMs`. */
const IDLE_MS = 3_000
/** A cancelled task ends so long after its grace time. */
const CANCEL_MS = 8_000

/** A task that a worker has, and that nobody cancelled. */
export interface GivenTask {
  readonly worker: Identity
  readonly taskId: TaskId
  readonly at: number
}

/** Looks at a calm world now and then. */
export class CalmChecker {
  readonly #scenario: Scenario
  readonly #journal: Journal
  /** Since when each worker has nothing. */
  readonly #idleSince = new Map<Identity, number>()

  constructor(scenario: Scenario, journal: Journal) {
    this.#scenario = scenario
    this.#journal = journal
  }

  /** Whether there is anything to look at. */
  get isWanted(): boolean {
    const { faults, hostPipes, scheduler } = this.#scenario
    return faults.length === 0 && Object.keys(hostPipes).length === 0 && scheduler.loadBalanceMs > 0
  }

  /** `given`: what workers have and have not answered. Throws `Violation`. */
  look(now: number, agents: readonly (AgentHost | undefined)[], given: readonly GivenTask[]): void {
    // What a processor had that ended is tried again where it was: it may be the cause.
    if (this.#journal.deaths.length > 0) return
    const patienceMs = this.#scenario.scheduler.loadBalanceMs + IDLE_MS
    const idle = this.#idleWorkers(now, agents, given).find((since) => now - since.at > patienceMs)
    if (idle === undefined) return
    const stuck = given.find(({ taskId, at }) => {
      if (now - at <= patienceMs || this.#journal.runsOf.has(taskId)) return false
      return !mayNeedUnits(this.#journal.nameOf(taskId) ?? '')
    })
    if (stuck === undefined) return
    const name = this.#journal.nameOf(stuck.taskId)
    throw new Violation('idle', `${name} waits at ${stuck.worker} while ${idle.worker} has nothing`)
  }

  /** At the end: whether what was cancelled has ended soon. Throws `Violation`. */
  checkCancels(now: number): void {
    if (this.#scenario.faults.length > 0) return
    const { cancelGraceMs } = this.#scenario.worker
    const delayMs = this.#scenario.pipes.maxDelayMs * 4
    for (const [name, at] of this.#journal.cancels) {
      const latest = at + cancelGraceMs + delayMs + CANCEL_MS
      const late = this.#journal.runs.find((run) => {
        return run.name === name && run.beganAt < at && (run.endedAt ?? now) > latest
      })
      if (late === undefined) continue
      throw new Violation('late', `${name} ran on long after it had been cancelled`)
    }
  }

  #idleWorkers(
    now: number,
    agents: readonly (AgentHost | undefined)[],
    given: readonly GivenTask[],
  ): { readonly worker: Identity; readonly at: number }[] {
    const idle: { readonly worker: Identity; readonly at: number }[] = []
    for (const worker of agents.flatMap((agent) => agent?.workers ?? [])) {
      const { identity } = worker
      const isIdle = worker.isServing && !given.some((task) => task.worker === identity)
      if (!isIdle) this.#idleSince.delete(identity)
      else if (!this.#idleSince.has(identity)) this.#idleSince.set(identity, now)
      const at = this.#idleSince.get(identity)
      if (at !== undefined) idle.push({ worker: identity, at })
    }
    return idle
  }
}

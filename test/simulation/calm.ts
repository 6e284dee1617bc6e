// Rules for worlds without faults, beyond the rules for all: no worker idles while another one has
// unstarted tasks that it could give away (tasks that need units may have to wait for those of
// others), and cancelled tasks end soon.

import type { Identity, TaskId } from '#src/base/ids.js'
import type { AgentHost } from './agent-host.js'
import type { Journal } from './journal.js'
import { mayNeedUnits } from './program.js'
import type { Scenario } from './scenario.js'
import { Violation } from './violation.js'

/** A worker may idle for this long beside an overloaded one, beyond `loadBalanceMs`. */
const IDLE_MS = 3_000
/** The time in which a cancelled task ends after its grace time. */
const CANCEL_MS = 8_000

/** A task that a worker has, and that was not cancelled. */
export interface GivenTask {
  readonly worker: Identity
  readonly taskId: TaskId
  /** When it was sent, or got the result that it needs; Infinity: it waits for that. */
  readonly at: number
}

/** Checks a calm world from time to time. */
export class CalmChecker {
  readonly #scenario: Scenario
  readonly #journal: Journal
  /** Since when each worker has had nothing. */
  readonly #idleSince = new Map<Identity, number>()

  constructor(scenario: Scenario, journal: Journal) {
    this.#scenario = scenario
    this.#journal = journal
  }

  /** Whether there is anything to check. */
  get isWanted(): boolean {
    const { faults, hostPipes, scheduler } = this.#scenario
    return faults.length === 0 && Object.keys(hostPipes).length === 0 && scheduler.loadBalanceMs > 0
  }

  /** `given`: the tasks that workers have and have not answered. Throws `Violation`. */
  look(now: number, agents: readonly (AgentHost | undefined)[], given: readonly GivenTask[]): void {
    // Tasks of a processor that ended are retried where they were: one may be the cause.
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

  /** At the end: whether cancelled tasks have ended soon. Throws `Violation`. */
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

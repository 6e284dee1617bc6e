// One world from its beginning to its end: it storms, it heals, all futures must settle, all leave,
// and nothing must be left.

import { AgentHost } from './agent-host.js'
import { Application } from './application.js'
import type { Limits } from './explanation.js'
import { Faults } from './faults.js'
import { Journal } from './journal.js'
import { Mutation, type MutationName } from './mutation.js'
import { OutcomeChecker } from './outcome-checker.js'
import { withChildren } from './program.js'
import { Random } from './random.js'
import { countRuns, type RunCount } from './run-checker.js'
import { programsOf, type Scenario } from './scenario.js'
import { SchedulerHost } from './scheduler-host.js'
import { Story, type StoryLine } from './story.js'
import { CalmChecker } from './calm.js'
import { patienceFor } from './patience.js'
import { Violation, type ViolationKind } from './violation.js'
import { VirtualClock } from './virtual-clock.js'
import { VirtualNetwork } from './virtual-network.js'
import { WireChecker } from './wire-checker.js'
import type { World } from './world.js'

/** The options of a run. */
export interface RunOptions {
  readonly mutation?: MutationName
  readonly isTold?: boolean
  /** The tables of machines are checked each time after this many events. Default: 1. */
  readonly checkEvery?: number
}

/** The report. */
export interface RunReport {
  readonly violation: Violation | undefined
  readonly events: number
  readonly virtualMs: number
  readonly futures: number
  readonly faults: number
  readonly counts: RunCount
  readonly story: readonly StoryLine[]
}

/** No world needs more events, unless it loops. */
const MAX_EVENTS = 400_000
/** Whether everything is over is checked each time after this many events. */
const EVENTS_PER_LOOK = 8
/** After the last client has left, everything is forgotten within this time. */
const FORGET_MS = 130_000
/** The time between two checks for idle workers. */
const LOOK_MS = 500
const NO_RUNS: RunCount = { runs: 0, repeats: 0, overlaps: 0 }

/** Runs a scenario. Never throws: errors are in the report. */
export function simulate(scenario: Scenario, options: RunOptions = {}): RunReport {
  return new Simulation(scenario, options).run()
}

/** One world and all its processes. */
export class Simulation {
  readonly scenario: Scenario
  readonly world: World
  readonly agents: (AgentHost | undefined)[] = []
  readonly applications: (Application | undefined)[] = []
  scheduler: SchedulerHost
  readonly #clock = new VirtualClock()
  readonly #outcomes: OutcomeChecker
  readonly #wire: WireChecker
  readonly #faults: Faults
  readonly #calm: CalmChecker

  constructor(scenario: Scenario, options: RunOptions) {
    const clock = this.#clock
    const random = new Random(scenario.seed).fork('world')
    const now = (): number => clock.now
    let count = 0
    this.scenario = scenario
    this.world = {
      clock,
      random,
      network: new VirtualNetwork(clock, random.fork('network')),
      story: new Story(options.isTold ?? false, now),
      journal: new Journal(now),
      mutation: new Mutation(options.mutation ?? 'none'),
      checkEvery: options.checkEvery ?? 1,
      holds: new Map(),
      nextNumber: () => (count += 1),
    }
    this.#outcomes = new OutcomeChecker(this.world.journal, now, limitsOf(scenario))
    this.#wire = new WireChecker(this.world.journal, now)
    this.scheduler = this.startScheduler()
    this.#faults = new Faults(this)
    this.#calm = new CalmChecker(scenario, this.world.journal)
    this.#planStarts()
    if (this.#calm.isWanted) this.#planLooks()
  }

  /** Runs it to its end. */
  run(): RunReport {
    let violation: Violation | undefined
    let counts = NO_RUNS
    try {
      this.#storm()
      this.#heal()
      this.#leave()
      this.#calm.checkCancels(this.#clock.now)
      counts = countRuns(this.world.journal, (run) => this.#mayRepeat(run.name))
    } catch (error) {
      violation = error instanceof Violation ? error : bugOf(error)
      this.world.story.tell('checker', () => String(violation?.stack))
    }
    const { clock, journal, story } = this.world
    return {
      violation,
      events: clock.happened,
      virtualMs: clock.now,
      futures: this.#outcomes.ended,
      faults: journal.faults.length,
      counts,
      story: story.lines,
    }
  }

  /**
   * Runs it until all futures have settled, and drops the data of checkers and users: the rest is
   * retained by machines.
   */
  live(): void {
    this.#storm()
    this.#heal()
    this.world.journal.forget()
    this.#outcomes.forget()
    this.#wire.forget()
    for (const application of this.applications) application?.forget()
  }

  /** Throws if the tables of a machine disagree. */
  checkInvariants(): void {
    this.scheduler.checkInvariants()
    for (const agent of this.agents) for (const one of agent?.workers ?? []) one.checkInvariants()
    for (const application of this.applications) application?.client.checkInvariants()
  }

  /** Starts a scheduler at the address of this world. */
  startScheduler(): SchedulerHost {
    const { scheduler, pipes, hasMonitor, minStoredBytes = Infinity } = this.scenario
    const settings = { ...scheduler, minStoredBytes }
    this.scheduler = new SchedulerHost(this.world, settings, pipes, this.#wire)
    if (hasMonitor) this.scheduler.publish()
    return this.scheduler
  }

  /** Starts an agent at a place. */
  startAgent(number: number, workers: number): AgentHost {
    const { worker, client, pipes, hostPipes } = this.scenario
    const host = `a${number}`
    const agent = new AgentHost(this.world, {
      host,
      workers,
      settings: worker,
      clientSettings: client,
      pipes: hostPipes[host] ?? pipes,
    })
    this.agents[number] = agent
    return agent
  }

  #planStarts(): void {
    for (const [number, { startMs, workers }] of this.scenario.agents.entries()) {
      this.#clock.at(startMs, () => this.startAgent(number, workers))
    }
    for (const [number, { startMs }] of this.scenario.clients.entries()) {
      this.#clock.at(startMs, () => {
        this.applications[number] = new Application(
          this.world,
          this.scenario,
          number,
          this.#outcomes,
        )
      })
    }
  }

  #planLooks(): void {
    this.#clock.after(LOOK_MS, () => {
      this.#calm.look(this.#clock.now, this.agents, this.#wire.given)
      this.#planLooks()
    })
  }

  get #isAllStarted(): boolean {
    const { agents, clients } = this.scenario
    const isStarted = (list: readonly unknown[], count: number): boolean => {
      return list.filter((item) => item !== undefined).length === count
    }
    return isStarted(this.agents, agents.length) && isStarted(this.applications, clients.length)
  }

  #isAllDone(): boolean {
    return this.#isAllStarted && this.applications.every((one) => one?.isDone === true)
  }

  /** Until all faults are over, or everything is done before. */
  #storm(): void {
    this.#runUntil(this.scenario.stormMs, () => this.#isAllDone())
    this.#faults.end()
  }

  /** All is well now: everything awaited must arrive. */
  #heal(): void {
    const { story } = this.world
    story.tell('world', () => 'heals')
    const deadline = this.#clock.now + patienceFor(this.scenario)
    if (this.#runUntil(deadline, () => this.#isAllDone())) return
    const waiting = this.applications.flatMap((application) => application?.unfinished ?? [])
    const names = waiting.map(({ name }) => name).join(' ')
    throw new Violation('liveness', `${names || 'somebody'} waits for ever`)
  }

  /** Clients close, then workers leave; nothing must be left of them. */
  #leave(): void {
    const { story } = this.world
    story.tell('world', () => 'all leave')
    for (const application of this.applications) application?.close()
    this.#await('table', () => this.#hasNo('tasks', 'graphs'), 'when all clients have left')
    for (const application of this.applications) {
      if (application === undefined || application.isGone) continue
      const { counts } = application.client
      if (counts['unfinishedTasks'] === 0 && counts['waitingBytes'] === 0) continue
      throw new Violation('table', `${application.host} has left with ${JSON.stringify(counts)}`)
    }
    this.#faults.leave()
    for (const agent of this.agents) agent?.stop()
    const isEnded = (): boolean => this.agents.every((agent) => agent?.hasEnded !== false)
    this.#await('liveness', isEnded, 'when all workers were told to leave')
    // Clients inside tasks have ended with their processes.
    const kinds = Object.keys(this.scheduler.counts)
    this.#await('table', () => this.#hasNo(...kinds), 'when all have left')
    this.scheduler.checkInvariants()
  }

  /** Whether the scheduler has nothing of some kinds. */
  #hasNo(...kinds: readonly string[]): boolean {
    const { counts } = this.scheduler
    return kinds.every((kind) => counts[kind] === 0)
  }

  #await(kind: ViolationKind, isOver: () => boolean, when: string): void {
    if (this.#runUntil(this.#clock.now + FORGET_MS, isOver)) return
    throw new Violation(
      kind,
      `the scheduler keeps ${JSON.stringify(this.scheduler.counts)} ${when}`,
    )
  }

  /** Runs events until that time, or until `isOver`. True if that came first. */
  #runUntil(deadline: number, isOver: () => boolean): boolean {
    const clock = this.#clock
    for (let count = 0; ; count += 1) {
      if (count % EVENTS_PER_LOOK === 0 && isOver()) return true
      if (!clock.step(deadline)) break
      if (clock.happened > MAX_EVENTS) {
        throw new Violation('liveness', 'there is no end of events')
      }
    }
    clock.skipTo(deadline)
    return isOver()
  }

  /** Whether a task may run again even without faults. */
  #mayRepeat(name: string): boolean {
    const programs = this.scenario.clients.flatMap((client) => programsOf(client))
    const program = programs
      .flatMap((one) => [...withChildren(one)])
      .find((one) => one.name === name)
    return program === undefined || program.retries > 0
  }
}

function limitsOf({ worker, client, clients }: Scenario): Limits {
  const programs = clients.flatMap((plan) => programsOf(plan))
  const all = programs.flatMap((program) => [...withChildren(program)])
  const deafMs = client.timeoutMs - 1_000
  const busyMs = all.reduce((sum, { blocks, ms }) => (blocks ? sum + ms : sum), 0)
  return {
    mayBeDeaf: busyMs >= deafMs,
    taskTimeoutMs: worker.taskTimeoutMs ?? 0,
  }
}

function bugOf(error: unknown): Violation {
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return new Violation('bug', text, error)
}

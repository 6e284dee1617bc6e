// Causes the faults of a scenario, and ends them all when it heals.

import type { AgentHost } from './agent-host.js'
import type { Fault, FaultPlan } from './fault.js'
import type { Simulation } from './simulation.js'
import { callOff, type Plan } from './virtual-clock.js'
import type { VirtualProcess } from './virtual-process.js'

/** The time between two checks that there is a worker. */
const SERVE_INTERVAL_MS = 5_000

/** The faults of one world. */
export class Faults {
  readonly #simulation: Simulation
  readonly #thaw = new Set<() => void>()
  #isOver = false
  #next: Plan | undefined

  constructor(simulation: Simulation) {
    this.#simulation = simulation
    for (const plan of simulation.scenario.faults) this.#arm(plan)
  }

  /** It heals: nothing is stopped, nothing is cut off, and there is a worker. */
  end(): void {
    const simulation = this.#simulation
    this.#isOver = true
    for (const thaw of this.#thaw) thaw()
    simulation.world.network.heal()
    if (!simulation.scheduler.process.isAlive) simulation.startScheduler()
    this.#serve()
  }

  /** All leave: nothing is replaced any more. */
  leave(): void {
    callOff(this.#next)
  }

  /** From now on there is always a worker, even if one gives up waiting for too long. */
  #serve(): void {
    const simulation = this.#simulation
    const isServed = simulation.agents.some(
      (agent) => agent?.hasEnded === false && !agent.isLeaving,
    )
    if (!isServed) simulation.startAgent(0, 1)
    this.#next = simulation.world.clock.after(SERVE_INTERVAL_MS, () => this.#serve())
  }

  #arm({ trigger, fault }: FaultPlan): void {
    const { clock, journal } = this.#simulation.world
    if (trigger.type === 'time') {
      clock.at(trigger.atMs, () => this.#happen(fault))
      return
    }
    let left = trigger.count
    journal.watch((message, reader) => {
      if (message.kind !== trigger.kind || reader !== trigger.reader) return
      left -= 1
      if (left === 0) clock.after(trigger.delayMs, () => this.#happen(fault))
    })
  }

  #happen(fault: Fault): void {
    if (this.#isOver) return
    const { world } = this.#simulation
    world.story.tell('fault', () => JSON.stringify(fault))
    world.journal.fault(JSON.stringify(fault))
    this.#perform(fault)
  }

  #perform(fault: Fault): void {
    const simulation = this.#simulation
    const { network, clock } = simulation.world
    switch (fault.type) {
      case 'killScheduler':
        return this.#killScheduler(fault.downMs)
      case 'freezeScheduler':
        return this.#freeze(simulation.scheduler.process, fault.ms)
      case 'killAgent':
      case 'loseAgent':
      case 'stopAgent':
        return this.#endAgent(fault)
      case 'freezeAgent': {
        const agent = simulation.agents[fault.agent]
        if (agent !== undefined) this.#freeze(agent.process, fault.ms)
        return
      }
      case 'strikeProcessor':
      case 'exitProcessor':
      case 'freezeProcessor':
        return this.#hitProcessor(fault)
      case 'killClient':
        return simulation.applications[fault.client]?.client.process.kill()
      case 'freezeClient': {
        const application = simulation.applications[fault.client]
        if (application !== undefined) this.#freeze(application.client.process, fault.ms)
        return
      }
      case 'cutLink': {
        const links = network.linksOf(fault.host)
        links[fault.index % Math.max(links.length, 1)]?.cut(fault.cut, fault.laterMs)
        return
      }
      case 'stallHost':
        for (const link of network.linksOf(fault.host)) link.stall(clock.now + fault.ms)
        return
      case 'swallowHost':
        return network.swallow(fault.host, clock.now + fault.ms)
      case 'loseServer':
        return simulation.scheduler.servers.lose()
      case 'moveServer':
        return simulation.scheduler.servers.move()
      default:
    }
  }

  #killScheduler(downMs: number): void {
    const simulation = this.#simulation
    simulation.scheduler.process.kill()
    simulation.world.clock.after(downMs, () => {
      if (!simulation.scheduler.process.isAlive) simulation.startScheduler()
    })
  }

  #freeze(process: VirtualProcess, ms: number): void {
    if (!process.isAlive) return
    this.#simulation.world.journal.hasFrozen = true
    process.hold()
    const thaw = (): void => {
      if (this.#thaw.delete(thaw)) process.release()
    }
    this.#thaw.add(thaw)
    this.#simulation.world.clock.after(ms, thaw)
  }

  #endAgent(fault: Extract<Fault, { type: 'killAgent' | 'loseAgent' | 'stopAgent' }>): void {
    const simulation = this.#simulation
    const agent = simulation.agents[fault.agent]
    if (agent === undefined) return
    if (fault.type === 'stopAgent') {
      agent.stop()
      if (fault.isUrgent) agent.stop(true)
    } else {
      if (fault.type === 'loseAgent') loseLinks(simulation, agent)
      agent.kill()
    }
    if (fault.backMs < 0) return
    simulation.world.clock.after(fault.backMs, () => {
      // It may have been replaced already; and one that is not back in time stays away.
      if (simulation.agents[fault.agent] !== agent || this.#isOver) return
      simulation.startAgent(fault.agent, agent.workers.length)
    })
  }

  #hitProcessor(
    fault: Extract<Fault, { type: 'strikeProcessor' | 'exitProcessor' | 'freezeProcessor' }>,
  ): void {
    const workers = this.#simulation.agents[fault.agent]?.workers ?? []
    const processor = workers[fault.worker % Math.max(workers.length, 1)]?.processor
    if (processor === undefined) return
    if (fault.type === 'strikeProcessor') processor.strike()
    else if (fault.type === 'exitProcessor') processor.exitIdle()
    else {
      this.#simulation.world.journal.hasFrozen = true
      processor.freeze()
      const thaw = (): void => {
        if (this.#thaw.delete(thaw)) processor.thaw()
      }
      this.#thaw.add(thaw)
      this.#simulation.world.clock.after(fault.ms, thaw)
    }
  }
}

function loseLinks({ world }: Simulation, { host }: AgentHost): void {
  for (const link of world.network.linksOf(host)) link.cut('void', 0)
}

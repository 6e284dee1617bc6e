// An agent process of the simulated world, with its workers: like src/worker/agent/agent.ts.

import { identity } from '#src/base/ids.js'
import { HostObjects } from '#src/core/worker/host-objects.js'
import { AgentUnits } from './agent-units.js'
import type { ClientSettings } from './client-host.js'
import type { PipeSettings } from './virtual-pipe.js'
import type { VirtualProcess } from './virtual-process.js'
import { WorkerHost, type WorkerSettings } from './worker-host.js'
import { Violation } from './violation.js'
import { MIN_FILE_BYTES, VirtualStore } from './virtual-store.js'
import { newProcess, type World } from './world.js'

/** The parts of an agent. */
export interface AgentSetup {
  /** Its position; the next agent there is another one. */
  readonly host: string
  readonly workers: number
  readonly settings: WorkerSettings
  readonly clientSettings: ClientSettings
  readonly pipes: PipeSettings
}

/** One agent. */
export class AgentHost {
  readonly host: string
  readonly process: VirtualProcess
  readonly workers: readonly WorkerHost[]
  readonly #store: VirtualStore
  #isLeaving = false

  constructor(world: World, setup: AgentSetup) {
    const number = world.nextNumber()
    this.host = setup.host
    this.process = newProcess(world, `agent-${number}`)
    world.story.tell(this.process.name, () => `starts ${setup.workers} workers on ${setup.host}`)
    const store = new VirtualStore(this.process, world.random.fork(`store ${number}`))
    this.#store = store
    const hostObjects = new HostObjects(store, MIN_FILE_BYTES)
    const units = new AgentUnits(setup.workers)
    units.units.listen(() => {
      this.process.after(0, () => {
        for (const worker of this.workers) worker.nudge()
      })
    })
    this.workers = Array.from({ length: setup.workers }, (_, index) => {
      return new WorkerHost(world, {
        ...setup,
        identity: identity(`worker-${number}.${index}`),
        process: this.process,
        units,
        hostObjects,
        store,
        agentId: this.process.name,
        onEnd: () => {
          if (this.hasEnded) this.process.after(10, () => this.#exit())
        },
      })
    })
  }

  /** Whether all of its workers have ended. */
  get hasEnded(): boolean {
    return !this.process.isAlive || this.workers.every((worker) => worker.hasEnded)
  }

  /** Whether it was asked to leave. */
  get isLeaving(): boolean {
    return this.#isLeaving
  }

  /** Asks all of its workers to leave, immediately if it is urgent. */
  stop(isUrgent = false): void {
    this.#isLeaving = true
    this.process.deliver(() => {
      for (const worker of this.workers) if (!worker.hasEnded) worker.stop(isUrgent)
    })
  }

  #exit(): void {
    const { fileCount } = this.#store
    this.process.kill()
    if (fileCount > 0) throw new Violation('table', `${this.host} leaves ${fileCount} files behind`)
  }

  /** kill -9, with everything that belongs to it. */
  kill(): void {
    this.process.kill()
  }
}

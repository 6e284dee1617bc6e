// The agent of an embedded cluster whose number of workers follows the work: an allocator, in the
// process of the agent, that adds workers to it. All workers share one process besides their
// processors, and what they offer; nothing can outlive the program that has started the cluster.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { AllocatorEngine } from '../allocate/engine.js'
import { checkAllocatorOptions } from '../allocate/options.js'
import { newUnitKey, type Provider, type StartedUnits } from '../allocate/provider.js'
import type { Settled } from '../base/option.js'
import type { ListedUnit } from '../core/allocate/events.js'
import { Agent, type AgentEnd } from '../worker/agent/agent.js'
import type { AgentOptions } from '../worker/agent/options.js'
import type { SparePool } from '../worker/agent/spare-pool.js'
import type { AgentWorker } from '../worker/agent/worker.js'
import type { WorkerRange } from './options.js'

/** Other allocators of the same scheduler are unlikely to have this name. */
const NAME = 'embedded'

/** How long the work that waits may take: not much longer than a worker takes to start. */
const BACKLOG_MS = 500

/** A worker that has not registered by then never will. */
const START_TIMEOUT_MS = 60_000

/** How often the allocator is told which workers there are. */
const LIST_INTERVAL_MS = 1_000

/** A worker that ends while it runs a task finishes it. */
const DRAIN_MS = 86_400_000

/** Maximum number of workers for which it is kept why they have ended. */
const MAX_ENDS = 100

/** An agent with as many workers as the work needs. */
export class ElasticAgent {
  /** Resolves when the minimum of workers is registered; rejects if one of them stops first. */
  readonly ready: Promise<void>
  /** Resolves when it has stopped, on request or because of a bug. */
  readonly ended: Promise<AgentEnd>
  readonly #agent: Agent
  readonly #engine: AllocatorEngine

  private constructor(agent: Agent, engine: AllocatorEngine, workers: readonly AgentWorker[]) {
    this.#agent = agent
    this.#engine = engine
    this.ready = Promise.all(workers.map((worker) => worker.ready)).then(() => {})
    // An allocator that was stopped is not the end yet.
    const failed = engine.ended.then((end) => (end.isFailure ? end : agent.ended))
    this.ended = Promise.race([agent.ended, failed])
  }

  /**
   * Starts the agent with the minimum of workers. Rejects with `ConfigError` for a bad option.
   * `spares`: of `poolOf`, with the same options.
   */
  static async start(
    options: AgentOptions,
    { min: minWorkers, max: maxWorkers, idleMs }: Settled<WorkerRange>,
    spares?: SparePool,
  ): Promise<ElasticAgent> {
    const { address, capabilities, logger, tls } = options
    const limits = { minWorkers, maxWorkers, idleMs, startTimeoutMs: START_TIMEOUT_MS }
    const more = { listIntervalMs: LIST_INTERVAL_MS, capabilities, logger, tls }
    const own = { provider: 'local', name: NAME, address, ...limits, ...more } as const
    const checked = { ...checkAllocatorOptions(own), backlogMs: BACKLOG_MS }
    const agent = await Agent.startElastic(options, spares)
    const provider = new WorkerProvider(agent)
    await provider.start(minWorkers)
    const { workers } = provider
    return new ElasticAgent(agent, new AllocatorEngine(checked, () => {}, provider), workers)
  }

  /** As `Agent.stop`. */
  async stop(how: { readonly isUrgent?: boolean } = {}): Promise<void> {
    await Promise.all([this.#engine.stop(), this.#agent.stop(how)])
  }
}

/** Starts and ends single workers of an agent. */
class WorkerProvider implements Provider {
  readonly #agent: Agent
  readonly #workers = new Map<string, AgentWorker>()
  /** Why workers have ended, until it is read. */
  readonly #ends = new Map<string, string>()

  constructor(agent: Agent) {
    this.#agent = agent
  }

  /** All that have not ended. */
  get workers(): readonly AgentWorker[] {
    return [...this.#workers.values()]
  }

  /** One per turn of the event loop: those that already run must not wait for all of them. */
  async start(count: number): Promise<StartedUnits> {
    const units: ListedUnit[] = []
    while (units.length < count) {
      if (units.length > 0) await nextTurn()
      const unit = this.#add()
      if (unit === undefined) return { units, problem: 'the cluster is shutting down' }
      units.push(unit)
    }
    return { units, problem: '' }
  }

  list(): Promise<readonly ListedUnit[]> {
    return Promise.resolve([...this.#workers.keys()].map(unitOf))
  }

  /** Those without a task end at once: the allocator need not wait for the others. */
  cancel(units: readonly ListedUnit[]): Promise<void> {
    for (const { key } of units) void this.#workers.get(key)?.stop(false, DRAIN_MS)
    return Promise.resolve()
  }

  output({ key }: ListedUnit): Promise<string> {
    const reason = this.#ends.get(key) ?? ''
    this.#ends.delete(key)
    return Promise.resolve(reason)
  }

  #add(): ListedUnit | undefined {
    const key = newUnitKey()
    const worker = this.#agent.add(`${NAME}/${key}`)
    if (worker === undefined) return undefined
    this.#workers.set(key, worker)
    void worker.ended.then(({ reason, isFailure }) => {
      this.#workers.delete(key)
      if (this.#ends.size >= MAX_ENDS) this.#ends.clear()
      if (isFailure) this.#ends.set(key, reason)
    })
    return unitOf(key)
  }
}

function unitOf(key: string): ListedUnit {
  return { id: key, key, state: 'running' }
}

// Scheduler and workers on this machine, started from code: one process for the scheduler, one for
// the agent, one processor per worker. None of them outlives this process.

import { availableParallelism } from 'node:os'
import { numberOption } from '../base/option.js'
import { silentLogger, type Logger } from '../base/logger.js'
import { checkSchedulerOptions, type SchedulerOptions } from '../scheduler/scheduler-options.js'
import { checkAgentOptions, type AgentOptions } from '../worker/agent-options.js'
import type { ClusterOptions } from './cluster-options.js'
import { EmbeddedProcess, type EmbeddedStart } from './embedded-process.js'
import { SupervisedProcess } from './supervised-process.js'

/** What a local cluster can be told: the options of its scheduler and of its workers. */
export interface ComboOptions extends SchedulerOptions, ClusterOptions {
  /** How many workers. Default: one per available core. 1 to 4,096. */
  readonly workers?: number | undefined
  /** Default: a free port on 127.0.0.1. */
  readonly address?: string | undefined
}

/**
 * What runs when the cluster ends has nobody left to wait for it: a processor that does not end by
 * itself is given this time for its exit handlers, in milliseconds.
 */
const PROCESSOR_KILL_DELAY_MS = 500

/** Where a scheduler is. */
interface Addresses {
  readonly address: string
  readonly monitorAddress: string
}

/**
 * A scheduler and its workers on this machine. A process of them that dies is started again, which
 * is told in a process warning (`SCALER_EMBEDDED_ENDED`); what clients have submitted goes on.
 */
export class SchedulerClusterCombo implements AsyncDisposable {
  /** Where clients connect. */
  readonly address: string
  /** Where monitors subscribe. */
  readonly monitorAddress: string
  readonly #processes: readonly SupervisedProcess[]
  #ending: Promise<void> | undefined

  private constructor(addresses: Addresses, processes: readonly SupervisedProcess[]) {
    this.address = addresses.address
    this.monitorAddress = addresses.monitorAddress
    this.#processes = processes
  }

  /**
   * Starts everything; resolves when all workers are ready. Rejects with `ConfigError` for a bad
   * option and with an error that says why when a part cannot start; nothing is left then.
   */
  static async start(options: ComboOptions = {}): Promise<SchedulerClusterCombo> {
    const { workers, address, workerNames, logger = silentLogger, ...rest } = options
    const { heartbeatIntervalMs, deathTimeoutMs, inlineLimitBytes, ...others } = rest
    const { cancelGraceMs, spareProcessors, objectCacheBytes, ...schedulerRest } = others
    const count = numberOption('workers', workers, availableParallelism(), { min: 1, max: 4096 })
    const schedulerOptions = {
      ...schedulerRest,
      protected: options.protected ?? true,
      address: address ?? 'tcp://127.0.0.1:0',
    }
    const agentOptions = {
      heartbeatIntervalMs,
      deathTimeoutMs,
      inlineLimitBytes,
      cancelGraceMs,
      spareProcessors,
      objectCacheBytes,
      names: workerNames,
      workers: count,
      killDelayMs: PROCESSOR_KILL_DELAY_MS,
    }
    // Checked here, too, so that a mistake is told at once and as a ConfigError.
    checkSchedulerOptions(schedulerOptions)
    checkAgentOptions({ ...agentOptions, address: 'tcp://127.0.0.1:1' })
    const { scheduler, agent } = newParts(logger)
    try {
      const addresses = await startScheduler(scheduler, schedulerOptions)
      await startAgent(agent, { ...agentOptions, address: addresses.address })
      return new SchedulerClusterCombo(addresses, [agent, scheduler])
    } catch (error) {
      await Promise.all([agent.end(), scheduler.end()])
      throw error
    }
  }

  /** Ends everything: no process, port or file stays behind. Safe to call twice. */
  shutdown(): Promise<void> {
    this.#ending ??= this.#shutdown()
    return this.#ending
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }

  /** The workers first, so that they can say good-bye. */
  async #shutdown(): Promise<void> {
    for (const process of this.#processes) await process.end()
  }
}

/** Both at once: starting Node takes longer than anything that follows. */
function newParts(logger: Logger): Record<'scheduler' | 'agent', SupervisedProcess> {
  const open = (): EmbeddedProcess => new EmbeddedProcess(logger)
  const endAgent = (): void => void agent.end()
  const scheduler = new SupervisedProcess(open, logger, { onOver: endAgent, onGivenUp: endAgent })
  const agent = new SupervisedProcess(open, logger, {
    // It was told to, with all workers: the scheduler is about to end, too.
    onOver: () => scheduler.release(),
    // Without workers nothing ever ends: clients had better find nobody.
    onGivenUp: () => void scheduler.end(),
  })
  return { scheduler, agent }
}

async function startScheduler(
  scheduler: SupervisedProcess,
  options: Omit<SchedulerOptions, 'logger'> & { readonly address: string },
): Promise<Addresses> {
  const start = await scheduler.start({ role: 'scheduler', options }, (first) => {
    // At the port that clients and workers know.
    const { address, monitorAddress } = whereabouts(first)
    return { role: 'scheduler', options: { ...options, address, monitorAddress } }
  })
  return whereabouts(start)
}

async function startAgent(
  agent: SupervisedProcess,
  options: Omit<AgentOptions, 'logger'>,
): Promise<void> {
  const order = { role: 'agent', options } as const
  await agent.start(order, () => order)
}

function whereabouts(start: EmbeddedStart): Addresses {
  if (start.event === 'listening') return start
  throw new Error('the scheduler did not say where it listens')
}

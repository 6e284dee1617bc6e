// The workers of one machine: an agent in this process and one processor process per worker.

import { checkOptions, optionsIn, type OptionTable } from '../base/option.js'
import { asCalled, captureSite } from '../runtime/call-site.js'
import {
  type CodeLog,
  LOGGING_OPTIONS,
  type LoggingOptions,
  openCodeLog,
} from '../runtime/log/log.js'
import {
  UNNECESSARY_WORKER_OPTIONS,
  type UnnecessaryWorkerOptions,
} from '../runtime/unnecessary-options.js'
import { AGENT_OPTIONS, type AgentOptions, checkAgentOptions } from '../worker/agent/options.js'
import { Agent, type AgentEnd } from '../worker/agent/agent.js'

// The options of a cluster (the workers of one machine): those of an agent and of its log.

/** What a cluster can be told: the options of the command, and a logger. */
export interface ClusterOptions
  extends Omit<AgentOptions, 'address' | 'workers'>, LoggingOptions, UnnecessaryWorkerOptions {}

/** The same with what a cluster must be told. */
export interface ClusterStartOptions extends ClusterOptions {
  /** The address of the scheduler: `tcp://host:port`, `ipc:///path`. */
  readonly address: string
  /** How many workers. 1 to 4,096. */
  readonly workers: number
}

/** All that a cluster can be told by code. */
export const CLUSTER_START_OPTIONS: OptionTable<ClusterStartOptions> = {
  ...AGENT_OPTIONS,
  ...LOGGING_OPTIONS,
  ...UNNECESSARY_WORKER_OPTIONS,
}

/**
 * Workers of this machine, for a scheduler anywhere. Keeps the process alive until it has ended.
 */
export class Cluster implements AsyncDisposable {
  /** Resolves when all workers have ended: stopped, shut down, or given up on the scheduler. */
  readonly ended: Promise<AgentEnd>
  readonly #agent: Agent

  private constructor(agent: Agent, log: CodeLog) {
    // The compiler refuses `new`; JavaScript does not.
    if (!(agent instanceof Agent)) {
      throw new TypeError('new Cluster() starts nothing; use await Cluster.start(options)')
    }
    this.#agent = agent
    this.ended = agent.ended.then(async (end) => {
      await log.close()
      return end
    })
  }

  /**
   * Starts the workers; resolves when the scheduler knows all of them. While no scheduler answers,
   * that takes as long as `deathTimeoutMs`, then it rejects with `DisconnectedError`. Rejects with
   * `ConfigError` for a bad option or address. Nothing is left when it rejects.
   */
  static start(options: ClusterStartOptions): Promise<Cluster> {
    return asCalled(captureSite(1), () => Cluster.#start(options))
  }

  static async #start(options: ClusterStartOptions): Promise<Cluster> {
    checkOptions('cluster', CLUSTER_START_OPTIONS, options)
    const own: AgentOptions = optionsIn(AGENT_OPTIONS, options)
    checkAgentOptions(own)
    const log = await openCodeLog(options)
    let agent: Agent | undefined
    try {
      agent = await Agent.start({ ...own, logger: log.logger })
      await agent.ready
      return new Cluster(agent, log)
    } catch (error) {
      await agent?.stop()
      await log.close()
      throw error
    }
  }

  /**
   * Shuts all workers down gracefully: the scheduler gives their tasks to others. Safe to call
   * twice.
   */
  async shutdown(): Promise<void> {
    await this.#agent.stop()
    await this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }
}

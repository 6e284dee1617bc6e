// The workers of one machine: an agent in this process and one processor process per worker.

import { argumentError, asCalled, captureSite } from '../runtime/call-site.js'
import { checkOptions, optionsIn } from '../base/option.js'
import { openCodeLog, type CodeLog } from '../runtime/log/log.js'
import type { Agent, AgentEnd } from '../worker/agent/agent.js'
import { AGENT_OPTIONS, checkAgentOptions, type AgentOptions } from '../worker/agent/options.js'
import { warnOfDelay } from './embedded-process.js'
import { CLUSTER_START_OPTIONS, type ClusterStartOptions } from './options.js'

/**
 * Workers on this machine, for a scheduler anywhere. Keeps the process alive until it has stopped.
 */
export class Cluster implements AsyncDisposable {
  /** Resolves when all workers have stopped: on request, or because the scheduler was lost. */
  readonly ended: Promise<AgentEnd>
  readonly #agent: Agent
  #stopping: Promise<void> | undefined

  private constructor(agent: Agent, log: CodeLog | undefined) {
    // The compiler refuses `new`; JavaScript does not.
    if (log === undefined) {
      throw argumentError('new Cluster() starts nothing; use await Cluster.start(options)')
    }
    this.#agent = agent
    this.ended = agent.ended.then(async (end) => {
      await log.close()
      return end
    })
  }

  /**
   * Starts the workers; resolves when all of them are registered with the scheduler. Rejects with
   * `DisconnectedError` if no scheduler answers within `deathTimeoutMs`, with `ConfigError` for a
   * bad option or address, and with `ERR_SCALER_EMBEDDED` if the system has refused to start
   * processes for a minute. Everything is cleaned up before it rejects.
   */
  static start(options: ClusterStartOptions): Promise<Cluster> {
    return asCalled(captureSite(1), () => Cluster.#start(options))
  }

  static async #start(options: ClusterStartOptions): Promise<Cluster> {
    checkOptions('cluster', CLUSTER_START_OPTIONS, options)
    const own: AgentOptions = optionsIn(AGENT_OPTIONS, options)
    checkAgentOptions(own)
    // Most programs that import the library start no workers in their own process.
    const { Agent: LoadedAgent, StartWatch } = await import('../worker/agent/agent.js')
    const log = await openCodeLog(options)
    const watch = new StartWatch(log.logger, (text) => warnOfDelay('the cluster', text))
    let agent: Agent | undefined
    try {
      agent = await LoadedAgent.start({ ...own, logger: watch.logger })
      await watch.orFailure(agent.ready)
      return new Cluster(agent, log)
    } catch (error) {
      await agent?.stop()
      await log.close()
      throw error
    }
  }

  /**
   * Shuts all workers down gracefully: the scheduler moves their tasks to other workers. Safe to
   * call twice.
   */
  async shutdown(): Promise<void> {
    // For the agent, a second stop is an urgent one.
    this.#stopping ??= this.#agent.stop()
    await this.#stopping
    await this.ended
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }
}

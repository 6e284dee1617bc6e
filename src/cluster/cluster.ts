// The workers of one machine: an agent in this process and one processor process per worker.

import { Agent, type AgentEnd } from '../worker/agent.js'
import type { ClusterOptions } from './cluster-options.js'

/**
 * Workers of this machine, for a scheduler anywhere. Keeps the process alive until it has ended.
 */
export class Cluster implements AsyncDisposable {
  /** Resolves when all workers have ended: stopped, shut down, or given up on the scheduler. */
  readonly ended: Promise<AgentEnd>
  readonly #agent: Agent

  private constructor(agent: Agent) {
    this.#agent = agent
    this.ended = agent.ended
  }

  /**
   * Starts the workers; resolves when the scheduler knows all of them. While no scheduler answers,
   * that takes as long as `deathTimeoutMs`, then it rejects with `DisconnectedError`. Rejects with
   * `ConfigError` for a bad option or address.
   */
  static async start(
    options: ClusterOptions & { readonly address: string; readonly workers: number },
  ): Promise<Cluster> {
    const { workerNames, ...rest } = options
    const agent = await Agent.start({ ...rest, names: workerNames })
    try {
      await agent.ready
    } catch (error) {
      await agent.stop()
      throw error
    }
    return new Cluster(agent)
  }

  /**
   * Ends all workers in good order: the scheduler gives their tasks to others. Safe to call twice.
   */
  shutdown(): Promise<void> {
    return this.#agent.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }
}

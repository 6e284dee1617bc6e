// The options of a cluster (the workers of one machine): those of an agent and of its log.

import type { OptionTable } from '../base/option.js'
import { LOGGING_OPTIONS, type LoggingOptions } from '../runtime/log/log.js'
import {
  UNNECESSARY_WORKER_OPTIONS,
  type UnnecessaryWorkerOptions,
} from '../runtime/unnecessary-options.js'
import { AGENT_OPTIONS, type AgentOptions } from '../worker/agent/options.js'

/** The options of a cluster: those of the command, and a logger. */
export interface ClusterOptions
  extends Omit<AgentOptions, 'address' | 'workers'>, LoggingOptions, UnnecessaryWorkerOptions {}

/** `ClusterOptions` with the required options. */
export interface ClusterStartOptions extends ClusterOptions {
  /** The address of the scheduler: `tcp://host:port`, `ipc:///path`. */
  readonly address: string
  /** Number of workers. 1 to 4,096. */
  readonly workers: number
}

/** Every option that code can pass to a cluster. */
export const CLUSTER_START_OPTIONS: OptionTable<ClusterStartOptions> = {
  ...AGENT_OPTIONS,
  ...LOGGING_OPTIONS,
  ...UNNECESSARY_WORKER_OPTIONS,
}

// The options of a cluster (the workers of one machine): those of an agent and of its log.

import type { OptionTable } from '../base/option.js'
import { LOGGING_OPTIONS, type LoggingOptions } from '../runtime/log/log.js'
import {
  UNNECESSARY_WORKER_OPTIONS,
  type UnnecessaryWorkerOptions,
} from '../runtime/unnecessary-options.js'
import { AGENT_OPTIONS, type AgentOptions } from '../worker/agent/options.js'

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

// The options of a cluster (the workers of one machine): those of an agent and of its log. And
// those of a local cluster: all options of its scheduler and of its workers; the tables of both
// define which option belongs to which part.

import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { checkOptions, loggerOption, optionsIn, type OptionTable } from '../base/option.js'
import { LOGGING_OPTIONS, type LoggingOptions } from '../runtime/log/log.js'
import {
  UNNECESSARY_WORKER_OPTIONS,
  type UnnecessaryWorkerOptions,
} from '../runtime/unnecessary-options.js'
import {
  checkSchedulerOptions,
  SCHEDULER_OPTIONS,
  type SchedulerOptions,
  type SchedulerOwnOptions,
} from '../scheduler/scheduler-options.js'
import { AGENT_OPTIONS, checkAgentOptions, type AgentOptions } from '../worker/agent/options.js'

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

/** The options of a local cluster: those of its scheduler and of its workers. */
export interface ComboOptions extends SchedulerOptions, ClusterOptions {
  /** Number of workers. Default: one per available core. 1 to 4,096. */
  readonly workers?: number | undefined
  /** Where its scheduler listens. Default: a free port on 127.0.0.1. */
  readonly address?: string | undefined
}

/** Every option of a local cluster, with its own defaults. */
export const COMBO_OPTIONS: OptionTable<ComboOptions> = {
  ...SCHEDULER_OPTIONS,
  ...CLUSTER_START_OPTIONS,
  workers: {
    ...CLUSTER_START_OPTIONS.workers,
    description: 'number of workers',
    default: availableParallelism(),
    defaultText: 'cores',
  },
  address: {
    type: { kind: 'text' },
    description: 'where the scheduler listens',
    default: 'tcp://127.0.0.1:0',
    defaultText: 'a free port on 127.0.0.1',
  },
  protected: { ...SCHEDULER_OPTIONS.protected, default: true },
  // No client waits for tasks that still run when the cluster shuts down: a processor that does not
  // exit on its own gets this long for its exit handlers.
  killDelayMs: { ...AGENT_OPTIONS.killDelayMs, default: 500 },
}

/** The options of a scheduler in a process of its own, sent as JSON. */
export type SchedulerOrder = Omit<SchedulerOwnOptions, 'logger'> & { readonly address: string }

/** The options of an agent in a process of its own, sent as JSON. */
export type AgentOrder = Omit<AgentOptions, 'logger'>

/** The options of a local cluster, split by part. */
export interface ComboParts {
  readonly scheduler: SchedulerOrder
  /** The caller fills in the address: the scheduler may choose one. */
  readonly agent: AgentOrder
}

/** A placeholder: options are checked before the address is known. */
const ANY_ADDRESS = 'tcp://127.0.0.1:1'

/** Fills in defaults. Throws `ConfigError`, which names the option, on a bad value or address. */
export function checkComboOptions(options: ComboOptions): ComboParts {
  const { logger, ...values } = checkOptions('cluster', COMBO_OPTIONS, options)
  loggerOption('logger', logger)
  const { address = '', cwd } = values
  const scheduler = { ...optionsIn(SCHEDULER_OPTIONS, values), address }
  const agent = { ...optionsIn(AGENT_OPTIONS, values), address: ANY_ADDRESS }
  checkSchedulerOptions(scheduler)
  checkAgentOptions(agent)
  // A part that dies is restarted in the directory that this process is in by then.
  return { scheduler, agent: cwd === undefined ? agent : { ...agent, cwd: resolve(cwd) } }
}

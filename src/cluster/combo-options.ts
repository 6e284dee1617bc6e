// The options of a local cluster: all those of its scheduler and of its workers. Which of them is
// whose, the tables of both say.

import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { checkOptions, loggerOption, optionsIn, type OptionTable } from '../base/option.js'
import {
  checkSchedulerOptions,
  SCHEDULER_OPTIONS,
  type SchedulerOptions,
  type SchedulerOwnOptions,
} from '../scheduler/scheduler-options.js'
import { AGENT_OPTIONS, checkAgentOptions, type AgentOptions } from '../worker/agent/options.js'
import { CLUSTER_START_OPTIONS, type ClusterOptions } from './cluster-options.js'

/** What a local cluster can be told: the options of its scheduler and of its workers. */
export interface ComboOptions extends SchedulerOptions, ClusterOptions {
  /** How many workers. Default: one per available core. 1 to 4,096. */
  readonly workers?: number | undefined
  /** Where its scheduler listens. Default: a free port on 127.0.0.1. */
  readonly address?: string | undefined
}

/** All that a local cluster can be told, with its own defaults. */
export const COMBO_OPTIONS: OptionTable<ComboOptions> = {
  ...SCHEDULER_OPTIONS,
  ...CLUSTER_START_OPTIONS,
  workers: {
    ...CLUSTER_START_OPTIONS.workers,
    description: 'how many workers',
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
  // What runs when the cluster ends has nobody left to wait for it: a processor that does not end
  // by itself has this time for its exit handlers.
  killDelayMs: { ...AGENT_OPTIONS.killDelayMs, default: 500 },
}

/** What a scheduler is told in a process of its own, as JSON. */
export type SchedulerOrder = Omit<SchedulerOwnOptions, 'logger'> & { readonly address: string }

/** What an agent is told in a process of its own, as JSON. */
export type AgentOrder = Omit<AgentOptions, 'logger'>

/** The options of a local cluster by the part that they are for. */
export interface ComboParts {
  readonly scheduler: SchedulerOrder
  /** The address is for the caller to fill in: the scheduler may choose one. */
  readonly agent: AgentOrder
}

/** Somewhere: what is checked before there is an address. */
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
  // A part that dies is started again where this process is then.
  return { scheduler, agent: cwd === undefined ? agent : { ...agent, cwd: resolve(cwd) } }
}

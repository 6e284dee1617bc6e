// The options of a cluster (the workers of one machine): those of an agent and of its log. And
// those of a local cluster: all options of its scheduler and of its workers; the tables of both
// define which option belongs to which part.

import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { ConfigError } from '../base/errors.js'
import {
  checkNames,
  checkOptions,
  checkValue,
  optionsIn,
  type OptionTable,
  type Settled,
} from '../base/option.js'
import { loggerOption } from '../runtime/log/option.js'
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
import { tlsOption } from '../transport/tls/options.js'
import { AGENT_OPTIONS, checkAgentOptions, type AgentOptions } from '../worker/agent/options.js'

/** The options of a cluster: those of the command, and a logger. */
export interface ClusterOptions
  extends Omit<AgentOptions, 'address' | 'workers'>, LoggingOptions, UnnecessaryWorkerOptions {}

/** `ClusterOptions` with the required options. */
export interface ClusterStartOptions extends ClusterOptions {
  /** The address of the scheduler: `tcp://host:port`, `tls://host:port`, `ipc:///path`. */
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

/** A number of workers that follows the work: they start when tasks wait, and leave when idle. */
export interface WorkerRange {
  /** 0: workers to keep, even without work. 0 to 4,096, and not more than `max`. */
  readonly min?: number | undefined
  /**
   * Workers to have at most, 1 to 4,096. Default: one per available core, or `min` if that is more.
   */
  readonly max?: number | undefined
  /** 10,000: how long a worker is idle before it leaves, in milliseconds. 1,000 to 86,400,000. */
  readonly idleMs?: number | undefined
}

/** Every option of a number of workers that follows the work. */
export const WORKER_RANGE_OPTIONS: OptionTable<WorkerRange> = {
  min: {
    type: { kind: 'integer', min: 0, max: 4_096 },
    description: 'workers to keep, even without work',
    default: 0,
  },
  max: {
    type: { kind: 'integer', min: 1, max: 4_096 },
    description: 'workers to have at most',
    defaultText: 'cores, or min',
  },
  idleMs: {
    type: { kind: 'duration', min: 1_000, max: 86_400_000 },
    description: 'how long a worker is idle before it leaves',
    default: 10_000,
  },
}

/** The options of a local cluster: those of its scheduler and of its workers. */
export interface ComboOptions extends SchedulerOptions, ClusterOptions {
  /**
   * Number of workers, 1 to 4,096, or `{ min, max, idleMs }`: as many as the work needs. Default:
   * one per available core.
   */
  readonly workers?: number | WorkerRange | undefined
  /** Where its scheduler listens. Default: a free port on 127.0.0.1. */
  readonly address?: string | undefined
}

/** Every option of a local cluster, with its own defaults. */
export const COMBO_OPTIONS: OptionTable<ComboOptions> = {
  ...SCHEDULER_OPTIONS,
  ...CLUSTER_START_OPTIONS,
  workers: {
    ...CLUSTER_START_OPTIONS.workers,
    description: 'number of workers, or { min, max, idleMs }: as many as the work needs',
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
export interface AgentOrder extends Omit<AgentOptions, 'logger'> {
  /** If the number of its workers follows the work; `workers` is then the maximum. */
  readonly range?: Settled<WorkerRange>
}

/** The options of a local cluster, split by part. */
interface ComboParts {
  readonly scheduler: SchedulerOrder
  /** The caller fills in the address: the scheduler may choose one. */
  readonly agent: AgentOrder
}

/** A placeholder: options are checked before the address is known. */
const ANY_ADDRESS = 'tcp://127.0.0.1:1'

/** Fills in defaults. Throws `ConfigError`, which names the option, on a bad value or address. */
export function checkComboOptions(options: ComboOptions): ComboParts {
  const range = rangeIn(options)
  const fixed = range === undefined ? options : withRange(options, range.max)
  const { logger, tls, ...rest } = checkOptions('cluster', COMBO_OPTIONS, fixed)
  // They are sent as JSON.
  const values = { ...rest, tls: tlsOption(tls) }
  loggerOption('logger', logger)
  const { address = '', cwd } = values
  const scheduler = { ...optionsIn(SCHEDULER_OPTIONS, values), address }
  const agent = { ...optionsIn<AgentOptions>(AGENT_OPTIONS, values), address: ANY_ADDRESS }
  checkSchedulerOptions(scheduler)
  checkAgentOptions(agent)
  const order = range === undefined ? agent : { ...agent, range }
  // A part that dies is restarted in the directory that this process is in by then.
  return { scheduler, agent: cwd === undefined ? order : { ...order, cwd: resolve(cwd) } }
}

/** Options that belong to a fixed number of workers. */
const FIXED_ONLY = ['workerNames', 'allocation', 'idleTimeoutMs'] as const

/**
 * How often workers report what they run, unless it is set: for how long the first tasks of a
 * function have been running decides how many workers are added. A report costs about a
 * millisecond, so that many workers report less often.
 */
function heartbeatIntervalFor(most: number): number {
  return Math.min(2_000, Math.max(500, 25 * most))
}

function withRange(options: ComboOptions, most: number): ComboOptions {
  for (const name of FIXED_ONLY) {
    if (options[name] === undefined) continue
    throw new ConfigError(`option ${name}: only for a fixed number of workers`)
  }
  const { heartbeatIntervalMs = heartbeatIntervalFor(most) } = options
  return { ...options, workers: most, heartbeatIntervalMs }
}

/** Undefined: a fixed number, or nothing that could be a range. Throws `ConfigError`. */
function rangeIn(options: ComboOptions | undefined): Settled<WorkerRange> | undefined {
  const given = (options as ComboOptions | null | undefined)?.workers
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined
  checkNames('workers', WORKER_RANGE_OPTIONS, given)
  const value = (name: keyof WorkerRange, fallback?: number): number => {
    const { type, default: usual } = WORKER_RANGE_OPTIONS[name]
    return checkValue(`workers.${name}`, type, given[name], usual ?? fallback) as number
  }
  const min = value('min')
  const max = value('max', Math.max(availableParallelism(), min))
  if (min <= max) return { min, max, idleMs: value('idleMs') }
  throw new ConfigError(`option workers.min: expected at most workers.max (${max}), got ${min}`)
}

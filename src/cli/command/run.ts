// The command `scaler run`: a user's script, with a cluster for as long as it runs.

import { availableParallelism } from 'node:os'
import { ConfigError } from '../../base/errors.js'
import type { OptionTable } from '../../base/option.js'
import { LOGGING_OPTIONS, type LoggingOptions, logLevel } from '../../runtime/log/log.js'
import {
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  type RunningCommand,
  valuesOf,
} from '../command.js'

// The options of `scaler run`: names, defaults and bounds.

/** What `scaler run` can be told. */
export interface RunOptions extends LoggingOptions {
  /** A scheduler that is there already. Default: a cluster of its own, for as long as it runs. */
  readonly address?: string | undefined
  /** How many workers its own cluster has. Default: one per core. 1 to 4,096. */
  readonly workers?: number | undefined
  /** Where goes what tasks of the script print. Default: `'forward'`. */
  readonly output?: 'forward' | 'log' | 'off' | undefined
}

/** The options of `scaler run`. The output is the script's: its cluster has no log by default. */
export const RUN_OPTIONS: OptionTable<RunOptions> = {
  workers: {
    type: { kind: 'integer', min: 1, max: 4_096 },
    description: 'how many workers the cluster has',
    default: availableParallelism(),
    defaultText: 'cores',
    flag: 'num-of-workers',
    short: ['-n'],
  },
  address: {
    type: { kind: 'text' },
    description: 'use the scheduler that is there, instead of a cluster only for this script',
    flag: 'address',
    short: ['-a'],
  },
  output: {
    type: { kind: 'choice', choices: ['forward', 'log', 'off'] },
    description: 'where goes what tasks print: to the output of the script, to the log, nowhere',
    default: 'forward',
    flag: 'output',
  },
  loggingPaths: {
    type: { kind: 'list', separator: 'words' },
    description: 'where the log of the cluster goes: --logging-paths=PATH',
    defaultText: 'none',
    flag: 'logging-paths',
    short: ['-lp'],
  },
  loggingLevel: LOGGING_OPTIONS.loggingLevel,
  loggingConfigFile: LOGGING_OPTIONS.loggingConfigFile,
}

/** `scaler run FILE [ARGS]`. */
export const RUN: CommandDefinition = {
  name: 'run',
  summary: 'Run a script with a cluster of its own; in it, `new Client()` needs no address.',
  positionals: [
    {
      name: 'file',
      description: 'the script: JavaScript, or TypeScript where Node can run it',
      completion: 'file',
    },
    {
      name: 'args',
      description: 'arguments of the script; options for scaler stand before the file',
      isOptional: true,
      isVariadic: true,
      isVerbatim: true,
      completion: 'file',
    },
  ],
  tables: [RUN_OPTIONS],
  examples: [
    'scaler run first.mjs',
    'scaler run -n 2 report.mjs --month 11',
    'scaler run --address tcp://scheduler.example:2345 report.mjs',
    'scaler run --logging-paths=/dev/stderr report.mjs',
  ],
  hasLog: false,
  start,
}

/** What a script runs with. */
interface Cluster {
  readonly address: string
  readonly shutdown: () => Promise<void>
}

async function start(input: CommandInput): Promise<RunningCommand> {
  const [file = '', ...args] = input.positionals
  const { checkScript, RunningScript } = await import('./run-script.js')
  checkScript(file)
  const cluster = await openCluster(input)
  let script: InstanceType<typeof RunningScript>
  try {
    const { output = 'forward' } = valuesOf(RUN_OPTIONS, input.values)
    const env = environmentFor(cluster.address, output)
    script = new RunningScript({ file, args, env })
  } catch (error) {
    await cluster.shutdown()
    throw error
  }
  const ended = endWith(script.ended, cluster)
  const stop = async (isUrgent: boolean, signal?: NodeJS.Signals): Promise<void> => {
    if (isUrgent || signal === undefined) script.end()
    else script.pass(signal)
    await ended
  }
  return { ended, stop }
}

async function openCluster({ values, typed }: CommandInput): Promise<Cluster> {
  const { address, workers = 1, output: _, ...log } = valuesOf(RUN_OPTIONS, values)
  // A slip shows even where there is no log.
  if (log.loggingLevel !== undefined) logLevel('option loggingLevel', log.loggingLevel)
  if (address === undefined) {
    const { SchedulerClusterCombo } = await import('../../cluster/combo.js')
    // A level alone is no wish for a log.
    const hasLog = log.loggingPaths !== undefined || log.loggingConfigFile !== undefined
    const combo = await SchedulerClusterCombo.start({ workers, ...(hasLog ? log : {}) })
    return { address: combo.address, shutdown: () => combo.shutdown() }
  }
  if (typed.has('workers')) {
    const why = `the scheduler at ${address} has workers of its own`
    throw new ConfigError(`option workers: only for a cluster of this script alone; ${why}`)
  }
  const { checkConnectAddress } = await import('../../client/options.js')
  checkConnectAddress(address)
  return { address, shutdown: () => Promise.resolve() }
}

/** A lifeline is between this process and its parent; the script has its own stdin. */
function environmentFor(address: string, output: string): NodeJS.ProcessEnv {
  const { SCALER_LIFELINE: _, ...rest } = process.env
  return { ...rest, SCALER_ADDRESS: address, SCALER_OUTPUT: output }
}

/** What the script had to say it has said itself. */
async function endWith(script: Promise<number>, cluster: Cluster): Promise<CommandEnd> {
  try {
    const exitCode = await script
    return { reason: '', isFailure: exitCode !== 0, exitCode }
  } finally {
    await cluster.shutdown()
  }
}

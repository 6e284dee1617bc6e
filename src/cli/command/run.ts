// The command `scaler run`: runs a user's script with a cluster of its own.

import { availableParallelism } from 'node:os'
import { ConfigError } from '../../base/errors.js'
import { type AnyOptionTable, optionsIn, type OptionsOf } from '../../base/option.js'
import { LOGGING_OPTIONS, type LoggingOptions, logLevel } from '../../runtime/log/log.js'
import type { CommandDefinition, CommandEnd, CommandInput, RunningCommand } from '../command.js'

/** The options of `scaler run`. stdout is the script's, so its cluster has no log by default. */
const RUN_OPTIONS = {
  workers: {
    type: { kind: 'integer', min: 1, max: 4_096 },
    description: 'number of workers in the cluster',
    default: availableParallelism(),
    defaultText: 'cores',
    flag: 'num-of-workers',
    short: ['-n'],
  },
  minWorkers: {
    type: { kind: 'integer', min: 0, max: 4_096 },
    description: 'keep this many workers, and start others only as the work needs them',
    defaultText: 'the number of workers',
    flag: 'min-workers',
    variable: 'SCALER_RUN_MIN_WORKERS',
  },
  address: {
    type: { kind: 'text' },
    description: 'use this scheduler instead of starting a cluster for the script',
    flag: 'address',
    short: ['-a'],
  },
  output: {
    type: { kind: 'choice', choices: ['forward', 'log', 'off'] },
    description: 'where the output of tasks goes: to the output of the script, to the log, nowhere',
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
} as const satisfies AnyOptionTable

type RunOptions = LoggingOptions & Omit<OptionsOf<typeof RUN_OPTIONS>, keyof LoggingOptions>

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
      description: 'arguments of the script; options of scaler come before the file',
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
    'scaler run --min-workers 0 -n 8 report.mjs',
    'scaler run --address tcp://scheduler.example:2345 report.mjs',
    'scaler run --logging-paths=/dev/stderr report.mjs',
  ],
  hasLog: false,
  start,
}

/** The cluster that a script uses. */
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
    const { output } = optionsIn<RunOptions>(RUN_OPTIONS, input.values)
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
  const options = optionsIn<RunOptions>(RUN_OPTIONS, values)
  const { address, workers: max, minWorkers: min, output: _, ...log } = options
  // Report a wrong level even if there is no log.
  if (log.loggingLevel !== undefined) logLevel('option loggingLevel', log.loggingLevel)
  if (address === undefined) {
    const { SchedulerClusterCombo } = await import('../../cluster/combo.js')
    // A level alone does not turn the log on.
    const hasLog = log.loggingPaths !== undefined || log.loggingConfigFile !== undefined
    if (min !== undefined && min > max) {
      throw new ConfigError(`option minWorkers: expected at most workers (${max}), got ${min}`)
    }
    const workers = min === undefined ? max : { min, max }
    const combo = await SchedulerClusterCombo.start({ workers, ...(hasLog ? log : {}) })
    return { address: combo.address, shutdown: () => combo.shutdown() }
  }
  for (const name of ['workers', 'minWorkers']) {
    if (!typed.has(name)) continue
    const why = `the scheduler at ${address} has workers of its own`
    throw new ConfigError(`option ${name}: only for a cluster started by this command; ${why}`)
  }
  const { checkConnectAddress } = await import('../../client/options.js')
  checkConnectAddress(address)
  return { address, shutdown: () => Promise.resolve() }
}

/** Removes the lifeline, which is between this process and its parent: stdin is the script's. */
function environmentFor(address: string, output: string): NodeJS.ProcessEnv {
  const { SCALER_LIFELINE: _, ...rest } = process.env
  return { ...rest, SCALER_ADDRESS: address, SCALER_OUTPUT: output }
}

/** Ends with the script's exit code, and no message: the script has printed its own. */
async function endWith(script: Promise<number>, cluster: Cluster): Promise<CommandEnd> {
  try {
    const exitCode = await script
    return { reason: '', isFailure: exitCode !== 0, exitCode }
  } finally {
    await cluster.shutdown()
  }
}

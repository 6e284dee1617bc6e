// The options of `scaler run`: names, defaults and bounds.

import { availableParallelism } from 'node:os'
import type { OptionTable } from '../base/option-table.js'
import { LOGGING_OPTIONS, type LoggingOptions } from '../runtime/logging-options.js'

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

// The flags of a command: what its tables say, and what every command has. Command line,
// environment, files, help and completion are all read off this list.

import { LOGGING_OPTIONS } from '../runtime/logging-options.js'
import type { AnyOptionTable, OptionSpec, OptionTable } from '../base/option-table.js'
import type { CommandDefinition } from './command-definition.js'

/** The part of a help text that a flag is in. */
export type FlagGroup = 'own' | 'log' | 'unnecessary' | 'general'

/** One option as commands have it. */
export interface Flag {
  /** Its name in code: `workerTimeoutMs`. */
  readonly name: string
  /** Its key in files, and its flag without dashes: `worker-timeout-seconds`. */
  readonly key: string
  readonly short: readonly string[]
  readonly group: FlagGroup
  readonly spec: OptionSpec
}

/** What every command takes; only on the command line, but for `config`. */
interface GeneralOptions {
  readonly config?: string
  readonly help?: boolean
  readonly version?: boolean
}

const GENERAL_OPTIONS: OptionTable<GeneralOptions> = {
  config: {
    type: { kind: 'text' },
    description: 'a TOML file with a section for each command',
    flag: 'config',
  },
  help: {
    type: { kind: 'boolean' },
    description: 'print this help and exit',
    flag: 'help',
    short: ['-h'],
  },
  version: {
    type: { kind: 'boolean' },
    description: 'print the version and exit',
    flag: 'version',
  },
}

/** All flags of a command, in the order of its help. */
export function flagsOf(definition: CommandDefinition): readonly Flag[] {
  const own = definition.tables.flatMap((table) => tableFlags(table, 'own'))
  const log = definition.hasLog ? tableFlags(LOGGING_OPTIONS, 'log') : []
  return [...own, ...log, ...tableFlags(GENERAL_OPTIONS, 'general')]
}

/** The flags that have a place in files and in the environment, too. */
export function settableFlags(flags: readonly Flag[]): readonly Flag[] {
  return flags.filter(({ group }) => group !== 'general')
}

/** `SCALER_WORKER_TIMEOUT_SECONDS` for `worker-timeout-seconds`. */
export function variableOf(key: string): string {
  return `SCALER_${key.toUpperCase().replaceAll('-', '_')}`
}

/** What a flag is when nobody says it. */
export function defaultOf({ spec }: Flag): unknown {
  return spec.commandDefault ?? spec.default
}

/** Whether its value names files: what completion offers. */
export function namesFiles({ key, spec }: Flag): boolean {
  return spec.type.kind !== 'boolean' && /(^|-)(config|files?|paths?|cwd|directory)$/.test(key)
}

function tableFlags(table: AnyOptionTable, group: FlagGroup): Flag[] {
  return Object.entries(table).flatMap(([name, spec]) => {
    if (spec.flag === undefined) return []
    const part = spec.unnecessary === undefined ? group : 'unnecessary'
    return [{ name, key: spec.flag, short: spec.short ?? [], group: part, spec }]
  })
}

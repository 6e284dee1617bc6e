// The flags of a command: those of its tables, and those that every command has. Command line,
// environment, files, help and completion are all derived from this list.

import type { AnyOptionTable, OptionSpec } from '../../base/option.js'
import { LOGGING_OPTIONS } from '../../runtime/log/log.js'
import { TLS_FLAGS } from '../../runtime/child-environment.js'
import type { CommandDefinition } from '../command.js'

/** The section of the help text that a flag is listed in. */
export type FlagGroup = 'own' | 'tls' | 'log' | 'unnecessary' | 'general'

/** One option of a command. */
export interface Flag {
  /** Its name in code: `workerTimeoutMs`. */
  readonly name: string
  /** Its key in files, and its flag without dashes: `worker-timeout-seconds`. */
  readonly key: string
  readonly short: readonly string[]
  readonly group: FlagGroup
  readonly spec: OptionSpec
}

/** The options of every command; only on the command line, except `config`. */
const GENERAL_OPTIONS: AnyOptionTable = {
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

const WITHOUT: ReadonlySet<string> = new Set(['config', 'completion'])

/** Whether a command has a section in configuration files, and an address. */
export function hasSection({ name }: CommandDefinition): boolean {
  return !WITHOUT.has(name)
}

/** All flags of a command, in the order of its help. */
export function flagsOf(definition: CommandDefinition): readonly Flag[] {
  const own = definition.tables.flatMap((table) => tableFlags(table, 'own'))
  const tls = hasSection(definition) ? tableFlags(TLS_FLAGS, 'tls') : []
  const log = definition.hasLog ? tableFlags(LOGGING_OPTIONS, 'log') : []
  return [...own, ...tls, ...log, ...tableFlags(GENERAL_OPTIONS, 'general')]
}

/** The flags that can also be set in files and in the environment. */
export function settableFlags(flags: readonly Flag[]): readonly Flag[] {
  return flags.filter(({ group }) => group !== 'general')
}

/** `SCALER_WORKER_TIMEOUT_SECONDS` for `worker-timeout-seconds`, unless it has another one. */
export function variableOf({ key, spec }: Pick<Flag, 'key' | 'spec'>): string {
  return spec.variable ?? `SCALER_${key.toUpperCase().replaceAll('-', '_')}`
}

/** The default of a flag. */
export function defaultOf({ spec }: Flag): unknown {
  return spec.commandDefault ?? spec.default
}

/** Whether its value names files, which completion then offers. */
export function namesFiles({ key, spec, group }: Flag): boolean {
  if (group === 'tls') return true
  return spec.type.kind !== 'boolean' && /(^|-)(config|files?|paths?|cwd|directory)$/.test(key)
}

function tableFlags(table: AnyOptionTable, group: FlagGroup): Flag[] {
  return Object.entries(table).flatMap(([name, spec]) => {
    if (spec.flag === undefined) return []
    const part = spec.unnecessary === undefined ? group : 'unnecessary'
    return [{ name, key: spec.flag, short: spec.short ?? [], group: part, spec }]
  })
}

// Where a value came from, for errors and `scaler config`.

/** Where a value was given; `default` if it was not. */
export type Origin =
  /** `flag` is the long name, `typed` what was typed. */
  | { readonly kind: 'flag'; readonly flag: string; readonly typed: string }
  /** A word of the command line that belongs to no flag. */
  | { readonly kind: 'word'; readonly name: string }
  | { readonly kind: 'environment'; readonly variable: string }
  | {
      readonly kind: 'file'
      readonly path: string
      readonly line: number
      readonly column: number
      /** `[scheduler] worker-timeout-seconds`, as it is written there. */
      readonly key: string
    }
  | { readonly kind: 'default' }

/** How an error names the origin: `x.toml:3:5: [scheduler] worker-timeout-seconds`. */
export function nameFrom(origin: Origin): string {
  switch (origin.kind) {
    case 'flag': {
      const { flag, typed } = origin
      return flag === typed ? flag : `${typed} (${flag})`
    }
    case 'word':
      return origin.name
    case 'environment':
      return origin.variable
    case 'file':
      return `${origin.path}:${origin.line}:${origin.column}: ${origin.key}`
    case 'default':
      return 'default'
  }
}

/** How `scaler config` names the origin: `--protected`, `SCALER_PROTECTED`, `x.toml:3`. */
export function placeOf(origin: Origin): string {
  switch (origin.kind) {
    case 'flag':
      return origin.flag
    case 'word':
      return 'command line'
    case 'environment':
    case 'default':
      return nameFrom(origin)
    case 'file':
      return `${origin.path}:${origin.line}`
  }
}

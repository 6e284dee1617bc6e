// The settings of a command, from flags, environment, file and defaults, in this order of
// precedence, and where each value came from.

import { ConfigError } from '../../base/errors.js'
import { nearestName } from '../../base/nearest-name.js'
import type { CommandDefinition, Positional } from '../command.js'
import { loadAllCommands } from '../commands.js'
import { type CommandLine, type Given, readCommandLine } from './command-line.js'
import type { ConfigFile } from './config-file.js'
import {
  defaultOf,
  type Flag,
  flagsOf,
  hasSection,
  type Origin,
  settableFlags,
  variableOf,
} from './flag.js'
import { readText } from './text.js'

/** The key of a command's first word: the address of the scheduler. */
export const ADDRESS_KEY = 'address'

// The options given in the environment: `SCALER_` and the flag in capitals. One variable serves all
// commands that have the flag, with a few exceptions. An unknown variable only causes a warning:
// other programs may use the same prefix.

const PREFIX = 'SCALER_'
/** Names the configuration file of all commands. */
export const CONFIG_VARIABLE = 'SCALER_CONFIG'
/** The address of the scheduler, for commands and for clients without an address. */
export const ADDRESS_VARIABLE = 'SCALER_ADDRESS'
const ALWAYS = new Set([CONFIG_VARIABLE, ADDRESS_VARIABLE])
/** Variables that processes of this package pass to each other. */
const INTERNAL = new Set(['SCALER_LIFELINE', 'SCALER_EMBEDDED_DEPTH', 'SCALER_EXTRA_CA_CERTS'])
/**
 * Variables that Kubernetes and linked containers set for a service called scaler-something:
 * `SCALER_SERVICE_HOST`, `SCALER_PORT_2345_TCP_ADDR`.
 */
const OF_SERVICES =
  /^SCALER_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$/

/** What such a variable has if it is not meant for us: `SCALER_PORT=tcp://10.0.0.1:2345`. */
const SERVICE_URL = /^(tcp|udp|sctp):\/\//

/**
 * The values of `flags` in `environment`, by their names in code. Empty variables are ignored.
 * Throws `ConfigError` for a wrong value.
 */
function readEnvironment(
  flags: readonly Flag[],
  environment: NodeJS.ProcessEnv,
): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>()
  for (const flag of settableFlags(flags)) {
    const { name, spec } = flag
    const variable = variableOf(flag)
    const text = textOf(environment, variable)
    if (text === undefined) continue
    const origin: Origin = { kind: 'environment', variable }
    given.set(name, { value: readText(variable, spec.type, text), origin })
  }
  return given
}

/** The value of a variable, or undefined if it is empty or not set. */
function textOf(environment: NodeJS.ProcessEnv, variable: string): string | undefined {
  const text = environment[variable]
  if (text === undefined || text === '') return undefined
  return OF_SERVICES.test(variable) && SERVICE_URL.test(text) ? undefined : text
}

/** The `SCALER_` variables of `environment` that do not belong to any of `flags`. */
function foreignVariables(
  flags: readonly Flag[],
  environment: NodeJS.ProcessEnv,
): readonly string[] {
  const known = new Set(settableFlags(flags).map(variableOf))
  const isKnown = (name: string): boolean =>
    known.has(name) || INTERNAL.has(name) || ALWAYS.has(name) || OF_SERVICES.test(name)
  return Object.keys(environment).filter((name) => name.startsWith(PREFIX) && !isKnown(name))
}

/** A warning for each of `foreign` that is not a variable of any command. */
function variableWarnings(
  foreign: readonly string[],
  definitions: readonly CommandDefinition[],
): readonly string[] {
  const settable = definitions.flatMap((each) => settableFlags(flagsOf(each)))
  const known = [...new Set([...settable.map(variableOf), ...ALWAYS])]
  // Without the prefix, which would make all names look similar.
  const names = known.map((name) => name.slice(PREFIX.length))
  return foreign.flatMap((name) => {
    if (known.includes(name)) return []
    const near = nearestName(name.slice(PREFIX.length), names)
    const hint = near === undefined ? '' : `; is it ${PREFIX}${near}?`
    return [`${name}: no command has such an option${hint}`]
  })
}

/** An option, its value in the units of code, and where that came from. */
export interface Setting {
  readonly flag: Flag
  /** Undefined if it was not given and has no default. */
  readonly value: unknown
  readonly origin: Origin
}

/** A word that is not a flag. */
export interface Word {
  readonly text: string
  readonly origin: Origin
}

/** All settings of a command. */
export interface Settings {
  readonly words: readonly Word[]
  /** The address. It is not among the words while a word before it is missing. */
  readonly address: Word | undefined
  /** In the order of help. */
  readonly options: readonly Setting[]
  /** The configuration file, if one was given. */
  readonly configPath: string | undefined
}

/** The surroundings of a command. */
export interface Surroundings {
  readonly environment: NodeJS.ProcessEnv
  /** Prints a warning: one line without the name of the command. */
  readonly warn?: (line: string) => void
  /** Files that were already read, by path: standard input can be read only once. */
  readonly files?: Map<string, ConfigFile>
}

/** A command and its parsed command line, without environment and file. */
interface CommandCall {
  readonly definition: CommandDefinition
  readonly flags: readonly Flag[]
  readonly line: CommandLine
  readonly calledAs: string
}

/** Parses a command line. Throws `ConfigError` for wrong usage. */
export function readCall(
  definition: CommandDefinition,
  words: readonly string[],
  calledAs: string,
): CommandCall {
  const flags = flagsOf(definition)
  return {
    definition,
    flags,
    line: readCommandLine(words, flags, definition.positionals),
    calledAs,
  }
}

/**
 * The settings of a command from all sources. Warns of unknown variables; rejects with
 * `ConfigError` for wrong values of variables, and for unknown or wrong entries in the file.
 */
export async function gatherSettings(
  call: CommandCall,
  surroundings: Surroundings,
): Promise<Settings> {
  const { definition, flags, line } = call
  const { environment } = surroundings
  const variables = readEnvironment(flags, environment)
  const foreign = foreignVariables(flags, environment)
  if (foreign.length > 0 && surroundings.warn !== undefined) {
    const lines = variableWarnings(foreign, await loadAllCommands())
    for (const line of lines) surroundings.warn(line)
  }
  const configPath = configPathOf(call, environment)
  const isRead = configPath !== undefined && hasSection(definition)
  const file = isRead ? await configFile(configPath, surroundings) : undefined
  const section = file?.get(definition.name) ?? new Map<string, Given>()
  const options = settableFlags(flags).map((flag) => {
    const { name } = flag
    const given = line.options.get(name) ?? variables.get(name) ?? section.get(name)
    if (given !== undefined) return { flag, ...given }
    return { flag, value: defaultOf(flag), origin: { kind: 'default' } as const }
  })
  return { ...gatherWords(call, environment, section), options, configPath }
}

function configPathOf(call: CommandCall, environment: NodeJS.ProcessEnv): string | undefined {
  const flag = call.line.options.get('config')?.value
  if (flag === '') throw new ConfigError('--config: expected the path of a file, got ""')
  return typeof flag === 'string' ? flag : textOf(environment, CONFIG_VARIABLE)
}

/** The settings that were given, not left to their defaults. */
export function givenOf({ options }: Settings): readonly Setting[] {
  return options.filter(({ origin }) => origin.kind !== 'default')
}

/** The values of all options, by their names in code. */
export function valuesOfSettings({ options }: Settings): Readonly<Record<string, unknown>> {
  const values = options.filter(({ value }) => value !== undefined)
  return Object.fromEntries(values.map(({ flag, value }) => [flag.name, value]))
}

/** Throws `ConfigError` if there are more words than the command takes. */
export function refuseExtraWords({ definition }: CommandCall, words: readonly Word[]): void {
  const { positionals } = definition
  const isOpen = positionals.at(-1)?.isVariadic === true
  const extra = isOpen ? undefined : words[positionals.length]
  if (extra !== undefined) throw new ConfigError(`unexpected word ${JSON.stringify(extra.text)}`)
}

/** Throws `ConfigError` unless the command accepts this number of words. */
export function checkWords(call: CommandCall, words: readonly Word[]): void {
  refuseExtraWords(call, words)
  const { positionals } = call.definition
  const missing = positionals.find((each, index) => each.isOptional !== true && !(index in words))
  if (missing === undefined) return
  const elsewhere = missing.env === undefined ? '' : `; give it, or set ${ADDRESS_VARIABLE}`
  throw new ConfigError(`<${missing.name}> is missing${elsewhere}`)
}

async function configFile(path: string, { files }: Surroundings): Promise<ConfigFile> {
  const known = files?.get(path)
  if (known !== undefined) return known
  // Loaded on demand: most commands run without a file and do not need the parser.
  const { readConfigFile } = await import('./config-file.js')
  const file = readConfigFile(path, await loadAllCommands())
  files?.set(path, file)
  return file
}

function gatherWords(
  { definition, line }: CommandCall,
  environment: NodeJS.ProcessEnv,
  section: ReadonlyMap<string, Given>,
): Pick<Settings, 'words' | 'address'> {
  const words = line.positionals.map((text, index) => {
    const origin: Origin = { kind: 'word', name: nameOf(definition.positionals, index) }
    return { text, origin }
  })
  const place = definition.positionals.findIndex(({ env }) => env !== undefined)
  if (place === -1) return { words, address: undefined }
  const address = words[place] ?? addressIn(environment, section)
  // Behind a word that is the address in the environment, others look just like it.
  const isNext = words.length === place && address !== undefined
  return { words: isNext ? [...words, address] : words, address }
}

function addressIn(
  environment: NodeJS.ProcessEnv,
  section: ReadonlyMap<string, Given>,
): Word | undefined {
  const text = textOf(environment, ADDRESS_VARIABLE)
  if (text !== undefined) {
    return { text, origin: { kind: 'environment', variable: ADDRESS_VARIABLE } }
  }
  const given = section.get(ADDRESS_KEY)
  return given && { text: String(given.value), origin: given.origin }
}

function nameOf(positionals: readonly Positional[], index: number): string {
  return (positionals[index] ?? positionals.at(-1))?.name ?? ''
}

// The command `scaler config`: the settings of a command, and where each comes from.

import { ConfigError } from '../../base/errors.js'
import { type AnyOptionTable, nearestHint } from '../../base/option.js'
import {
  type CommandDefinition,
  type CommandInput,
  errorLine,
  finished,
  JSON_OPTION,
} from '../command.js'
import { ALIASES, COMMANDS, loadAllCommands } from '../commands.js'
import { commandHelp, styleOf } from '../help.js'
import { flagsOf, hasSection, placeOf } from '../option/flag.js'
import {
  ADDRESS_KEY,
  gatherSettings,
  readCall,
  refuseExtraWords,
  type Setting,
  type Settings,
  valuesOfSettings,
} from '../option/settings.js'
import { writtenValue } from '../option/text.js'

// Settings as text: JSON, or TOML that can be read back, with the origin of each value.

/** A command and its settings. */
export interface CommandSettings {
  readonly definition: CommandDefinition
  readonly settings: Settings
}

/** A line of a section. */
interface Line {
  readonly key: string
  /** In the units of the command line; undefined if there is no value. */
  readonly value: unknown
  /** `--protected`, `SCALER_PROTECTED`, `x.toml:3`, `default`. */
  readonly from: string
  /** The effective default, if there is no value. */
  readonly note: string | undefined
}

/** Sections of a configuration file, with comments. */
export function tomlText(sections: readonly CommandSettings[]): string {
  return sections.map(sectionText).join('\n')
}

/** `{ "scheduler": { "protected": { "value": true, "from": "--protected" }, … } }` */
export function jsonText(sections: readonly CommandSettings[]): string {
  const entries = sections.map((section) => {
    const lines = linesOf(section).map(
      ({ key, value, from }) => [key, { value: value ?? null, from }] as const,
    )
    return [section.definition.name, Object.fromEntries(lines)] as const
  })
  return `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`
}

function sectionText(section: CommandSettings): string {
  const lines = linesOf(section)
  const texts = lines.map(({ key, value }) =>
    value === undefined ? '' : `${key} = ${toml(value)}`,
  )
  const widest = Math.min(48, Math.max(...texts.map((text) => text.length)))
  const shown = lines.map(({ key, from, note, value }, index) => {
    const text = texts[index] ?? ''
    if (value === undefined) return `# ${key}: ${note ?? 'not set'}`
    return `${text.padEnd(widest)}  # ${from}`
  })
  return `[${section.definition.name}]\n${shown.join('\n')}\n`
}

function linesOf({ definition, settings }: CommandSettings): readonly Line[] {
  const isOwn = new Set(flagsOf(definition).map(({ name }) => name))
  const options = settings.options.filter(({ flag }) => isOwn.has(flag.name)).map(lineOf)
  if (!definition.positionals.some(({ env }) => env !== undefined)) return options
  const { address } = settings
  const from = address === undefined ? 'default' : placeOf(address.origin)
  return [{ key: ADDRESS_KEY, value: address?.text, from, note: undefined }, ...options]
}

function lineOf({ flag, value, origin }: Setting): Line {
  const written = writtenValue(flag.spec.type, value)
  if (typeof written === 'string' && written.includes(PEM_BEGIN)) {
    // It may be a private key.
    const from = placeOf(origin)
    return { key: flag.key, value: undefined, from, note: `PEM from ${from}, not shown` }
  }
  return { key: flag.key, value: written, from: placeOf(origin), note: flag.spec.defaultText }
}

const PEM_BEGIN = '-----BEGIN'

/** JSON strings are TOML strings, except for one character. */
function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`
  return JSON.stringify(value).replaceAll('\u007f', '\\u007f')
}

const CONFIG_OPTIONS: AnyOptionTable = {
  json: { ...JSON_OPTION, description: 'print JSON instead of TOML' },
}

/** `scaler config [COMMAND [FLAGS]]`. */
export const CONFIG: CommandDefinition = {
  name: 'config',
  summary: 'Print the settings of commands, and where each comes from.',
  positionals: [
    {
      name: 'command',
      description: 'only the settings of this command',
      isOptional: true,
      completion: ['scheduler', 'cluster', 'run', 'submit', 'doctor'],
    },
    {
      name: 'words',
      description: 'flags and arguments for that command',
      isOptional: true,
      isVariadic: true,
      isVerbatim: true,
    },
  ],
  tables: [CONFIG_OPTIONS],
  examples: [
    'scaler config --config scaler.toml',
    'scaler config scheduler --protected tcp://127.0.0.1:2345',
    'scaler config --json cluster',
  ],
  hasLog: false,
  start: async (input) => {
    process.stdout.write(await configText(input))
    return finished()
  },
}

type ConfigInput = Pick<CommandInput, 'positionals' | 'values' | 'calledAs'>

/** What the command prints. Rejects with `ConfigError` for settings that commands refuse. */
export async function configText(input: ConfigInput): Promise<string> {
  const { positionals, values, calledAs } = input
  const [name, ...words] = positionals
  const file = typeof values['config'] === 'string' ? ['--config', values['config']] : []
  const definitions = name === undefined ? await loadAllCommands() : [await find(name)]
  const sections: CommandSettings[] = []
  const surroundings = { environment: process.env, files: new Map() }
  let isJson = values['json'] === true
  for (const definition of definitions.filter(hasSection)) {
    const extended = withJson(definition)
    const call = readCall(extended, [...file, ...words], `${calledAs} ${definition.name}`)
    if (call.line.options.get('help')?.value === true) {
      return commandHelp(extended, call.calledAs, styleOf(process.stdout, process.env))
    }
    isJson ||= call.line.options.get('json')?.value === true
    const settings = await gatherSettings(call, surroundings)
    refuseExtraWords(call, settings.words)
    await checkSettings(definition, settings)
    sections.push({ definition, settings })
  }
  return isJson ? jsonText(sections) : tomlText(sections)
}

/** Throws `ConfigError`, as the command itself would, naming where the value comes from. */
async function checkSettings(definition: CommandDefinition, settings: Settings): Promise<void> {
  const { address } = settings
  try {
    if (address !== undefined) await checkAddress(definition, address.text)
    definition.check?.(valuesOfSettings(settings))
  } catch (error) {
    throw new ConfigError(errorLine(error, settings), { cause: error })
  }
}

async function checkAddress({ name }: CommandDefinition, address: string): Promise<void> {
  const { checkConnectAddress } = await import('../../client/options.js')
  const { checkListenAddress } = await import('../../scheduler/scheduler-options.js')
  if (name === 'scheduler') checkListenAddress(address)
  else checkConnectAddress(address)
}

async function find(name: string): Promise<CommandDefinition> {
  const definition = await COMMANDS.get(ALIASES.get(name) ?? name)?.()
  if (definition !== undefined && hasSection(definition)) return definition
  const known = (await loadAllCommands()).filter(hasSection).map((each) => each.name)
  throw new ConfigError(
    `no command ${JSON.stringify(name)} has settings${nearestHint(name, known)}`,
  )
}

/** Accepts `--json` after the command, too; a command with such a flag already has it. */
function withJson(definition: CommandDefinition): CommandDefinition {
  const hasJson = definition.tables.some((table) =>
    Object.values(table).some(({ flag }) => flag === 'json'),
  )
  return hasJson ? definition : { ...definition, tables: [...definition.tables, CONFIG_OPTIONS] }
}

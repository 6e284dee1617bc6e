// The command `scaler config`: what the settings of a command are, and who says so.

import { ConfigError } from '../base/errors.js'
import { nearestHint, type OptionTable } from '../base/option-table.js'
import { finished, type CommandDefinition, type CommandInput } from './command-definition.js'
import { ALIASES, COMMANDS, loadAllCommands } from './command-list.js'
import { hasSection } from './config-section.js'
import { jsonText, tomlText, type CommandSettings } from './config-text.js'
import { errorLine } from './error-line.js'
import { commandHelp } from './help-text.js'
import { gatherSettings, readCall, refuseExtraWords, type Settings } from './settings.js'
import { styleOf } from './terminal.js'

interface ConfigOptions {
  readonly json?: boolean | undefined
}

const CONFIG_OPTIONS: OptionTable<ConfigOptions> = {
  json: {
    type: { kind: 'boolean' },
    description: 'print JSON instead of TOML',
    default: false,
    flag: 'json',
  },
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
      description: 'flags and arguments of that command, as it would get them',
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

async function configText({ positionals, values, calledAs }: CommandInput): Promise<string> {
  const [name, ...words] = positionals
  const file = typeof values['config'] === 'string' ? ['--config', values['config']] : []
  const definitions = name === undefined ? await loadAllCommands() : [await find(name)]
  const sections: CommandSettings[] = []
  const surroundings = { environment: process.env, loadAll: loadAllCommands, files: new Map() }
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
    await checkAddress(definition, settings)
    sections.push({ definition, settings })
  }
  return isJson ? jsonText(sections) : tomlText(sections)
}

/** Throws `ConfigError`, as the command itself would, that says where the address is from. */
async function checkAddress(definition: CommandDefinition, settings: Settings): Promise<void> {
  const [address] = settings.words
  if (address === undefined || definition.positionals[0]?.env === undefined) return
  const { checkConnectAddress } = await import('../client/default-address.js')
  const { checkListenAddress } = await import('../scheduler/scheduler-options.js')
  try {
    if (definition.name === 'scheduler') checkListenAddress(address.text)
    else checkConnectAddress(address.text)
  } catch (error) {
    throw new ConfigError(errorLine(error, settings), { cause: error })
  }
}

async function find(name: string): Promise<CommandDefinition> {
  const definition = await COMMANDS.get(ALIASES.get(name) ?? name)?.()
  if (definition !== undefined && hasSection(definition)) return definition
  const known = (await loadAllCommands()).filter(hasSection).map((each) => each.name)
  throw new ConfigError(
    `no command ${JSON.stringify(name)} has settings${nearestHint(name, known)}`,
  )
}

/** `--json` may also stand behind the command; one that has such a flag itself has it already. */
function withJson(definition: CommandDefinition): CommandDefinition {
  const hasJson = definition.tables.some((table) =>
    Object.values(table).some(({ flag }) => flag === CONFIG_OPTIONS.json.flag),
  )
  return hasJson ? definition : { ...definition, tables: [...definition.tables, CONFIG_OPTIONS] }
}

// What completion offers, for any shell: commands, their flags, and the values of flags.

import { ConfigError } from '../../base/errors.js'
import { nearestHint } from '../../base/option.js'
import { LOG_LEVEL_NAMES } from '../../runtime/log/log.js'
import { type CommandDefinition, finished } from '../command.js'
import { EXECUTABLES, loadAllCommands } from '../commands.js'
import { type Flag, flagsOf, namesFiles } from '../option/flag.js'
import { bashScript, fishScript, zshScript } from './shells.js'

/** What is offered at a position: file names, fixed words, or anything. */
export type Offer = 'file' | 'anything' | readonly string[]

/** A flag, as completion offers it. */
export interface OfferedFlag {
  /** `--logging-level`, and the short ones. */
  readonly names: readonly string[]
  readonly description: string
  /** What its value can be; undefined if it takes none. */
  readonly value: Offer | undefined
}

/** A command, as completion offers it. */
export interface OfferedCommand {
  readonly name: string
  readonly summary: string
  readonly flags: readonly OfferedFlag[]
  /** What its arguments can be, in order; the last one may repeat. */
  readonly words: readonly Offer[]
}

/** All commands of `scaler`; `executables` maps the other executables to their commands. */
export interface CompletionModel {
  readonly commands: readonly OfferedCommand[]
  /** `scaler_worker` -> `cluster`. */
  readonly executables: ReadonlyMap<string, string>
}

/** The model of these commands. */
export function completionModel(definitions: readonly CommandDefinition[]): CompletionModel {
  const commands = definitions.map(offeredCommand)
  const cluster = commands.filter(({ name }) => name === 'cluster')
  const worker = cluster.map((each) => ({ ...each, name: 'worker' }))
  const help: OfferedCommand = {
    name: 'help',
    summary: 'Print the help of a command.',
    flags: [],
    words: [[...commands, ...worker].map(({ name }) => name)],
  }
  return { commands: [...commands, ...worker, help], executables: EXECUTABLES }
}

function offeredCommand(definition: CommandDefinition): OfferedCommand {
  return {
    name: definition.name,
    summary: definition.summary,
    flags: flagsOf(definition).map(offeredFlag),
    words: definition.positionals.map(({ completion }) => completion ?? 'anything'),
  }
}

function offeredFlag(flag: Flag): OfferedFlag {
  const { spec, key, short } = flag
  const description = spec.description.replaceAll('\n', ' ')
  return { names: [`--${key}`, ...short], description, value: valueOf(flag) }
}

function valueOf(flag: Flag): Offer | undefined {
  const { type } = flag.spec
  if (type.kind === 'boolean') return undefined
  if (type.kind === 'choice') return type.choices
  // Accepted in upper and lower case, which is why its type is not a choice.
  if (flag.name === 'loggingLevel') return LOG_LEVEL_NAMES
  if (namesFiles(flag)) return 'file'
  return 'anything'
}

// The command `scaler completion`: prints a completion script for a shell.

const SHELLS: ReadonlyMap<string, (model: CompletionModel) => string> = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
])

/** `scaler completion bash|zsh|fish`. */
export const COMPLETION: CommandDefinition = {
  name: 'completion',
  summary: 'Print a script that completes these commands in a shell.',
  positionals: [
    { name: 'shell', description: 'bash, zsh or fish', completion: [...SHELLS.keys()] },
  ],
  tables: [],
  examples: [
    'eval "$(scaler completion bash)"   # in ~/.bashrc',
    'eval "$(scaler completion zsh)"    # in ~/.zshrc, after compinit',
    'scaler completion fish | source    # in ~/.config/fish/config.fish',
  ],
  hasLog: false,
  start: async ({ positionals: [shell = ''] }) => {
    const script = SHELLS.get(shell)
    if (script === undefined) {
      const hint = nearestHint(shell, [...SHELLS.keys()])
      throw new ConfigError(`there is no script for the shell ${JSON.stringify(shell)}${hint}`)
    }
    process.stdout.write(script(completionModel(await loadAllCommands())))
    return finished()
  },
}

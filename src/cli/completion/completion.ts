// What completion offers, for any shell: commands, their flags, and what may stand behind a flag.

import { ConfigError } from '../../base/errors.js'
import { nearestHint } from '../../base/option.js'
import { LOG_LEVEL_NAMES } from '../../runtime/log/log.js'
import { type CommandDefinition, finished, type Positional } from '../command.js'
import { EXECUTABLES, loadAllCommands } from '../commands.js'
import { type Flag, flagsOf, namesFiles } from '../option/flag.js'
import { bashScript, fishScript, zshScript } from './shells.js'

/** What may stand at a place: names of files, some words, or anything. */
export type Offer = 'file' | 'anything' | readonly string[]

/** A flag, as completion offers it. */
export interface OfferedFlag {
  /** `--logging-level`, and the short ones. */
  readonly names: readonly string[]
  readonly description: string
  /** What its value may be; undefined: it takes none. */
  readonly value: Offer | undefined
}

/** A command, as completion offers it. */
export interface OfferedCommand {
  readonly name: string
  readonly summary: string
  readonly flags: readonly OfferedFlag[]
  /** What its arguments may be, one after the other; the last one may be there again. */
  readonly words: readonly Offer[]
}

/** All commands of `scaler`; `executables` are the names that are commands of their own. */
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
    words: definition.positionals.map(offeredWord),
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
  // Taken in any case, which is why it is no choice.
  if (flag.name === 'loggingLevel') return LOG_LEVEL_NAMES
  if (namesFiles(flag)) return 'file'
  return 'anything'
}

function offeredWord({ completion }: Positional): Offer {
  return completion ?? 'anything'
}

// The command `scaler completion`: a script that teaches a shell our commands and flags.

const SHELLS: ReadonlyMap<string, (model: CompletionModel) => string> = new Map([
  ['bash', bashScript],
  ['zsh', zshScript],
  ['fish', fishScript],
])

/** `scaler completion bash|zsh|fish`. */
export const COMPLETION: CommandDefinition = {
  name: 'completion',
  summary: 'Print a script with which a shell completes these commands.',
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

// The command `scaler completion`: a script that teaches a shell our commands and flags.

import { ConfigError } from '../base/errors.js'
import { nearestHint } from '../base/option-table.js'
import { bashScript } from './completion-bash.js'
import { fishScript } from './completion-fish.js'
import { completionModel, type CompletionModel } from './completion-model.js'
import { zshScript } from './completion-zsh.js'
import { finished, type CommandDefinition } from './command-definition.js'
import { loadAllCommands } from './command-list.js'

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

// The executables: `scaler`, which finds and runs the command that its first word names, and those
// that are one command each. scripts/entries.mjs writes a file for each.

import { ConfigError } from '../base/errors.js'
import { nearestHint } from '../base/option.js'
import { packageVersion } from '../runtime/process-statistics.js'
import { ALIASES, COMMANDS, EXECUTABLES, loadAllCommands } from './commands.js'
import { commandHelp, overviewHelp, styleOf } from './help.js'
import { exitWith, runCommand } from './run-command.js'

const EXIT_USAGE = 2
const HELP: ReadonlySet<string> = new Set(['help', '--help', '-h'])
/** Words that do not change a request for help. */
const BESIDE_HELP: ReadonlySet<string> = new Set([...HELP, '--version'])

/** Runs the executable of this name with the words of the command line. */
export async function runExecutable(name: string): Promise<void> {
  const words = process.argv.slice(2)
  const command = EXECUTABLES.get(name)
  if (command === undefined) await runScaler(words)
  else await runCommand(await find(command)(), words, name)
}

/** Runs `scaler` with these words. */
async function runScaler(words: readonly string[]): Promise<void> {
  const [first, ...rest] = words
  try {
    if (first === undefined) return await exitWith({ stderr: await overview(), code: EXIT_USAGE })
    if (first === '--version') return await exitWith({ stdout: `${packageVersion()}\n` })
    if (HELP.has(first)) {
      return await exitWith({ stdout: await helpOf(rest.find((word) => !BESIDE_HELP.has(word))) })
    }
    const load = find(first)
    await runCommand(await load(), rest, `scaler ${first}`)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    await exitWith({ stderr: `scaler: ${error.message} (see scaler --help)\n`, code: EXIT_USAGE })
  }
}

async function helpOf(name: string | undefined): Promise<string> {
  if (name === undefined) return overview()
  const definition = await find(name)()
  return commandHelp(definition, `scaler ${name}`, styleOf(process.stdout, process.env))
}

async function overview(): Promise<string> {
  const style = styleOf(process.stdout, process.env)
  return overviewHelp('scaler', await loadAllCommands(), style)
}

function find(name: string): NonNullable<ReturnType<(typeof COMMANDS)['get']>> {
  // `scaler_object_storage_server` is `scaler object-storage-server`: either way of writing it.
  const load = COMMANDS.get(ALIASES.get(name) ?? name.replaceAll('_', '-'))
  if (load !== undefined) return load
  const isFlag = name.startsWith('-')
  const names = isFlag
    ? ['--help', '--version']
    : [...COMMANDS.keys(), ...ALIASES.keys(), 'help', '--version']
  const what = isFlag ? 'unknown option' : 'unknown command'
  throw new ConfigError(`${what} ${JSON.stringify(name)}${nearestHint(name, names)}`)
}

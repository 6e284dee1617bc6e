// What all commands have in common: usage errors, signals, exit codes, `--version`, the log level.
// A command itself only says what it takes and what it starts.

import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { ConfigError } from '../base/errors.js'
import type { Logger } from '../base/logger.js'
import { commandLogger, type LogLevel } from '../runtime/command-logger.js'

/** What a command has started: it runs until it ends by itself or is stopped. */
export interface RunningCommand {
  readonly ended: Promise<{ readonly reason: string; readonly isFailure: boolean }>
  /** Ends in good order; if it is urgent, without waiting for what runs. */
  readonly stop: (isUrgent: boolean) => Promise<void>
}

/** One command: how it is called, and what it does. */
export interface CommandDefinition<Options> {
  /** With name, arguments, options and examples; `newCommand` makes one. */
  readonly command: Command
  /** Short flags of several letters, which users know and the parser does not: `-ma`. */
  readonly shortFlags: ReadonlyMap<string, string>
  /** Starts it with the checked command line. Rejects with `ConfigError` for wrong usage. */
  readonly start: (address: string, options: Options, logger: Logger) => Promise<RunningCommand>
}

/** The levels by the names that users know from elsewhere, too. */
const LOG_LEVELS = new Map<string, LogLevel>([
  ['debug', 'debug'],
  ['info', 'info'],
  ['warn', 'warn'],
  ['warning', 'warn'],
  ['error', 'error'],
  ['critical', 'error'],
])

const EXIT_FAILURE = 1
const EXIT_USAGE = 2
const EXIT_SIGNAL = 128
/** How long a command that has lost its parent may take to end in good order. */
const ORPHAN_GRACE_MS = 5_000

/** A command with what all have: `--help` with examples, `--version`, `--logging-level`. */
export function newCommand(
  name: string,
  description: string,
  examples: readonly string[],
): Command {
  return new Command(name)
    .description(description)
    .version(packageVersion(), '--version', 'print the version and exit')
    .helpOption('-h, --help', 'print this help and exit')
    .option('--logging-level <level>', 'debug, info, warn or error (-ll)', logLevel, 'info')
    .addHelpText('after', `\nExamples:\n${examples.map((line) => `  $ ${line}\n`).join('')}`)
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ outputError: () => {} })
}

function logLevel(text: string): LogLevel {
  const level = LOG_LEVELS.get(text.toLowerCase())
  if (level === undefined) throw new InvalidArgumentError('Expected debug, info, warn or error.')
  return level
}

/** A parser of option values: a number from `min` to `max`; whole unless `fraction` is set. */
export function numberArgument(
  min: number,
  max: number,
  kind: 'whole' | 'fraction' = 'whole',
): (text: string) => number {
  return (text) => {
    const value = text.trim() === '' ? Number.NaN : Number(text)
    const isRight = value >= min && value <= max && (kind === 'fraction' || Number.isInteger(value))
    if (isRight) return value
    const what = kind === 'whole' ? 'a whole number' : 'a number'
    throw new InvalidArgumentError(`Expected ${what} from ${min} to ${max}.`)
  }
}

/**
 * Runs a command from its command line to the end of the process. Exit codes: 0 done, 1 failed,
 * 2 wrong usage, 130 or 143 after SIGINT or SIGTERM. The first signal ends the command in good
 * order, the second at once.
 */
export async function runCommand<Options>(definition: CommandDefinition<Options>): Promise<void> {
  const { command, shortFlags } = definition
  const name = command.name()
  try {
    command.parse(
      process.argv.slice(2).map((word) => shortFlags.get(word) ?? word),
      { from: 'user' },
    )
    const options = command.opts<Options & { loggingLevel: LogLevel }>()
    const logger = commandLogger({ level: options.loggingLevel })
    const stopper = new Stopper()
    const running = await definition.start(command.args[0] ?? '', options, logger)
    stopper.watch(running)
    const { reason, isFailure } = await running.ended
    // Told to end: the stopper exits, with its own code.
    if (stopper.isStopping) return
    if (isFailure) process.stderr.write(`${name}: ${reason}\n`)
    else logger.info(`${name}: ended`, { reason })
    await exit(isFailure ? EXIT_FAILURE : 0)
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exit(0)
    process.stderr.write(`${name}: ${describe(error, name)}\n`)
    const isUsage = error instanceof CommanderError || error instanceof ConfigError
    await exit(isUsage ? EXIT_USAGE : EXIT_FAILURE)
  }
}

/** Ends the process when it is told to: by a signal, or by the end of its stdin if asked to. */
class Stopper {
  #running: RunningCommand | undefined
  #isStopping = false

  /** From now on a signal ends the process: at once while nothing is running yet. */
  constructor() {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      const code = EXIT_SIGNAL + constants.signals[signal]
      process.on(signal, () => {
        if (this.#isStopping || this.#running === undefined) process.exit(code)
        void this.#stop(() => this.#running?.stop(false), code)
      })
    }
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  /** This is what has to end in good order. */
  watch(running: RunningCommand): void {
    this.#running = running
    if (process.env['SCALER_LIFELINE'] !== 'stdin') return
    // The program that started this one holds the other end: it may be gone, even by kill -9.
    process.stdin.on('error', () => {})
    process.stdin.once('close', () => {
      setTimeout(() => process.exit(EXIT_FAILURE), ORPHAN_GRACE_MS).unref()
      // Nobody is left to wait for what runs.
      void this.#stop(() => running.stop(true), 0)
    })
    process.stdin.resume()
  }

  async #stop(stop: () => Promise<void> | undefined, code: number): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    try {
      await stop()
      await exit(code)
    } catch (error) {
      process.stderr.write(`could not end in good order: ${describe(error, '')}\n`)
      await exit(EXIT_FAILURE)
    }
  }
}

/** Exits once what was written has left: on some systems pipes are written in the background. */
async function exit(code: number): Promise<void> {
  const flushed = new Promise<void>((resolve) => process.stdout.write('', () => resolve()))
  await flushed
  process.exit(code)
}

/** One line, whatever happened. */
function describe(error: unknown, name: string): string {
  const text = (error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, ' ')
  if (!(error instanceof CommanderError)) return text
  return `${text.replace(/^error: /, '')} (see ${name} --help)`
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

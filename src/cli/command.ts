// What a command is: its name, what it takes, and what it starts. Everything else - command line,
// environment, configuration file, help, completion, signals, exit codes - is the same for all and
// is made from this (command-main.ts).

import type { Logger } from '../base/logger.js'
import type { AnyOptionTable, OptionTable } from '../base/option.js'
import { nameFrom } from './option/flag.js'
import type { Setting, Settings, Word } from './option/settings.js'

/** What a command takes beside flags. */
export interface Positional {
  /** As help shows it, in lower case: `address`. */
  readonly name: string
  /** One line for help. */
  readonly description: string
  readonly isOptional?: boolean
  /** Takes all words that are left; only the last one may. */
  readonly isVariadic?: boolean
  /** Also takes words that look like flags: nothing behind the first word of it is ours. */
  readonly isVerbatim?: boolean
  /** Where it comes from when it is left out: `SCALER_ADDRESS`, and the key `address` of files. */
  readonly env?: 'ADDRESS'
  /** What completion offers: names of files, or these words. Nothing by default. */
  readonly completion?: 'file' | readonly string[]
}

/** One command. Each is the only export of a file of its own, which is loaded only to run it. */
export interface CommandDefinition {
  /** `scaler <name>`, and the name of its section in configuration files: `doctor`. */
  readonly name: string
  /** One line: what it does, as an order, with a full stop. */
  readonly summary: string
  readonly positionals: readonly Positional[]
  /** Its options, in the order of help; those without a flag are for code only. */
  readonly tables: readonly AnyOptionTable[]
  /** Whole command lines, `scaler doctor tcp://127.0.0.1:2345`; help shows them. */
  readonly examples: readonly string[]
  /** Takes the options of logs as well, and gets a logger that obeys them; else a silent one. */
  readonly hasLog: boolean
  /**
   * Starts it; loads the rest of the engine itself, by `import()`, so that `--help` needs none of
   * it. Rejects with `ConfigError` for wrong usage (exit code 2), with another error for trouble
   * at run time (1). An error that begins with `option perWorkerQueueSize:` is told with the name
   * under which the option was given.
   */
  readonly start: (input: CommandInput) => Promise<RunningCommand>
}

/** What a command was given, checked. */
export interface CommandInput {
  /** The words beside flags, in order; what was left out at the end is missing. */
  readonly positionals: readonly string[]
  /** By the names and in the units of code; with defaults where there are any. */
  readonly values: Readonly<Record<string, unknown>>
  /** The names of options that were typed: environment and file may speak to other commands. */
  readonly typed: ReadonlySet<string>
  readonly logger: Logger
  /** Whether to use colours on stdout: it is a terminal, and NO_COLOR, FORCE_COLOR, TERM agree. */
  readonly color: boolean
  /** As it was called, for messages: `scaler doctor`, `scaler_scheduler`. */
  readonly calledAs: string
}

/** What a command has started: it runs until it ends by itself or is stopped. */
export interface RunningCommand {
  readonly ended: Promise<CommandEnd>
  /**
   * Ends in good order; if it is urgent, without waiting for what runs. `signal` is what told it,
   * undefined when its parent is gone. Resolves when nothing is left. A second signal ends the
   * process at once, whatever this does.
   */
  readonly stop: (isUrgent: boolean, signal?: NodeJS.Signals) => Promise<void>
}

/** How a command has ended. */
export interface CommandEnd {
  /** One line: logged, or written to stderr if it is a failure. Empty: nothing is said. */
  readonly reason: string
  readonly isFailure: boolean
  /** Default: 1 after a failure, 130 or 143 after a signal, else 0. */
  readonly exitCode?: number
}

/** Of all values those that a table has, as its owner in code takes them. */
export function valuesOf<Options>(
  table: OptionTable<Options>,
  values: Readonly<Record<string, unknown>>,
): Options {
  const names = Object.keys(table).filter((name) => values[name] !== undefined)
  return Object.fromEntries(names.map((name) => [name, values[name]])) as Options
}

/** A command that has said all it had to say. */
export function finished(end: Partial<CommandEnd> = {}): RunningCommand {
  const ended = Promise.resolve({ reason: '', isFailure: false, ...end })
  return { ended, stop: () => Promise.resolve() }
}

// An error as the one line that a command writes to stderr, with the names that its user has used.

/**
 * One line without control characters. An option that the error names as code does is named as it
 * was given, and so is the option or variable that a wrong address comes from.
 */
export function errorLine(error: unknown, settings: Settings | undefined): string {
  const text = textOf(error)
  const named = settings === undefined ? text : withGivenName(text, settings)
  return oneLine(named)
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message !== '') return error.message
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause
  return inner === undefined ? error.name : textOf(inner)
}

function withGivenName(text: string, { options, words }: Settings): string {
  const [, name, rest] = /^option (\w+): (.*)$/s.exec(text) ?? []
  const setting = options.find(({ flag }) => flag.name === name)
  if (setting !== undefined) return `${nameOf(setting)}: ${rest}`
  const [, quoted, why] = /^address ("(?:[^"\\]|\\.)*"): (.*)$/s.exec(text) ?? []
  if (quoted === undefined) return text
  const source: Setting | Word | undefined =
    options.find(({ value }) => JSON.stringify(value) === quoted) ??
    words.find((word) => JSON.stringify(word.text) === quoted)
  const isPlain = source === undefined || source.origin.kind === 'word'
  return isPlain ? text : `${nameFrom(source.origin)}: ${why}, got ${quoted}`
}

function nameOf({ flag, origin }: Setting): string {
  return origin.kind === 'default' ? `--${flag.key}` : nameFrom(origin)
}

function oneLine(text: string): string {
  const line = text.trim().replaceAll(/\s*[\r\n]+\s*/g, ' ')
  // What peers and files say must not move the cursor of whoever reads it.
  return line.replaceAll(
    /\p{Cc}/gu,
    (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

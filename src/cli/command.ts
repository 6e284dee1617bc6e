// A command definition: name, arguments, options, and what it starts. Everything else - command
// line, environment, configuration file, help, completion, signals, exit codes - is the same for
// all commands and is derived from the definition (run-command.ts).

import type { Logger } from '../base/logger.js'
import type { AnyOptionTable } from '../base/option.js'
import { nameFrom, variableOf } from './option/flag.js'
import type { Setting, Settings, Word } from './option/settings.js'

/** An argument of a command that is not a flag. */
export interface Positional {
  /** As help shows it, in lower case: `address`. */
  readonly name: string
  /** One line for help. */
  readonly description: string
  readonly isOptional?: boolean
  /** Takes all remaining words; only allowed for the last positional. */
  readonly isVariadic?: boolean
  /** Also takes words that look like flags: no flag after its first word is parsed. */
  readonly isVerbatim?: boolean
  /** The fallback if it is missing: `SCALER_ADDRESS`, then the key `address` of the file. */
  readonly env?: 'ADDRESS'
  /** A word that is an address, `tcp://…`, is the value of the option `--address` instead. */
  readonly takesAddress?: boolean
  /** What completion offers: file names, or these words. Nothing by default. */
  readonly completion?: 'file' | readonly string[]
}

const SCHEDULER_ADDRESS =
  'the address of the scheduler: tcp://host:port, tls://host:port or ipc:///path'
const EITHER_ADDRESS = `${SCHEDULER_ADDRESS}; that for monitors will do, too`

/** The scheduler, as a positional. */
export const ADDRESS: Positional = {
  name: 'address',
  description: SCHEDULER_ADDRESS,
  env: 'ADDRESS',
}

/** The scheduler, for commands with other positionals. */
export const ADDRESS_OPTION: {
  readonly type: { readonly kind: 'text' }
  readonly description: string
  readonly flag: string
  readonly short: readonly string[]
} = {
  type: { kind: 'text' },
  description: SCHEDULER_ADDRESS,
  flag: 'address',
  short: ['-a'],
}

/** A cluster to look at, as a positional. */
export const CLUSTER_ADDRESS: Positional = { ...ADDRESS, description: EITHER_ADDRESS }

/** A cluster to look at, for commands with other positionals. */
export const CLUSTER_ADDRESS_OPTION: typeof ADDRESS_OPTION = {
  ...ADDRESS_OPTION,
  description: EITHER_ADDRESS,
}

/** Where monitors connect, for commands that look at a cluster. */
export const MONITOR_ADDRESS_OPTION: typeof ADDRESS_OPTION & { readonly defaultText: string } = {
  type: { kind: 'text' },
  description: 'where the monitors of the scheduler connect',
  defaultText: 'as the scheduler says, or two ports above it',
  flag: 'monitor-address',
  short: ['-ma'],
}

/** How long commands that show something wait for it. */
export const REPORT_TIMEOUT_OPTION: {
  readonly type: { readonly kind: 'duration'; readonly min: number; readonly max: number }
  readonly description: string
  readonly default: number
  readonly flag: string
  readonly short: readonly string[]
} = {
  type: { kind: 'duration', min: 100, max: 3_600_000 },
  description: 'how long to wait for the answer of the scheduler',
  default: 5_000,
  flag: 'timeout-seconds',
  short: ['-t'],
}

/** Whether to print JSON; commands describe what they print then. */
export const JSON_OPTION: {
  readonly type: { readonly kind: 'boolean' }
  readonly description: string
  readonly default: boolean
  readonly flag: string
} = {
  type: { kind: 'boolean' },
  description: 'print JSON instead of text',
  default: false,
  flag: 'json',
}

/** One command. Each is exported by a file of its own, which is loaded only when needed. */
export interface CommandDefinition {
  /** `scaler <name>`, and the name of its section in configuration files: `doctor`. */
  readonly name: string
  /** One line: what it does, in the imperative, with a full stop. */
  readonly summary: string
  readonly positionals: readonly Positional[]
  /** Its options, in the order of the help; those without a flag are for code only. */
  readonly tables: readonly AnyOptionTable[]
  /** Whole command lines, `scaler doctor tcp://127.0.0.1:2345`; help shows them. */
  readonly examples: readonly string[]
  /** Whether it takes the logging options and gets a logger set up by them; else a silent one. */
  readonly hasLog: boolean
  /** Whether the words and options of a call make it one that logs nothing. Default: never. */
  readonly isQuiet?: (input: Pick<CommandInput, 'positionals' | 'values'>) => boolean
  /**
   * Throws `ConfigError`, as `start` does, for values that the option tables cannot refuse.
   * `values` are those of `CommandInput`. For `scaler config`; absent if there are no such values.
   */
  readonly check?: (values: Readonly<Record<string, unknown>>) => void
  /**
   * Starts the command; loads the engine with `import()`, so that `--help` does not need it.
   * Rejects with `ConfigError` for wrong usage (exit code 2), with another error for a failure at
   * run time (1). An error that begins with `option perWorkerQueueSize:` is printed with the name
   * under which the option was given, and so is another option in `expected at most workers (2)`.
   */
  readonly start: (input: CommandInput) => Promise<RunningCommand>
}

/** The checked input of a command. */
export interface CommandInput {
  /** The words that are not flags, in order; omitted ones at the end are missing. */
  readonly positionals: readonly string[]
  /** By the names and in the units of code, with defaults filled in. */
  readonly values: Readonly<Record<string, unknown>>
  /**
   * The options given on the command line: environment and file may be meant for other commands.
   */
  readonly typed: ReadonlySet<string>
  readonly logger: Logger
  /** Whether to use colours on stdout: FORCE_COLOR, NO_COLOR and the terminal decide. */
  readonly color: boolean
  /** The name by which it was called, for messages: `scaler doctor`, `scaler_scheduler`. */
  readonly calledAs: string
}

/** A running command: it runs until it finishes on its own or is stopped. */
export interface RunningCommand {
  readonly ended: Promise<CommandEnd>
  /**
   * Shuts down gracefully; if urgent, without waiting for running tasks. `signal` is what asked for
   * it, undefined if the parent process has exited. Resolves when everything is closed. A second
   * signal ends the process immediately.
   */
  readonly stop: (isUrgent: boolean, signal?: NodeJS.Signals) => Promise<void>
  /** How long it may take to stop after the program that started it has exited. Default: 5,000. */
  readonly orphanGraceMs?: number
}

/** How a command ended. */
export interface CommandEnd {
  /** One line: logged, and written to stderr if it is a failure. Empty: nothing is printed. */
  readonly reason: string
  readonly isFailure: boolean
  /** Default: 1 after a failure, 130 or 143 after a signal, else 0. */
  readonly exitCode?: number
}

/** A command that is already finished. */
export function finished(end: Partial<CommandEnd> = {}): RunningCommand {
  const ended = Promise.resolve({ reason: '', isFailure: false, ...end })
  return { ended, stop: () => Promise.resolve() }
}

/**
 * A command that a signal stops immediately: its process holds nothing that has to be closed, and
 * `ended` need not settle any more.
 */
export function interruptible(ended: Promise<CommandEnd>): Promise<RunningCommand> {
  return Promise.resolve({ ended, stop: () => Promise.resolve() })
}

/** A command that ends soon after its signal is aborted. */
export function abortable(
  run: (signal: AbortSignal) => Promise<CommandEnd>,
): Promise<RunningCommand> {
  const abort = new AbortController()
  const stop = (): Promise<void> => {
    abort.abort()
    return Promise.resolve()
  }
  return Promise.resolve({ ended: run(abort.signal), stop })
}

// Formats an error as one line for stderr, with the names that the user typed.

/**
 * One line without control characters. Replaces an option's name in code by the name under which it
 * was given, and names the option or variable that a wrong address comes from.
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

function withGivenName(text: string, { options, words, address }: Settings): string {
  const [, name, rest] = /^option (\w+): (.*)$/s.exec(text) ?? []
  const setting = options.find(({ flag }) => flag.name === name)
  if (setting !== undefined) return `${nameOf(setting)}: ${withGivenLimit(rest ?? '', options)}`
  if (text.startsWith('SCALER_')) {
    // What follows reads options from variables, which have those of the command.
    return text.replaceAll(/\bSCALER_\w+/g, (variable) => {
      const owner = options.find(({ flag }) => variableOf(flag) === variable)
      return owner === undefined ? variable : nameOf(owner)
    })
  }
  const [, quoted, why] = /^address ("(?:[^"\\]|\\.)*"): (.*)$/s.exec(text) ?? []
  if (quoted === undefined) return text
  const source: Setting | Word | undefined =
    options.find(({ value }) => JSON.stringify(value) === quoted) ??
    [...words, ...(address === undefined ? [] : [address])].find(
      (word) => JSON.stringify(word.text) === quoted,
    )
  const isPlain = source === undefined || source.origin.kind === 'word'
  return isPlain ? text : `${nameFrom(source.origin)}: ${why}, got ${quoted}`
}

/** `expected at most workers (2)`: the limit is another option. */
function withGivenLimit(text: string, options: readonly Setting[]): string {
  return text.replace(/(?<=\bat most )\w+(?= \()/, (name) => {
    const setting = options.find(({ flag }) => flag.name === name)
    if (setting === undefined) return name
    const { flag, origin } = setting
    if (origin.kind === 'file') return origin.key
    return origin.kind === 'flag' ? origin.typed : nameOf({ flag, origin })
  })
}

function nameOf({ flag, origin }: Pick<Setting, 'flag' | 'origin'>): string {
  return origin.kind === 'default' ? `--${flag.key}` : nameFrom(origin)
}

function oneLine(text: string): string {
  const line = text.trim().replaceAll(/\s*[\r\n]+\s*/g, ' ')
  // Text from peers and files must not control the reader's terminal.
  return line.replaceAll(
    /\p{Cc}/gu,
    (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

// Runs one command, from its command line to the exit of the process: help and version, settings,
// log, signals, exit codes. A definition only contains its arguments and how to start it.

import { ConfigError } from '../base/errors.js'
import { type LogFields, type Logger, type LogLevel, silentLogger } from '../base/logger.js'
import { optionsIn } from '../base/option.js'
import { LOGGING_OPTIONS } from '../runtime/log/log.js'
import type { OpenedLog } from '../runtime/log/open.js'
import { packageVersion } from '../runtime/process-statistics.js'
import { setTlsVariables, TLS_FLAGS } from '../runtime/child-environment.js'
import { saveMemory } from '../runtime/process-usage.js'
import { type CommandDefinition, type CommandEnd, type CommandInput, errorLine } from './command.js'
import { commandHelp, styleOf } from './help.js'
import { placeOf } from './option/flag.js'
import {
  checkWords,
  gatherSettings,
  givenOf,
  readCall,
  type Setting,
  type Settings,
  type Surroundings,
  valuesOfSettings,
} from './option/settings.js'
import { writtenValue } from './option/text.js'
import { Stopper } from './stopper.js'

// The first lines of a command's log: where it goes, the version of the package, the event loop,
// and options that were given but are unnecessary.

/**
 * A logger that writes the first lines only before its first entry: a command that cannot start
 * prints nothing but its error on stderr.
 */
function startLog({ logger, description }: OpenedLog, given: readonly Setting[]): Logger {
  let pending: (() => void) | undefined = () => {
    for (const line of description) logger.info(line, { version: packageVersion() })
    logger.info('use event loop: builtin (libuv)')
    for (const line of unnecessaryLines(given)) logger.info(line)
  }
  const log =
    (level: LogLevel) =>
    (text: string, fields?: LogFields): void => {
      const begin = pending
      pending = undefined
      begin?.()
      logger[level](text, fields)
    }
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    isLevelEnabled: (level) => logger.isLevelEnabled?.(level) ?? true,
  }
}

/** `--event-loop uvloop is unnecessary: Node has the same event loop as uvloop: libuv`. */
function unnecessaryLines(given: readonly Setting[]): readonly string[] {
  return given.flatMap(({ flag, value, origin }) => {
    const why = flag.spec.unnecessary
    if (why === undefined) return []
    const name = origin.kind === 'file' ? `${placeOf(origin)}: ${origin.key}` : placeOf(origin)
    const { type } = flag.spec
    const written = type.kind === 'boolean' ? '' : ` ${String(writtenValue(type, value))}`
    return [`${name}${written} is unnecessary: ${why}`]
  })
}

/**
 * Certificates that were given for a command all of whose addresses are plain: somebody may think
 * that its connections are encrypted. Those of the environment may be meant for other commands.
 */
function tlsWarning({ options, words, address }: Settings): string | undefined {
  const texts = options.map(({ value }) => String(value))
  const places = [...texts, ...words.map(({ text }) => text), address?.text ?? '']
  const isPlain = places.some((text) => /^(tcp|ipc):/i.test(text))
  if (!isPlain || places.some((text) => /^tls:/i.test(text))) return undefined
  const given = options.filter(({ flag, origin }) => {
    return flag.name in TLS_FLAGS && (origin.kind === 'flag' || origin.kind === 'file')
  })
  const names = given.map(({ flag }) => `--${flag.spec.flag}`).join(', ')
  const why = 'no address begins with tls://, so connections are not encrypted'
  if (given.length === 0) return undefined
  return `${names} ${given.length === 1 ? 'has' : 'have'} no effect: ${why}`
}

const EXIT_FAILURE = 1
const EXIT_USAGE = 2

/**
 * Runs a command with the words after its name; `calledAs` is that name, for messages. Exit codes:
 * 0 success, 1 failure, 2 wrong usage, 129, 130 or 143 after SIGHUP, SIGINT or SIGTERM.
 */
export async function runCommand(
  definition: CommandDefinition,
  words: readonly string[],
  calledAs: string,
): Promise<void> {
  await new CommandRun(definition, calledAs).run(words)
}

/** The last output of a process, and its exit code. */
interface FinalOutput {
  readonly stdout?: string
  readonly stderr?: string
  readonly code?: number
}

/**
 * Writes, and exits once everything has been written, which takes a while on some systems. The exit
 * code is 1 instead of 0 if writing to stdout failed, for example on a full disk.
 */
export async function exitWith({
  stdout = '',
  stderr = '',
  code = 0,
}: FinalOutput): Promise<never> {
  const failure = await write(process.stdout, stdout)
  await write(process.stderr, failure === undefined ? stderr : lostText(failure))
  process.exit(failure !== undefined && code === 0 ? EXIT_FAILURE : code)
}

/** Resolves with the error, if any. A reader that closes the pipe early is not an error. */
function write(stream: NodeJS.WriteStream, text: string): Promise<Error | undefined> {
  if (stream.listenerCount('error') === 0) stream.on('error', () => {})
  return new Promise((resolve) => {
    stream.write(text, (error) => resolve(isLoss(error) ? error : undefined))
  })
}

function isLoss(error: Error | null | undefined): error is Error {
  return error instanceof Error && (error as NodeJS.ErrnoException).code !== 'EPIPE'
}

function lostText(error: Error): string {
  return `cannot write the output: ${error.message}\n`
}

/** One run of one command. */
class CommandRun {
  readonly #definition: CommandDefinition
  readonly #calledAs: string
  #settings: Settings | undefined
  #log: OpenedLog | undefined
  /** The error of writing the command's output to stdout. */
  #outputError: Error | undefined

  constructor(definition: CommandDefinition, calledAs: string) {
    this.#definition = definition
    this.#calledAs = calledAs
  }

  async run(words: readonly string[]): Promise<void> {
    // Without a listener, an error of a stream crashes the process.
    process.stderr.on('error', () => {})
    process.stdout.on('error', (error: Error) => {
      if (isLoss(error)) this.#outputError ??= error
    })
    try {
      await this.#run(words)
    } catch (error) {
      this.#report(error)
      await this.#exit(error instanceof ConfigError ? EXIT_USAGE : EXIT_FAILURE)
    }
  }

  async #run(words: readonly string[]): Promise<void> {
    const definition = this.#definition
    const call = this.#asUsage(() => readCall(definition, words, this.#calledAs))
    const style = styleOf(process.stdout, process.env)
    if (call.line.options.get('help')?.value === true) {
      return exitWith({ stdout: commandHelp(definition, this.#calledAs, style) })
    }
    if (call.line.options.get('version')?.value === true) {
      return exitWith({ stdout: `${packageVersion()}\n` })
    }
    const surroundings: Surroundings = {
      environment: process.env,
      warn: (line) => this.#report(line, 'warning: '),
    }
    const settings = await gatherSettings(call, surroundings)
    this.#settings = settings
    this.#asUsage(() => checkWords(call, settings.words))
    setTlsVariables(valuesOfSettings(settings))
    const logger = await this.#openLog(settings)
    const warning = tlsWarning(settings)
    if (warning !== undefined) {
      if (this.#log === undefined) this.#report(warning, 'warning: ')
      else logger.warn(warning)
    }
    await this.#start({
      positionals: settings.words.map(({ text }) => text),
      values: { ...valuesOfSettings(settings), config: settings.configPath },
      typed: new Set(call.line.options.keys()),
      logger,
      color: style.color,
      calledAs: this.#calledAs,
    })
  }

  /** Adds a hint to `--help` to errors in the command line. */
  #asUsage<Result>(read: () => Result): Result {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      const text = `${error.message} (see ${this.#calledAs} --help)`
      throw new ConfigError(text, { cause: error })
    }
  }

  async #openLog(settings: Settings): Promise<Logger> {
    const { hasLog, isQuiet } = this.#definition
    const positionals = settings.words.map(({ text }) => text)
    const values = valuesOfSettings(settings)
    if (!hasLog || isQuiet?.({ positionals, values }) === true) return silentLogger
    const { openLogger } = await import('../runtime/log/open.js')
    this.#log = await openLogger(optionsIn(LOGGING_OPTIONS, values), {
      calledAs: this.#calledAs,
    })
    return startLog(this.#log, givenOf(settings))
  }

  async #start(input: CommandInput): Promise<void> {
    const log = this.#log
    const stopper = new Stopper({
      reopenLog: log === undefined ? undefined : () => log.reopen(),
      onStopped: (by) => this.#logEnd(by, input.logger),
      exit: (code) => this.#exit(code),
      report: (error) => this.#report(error, 'the shutdown failed: '),
    })
    const running = await this.#definition.start(input)
    stopper.watch(running)
    // Those without a log end soon, or run a program of the user's.
    if (this.#definition.hasLog) saveMemory()
    const end = await running.ended
    // When stopped, the stopper exits with its own code.
    if (stopper.isStopping) return
    await this.#finish(end, input.logger)
  }

  async #finish({ reason, isFailure, exitCode }: CommandEnd, logger: Logger): Promise<void> {
    if (isFailure && reason !== '') this.#report(reason)
    if (reason !== '') this.#logEnd(reason, logger)
    await this.#exit(exitCode ?? (isFailure ? EXIT_FAILURE : 0))
  }

  #logEnd(reason: string, logger: Logger): void {
    const uptimeSeconds = Math.round(process.uptime() * 10) / 10
    logger.info(`${this.#calledAs}: stopped`, { reason, uptimeSeconds })
  }

  #report(error: unknown, what = ''): void {
    process.stderr.write(`${this.#calledAs}: ${what}${errorLine(error, this.#settings)}\n`)
  }

  async #exit(code: number): Promise<never> {
    await this.#log?.close()
    await write(process.stdout, '')
    const failure = this.#outputError
    if (failure === undefined || code !== 0) return exitWith({ code })
    return exitWith({ stderr: `${this.#calledAs}: ${lostText(failure)}`, code: EXIT_FAILURE })
  }
}

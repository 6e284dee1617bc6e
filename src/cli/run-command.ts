// Runs one command, from its command line to the end of the process: help and version, settings,
// log, signals, exit codes. A command itself only says what it takes and what it starts.

import { ConfigError } from '../base/errors.js'
import { type LogFields, type Logger, type LogLevel, silentLogger } from '../base/logger.js'
import { LOGGING_OPTIONS } from '../runtime/log/log.js'
import type { OpenedLog } from '../runtime/log/open.js'
import { packageVersion } from '../runtime/process-statistics.js'
import {
  type CommandDefinition,
  type CommandEnd,
  type CommandInput,
  errorLine,
  valuesOf,
} from './command.js'
import { loadAllCommands } from './commands.js'
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

// The first lines of a command's log: where it goes, the version of the package, which event loop
// there is, and which options were given that have nothing to do here.

/**
 * A logger that writes the first lines before the first line that it is given: a command that
 * cannot start says so on stderr, and nothing else.
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

/** `--event-loop uvloop is unnecessary: the event loop of Node is libuv, as that of uvloop`. */
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

const EXIT_FAILURE = 1
const EXIT_USAGE = 2

/**
 * Runs a command with the words behind its name; `calledAs` is that name, for messages. Exit codes:
 * 0 done, 1 failed, 2 wrong usage, 129, 130 or 143 after SIGHUP, SIGINT or SIGTERM.
 */
export async function runCommand(
  definition: CommandDefinition,
  words: readonly string[],
  calledAs: string,
): Promise<void> {
  await new CommandRun(definition, calledAs).run(words)
}

/** What is left to say when a process ends. */
interface LastWords {
  readonly stdout?: string
  readonly stderr?: string
  readonly code?: number
}

/**
 * Writes, and ends the process once that has left: on some systems it takes a while. The code is
 * 1 instead of 0 if stdout could not take what was written, as on a disk that is full.
 */
export async function exitWith({ stdout = '', stderr = '', code = 0 }: LastWords): Promise<never> {
  const failure = await write(process.stdout, stdout)
  await write(process.stderr, failure === undefined ? stderr : lostText(failure))
  process.exit(failure !== undefined && code === 0 ? EXIT_FAILURE : code)
}

/** Resolves with what went wrong; but who stops reading has what it wanted. */
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
  /** Why stdout could not take what the command has written. */
  #outputError: Error | undefined

  constructor(definition: CommandDefinition, calledAs: string) {
    this.#definition = definition
    this.#calledAs = calledAs
  }

  async run(words: readonly string[]): Promise<void> {
    // An error of a stream that nobody listens to ends the process with a stack.
    process.stderr.on('error', () => {})
    process.stdout.on('error', (error: Error) => {
      if (isLoss(error)) this.#outputError ??= error
    })
    try {
      await this.#run(words)
    } catch (error) {
      this.#tell(error)
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
      loadAll: loadAllCommands,
      warn: (line) => this.#tell(line, 'warning: '),
    }
    const settings = await gatherSettings(call, surroundings)
    this.#settings = settings
    this.#asUsage(() => checkWords(call, settings.words))
    const logger = await this.#openLog(settings)
    await this.#start({
      positionals: settings.words.map(({ text }) => text),
      values: { ...valuesOfSettings(settings), config: settings.configPath },
      typed: new Set(call.line.options.keys()),
      logger,
      color: style.color,
      calledAs: this.#calledAs,
    })
  }

  /** An error of what was typed tells where to read on. */
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
    if (!this.#definition.hasLog) return silentLogger
    const { openLogger } = await import('../runtime/log/open.js')
    this.#log = await openLogger(valuesOf(LOGGING_OPTIONS, valuesOfSettings(settings)), {
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
      tell: (error) => this.#tell(error, 'could not end in good order: '),
    })
    const running = await this.#definition.start(input)
    stopper.watch(running)
    const end = await running.ended
    // Told to end: the stopper exits, with its own code.
    if (stopper.isStopping) return
    await this.#finish(end, input.logger)
  }

  async #finish({ reason, isFailure, exitCode }: CommandEnd, logger: Logger): Promise<void> {
    if (isFailure && reason !== '') this.#tell(reason)
    if (reason !== '') this.#logEnd(reason, logger)
    await this.#exit(exitCode ?? (isFailure ? EXIT_FAILURE : 0))
  }

  #logEnd(reason: string, logger: Logger): void {
    const uptimeSeconds = Math.round(process.uptime() * 10) / 10
    logger.info(`${this.#calledAs}: stopped`, { reason, uptimeSeconds })
  }

  #tell(error: unknown, what = ''): void {
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

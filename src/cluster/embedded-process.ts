// Starts embedded-main.ts as a child process, sends it its order, and reads its reports.

import type { ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { ConfigError, ScalerError } from '../base/errors.js'
import { logsTasks, type Logger } from '../base/logger.js'
import { withHugePages, withLateCertificates } from '../runtime/child-environment.js'
import {
  DEPTH_VARIABLE,
  type EmbeddedLine,
  type EmbeddedOrder,
  type EmbeddedReport,
  type EmbeddedStart,
  type Logging,
  orderlyEndMs,
} from './embedded-lines.js'
import type { AgentOrder } from './options.js'

/** How a child exited. */
export interface EmbeddedEnd {
  /** It was stopped, or its work was done: a client may have shut the cluster down. */
  readonly isGood: boolean
  /** The system refused to start a process. */
  readonly isUnstarted?: boolean
  /** For people: how it exited, and its last lines on stderr. */
  readonly text: string
}

/** A child that does not shut down is killed after this time plus that of its order. */
const KILL_DELAY_MS = 6000

/**
 * A task may start a cluster; but a program that starts one whenever it is loaded, and that its own
 * tasks load, would never stop doing so.
 */
const MAX_DEPTH = 3
const TOO_DEEP =
  `a cluster nested in ${MAX_DEPTH} others: does a module that tasks import start one when it is ` +
  'loaded? Start it in a function, or in another module'

/** A scheduler or an agent in a process of its own, which never outlives this process. */
export class EmbeddedProcess {
  /** Resolves when the process has exited, for whatever reason. */
  readonly ended: Promise<EmbeddedEnd>
  readonly #child: ChildProcess
  /** Resolves with the first report; rejects if the process exits without one. */
  readonly #started: Promise<EmbeddedStart>
  readonly #logging: Logging
  #orderlyEndMs = 0

  /**
   * Starts the process, which loads what `role` needs and waits for its order. It sends log lines
   * only if `isLogged`. Throws the system's error if the start fails immediately.
   */
  constructor(role: EmbeddedOrder['role'], logger: Logger, isLogged: boolean) {
    this.#logging = { isLogged, isDebugLogged: isLogged && logsTasks(logger) }
    const depth = Number(process.env[DEPTH_VARIABLE] ?? 0)
    if (depth >= MAX_DEPTH) throw new ConfigError(TOO_DEEP)
    const main = fileURLToPath(new URL('../../dist/cluster/embedded-main.cjs', import.meta.url))
    // A process group of its own: Ctrl-C is for the program, which shuts this process down.
    // Loaded when it is needed: all programs load this file.
    const { spawn } = process.getBuiltinModule('node:child_process')
    const child = spawn(process.execPath, [main, role], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      env: withHugePages(
        withLateCertificates({ ...process.env, [DEPTH_VARIABLE]: `${depth + 1}` }),
      ),
    })
    this.#child = child
    // Without free file descriptors there are no pipes, although the types claim otherwise.
    if ((child as Partial<ChildProcess>).stdin === undefined) throw refusal(child)
    child.stdin.on('error', () => {})
    this.ended = whenEnded(child, logger)
    this.#started = new Promise((resolve, reject) => {
      const onLine = (line: string): void => onReport(line, logger, resolve)
      onLines(child.stdout, onLine)
      void this.ended.then(({ text }) => {
        const what = `a part of the embedded cluster ended with ${text}`
        reject(new ScalerError('ERR_SCALER_EMBEDDED', what))
      })
    })
    this.#started.catch(() => undefined)
  }

  /** Has an agent start processors for its workers, before it gets its order. */
  prepare(options: AgentOrder): void {
    this.#tell({ role: 'prepare', options, ...this.#logging })
  }

  /** Sends the order; resolves with the first report, and rejects if that is a failure. */
  async start(order: EmbeddedOrder): Promise<EmbeddedStart> {
    this.#orderlyEndMs = orderlyEndMs(order)
    this.#tell({ ...order, ...this.#logging })
    // While the caller waits for the report, the process keeps the program alive.
    const start = await this.#started.finally(() => this.unref())
    if (start.event === 'failed') throw startError(start)
    return start
  }

  /** Shuts the process down gracefully; kills it if that takes too long. */
  async end(): Promise<void> {
    this.#child.ref()
    this.#tell({ role: 'end' })
    this.#child.stdin?.end()
    const delayMs = KILL_DELAY_MS + this.#orderlyEndMs
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), delayMs)
    await this.ended
    clearTimeout(killer)
  }

  /**
   * From here on, the process does not keep the program alive, and exits together with it.
   */
  unref(): void {
    this.#child.unref()
    for (const stream of this.#child.stdio) if (stream instanceof Socket) stream.unref()
  }

  #tell(line: EmbeddedLine): void {
    this.#child.stdin?.write(`${JSON.stringify(line)}\n`)
  }
}

/** The error for a process that could not be started; an event adds its cause shortly after. */
function refusal(child: ChildProcess): Error {
  const error = new ScalerError('ERR_SCALER_EMBEDDED', 'the system cannot start processes')
  child.on('error', ({ message }) => (error.message += `: ${message}`))
  return error
}

/** A `ConfigError` of the child stays one here; a system error becomes the cause. */
function startError({ text, code }: Extract<EmbeddedStart, { event: 'failed' }>): Error {
  if (code === 'ERR_SCALER_CONFIG') return new ConfigError(text)
  const cause = code === undefined ? undefined : Object.assign(new Error(text), { code })
  return new ScalerError('ERR_SCALER_EMBEDDED', text, { cause })
}

/** How many of the last lines on stderr are reported. */
const LAST_WORDS = 20
/** How long to wait for them after the exit: grandchildren may hold the pipe open. */
const LAST_WORDS_MS = 100

/** Calls `listener` with each line. */
function onLines(input: Readable, listener: (line: string) => void): void {
  const { createInterface } = process.getBuiltinModule('node:readline')
  createInterface({ input }).on('line', listener)
}

function whenEnded(child: ChildProcess, logger: Logger): Promise<EmbeddedEnd> {
  const lastWords: string[] = []
  if (child.stderr !== null) {
    onLines(child.stderr, (line) => {
      lastWords.push(line)
      if (lastWords.length > LAST_WORDS) lastWords.shift()
      logger.error(line)
    })
  }
  return new Promise((resolve) => {
    child.on('error', ({ message: text }) => {
      resolve({ isGood: false, isUnstarted: child.pid === undefined, text })
    })
    child.once('exit', (code, signal) => {
      const how = signal ?? `exit code ${code}`
      const tell = (): void => {
        clearTimeout(timer)
        const text = [how, ...lastWords].join('\n')
        resolve({ isGood: code === 0, text })
      }
      const timer = setTimeout(tell, LAST_WORDS_MS)
      child.once('close', tell)
    })
  })
}

function onReport(line: string, logger: Logger, resolve: (start: EmbeddedStart) => void): void {
  const message = JSON.parse(line) as EmbeddedReport
  if (message.event === 'log') logger[message.level](message.text, message.fields)
  else resolve(message)
}

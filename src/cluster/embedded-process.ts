// Starts embedded-main.js as a child process, gives it its order, and reads its reports.

import { spawn, type ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ConfigError, ScalerError } from '../base/errors.js'
import { logsTasks, type LogFields, type Logger, type LogLevel } from '../base/logger.js'
import type { AgentOrder, SchedulerOrder } from './combo-options.js'

/** What a child is told to be, as one line of JSON. */
export type EmbeddedOrder =
  | { readonly role: 'scheduler'; readonly options: SchedulerOrder }
  | { readonly role: 'agent'; readonly options: AgentOrder }

/** The lines that a child gets. One whose stdin ends without the order to end does so at once. */
export type EmbeddedLine =
  | (EmbeddedOrder & {
      /** Whether anybody reads what it logs. */
      readonly isLogged: boolean
      /** Whether the life of each task is, too. */
      readonly isDebugLogged: boolean
    })
  | { readonly role: 'end' }

/** What a child says, each as one line of JSON. */
export type EmbeddedReport =
  | { readonly event: 'listening'; readonly address: string; readonly monitorAddress: string }
  | { readonly event: 'ready' }
  /** `code` is that of the error, if it has one. */
  | { readonly event: 'failed'; readonly text: string; readonly code?: string }
  | {
      readonly event: 'log'
      readonly level: LogLevel
      readonly text: string
      readonly fields: LogFields
    }

/** How a child has ended. */
export interface EmbeddedEnd {
  /** It was told to, or its work was over: a client may have shut the cluster down. */
  readonly isGood: boolean
  /** The system refused to start a process. */
  readonly isUnstarted?: boolean
  /** For people: how it has ended, and its last words. */
  readonly text: string
}

/** What comes of a start: the first report that is not a log line. */
export type EmbeddedStart = Exclude<EmbeddedReport, { event: 'log' }>

/** A child that does not end in good order is killed after this time and that of its order. */
const KILL_DELAY_MS = 6000

/**
 * A task may start a cluster; but a program that starts one whenever it is loaded, and is loaded by
 * its own tasks, would do so for ever.
 */
const MAX_DEPTH = 3
/** How many clusters a process is inside of. */
export const DEPTH_VARIABLE = 'SCALER_EMBEDDED_DEPTH'
const TOO_DEEP =
  `a cluster inside of ${MAX_DEPTH} others: does a module that tasks import start one when it is ` +
  'loaded? Start it in a function, or in another module'

/** A scheduler or an agent in a process of its own, which ends with this one at the latest. */
export class EmbeddedProcess {
  /** Resolves when the process has ended, however that happened. */
  readonly ended: Promise<EmbeddedEnd>
  readonly #child: ChildProcess
  /** Resolves with the first report; rejects if the process ends without one. */
  readonly #started: Promise<EmbeddedStart>
  readonly #isLogged: boolean
  readonly #isDebugLogged: boolean
  #orderlyEndMs = 0

  /**
   * Starts the process, which loads what `role` needs and waits for its order. Unless it
   * `isLogged`, it sends no log lines. Throws the system's error if it refuses at once.
   */
  constructor(role: EmbeddedOrder['role'], logger: Logger, isLogged: boolean) {
    this.#isLogged = isLogged
    this.#isDebugLogged = isLogged && logsTasks(logger)
    const depth = Number(process.env[DEPTH_VARIABLE] ?? 0)
    if (depth >= MAX_DEPTH) throw new ConfigError(TOO_DEEP)
    const main = fileURLToPath(new URL('../../dist/cluster/embedded-main.js', import.meta.url))
    // A group of its own: a terminal's Ctrl-C is for the program, which ends this process in order.
    const child = spawn(process.execPath, [main, role], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, [DEPTH_VARIABLE]: String(depth + 1) },
    })
    this.#child = child
    // Without file descriptors there are no pipes either, though the types say so.
    if ((child as Partial<ChildProcess>).stdin === undefined) throw refusal(child)
    child.stdin.on('error', () => {})
    this.ended = whenEnded(child, logger)
    this.#started = new Promise((resolve, reject) => {
      const onLine = (line: string): void => onReport(line, logger, resolve)
      createInterface({ input: child.stdout }).on('line', onLine)
      void this.ended.then(({ text }) => {
        const what = `a part of the embedded cluster ended with ${text}`
        reject(new ScalerError('ERR_SCALER_EMBEDDED', what))
      })
    })
    this.#started.catch(() => undefined)
  }

  /** Tells the process what it is; resolves with its first report, unless that is a failure. */
  async start(order: EmbeddedOrder): Promise<EmbeddedStart> {
    this.#orderlyEndMs = orderlyEndMs(order)
    this.#tell({ ...order, isLogged: this.#isLogged, isDebugLogged: this.#isDebugLogged })
    // Until then somebody waits for it, and it keeps the program alive.
    const start = await this.#started.finally(() => this.unref())
    if (start.event === 'failed') throw startError(start)
    return start
  }

  /** Ends the process in good order, by force if it takes too long. */
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
   * From here on, a program that is done ends, and this process with it: it keeps nothing alive.
   */
  unref(): void {
    this.#child.unref()
    for (const stream of this.#child.stdio) if (stream instanceof Socket) stream.unref()
  }

  #tell(line: EmbeddedLine): void {
    this.#child.stdin?.write(`${JSON.stringify(line)}\n`)
  }
}

/** What the end in good order of such a part may take by its own options. */
export function orderlyEndMs(order: EmbeddedOrder): number {
  if (order.role === 'scheduler') return 0
  const { drainMs = 0, killDelayMs = 0 } = order.options
  return drainMs + killDelayMs
}

/** Why there is no process: the error comes as an event, in a moment. */
function refusal(child: ChildProcess): Error {
  const error = new ScalerError('ERR_SCALER_EMBEDDED', 'the system refuses to start processes')
  child.on('error', ({ message }) => (error.message += `: ${message}`))
  return error
}

/** A mistake of the user's is one here, too; the system's error is the cause. */
function startError({ text, code }: Extract<EmbeddedStart, { event: 'failed' }>): Error {
  if (code === 'ERR_SCALER_CONFIG') return new ConfigError(text)
  const cause = code === undefined ? undefined : Object.assign(new Error(text), { code })
  return new ScalerError('ERR_SCALER_EMBEDDED', text, { cause })
}

/** So many of the last lines on stderr are told. */
const LAST_WORDS = 20
/** Those are waited for, but not for long: children may hold the pipe open. */
const LAST_WORDS_MS = 100

function whenEnded(child: ChildProcess, logger: Logger): Promise<EmbeddedEnd> {
  const lastWords: string[] = []
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => {
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

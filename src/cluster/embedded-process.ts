// Starts embedded-main.js as a child process, gives it its order, and reads its reports.

import { spawn, type ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ConfigError, ScalerError } from '../base/errors.js'
import type { LogFields, Logger } from '../base/logger.js'
import type { SchedulerOptions } from '../scheduler/scheduler-options.js'
import type { AgentOptions } from '../worker/agent-options.js'

/** What a child is told to be, as one line of JSON. */
export type EmbeddedOrder =
  | {
      readonly role: 'scheduler'
      readonly options: Omit<SchedulerOptions, 'logger'> & { readonly address: string }
    }
  | { readonly role: 'agent'; readonly options: Omit<AgentOptions, 'logger'> }

/** What a child says, each as one line of JSON. */
export type EmbeddedReport =
  | { readonly event: 'listening'; readonly address: string; readonly monitorAddress: string }
  | { readonly event: 'ready' }
  | { readonly event: 'failed'; readonly text: string }
  | {
      readonly event: 'log'
      readonly level: 'info' | 'warn' | 'error'
      readonly text: string
      readonly fields: LogFields
    }

/** How a child has ended. */
export interface EmbeddedEnd {
  /** It was told to, or its work was over: a client may have shut the cluster down. */
  readonly isGood: boolean
  /** For people: how it has ended, and its last words. */
  readonly text: string
}

/** What comes of a start: the first report that is not a log line. */
export type EmbeddedStart = Exclude<EmbeddedReport, { event: 'log' }>

/** A child that does not end by itself after its stdin was closed is killed after this time. */
const KILL_DELAY_MS = 6000

/**
 * A task may start a cluster; but a program that starts one whenever it is loaded, and is loaded by
 * its own tasks, would do so for ever.
 */
const MAX_DEPTH = 3
const DEPTH_VARIABLE = 'SCALER_EMBEDDED_DEPTH'
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

  /** Starts the process; it waits for `order`. */
  constructor(logger: Logger) {
    const depth = Number(process.env[DEPTH_VARIABLE] ?? 0)
    if (depth >= MAX_DEPTH) throw new ConfigError(TOO_DEEP)
    const main = fileURLToPath(new URL('./embedded-main.js', import.meta.url))
    // A group of its own: a terminal's Ctrl-C is for the program, which ends this process in order.
    const child = spawn(process.execPath, [main], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      env: { ...process.env, [DEPTH_VARIABLE]: String(depth + 1) },
    })
    this.#child = child
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
    this.#child.stdin?.write(`${JSON.stringify(order)}\n`)
    // Until then somebody waits for it, and it keeps the program alive.
    const start = await this.#started.finally(() => this.unref())
    if (start.event === 'failed') throw new ScalerError('ERR_SCALER_EMBEDDED', start.text)
    return start
  }

  /** Ends the process in good order, by force if it takes too long. */
  async end(): Promise<void> {
    this.#child.ref()
    this.#child.stdin?.end()
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), KILL_DELAY_MS)
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
    child.once('error', (error) => resolve({ isGood: false, text: error.message }))
    child.once('exit', (code, signal) => {
      const how = signal ?? `exit code ${code}`
      const tell = (): void => {
        clearTimeout(timer)
        resolve({ isGood: code === 0, text: [how, ...lastWords].join('\n') })
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

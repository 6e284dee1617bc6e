// Starts embedded-main.js as a child process, gives it its order, and reads its reports.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
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
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  /** Resolves with the first report; rejects if the process ends without one. */
  readonly #started: Promise<EmbeddedStart>
  #hasStarted = false
  #isEnding = false

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
    this.#exited = once(child, 'exit').catch(() => undefined)
    child.stdin.on('error', () => {})
    this.#started = new Promise((resolve, reject) => {
      const onLine = (line: string): void => onReport(line, logger, resolve)
      createInterface({ input: child.stdout }).on('line', onLine)
      const lastWords: string[] = []
      createInterface({ input: child.stderr }).on('line', (line) => {
        lastWords.push(line)
        logger.error(line)
      })
      child.once('error', reject)
      child.once('close', (code, signal) => {
        const how = signal === null ? `exit code ${code}` : signal
        const why = lastWords.slice(-20).join('\n')
        const text = `a part of the embedded cluster ended with ${how}: ${why}`
        // A client may have shut the cluster down.
        if (this.#hasStarted && !this.#isEnding && code !== 0) {
          logger.error(text)
          process.emitWarning(text, { code: 'SCALER_EMBEDDED_ENDED' })
        }
        reject(new ScalerError('ERR_SCALER_EMBEDDED', text))
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
    this.#hasStarted = true
    return start
  }

  /** Ends the process in good order, by force if it takes too long. */
  async end(): Promise<void> {
    this.#isEnding = true
    this.#child.ref()
    this.#child.stdin?.end()
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), KILL_DELAY_MS)
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.#exited
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

function onReport(line: string, logger: Logger, resolve: (start: EmbeddedStart) => void): void {
  const message = JSON.parse(line) as EmbeddedReport
  if (message.event === 'log') logger[message.level](message.text, message.fields)
  else resolve(message)
}

// Starts embedded-main.ts as a child process, sends it its order, and reads its reports.

import type { ChildProcess } from 'node:child_process'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { ConfigError, ScalerError } from '../base/errors.js'
import { logsTasks, type Logger } from '../base/logger.js'
import {
  startFailureOf,
  withHugePages,
  withLateCertificates,
} from '../runtime/child-environment.js'
import {
  DEPTH_VARIABLE,
  type EmbeddedLine,
  type EmbeddedOrder,
  type EmbeddedStart,
  type Logging,
  orderlyEndMs,
  reportIn,
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

/** A child that has reported nothing for this long, in milliseconds, causes a warning. */
const SILENT_MS = 5_000
/** Node did not start in this time, in milliseconds: it never will. */
const STUCK_MS = 300_000

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
  readonly #role: EmbeddedOrder['role']
  readonly #logger: Logger
  readonly #silence: Silence
  /** The last lines that it wrote to stderr. */
  readonly #lastWords: string[] = []
  readonly #delays = new Set<string>()
  #onStarted: (start: EmbeddedStart) => void = () => {}
  #orderlyEndMs = 0

  /**
   * Starts the process, which loads what `role` needs and waits for its order. It sends log lines
   * only if `isLogged`. Throws the system's error if the start fails immediately.
   */
  constructor(role: EmbeddedOrder['role'], logger: Logger, isLogged: boolean) {
    this.#role = role
    this.#logger = logger
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
    this.#silence = new Silence(child, (forMs) => this.#onSilent(forMs))
    // Without free file descriptors there are no pipes, although the types claim otherwise.
    const { stdin, stdout, stderr }: Partial<ChildProcess> = child
    stdin?.on('error', () => {})
    if (stderr) onLines(stderr, (line) => this.#onError(line))
    this.ended = whenEnded(child, this.#lastWords)
    this.#started = new Promise((resolve, reject) => {
      this.#onStarted = resolve
      if (stdout) onLines(stdout, (line) => this.#onLine(line))
      void this.ended.then(({ text, isUnstarted = false }) => {
        this.#silence.end()
        const what = isUnstarted
          ? startFailureOf(text)
          : `a part of the embedded cluster ended with ${text}`
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
    const { stdio }: Partial<ChildProcess> = this.#child
    for (const stream of stdio ?? []) if (stream instanceof Socket) stream.unref()
  }

  #onLine(line: string): void {
    const report = reportIn(line)
    if (report === undefined) return this.#passOn(line)
    this.#silence.end()
    if (report.event === 'log') this.#logger[report.level](report.text, report.fields)
    else if (report.event === 'delayed') this.#onDelayed(report.text)
    else if (report.event !== 'alive') this.#onStarted(report)
  }

  /** A module that NODE_OPTIONS loads has printed it. */
  #passOn(line: string): void {
    if (line === '') return
    if (this.#logging.isLogged) this.#logger.info(line)
    else process.stderr.write(`${line}\n`)
  }

  #onError(line: string): void {
    this.#lastWords.push(line)
    if (this.#lastWords.length > LAST_WORDS) this.#lastWords.shift()
    this.#logger.error(line)
  }

  #onDelayed(text: string): void {
    if (!this.#delays.has(text)) warnOfDelay(`the ${this.#role} of the embedded cluster`, text)
    this.#delays.add(text)
  }

  #onSilent(forMs: number): void {
    const words = this.#lastWords.map((line) => `\n${line}`).join('')
    const text =
      `Node has not started for ${forMs / 1_000} s; the machine is very busy, or a limit of ` +
      `processes or memory is too low (ulimit -u, ulimit -v)${words}`
    if (forMs < STUCK_MS) return this.#onDelayed(text)
    this.#lastWords.unshift(text)
    this.#child.kill('SIGKILL')
  }

  #tell(line: EmbeddedLine): void {
    this.#child.stdin?.write(`${JSON.stringify(line)}\n`)
  }
}

/** Warns that the start of `what` takes long. */
export function warnOfDelay(what: string, text: string): void {
  const code = 'SCALER_START_DELAYED'
  process.emitWarning(`${what} is not ready yet: ${text}`, { type: 'ScalerWarning', code })
}

const END_SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM'] as const

/** Notices that a child reports nothing: Node may be stuck in its own start. */
class Silence {
  readonly #child: ChildProcess
  #timer: NodeJS.Timeout | undefined
  #isOver = false

  constructor(child: ChildProcess, onSilent: (forMs: number) => void) {
    this.#child = child
    this.#wait(SILENT_MS, () => {
      // Such a child does not notice the end of this program.
      process.on('exit', this.#kill)
      for (const signal of END_SIGNALS) process.on(signal, this.#onSignal)
      onSilent(SILENT_MS)
      this.#wait(STUCK_MS - SILENT_MS, () => onSilent(STUCK_MS))
    })
  }

  /** It has reported something, or has ended. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    process.off('exit', this.#kill)
    for (const signal of END_SIGNALS) process.off(signal, this.#onSignal)
  }

  /** If this process was blocked, what the child has said has not been read yet. */
  #wait(delayMs: number, then: () => void): void {
    const look = (): void => {
      if (!this.#isOver) then()
    }
    this.#timer = setTimeout(() => setImmediate(look), delayMs).unref()
  }

  readonly #kill = (): void => void this.#child.kill('SIGKILL')

  /** Unless the program listens, too, the signal ends it as if there were no listener. */
  readonly #onSignal = Object.assign(
    (signal: NodeJS.Signals): void => {
      if (!process.listeners(signal).every((listener) => 'isOfSilence' in listener)) return
      this.#kill()
      this.end()
      process.kill(process.pid, signal)
    },
    { isOfSilence: true },
  )
}

/** A `ConfigError` of the child stays one here; a system error becomes the cause. */
function startError({ text, code }: Extract<EmbeddedStart, { event: 'failed' }>): Error {
  if (code === 'ERR_SCALER_CONFIG') return new ConfigError(text)
  const isOwn = code === undefined || code === 'ERR_SCALER_EMBEDDED'
  const cause = isOwn ? undefined : Object.assign(new Error(text), { code })
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

function whenEnded(child: ChildProcess, lastWords: readonly string[]): Promise<EmbeddedEnd> {
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

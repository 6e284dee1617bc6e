// An object storage server as a child process, which is started again when it ends. It never
// outlives this process: it ends when its stdin closes.

import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LogFields, Logger, LogLevel } from '../../base/logger.js'
import { messageOf } from '../../base/text.js'
import type { TlsOption } from '../../transport/tls/options.js'
import { tlsVariables, withHugePages } from '../child-environment.js'

const MAIN: string = fileURLToPath(
  new URL('../../../dist/cli/scaler-object-storage-server.js', import.meta.url),
)

/** It is started again after this time, which doubles each time that it ends early. */
const [MIN_RESTART_MS, MAX_RESTART_MS] = [500, 30_000]

/** It is not started again if it ends earlier than this, for the fifth time in a row. */
const [SHORT_LIFE_MS, MAX_EARLY_ENDS] = [60_000, 5]

/** The levels of its log, which are those of a logger here. */
const LEVELS: ReadonlySet<string> = new Set(['warn', 'error'] satisfies LogLevel[])

/** A server that runs until it is closed. */
export class StorageChild {
  readonly #args: readonly string[]
  readonly #logger: Logger
  readonly #tls: TlsOption['tls']
  readonly #onGivenUp: () => void
  #child: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined
  #delayMs = MIN_RESTART_MS
  #earlyEnds = 0
  #isClosed = false
  #ended: Promise<void> = Promise.resolve()

  /** `args`: those of the command. `onGivenUp`: it is not started again. */
  constructor(
    args: readonly string[],
    { logger, tls }: TlsOption & { readonly logger: Logger },
    onGivenUp: () => void,
  ) {
    this.#args = args
    this.#onGivenUp = onGivenUp
    this.#logger = logger
    this.#tls = tls
    this.#start()
  }

  /** Ends it: if that is urgent, without what it does at its end. Resolves when it has ended. */
  async close(isUrgent = false): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#child?.ref()
    if (isUrgent) this.#child?.kill('SIGKILL')
    else this.#child?.stdin?.end()
    await this.#ended
  }

  #start(): void {
    // Loaded when it is needed: this file is loaded by all schedulers.
    const { spawn } = process.getBuiltinModule('node:child_process')
    const { Socket } = process.getBuiltinModule('node:net')
    const { createInterface } = process.getBuiltinModule('node:readline')
    const startedAt = performance.now()
    let lastWords = ''
    try {
      const child = spawn(process.execPath, [MAIN, ...this.#args, '--logging-level', 'WARNING'], {
        stdio: ['pipe', 'pipe', 'pipe'],
        // A process group of its own: after Ctrl-C, this process may need it for a while.
        detached: true,
        windowsHide: true,
        env: { ...environment(), ...tlsVariables(this.#tls) },
      })
      this.#child = child
      this.#ended = new Promise<string>((resolve) => {
        child.on('error', (error) => resolve(messageOf(error)))
        child.once('close', (code, signal) => resolve(signal ?? `exit code ${code}`))
      }).then((how) => {
        this.#onEnded(lastWords === '' ? how : lastWords, performance.now() - startedAt)
      })
      // A process that could not be started, for want of file descriptors, may have no streams.
      const { stdin, stdout, stderr }: ChildProcess = child
      stdin?.on('error', () => {})
      if (stdout) createInterface({ input: stdout }).on('line', (line) => this.#tell(line))
      if (stderr) createInterface({ input: stderr }).on('line', (line) => (lastWords = line))
      child.unref()
      for (const stream of [stdin, stdout, stderr]) {
        if (stream instanceof Socket) stream.unref()
      }
    } catch (error) {
      this.#onEnded(messageOf(error), 0)
    }
  }

  #onEnded(why: string, livedMs: number): void {
    if (this.#isClosed) return
    if (livedMs > SHORT_LIFE_MS) {
      this.#delayMs = MIN_RESTART_MS
      this.#earlyEnds = 0
    }
    this.#earlyEnds += 1
    if (this.#earlyEnds >= MAX_EARLY_ENDS) {
      const text = 'the object storage server has ended too often and is not started again'
      this.#logger.warn(text, { why })
      return this.#onGivenUp()
    }
    this.#logger.warn('the object storage server has ended and is started again', { why })
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#start()
    }, this.#delayMs).unref()
    this.#delayMs = Math.min(2 * this.#delayMs, MAX_RESTART_MS)
  }

  /** A line of its log. */
  #tell(line: string): void {
    const { level, message, time: _, ...fields } = parsed(line)
    if (typeof level !== 'string' || !LEVELS.has(level)) return
    this.#logger[level as LogLevel](`object storage server: ${String(message)}`, fields)
  }
}

function parsed(line: string): LogFields {
  try {
    return JSON.parse(line) as LogFields
  } catch {
    return {}
  }
}

/** Without the settings of this process. */
function environment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('SCALER_'))
  return withHugePages({ ...Object.fromEntries(others), SCALER_LIFELINE: 'stdin' })
}

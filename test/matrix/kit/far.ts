// The far side as the program of an environment sees it: a process that answers one shipment at a time.

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Answer, Shipment } from './shipment.js'

const PROGRAM = fileURLToPath(new URL('./far-side.js', import.meta.url))
/** How long an answer may take, on a busy machine. */
const DEADLINE_MS = 60_000

/** A process for shipments; restarted after it has died or not answered. */
export class Far {
  readonly #folder: string
  #child: ChildProcess | undefined
  #stderr = ''

  /** It runs in `folder`, from which the packages of the program cannot be found. */
  constructor(folder: string) {
    this.#folder = folder
  }

  /** Rejects if the process ends or does not answer in time. */
  async ask(shipment: Shipment): Promise<Answer> {
    const child = this.#child ?? (await this.#start())
    child.send(shipment)
    return (await this.#next(child)) as Answer
  }

  /** Ends the process. */
  async close(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async #start(): Promise<ChildProcess> {
    const { NODE_OPTIONS: _, ...env } = process.env
    const child = fork(PROGRAM, [], {
      cwd: this.#folder,
      execArgv: [],
      env,
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => (this.#stderr += chunk.toString()))
    this.#child = child
    await this.#next(child)
    return child
  }

  async #next(child: ChildProcess): Promise<unknown> {
    const signal = AbortSignal.timeout(DEADLINE_MS)
    const race = new AbortController()
    try {
      const ended = once(child, 'exit', { signal: race.signal }).then(([code, by]) => {
        throw new Error(`the far side ended (${String(code ?? by)}): ${this.#stderr.slice(-2_000)}`)
      })
      const answered = once(child, 'message', { signal: AbortSignal.any([signal, race.signal]) })
      const [answer] = (await Promise.race([answered, ended])) as [unknown]
      return answer
    } catch (error) {
      await this.close()
      throw signal.aborted ? new Error(`no answer in ${DEADLINE_MS} ms`) : error
    } finally {
      race.abort()
    }
  }
}

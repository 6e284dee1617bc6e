// A program of ours in a separate process: a command, or a client. It is started with the mark of
// the run, can be killed, frozen and resumed, and the last lines of its output are kept.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Sleep } from './process-table.js'

/** A line of JSON on stdout: of a log, or a report. */
export type Line = Readonly<Record<string, unknown>>

/** How a program ended. */
export interface ProgramEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The number of lines kept of each program. */
const MAX_LINES = 400

/** The compiled commands, seen from build/test/chaos/. */
const COMMANDS = new URL('../../../dist/cli/', import.meta.url)

/** The path of a command: `scaler-scheduler` or `scaler-cluster`. */
export function commandPath(name: string): string {
  return fileURLToPath(new URL(`${name}.js`, COMMANDS))
}

/** A process. It ends with this one at the latest. */
export class Program {
  readonly name: string
  readonly pid: number
  /** Resolves when it has ended and all its output was read. */
  readonly ended: Promise<ProgramEnd>
  readonly lines: Line[] = []
  readonly #child: ChildProcess
  readonly #listeners = new Set<(line: Line) => void>()
  #end: ProgramEnd | undefined
  #stderr = ''
  readonly #sleep = new Sleep()

  /** Runs Node with `args`. Nothing but lines of JSON is expected on stdout. */
  constructor(name: string, args: readonly string[], env: Readonly<Record<string, string>>) {
    const child = spawn(process.execPath, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env, SCALER_LIFELINE: 'stdin' },
    })
    this.name = name
    this.pid = child.pid ?? 0
    this.#child = child
    child.stdin.on('error', () => {})
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-8_192)
    })
    createInterface({ input: child.stdout }).on('line', (text) => this.#onLine(text))
    this.ended = once(child, 'close').then(([code, signal]) => {
      this.#end = { code: code as number | null, signal: signal as NodeJS.Signals | null }
      return this.#end
    })
  }

  get hasEnded(): boolean {
    return this.#end !== undefined
  }

  get isFrozen(): boolean {
    return this.#sleep.isFrozen
  }

  /** The end of what it has written to stderr. */
  get stderr(): string {
    return this.#stderr
  }

  /** The first matching line, past or future; rejects if the program ends without one. */
  line(isWanted: (line: Line) => boolean): Promise<Line> {
    const found = this.lines.find(isWanted)
    if (found !== undefined) return Promise.resolve(found)
    return new Promise((resolve, reject) => {
      const listener = (line: Line): void => {
        if (!isWanted(line)) return
        this.#listeners.delete(listener)
        resolve(line)
      }
      this.#listeners.add(listener)
      void this.ended.then(({ code, signal }) => {
        reject(new Error(`${this.name} ended with ${signal ?? code}: ${this.#stderr}`))
      })
    })
  }

  /** Calls `listener` with each further line. */
  onLine(listener: (line: Line) => void): void {
    this.#listeners.add(listener)
  }

  /** Writes a line to its stdin. */
  tell(text: string): void {
    this.#child.stdin?.write(`${text}\n`)
  }

  /** Sends a signal to this process alone. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** SIGKILL; resolves when all its output was read. */
  async kill(): Promise<ProgramEnd> {
    this.#child.kill('SIGKILL')
    return this.ended
  }

  /** Stops it and all its descendants, as when their host sleeps. */
  freeze(): void {
    if (!this.hasEnded) this.#sleep.freeze(this.pid)
  }

  /** Resumes them. */
  thaw(): void {
    this.#sleep.thaw()
  }

  #onLine(text: string): void {
    if (!text.startsWith('{')) return
    const line = JSON.parse(text) as Line
    this.lines.push(line)
    if (this.lines.length > MAX_LINES) this.lines.shift()
    for (const listener of this.#listeners) listener(line)
  }
}

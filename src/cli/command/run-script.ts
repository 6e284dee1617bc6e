// The script of `scaler run` as a child process: it owns the terminal and receives the signals.
// When it exits, the command exits.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { constants } from 'node:os'
import { extname, resolve } from 'node:path'
import { ConfigError } from '../../base/errors.js'

/** A file that Node can run, and how. */
interface Script {
  readonly file: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

const SIGNAL_EXIT = 128
/** In an urgent stop, the script is killed this long after SIGTERM. */
const URGENT_KILL_MS = 2_000
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts'])

/** What decides whether Node can run TypeScript. */
export interface NodeRuntime {
  readonly version: string
  /** `process.features.typescript`: `'strip'`, `false`; undefined before 22.10. */
  readonly typescript: unknown
  /** NODE_OPTIONS, which may load a TypeScript loader. */
  readonly nodeOptions: string
}

/**
 * The flags that Node needs for a file. Throws `ConfigError` if the file is TypeScript and this
 * Node cannot run it.
 */
export function nodeFlagsFor(file: string, node: NodeRuntime): readonly string[] {
  if (!TYPESCRIPT.has(extname(file))) return []
  if (Boolean(node.typescript) || node.nodeOptions.trim() !== '') return []
  const [major = 0, minor = 0] = node.version.split('.').map(Number)
  const hasFlag = major > 22 || (major === 22 && minor >= 6)
  if (hasFlag) return ['--experimental-strip-types']
  throw new ConfigError(noTypeScript(file, node.version))
}

/** The error text for a TypeScript file that Node cannot load. */
export function noTypeScript(file: string, version: string): string {
  return (
    `Node ${version} cannot run TypeScript (${file}); use Node 22.18 or newer, compile it first, ` +
    'or set NODE_OPTIONS to a loader, as in --import=tsx'
  )
}

/** Throws `ConfigError` if `file` does not exist or is a folder. */
export function checkScript(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new ConfigError(`there is no file ${file}`)
  if (found.isDirectory()) throw new ConfigError(`${file} is a folder; name a file in it`)
}

/** A running script. It is killed when this process exits, for whatever reason. */
export class RunningScript {
  /** The script's exit code; 128 plus the number of the signal if a signal ended it. */
  readonly ended: Promise<number>
  readonly #child: ChildProcess
  readonly #hasTerminal: boolean
  readonly #kill = (): void => void this.#child.kill('SIGKILL')

  /** Starts the script. */
  constructor({ file, args, env }: Script) {
    const flags = nodeFlagsFor(file, {
      version: process.versions.node,
      typescript: (process.features as { readonly typescript?: unknown }).typescript,
      nodeOptions: env['NODE_OPTIONS'] ?? '',
    })
    const { stdin, stdout, stderr } = process
    this.#hasTerminal = [stdin, stdout, stderr].some(({ isTTY }) => isTTY)
    // An absolute path: Node would take `-p.mjs` for a flag, and `inspect` for its debugger.
    const words = [...flags, resolve(file), ...args]
    this.#child = spawn(process.execPath, words, { stdio: 'inherit', env })
    process.once('exit', this.#kill)
    this.ended = this.#watch()
  }

  /**
   * Passes a signal on. A signal from the terminal has already reached the script, and must not
   * reach it twice: many programs treat a second one as an order to exit immediately.
   */
  pass(signal: NodeJS.Signals): void {
    if (signal !== 'SIGINT' || !this.#hasTerminal) this.#child.kill(signal)
  }

  /** Stops the script; kills it if that takes too long. */
  end(): void {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(this.#kill, URGENT_KILL_MS)
    this.#child.once('exit', () => clearTimeout(timer))
  }

  async #watch(): Promise<number> {
    try {
      const [code, signal] = (await once(this.#child, 'exit')) as [
        number | null,
        NodeJS.Signals | null,
      ]
      return code ?? SIGNAL_EXIT + (signal === null ? 0 : constants.signals[signal])
    } finally {
      process.off('exit', this.#kill)
    }
  }
}

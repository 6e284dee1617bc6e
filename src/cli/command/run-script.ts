// The script of `scaler run` as a child process: it has the terminal, gets the signals, and its end
// is the end of the command.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { constants } from 'node:os'
import { extname, resolve } from 'node:path'
import { ConfigError } from '../../base/errors.js'

/** A file that Node can run, and how. */
export interface Script {
  readonly file: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
}

const SIGNAL_EXIT = 128
/** A script that has lost everybody is killed so long after it was told to end. */
const URGENT_KILL_MS = 2_000
const TYPESCRIPT = new Set(['.ts', '.mts', '.cts'])

/** Node and its version, as far as it matters for TypeScript. */
export interface NodeRuntime {
  readonly version: string
  /** What Node says that it can do with types: `'strip'`, `false`; undefined before 22.10. */
  readonly typescript: unknown
  /** NODE_OPTIONS may bring somebody who can. */
  readonly nodeOptions: string
}

/**
 * The flags of Node for a file. Throws `ConfigError` if it is TypeScript and this Node cannot run
 * it.
 */
export function nodeFlagsFor(file: string, node: NodeRuntime): readonly string[] {
  if (!TYPESCRIPT.has(extname(file))) return []
  if (Boolean(node.typescript) || node.nodeOptions.trim() !== '') return []
  const [major = 0, minor = 0] = node.version.split('.').map(Number)
  const hasFlag = major > 22 || (major === 22 && minor >= 6)
  if (hasFlag) return ['--experimental-strip-types']
  throw new ConfigError(noTypeScript(file, node.version))
}

/** Why a file cannot be loaded, and what to do. */
export function noTypeScript(file: string, version: string): string {
  return (
    `Node ${version} cannot run TypeScript (${file}); use Node 22.18 or newer, compile it first, ` +
    'or set NODE_OPTIONS to a loader, as in --import=tsx'
  )
}

/** Throws `ConfigError` unless `file` is one that can be read as a program. */
export function checkScript(file: string): void {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new ConfigError(`there is no file ${file}`)
  if (found.isDirectory()) throw new ConfigError(`${file} is a folder; name a file in it`)
}

/** A script that runs. However this process ends, it takes the script with it. */
export class RunningScript {
  /** The exit code of the script: 128 and the number of the signal if one has ended it. */
  readonly ended: Promise<number>
  readonly #child: ChildProcess
  readonly #hasTerminal: boolean
  readonly #kill = (): void => void this.#child.kill('SIGKILL')

  /** Starts it. */
  constructor({ file, args, env }: Script) {
    const flags = nodeFlagsFor(file, {
      version: process.versions.node,
      typescript: (process.features as { readonly typescript?: unknown }).typescript,
      nodeOptions: env['NODE_OPTIONS'] ?? '',
    })
    const { stdin, stdout, stderr } = process
    this.#hasTerminal = [stdin, stdout, stderr].some(({ isTTY }) => isTTY)
    // `-p.mjs` would be a flag of Node, and `inspect` its debugger.
    const words = [...flags, resolve(file), ...args]
    this.#child = spawn(process.execPath, words, { stdio: 'inherit', env })
    process.once('exit', this.#kill)
    this.ended = this.#watch()
  }

  /**
   * Passes a signal on. One that the terminal has made has reached the script already, and must not
   * reach it twice: a second one means "at once" to many programs.
   */
  pass(signal: NodeJS.Signals): void {
    if (signal !== 'SIGINT' || !this.#hasTerminal) this.#child.kill(signal)
  }

  /** Ends the script, by force if it takes too long. */
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

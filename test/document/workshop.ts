// A folder in which the blocks of one page run, as for a reader who has installed the package
// there: it is in node_modules, and its commands are on the PATH. A free address replaces those in
// the pages. Nothing is left when it is closed.

import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { mismatch } from './expectation.js'
import { ROOT } from './pages.js'

const DEADLINE_MS = 60_000
const STOP_MS = 30_000

/** The output of a command, stdout and stderr together, and its exit code. */
export interface Outcome {
  readonly output: string
  readonly code: number | null
}

interface Background {
  readonly command: string
  readonly child: ChildProcess
  readonly ended: Promise<unknown>
}

/** Where the blocks of a page run. */
export class Workshop {
  readonly folder: string
  readonly #address: Address
  readonly #background: Background[] = []
  /** State that earlier commands of the page have set: exported variables, the current folder. */
  readonly #preamble: string[] = []
  #lastCode = 0

  private constructor(folder: string, address: Address) {
    this.folder = folder
    this.#address = address
  }

  static async open(): Promise<Workshop> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'page-')))
    install(folder)
    return new Workshop(folder, await freeAddress())
  }

  /** A text of the page with a free address in place of those in the pages. */
  localize(text: string): string {
    const { host, port } = this.#address
    return text
      .replaceAll(/\b(?:127\.0\.0\.1|10\.0\.0\.1|localhost):2345\b/g, `${host}:${port}`)
      .replaceAll(/\b(?:127\.0\.0\.1|10\.0\.0\.1|localhost):2347\b/g, `${host}:${port + 2}`)
      .replaceAll(/\b127\.0\.0\.1:55555\b/g, `${host}:${port + 4}`)
  }

  /** Puts a file into the folder. */
  write(name: string, text: string): void {
    const path = join(this.folder, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, this.localize(text))
  }

  /** Runs a command, or several lines of commands, to the end. */
  async run(command: string): Promise<Outcome> {
    const child = this.#spawn(`set_code() { return $1; }; set_code ${this.#lastCode}\n${command}`)
    const { output, ended } = follow(child)
    const timer = setTimeout(() => endGroup(child, 'SIGKILL'), DEADLINE_MS)
    const code = await ended
    clearTimeout(timer)
    this.#lastCode = code ?? 1
    for (const line of command.split('\n')) {
      if (/^(?:export|cd) /.test(line)) this.#preamble.push(this.localize(line))
    }
    return { output: output(), code }
  }

  /**
   * Starts a command that keeps running until the workshop is closed. Resolves once the expected
   * output has appeared; rejects if the command exits before.
   */
  async keepRunning(command: string, expected: readonly string[]): Promise<void> {
    const child = this.#spawn(`exec ${command}`)
    const { output, ended } = follow(child)
    this.#background.push({ command, child, ended })
    const isAsExpected = (): boolean => mismatch([...expected, '…'], output()) === undefined
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string): void => reject(new Error(`${command} ${why}:\n${output()}`))
      const timer = setTimeout(fail, DEADLINE_MS, 'has not written what it should')
      const look = (): void => {
        if (!isAsExpected()) return
        clearTimeout(timer)
        resolve()
      }
      child.stdout?.on('data', look)
      child.stderr?.on('data', look)
      void ended.then(() => {
        clearTimeout(timer)
        fail('has ended')
      })
      look()
    })
  }

  /** Ends all running commands gracefully, the last one first, and removes the folder. */
  async close(): Promise<void> {
    try {
      for (const { command, child, ended } of this.#background.reverse()) {
        child.kill('SIGTERM')
        const timer = setTimeout(() => endGroup(child, 'SIGKILL'), STOP_MS)
        const code = await ended
        clearTimeout(timer)
        assert([0, 143].includes(Number(code)), `${command} has ended with ${String(code)}`)
      }
    } finally {
      for (const { child } of this.#background) endGroup(child, 'SIGKILL')
      rmSync(this.folder, { recursive: true, force: true })
    }
  }

  #spawn(command: string): ChildProcess {
    return spawn('sh', ['-c', [...this.#preamble, this.localize(command)].join('\n')], {
      cwd: this.folder,
      env: this.#environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
  }

  #environment(): NodeJS.ProcessEnv {
    const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('SCALER_'))
    const own = ['bin', 'node_modules/.bin'].map((path) => join(this.folder, path))
    const path = [...own, dirname(process.execPath), process.env['PATH']].join(delimiter)
    const set = { PATH: path, HOME: join(this.folder, 'home'), NO_COLOR: '1' }
    // Prevents the check for a newer npm.
    return { ...Object.fromEntries(kept), ...set, npm_config_update_notifier: 'false' }
  }
}

/** The folder as `npm install scaler-ts` leaves it, with links instead of copies. */
function install(folder: string): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '.bin'), { recursive: true })
  mkdirSync(join(folder, 'bin'))
  mkdirSync(join(folder, 'home'))
  symlinkSync(ROOT, join(modules, 'scaler-ts'), 'dir')
  symlinkSync(join(ROOT, 'node_modules/piscina'), join(modules, 'piscina'), 'dir')
  const spans = '.peers/opentelemetry/node_modules/@opentelemetry'
  symlinkSync(join(ROOT, spans), join(modules, '@opentelemetry'), 'dir')
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    bin: Record<string, string>
  }
  for (const [name, path] of Object.entries(bin)) {
    symlinkSync(join(ROOT, path), join(modules, '.bin', name))
  }
  // The package is already there; test/package installs it, and runs npx, for real.
  const npm = `case "$*" in install*scaler-ts*) exit 0 ;; esac\nPATH=\${PATH#*:} exec npm "$@"`
  for (const [name, text] of Object.entries({ npm, npx: 'exec "$@"' })) {
    const path = join(folder, 'bin', name)
    writeFileSync(path, `#!/bin/sh\n${text}\n`)
    chmodSync(path, 0o755)
  }
}

function follow(child: ChildProcess): { output: () => string; ended: Promise<number | null> } {
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { output: () => output, ended }
}

function endGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid ?? Number.NaN), signal)
  } catch {
    // It has ended by itself.
  }
}

interface Address {
  readonly host: string
  readonly port: number
}

/** A free address of this machine; the port two up, where monitors connect, is free too. */
async function freeAddress(): Promise<Address> {
  for (;;) {
    // Linux has a whole network of such hosts: another one for each page keeps others away.
    const part = (): number => 1 + Math.floor(Math.random() * 254)
    const isLinux = process.platform === 'linux'
    const host = isLinux ? `127.${part()}.${part()}.${part()}` : '127.0.0.1'
    const port = await tryPort(host, 0)
    if (port !== undefined && (await tryPort(host, port + 2)) !== undefined) return { host, port }
  }
}

async function tryPort(host: string, port: number): Promise<number | undefined> {
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
    const address = server.address()
    return typeof address === 'object' ? address?.port : undefined
  } catch {
    return undefined
  } finally {
    server.close()
  }
}

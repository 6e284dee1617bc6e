// Starts the process of a processor with the pipes of link/frames.ts. A system error is returned,
// not thrown: the worker stays up and retries.

import type { ChildProcess } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { StringDecoder } from 'node:string_decoder'
import { fileURLToPath } from 'node:url'
import { threadOptions, withHugePages } from '../../runtime/child-environment.js'

// The end of a byte stream: the last output of a process that died.

/** Keeps the last bytes written to it. */
export class ByteTail {
  readonly #limitBytes: number
  #tail = Buffer.alloc(0)

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** Adds the next chunk. */
  write(chunk: Uint8Array): void {
    const all = Buffer.concat([this.#tail, chunk.subarray(-this.#limitBytes)])
    this.#tail = Buffer.from(all.subarray(-this.#limitBytes))
  }

  /** Drops everything. */
  clear(): void {
    if (this.#tail.length > 0) this.#tail = Buffer.alloc(0)
  }

  /** The kept bytes as text, without a partial character at the beginning. */
  toString(): string {
    const isCut = this.#tail.length === this.#limitBytes
    let start = 0
    // The bytes of a character after its first one are 10xxxxxx; there are at most three.
    while (isCut && start < 3 && ((this.#tail[start] ?? 0) & 0xc0) === 0x80) start += 1
    return this.#tail.toString('utf8', start)
  }
}

// Output of user code, as lines for the log.

/** Longer lines are cut into pieces of this many characters. */
const MAX_LINE_LENGTH = 16 * 1024

/** Splits a byte stream into lines; characters may be split across chunks. */
export class LineSplitter {
  readonly #onLine: (line: string) => void
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  /** Adds the next chunk. */
  write(chunk: Uint8Array): void {
    this.#push(this.#decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)))
  }

  /** The stream has ended: the rest is a line, too. */
  end(): void {
    this.#push(this.#decoder.end())
    if (this.#rest !== '') this.#onLine(this.#rest)
    this.#rest = ''
  }

  #push(text: string): void {
    let start = 0
    for (;;) {
      const end = text.indexOf('\n', start)
      if (end === -1) break
      this.#emit(this.#rest + text.slice(start, end))
      this.#rest = ''
      start = end + 1
    }
    this.#rest += text.slice(start)
    while (this.#rest.length > MAX_LINE_LENGTH) {
      this.#onLine(this.#rest.slice(0, MAX_LINE_LENGTH))
      this.#rest = this.#rest.slice(MAX_LINE_LENGTH)
    }
  }

  #emit(text: string): void {
    const line = text.endsWith('\r') ? text.slice(0, -1) : text
    this.#onLine(line.slice(0, MAX_LINE_LENGTH))
    for (let at = MAX_LINE_LENGTH; at < line.length; at += MAX_LINE_LENGTH) {
      this.#onLine(line.slice(at, at + MAX_LINE_LENGTH))
    }
  }
}

const MAIN: string = fileURLToPath(
  new URL('../../../dist/worker/processor-main.cjs', import.meta.url),
)

/**
 * How often to check that a process responds. The guardian thread of a processor only stops
 * responding if the whole process is stopped: by SIGSTOP, by a debugger, or by heavy swapping. It
 * is killed after a minute, which is six times this.
 */
export const PULSE_INTERVAL_MS = 10_000

/** How processors are started. */
interface SpawnOptions {
  /** Command line options of Node. */
  readonly execArgv: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Undefined: the agent's working directory. */
  readonly cwd: string | undefined
  /** How many of them the machine may have. */
  readonly workers: number
}

/** How processors are started and stopped. */
export interface ProcessorOptions extends SpawnOptions {
  /** Time from SIGTERM to SIGKILL. */
  readonly killDelayMs: number
  /** How often to check that it responds. Undefined: a suitable default. */
  readonly pulseIntervalMs?: number
}

/** Returns the process, which may be about to fail, or why it could not be started. */
export function spawnProcessor(options: SpawnOptions): ChildProcess | Error {
  const child = trySpawn(options)
  if (child instanceof Error) return child
  // A failed start emits an 'error' event, which needs a listener; without pipes (no free file
  // descriptors) `stdio` is missing.
  const failure = new Error('the system cannot start processes')
  child.on('error', (error) => (failure.message = error.message))
  const hasPipes = (child as { stdio?: unknown[] }).stdio?.every((stream) => stream !== undefined)
  if (child.pid !== undefined && hasPipes === true) return child
  // These pipes are not connected to a process.
  for (const stream of child.stdio ?? []) stream?.destroy()
  return failure
}

function trySpawn(options: SpawnOptions): ChildProcess | Error {
  const { execArgv, env, cwd, workers } = options
  // Loaded when it is needed: this file is loaded by processes that start no others.
  const { spawn } = process.getBuiltinModule('node:child_process')
  try {
    // Options of this process are not passed on, except those in NODE_OPTIONS, where Node itself
    // puts `--permission`.
    const threads = threadOptions(availableParallelism() / workers, execArgv, env)
    return spawn(process.execPath, [...threads, ...execArgv, MAIN], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      // A process group of its own: Ctrl-C in a terminal does not reach it, and the whole group can
      // be killed together.
      detached: true,
      windowsHide: true,
      env: withHugePages(env),
      ...(cwd === undefined ? {} : { cwd }),
    })
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

/** The exit code and signal of a process, once it has exited. */
export function exitOf(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  const { exitCode, signalCode } = child
  if (exitCode !== null || signalCode !== null) return Promise.resolve([exitCode, signalCode])
  return new Promise((resolve) => child.once('exit', (...how) => resolve(how)))
}

/** Signals the whole group of a process; without groups, or if none is left, only the process. */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid as number), signal)
  } catch {
    child.kill(signal)
  }
}

// A wait with a timeout.

/** Resolves when `done` does, or after this time. Rejects if `done` does. */
export async function inTime(done: Promise<unknown>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs)
  })
  await Promise.race([done, late])
  clearTimeout(timer)
}

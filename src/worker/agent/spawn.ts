// Starts the process of a processor with the pipes of link/frames.ts. An error of the system is a
// value here: a worker goes on and tries again.

import { type ChildProcess, spawn } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import { fileURLToPath } from 'node:url'

// The end of a byte stream: the last words of a process that died.

/** Remembers the last bytes of what it is given. */
export class ByteTail {
  readonly #limitBytes: number
  #tail = Buffer.alloc(0)

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes
  }

  /** Takes the next chunk. */
  write(chunk: Uint8Array): void {
    const all = Buffer.concat([this.#tail, chunk.subarray(-this.#limitBytes)])
    this.#tail = Buffer.from(all.subarray(-this.#limitBytes))
  }

  /** Forgets all. */
  clear(): void {
    this.#tail = Buffer.alloc(0)
  }

  /** The end as text. Where it begins inside a character, that character is left out. */
  toString(): string {
    const isCut = this.#tail.length === this.#limitBytes
    let start = 0
    // The bytes of a character after its first one are 10xxxxxx; there are at most three.
    while (isCut && start < 3 && ((this.#tail[start] ?? 0) & 0xc0) === 0x80) start += 1
    return this.#tail.toString('utf8', start)
  }
}

// What user code prints, as lines for the log.

/** Longer lines are cut into pieces of so many characters. */
const MAX_LINE_LENGTH = 16 * 1024

/** Cuts a byte stream into lines, whatever the chunks; a character may lie across two of them. */
export class LineSplitter {
  readonly #onLine: (line: string) => void
  readonly #decoder = new StringDecoder('utf8')
  #rest = ''

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  /** Takes the next chunk. */
  write(chunk: Uint8Array): void {
    this.#push(this.#decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)))
  }

  /** The stream has ended: what is left is a line, too. */
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
  new URL('../../../dist/worker/processor-main.js', import.meta.url),
)

/**
 * Command line options of Node that every processor gets, before those that it is given. None so
 * far: references to modules are resolved without. `spawn` passes on no options of this process but
 * those in NODE_OPTIONS; where it runs under `--permission`, Node itself puts that there.
 */
const PROCESSOR_FLAGS: readonly string[] = []

/** How processors are started and ended. */
export interface ProcessorOptions {
  /** Command line options of Node. */
  readonly execArgv: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Undefined: the agent's working directory. */
  readonly cwd: string | undefined
  /** From SIGTERM to SIGKILL. */
  readonly killDelayMs: number
  /** How often it is asked whether it lives. Undefined: as often as is good. */
  readonly pulseIntervalMs?: number
}

/** The process, which may already be about to fail; or why it could not be started. */
export function spawnProcessor(options: ProcessorOptions): ChildProcess | Error {
  const child = trySpawn(options)
  if (child instanceof Error) return child
  // With no process there is an 'error' event, which must not go unheard; without pipes (no file
  // descriptors are left) there is not even a `stdio`.
  const failure = new Error('the system refuses to start processes')
  child.on('error', (error) => (failure.message = error.message))
  const hasPipes = (child as { stdio?: unknown[] }).stdio?.every((stream) => stream !== undefined)
  if (child.pid !== undefined && hasPipes === true) return child
  // Pipes to nobody.
  for (const stream of child.stdio ?? []) stream?.destroy()
  return failure
}

function trySpawn({ execArgv, env, cwd }: ProcessorOptions): ChildProcess | Error {
  try {
    return spawn(process.execPath, [...PROCESSOR_FLAGS, ...execArgv, MAIN], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      // A group of its own: a terminal's Ctrl-C is not for it, and all of it can be killed
      // together.
      detached: true,
      windowsHide: true,
      env,
      ...(cwd === undefined ? {} : { cwd }),
    })
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

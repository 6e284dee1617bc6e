// Hosts one processor process for a worker: starts it, speaks with it, passes on what it prints,
// ends it, and tells how it ended.

import type { ChildProcess } from 'node:child_process'
import type { Duplex, Readable } from 'node:stream'
import type { ProcessorDeath } from '../base/errors.js'
import type { Logger } from '../base/logger.js'
import type { LastRun } from '../core/worker/events.js'
import type { OutgoingFrame } from '../transport/socket.js'
import { decode, type TaskResult } from '../wire/message.js'
import { AgentLink } from './agent-link.js'
import { ByteTail } from './byte-tail.js'
import { decodeExitNote } from './exit-note.js'
import { INBOX_FD, KIND_EXIT_NOTE, LIFELINE_FD, OUTBOX_FD } from './link.js'
import { readLines } from './output-reader.js'
import { spawnProcessor, type ProcessorOptions } from './spawn-processor.js'

/** What is kept of stderr for `ProcessorDiedError`, in bytes. */
const STDERR_TAIL_BYTES = 4096

/** A processor that was asked to end by itself is told more firmly after this time. */
const PATIENCE_MS = 250

/** A process whose pipes are closed ends, or is ended after this time. */
const PIPE_TIMEOUT_MS = 1000

/**
 * How long to wait for the rest of what a dead processor has written: others may hold its pipes.
 */
const DRAIN_TIMEOUT_MS = 1000

/** What a host tells, never from within its constructor. Nothing after `onExit`. */
export interface ProcessorHostHandler {
  onReady(pid: number): void
  onResult(result: TaskResult): void
  onProgress(progress: number): void
  onExit(death: ProcessorDeath, lastRun: LastRun): void
}

/** One processor process. */
export interface ProcessorHost {
  /** Passes on a message in its bytes. Large pieces must not be changed afterwards. */
  send(frame: OutgoingFrame): void
  /** Asks how far it is: `onProgress` follows, even while user code runs. */
  askProgress(): void
  /** Ends it: SIGTERM first, SIGKILL after `killDelayMs`. What it has written still comes. */
  kill(): void
  /** Ends it in good order: it is asked, then told, then killed. Resolves after `onExit`. */
  end(): Promise<void>
}

/** Starts a processor. `logger` gets what it prints, line by line. */
export function hostProcessor(
  options: ProcessorOptions,
  logger: Logger,
  handler: ProcessorHostHandler,
): ProcessorHost {
  const child = spawnProcessor(options)
  return child instanceof Error
    ? new UnstartedProcessor(child, handler)
    : new RunningProcessor(child, options.killDelayMs, logger, handler)
}

/** A process that the system did not let us start: too many processes, too many open files, … */
class UnstartedProcessor implements ProcessorHost {
  readonly #exited: Promise<void>

  constructor(error: Error, handler: ProcessorHostHandler) {
    this.#exited = new Promise((resolve) => {
      setImmediate(() => {
        handler.onExit({ stderr: `the process could not be started: ${error.message}` }, 'nothing')
        resolve()
      })
    })
  }

  send(): void {}
  askProgress(): void {}
  kill(): void {}

  end(): Promise<void> {
    return this.#exited
  }
}

class RunningProcessor implements ProcessorHost {
  readonly #child: ChildProcess
  readonly #killDelayMs: number
  readonly #logger: Logger
  readonly #handler: ProcessorHostHandler
  readonly #lifeline: Duplex
  readonly #link: AgentLink
  readonly #stderr = new ByteTail(STDERR_TAIL_BYTES)
  readonly #exited: Promise<void>
  #lastRun: LastRun = 'unknown'
  #killTimer: NodeJS.Timeout | undefined
  #pipeTimer: NodeJS.Timeout | undefined
  #isGone = false

  constructor(
    child: ChildProcess,
    killDelayMs: number,
    logger: Logger,
    handler: ProcessorHostHandler,
  ) {
    this.#child = child
    this.#killDelayMs = killDelayMs
    this.#logger = logger
    this.#handler = handler
    const pipes = child.stdio as unknown as readonly Duplex[]
    this.#lifeline = pipes[LIFELINE_FD] as Duplex
    this.#link = new AgentLink(pipes[INBOX_FD] as Duplex, pipes[OUTBOX_FD] as Duplex, {
      onFrame: (kind, bytes) => this.#onFrame(kind, bytes),
      onGarbage: (error) => this.#onGarbage(error),
    })
    for (const fd of [INBOX_FD, LIFELINE_FD, OUTBOX_FD]) {
      pipes[fd]?.on('close', () => this.#onPipeClosed())
    }
    this.#watchLifeline()
    this.#watchOutput()
    this.#exited = this.#watchExit()
  }

  send(frame: OutgoingFrame): void {
    this.#link.send(frame)
  }

  askProgress(): void {
    if (!this.#lifeline.destroyed) this.#lifeline.write(Buffer.of(0))
  }

  kill(): void {
    if (this.#isGone) return
    this.#signal('SIGTERM')
    clearTimeout(this.#killTimer)
    this.#killTimer = setTimeout(() => this.#signal('SIGKILL'), this.#killDelayMs)
  }

  async end(): Promise<void> {
    this.#link.end()
    clearTimeout(this.#pipeTimer)
    if (!this.#isGone) this.#killTimer ??= setTimeout(() => this.kill(), PATIENCE_MS)
    await this.#exited
  }

  #onFrame(kind: number, bytes: Buffer): void {
    if (kind === KIND_EXIT_NOTE) {
      this.#lastRun = decodeExitNote(bytes)
      return
    }
    const message = decode(bytes)
    if (message.kind === 'taskResult') this.#handler.onResult(message)
    else if (message.kind === 'processorInitialized') this.#handler.onReady(this.#child.pid ?? 0)
  }

  #onGarbage(error: unknown): void {
    this.#logger.error('the processor has sent what is not a message', { error: String(error) })
    if (!this.#isGone) this.#signal('SIGKILL')
  }

  /** Either the process is ending, or user code has closed what was not its own. */
  #onPipeClosed(): void {
    if (this.#isGone) return
    this.#pipeTimer ??= setTimeout(() => {
      this.#logger.error('the processor has closed its pipe to the agent')
      this.#signal('SIGKILL')
    }, PIPE_TIMEOUT_MS)
  }

  #watchLifeline(): void {
    let bytes = Buffer.alloc(0)
    this.#lifeline.on('error', () => {})
    this.#lifeline.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      for (; bytes.length >= 4; bytes = bytes.subarray(4)) {
        if (!this.#isGone) this.#handler.onProgress(bytes.readUInt32LE(0))
      }
    })
  }

  #watchOutput(): void {
    const processorId = this.#child.pid
    const { stdout, stderr } = this.#child
    stderr?.on('data', (chunk: Buffer) => this.#stderr.write(chunk))
    if (stdout !== null) readLines(stdout, (line) => this.#logger.info(line, { processorId }))
    if (stderr !== null) readLines(stderr, (line) => this.#logger.warn(line, { processorId }))
  }

  async #watchExit(): Promise<void> {
    const [exitCode, signal] = await new Promise<[number | null, NodeJS.Signals | null]>(
      (resolve) => this.#child.once('exit', (...how) => resolve(how)),
    )
    clearTimeout(this.#killTimer)
    clearTimeout(this.#pipeTimer)
    // What it has started and left behind goes, too.
    this.#signal('SIGKILL')
    this.#isGone = true
    await this.#drain()
    this.#link.close()
    for (const stream of this.#child.stdio) stream?.destroy()
    const death = {
      exitCode: exitCode ?? undefined,
      signal: signal ?? undefined,
      stderr: this.#stderr.toString(),
    }
    this.#handler.onExit(death, this.#lastRun)
  }

  /** Its last results, exit note and words on stderr may still be in the pipes. */
  async #drain(): Promise<void> {
    const { stderr, stdout } = this.#child
    let timer: NodeJS.Timeout | undefined
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, DRAIN_TIMEOUT_MS)
    })
    const closed = [stderr, stdout].map((stream) => closing(stream))
    await Promise.race([Promise.all([this.#link.drained(), ...closed]), late])
    clearTimeout(timer)
  }

  /** To the whole group; where there are no groups, or none is left, to the process alone. */
  #signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-(this.#child.pid as number), signal)
    } catch {
      this.#child.kill(signal)
    }
  }
}

function closing(stream: Readable | null): Promise<void> {
  if (stream === null || stream.closed) return Promise.resolve()
  return new Promise((resolve) => {
    stream.once('close', resolve)
  })
}

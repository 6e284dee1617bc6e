// Hosts one processor process: starts it, speaks with it for a worker, passes on what it prints,
// ends it, and tells how it ended.

import type { ChildProcess } from 'node:child_process'
import type { Duplex, Readable } from 'node:stream'
import type { ProcessorDeath } from '../base/errors.js'
import type { Logger } from '../base/logger.js'
import type { LastRun, RunStatus } from '../core/worker/events.js'
import type { OutgoingFrame } from '../transport/socket.js'
import { decode, type TaskResult, type TaskUpdate } from '../wire/message.js'
import { AgentLink } from './agent-link.js'
import { ByteTail } from './byte-tail.js'
import { decodeExitNote } from './exit-note.js'
import { encodeHost, type HostFacts } from './host-frame.js'
import {
  INBOX_FD,
  KIND_EXIT_NOTE,
  KIND_HOST,
  KIND_LOG,
  KIND_MESSAGE,
  KIND_STOP,
  LIFELINE_FD,
  OUTBOX_FD,
} from './link.js'
import { decodeLog } from './log-frame.js'
import { readLines } from './output-reader.js'
import { spawnProcessor, type ProcessorOptions } from './spawn-processor.js'
import { decodeStatus, encodeQuestion, STATUS_BYTES } from './status-frame.js'
import { encodeStop, type StopOrder } from './stop-frame.js'

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

/** What a host tells, never from within `serve`. Nothing after `onExit`. */
export interface ProcessorHostHandler {
  onReady(pid: number): void
  onResult(result: TaskResult): void
  onUpdate(update: TaskUpdate): void
  onStatus(status: RunStatus): void
  onExit(death: ProcessorDeath, lastRun: LastRun): void
}

/** For whom a processor works. */
export interface ProcessorService {
  readonly facts: HostFacts
  /** Gets what it prints, line by line, and what its tasks log. */
  readonly logger: Logger
  readonly handler: ProcessorHostHandler
}

/** One processor process. */
export interface ProcessorHost {
  /** Resolves when it is gone. */
  readonly exited: Promise<void>
  /** Whether it has reported in, and lives. */
  readonly isReady: boolean
  /** Whether the process has ended, or could not be started. */
  readonly isGone: boolean
  /** From now on it works for this worker. Once, and before anything is sent. */
  serve(service: ProcessorService): void
  /** Passes on a message in its bytes. Large pieces must not be changed afterwards. */
  send(frame: OutgoingFrame): void
  /** Has it skip or stop a task. */
  stop(order: StopOrder): void
  /** Asks how far a task is: `onStatus` follows, even while user code runs. */
  askStatus(dispatchNumber: number): void
  /** Ends it: SIGTERM first, SIGKILL after `killDelayMs`. What it has written still comes. */
  kill(): void
  /** Ends it in good order: it is asked, then told, then killed. Resolves after `onExit`. */
  end(): Promise<void>
}

/** Starts a processor. `logger` gets what it prints before it works for anybody. */
export function hostProcessor(options: ProcessorOptions, logger: Logger): ProcessorHost {
  const child = spawnProcessor(options)
  return child instanceof Error
    ? new UnstartedProcessor(child)
    : new RunningProcessor(child, options.killDelayMs, logger)
}

/** A process that the system did not let us start: too many processes, too many open files, … */
class UnstartedProcessor implements ProcessorHost {
  readonly isReady = false
  readonly isGone = true
  readonly exited: Promise<void> = Promise.resolve()
  readonly #error: Error
  #served: Promise<void> | undefined

  constructor(error: Error) {
    this.#error = error
  }

  serve({ handler }: ProcessorService): void {
    this.#served = new Promise((resolve) => {
      setImmediate(() => {
        const stderr = `the process could not be started: ${this.#error.message}`
        handler.onExit({ stderr }, 'nothing')
        resolve()
      })
    })
  }

  send(): void {}
  stop(): void {}
  askStatus(): void {}
  kill(): void {}

  async end(): Promise<void> {
    await this.#served
  }
}

class RunningProcessor implements ProcessorHost {
  readonly exited: Promise<void>
  readonly #child: ChildProcess
  readonly #killDelayMs: number
  #logger: Logger
  /** Undefined before it works for anybody. */
  #handler: ProcessorHostHandler | undefined
  #isReady = false
  readonly #lifeline: Duplex
  readonly #link: AgentLink
  readonly #stderr = new ByteTail(STDERR_TAIL_BYTES)
  #lastRun: LastRun = 'unknown'
  #death: ProcessorDeath | undefined
  #killTimer: NodeJS.Timeout | undefined
  #pipeTimer: NodeJS.Timeout | undefined
  #isGone = false

  constructor(child: ChildProcess, killDelayMs: number, logger: Logger) {
    this.#child = child
    this.#killDelayMs = killDelayMs
    this.#logger = logger
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
    this.exited = this.#watchExit()
  }

  get isReady(): boolean {
    return this.#isReady && !this.#isGone
  }

  get isGone(): boolean {
    return this.#isGone
  }

  serve({ facts, logger, handler }: ProcessorService): void {
    this.#logger = logger
    this.#link.send(KIND_HOST, encodeHost(facts))
    setImmediate(() => {
      this.#handler = handler
      if (this.#isReady) handler.onReady(this.#child.pid ?? 0)
      if (this.#death !== undefined) handler.onExit(this.#death, this.#lastRun)
    })
  }

  send(frame: OutgoingFrame): void {
    this.#link.send(KIND_MESSAGE, frame)
  }

  stop(order: StopOrder): void {
    this.#link.send(KIND_STOP, encodeStop(order))
  }

  askStatus(dispatchNumber: number): void {
    if (!this.#lifeline.destroyed) this.#lifeline.write(encodeQuestion(dispatchNumber))
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
    await this.exited
  }

  #onFrame(kind: number, bytes: Buffer): void {
    if (kind === KIND_EXIT_NOTE) {
      this.#lastRun = decodeExitNote(bytes)
      return
    }
    if (kind === KIND_LOG) {
      const { level, text, fields } = decodeLog(bytes)
      this.#logger[level](text, { processorId: this.#child.pid, ...fields })
      return
    }
    const message = decode(bytes)
    if (message.kind === 'taskResult') this.#handler?.onResult(message)
    else if (message.kind === 'taskUpdate') this.#handler?.onUpdate(message)
    else if (message.kind === 'processorInitialized') this.#onReady()
  }

  #onReady(): void {
    this.#isReady = true
    this.#handler?.onReady(this.#child.pid ?? 0)
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
    let bytes: Buffer = Buffer.alloc(0)
    this.#lifeline.on('error', () => {})
    this.#lifeline.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      for (; bytes.length >= STATUS_BYTES; bytes = bytes.subarray(STATUS_BYTES)) {
        if (!this.#isGone) this.#handler?.onStatus(decodeStatus(bytes, 0))
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
    this.#death = {
      exitCode: exitCode ?? undefined,
      signal: signal ?? undefined,
      stderr: this.#stderr.toString(),
    }
    this.#handler?.onExit(this.#death, this.#lastRun)
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

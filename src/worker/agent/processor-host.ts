// Hosts one processor process: starts it, exchanges messages with it for a worker, forwards its
// output, stops it, and reports how it exited.

import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { ProcessorDeath } from '../../base/errors.js'
import type { LogFields, Logger } from '../../base/logger.js'
import type { LastRun, RunStatus, StackReport, StopReason } from '../../core/worker/events.js'
import type { ObjectId, TaskId } from '../../base/ids.js'
import type { Units } from '../../core/worker/queue/units.js'
import type { OutgoingFrame } from '../../transport/options.js'
import { adoptStream, type OpenStream } from '../../transport/stream.js'
import {
  decode,
  type Message,
  type OutputStream,
  type TaskOutput,
  type TaskResult,
  type TaskUpdate,
} from '../../wire/message.js'
import { startFailureOf } from '../../runtime/child-environment.js'
import { AgentLink } from '../link/agent-link.js'
import {
  decodeProcessorFrame,
  type HostFacts,
  INBOX_FD,
  type TakenResults,
  LIFELINE_FD,
  OUTBOX_FD,
  type ProcessorFrame,
} from '../link/frames.js'
import { Lifeline, type LifelineEvent } from '../link/lifeline.js'
import { OutputBatch, OutputLog } from './output.js'
import {
  ByteTail,
  exitOf,
  inTime,
  type ProcessorOptions,
  PULSE_INTERVAL_MS,
  signalGroup,
  spawnProcessor,
} from './spawn.js'

/** How much of stderr is kept for `ProcessorDiedError`, in bytes. */
const STDERR_TAIL_BYTES = 4096

/** A processor that does not exit on its own within this time gets SIGTERM. */
const PATIENCE_MS = 250

/** After its pipes have closed, a process exits, or is killed after this time. */
const PIPE_TIMEOUT_MS = 1000

/** How long to wait for the remaining messages of a dead processor. */
const DRAIN_TIMEOUT_MS = 1000

/**
 * The same for its output. It is already in the pipes, which detached processes of user code may
 * keep open.
 */
const PRINT_TIMEOUT_MS = 50

/** Handles the events of a host. Never called from within `serve`, nor after `onExit`. */
export interface ProcessorHostHandler {
  onReady(pid: number): void
  onResult(result: TaskResult): void
  onUpdate(update: TaskUpdate): void
  /** A task has printed something. */
  onOutput(output: TaskOutput): void
  /** Something was written to its standard streams, by an unknown task. */
  onPrinted(stream: OutputStream, content: Uint8Array): void
  onStatus(status: RunStatus): void
  /** Answers `askStack`. */
  onStack(report: StackReport): void
  /** Results of tasks before one that keeps the processor busy. */
  onTaken(results: TakenResults): void
  /** It sees the offered directory, or (no bytes) does not. */
  onFiles(proof: Uint8Array): void
  /** Files of objects were gone before it read them: it does not have these objects. */
  onObjectsLost(ids: readonly ObjectId[]): void
  /** Answers `retract`: of the `asked` tasks, `retracted` will neither run nor be answered. */
  onRetracted(asked: readonly number[], retracted: readonly number[]): void
  onExit(death: ProcessorDeath, lastRun: LastRun): void
}

/** The worker that a processor serves. */
interface ProcessorService {
  readonly facts: HostFacts
  /** Receives log lines of its tasks. */
  readonly logger: Logger
  /** Receives what is passed to `log`. Default: the same. */
  readonly outputLogger?: Logger
  readonly handler: ProcessorHostHandler
}

/** One processor process. */
export interface ProcessorHost {
  /** Resolves when it has reported that it is ready, or has exited. */
  readonly started: Promise<void>
  /** Resolves when it has exited. */
  readonly exited: Promise<void>
  /** Whether it is ready and has not exited. */
  readonly isReady: boolean
  /** Whether the process has exited, or could not be started. */
  readonly isGone: boolean
  /** Assigns it to a worker. Called once, before anything is sent. */
  serve(service: ProcessorService): void
  /** Sends an encoded message. Large pieces must not be changed afterwards. */
  send(frame: OutgoingFrame): void
  /** Sends a task. `units` are those that it has. */
  dispatch(task: OutgoingFrame, units?: Units): void
  /** Orders it to skip or stop consecutive tasks. */
  stop(id: TaskId, count: number, reason: StopReason): void
  /** Asks for the status of `count` tasks: `onStatus` follows, even while user code runs. */
  askStatus(dispatchNumber: number, count: number): void
  /** Asks what its main thread is doing: `onStack` follows, unless it exits first. */
  askStack(): void
  /**
   * Takes back those of these tasks that it has not started, named by their position among all that
   * it was sent: `onRetracted` follows, in order, even while user code runs, unless it dies first.
   */
  retract(dispatchNumbers: readonly number[]): void
  /** Writes output to the log, line by line; `fields` name the task. */
  log(stream: OutputStream, content: Uint8Array, fields?: LogFields): void
  /** Has it collect garbage if it is still idle and holds more than this many bytes. */
  collectGarbage(aboveBytes: number): void
  /** Kills it: SIGTERM first, SIGKILL after `killDelayMs`. What it has written still arrives. */
  kill(): void
  /** Asks it to exit, then sends SIGTERM, then SIGKILL. Resolves after `onExit`. */
  end(): Promise<void>
}

/**
 * Starts a processor, unless it has just been started. `logger` receives its output until it serves
 * a worker.
 */
export function hostProcessor(
  options: ProcessorOptions,
  logger: Logger,
  child: ChildProcess | Error = spawnProcessor(options),
): ProcessorHost {
  return child instanceof Error
    ? new UnstartedProcessor(child)
    : new RunningProcessor(child, options, logger)
}

/** A process that the system could not start: too many processes, too many open files, … */
class UnstartedProcessor implements ProcessorHost {
  readonly isReady = false
  readonly isGone = true
  readonly started: Promise<void> = Promise.resolve()
  readonly exited: Promise<void> = Promise.resolve()
  readonly #error: Error
  #served: Promise<void> | undefined

  constructor(error: Error) {
    this.#error = error
  }

  serve({ handler }: ProcessorService): void {
    this.#served = new Promise((resolve) => {
      setImmediate(() => {
        handler.onExit({ stderr: startFailureOf(this.#error.message) }, 'nothing')
        resolve()
      })
    })
  }

  send(): void {}
  dispatch(): void {}
  stop(): void {}
  askStatus(): void {}
  askStack(): void {}
  retract(): void {}
  log(): void {}
  collectGarbage(): void {}
  kill(): void {}

  async end(): Promise<void> {
    await this.#served
  }
}

class RunningProcessor implements ProcessorHost {
  readonly started: Promise<void>
  readonly exited: Promise<void>
  #onStarted: () => void = () => {}
  readonly #child: ChildProcess
  readonly #killDelayMs: number
  readonly #pulseIntervalMs: number
  #logger: Logger
  #outputLogger: Logger
  /** Undefined until it serves a worker. */
  #handler: ProcessorHostHandler | undefined
  #isReady = false
  readonly #lifeline: Lifeline
  readonly #link: AgentLink
  readonly #stderr = new ByteTail(STDERR_TAIL_BYTES)
  readonly #outputs = new OutputBatch((output) => this.#handler?.onOutput(output))
  readonly #logs: Readonly<Record<OutputStream, OutputLog>>
  /** Whether it has written to its standard streams. */
  #hasPrinted = false
  /** Whether it was ordered to start its guardian. */
  #isGuarded = false
  #lastRun: LastRun = 'unknown'
  #death: ProcessorDeath | undefined
  #killTimer: NodeJS.Timeout | undefined
  #pipeTimer: NodeJS.Timeout | undefined
  #isGone = false

  constructor(child: ChildProcess, options: ProcessorOptions, logger: Logger) {
    this.#child = child
    this.#killDelayMs = options.killDelayMs
    this.#pulseIntervalMs = options.pulseIntervalMs ?? PULSE_INTERVAL_MS
    this.#logger = logger
    this.#outputLogger = logger
    const pipes = child.stdio as unknown as Socket[]
    this.#lifeline = new Lifeline(pipes[LIFELINE_FD] as Socket, (event) => this.#onLifeline(event))
    const opened = adoptStream(pipes[OUTBOX_FD] as Socket)
    const outbox = (pipes[OUTBOX_FD] = opened.socket)
    this.#link = this.#openLink(pipes[INBOX_FD] as Socket, opened)
    for (const fd of [INBOX_FD, LIFELINE_FD, OUTBOX_FD]) {
      pipes[fd]?.on('close', () => this.#onPipeClosed())
    }
    this.#logs = {
      stdout: this.#watchOutput('stdout', child.stdout as Readable, outbox),
      stderr: this.#watchOutput('stderr', child.stderr as Readable, outbox),
    }
    this.started = new Promise((resolve) => (this.#onStarted = resolve))
    this.exited = this.#watchExit()
  }

  get isReady(): boolean {
    return this.#isReady && !this.#isGone
  }

  get isGone(): boolean {
    return this.#isGone
  }

  serve({ facts, logger, outputLogger = logger, handler }: ProcessorService): void {
    this.#logger = logger
    this.#outputLogger = outputLogger
    this.#link.control({ type: 'host', facts })
    setImmediate(() => {
      this.#handler = handler
      if (this.#isReady) handler.onReady(this.#child.pid ?? 0)
      if (this.#death !== undefined) handler.onExit(this.#death, this.#lastRun)
    })
  }

  send(frame: OutgoingFrame): void {
    this.#link.send(frame)
  }

  dispatch(task: OutgoingFrame, units?: Units): void {
    if (!this.#isGuarded) this.#guard()
    this.#link.dispatch(task, units)
  }

  stop(id: TaskId, count: number, reason: StopReason): void {
    this.#link.control({ type: 'stop', id, count, reason })
  }

  askStatus(dispatchNumber: number, count: number): void {
    this.#lifeline.askStatus(dispatchNumber, count)
  }

  askStack(): void {
    if (!this.#isGuarded) this.#guard()
    this.#lifeline.askStack()
  }

  retract(dispatchNumbers: readonly number[]): void {
    this.#lifeline.retract(dispatchNumbers)
  }

  log(stream: OutputStream, content: Uint8Array, fields?: LogFields): void {
    this.#logs[stream].write(content, fields)
  }

  collectGarbage(aboveBytes: number): void {
    this.#link.control({ type: 'collect', aboveBytes })
  }

  kill(): void {
    if (this.#isGone) return
    signalGroup(this.#child, 'SIGTERM')
    clearTimeout(this.#killTimer)
    this.#killTimer = setTimeout(() => signalGroup(this.#child, 'SIGKILL'), this.#killDelayMs)
  }

  async end(): Promise<void> {
    this.#link.end()
    clearTimeout(this.#pipeTimer)
    if (!this.#isGone) this.#killTimer ??= setTimeout(() => this.kill(), PATIENCE_MS)
    await this.exited
  }

  /** Before the first task: from then on, it is checked that the processor responds. */
  #guard(): void {
    this.#isGuarded = true
    this.#link.control({ type: 'guard' })
    if (this.#isReady) this.#lifeline.watch(this.#pulseIntervalMs)
  }

  #openLink(inbox: Socket, outbox: OpenStream): AgentLink {
    const hasPrinted = (): boolean => this.#hasPrinted
    return new AgentLink(inbox, outbox, {
      onMessage: (bytes) => this.#onMessage(decode(bytes)),
      onControl: (bytes) => this.#onControl(decodeProcessorFrame(bytes)),
      onPause: () => this.#outputs.flush(),
      // Output that was printed before a result is reported before it.
      get mustWait() {
        return hasPrinted()
      },
      onGarbage: (error) => this.#onGarbage(error),
    })
  }

  #onControl(frame: ProcessorFrame): void {
    this.#outputs.flush()
    if (frame.type === 'exitNote') this.#lastRun = frame.note
    if (frame.type !== 'log') return
    const { level, text, fields } = frame.line
    this.#logger[level](text, { processorId: this.#child.pid, ...fields })
  }

  #onMessage(message: Message): void {
    if (message.kind === 'taskOutput') return this.#onOutput(message)
    this.#outputs.flush()
    if (message.kind === 'taskResult') {
      // Earlier output on stderr does not belong to the death of a later task.
      this.#stderr.clear()
      this.#handler?.onResult(message)
    }
    if (message.kind === 'taskUpdate') this.#handler?.onUpdate(message)
    else if (message.kind === 'processorInitialized') this.#onReady()
    else if (message.kind === 'objectFiles') this.#handler?.onFiles(message.proof)
    else if (message.kind === 'objectRequest') this.#handler?.onObjectsLost(message.objectIds)
  }

  #onOutput(output: TaskOutput): void {
    if (output.stream === 'stderr') this.#stderr.write(output.content)
    this.#outputs.add(output)
  }

  #onReady(): void {
    this.#isReady = true
    this.#onStarted()
    if (this.#isGuarded) this.#lifeline.watch(this.#pulseIntervalMs)
    this.#handler?.onReady(this.#child.pid ?? 0)
  }

  #onGarbage(error: unknown): void {
    this.#logger.error('received invalid data from the processor', { error: String(error) })
    if (!this.#isGone) signalGroup(this.#child, 'SIGKILL')
  }

  /** Either the process is exiting, or user code has closed a pipe of ours. */
  #onPipeClosed(): void {
    if (this.#isGone) return
    this.#pipeTimer ??= setTimeout(() => {
      this.#logger.error('the processor closed its pipe to the agent')
      signalGroup(this.#child, 'SIGKILL')
    }, PIPE_TIMEOUT_MS)
  }

  #onLifeline(event: LifelineEvent): void {
    if (event.type === 'garbage') return this.#onGarbage(event.error)
    // They may be the last thing that a process has sent.
    if (event.type === 'results') return this.#handler?.onTaken(event.results)
    if (this.#isGone) return
    if (event.type === 'frozen') this.#onFrozen(event.silentMs)
    else if (event.type === 'status') this.#handler?.onStatus(event.status)
    else if (event.type === 'stack') this.#handler?.onStack(event.report)
    else this.#handler?.onRetracted(event.asked, event.retracted)
  }

  /** A frozen process cannot handle any other signal. */
  #onFrozen(silentMs: number): void {
    const processorId = this.#child.pid
    this.#logger.error('the processor is frozen and will be killed', { processorId, silentMs })
    signalGroup(this.#child, 'SIGKILL')
  }

  #watchOutput(stream: OutputStream, source: Readable, outbox: Readable): OutputLog {
    const processorId = this.#child.pid
    const level = stream === 'stdout' ? 'info' : 'warn'
    source.on('data', (chunk: Buffer) => {
      this.#hasPrinted = true
      if (stream === 'stderr') this.#stderr.write(chunk)
      if (this.#handler === undefined) this.log(stream, chunk)
      else this.#handler.onPrinted(stream, chunk)
    })
    return new OutputLog([source, outbox], (line, fields) => {
      // Reports of Node have empty lines. Those of tasks are left as they are.
      if (line === '' && fields['task'] === undefined) return
      this.#outputLogger[level](line, { processorId, ...fields })
    })
  }

  async #watchExit(): Promise<void> {
    const [exitCode, signal] = await exitOf(this.#child)
    clearTimeout(this.#killTimer)
    clearTimeout(this.#pipeTimer)
    this.#lifeline.unwatch()
    // Kills processes that it has started and left behind.
    signalGroup(this.#child, 'SIGKILL')
    this.#isGone = true
    this.#onStarted()
    await this.#drain()
    if (this.#lastRun === 'unknown' && this.#link.hasUnreadTask) this.#lastRun = 'unread'
    this.#link.close()
    for (const stream of this.#child.stdio) stream?.destroy()
    this.#death = {
      exitCode: exitCode ?? undefined,
      signal: signal ?? undefined,
      stderr: this.#stderr.toString(),
    }
    this.#handler?.onExit(this.#death, this.#lastRun)
  }

  /**
   * Its last results, exit note and output on stderr may still be in the pipes; and one of them
   * shows whether it has read its last task.
   */
  async #drain(): Promise<void> {
    const pipes = [LIFELINE_FD, INBOX_FD].map((fd) => closing(this.#child.stdio[fd] as Readable))
    await inTime(Promise.all([this.#link.drained(), ...pipes]), DRAIN_TIMEOUT_MS)
    const { stderr, stdout } = this.#child
    await inTime(Promise.all([closing(stderr), closing(stdout)]), PRINT_TIMEOUT_MS)
  }
}

function closing(stream: Readable | null): Promise<void> {
  if (stream === null || stream.closed) return Promise.resolve()
  return new Promise((resolve) => {
    stream.once('close', resolve)
  })
}

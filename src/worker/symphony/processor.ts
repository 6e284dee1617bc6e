// What a worker has in place of a processor: it makes inputs of a Symphony service from tasks and
// their objects, and results from outputs. The worker's machine decides which tasks it gets, when,
// and what happens to them if the bridge ends.

import { joinBytes } from '../../base/bytes.js'
import { ProcessorDiedError } from '../../base/errors.js'
import { type ObjectId, type TaskId, taskPhrase } from '../../base/ids.js'
import type { LogFields, Logger } from '../../base/logger.js'
import { clippedError, type ErrorText, errorTextOf } from '../../base/text.js'
import { statusOnly } from '../../core/worker/task/result.js'
import type { Units } from '../../core/worker/queue/units.js'
import type { OutgoingFrame } from '../../transport/options.js'
import {
  decode,
  type ObjectContent,
  type ObjectInstruction,
  type OutputStream,
  PLAIN_RESULT,
  type Task,
  type TaskOutput,
  type TaskResult,
  type TaskUpdate,
} from '../../wire/message.js'
import { encodeProfileResult } from '../../wire/metadata.js'
import type { ProcessorHost, ProcessorHostHandler } from '../agent/processor-host.js'
import { LineSplitter } from '../agent/spawn.js'
import type { HostFacts, LogLine } from '../link/frames.js'
import { Bridge, type BridgeHandler, type BridgeOptions } from './bridge.js'

/** An object that tasks need. */
interface HeldObject {
  readonly type: ObjectContent['objectTypes'][number]
  readonly name: Uint8Array
  readonly chunks: readonly Uint8Array[]
}

/** One call of a service. */
export interface ServiceCall {
  readonly facts: HostFacts
  readonly task: Task
  /** The encoded task. */
  readonly bytes: Uint8Array
  readonly units: Units | undefined
  /** All objects that the task needs, and others. */
  readonly objects: ReadonlyMap<ObjectId, HeldObject>
}

/** What a service has put out for a task. */
export interface ServiceAnswer {
  readonly status: 'success' | 'failed'
  /** The serialized result or error. */
  readonly content: readonly Uint8Array[] | { readonly packed: Uint8Array }
  /** The error as text. */
  readonly error?: TaskResult['error']
  readonly peakMemoryBytes?: number
  readonly cpuSeconds?: number
  /** What the task has printed, */
  readonly outputs?: readonly TaskOutput[]
  /** and logged. */
  readonly logs?: readonly LogLine[]
  /** The last progress that the task has reported. */
  readonly progress?: TaskUpdate
}

/** What the tasks of one runtime are for a service. */
export interface ServiceForm {
  /** The input of the service, in pieces. Throws if the task cannot run there. */
  inputOf(call: ServiceCall): readonly Uint8Array[]
  /** Reads the output of the service. Throws if it is not one of such a service. */
  answerIn(call: ServiceCall, output: Buffer): ServiceAnswer
  /**
   * The error for clients if the service has thrown an exception, which is pickled; undefined: a
   * client cannot read this.
   */
  failureIn(pickled: Buffer): Uint8Array | undefined
  /** An error of ours as clients read it. */
  encodeError(error: Error): Uint8Array
}

interface OpenCall extends ServiceCall {
  readonly startedAt: number
}

type Service = Parameters<ProcessorHost['serve']>[0]

/** A bridge to Symphony, with the tasks that are there. */
export class SymphonyProcessor implements ProcessorHost {
  readonly started: Promise<void>
  readonly exited: Promise<void>
  readonly #options: BridgeOptions
  readonly #form: ServiceForm
  #onStarted: () => void = () => {}
  #onExited: () => void = () => {}
  #service: Service | undefined
  #bridge: Bridge | undefined
  #isReady = false
  #isGone = false
  readonly #objects = new Map<ObjectId, HeldObject>()
  /** The tasks that Symphony has not answered, by dispatch number. */
  readonly #open = new Map<number, OpenCall>()
  readonly #numbers = new Map<TaskId, number>()
  #count = 0
  readonly #lines: Readonly<Record<OutputStream, LineSplitter>>
  #lineFields: LogFields = {}

  constructor(options: BridgeOptions, form: ServiceForm) {
    this.#options = options
    this.#form = form
    this.started = new Promise((resolve) => (this.#onStarted = resolve))
    this.exited = new Promise((resolve) => (this.#onExited = resolve))
    const splitter = (level: 'info' | 'warn'): LineSplitter =>
      new LineSplitter((line) => this.#outputLogger[level](line, this.#lineFields))
    this.#lines = { stdout: splitter('info'), stderr: splitter('warn') }
  }

  get isReady(): boolean {
    return this.#isReady && !this.#isGone
  }

  get isGone(): boolean {
    return this.#isGone
  }

  serve(service: Service): void {
    this.#service = service
    this.#bridge = new Bridge(this.#options, this.#handler)
  }

  send(frame: OutgoingFrame): void {
    const message = decode(joined(frame))
    if (message.kind === 'objectResponse') this.#store(message.objectContent)
    else if (message.kind === 'objectInstruction') this.#forget(message)
  }

  dispatch(frame: OutgoingFrame, units?: Units): void {
    const bytes = joined(frame)
    const task = decode(bytes)
    if (task.kind === 'task') this.#submit(task, bytes, units)
  }

  /** Symphony has no call for this: the task is given up, and its answer will be ignored. */
  stop(id: TaskId, count: number): void {
    const number = this.#numbers.get(id)
    if (number === undefined || this.#take(number) === undefined) return
    this.#later((handler) => handler.onResult(statusOnly(id, 'canceled', count)))
  }

  askStatus(dispatchNumber: number): void {
    const call = this.#open.get(dispatchNumber)
    const runningMs = call === undefined ? 0 : Math.floor(performance.now() - call.startedAt)
    const isStarted = call !== undefined
    const flags = { isStarted, isListening: false, isAlone: false, hasGivenUp: false }
    const status = { dispatchNumber, taskNumber: dispatchNumber, runningMs, ...flags }
    this.#later((handler) => handler.onStatus(status))
  }

  askStack(): void {
    const reason = 'its tasks run on hosts of Symphony'
    this.#later((handler) => handler.onStack({ outcome: 'failed', stack: [], reason }))
  }

  /** Symphony has them all. */
  retract(dispatchNumbers: readonly number[]): void {
    this.#later((handler) => handler.onRetracted(dispatchNumbers, []))
  }

  log(stream: OutputStream, content: Uint8Array, fields: LogFields = {}): void {
    this.#lineFields = fields
    this.#lines[stream].write(content)
  }

  collectGarbage(): void {}

  kill(): void {
    this.#bridge?.kill()
  }

  async end(): Promise<void> {
    await this.#bridge?.end()
  }

  get #logger(): Logger | undefined {
    return this.#service?.logger
  }

  get #outputLogger(): Logger {
    const { outputLogger, logger } = this.#service as Service
    return outputLogger ?? logger
  }

  #submit(task: Task, bytes: Uint8Array, units: Units | undefined): void {
    const { facts } = this.#service as Service
    const startedAt = performance.now()
    const call = { facts, task, bytes, units, objects: this.#objects, startedAt }
    const number = this.#count
    this.#count += 1
    this.#open.set(number, call)
    this.#numbers.set(task.taskId, number)
    try {
      this.#bridge?.submit(number, this.#form.inputOf(call))
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error))
      this.#later(() => this.#fail(number, reason))
    }
  }

  #store({ objectIds, objectTypes, objectNames, objectBytes }: ObjectContent): void {
    for (const [index, id] of objectIds.entries()) {
      const [type, name, chunks] = [objectTypes[index], objectNames[index], objectBytes[index]]
      if (type === undefined || name === undefined || chunks === undefined) continue
      this.#objects.set(id, { type, name, chunks })
    }
  }

  #forget({ instructionType, objectContent }: ObjectInstruction): void {
    if (instructionType === 'clear') this.#objects.clear()
    else if (instructionType === 'delete')
      for (const id of objectContent.objectIds) this.#objects.delete(id)
  }

  /** Undefined: it was given up, or answered before. */
  #take(number: number): OpenCall | undefined {
    const call = this.#open.get(number)
    if (call === undefined) return undefined
    this.#open.delete(number)
    const { taskId } = call.task
    if (this.#numbers.get(taskId) === number) this.#numbers.delete(taskId)
    return call
  }

  /** Not within a call of the owner. */
  #later(tell: (handler: ProcessorHostHandler) => void): void {
    setImmediate(() => {
      if (!this.#isGone && this.#service !== undefined) tell(this.#service.handler)
    })
  }

  readonly #handler: BridgeHandler = {
    onReady: (pid, { connection, session }) => {
      const fields = { service: this.#options.serviceName, connection, session }
      this.#logger?.info('opened a session of Symphony', fields)
      this.#isReady = true
      this.#onStarted()
      this.#service?.handler.onReady(pid)
    },
    onOutput: (number, output) => this.#onOutput(number, output),
    onFailure: (number, text, pickled) => this.#onFailure(number, text, pickled),
    onLine: (line) => this.#outputLogger.warn(line),
    onExit: (death, lastRun, reason) => {
      if (this.#isReady && reason !== undefined) {
        this.#logger?.warn(reason, { openTasks: this.#open.size })
      }
      this.#isGone = true
      this.#onStarted()
      for (const lines of Object.values(this.#lines)) lines.end()
      this.#service?.handler.onExit(death, lastRun)
      this.#onExited()
    },
  }

  #onOutput(number: number, output: Buffer): void {
    const call = this.#take(number)
    if (call === undefined) return
    let answer: ServiceAnswer
    try {
      answer = this.#form.answerIn(call, output)
    } catch (error) {
      return this.#answer(call, this.#failureOf(error))
    }
    for (const { level, text, fields } of answer.logs ?? []) this.#logger?.[level](text, fields)
    for (const printed of answer.outputs ?? []) this.#service?.handler.onOutput(printed)
    if (answer.progress !== undefined) this.#service?.handler.onUpdate(answer.progress)
    this.#answer(call, answer)
  }

  #onFailure(number: number, text: ErrorText, pickled: Buffer): void {
    const call = this.#take(number)
    if (call === undefined) return
    const content = this.#form.failureIn(pickled)
    if (content !== undefined) {
      return this.#answer(call, {
        status: 'failed',
        content: [content],
        error: [clippedError(text)],
      })
    }
    const { taskId, name } = call.task
    const why = text.name === '' ? text.message : `${text.name}: ${text.message}`
    const message = `${taskPhrase(taskId, name)} failed in Symphony: ${why}`
    this.#answer(call, this.#failureOf(new ProcessorDiedError(message, { stderr: text.stack })))
  }

  #fail(number: number, error: Error): void {
    const call = this.#take(number)
    if (call !== undefined) this.#answer(call, this.#failureOf(error))
  }

  #failureOf(thrown: unknown): ServiceAnswer {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    const content = [this.#form.encodeError(error)]
    return { status: 'failed', content, error: [errorTextOf(error)] }
  }

  #answer({ task, facts, startedAt }: OpenCall, answer: ServiceAnswer): void {
    const { status, content, error = PLAIN_RESULT.error } = answer
    const { peakMemoryBytes = 0, cpuSeconds = 0 } = answer
    const durationSeconds = (performance.now() - startedAt) / 1_000
    const inline = 'packed' in content ? { packed: content.packed } : { inlineResults: content }
    this.#service?.handler.onResult({
      kind: 'taskResult',
      taskId: task.taskId,
      status,
      metadata: encodeProfileResult({ durationSeconds, peakMemoryBytes, cpuSeconds }),
      results: [],
      ...PLAIN_RESULT,
      ...inline,
      worker: facts.worker,
      attempt: task.attempt,
      error,
    })
  }
}

function joined(frame: OutgoingFrame): Uint8Array {
  return frame instanceof Uint8Array ? frame : joinBytes(frame)
}

// A real processor process for tests, with what it was sent and what it has reported.

import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import type { ProcessorDeath } from '../base/errors.js'
import { identity, objectId, type ObjectId, taskId, type TaskId } from '../base/ids.js'
import type { LogFields, Logger } from '../base/logger.js'
import type { LastRun, RunStatus, StackReport } from '../core/worker/events.js'
import { defaultSerializer } from '../serializer/serializer.js'
import { defaultCodec } from '../serializer/task-codec.js'
import { PackedReader } from '../serializer/value/packed/reader.js'
import { PackedWriter } from '../serializer/value/packed/writer.js'
import {
  encodeFrame,
  type OutputStream,
  PLAIN_TASK,
  type Task,
  type TaskArgument,
  type TaskOutput,
  type TaskResult,
  type TaskUpdate,
} from '../wire/message.js'
import { encodeTaskFlags } from '../wire/metadata.js'
import { countOf, isObjectArgument, layoutOf, nthTaskId, ArgumentPacker } from '../wire/run.js'
import { serializerIdOf } from './object-ids.js'
import {
  hostProcessor,
  type ProcessorHost,
  type ProcessorHostHandler,
} from './agent/processor-host.js'
import type { ProcessorOptions } from './agent/spawn.js'
import type { TakenResults } from './link/frames.js'

const CLIENT = identity('1|Client|00112233445566778899aabbccddeeff')

/** How tests start processors. */
export const PROCESSOR_OPTIONS: ProcessorOptions = {
  workers: 1,
  execArgv: [],
  env: process.env,
  cwd: undefined,
  killDelayMs: 1000,
}

const DEADLINE_MS = 60_000

/** How a processor exited. */
export interface Exit {
  readonly death: ProcessorDeath
  readonly lastRun: LastRun
}

/** The answer to one `retract`. */
export interface Retraction {
  readonly asked: readonly number[]
  readonly retracted: readonly number[]
}

/** A processor that serves a test. */
export class LiveProcessor implements ProcessorHostHandler, Logger {
  readonly host: ProcessorHost
  readonly ready: Promise<number>
  readonly exit: Promise<Exit>
  readonly results: TaskResult[] = []
  /** What the guardian has sent. */
  readonly taken: TakenResults[] = []
  readonly updates: TaskUpdate[] = []
  readonly outputs: TaskOutput[] = []
  readonly statuses: RunStatus[] = []
  readonly stacks: StackReport[] = []
  readonly retractions: Retraction[] = []
  readonly lines: string[] = []
  #onReady: (pid: number) => void = () => {}
  #onExit: (exit: Exit) => void = () => {}
  #objectCount = 0

  /** Starts one, or takes over one that was started. */
  constructor(options: Partial<ProcessorOptions> = {}, host?: ProcessorHost) {
    this.ready = new Promise((resolve) => (this.#onReady = resolve))
    this.exit = new Promise((resolve) => (this.#onExit = resolve))
    this.host = host ?? hostProcessor({ ...PROCESSOR_OPTIONS, ...options }, this)
    const facts = {
      address: 'tcp://127.0.0.1:1',
      worker: identity('w'),
      inlineLimitBytes: 8192,
      taskTimeoutMs: 0,
    }
    this.host.serve({ facts, logger: this, handler: this })
    this.#keep(serializerIdOf(CLIENT), Buffer.from('scaler-ts/default'))
  }

  /** Sends it a function; returns the id by which tasks refer to it. */
  define(fn: (...args: never[]) => unknown): ObjectId {
    return this.store(defaultSerializer.serialize(fn))
  }

  /** Sends it an object; returns its id. */
  store(bytes: Uint8Array): ObjectId {
    const id = objectId(`object ${(this.#objectCount += 1)}`)
    this.#keep(id, bytes)
    return id
  }

  /** Sends it a task. */
  dispatch(
    id: string,
    funcObjectId: ObjectId,
    args: readonly unknown[] = [],
    { priority = 0, ...rest }: Partial<Task> & { readonly priority?: number } = {},
  ): void {
    const functionArgs = args.map((arg) => {
      return { type: 'inline', data: defaultSerializer.serialize(arg) } as const
    })
    this.host.dispatch(
      encodeFrame({
        ...PLAIN_TASK,
        kind: 'task',
        taskId: taskId(id),
        source: CLIENT,
        metadata: encodeTaskFlags({ profiling: false, priority }),
        funcObjectId,
        functionArgs,
        ...rest,
      }),
    )
  }

  /** Sends it consecutive tasks, each with one argument. */
  dispatchSlice(first: TaskId, funcObjectId: ObjectId, args: readonly unknown[]): void {
    const writer = new PackedWriter(defaultCodec)
    for (const arg of args) {
      writer.beginEntry()
      writer.value(arg, Infinity)
      writer.endEntry()
    }
    const run = { count: args.length, packed: writer.finish() }
    this.dispatch(first, funcObjectId, [], run)
  }

  /** Sends it consecutive nodes of a graph: `calls` has the arguments of each. */
  dispatchNodes(
    first: TaskId,
    funcObjectId: ObjectId,
    calls: readonly (readonly TaskArgument[])[],
  ): void {
    const functionArgs = calls[0]?.filter(isObjectArgument) ?? []
    const run = { count: calls.length, packed: packCalls(calls), keepsResult: true }
    this.dispatch(first, funcObjectId, [], { ...run, functionArgs })
  }

  /** The values in its packed answers, by the ids of their tasks. */
  get packedValues(): ReadonlyMap<TaskId, unknown> {
    const values = new Map<TaskId, unknown>()
    for (const { taskId: first, packed, ...result } of this.results) {
      if (packed.byteLength === 0) continue
      const count = countOf(result)
      const reader = new PackedReader(packed, layoutOf(packed, count), defaultCodec)
      for (let n = 0; n < count; n += 1) values.set(nthTaskId(first, n), reader.value(n))
    }
    return values
  }

  /** Its answers, each as the id, the status and the value if there is one. */
  get story(): string[] {
    return this.results.map(({ taskId: id, status, inlineResults }) => {
      const bytes = Buffer.concat(inlineResults)
      const value = status === 'success' ? String(defaultSerializer.deserialize(bytes)) : ''
      return `${id} ${status} ${value}`.trimEnd()
    })
  }

  /** Resolves when `isTrue` does. */
  async until(what: string, isTrue: () => boolean): Promise<void> {
    const end = performance.now() + DEADLINE_MS
    while (!isTrue()) {
      if (performance.now() > end) throw new Error(`waited in vain: ${what}`)
      await nextTurn()
    }
  }

  /** Resolves when a task has started, even one that keeps the processor busy. */
  async begun(dispatchNumber: number): Promise<void> {
    const isBegun = (): boolean => {
      return this.statuses.some((one) => one.dispatchNumber === dispatchNumber && one.isStarted)
    }
    for (const end = performance.now() + DEADLINE_MS; !isBegun() && performance.now() < end;) {
      this.host.askStatus(dispatchNumber, 1)
      const count = this.statuses.length
      await this.until('the status of a task', () => this.statuses.length > count)
      await pause(1)
    }
  }

  onReady(pid: number): void {
    this.#onReady(pid)
  }

  onResult(result: TaskResult): void {
    this.results.push(result)
  }

  onUpdate(update: TaskUpdate): void {
    this.updates.push(update)
  }

  onOutput(output: TaskOutput): void {
    this.outputs.push(output)
    const isForLog = output.client === '' && output.droppedBytes === 0
    if (isForLog) this.host.log(output.stream, output.content)
  }

  onPrinted(stream: OutputStream, content: Uint8Array): void {
    this.host.log(stream, content)
  }

  onStatus(status: RunStatus): void {
    this.statuses.push(status)
  }

  onFiles(): void {}
  onObjectsLost(): void {}

  onTaken(results: TakenResults): void {
    this.taken.push(results)
  }

  onStack(report: StackReport): void {
    this.stacks.push(report)
  }

  onRetracted(asked: readonly number[], retracted: readonly number[]): void {
    this.retractions.push({ asked, retracted })
  }

  onExit(death: ProcessorDeath, lastRun: LastRun): void {
    this.#onExit({ death, lastRun })
  }

  debug(text: string, fields?: LogFields): void {
    this.#note('debug', text, fields)
  }

  info(text: string, fields?: LogFields): void {
    this.#note('info', text, fields)
  }

  warn(text: string, fields?: LogFields): void {
    this.#note('warn', text, fields)
  }

  error(text: string, fields?: LogFields): void {
    this.#note('error', text, fields)
  }

  #note(level: string, text: string, fields: LogFields = {}): void {
    this.lines.push([level, text, ...Object.keys(fields)].join(' '))
  }

  #keep(id: ObjectId, bytes: Uint8Array): void {
    const objectContent = {
      objectIds: [id],
      objectTypes: ['object'] as const,
      objectNames: [Buffer.from('name')],
      objectBytes: [[bytes]],
    }
    this.host.send(encodeFrame({ kind: 'objectResponse', responseType: 'content', objectContent }))
  }
}

function packCalls(calls: readonly (readonly TaskArgument[])[]): Uint8Array {
  const packer = new ArgumentPacker()
  for (const call of calls) {
    for (const argument of call) packer.add(argument)
    packer.endEntry()
  }
  return packer.finish()
}

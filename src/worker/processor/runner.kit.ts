// A task runner with a simulated scheduler, guardian and clock.

import assert from 'node:assert/strict'
import type { RunStatus } from '../../core/worker/events.js'
import { TaskScopes, type TaskScope } from '../../runtime/task-scope.js'
import type { OutgoingFrame } from '../../transport/options.js'
import { decode, type TaskResult, type TaskUpdate } from '../../wire/message.js'
import { newResultMemory, ResultBoard } from './result-board.js'
import {
  BoardReader,
  ClaimTable,
  ClaimTaker,
  newBoardCells,
  newClaimCells,
  TaskBoard,
} from './shared-memory.js'
import {
  decodeProcessorFrame,
  encodeControl,
  type LogLine,
  type ProcessorFrame,
} from '../link/frames.js'
import type { Outbox } from '../link/outbox.js'
import { runnableTask, type RunnableFacts } from '../runnable-task.kit.js'
import { StoredObject } from './objects.js'
import { TableCodec } from '../table-codec.test.kit.js'
import { TaskMeter } from './meter.js'
import { TaskRunner } from './runner.js'

/** A frame that a processor sends. */
export type Told = TaskResult | TaskUpdate | LogLine

/** An outbox that records which frames leave together. */
export class FakeOutbox {
  readonly batches: Told[][] = []
  #waiting: Told[] = []

  get bytes(): number {
    return this.#waiting.length
  }

  hasOther = false

  addResult(frame: OutgoingFrame): void {
    this.add(frame)
  }

  add(frame: OutgoingFrame): void {
    const message = decode(Buffer.concat(frame instanceof Uint8Array ? [frame] : frame))
    assert.ok(message.kind === 'taskResult' || message.kind === 'taskUpdate')
    this.hasOther ||= message.kind === 'taskUpdate'
    this.#waiting.push(message)
  }

  send(frame: ProcessorFrame): void {
    const received = decodeProcessorFrame(encodeControl(frame))
    assert.ok(received.type === 'log')
    this.#waiting.push(received.line)
    this.flush()
  }

  flush(): void {
    if (this.#waiting.length > 0) this.batches.push(this.#waiting)
    this.#waiting = []
  }

  get results(): TaskResult[] {
    return this.batches.flat().filter((one) => 'kind' in one && one.kind === 'taskResult')
  }

  get logLines(): LogLine[] {
    return this.batches.flat().filter((one) => 'level' in one)
  }

  /** Results and updates in order, each as two or four words. */
  get story(): string[] {
    return this.batches.flat().flatMap((one) => {
      if (!('kind' in one)) return []
      if (one.kind === 'taskResult') return [`${one.taskId} ${one.status}`]
      const progress = one.update === 'progress' ? ` ${one.done} ${one.total}` : ''
      return [`${one.taskId} ${one.update}${progress}`]
    })
  }
}

/** A runner and its surroundings. */
export class Setup {
  readonly codec: TableCodec = new TableCodec()
  readonly outbox: FakeOutbox = new FakeOutbox()
  readonly cells: Int32Array = newBoardCells()
  readonly #claimCells: Int32Array = newClaimCells()
  readonly resultMemory: SharedArrayBuffer = newResultMemory()
  /** The guardian's side of the claims. */
  readonly taker: ClaimTaker = new ClaimTaker(this.#claimCells)
  readonly scopes: TaskScopes = new TaskScopes()
  readonly kept: Map<string, string> = new Map()
  isRetired = false
  readonly runner: TaskRunner = new TaskRunner({
    outbox: this.outbox as unknown as Outbox,
    meter: new TaskMeter(() => this.now),
    board: new TaskBoard(this.cells, () => {}),
    claims: new ClaimTable(this.#claimCells),
    scopes: this.scopes,
    keep: (id, chunks) => void this.kept.set(id, Buffer.concat(chunks).toString()),
    retire: () => (this.isRetired = true),
    results: new ResultBoard(this.resultMemory),
  })
  now = 1000
  readonly #objects = new Map<string, StoredObject>()

  /** A function under a name, as one object. */
  define(name: string, fn: (...args: never[]) => unknown): void {
    this.codec.values.set(name, fn)
    this.#objects.set(name, new StoredObject([Buffer.from(name)]))
  }

  add(id: string, fn: string, more: RunnableFacts = {}): void {
    const object = this.#objects.get(fn) ?? new StoredObject([Buffer.from(fn)])
    this.runner.add(runnableTask(id, fn, this.codec, { fn: object, ...more }))
  }

  /** The task that the caller runs in, as clients see it. */
  get scope(): TaskScope {
    return this.scopes.current ?? assert.fail('not in a task')
  }

  /** The status of the n-th task, as the guardian would report it. */
  statusOf(number: number): RunStatus {
    return new BoardReader(this.cells).statusOf(number, this.now)
  }

  get lines(): string[] {
    return this.outbox.results.map(({ taskId: id, status, inlineResults }) => {
      return `${id} ${status} ${Buffer.concat(inlineResults).toString()}`
    })
  }
}

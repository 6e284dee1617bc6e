// A processor for property tests that really runs tasks: some wait for tasks of their own, some
// listen to their signal, some never return, some take it down. What a task does is in its id (of
// tasks of a run: see `kindOf`). What it says may be held back, as by the real one.

import assert from 'node:assert/strict'
import type { TaskId } from '../../base/ids.js'
import { taskId } from '../../base/ids.js'
import type { TaskResult, TaskUpdateType } from '../../wire/message.js'
import { isBlockId, nthTaskId, placeInBlock } from '../../wire/run.js'
import { pack } from '../../wire/run.kit.js'
import type { LastRun, RunStatus, StopReason } from './events.js'
import { resultOf } from './scripted-worker.test.js'

/** What tasks of a run do: one letter for each, by its place, in the middle of their ids. */
const KIND_OF_LETTER: Readonly<Record<string, string>> = {
  g: 'good',
  l: 'good-long',
  w: 'good-wait',
  d: 'good-deaf',
  i: 'good-listen',
  o: 'good-loop',
  b: 'bad',
  B: 'bad-wait',
  p: 'poor',
  G: 'good-timed',
  W: 'good-wait-timed',
  D: 'good-deaf-timed',
  O: 'good-loop-timed',
}

const MIDDLE_LENGTH = 12

/** The id of the n-th task of a run, whose tasks do what the letters say, again and again. */
export function runId(letters: string, n: number): TaskId {
  const middle = letters.repeat(MIDDLE_LENGTH).slice(0, MIDDLE_LENGTH)
  return nthTaskId(taskId(`\0\0${middle}\0\0`), n)
}

/** What a task does. */
export function kindOf(id: string): string {
  if (!isBlockId(id as TaskId)) return id
  const place = placeInBlock(id as TaskId)
  return KIND_OF_LETTER[id[2 + (place % MIDDLE_LENGTH)] ?? ''] ?? ''
}

/** What has been said, in order. */
export type Word =
  { readonly result: TaskResult } | { readonly id: string; readonly update: TaskUpdateType }

/** One task that the processor has. */
export interface ModelTask {
  readonly id: string
  readonly number: number
  readonly priority: number
  readonly attempt: number
  readonly isPacked: boolean
  state: 'queued' | 'active' | 'waiting'
  startedAt: number
  /** When it was told to stop last. */
  toldAt: number | undefined
  isAborted: boolean
}

interface Order {
  /** It was read before what came after it. */
  readonly task: ModelTask
  readonly reason: StopReason
}

/** The processor of this moment. */
export class ModelProcessor {
  readonly objects: Set<string> = new Set()
  readonly tasks: Map<string, ModelTask> = new Map()
  readonly words: Word[] = []
  /** Orders that it has not read. */
  readonly #orders: Order[] = []
  readonly questions: { readonly number: number; readonly count: number; readonly at: number }[] =
    []
  /** What it was asked to give back. */
  readonly retractions: (readonly number[])[] = []
  isReady = false
  isDying = false
  isRetired = false
  /** Runs, and keeps the thread. */
  blockedBy: ModelTask | undefined
  #count = 0
  /** Tasks that were given up and are still at it. */
  givenUp = 0

  dispatch(id: string, facts: Pick<ModelTask, 'priority' | 'attempt' | 'isPacked'>): void {
    assert.ok(!this.tasks.has(id), `two runs of ${id} at once`)
    const number = this.#count
    this.#count += 1
    const rest = { startedAt: 0, toldAt: undefined, isAborted: false }
    this.tasks.set(id, { id, number, ...facts, state: 'queued', ...rest })
  }

  /** Gives back what has not begun, whatever keeps the thread. Undefined: nobody has asked. */
  retract(): { asked: readonly number[]; retracted: readonly number[] } | undefined {
    const asked = this.retractions.shift()
    if (asked === undefined) return undefined
    const queued = [...this.tasks.values()].filter(({ state }) => state === 'queued')
    const taken = queued.filter(({ number }) => asked.includes(number))
    for (const { id } of taken) this.tasks.delete(id)
    return { asked, retracted: taken.map(({ number }) => number) }
  }

  stop(id: string, reason: StopReason, now: number): void {
    const task = this.tasks.get(id)
    if (task === undefined) return
    task.toldAt = now
    this.#orders.push({ task, reason })
  }

  get started(): ModelTask[] {
    return [...this.tasks.values()].filter(({ state }) => state !== 'queued')
  }

  get fatal(): TaskId | undefined {
    const { blockedBy } = this
    return blockedBy !== undefined && isBad(blockedBy.id) ? taskId(blockedBy.id) : undefined
  }

  /** Whether some task that was told to stop is alone, or was told for so long. */
  mayBeKilledFor(now: number): boolean {
    const { started } = this
    return started.some(({ toldAt }) => {
      return toldAt !== undefined && (started.length === 1 || now - toldAt >= 100)
    })
  }

  statusOf(number: number, count: number, now: number): RunStatus {
    const { started } = this
    const task = started.find((one) => one.number >= number && one.number < number + count)
    return {
      dispatchNumber: number,
      taskNumber: task?.number ?? number,
      isStarted: task !== undefined,
      isListening: task !== undefined && kindOf(task.id).includes('listen'),
      isAlone: task !== undefined && started.length === 1,
      hasGivenUp: this.givenUp > 0,
      runningMs: task === undefined ? 0 : now - task.startedAt,
    }
  }

  /** Reads orders and goes one step on with one task. False: there is nothing that it could do. */
  step(pick: number, now: number): boolean {
    if (this.blockedBy !== undefined || !this.isReady || this.isRetired) return false
    this.#obey()
    if (this.givenUp > 0 && this.started.length === 0) {
      this.isRetired = true
      return false
    }
    const active = this.started.filter(({ state }) => state === 'active')
    const waiting = this.started.filter(({ state }) => state === 'waiting')
    const first = this.#next()
    const mayResume = waiting.length > 0 && (pick % 3 === 0 || first === undefined)
    if (mayResume) this.#resume(waiting[pick % waiting.length] as ModelTask)
    else if (active.length > 0) this.#goOn(active[pick % active.length] as ModelTask, pick)
    else if (first === undefined) return false
    else this.#start(first, now)
    return true
  }

  lastWords(canWrite: boolean): LastRun {
    if (this.isRetired) return 'retired'
    if (this.isDying || !canWrite) return this.#hasUnread ? 'unread' : 'unknown'
    return this.fatal === undefined ? 'nothing' : { taskIds: [this.fatal] }
  }

  /** It may not have read what it was sent last. */
  get #hasUnread(): boolean {
    const queued = [...this.tasks.values()].filter(({ state }) => state === 'queued')
    return queued.some(({ number }) => number === this.#count - 1)
  }

  #next(): ModelTask | undefined {
    const queued = [...this.tasks.values()].filter(({ state }) => state === 'queued')
    return queued.sort((a, b) => b.priority - a.priority || a.number - b.number)[0]
  }

  #start(task: ModelTask, now: number): void {
    task.state = 'active'
    task.startedAt = now
    const kind = kindOf(task.id)
    if (kind.includes('wait')) this.#wait(task)
    else if (isBad(task.id) || kind.includes('loop')) this.blockedBy = task
    else if (!kind.includes('listen') && !kind.includes('deaf')) this.#end(task)
  }

  #goOn(task: ModelTask, pick: number): void {
    const kind = kindOf(task.id)
    if (kind.includes('wait') && pick % 2 === 0) this.#wait(task)
    else if (!kind.includes('listen') || task.isAborted || pick % 4 !== 0) this.#end(task)
  }

  #wait(task: ModelTask): void {
    task.state = 'waiting'
    this.words.push({ id: task.id, update: 'waiting' })
  }

  #resume(task: ModelTask): void {
    task.state = 'active'
    this.words.push({ id: task.id, update: 'resumed' })
    if (isBad(task.id)) this.blockedBy = task
  }

  #end(task: ModelTask): void {
    const durationMs = kindOf(task.id).includes('long') ? 30 : 0.01
    const result = resultOf(task.id, { durationMs, attempt: task.attempt })
    const packed = { inlineResults: [], count: 1, packed: pack(result.inlineResults) }
    this.#answer(task, task.isPacked ? { ...result, ...packed } : result)
  }

  #answer(task: ModelTask, result: TaskResult): void {
    this.tasks.delete(task.id)
    this.words.push({ result })
  }

  #obey(): void {
    for (const { task, reason } of this.#orders.splice(0)) {
      const { id } = task
      if (this.tasks.get(id) !== task) continue
      const kind = kindOf(id)
      const canceled = resultOf(id, { status: 'canceled' })
      const hasNeighbours = this.started.length > 1
      if (task.state === 'queued') this.#answer(task, canceled)
      else if (reason === 'givenUp' || (!kind.includes('listen') && hasNeighbours)) {
        if (kind.includes('wait') || kind.includes('deaf')) this.givenUp += 1
        this.#answer(task, canceled)
      } else task.isAborted = true
    }
  }
}

export function isBad(id: string): boolean {
  return kindOf(id).startsWith('bad')
}

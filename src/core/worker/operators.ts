// What a worker answers to operators. Its last lines are known to the shell only, and leaving is
// part of the worker's own life (worker-machine.ts). docs/protocol.md#operators

import { identity } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import { positionIn } from '../../wire/run.js'
import type { OperatorAnswer, OperatorRequest, RunningTask, TaskStory } from '../../wire/message.js'
import { send, type StackReport, type WorkerTurn } from './events.js'
import type { ProcessorSlot } from './processor/slot.js'
import type { WorkerTask } from './task/task.js'

/** An answer lists at most this many tasks. */
const MAX_TASKS = 32

/** Minimum time between two looks: each stops user code for a moment. */
const LOOK_INTERVAL_MS = 50

/** Maximum number of requests that share a look. */
const MAX_WAITING = 100

/** Answers a request. */
export function answerOperator(
  turn: WorkerTurn,
  number: number,
  reply: Pick<OperatorAnswer, 'outcome'> & Partial<OperatorAnswer>,
): void {
  const nothing = { note: '', tasks: [], stack: [], lines: [], worker: identity(''), objects: [] }
  send(turn, { ...nothing, ...reply, kind: 'operatorAnswer', number })
}

/** What a worker knows of its tasks; the scheduler adds the rest. */
export function storiesOf(tasks: readonly WorkerTask[], now: InstantMs): readonly TaskStory[] {
  return tasks.slice(0, MAX_TASKS).map(({ id, name, begunAt }) => ({
    taskId: id,
    name,
    function: '',
    client: identity(''),
    status: 'running',
    reason: 'allBusy',
    needs: '',
    forMS: begunAt === undefined ? 0 : Math.max(1, now - begunAt),
    dependsOn: [],
    attempts: [],
    attemptCount: 0,
    error: [],
    isPython: false,
  }))
}

/** A heartbeat lists at most this many running tasks. */
const MAX_RUNS = 32

/** Those of a processor's tasks that have been running for a while, for heartbeats. */
export function runsOf(tasks: readonly WorkerTask[], now: InstantMs): readonly RunningTask[] {
  const runs: RunningTask[] = []
  for (const { id, state, begunAt } of tasks) {
    if (state !== 'dispatched' || begunAt === undefined) continue
    runs.push({ taskId: id, forMS: Math.max(0, Math.floor(now - begunAt)), name: '', function: '' })
    if (runs.length === MAX_RUNS) break
  }
  return runs
}

/** Requests for the stack of the processor. */
export class StackRequests {
  readonly #turn: WorkerTurn
  readonly #slot: ProcessorSlot
  /** They share one look. Invariant: if there are any, the processor is being looked at. */
  #waiting: OperatorRequest[] = []
  #nextLookAt: InstantMs = -Infinity

  constructor(turn: WorkerTurn, slot: ProcessorSlot) {
    this.#turn = turn
    this.#slot = slot
  }

  /** An operator asks for the stack of a task, or of whatever runs. */
  onRequest(request: OperatorRequest): void {
    const { length } = this.#waiting
    const isTooSoon = length === 0 && this.#turn.now < this.#nextLookAt
    if (this.#slot.state !== 'ready') return this.#refuse(request, 'its processor is not running')
    if (isTooSoon || length >= MAX_WAITING) return this.#refuse(request, 'it was just asked')
    this.#waiting.push(request)
    if (length === 0) this.#turn.act({ type: 'askStack' })
  }

  /** The processor was looked at while it had these tasks. */
  onReport({ outcome, stack, reason }: StackReport, tasks: readonly WorkerTask[]): void {
    const { now } = this.#turn
    this.#nextLookAt = now + LOOK_INTERVAL_MS
    for (const { number, taskId } of this.#takeWaiting()) {
      const isHere =
        taskId === '' || tasks.some(({ id, count }) => positionIn(id, count, taskId) >= 0)
      const note = isHere ? noteOf(outcome, reason, tasks.length) : 'the worker has not started it'
      const found = { note, stack: isHere ? stack : [], tasks: storiesOf(tasks, now) }
      answerOperator(this.#turn, number, { outcome: 'done', ...found })
    }
  }

  /** The processor has exited: it was not looked at. */
  onProcessorExited(): void {
    for (const request of this.#takeWaiting()) this.#refuse(request, 'its processor has exited')
  }

  #takeWaiting(): readonly OperatorRequest[] {
    const waiting = this.#waiting
    this.#waiting = []
    return waiting
  }

  #refuse({ number }: OperatorRequest, note: string): void {
    answerOperator(this.#turn, number, { outcome: 'busy', note })
  }
}

function noteOf(outcome: StackReport['outcome'], reason: string, tasks: number): string {
  switch (outcome) {
    case 'running':
      return ''
    case 'idle':
      return tasks === 0
        ? 'no task is running'
        : 'no JavaScript is running: the task waits for something asynchronous'
    case 'blocked':
      return 'the process is in a call that cannot be inspected, such as execSync or native code'
    case 'failed':
      return `the process could not be inspected: ${reason}`
  }
}

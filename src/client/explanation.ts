// What is with a task, as users see it: made of what the client knows and the scheduler answers.

import { idToHex, type TaskId } from '../base/ids.js'
import type { WaitingReason } from '../base/waiting-reason.js'
import type { TaskWhereabouts } from '../core/client/client-machine.js'
import type { WaitingWarning } from '../core/client/events.js'
import type {
  AttemptOutcome,
  TaskAttempt as SentAttempt,
  TaskExplanation as SentExplanation,
} from '../wire/message.js'
import { waitingReasonOf } from '../wire/wait-reason.js'
import type { TaskOwner } from './future/home.js'
import type { TaskProfile } from './future/profile.js'

// Why tasks wait, in words for people: one wording for warnings and errors.

/** Why something waits, and the same in words. */
export interface WaitingState {
  readonly reason: WaitingReason
  readonly text: string
  /** What the task asks for that nobody offers. */
  readonly needs?: string | undefined
}

/** What is the matter, and what can be done about it; without a full stop. */
interface WaitingText {
  readonly what: string
  readonly advice: string
}

/**
 * Why tasks wait for the scheduler at `address`. `detail`: what its connection says, what the tasks
 * ask for that nobody offers, or ''.
 */
export function describeWaiting(reason: WaitingReason, address: string, detail = ''): WaitingText {
  switch (reason) {
    case 'no-scheduler':
      return {
        what: `no scheduler answers at ${address}${detail === '' ? '' : ` (${detail})`}`,
        advice: 'check that it runs, and that this is its address',
      }
    case 'no-worker':
      return {
        what: `the scheduler at ${address} has no worker that takes tasks`,
        advice: `start some: scaler_cluster ${address}`,
      }
    case 'no-runtime':
      return {
        what: `no worker of the scheduler at ${address} runs JavaScript`,
        advice: `start some that do: scaler_cluster ${address}`,
      }
    case 'no-capability':
      return {
        what: `no worker of the scheduler at ${address} has what they ask for${named(detail)}`,
        advice: 'start one that has it (scaler_cluster --capabilities …), or ask for less',
      }
    case 'all-busy':
      return {
        what: `all workers of the scheduler at ${address} are busy`,
        advice: 'add workers to get results sooner',
      }
    case 'limit':
      return {
        what: `the queue of the scheduler at ${address} is full`,
        advice: 'they are sent as it empties; add workers, or raise maxNumberOfTasksWaiting',
      }
    case 'dependency':
      return { what: 'it needs the result of a task that has not ended', advice: '' }
  }
}

function named(needs: string): string {
  return needs === '' ? '' : `: ${needs}`
}

/** Emits the process warning that tasks wait. */
export function warnOfWaiting(warning: WaitingWarning, address: string): void {
  const { reason, tasks, forMs, detail } = warning
  const { what, advice } = describeWaiting(reason, address, detail)
  const who = tasks === 0 ? 'the client' : tasks === 1 ? 'one task' : `${tasks} tasks`
  const verb = tasks > 1 ? 'have' : 'has'
  const seconds = Math.floor(forMs / 1_000)
  process.emitWarning(`${who} ${verb} waited for ${seconds} s: ${what}; ${advice}`, {
    type: 'ScalerWarning',
    code: 'SCALER_WAITING',
    detail: reason,
  })
}

/** Where a task is, what it waits for, and which workers had it. */
export interface TaskExplanation {
  /** The id of the task, in hex. */
  readonly task: string
  /** As `Future.state`, but what the scheduler knows by now. */
  readonly state: TaskWhereabouts | 'done' | 'failed' | 'cancelled'
  /** Why it waits; undefined if it does not, or nobody knows. */
  readonly reason: WaitingReason | undefined
  /** The same in words; empty if it does not wait. */
  readonly text: string
  /** What it asks for that no worker offers, such as `gpu=1`; with the reason `no-capability`. */
  readonly needs: string | undefined
  /** The tasks whose results it needs first, in hex, at most 20; with the reason `dependency`. */
  readonly dependsOn: readonly string[]
  /**
   * Each time that a worker had the task, the oldest first and the last 20 at most. What a worker
   * gave back without having begun it is none. A scheduler that was restarted knows none before.
   */
  readonly attempts: readonly TaskAttempt[]
}

/** A worker had a task, or has it. */
export interface TaskAttempt {
  /** The identity of the worker, as in logs and profiles. */
  readonly worker: string
  /** When the worker was given it; undefined where that is not known. */
  readonly startedAt: Date | undefined
  /** For how long the worker had it, or has had it so far, in milliseconds. */
  readonly durationMs: number
  /**
   * `assigned`: it has it, and has not begun it as far as is known (see `Future.state`). `running`:
   * it has begun it. `success` and `failed`: the last attempt ended so. `retried`: the function
   * failed, and the task was run again. `worker-lost`: the worker left, or was lost.
   */
  readonly outcome: 'assigned' | 'running' | 'success' | 'failed' | 'retried' | 'worker-lost'
}

/** What the client knows by itself of a task that has not ended. */
interface LocalKnowledge {
  readonly taskId: TaskId
  readonly state: TaskWhereabouts
  readonly waiting: WaitingState | undefined
  readonly dependsOn: readonly TaskId[]
  readonly address: string
}

/** How a task has ended. */
interface EndedTask {
  readonly taskId: TaskId
  readonly state: 'done' | 'failed' | 'cancelled'
  readonly profile: TaskProfile | undefined
  /** Before the last one. */
  readonly attempts: readonly TaskAttempt[]
}

const OUTCOMES: Readonly<Record<AttemptOutcome, TaskAttempt['outcome']>> = {
  unfinished: 'assigned',
  running: 'running',
  failed: 'retried',
  workerLost: 'worker-lost',
}

/** So many dependencies are named. */
const MAX_NAMED = 20

const NOT_WAITING = { reason: undefined, text: '', needs: undefined, dependsOn: [] } as const

/** Attempts that a scheduler tells at `nowMS`, by this clock. */
function attemptsFrom(sent: readonly SentAttempt[], nowMS: number): readonly TaskAttempt[] {
  return sent.map(({ worker, outcome, agoMS, forMS }) => {
    const startedAt = new Date(nowMS - agoMS)
    return { worker, startedAt, durationMs: forMS, outcome: OUTCOMES[outcome] }
  })
}

/** Of a task that has ended. */
export function explainEnd({ taskId, state, profile, attempts }: EndedTask): TaskExplanation {
  const outcome = state === 'done' ? 'success' : 'failed'
  const last =
    profile === undefined || state === 'cancelled'
      ? []
      : [{ worker: profile.worker, startedAt: undefined, durationMs: profile.durationMs, outcome }]
  const all = [...attempts, ...(last as readonly TaskAttempt[])]
  return { task: idToHex(taskId), state, ...NOT_WAITING, attempts: all }
}

/** Of a task that has not ended: by what the scheduler says, if it knows the task. */
export function explainUnfinished(
  local: LocalKnowledge,
  sent: SentExplanation | undefined,
  nowMS: number,
): TaskExplanation {
  const task = idToHex(local.taskId)
  if (sent === undefined || sent.state === 'unknown') return { task, ...localPart(local) }
  const attempts = attemptsFrom(sent.attempts, nowMS)
  if (sent.state !== 'waiting') {
    const state = attempts.at(-1)?.outcome === 'running' ? 'running' : 'queued'
    return { task, state, ...NOT_WAITING, attempts }
  }
  const reason = waitingReasonOf(sent.reason)
  return {
    task,
    state: 'queued',
    reason,
    text: describeWaiting(reason, local.address, sent.needs).what,
    needs: sent.needs === '' ? undefined : sent.needs,
    dependsOn: sent.dependsOn.map(idToHex),
    attempts,
  }
}

function localPart({ state, waiting, dependsOn }: LocalKnowledge): Omit<TaskExplanation, 'task'> {
  const ids = dependsOn.slice(0, MAX_NAMED).map(idToHex)
  const { reason, text = '', needs } = waiting ?? {}
  return { state, reason, text, needs, dependsOn: ids, attempts: [] }
}

// What a client has asked about its tasks, and what it was told of their attempts.

/** Somebody waits for what the scheduler says of a task. */
interface Question {
  readonly promise: Promise<SentExplanation | undefined>
  readonly resolve: (explanation: SentExplanation | undefined) => void
}

/** Explanations of the tasks of one client. */
export class Explanations {
  readonly #ask: (id: TaskId) => void
  readonly #questions = new Map<TaskId, Question>()
  /** Of tasks that have ended. */
  readonly #attempts = new WeakMap<TaskOwner, readonly TaskAttempt[]>()

  /** `ask` has `answer` called for the task, whatever happens. */
  constructor(ask: (id: TaskId) => void) {
    this.#ask = ask
  }

  /** What the scheduler says of a task that has not ended; undefined if it says nothing. */
  of(id: TaskId): Promise<SentExplanation | undefined> {
    const known = this.#questions.get(id)
    if (known !== undefined) return known.promise
    let resolve: Question['resolve'] = () => {}
    const promise = new Promise<SentExplanation | undefined>((settle) => (resolve = settle))
    this.#questions.set(id, { promise, resolve })
    this.#ask(id)
    return promise
  }

  /** The answer, or that there will be none. */
  answer(id: TaskId, explanation: SentExplanation | undefined): void {
    const question = this.#questions.get(id)
    this.#questions.delete(id)
    question?.resolve(explanation)
  }

  /** There will be no answers any more. */
  endAll(): void {
    for (const id of this.#questions.keys()) this.answer(id, undefined)
  }

  /** The attempts of a task that ends now, but for the last. */
  remember(owner: TaskOwner, attempts: readonly SentAttempt[]): void {
    this.#attempts.set(owner, attemptsFrom(attempts, Date.now()))
  }

  /** Those of a task that has ended. */
  attemptsOf(owner: TaskOwner): readonly TaskAttempt[] {
    return this.#attempts.get(owner) ?? []
  }
}

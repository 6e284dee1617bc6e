// The status of a task, as users see it: from the facts that the client knows and the scheduler's
// answer.

import { idToHex, type TaskId } from '../base/ids.js'
import type { WaitingReason } from '../base/waiting-reason.js'
import type { TaskWhereabouts } from '../core/client/client-machine.js'
import type { WaitingWarning } from '../core/client/events.js'
import { localCluster } from '../runtime/peer-info.js'
import type {
  AttemptOutcome,
  TaskAttempt as SentAttempt,
  TaskExplanation as SentExplanation,
} from '../wire/message.js'
import { waitingReasonOf } from '../wire/wait-reason.js'
import type { TaskOwner } from './future/home.js'
import type { TaskProfile } from './future/profile.js'
import { LANGUAGES, startWorkersText, type TaskRuntime, workerCommand } from './worker-advice.js'

// Why tasks wait, in words for people: the same wording for warnings and errors.

/** Why something waits, and the same in words. */
export interface WaitingState {
  readonly reason: WaitingReason
  readonly text: string
  /** The required capabilities that no worker offers. */
  readonly needs?: string | undefined
}

/** The reason and the remedy, without a full stop. */
interface WaitingText {
  readonly what: string
  readonly advice: string
}

/**
 * Why tasks wait for the scheduler at `address`. `detail`: the state of its connection, the
 * required capabilities that no worker offers, or ''. `runtime`: which workers the tasks need.
 */
export function describeWaiting(
  reason: WaitingReason,
  address: string,
  detail = '',
  runtime: TaskRuntime = 'javascript',
): WaitingText {
  switch (reason) {
    case 'no-scheduler':
      return {
        what: `no scheduler answers at ${address}${detail === '' ? '' : ` (${detail})`}`,
        advice: 'check that it runs, and that this is its address',
      }
    case 'no-worker':
      return describeNoWorker(address, runtime)
    case 'no-runtime':
      return {
        what: `no worker of the scheduler at ${address} runs ${LANGUAGES[runtime]}`,
        advice: `start some that do: ${workerCommand(runtime, address)}`,
      }
    case 'no-capability':
      return {
        what:
          `no worker of the scheduler at ${address} offers the required capabilities` +
          named(detail),
        advice: 'start one that does (scaler_cluster --capabilities …), or require less',
      }
    case 'all-busy':
      return {
        what: `all workers of the scheduler at ${address} are busy`,
        advice: 'add workers to get results sooner',
      }
    case 'limit':
      return {
        what: `the queue of the scheduler at ${address} is full`,
        advice: 'they are sent as the queue empties; add workers, or raise maxNumberOfTasksWaiting',
      }
    case 'dependency':
      return { what: 'it needs the result of an unfinished task', advice: '' }
  }
}

/** A cluster of this process starts its workers itself, all of them of JavaScript. */
function describeNoWorker(address: string, runtime: TaskRuntime): WaitingText {
  const what = `the scheduler at ${address} has no worker that accepts tasks`
  const local = runtime === 'python' ? undefined : localCluster(address)
  if (local === undefined) return { what, advice: startWorkersText([runtime], address) }
  if (local.expired === '') {
    return { what, advice: 'the cluster in this program starts them itself; its log says more' }
  }
  return {
    what: `the workers of the cluster in this program have ended: ${local.expired} has passed`,
    advice: 'start another cluster, with a longer time or without this option',
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
  /** Like `Future.state`, but as the scheduler knows it at this moment. */
  readonly state: TaskWhereabouts | 'done' | 'failed' | 'cancelled'
  /** Why it waits; undefined if it does not, or if the reason is unknown. */
  readonly reason: WaitingReason | undefined
  /** The same in words; empty if it does not wait. */
  readonly text: string
  /**
   * The required capabilities that no worker offers, such as `gpu=1`; with the reason
   * `no-capability`.
   */
  readonly needs: string | undefined
  /** The tasks whose results it needs first, in hex, at most 20; with the reason `dependency`. */
  readonly dependsOn: readonly string[]
  /**
   * Each time that a worker had the task, oldest first, the last 20 at most. Tasks that a worker
   * returned without starting them do not count. A restarted scheduler knows only attempts since
   * its restart.
   */
  readonly attempts: readonly TaskAttempt[]
}

/** A worker had a task, or has it. */
export interface TaskAttempt {
  /** The identity of the worker, as in logs and profiles. */
  readonly worker: string
  /**
   * When the task was assigned to the worker; for the last attempt of a finished task, when its
   * process began it. By this computer's clock; undefined if that is not known.
   */
  readonly startedAt: Date | undefined
  /** For how long the worker had it, or has had it until now, in milliseconds. */
  readonly durationMs: number
  /**
   * `assigned`: it has the task, and has not started it as far as is known (see `Future.state`).
   * `running`: it has started it. `success` and `failed`: the outcome of the last attempt.
   * `retried`: the function failed, and the task was run again. `worker-lost`: the worker left, or
   * was lost. `cancelled`: the task was cancelled while it ran there; `durationMs` ends then.
   */
  readonly outcome:
    'assigned' | 'running' | 'success' | 'failed' | 'retried' | 'worker-lost' | 'cancelled'
}

/** The client's own knowledge of an unfinished task. */
interface LocalKnowledge {
  readonly taskId: TaskId
  readonly state: TaskWhereabouts
  readonly waiting: WaitingState | undefined
  readonly dependsOn: readonly TaskId[]
  readonly address: string
}

/** The outcome of a task. */
interface EndedTask {
  readonly taskId: TaskId
  readonly state: 'done' | 'failed' | 'cancelled'
  readonly profile: TaskProfile | undefined
  /** When its outcome arrived; undefined if it has no profile. */
  readonly endedAtMs: number | undefined
  /** Before the last one. */
  readonly attempts: readonly TaskAttempt[]
}

const OUTCOMES: Readonly<Record<AttemptOutcome, TaskAttempt['outcome']>> = {
  unfinished: 'assigned',
  running: 'running',
  failed: 'retried',
  workerLost: 'worker-lost',
}

/** The most dependencies to name. */
const MAX_NAMED = 20

const NOT_WAITING = { reason: undefined, text: '', needs: undefined, dependsOn: [] } as const

/** Attempts that a scheduler reported at `nowMs`, by this clock. */
export function attemptsFrom(sent: readonly SentAttempt[], nowMS: number): readonly TaskAttempt[] {
  return sent.map(({ worker, outcome, agoMS, forMS }) => {
    const startedAt = new Date(nowMS - agoMS)
    return { worker, startedAt, durationMs: forMS, outcome: OUTCOMES[outcome] }
  })
}

/** Of a finished task. */
export function explainEnd(ended: EndedTask): TaskExplanation {
  const { taskId, state, attempts } = ended
  const all = [...attempts, ...lastAttempt(ended)]
  return { task: idToHex(taskId), state, ...NOT_WAITING, attempts: all }
}

/** The attempt that has ended a task, if a worker had it. */
function lastAttempt({ state, profile, endedAtMs }: EndedTask): readonly TaskAttempt[] {
  if (profile === undefined || state === 'cancelled') return []
  const { worker, durationMs } = profile
  const startedAt = endedAtMs === undefined ? undefined : new Date(endedAtMs - durationMs)
  return [{ worker, startedAt, durationMs, outcome: state === 'done' ? 'success' : 'failed' }]
}

/** Of an unfinished task: from the scheduler's answer, if it knows the task. */
export function explainUnfinished(
  local: LocalKnowledge,
  sent: SentExplanation | undefined,
  nowMS: number,
): TaskExplanation {
  const task = idToHex(local.taskId)
  if (sent === undefined || sent.state === 'unknown') return { task, ...localPart(local) }
  const attempts = attemptsFrom(sent.attempts, nowMS)
  // The worker may have begun it after this answer was sent: an update that followed says so.
  const isRunning = local.state === 'running' || attempts.at(-1)?.outcome === 'running'
  if (isRunning || sent.state !== 'waiting') {
    const state = isRunning ? 'running' : 'queued'
    return { task, state, ...NOT_WAITING, attempts: isRunning ? begun(attempts) : attempts }
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

/** The same attempts; the last one has begun. */
function begun(attempts: readonly TaskAttempt[]): readonly TaskAttempt[] {
  const last = attempts.at(-1)
  if (last?.outcome !== 'assigned') return attempts
  return [...attempts.slice(0, -1), { ...last, outcome: 'running' }]
}

/** The same attempts; the last one was cancelled. */
function cancelled(attempts: readonly TaskAttempt[]): readonly TaskAttempt[] {
  const last = begun(attempts).at(-1)
  if (last?.outcome !== 'running') return attempts
  return [...attempts.slice(0, -1), { ...last, outcome: 'cancelled' }]
}

function localPart({ state, waiting, dependsOn }: LocalKnowledge): Omit<TaskExplanation, 'task'> {
  const ids = dependsOn.slice(0, MAX_NAMED).map(idToHex)
  const { reason, text = '', needs } = waiting ?? {}
  return { state, reason, text, needs, dependsOn: ids, attempts: [] }
}

// The questions of a client about its tasks, and the reported attempts.

/** Receives the scheduler's answer about a task. */
interface Question {
  readonly promise: Promise<SentExplanation | undefined>
  readonly resolve: (explanation: SentExplanation | undefined) => void
}

/** More open questions would be a burden for the scheduler. */
const MAX_QUESTIONS = 100

/** Explanations of the tasks of one client. */
export class Explanations {
  readonly #ask: (id: TaskId) => void
  readonly #questions = new Map<TaskId, Question>()
  /** Of finished tasks; of those that were cancelled while they ran, once the answer is here. */
  readonly #attempts = new WeakMap<
    TaskOwner,
    readonly TaskAttempt[] | Promise<readonly TaskAttempt[]>
  >()

  /** `ask` calls `answer` for the task in any case. */
  constructor(ask: (id: TaskId) => void) {
    this.#ask = ask
  }

  /** Whether so many questions are open that none should be added without need. */
  get isBusy(): boolean {
    return this.#questions.size >= MAX_QUESTIONS
  }

  /** The scheduler's answer about an unfinished task; undefined if there is none. */
  of(id: TaskId): Promise<SentExplanation | undefined> {
    const known = this.#questions.get(id)
    if (known !== undefined) return known.promise
    const { promise } = this.#open(id)
    this.#ask(id)
    return promise
  }

  /** A task that runs is being cancelled: the answer to a question of the core has its attempts. */
  expect(owner: TaskOwner, id: TaskId): void {
    const { promise } = this.#questions.get(id) ?? this.#open(id)
    const attempts = promise.then((sent) =>
      cancelled(attemptsFrom(sent?.attempts ?? [], Date.now())),
    )
    this.#attempts.set(owner, attempts)
  }

  /** The answer, or the notice that there will be none. */
  answer(id: TaskId, explanation: SentExplanation | undefined): void {
    const question = this.#questions.get(id)
    this.#questions.delete(id)
    question?.resolve(explanation)
  }

  /** There will be no more answers. */
  endAll(): void {
    for (const id of this.#questions.keys()) this.answer(id, undefined)
  }

  /** The attempts of a task that ends now, except the last. */
  remember(owner: TaskOwner, attempts: readonly SentAttempt[]): void {
    this.#attempts.set(owner, attemptsFrom(attempts, Date.now()))
  }

  /** Those of a finished task. Waits for an answer that is under way, for five seconds at most. */
  async attemptsOf(owner: TaskOwner): Promise<readonly TaskAttempt[]> {
    return this.#attempts.get(owner) ?? []
  }

  #open(id: TaskId): Question {
    let resolve: Question['resolve'] = () => {}
    const promise = new Promise<SentExplanation | undefined>((settle) => (resolve = settle))
    const question = { promise, resolve }
    this.#questions.set(id, question)
    return question
  }
}

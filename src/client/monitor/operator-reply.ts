// The answers to operators about tasks and workers, in the words and units of users.
// docs/protocol.md#operators

import { idToHex } from '../../base/ids.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type {
  LoggedLine,
  ObjectStory,
  OperatorAnswer,
  StackFrame,
  TaskStory,
} from '../../wire/message.js'
import { waitingReasonOf } from '../../wire/wait-reason.js'
import { attemptsFrom, type TaskAttempt } from '../explanation.js'

/** An answer. */
export interface OperatorReply {
  readonly outcome: OperatorAnswer['outcome']
  /** Details for people, in one line; may be empty. */
  readonly note: string
  /**
   * The task, or what the worker runs; of an ambiguous beginning, at most 10 candidates.
   */
  readonly tasks: readonly ExplainedTask[]
  /** What was running, the innermost call first. */
  readonly stack: readonly StackFrame[]
  /** Oldest first. */
  readonly lines: readonly WorkerLine[]
  /** The worker that was asked, if any. */
  readonly worker: string | null
  /** The largest first. */
  readonly objects: readonly ObjectInfo[]
}

/** An object that is stored in the cluster, as `scaler objects --json` prints it. */
export interface ObjectInfo {
  /** In hex. */
  readonly id: string
  /** The name given to `sendObject`, or that of the function; otherwise empty. */
  readonly name: string
  /** The size of its serialized value. */
  readonly sizeBytes: number
  /** The id of a client that uses it; null: none does, it is kept until its retention ends. */
  readonly owner: string | null
  /** How many clients and graphs use it. */
  readonly users: number
  /** The ids of workers that may have a copy, at most 20. */
  readonly holders: readonly string[]
  /** How many workers may have a copy. */
  readonly holderCount: number
  /**
   * Where it is stored: in the memory of the scheduler, in a file on its machine (in shared memory
   * or on a disk), or on an object storage server.
   */
  readonly place: 'memory' | 'shm' | 'disk' | 'server'
  /** The address of that server; null: it is not on one. */
  readonly server: string | null
  /** How long ago it was stored, in milliseconds. */
  readonly ageMs: number
}

/** A line that a worker has logged, or that one of its tasks has printed. */
export interface WorkerLine {
  /** By the clock of the worker. */
  readonly time: Date
  readonly source: LoggedLine['source']
  readonly text: string
}

/** An answer that was received at `nowMs`. */
export function operatorReply(answer: OperatorAnswer, nowMs: number): OperatorReply {
  const { outcome, note, tasks, stack, lines, worker, objects } = answer
  return {
    outcome,
    note,
    tasks: tasks.map((story) => explainedTask(story, nowMs)),
    stack,
    lines: lines.map(({ atMS, source, text }) => ({ time: new Date(atMS), source, text })),
    worker: worker || null,
    objects: objects.map(objectInfo),
  }
}

function objectInfo(story: ObjectStory): ObjectInfo {
  const { objectId, name, objectBytes, owner, users, holders, holderCount, forMS, place, server } =
    story
  return {
    id: idToHex(objectId),
    name,
    sizeBytes: objectBytes,
    owner: owner || null,
    users,
    holders,
    holderCount,
    place,
    server: server || null,
    ageMs: Math.round(forMS),
  }
}

/** One task, as `scaler explain --json` prints it. Absent facts are null. */
export interface ExplainedTask {
  /** Its id, in hex. */
  readonly task: string
  /** Its name, or that of its function. */
  readonly name: string | null
  readonly function: string | null
  readonly client: string | null
  /** `waiting`, `running`, `canceling`, or how it ended: `success`, `failed`, … */
  readonly state: string
  readonly reason: WaitingReason | null
  /** Not null: it waits for a worker of Python, not of Node. */
  readonly runtime: 'python' | null
  /** What it requires and no worker offers: `gpu=1`. */
  readonly requirement: string | null
  /** How long it has been in this state; of an ended task, how long ago it ended. */
  readonly seconds: number | null
  readonly dependsOn: readonly { readonly task: string; readonly name: string | null }[]
  /** The last 20, oldest first. */
  readonly attempts: readonly TaskAttempt[]
  readonly attemptCount: number
  readonly error: { readonly name: string; readonly message: string; readonly stack: string } | null
}

/** The task of an answer, received at `nowMs`. */
function explainedTask(story: TaskStory, nowMs: number): ExplainedTask {
  const { status, forMS, error, dependsOn, attemptCount } = story
  const isWaiting = status === 'inactive'
  const [first] = error
  return {
    task: idToHex(story.taskId),
    name: story.name || story.function || null,
    function: story.function || null,
    client: story.client || null,
    state: isWaiting ? 'waiting' : status,
    reason: isWaiting ? waitingReasonOf(story.reason) : null,
    runtime: isWaiting && story.isPython ? 'python' : null,
    requirement: (isWaiting && story.needs) || null,
    seconds: forMS === 0 ? null : Math.round(forMS) / 1_000,
    dependsOn: dependsOn.map(({ taskId, name }) => ({ task: idToHex(taskId), name: name || null })),
    attempts: attemptsOf(story, nowMs),
    attemptCount,
    error: first === undefined ? null : { ...first },
  }
}

/** The function failed in the last attempt of a failed task, which was therefore not retried. */
function attemptsOf({ status, attempts }: TaskStory, nowMs: number): readonly TaskAttempt[] {
  const all = attemptsFrom(attempts, nowMs)
  const last = all.at(-1)
  if (status !== 'failed' || last?.outcome !== 'retried') return all
  return [...all.slice(0, -1), { ...last, outcome: 'failed' }]
}

// What only some tasks have: options of their own, a parent or children, a past. All of it is
// behind one field of a task: those without need no memory for it.

import { assert } from '../../../base/assert.js'
import { ProtocolError } from '../../../base/errors.js'
import { taskLogFields } from '../../../base/ids.js'
import type { LogFields } from '../../../base/logger.js'
import { decode, encode, type Task } from '../../../wire/message.js'
import { spokenName } from '../../../wire/object-content.js'
import type { ObjectEntry, TaskEntry, TaskExtra } from '../entries.js'

/** So many workers are lost with a task that asks for nothing else: it runs again three times. */
const DEFAULT_DEATH_LIMIT = 4

/** The field for it has 32 bits. */
const MAX_ATTEMPT = 2 ** 32 - 1

/** What a task says of itself. */
type TaskOwn = Pick<Task, 'name' | 'retries' | 'workerDeathLimit' | 'attempt'>

/** What a task has beside the usual; made when it is first needed. */
export function extraOf(task: TaskEntry): TaskExtra {
  return (task.extra ??= newExtra({ name: '', retries: 0, workerDeathLimit: 0, attempt: 0 }))
}

/** The options that a task came with; undefined where it has none. */
export function readExtra(message: Task): TaskExtra | undefined {
  const { name, retries, workerDeathLimit, attempt } = message
  const isPlain = name === '' && retries === 0 && workerDeathLimit === 0 && attempt === 0
  return isPlain ? undefined : newExtra(message)
}

/** How often a task may have been begun before, as its next worker is told. */
export function attemptOf(task: TaskEntry): number {
  return task.extra?.attempt ?? 0
}

/** A task may have been begun: its next worker is told so, and answers so. */
export function countAttempt(task: TaskEntry): void {
  const message = decode(task.bytes)
  assert(message.kind === 'task', 'a task without a Task')
  const attempt = Math.min(message.attempt + 1, MAX_ATTEMPT)
  try {
    task.bytes = encode({ ...message, attempt, bytes: undefined })
  } catch (error) {
    // A Task may be written so that it is too long when it is written without tricks.
    if (!(error instanceof ProtocolError)) throw error
    return
  }
  extraOf(task).attempt = attempt
}

function newExtra({ name, retries, workerDeathLimit, attempt }: TaskOwn): TaskExtra {
  return {
    name,
    retriesLeft: retries,
    deathLimit: workerDeathLimit === 0 ? DEFAULT_DEATH_LIMIT : workerDeathLimit,
    deaths: 0,
    lostWith: undefined,
    attempt,
    attempts: undefined,
    parent: undefined,
    children: undefined,
    isWaiting: false,
    hasWaited: false,
    isBegun: false,
    isFragile: false,
    isForced: false,
    unanswered: 0,
    queuedAt: undefined,
    isPublished: false,
    recall: 'no',
    refusedAt: 0,
  }
}

// What lines of the log call a task.

/** What a line about a task says of it. */
export function taskFields(task: TaskEntry): LogFields {
  return taskLogFields(task.id, titleOf(task.extra?.name ?? '', task.function))
}

/** For people: '' where neither the task nor its function has a name. */
export function titleOf(name: string, fn: ObjectEntry | undefined): string {
  return name === '' && fn !== undefined ? spokenName(fn.name) : name
}

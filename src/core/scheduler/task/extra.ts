// Fields that few tasks need: options, a parent or children, earlier attempts. They are stored
// behind one field, so that other tasks need no memory for them.

import { assert } from '../../../base/assert.js'
import { bytesToLatin1, latin1ToBytes } from '../../../base/bytes.js'
import { ProtocolError } from '../../../base/errors.js'
import { taskLogFields } from '../../../base/ids.js'
import type { LogFields } from '../../../base/logger.js'
import { deathLimitOf, decode, encode, type Task, type TaskPast } from '../../../wire/message.js'
import { spokenName } from '../../../wire/object-content.js'
import type { ObjectEntry, TaskEntry, TaskExtra } from '../entries.js'

/** The field in the message has 32 bits. */
const MAX_ATTEMPT = 2 ** 32 - 1

/** The fields of a Task that are stored here. */
type TaskOwn = Pick<Task, 'name' | 'retries' | 'workerDeathLimit' | 'attempt'>

/** The rare fields of a task; created on first use. */
export function extraOf(task: TaskEntry): TaskExtra {
  return (task.extra ??= newExtra({ name: '', retries: 0, workerDeathLimit: 0, attempt: 0 }))
}

/** The options of a submitted task; undefined if it has none. */
export function readExtra(message: Task): TaskExtra | undefined {
  const { name, retries, workerDeathLimit, attempt } = message
  const isPlain = name === '' && retries === 0 && workerDeathLimit === 0 && attempt === 0
  return isPlain ? undefined : newExtra(message)
}

/** How many times a task may have been begun before; sent to its next worker. */
export function attemptOf(task: TaskEntry): number {
  return task.extra?.attempt ?? 0
}

/** Counts an attempt that may have begun; the next worker receives and reports the number. */
export function countAttempt(task: TaskEntry): void {
  const { attempt, lastAttempt } = extraOf(task)
  setAttempt(task, Math.min(Math.max(attempt, lastAttempt) + 1, MAX_ATTEMPT))
}

/**
 * A worker returns with a task that had been started before, which a new scheduler does not know
 * from its client. Undefined: it had not.
 */
export function catchUp(task: TaskEntry, past: TaskPast | undefined): void {
  if (past === undefined || past.attempt < attemptOf(task)) return
  const extra = extraOf(task)
  if (task.worker !== undefined) {
    extra.lastAttempt = Math.max(extra.lastAttempt, past.attempt)
    return
  }
  const isKnown = past.attempt === extra.attempt && past.retries >= extra.retriesLeft
  if (isKnown) return
  extra.retriesLeft = Math.min(extra.retriesLeft, past.retries)
  setAttempt(task, past.attempt)
}

/** Writes the number, and how often the task may still be retried, into its bytes. */
function setAttempt(task: TaskEntry, attempt: number): void {
  const extra = extraOf(task)
  if (task.part === undefined) {
    const message = decode(latin1ToBytes(task.encoded))
    assert(message.kind === 'task', 'a task without a Task')
    const next = { ...message, attempt, retries: extra.retriesLeft, bytes: undefined }
    try {
      task.encoded = bytesToLatin1(encode(next))
    } catch (error) {
      // A compactly encoded Task may exceed the size limit when it is encoded again.
      if (!(error instanceof ProtocolError)) throw error
      return
    }
  }
  extra.attempt = attempt
}

function newExtra(message: TaskOwn): TaskExtra {
  const { name, retries, attempt } = message
  return {
    name,
    retriesLeft: retries,
    deathLimit: deathLimitOf(message),
    deaths: 0,
    lostWith: undefined,
    lostAgent: '',
    lostAt: -Infinity,
    input: undefined,
    attempt,
    lastAttempt: 0,
    attempts: undefined,
    parent: undefined,
    children: undefined,
    isWaiting: false,
    hasWaited: false,
    isBegun: false,
    isFragile: false,
    isForced: false,
    isOrdered: false,
    unanswered: 0,
    queuedAt: undefined,
    isPublished: false,
    recall: 'no',
    refusedAt: 0,
  }
}

// How log lines name a task.

/** The fields of a log line about a task, or consecutive ones. */
export function taskFields(task: TaskEntry): LogFields {
  const fields = taskLogFields(task.id, titleOf(task.extra?.name ?? '', task.function))
  return task.count === 1 ? fields : { ...fields, tasks: task.count }
}

/** A readable name; '' if neither the task nor its function has one. */
export function titleOf(name: string, fn: ObjectEntry | undefined): string {
  return name === '' && fn !== undefined ? spokenName(fn.name) : name
}

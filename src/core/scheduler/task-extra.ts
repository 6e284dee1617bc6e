// What only some tasks have: options of their own, a parent or children, a past. All of it is
// behind one field of a task: those without need no memory for it.

import { assert } from '../../base/assert.js'
import { decode, encode, type Task } from '../../wire/message.js'
import type { TaskEntry, TaskExtra } from './entries.js'

/** So many workers are lost with a task that asks for nothing else: it runs again three times. */
const DEFAULT_DEATH_LIMIT = 4

/** What a task has beside the usual; made when it is first needed. */
export function extraOf(task: TaskEntry): TaskExtra {
  return (task.extra ??= newExtra('', 0, 0))
}

/** The options that a task came with; undefined where it has none. */
export function readExtra(message: Task): TaskExtra | undefined {
  const { name, retries, workerDeathLimit } = message
  if (name === '' && retries === 0 && workerDeathLimit === 0) return undefined
  return newExtra(name, retries, workerDeathLimit)
}

/** A Task as the next worker gets it, in bytes like the last one did: it has been begun before. */
export function nextAttempt(bytes: Uint8Array): Uint8Array {
  const message = decode(bytes)
  assert(message.kind === 'task', 'a task without a Task')
  return encode({ ...message, attempt: message.attempt + 1, bytes: undefined })
}

function newExtra(name: string, retries: number, workerDeathLimit: number): TaskExtra {
  return {
    name,
    retriesLeft: retries,
    deathLimit: workerDeathLimit === 0 ? DEFAULT_DEATH_LIMIT : workerDeathLimit,
    deaths: 0,
    parent: undefined,
    children: undefined,
    isWaiting: false,
    hasWaited: false,
    isForced: false,
  }
}

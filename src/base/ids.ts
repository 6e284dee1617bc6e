// Identifiers on the wire. All are byte strings of any length, held as latin1 strings (see
// bytes.ts); the brands only prevent one kind from being passed for another.

import { bytesToLatin1, latin1ToHex } from './bytes.js'
import type { LogFields } from './logger.js'

declare const kind: unique symbol

/** A task or a graph: 16 bytes from every known client, any length accepted. */
export type TaskId = string & { readonly [kind]: 'task' }

/**
 * A stored object: 24 bytes from clients and workers, 16 from a 1.9.9 scheduler's failed graphs.
 */
export type ObjectId = string & { readonly [kind]: 'object' }

/** The routing id of a client or worker: one per incarnation, never reused. */
export type Identity = string & { readonly [kind]: 'identity' }

/** The random id of one scheduler process; empty for a 1.9.9 scheduler, which has no id. */
export type SchedulerId = string & { readonly [kind]: 'scheduler' }

/** Brands a latin1 string. */
export function taskId(latin1: string): TaskId {
  return latin1 as TaskId
}

/** Instead of an id: no task. */
export const NO_TASK: TaskId = taskId('')

/** Brands a latin1 string. */
export function objectId(latin1: string): ObjectId {
  return latin1 as ObjectId
}

/** Brands a latin1 string. */
export function identity(latin1: string): Identity {
  return latin1 as Identity
}

/** Brands a latin1 string. */
export function schedulerId(latin1: string): SchedulerId {
  return latin1 as SchedulerId
}

/** An object id from its bytes. */
export function objectIdOf(bytes: Uint8Array): ObjectId {
  return bytesToLatin1(bytes) as ObjectId
}

/** Any id in hex, for people. */
export function idToHex(id: TaskId | ObjectId | SchedulerId): string {
  return latin1ToHex(id)
}

/** A task in a sentence for people: `task 00ff… (price)`. Its name may be ''. */
export function taskPhrase(id: TaskId, name: string): string {
  return `task ${idToHex(id)}${name === '' ? '' : ` (${name})`}`
}

/** The same as fields of a log line; the name is left out if empty. */
export function taskLogFields(id: TaskId, name: string): LogFields {
  return { task: idToHex(id), ...(name === '' ? {} : { name }) }
}

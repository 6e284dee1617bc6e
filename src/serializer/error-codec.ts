// Errors thrown by tasks, to bytes and back. Separate from the serializer because nothing may fail
// here: if an error could not be reported, its client would wait forever.

import { types } from 'node:util'
import { withoutFrames } from '../base/error-stack.js'
import { DeserializeError, type SerializeError } from '../base/errors.js'
import { isPickle } from './bytes/message.js'
import { defaultSerializer, serializeLeniently } from './serializer.js'
import { textOf, withPathPrefix } from './refusal.js'

/**
 * A thrown value as bytes. Never throws: parts of an error that cannot travel become a short text,
 * and a thrown value that cannot travel at all becomes a `SerializeError` that says so.
 */
export function serializeError(thrown: unknown): Uint8Array {
  try {
    // A proxy is refused as in any value, but the name and message of an error must not be lost.
    return serializeLeniently(isProxiedError(thrown) ? plainError(thrown) : thrown)
  } catch (reason) {
    return serializeLeniently(isError(thrown) ? plainError(thrown) : unspeakable(reason))
  }
}

/**
 * The thrown value, or a `DeserializeError` if the bytes were not written by `serializeError`.
 * Never throws: the caller throws the result, or rejects a future with it.
 */
export function deserializeError(bytes: Uint8Array): unknown {
  try {
    return defaultSerializer.deserialize(bytes)
  } catch (error) {
    const why = isPickle(bytes) ? PICKLED : textOf(error)
    const text = `the task failed, and its error cannot be read: ${why}`
    return new DeserializeError(text, { cause: error })
  }
}

/** Our scheduler would have sent the task to a JavaScript worker. */
const PICKLED =
  'it is a Python pickle; a Python worker has probably run the task, because a scheduler of ' +
  'Python Scaler does not know the languages of tasks: connect only JavaScript workers to it, ' +
  'or use the scheduler of this package'

function isProxiedError(thrown: unknown): boolean {
  return types.isProxy(thrown) && isError(thrown)
}

function isError(thrown: unknown): boolean {
  try {
    return thrown instanceof Error
  } catch {
    return false
  }
}

/** The texts of an error from which nothing else can be read. */
function plainError(thrown: unknown): Error {
  const error = withoutFrames(() => new Error())
  Reflect.deleteProperty(error, 'stack')
  for (const key of ['name', 'message', 'stack']) {
    const value = readText(thrown, key)
    if (value !== undefined) Object.defineProperty(error, key, { value, configurable: true })
  }
  return error
}

function readText(thrown: unknown, key: string): string | undefined {
  try {
    const value = (thrown as Readonly<Record<string, unknown>>)[key]
    return typeof value === 'string' ? value : undefined
  } catch {
    return undefined
  }
}

function unspeakable(reason: unknown): SerializeError {
  return withPathPrefix(reason, ['thrown value'])
}

// What a task threw, as bytes and back. Apart from the serializer because here nothing may fail: an
// error that cannot be reported would leave somebody waiting for ever.

import { types } from 'node:util'
import { withoutFrames } from '../base/error-stack.js'
import { DeserializeError, type SerializeError } from '../base/errors.js'
import { defaultSerializer, serializeLeniently } from './serializer.js'
import { textOf, withPathPrefix } from './refusal.js'

/**
 * Whatever was thrown, as bytes. Never throws: what cannot travel inside an error becomes a short
 * text, and a thrown value that cannot travel at all becomes a `SerializeError` that says so.
 */
export function serializeError(thrown: unknown): Uint8Array {
  try {
    // A proxy is refused like in any value, but the name and message of an error must not be lost.
    return serializeLeniently(isProxiedError(thrown) ? plainError(thrown) : thrown)
  } catch (reason) {
    return serializeLeniently(isError(thrown) ? plainError(thrown) : unspeakable(reason))
  }
}

/**
 * What was thrown, again, or a `DeserializeError` if the bytes are not what `serializeError` wrote.
 * Never throws: the result is thrown, or a future is rejected with it.
 */
export function deserializeError(bytes: Uint8Array): unknown {
  try {
    return defaultSerializer.deserialize(bytes)
  } catch (error) {
    const text = `the task failed, and its error cannot be read: ${textOf(error)}`
    return new DeserializeError(text, { cause: error })
  }
}

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

/** The texts of an error that nothing else can be got from. */
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
  return withPathPrefix(reason, ['what the task threw'])
}

// Where in a value something is, in words: `argument 1 -> options -> callback`.

import { SerializeError } from '../base/errors.js'

const SEPARATOR = ' -> '

/** A `SerializeError` about the value at `path`: outermost step first, empty = the value itself. */
export function serializeErrorAt(
  path: readonly string[],
  reason: string,
  cause?: unknown,
): SerializeError {
  const message = path.length === 0 ? reason : `${path.join(SEPARATOR)}: ${reason}`
  return new SerializeError(message, { cause, path })
}

/**
 * The same error, seen from outside: its path begins with `prefix`, for example `['argument 1']`.
 * Anything else that a serializer threw becomes the cause of a `SerializeError` with that path.
 */
export function withPathPrefix(error: unknown, prefix: readonly string[]): SerializeError {
  if (!(error instanceof SerializeError)) {
    return serializeErrorAt(prefix, `the serializer failed: ${textOf(error)}`, error)
  }
  const inner = error.path.join(SEPARATOR)
  const reason = inner === '' ? error.message : error.message.slice(inner.length + 2)
  return serializeErrorAt([...prefix, ...error.path], reason, error.cause)
}

/** A property key as a step of a path. */
export function keyStep(key: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? key : `[${JSON.stringify(key)}]`
}

/** An array index as a step of a path. */
export function indexStep(index: number): string {
  return `[${index}]`
}

/** Whatever was thrown, as one line. Never throws. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'something that has no text'
  }
}

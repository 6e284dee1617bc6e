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
  return serializeErrorAt([...prefix, ...error.path], reasonOf(error), error.cause)
}

/** The message of the error without its path. */
export function reasonOf(error: SerializeError): string {
  const inner = error.path.join(SEPARATOR)
  return inner === '' ? error.message : error.message.slice(inner.length + 2)
}

/** Text that is made when it is read: of most captures nobody wants to know. */
export type LazyText = string | (() => string)

/** That text. */
export function readText(text: LazyText): string {
  return typeof text === 'string' ? text : text()
}

/** A captured variable, or anything else that is no property, on the way to a value. */
export class NamedStep {
  /** On the way to something else that is a function: `helper`. */
  readonly name: string
  readonly #text: LazyText

  constructor(name: string, text: LazyText = name) {
    this.name = name
    this.#text = text
  }

  /** In full: `db (captured at app.ts:12)`. */
  get text(): string {
    return readText(this.#text)
  }
}

/** From an object to what it holds: an array index, a property key, or something with a name. */
export type Step = number | string | symbol | NamedStep

/** One step in words. `isPassing`: the path goes on, from a function that is there. */
export function stepText(step: Step, isPassing: boolean): string {
  if (typeof step === 'number') return indexStep(step)
  if (typeof step === 'string') return keyStep(step)
  if (typeof step === 'symbol') return `[${String(step)}]`
  return isPassing ? step.name : step.text
}

function keyStep(key: string): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? key : `[${JSON.stringify(key)}]`
}

function indexStep(index: number): string {
  return `[${index}]`
}

/**
 * Where a line of a file is, in short: `app.ts:12`. `line` is counted from 0. Undefined if there is
 * no file.
 */
export function placeText(location: string, line: number): string | undefined {
  const path = location.replace(/[?#].*$/, '')
  const file = path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
  return file === '' ? undefined : `${file}:${line + 1}`
}

/** A captured variable in full: `db (captured at app.ts:12)`. Its first use is at `place`. */
export function captureText(name: string, place: string | undefined): string {
  return place === undefined ? name : `${name} (captured at ${place})`
}

/** Whatever was thrown, as one line. Never throws. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'something that has no text'
  }
}

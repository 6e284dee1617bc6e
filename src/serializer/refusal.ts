// What cannot travel, why, and what to do instead.

import { SerializeError } from '../base/errors.js'

// Where in a value something is, in words: `argument 1 -> options -> callback`.

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

/** Why a value cannot travel, with a way out: the text of a `SerializeError` without its path. */
export class Refusal {
  readonly reason: string
  /** What stands in its place where a refusal must not fail: in errors. */
  readonly substitute: string

  /** It is about something that Node keeps to itself. */
  readonly isAboutNode: boolean

  constructor(what: string, why: string, wayOut: string, isAboutNode = false) {
    this.isAboutNode = isAboutNode
    this.reason = `${what} cannot travel to another process: ${why}; ${wayOut}`
    this.substitute = `[${what}]`
  }
}

const UNTIL_NOW = 'it lives only in this process'

const STOP_OTHERWISE =
  'give the signal to client.with({ signal }), and ask currentTask().signal inside the function'

/** Built-in objects that never travel, by the name of their class. */
const BY_CLASS: ReadonlyMap<string, readonly [why: string, wayOut: string]> = new Map([
  ['Promise', ['only this process can wait for it', 'await it first, and pass what it gives']],
  ['Proxy', ['a copy cannot know what its traps would say', 'pass a plain copy of what it shows']],
  ['WeakMap', ['nothing tells what it holds', 'pass a Map of the entries that are needed']],
  ['WeakSet', ['nothing tells what it holds', 'pass a Set of the values that are needed']],
  ['WeakRef', [UNTIL_NOW, 'pass what deref() returns']],
  ['FinalizationRegistry', [UNTIL_NOW, 'create it inside the function']],
  ['SharedArrayBuffer', ['memory is not shared between processes', 'pass a copy, buffer.slice(0)']],
  ['Blob', ['its bytes can only be read later', 'pass await blob.arrayBuffer()']],
  ['File', ['its bytes can only be read later', 'pass await file.arrayBuffer()']],
  ['KeyObject', ['keys are only sent when asked for', "pass key.export({ format: 'jwk' })"]],
  ['CryptoKey', ['keys are only sent when asked for', "pass crypto.subtle.exportKey('jwk', key)"]],
  ['AbortController', [UNTIL_NOW, STOP_OTHERWISE]],
  ['AbortSignal', [UNTIL_NOW, STOP_OTHERWISE]],
  ['Generator', ['its position in the code cannot be copied', 'pass an array of what it yields']],
  ['Iterator', ['its position cannot be copied', 'pass an array of what it yields']],
  ['Module', [UNTIL_NOW, 'import it inside the function']],
])

/** A built-in object that never travels. `className` is its class, known here or not. */
export function refuseClass(className: string): Refusal {
  const [why, wayOut] = BY_CLASS.get(className) ?? [
    UNTIL_NOW,
    'create it inside the function, or pass the values it is made from',
  ]
  return new Refusal(withArticle(className), why, wayOut)
}

/** An instance of a user's class that stands for something which stays here. */
export function refuseHandle(className: string, isThenable: boolean): Refusal {
  const what = instanceOf(className)
  return isThenable
    ? new Refusal(
        what,
        'only this process can wait for it',
        'await it first, and pass what it gives',
      )
    : new Refusal(what, 'what it stands for stays here', 'create it inside the function')
}

function instanceOf(className: string): string {
  return className === '' ? 'an instance of a class without a name' : withArticle(className)
}

/** An instance of a class with private members. */
export function refusePrivates(className: string, member: string): Refusal {
  return new Refusal(
    instanceOf(className),
    `only its class can fill in ${member}`,
    'tell how with registerClass(Class, { serialize, deserialize }), or pass a plain object',
  )
}

/** An instance of a registered class that holds itself, directly or not. */
export function refuseCodedCycle(className: string): Refusal {
  return new Refusal(
    instanceOf(className),
    'what its registered serialize function returns leads back to it',
    'return something that does not',
  )
}

/** Something that leads too far down. */
export function refuseDepth(what: string): Refusal {
  return new Refusal(what, 'it is nested too deep', 'make it flatter')
}

/** Something of which every look shows something else. */
export function refuseUnsteady(): Refusal {
  return new Refusal('the value', 'it changes while it is read', 'pass a plain copy')
}

/** Memory that was transferred away. */
export function refuseDetached(): Refusal {
  return new Refusal(
    'a detached ArrayBuffer',
    'its memory was transferred to somebody else',
    'pass it before it is transferred, or pass a copy',
  )
}

function withArticle(className: string): string {
  return /^[AEIOU]/i.test(className) ? `an ${className}` : `a ${className}`
}

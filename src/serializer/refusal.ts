// Values that cannot travel: the reason, and the alternative.

import { SerializeError } from '../base/errors.js'

// The location of a value, in words: `argument 1 -> options -> callback`.

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
 * The same error with `prefix` before its path, for example `['argument 1']`. Anything else that a
 * serializer threw becomes the cause of a `SerializeError` with that path.
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

/** A text that is computed when it is read: most of them never are. */
export type LazyText = string | (() => string)

/** The text. */
export function readText(text: LazyText): string {
  return typeof text === 'string' ? text : text()
}

/** A captured variable, or any other step that is not a property, on the path to a value. */
export class NamedStep {
  /** The name when the path goes on to another function: `helper`. */
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

/** A step from an object to one of its values: an array index, a property key, or a named step. */
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
 * A line of a file, in short: `app.ts:12`. `line` is counted from 0. Undefined if there is no file.
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

/** A thrown value as one line. Never throws. */
export function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'a value that cannot be converted to text'
  }
}

/**
 * Why a value cannot travel, and the alternative: the text of a `SerializeError` without its path.
 */
export class Refusal {
  readonly reason: string
  /** Replaces the value where a refusal must not fail: in errors. */
  readonly substitute: string

  /** It concerns something internal to Node. */
  readonly isAboutNode: boolean

  constructor(what: string, why: string, wayOut: string, isAboutNode = false) {
    this.isAboutNode = isAboutNode
    this.reason = `${what} cannot travel to another process: ${why}; ${wayOut}`
    this.substitute = `[${what}]`
  }
}

const UNTIL_NOW = 'it exists only in this process'

const STOP_OTHERWISE =
  'give the signal to client.with({ signal }), and ask currentTask().signal inside the function'

/** Built-in objects that never travel, by the name of their class. */
const BY_CLASS: ReadonlyMap<string, readonly [why: string, wayOut: string]> = new Map([
  ['Promise', ['only this process can await it', 'await it first, and pass the result']],
  ['Proxy', ['its traps cannot be copied', 'pass a plain copy of its contents']],
  ['WeakMap', ['its content cannot be listed', 'pass a Map of the entries that are needed']],
  ['WeakSet', ['its content cannot be listed', 'pass a Set of the values that are needed']],
  ['WeakRef', [UNTIL_NOW, 'pass what deref() returns']],
  ['FinalizationRegistry', [UNTIL_NOW, 'create it inside the function']],
  [
    'SharedArrayBuffer',
    ['memory is not shared between processes', 'pass a copy, new Uint8Array(buffer).slice()'],
  ],
  ['Blob', ['its bytes can only be read later', 'pass await blob.arrayBuffer()']],
  ['File', ['its bytes can only be read later', 'pass await file.arrayBuffer()']],
  ['KeyObject', ['keys are only sent explicitly', "pass key.export({ format: 'jwk' })"]],
  [
    'CryptoKey',
    ['keys are only sent explicitly', "pass await crypto.subtle.exportKey('jwk', key)"],
  ],
  ['WebAssembly.Module', [UNTIL_NOW, 'pass its bytes, and compile them inside the function']],
  ['RecordableHistogram', [UNTIL_NOW, 'pass the figures that are needed, histogram.toJSON()']],
  ['SocketAddress', [UNTIL_NOW, 'pass its address, port and family']],
  ['BlockList', [UNTIL_NOW, 'pass blockList.rules, or what they are made from']],
  ['AbortController', [UNTIL_NOW, STOP_OTHERWISE]],
  ['AbortSignal', [UNTIL_NOW, STOP_OTHERWISE]],
  ['Generator', ['its position in the code cannot be copied', 'pass an array of its values']],
  ['Iterator', ['its position cannot be copied', 'pass an array of its values']],
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

/**
 * An instance of a class internal to Node: `issue` is why the class cannot be sent, and the result
 * says what to do about an instance, if that is known.
 */
export function refuseInstance(className: string, issue: Refusal): Refusal {
  return issue.isAboutNode && BY_CLASS.has(className) ? refuseClass(className) : issue
}

/** An instance of a user's class that stands for a local resource. */
export function refuseHandle(className: string, isThenable: boolean): Refusal {
  const what = instanceOf(className)
  return isThenable
    ? new Refusal(what, 'only this process can await it', 'await it first, and pass the result')
    : new Refusal(what, 'it stands for something in this process', 'create it inside the function')
}

function instanceOf(className: string): string {
  return className === '' ? 'an instance of a class without a name' : withArticle(className)
}

/** An instance of a class with private members. */
export function refusePrivates(className: string, member: string): Refusal {
  return new Refusal(
    instanceOf(className),
    `only its class can set ${member}`,
    'define how with registerClass(Class, { serialize, deserialize }), or pass a plain object',
  )
}

/** An instance of a registered class that contains itself, directly or not. */
export function refuseCodedCycle(className: string): Refusal {
  return new Refusal(
    instanceOf(className),
    'the result of its registered serialize function contains it',
    'return a value that does not',
  )
}

/** A value that is nested too deeply. */
export function refuseDepth(what: string): Refusal {
  return new Refusal(what, 'it is nested too deeply', 'flatten it')
}

/** A value that differs each time it is read. */
export function refuseUnsteady(): Refusal {
  return new Refusal('the value', 'it changes while it is read', 'pass a plain copy')
}

/** Memory that was transferred away. */
export function refuseDetached(): Refusal {
  return new Refusal(
    'a detached ArrayBuffer',
    'its memory was transferred elsewhere',
    'pass it before it is transferred, or pass a copy',
  )
}

function withArticle(className: string): string {
  return /^[AEIOU]/i.test(className) ? `an ${className}` : `a ${className}`
}

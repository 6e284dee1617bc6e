// Arguments and results of `scaler submit`, as JSON. Values that JSON would silently drop or change
// are errors here; only -0 is printed as 0.

import { types } from 'node:util'
import { ConfigError, ScalerError } from '../../../base/errors.js'
import { messageOf } from '../../../base/text.js'

/** Text that is treated as mistyped JSON, not as a plain text. */
const LOOKS_LIKE_JSON = /^\s*[[{"]/

const NUMBER = /-?\d[\d.eE+-]*/g
/** How much of a wrong number errors show. */
const MAX_SHOWN = 40
/** Integers outside strings that a number may not hold exactly. */
const LONG_INTEGER = /(?<![\d.])\d{16,}(?![\d.eE])/g
/** Written without alternatives: these would overflow the stack in a long string. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/g

/**
 * An argument: JSON, or plain text if it is not JSON (`hello`, `2026-11-22`). Throws `ConfigError`
 * if it starts like an object, a list or a quoted text and is not valid JSON, or if it has an
 * integer that a number cannot hold.
 */
export function readArgument(word: string, position: number): unknown {
  try {
    const value = JSON.parse(word) as unknown
    checkIntegers(`argument ${position}`, word)
    return value
  } catch (error) {
    if (error instanceof ConfigError) throw error
    if (!LOOKS_LIKE_JSON.test(word)) return word
    const why = messageOf(error)
    throw new ConfigError(`argument ${position} is not valid JSON: ${why}`, { cause: error })
  }
}

/** All arguments, as one JSON list in UTF-8. Throws `ConfigError` if it is not one. */
export function readArgumentList(bytes: Uint8Array): readonly unknown[] {
  const text = textOf(bytes)
  let value: unknown
  try {
    value = JSON.parse(text) as unknown
  } catch (error) {
    const why = text.trim() === '' ? 'it is empty' : messageOf(error)
    throw new ConfigError(`the standard input is not valid JSON: ${why}`, { cause: error })
  }
  checkIntegers('the standard input', text)
  if (Array.isArray(value)) return value
  throw new ConfigError('the standard input has to be a JSON list of the arguments in order')
}

/**
 * A result as one line of JSON; `undefined` becomes `null`. Throws `ScalerError`, which names the
 * path, for a value that JSON cannot represent: a `bigint`, `NaN`, a `Map`, a cycle. A value with a
 * `toJSON` method, such as a `Date`, is what that returns; `undefined` in an object is left out.
 */
export function resultText(value: unknown): string {
  try {
    check(value, 'result', [])
    return JSON.stringify(value) ?? 'null'
  } catch (error) {
    if (error instanceof ScalerError) throw error
    // A getter or a `toJSON` that throws, or a value nested too deeply for JSON.stringify.
    const text = `the result cannot be represented as JSON: ${messageOf(error)}`
    throw new ScalerError('ERR_SCALER_NO_JSON', text, { cause: error })
  }
}

/** Throws `ConfigError` for an integer in valid JSON that parsing has rounded, or for infinity. */
function checkIntegers(what: string, json: string): void {
  const bare = json.replace(STRING, '')
  for (const [number] of bare.matchAll(NUMBER)) {
    if (Number.isFinite(Number(number))) continue
    throw new ConfigError(`${what} has a number that is too large: ${number.slice(0, MAX_SHOWN)}`)
  }
  for (const [digits] of bare.matchAll(LONG_INTEGER)) {
    if (BigInt(Number(digits)) === BigInt(digits)) continue
    // Alone, it is a word of a shell, which would take the quotation marks.
    const text = json === digits ? `'"${digits}"'` : `"${digits}"`
    const rule = `no number holds it exactly; pass it as a text: ${text}`
    throw new ConfigError(`${what} has the integer ${digits}: ${rule}`)
  }
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new ConfigError('the standard input is not text in UTF-8', { cause: error })
  }
}

function check(value: unknown, path: string, above: readonly object[]): void {
  const name = lossyKind(value)
  if (name !== undefined) throw noJson(path, name)
  if (typeof value !== 'object' || value === null) return
  if (above.includes(value)) throw noJson(path, 'a part of itself (a cycle)')
  if ('toJSON' in value) return
  const within = [...above, value]
  if (Object.getOwnPropertySymbols(value).length > 0)
    throw noJson(path, 'an object with a symbol as a key')
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      if (!(index in value)) throw noJson(`${path}[${index}]`, 'missing (a hole)')
      check(item, `${path}[${index}]`, within)
    }
    return
  }
  for (const [key, item] of Object.entries(value)) check(item, pathOf(path, key), within)
}

/** What kind of value JSON would drop or change; undefined if it can represent the value. */
function lossyKind(value: unknown): string | undefined {
  switch (typeof value) {
    case 'bigint':
      return 'a bigint'
    case 'function':
      return 'a function'
    case 'symbol':
      return 'a symbol'
    case 'number':
      return Number.isFinite(value) ? undefined : String(value)
    case 'object':
      return value === null ? undefined : lossyObject(value)
    default:
      return undefined
  }
}

function lossyObject(value: object): string | undefined {
  if ('toJSON' in value) return undefined
  if (types.isMap(value)) return 'a Map'
  if (types.isSet(value)) return 'a Set'
  if (types.isNativeError(value)) return 'an error'
  if (types.isRegExp(value)) return 'a RegExp'
  if (ArrayBuffer.isView(value)) return 'binary'
  if (types.isAnyArrayBuffer(value)) return 'an ArrayBuffer'
  return undefined
}

function noJson(path: string, what: string): ScalerError {
  const text = `the result cannot be represented as JSON: ${path} is ${what}; return plain values`
  return new ScalerError('ERR_SCALER_NO_JSON', text)
}

function pathOf(path: string, key: string): string {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(key)
    ? `${path}.${key}`
    : `${path}[${JSON.stringify(key)}]`
}

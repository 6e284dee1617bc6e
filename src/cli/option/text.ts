// Converts values of options from and to text: seconds where code has milliseconds, words for true
// and false, lists with commas. Errors name the option as it was given, the value, and the bound.

import { ConfigError } from '../../base/errors.js'
import { checkValue, type OptionType, type OptionValue, show } from '../../base/option.js'

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i
const YES = new Set(['true', 'yes', 'on', '1'])
const NO = new Set(['false', 'no', 'off', '0'])
const MS_PER_SECOND = 1_000

/** Parses `text`, in the units of code. `as` names the option. Throws `ConfigError`. */
export function readText(as: string, type: OptionType, text: string): OptionValue {
  switch (type.kind) {
    case 'integer':
    case 'duration': {
      const number = NUMBER.test(text.trim()) ? Number(text) : undefined
      return readNumber(as, type, number, text)
    }
    case 'boolean': {
      const value = booleanOf(text)
      if (value === undefined) throw expected(as, 'true or false', text)
      return value
    }
    case 'list':
      return splitList(text)
    case 'text':
    case 'choice':
    case 'object':
      return checked(as, type, text)
  }
}

/** Like `readText`, for a value that already has a type: from a file. */
export function readValue(as: string, type: OptionType, value: unknown): OptionValue {
  switch (type.kind) {
    case 'integer':
    case 'duration':
      return readNumber(as, type, typeof value === 'number' ? value : undefined, value)
    case 'list':
      if (typeof value !== 'string') return checked(as, type, value)
      return type.separator === 'commas' ? splitList(value) : [value]
    case 'boolean':
    case 'text':
    case 'choice':
    case 'object':
      return checked(as, type, value)
  }
}

/** A value in the units of text: seconds for milliseconds. */
export function writtenValue(type: OptionType, value: unknown): unknown {
  return type.kind === 'duration' && typeof value === 'number' ? value / MS_PER_SECOND : value
}

/** `0.1 to 86400`; undefined for a type without bounds. */
export function boundsOf(type: OptionType): string | undefined {
  switch (type.kind) {
    case 'integer':
      return `${type.min} to ${type.max}`
    case 'duration':
      return `${type.min / MS_PER_SECOND} to ${type.max / MS_PER_SECOND}`
    case 'choice':
      return type.choices.join(' or ')
    case 'boolean':
    case 'text':
    case 'list':
    case 'object':
      return undefined
  }
}

/** Parses a word for true or false; undefined for any other word. */
export function booleanOf(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  if (YES.has(word)) return true
  return NO.has(word) ? false : undefined
}

/** Splits at commas; an empty text gives an empty list. */
export function splitList(text: string): readonly string[] {
  return text.trim() === '' ? [] : text.split(',').map((item) => item.trim())
}

function readNumber(
  as: string,
  type: Extract<OptionType, { kind: 'integer' | 'duration' }>,
  number: number | undefined,
  given: unknown,
): number {
  const isDuration = type.kind === 'duration'
  const value = isDuration ? (number ?? Number.NaN) * MS_PER_SECOND : (number ?? Number.NaN)
  const isRight = value >= type.min && value <= type.max && (isDuration || Number.isInteger(value))
  if (!isRight) {
    const what = isDuration ? 'seconds' : 'a whole number'
    throw expected(as, `${what} from ${boundsOf(type) ?? ''}`, given)
  }
  if (!isDuration || value === 0) return value
  // A tiny value must not become 0, which means "never" for many options.
  return Math.max(1, Math.round(value))
}

function checked(as: string, type: OptionType, value: unknown): OptionValue {
  try {
    return checkValue(as, type, value, undefined) as OptionValue
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(error.message.replace(/^option /, ''), { cause: error })
  }
}

function expected(as: string, what: string, given: unknown): ConfigError {
  return new ConfigError(`${as}: expected ${what}, got ${show(given)}`)
}

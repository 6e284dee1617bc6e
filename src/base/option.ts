// Checks of what users configure. One clear error that names the option, the value and the bound.

import { ConfigError } from './errors.js'
import type { Logger } from './logger.js'

/** The bounds of a number option. */
export interface NumberBounds {
  readonly min: number
  readonly max: number
  /** Whether fractions are allowed. Default: no. */
  readonly fraction?: boolean
}

/** `value`, or `fallback` when it is undefined. Throws `ConfigError` when it is out of bounds. */
export function numberOption(
  name: string,
  value: unknown,
  fallback: number,
  bounds: NumberBounds,
): number {
  if (value === undefined) return fallback
  const isNumber = typeof value === 'number' && value >= bounds.min && value <= bounds.max
  if (isNumber && (bounds.fraction === true || Number.isInteger(value))) return value
  const what = bounds.fraction === true ? 'a number' : 'a whole number'
  throw new ConfigError(
    `option ${name}: expected ${what} from ${bounds.min} to ${bounds.max}, got ${show(value)}`,
  )
}

/** `value`, or `fallback` when it is undefined. Throws `ConfigError` unless it is a boolean. */
export function booleanOption(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback
  if (typeof value === 'boolean') return value
  throw new ConfigError(`option ${name}: expected true or false, got ${show(value)}`)
}

/** The logger given, or none. Throws `ConfigError` unless it has what a logger has. */
export function loggerOption(name: string, value: unknown): Logger | undefined {
  if (value === undefined) return undefined
  const methods = value as Readonly<Record<string, unknown>> | null
  const levels = ['debug', 'info', 'warn', 'error']
  if (levels.every((level) => typeof methods?.[level] === 'function')) return value as Logger
  throw new ConfigError(`option ${name}: expected an object with debug, info, warn and error`)
}

/** How a value is shown in an error: one short line, whatever it is. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'an array' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}

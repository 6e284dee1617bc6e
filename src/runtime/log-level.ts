// How much a log says, by the names that users know from elsewhere.

import { ConfigError } from '../base/errors.js'
import type { LogLevel } from '../base/logger.js'
import { show } from '../base/option.js'
import { hintAt } from '../base/nearest-name.js'

/** The levels as options and files name them, in capitals or not. */
export const LOG_LEVEL_NAMES: readonly string[] = ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL']

/** What is critical ends the process, and is an error: nothing is hidden by asking for less. */
const LEVELS: ReadonlyMap<string, LogLevel> = new Map([
  ['DEBUG', 'debug'],
  ['INFO', 'info'],
  ['WARNING', 'warn'],
  ['WARN', 'warn'],
  ['ERROR', 'error'],
  ['CRITICAL', 'error'],
  ['FATAL', 'error'],
])

const RANKS: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 }

/**
 * The level with this name. Throws `ConfigError`, which begins with `owner` (`'option
 * loggingLevel'`), for a name that is none.
 */
export function logLevel(owner: string, name: unknown): LogLevel {
  const level = typeof name === 'string' ? LEVELS.get(name.toUpperCase()) : undefined
  if (level !== undefined) return level
  throw new ConfigError(
    `${owner}: expected DEBUG, INFO, WARNING, ERROR or CRITICAL, got ${show(name)}` +
      (typeof name === 'string' ? hintAt(name, LOG_LEVEL_NAMES) : ''),
  )
}

/** Whether a log that says `lowest` says `level`. */
export function isLogged(level: LogLevel, lowest: LogLevel): boolean {
  return RANKS[level] >= RANKS[lowest]
}

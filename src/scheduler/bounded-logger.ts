// A bound for the lines that peers cause, whatever they send: a disk fills more slowly.

import type { LogFields, Logger, LogLevel } from '../base/logger.js'
import { BoundedLog } from '../transport/bounded-log.js'

/** Lines with one text within a minute. Each worker that connects causes one. */
const MAX_LINES = 10_000
const PERIOD_MS = 60_000
/** Beyond these, all texts together count as one. */
const MAX_TEXTS = 1_000

/** A logger that leaves lines out. */
interface BoundedLogger {
  readonly logger: Logger
  /** Stops reporting what was left out. */
  readonly close: () => void
}

/**
 * Leaves out what exceeds 10,000 lines with the same text within a minute, and reports how many
 * lines these were, once a minute. Debug lines are not counted.
 */
export function boundedLogger(given: Logger, now = (): number => performance.now()): BoundedLogger {
  const leftOut = new BoundedLog<'line', string>((line, lines) => {
    given.warn('left out log lines', { line, lines })
  })
  const counts = new Map<string, number>()
  let endsAt = -Infinity
  const bounded = (level: LogLevel) => {
    return (text: string, fields?: LogFields): void => {
      if (now() >= endsAt) {
        counts.clear()
        endsAt = now() + PERIOD_MS
      }
      const key = counts.has(text) || counts.size < MAX_TEXTS ? text : ''
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      if (count <= MAX_LINES) given[level](text, fields)
      else leftOut.note('line', text)
    }
  }
  const logger: Logger = {
    debug: (text, fields) => given.debug(text, fields),
    info: bounded('info'),
    warn: bounded('warn'),
    error: bounded('error'),
    isLevelEnabled: (level) => given.isLevelEnabled?.(level) ?? true,
  }
  return { logger, close: () => leftOut.close() }
}

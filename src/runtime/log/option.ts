// The option `logger` of everything that logs.

import { ConfigError } from '../../base/errors.js'
import { type Logger, silentLogger } from '../../base/logger.js'
import { messageOf } from '../../base/text.js'

/**
 * The given logger, if any; what it throws ends nothing. Throws `ConfigError` unless it has all
 * methods of a logger.
 */
export function loggerOption(name: string, value: unknown): Logger | undefined {
  if (value === undefined) return undefined
  const methods = value as Readonly<Record<string, unknown>> | null
  const levels = ['debug', 'info', 'warn', 'error']
  if (levels.every((level) => typeof methods?.[level] === 'function'))
    return guardedLogger(value as Logger)
  throw new ConfigError(`option ${name}: expected an object with debug, info, warn and error`)
}

/**
 * A logger that never throws: a line that cannot be written must not end a scheduler. The process
 * gets a warning with the first error.
 */
function guardedLogger(logger: Logger): Logger {
  if (logger === silentLogger) return logger
  let hasFailed = false
  const guarded = <T>(otherwise: T, work: () => T): T => {
    try {
      return work()
    } catch (error) {
      if (!hasFailed) process.emitWarning(`the logger has thrown: ${messageOf(error)}`, WARNING)
      hasFailed = true
      return otherwise
    }
  }
  return {
    debug: (text, fields) => guarded(undefined, () => logger.debug(text, fields)),
    info: (text, fields) => guarded(undefined, () => logger.info(text, fields)),
    warn: (text, fields) => guarded(undefined, () => logger.warn(text, fields)),
    error: (text, fields) => guarded(undefined, () => logger.error(text, fields)),
    isLevelEnabled: (level) => guarded(true, () => logger.isLevelEnabled?.(level) ?? true),
  }
}

const WARNING = { type: 'ScalerWarning', code: 'SCALER_LOGGER' }

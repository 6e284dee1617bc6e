// The first lines of a command's log: where it goes, the version of the package, which event loop
// there is, and which options were given that have nothing to do here.

import type { LogFields, Logger, LogLevel } from '../base/logger.js'
import type { OpenedLog } from '../runtime/open-logger.js'
import { packageVersion } from '../runtime/package-version.js'
import { placeOf } from './origin.js'
import { writtenValue } from './option-text.js'
import type { Setting } from './settings.js'

/**
 * A logger that writes the first lines before the first line that it is given: a command that
 * cannot start says so on stderr, and nothing else.
 */
export function startLog({ logger, description }: OpenedLog, given: readonly Setting[]): Logger {
  let pending: (() => void) | undefined = () => {
    for (const line of description) logger.info(line, { version: packageVersion() })
    logger.info('use event loop: builtin (libuv)')
    for (const line of unnecessaryLines(given)) logger.info(line)
  }
  const log =
    (level: LogLevel) =>
    (text: string, fields?: LogFields): void => {
      const begin = pending
      pending = undefined
      begin?.()
      logger[level](text, fields)
    }
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    isLevelEnabled: (level) => logger.isLevelEnabled?.(level) ?? true,
  }
}

/** `--event-loop uvloop is unnecessary: the event loop of Node is libuv, as that of uvloop`. */
function unnecessaryLines(given: readonly Setting[]): readonly string[] {
  return given.flatMap(({ flag, value, origin }) => {
    const why = flag.spec.unnecessary
    if (why === undefined) return []
    const name = origin.kind === 'file' ? `${placeOf(origin)}: ${origin.key}` : placeOf(origin)
    const { type } = flag.spec
    const written = type.kind === 'boolean' ? '' : ` ${String(writtenValue(type, value))}`
    return [`${name}${written} is unnecessary: ${why}`]
  })
}

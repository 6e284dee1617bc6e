// A logger that says which worker speaks: many share one agent, and often one name. It is called by
// its identity, as in the log of the scheduler.

import type { LogFields, Logger } from '../base/logger.js'

/** `logger`, with `fields` added to every line. */
export function withFields(logger: Logger, fields: LogFields): Logger {
  return {
    debug: (text, more) => logger.debug(text, { ...fields, ...more }),
    info: (text, more) => logger.info(text, { ...fields, ...more }),
    warn: (text, more) => logger.warn(text, { ...fields, ...more }),
    error: (text, more) => logger.error(text, { ...fields, ...more }),
    isLevelEnabled: (level) => logger.isLevelEnabled?.(level) ?? true,
  }
}

// A logger that records.

import type { LogFields, Logger } from '#src/base/logger.js'

/** Keeps all its lines. */
export class Listener implements Logger {
  readonly lines: string[] = []

  debug(text: string, fields?: LogFields): void {
    this.#add('debug', text, fields)
  }

  info(text: string, fields?: LogFields): void {
    this.#add('info', text, fields)
  }

  warn(text: string, fields?: LogFields): void {
    this.#add('warn', text, fields)
  }

  error(text: string, fields?: LogFields): void {
    this.#add('error', text, fields)
  }

  #add(level: string, text: string, fields: LogFields = {}): void {
    this.lines.push(`${level} ${text} ${JSON.stringify(fields)}`)
  }
}

// What the parts of the engine may say. A library is silent unless its user passes a logger; the
// commands pass one that writes lines (runtime/open-logger.ts).

/** Extra facts of a log line: ids, addresses, counts. Never a user's values. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

/** Where log lines go. `console` does not fit by accident: fields are a second argument. */
export interface Logger {
  debug(text: string, fields?: LogFields): void
  info(text: string, fields?: LogFields): void
  warn(text: string, fields?: LogFields): void
  error(text: string, fields?: LogFields): void
}

const ignore = (): void => {}

/** Says nothing: the default of the library. */
export const silentLogger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

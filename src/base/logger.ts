// The logger of all parts of the engine. A library is silent unless its user passes a logger; the
// commands pass one that writes lines (runtime/log/open.ts).

/** Extra facts of a log line: ids, addresses, counts. Never a user's values. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

/** The severity of a line. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** Where log lines go. `console` does not fit, by chance: fields are a second argument. */
export interface Logger {
  /** Details, such as each step of each task. */
  debug(text: string, fields?: LogFields): void
  /** Normal events. There are few of them: one when a worker connects, for example. */
  info(text: string, fields?: LogFields): void
  /** Something is wrong, but the engine continues. */
  warn(text: string, fields?: LogFields): void
  /** A part of the engine has failed. */
  error(text: string, fields?: LogFields): void
  /**
   * Whether lines of a level are written. A client, scheduler or worker asks for `'debug'` when it
   * starts: if the answer is false, it creates no line for each step of each task. Default: all are
   * written. Loggers from pino and winston have this method.
   */
  isLevelEnabled?(level: LogLevel): boolean
}

const ignore = (): void => {}

/** Discards everything: the default of the library. */
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  isLevelEnabled: () => false,
}

/** Whether each step of each task is to be logged. */
export function logsTasks(logger: Logger): boolean {
  return logger.isLevelEnabled?.('debug') ?? true
}

// What can be said about logs: where they go, how much is said. For commands and for clusters that
// are started from code.

import type { OptionTable } from '../base/option-table.js'

/** Where a log goes and how much it says. */
export interface LoggingOptions {
  /**
   * `['/dev/stdout']`: files, which are appended to, and opened again on SIGHUP in commands; none =
   * no log. A terminal gets lines of text, all else JSON lines.
   */
  readonly loggingPaths?: readonly string[] | undefined
  /** `'INFO'`: DEBUG, INFO, WARNING, ERROR or CRITICAL (the same as ERROR), in any case. */
  readonly loggingLevel?: string | undefined
  /** A file that says both of these, and more (docs/configuration.md#logging); it wins. */
  readonly loggingConfigFile?: string | undefined
}

/** The options of logs. */
export const LOGGING_OPTIONS: OptionTable<LoggingOptions> = {
  loggingPaths: {
    type: { kind: 'list', separator: 'words' },
    description: 'where the log goes: zero or more files',
    default: ['/dev/stdout'],
    flag: 'logging-paths',
    short: ['-lp'],
  },
  loggingLevel: {
    type: { kind: 'text' },
    description: 'DEBUG, INFO, WARNING, ERROR or CRITICAL',
    default: 'INFO',
    flag: 'logging-level',
    short: ['-ll'],
  },
  loggingConfigFile: {
    type: { kind: 'text' },
    description: 'a file that describes the log; overrides the two above',
    flag: 'logging-config-file',
    short: ['-lc'],
  },
}

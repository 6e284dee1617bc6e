// Directories as options. Separate from what uses them, which the help of commands does not load.

import { isAbsolute } from 'node:path'
import { ConfigError } from '../base/errors.js'

/** An absolute path, or '' for none. Whether it exists is found out when it is used. */
export function checkDirectoryOption(option: string, directory: string | undefined): void {
  if (directory === undefined || directory === '' || isAbsolute(directory)) return
  const why = `expected an absolute path, got ${JSON.stringify(directory)}`
  throw new ConfigError(`option ${option}: ${why}`)
}

// Directories as options. Separate from what uses them, which the help of commands does not load.

import { isAbsolute } from 'node:path'
import { ConfigError } from '../base/errors.js'
import { messageOf } from '../base/text.js'

/** What the system's error codes mean for a directory. */
const TROUBLES: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'is not a directory',
  EACCES: 'is not writable for this user',
  EPERM: 'is not writable for this user',
  EROFS: 'is on a read-only file system',
  ENOSPC: 'is on a full file system',
}

/** An absolute path, or '' for none. Whether it exists is found out when it is used. */
export function checkDirectoryOption(option: string, directory: string | undefined): void {
  if (directory === undefined || directory === '' || isAbsolute(directory)) return
  const why = `expected an absolute path, got ${JSON.stringify(directory)}`
  throw new ConfigError(`option ${option}: ${why}`)
}

/** The error of a directory that cannot be used, because of an error of the system. */
export function directoryError(option: string, directory: string, cause: unknown): ConfigError {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const why = TROUBLES[code] ?? `cannot be used: ${messageOf(cause)}`
  return new ConfigError(`option ${option}: ${directory} ${why}`, { cause })
}

// The version of this package: what `--version` prints and schedulers report.

import { readFileSync } from 'node:fs'

/** For example `'0.1.0'`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

// Scripts and modules as users write them, in a folder of their own, for the tests of commands that
// run them.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ROOT } from './command.js'

/** The path from which a script imports the package: it is not installed beside the script. */
export const PACKAGE: string = pathToFileURL(`${ROOT}dist/index.js`).href

/** Writes a file for one test; returns its path. */
export function writeScript(t: TestContext, text: string, name = 'script.mjs'): string {
  const folder = mkdtempSync(join(tmpdir(), 'scaler script '))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

// Removes compiled files whose source is no longer there: the compiler leaves them, and they would
// be published.

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, filesUnder } from './paths.mjs'

const COMPILED = /(\.d)?\.c?[jt]s$/

/** Looks through `dist/`. What is neither code nor types, such as a source map, goes, too. */
export function removeOrphans() {
  for (const path of filesUnder('dist', (name) => !name.endsWith('.tsbuildinfo'))) {
    const source = path.replace('dist/', 'src/').replace(COMPILED, '.ts')
    const isOrphan = !COMPILED.test(path) || !existsSync(join(ROOT, source))
    if (isOrphan) rmSync(join(ROOT, path))
  }
}

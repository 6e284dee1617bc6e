// Removes compiled files without a source: the compiler leaves them behind.

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, filesUnder } from './paths.mjs'

const COMPILED = /(\.d)?\.c?[jt]s$/

/** Checks `lib/`; bundle.mjs and bundle-types.mjs clear `dist/`. */
export function removeOrphans() {
  for (const path of filesUnder('lib', (name) => !name.endsWith('.tsbuildinfo'))) {
    const source = path.replace(/^lib\//, 'src/').replace(COMPILED, '.ts')
    const isOrphan = !COMPILED.test(path) || !existsSync(join(ROOT, source))
    if (isOrphan) rmSync(join(ROOT, path))
  }
}

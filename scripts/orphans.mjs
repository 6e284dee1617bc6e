// Removes compiled files without a source: the compiler leaves them behind, and they would be
// published.

import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, filesUnder } from './paths.mjs'

const COMPILED = /(\.d)?\.c?[jt]s$/

/** Checks the code in `lib/` and the types in `dist/`; bundle.mjs handles the code in `dist/`. */
export function removeOrphans() {
  const code = filesUnder('lib', (name) => !name.endsWith('.tsbuildinfo'))
  const types = filesUnder('dist', (name) => !/\.c?js$/.test(name))
  for (const path of [...code, ...types]) {
    const source = path.replace(/^(lib|dist)\//, 'src/').replace(COMPILED, '.ts')
    const isOrphan = !COMPILED.test(path) || !existsSync(join(ROOT, source))
    if (isOrphan) rmSync(join(ROOT, path))
  }
}

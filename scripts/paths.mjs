// Paths and file lists of the repository. The only script that depends on the folder layout.

import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * The files under a folder of the repository, as paths from its root with `/`, sorted.
 * Empty if the folder does not exist.
 */
export function filesUnder(folder, isWanted) {
  const top = join(ROOT, folder)
  if (!existsSync(top)) return []
  return readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !path.includes('node_modules/') && isWanted(path))
    .sort()
}

/** The test files under some folders. */
export function testFiles(folders) {
  return folders.flatMap((folder) => filesUnder(folder, (path) => /\.test\.(ts|mjs)$/.test(path)))
}

/** The compiled file of a source file: `lib/base/ids.js` for `src/base/ids.ts`. */
export function compiledPath(source) {
  if (!source.endsWith('.ts')) return source
  const path = source.startsWith('src/') ? source.replace('src/', 'lib/') : `build/${source}`
  return path.replace(/\.ts$/, '.js')
}

/** The source file of a compiled file. */
export function sourcePath(compiled) {
  const path = compiled.replaceAll('\\', '/')
  if (path.startsWith('lib/')) return path.replace('lib/', 'src/').replace(/\.js$/, '.ts')
  return path.startsWith('build/') ? path.replace('build/', '').replace(/\.js$/, '.ts') : path
}

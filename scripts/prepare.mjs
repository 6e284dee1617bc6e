// Prepares a fresh clone: installs the packages if they differ from the lock file, and compiles
// what has changed.

import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { removeOrphans } from './orphans.mjs'
import { ROOT } from './paths.mjs'
import { runNode, runOrExit } from './process.mjs'

/** Installs packages if needed, and says so, because it takes a while. */
export async function ensureInstalled() {
  if (isInstalled()) return
  console.log('installing packages (npm ci)')
  await runOrExit('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'])
}

/** Compiles everything that has changed. If that fails, exits with the compiler's messages. */
export async function build() {
  await ensureInstalled()
  if (!existsSync(join(ROOT, 'dist/index.js'))) console.log('compiling')
  const { code, output } = await compile()
  if (code === 0) return
  process.stderr.write(output)
  process.exit(code)
}

/**
 * Compiles, and returns the compiler's `{ code, output }`. The compiler uses one processor, so what
 * is made from the compiled library is written while the tests are compiled.
 */
export async function compile() {
  const library = await compileProjects('src')
  if (library.code !== 0) return library
  removeOrphans()
  const [others] = await Promise.all([compileProjects('.'), writePackage()])
  return others
}

function compileProjects(folder) {
  const args = ['node_modules/tsc/bin/tsc', '--build', folder]
  return runNode(args, { capture: true })
}

/** Writes what the package contains. */
async function writePackage() {
  // Only once the packages are installed: it uses the compiler.
  const { writeBundles } = await import('./bundle.mjs')
  await writeBundles()
  const { writeTypes } = await import('./bundle-types.mjs')
  await writeTypes()
  const { writeRequireTypes } = await import('./require-types.mjs')
  writeRequireTypes()
  makeCommandsExecutable()
}

/** Whether node_modules matches the lock file: the same packages in the same versions. */
function isInstalled() {
  const installedPath = join(ROOT, 'node_modules/.package-lock.json')
  if (!existsSync(installedPath)) return false
  const installed = JSON.parse(readFileSync(installedPath, 'utf8')).packages
  const wanted = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')).packages
  return Object.entries(wanted).every(([path, entry]) => {
    const found = installed[path]
    return path === '' || (found === undefined ? entry.optional : found.version === entry.version)
  })
}

/** The compiler writes plain files, but the commands must be executable by name. */
function makeCommandsExecutable() {
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const path of Object.values(bin)) {
    if (existsSync(join(ROOT, path))) chmodSync(join(ROOT, path), 0o755)
  }
}

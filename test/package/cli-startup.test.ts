// `--help` must be immediate. Its time goes into loading modules, so these are counted: a clock would
// measure how busy the machine is.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './command.js'

const DIST = join(ROOT, 'lib')
const STATIC_IMPORT = /^(?:import|export)\b(?:[^'";=(]*\bfrom)?\s*['"]([^'"]+)['"]/gm

/** The files and packages that are loaded with these files. */
function loadedWith(paths: readonly string[]): readonly string[] {
  const loaded = new Set<string>()
  const visit = (path: string): void => {
    if (loaded.has(path)) return
    loaded.add(path)
    if (!path.endsWith('.js')) return
    const text = readFileSync(path, 'utf8')
    for (const [, specifier = ''] of text.matchAll(STATIC_IMPORT)) {
      if (specifier.startsWith('.')) visit(join(dirname(path), specifier))
      else if (!specifier.startsWith('node:')) visit(specifier)
    }
  }
  for (const path of paths) visit(path)
  return [...loaded].map((path) => (path.startsWith(DIST) ? relative(DIST, path) : path))
}

/** All commands, as `scaler --help` loads them. */
function definitionFiles(): string[] {
  const list = join(DIST, 'cli/commands.js')
  const names = [...readFileSync(list, 'utf8').matchAll(/import\('\.\/([a-z/-]+\.js)'\)/g)]
  return names.map(([, name = '']) => join(DIST, 'cli', name))
}

test('help of all commands loads no engine and no package', () => {
  const definitions = definitionFiles()
  assert.equal(definitions.length, 23)
  const loaded = loadedWith([join(DIST, 'cli/main.js'), ...definitions])
  assert.ok(loaded.includes('scheduler/scheduler-options.js'), 'imports are followed')
  const allowed = /^(base|cli|runtime)\/|options?\.js$|^transport\/address\.js$/
  assert.deepEqual(
    loaded.filter((path) => !allowed.test(path)),
    [],
  )
  assert.ok(loaded.length < 70, `${loaded.length} files`)
})

test('the executables load no engine before they start', () => {
  // Lines may be broken anywhere, also in a text.
  const text = readFileSync(join(ROOT, 'dist/cli.cjs'), 'utf8').replaceAll(/\\?\n/g, '')
  const required = [...text.matchAll(/\}=require\("(\.[^"]+)"\)/g)].map(([, file]) => file)
  assert.deepEqual(required, ['./base.cjs'])
})

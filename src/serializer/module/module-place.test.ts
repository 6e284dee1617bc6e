import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test, type TestContext } from 'node:test'
import { ModulePlace } from './place.js'
import { PackageTree } from './package-tree.kit.js'

const LOADER = new URL('loader.js', import.meta.url).href

/** Loads some packages in a separate process; returns its output. */
function loadElsewhere(t: TestContext, flags: readonly string[]): { out: string; err: string } {
  const tree = new PackageTree(t)
  tree.install('esm', { exports: { import: './main.mjs' } }, { 'main.mjs': 'export class K {}' })
  tree.install('cjs', {}, { 'index.js': "exports.K = class K {}; exports.list = [...'ab']" })
  tree.install('json', {}, { 'table.json': '[1]' })
  const script = `
    import { createModuleLoader } from ${JSON.stringify(LOADER)}
    const cwd = ${JSON.stringify(tree.path('app'))}
    const loader = createModuleLoader({ workerName: () => 'w1', cwd: () => cwd })
    const parent = ${JSON.stringify(tree.url('app/main.js'))}
    const wanted = [['esm', ['K']], ['cjs', ['K']], ['cjs', ['list']], ['json/table.json', ['default']]]
    for (const [specifier, path] of wanted) {
      const reference = { module: { kind: 'specifier', specifier, parent }, form: 'import', path }
      let value
      try {
        value = loader.load(reference)
      } catch (pending) {
        if (pending.done === undefined) throw pending
        console.log('later')
        await pending.done
        value = loader.load(reference)
      }
      const options = specifier.endsWith('json') ? { with: { type: 'json' } } : undefined
      const namespace = await loader.importOf(parent)(specifier, options)
      console.log(specifier, value === (path[0] === 'list' ? namespace.default.list : namespace[path[0]]))
    }
    console.log(loader.load({ module: { kind: 'builtin', id: 'node:fs' }, form: 'import', path: [] }).readFileSync.name)
    console.log(loader.metaOf(parent).resolve('cjs'))`
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [...flags, '--input-type=module', '-e', script],
    { encoding: 'utf8' },
  )
  assert.equal(status, 0, stderr)
  return { out: stdout, err: stderr }
}

const SAME = ['esm true', 'cjs true', 'cjs true', 'json/table.json true', 'readFileSync']

test('modules are loaded synchronously, and Node prints no warning', (t) => {
  const { out, err } = loadElsewhere(t, [])
  const [major = 0] = process.versions.node.split('.').map(Number)
  // The import of JSON is the test's own.
  assert.equal(major >= 22 ? err : err.replace(/.*JSON modules.*\n.*\n/, ''), '')
  assert.deepEqual(out.split('\n').slice(0, 5), SAME)
})

test('a Node that refuses to require ES modules imports them later', (t) => {
  const flag = ['--no-require-module', '--no-experimental-require-module'].find((name) =>
    process.allowedNodeEnvironmentFlags.has(name.replace('--no-', '--')),
  )
  if (flag === undefined) return t.skip('this Node always can')
  const { out } = loadElsewhere(t, [flag])
  const lines = out.split('\n')
  assert.deepEqual(lines.filter((line) => line !== 'later').slice(0, 5), SAME)
  assert.ok(lines.includes('later'))
  assert.match(out, /file:.*\/app\/node_modules\/cjs\/index\.js\n$/)
})

test('two places of one folder do not confuse modules', (t) => {
  const tree = new PackageTree(t, { 'a.mjs': 'export const a = 1', 'b.mjs': 'export const b = 2' })
  const [first, second] = [new ModulePlace(tree.folder), new ModulePlace(tree.folder)]
  const a = first.importNow(tree.url('a.mjs'))
  const b = second.importNow(tree.url('b.mjs'))
  assert.deepEqual({ ...a, ...b }, { a: 1, b: 2 })
  assert.equal(second.importNow(tree.url('a.mjs')), a)
  assert.equal(second.resolve('./a.mjs'), first.resolve('./a.mjs'))
})

test('a folder may have any name', (t) => {
  const tree = new PackageTree(t, { 'a b#c?d%20/é.mjs': 'export const a = 1' })
  const place = new ModulePlace(tree.path('a b#c?d%20'))
  const url = place.resolve('./é.mjs')
  assert.equal(url, tree.url('a b#c?d%20/é.mjs'))
  assert.deepEqual({ ...place.importNow(url) }, { a: 1 })
})

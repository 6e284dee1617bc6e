import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { createModuleLoader } from './loader.js'
import { PackageTree } from './package-tree.kit.js'
import type { ModuleLoader, RuntimeFunction } from './policy.js'

interface Meta {
  readonly url: string
  readonly dirname: string
  readonly filename: string
  resolve(specifier: string): string
}

type Exports = Readonly<Record<string, unknown>>

function loaderIn(tree: PackageTree): ModuleLoader {
  tree.write({ 'work/.keep': '' })
  return createModuleLoader({ workerName: () => 'w1', cwd: () => tree.path('work') })
}

function installBoth(tree: PackageTree, folder: string): void {
  const exports = { import: './main.mjs', require: './main.cjs' }
  const files = {
    'main.mjs': `export const from = 'esm of ${folder}'`,
    'main.cjs': `exports.from = 'cjs of ${folder}'`,
  }
  tree.install(`in-${folder}`, { exports }, files, folder)
}

describe('import()', () => {
  test('resolves from the place of the file, and packages from the working directory, too', async (t) => {
    const tree = new PackageTree(t, { 'app/main.js': '', 'app/lib.mjs': 'export const lib = 1' })
    installBoth(tree, 'app')
    installBoth(tree, 'work')
    const load = loaderIn(tree).importOf(tree.url('app/main.js'))
    const at = async (specifier: string): Promise<Exports> => (await load(specifier)) as Exports
    assert.equal((await at('./lib.mjs'))['lib'], 1)
    assert.equal(await at(tree.url('app/lib.mjs')), await at('./lib.mjs'))
    assert.equal((await at('in-app'))['from'], 'esm of app')
    assert.equal((await at('in-work'))['from'], 'esm of work')
    assert.equal((await at('fs'))['default'], fs)
    assert.equal((await at('node:fs'))['default'], fs)
    assert.equal((await at('data:text/javascript,export default 7'))['default'], 7)
  })

  test('gives the same module as everywhere in the process', async (t) => {
    const tree = new PackageTree(t, { 'app/lib.mjs': 'export class K {}' })
    const load = loaderIn(tree).importOf(tree.path('app/main.cjs'))
    assert.equal(await load('./lib.mjs'), await import(tree.url('app/lib.mjs')))
  })

  test('accepts attributes, and anything that converts to a string', async (t) => {
    const tree = new PackageTree(t, { 'app/table.json': '[1]' })
    const load = loaderIn(tree).importOf(tree.url('app/main.js'))
    const url = new URL(tree.url('app/table.json'))
    const table = load(url as unknown as string, { with: { type: 'json' } })
    assert.deepEqual(((await table) as Exports)['default'], [1])
    await assert.rejects(load('./table.json') as Promise<unknown>, { name: 'TypeError' })
    await assert.rejects(load(Symbol('s') as unknown as string) as Promise<unknown>, TypeError)
  })

  test('rejects with the name of the module and of the worker', async (t) => {
    const tree = new PackageTree(t)
    const loader = loaderIn(tree)
    const code = 'ERR_MODULE_NOT_FOUND'
    const load = (specifier: string, url = tree.url('app/main.js')): Promise<unknown> =>
      loader.importOf(url)(specifier) as Promise<unknown>
    await assert.rejects(load('absent'), { code, message: /'absent'.*main\.js.*worker w1/ })
    await assert.rejects(load('./lib.js'), { code, message: /'\.\/lib\.js'.*w1: the folder/ })
    await assert.rejects(load('./lib.js', ''), { code, message: /'\.\/lib\.js' on worker w1$/ })
    tree.write({ 'app/main.js': '' })
    await assert.rejects(load('./lib.js'), { code, message: /'\.\/lib\.js' for .*worker w1$/ })
  })

  test('of code without a file resolves from the working directory', async (t) => {
    const tree = new PackageTree(t, { 'work/lib.mjs': 'export const lib = 1' })
    installBoth(tree, 'work')
    for (const url of ['', 'evalmachine.<anonymous>', 'webpack:///lib.js']) {
      const load = loaderIn(tree).importOf(url)
      assert.equal(((await load('./lib.mjs')) as Exports)['lib'], 1)
      assert.equal(((await load('in-work')) as Exports)['from'], 'esm of work')
    }
  })
})

describe('require', () => {
  test('resolves from the place of the file, and packages from the working directory, too', (t) => {
    const tree = new PackageTree(t, { 'app/main.cjs': '', 'app/lib.js': 'exports.lib = 1' })
    installBoth(tree, 'app')
    installBoth(tree, 'work')
    const require = loaderIn(tree).requireOf(tree.path('app/main.cjs')) as NodeJS.Require
    assert.deepEqual(require('./lib'), { lib: 1 })
    assert.equal(require('./lib'), createRequire(tree.path('app/main.cjs'))('./lib'))
    assert.deepEqual(require('in-app'), { from: 'cjs of app' })
    assert.deepEqual(require('in-work'), { from: 'cjs of work' })
    for (const name of ['fs', 'node:fs']) assert.equal(require(name), fs)
    assert.equal(require.resolve('./lib'), tree.path('app/lib.js'))
    const inWork = tree.path('work/node_modules/in-work/main.cjs')
    assert.equal(require.resolve('in-work'), inWork)
    assert.equal(require.resolve('fs'), 'fs')
    assert.equal(require.resolve('./lib', { paths: [tree.path('app')] }), tree.path('app/lib.js'))
    assert.equal(require.resolve.paths('x')?.[0], tree.path('app/node_modules'))
    assert.ok(inWork in require.cache)
    assert.ok('.js' in Reflect.get(require, 'extensions'))
    assert.ok('main' in require)
  })

  test('throws with the name of the module and of the worker', (t) => {
    const tree = new PackageTree(t)
    const loader = loaderIn(tree)
    const load = (specifier: string): unknown => loader.requireOf(tree.path('app/a.cjs'))(specifier)
    const code = 'MODULE_NOT_FOUND'
    assert.throws(() => load('absent'), { code, message: /'absent'.*a\.cjs.*worker w1/ })
    assert.throws(() => load('./lib'), {
      code,
      message: /'\.\/lib'.*a\.cjs.*worker w1: the folder/,
    })
    assert.throws(() => load(5 as unknown as string), { code: 'ERR_INVALID_ARG_TYPE' })
  })
})

describe('import.meta', () => {
  test('reports the file, like Node', (t) => {
    const tree = new PackageTree(t, { 'app/main.js': '' })
    installBoth(tree, 'app')
    installBoth(tree, 'work')
    const loader = loaderIn(tree)
    const meta = loader.metaOf(tree.url('app/main.js')) as Meta
    assert.equal(Object.getPrototypeOf(meta), null)
    assert.equal(meta.url, tree.url('app/main.js'))
    assert.equal(meta.filename, tree.path('app/main.js'))
    assert.equal(meta.dirname, tree.path('app'))
    assert.equal(meta.resolve('./x.js'), tree.url('app/x.js'))
    assert.equal(meta.resolve('in-app'), tree.url('app/node_modules/in-app/main.mjs'))
    assert.equal(meta.resolve('in-work'), tree.url('work/node_modules/in-work/main.mjs'))
    assert.equal(meta.resolve('fs'), 'node:fs')
    assert.throws(() => meta.resolve('absent'), { code: 'ERR_MODULE_NOT_FOUND', message: /w1/ })
    assert.equal((loader.metaOf(tree.path('app/x.cjs')) as Meta).url, tree.url('app/x.cjs'))
  })

  test('works for missing files, and without a file', (t) => {
    const tree = new PackageTree(t)
    const loader = loaderIn(tree)
    const gone = loader.metaOf(tree.url('gone/main.js')) as Meta
    assert.equal(gone.resolve('./x.js'), tree.url('gone/x.js'))
    const none = loader.metaOf('') as Meta
    assert.equal(none.resolve('./x.js'), tree.url('work/x.js'))
    assert.equal(none.filename, undefined)
  })
})

test('the same function stands for the same file, and names it', (t) => {
  const tree = new PackageTree(t)
  const loader = loaderIn(tree)
  const url = tree.url('app/main.js')
  const [load, require] = [loader.importOf(url), loader.requireOf(url)]
  assert.equal(load, loader.importOf(url))
  assert.equal(require, loader.requireOf(url))
  assert.notEqual(load, loader.importOf(''))
  assert.deepEqual(loader.roleOf(load), { kind: 'import', url })
  assert.deepEqual(loader.roleOf(require), { kind: 'require', url })
  assert.equal(loader.roleOf(fs.readFileSync), undefined)
  assert.equal(loader.roleOf(undefined), undefined)
  assert.equal(loader.metaOf(url), loader.metaOf(url))
})

test('this package is the running copy', async (t) => {
  const tree = new PackageTree(t)
  const loader = loaderIn(tree)
  const meta = loader.metaOf(tree.url('app/main.js')) as Meta
  const own = meta.resolve('scaler-ts')
  assert.equal(own, new URL('../../index.js', import.meta.url).href)
  const require = loader.requireOf(tree.url('app/main.js')) as NodeJS.Require
  assert.equal(require.resolve('scaler-ts'), fileURLToPath(own))
  const load: RuntimeFunction = loader.importOf(tree.url('app/main.js'))
  assert.equal(await load('scaler-ts'), await import(pathToFileURL(fileURLToPath(own)).href))
  assert.equal(require('scaler-ts'), await load('scaler-ts'))
})

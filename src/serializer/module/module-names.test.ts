import assert from 'node:assert/strict'
import fs, * as fsNamespace from 'node:fs'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { DeserializeError } from '../../base/errors.js'
import { NativeNames, type AnyFunction } from './native.js'
import { createModuleLoader } from './loader.js'
import { ModuleNames, refuseUnexported } from './names.js'
import { type ExportReference, ModulePolicy } from './policy.js'
import { PackageTree } from './package-tree.kit.js'

type Exports = Readonly<Record<string, unknown>>

const NO_MODULE = (): undefined => undefined
/** The facts from the source analysis about a module that exports something. */
const A_MODULE = (): ReadonlyMap<string, string> => new Map([['something', 'something']])

function finder(policy = new ModulePolicy()): ModuleNames {
  return new ModuleNames(policy, new NativeNames())
}

function load(tree: PackageTree, reference: ExportReference | undefined): unknown {
  assert.ok(reference !== undefined, 'there is no reference')
  const options = { workerName: () => 'w1', cwd: () => tree.path('app') }
  return createModuleLoader(options).load(reference)
}

describe('an import', () => {
  const origin = (specifier: string, form: 'import' | 'require' = 'import') => ({
    specifier,
    form,
    path: ['x'],
  })

  test('of a part of Node is a reference to it', () => {
    for (const specifier of ['fs', 'node:fs']) {
      const found = finder().originReference(origin(specifier), 'file:///app/main.js')
      assert.deepEqual(found, {
        module: { kind: 'builtin', id: 'node:fs' },
        form: 'import',
        path: ['x'],
      })
    }
    const found = finder().originReference(origin('fs/promises', 'require'), '')
    assert.deepEqual(found?.module, { kind: 'builtin', id: 'node:fs/promises' })
  })

  test('of this package is a reference to its file', () => {
    const found = finder().originReference(origin('scaler-ts'), 'file:///app/main.js')
    assert.deepEqual(found?.module, { kind: 'own', file: 'index.js' })
    const file = new URL('policy.js', import.meta.url).href
    for (const specifier of [file, './policy.js']) {
      const own = finder().originReference(origin(specifier), import.meta.url)
      assert.deepEqual(own?.module, { kind: 'own', file: 'serializer/module/policy.js' })
    }
  })

  test('of an installed package is a reference by its specifier', (t) => {
    const tree = new PackageTree(t)
    tree.install('lib', { main: './main.js' }, { 'main.js': '' })
    tree.install('@scope/esm', { exports: { import: './main.js' } }, { 'main.js': '' })
    // As pnpm does it.
    const store = 'app/node_modules/.pnpm/stored@1.0.0'
    tree.install('stored', {}, { 'index.js': '' }, store)
    tree.link('app/node_modules/stored', `${store}/node_modules/stored`)
    const parent = tree.url('app/src/main.js')
    for (const specifier of ['lib', 'lib/part.js', '@scope/esm', '@scope/esm/x', 'stored']) {
      const { module } = finder().originReference(origin(specifier), parent) ?? {}
      assert.deepEqual(module, { kind: 'specifier', specifier, parent }, specifier)
    }
    const byRequire = finder().originReference(origin('lib', 'require'), tree.path('app/a.cjs'))
    assert.deepEqual(byRequire?.module, {
      kind: 'specifier',
      specifier: 'lib',
      parent: tree.url('app/a.cjs'),
    })
  })

  test('of a package that is a link to a folder of the user travels by value', (t) => {
    const exports = { '.': { import: './a.mjs', require: './a.cjs' }, './b': './b.js' }
    const json = JSON.stringify({ name: '@ours/lib', exports })
    const files = { 'a.mjs': '', 'a.cjs': '', 'b.js': '' }
    const tree = new PackageTree(t, { 'packages/lib/package.json': json })
    for (const [name, text] of Object.entries(files)) tree.write({ [`packages/lib/${name}`]: text })
    tree.link('app/node_modules/@ours/lib', 'packages/lib')
    tree.install('real', {}, { 'index.js': '' })
    const parent = tree.url('app/src/main.js')
    const policy = new ModulePolicy()
    const names = finder(policy)
    const found = (specifier: string, form: 'import' | 'require' = 'import'): unknown => {
      const reference = names.originReference(origin(specifier, form), parent)
      const own = names.ownPath({ specifier, form }, parent)
      assert.equal(names.isOfPackage({ specifier, form }, parent), reference !== undefined)
      return reference === undefined ? own : reference.module
    }
    assert.equal(found('@ours/lib'), tree.path('packages/lib/a.mjs'))
    assert.equal(found('@ours/lib', 'require'), tree.path('packages/lib/a.cjs'))
    assert.equal(found('@ours/lib/b'), tree.path('packages/lib/b.js'))
    assert.equal(found('@ours/lib/absent'), undefined)
    const byPath = '../node_modules/@ours/lib/b.js'
    for (const form of ['import', 'require'] as const) {
      assert.equal(found(byPath, form), tree.path('packages/lib/b.js'))
    }
    const named = (specifier: string): unknown => ({ kind: 'specifier', specifier, parent })
    policy.registerByReference(tree.path('packages/lib/b.js'))
    assert.deepEqual(found('@ours/lib/b'), named('@ours/lib/b'))
    assert.equal(found('@ours/lib'), tree.path('packages/lib/a.mjs'))
    policy.registerByReference('@ours/lib')
    assert.deepEqual(found('@ours/lib'), named('@ours/lib'))
    policy.registerByValue('@ours/lib')
    assert.equal(found('@ours/lib'), tree.path('packages/lib/a.mjs'))
    policy.registerByValue('real')
    assert.equal(names.originReference(origin('real'), parent), undefined)
    assert.equal(names.isOfPackage(origin('real'), parent), true)
  })

  test("of an alias or of a user's file has no reference", (t) => {
    const json = '{"name":"app","exports":{"./lib":"./lib.js"},"imports":{"#lib":"./lib.js"}}'
    const tree = new PackageTree(t, { 'app/package.json': json, 'app/lib.js': '' })
    for (const specifier of [
      './lib.js',
      '../x.js',
      '/x.js',
      'file:///x.js',
      '@/lib',
      '~/lib',
      'src/lib.js',
      'absent',
      '#lib',
      '#absent',
      'app/lib',
      'app/absent',
      '',
      'http://[',
    ]) {
      for (const form of ['import', 'require'] as const) {
        const found = finder().originReference(origin(specifier, form), tree.url('app/main.js'))
        assert.equal(found, undefined, `${form} ${specifier}`)
      }
    }
  })

  test('of a file in a package, by alias or by path, is a reference to that file', (t) => {
    const imports = { '#dep': { import: 'dep/esm', require: 'dep' }, '#fs': 'fs' }
    const tree = new PackageTree(t, { 'app/package.json': JSON.stringify({ imports }) })
    const exports = { '.': './main.js', './esm': { import: './main.mjs' } }
    tree.install(
      'dep',
      { exports },
      { 'main.js': 'exports.x = 1', 'main.mjs': 'export const x = 2' },
    )
    const parent = tree.url('app/main.js')
    const at = (specifier: string, form: 'import' | 'require'): unknown =>
      load(tree, finder().originReference(origin(specifier, form), parent))
    assert.equal(at('#dep', 'import'), 2)
    assert.equal(at('#dep', 'require'), 1)
    assert.equal(at('./node_modules/dep/main.mjs', 'import'), 2)
    assert.equal(at(tree.path('app/node_modules/dep/main.js'), 'require'), 1)
    const builtin = finder().originReference(origin('#fs'), parent)
    assert.deepEqual(builtin?.module, { kind: 'builtin', id: 'node:fs' })
  })

  test('follows the registrations, even after an earlier answer', (t) => {
    const tree = new PackageTree(t, {
      'app/lib.js': 'export const x = 3',
      'app/package.json': '{"type":"module"}',
    })
    tree.install('lib', { main: './main.js' }, { 'main.js': 'exports.x = 1' })
    const policy = new ModulePolicy()
    const found = finder(policy)
    const parent = tree.url('app/main.js')
    assert.notEqual(found.originReference(origin('lib'), parent), undefined)
    policy.registerByValue('lib')
    assert.equal(found.originReference(origin('lib'), parent), undefined)
    assert.equal(found.originReference(origin('./node_modules/lib/main.js'), parent), undefined)
    assert.equal(found.originReference(origin('./lib.js'), parent), undefined)
    policy.registerByReference(tree.path('app/lib.js'))
    assert.equal(load(tree, found.originReference(origin('./lib.js'), parent)), 3)
    policy.registerByReference('@/alias')
    const alias = found.originReference(origin('@/alias/x'), parent)
    assert.deepEqual(alias?.module, { kind: 'specifier', specifier: '@/alias/x', parent })
  })

  test('of a registered file is looked for in the working directory of the worker, too', (t) => {
    const policy = new ModulePolicy()
    policy.registerByReference('./some-lib.mjs')
    const parent = new URL('main.mjs', `file://${process.cwd()}/`).href
    const found = finder(policy).originReference(origin('./some-lib.mjs'), parent)
    const tree = new PackageTree(t, { 'app/some-lib.mjs': 'export const x = 4' })
    assert.equal(load(tree, found), 4)
  })
})

describe('a value of a CommonJS package', () => {
  const TEXT = `
    const hidden = () => 1
    exports.visible = function visible() {}
    exports.K = class K {}
    exports.other = exports.K
    exports.parts = { hidden }
    exports.settings = { a: 1 }
    exports.list = [1]
    exports.make = () => hidden
    Object.defineProperty(exports, 'lazy', { get() { throw new Error('asked') }, enumerable: true })
  `

  test('is found by identity', (t) => {
    const tree = new PackageTree(t)
    tree.install('lib', { main: './main.js' }, { 'main.js': TEXT })
    tree.install('fn', {}, { 'index.js': 'module.exports = function fn() {}' })
    const require = createRequire(tree.path('app/main.cjs'))
    const lib = require('lib') as Exports
    const fn = require('fn') as AnyFunction
    const at = tree.path('app/node_modules/lib/main.js')
    const find = finder()
    const found = (value: unknown, url = at): ExportReference | undefined =>
      find.referenceOf(value as object, url, NO_MODULE)
    assert.deepEqual(found(lib['K']), {
      module: {
        kind: 'packageFile',
        packageName: 'lib',
        file: 'main.js',
        parent: tree.url('app/node_modules/lib/main.js'),
      },
      form: 'require',
      path: ['K'],
    })
    for (const key of ['visible', 'K', 'parts', 'make']) {
      assert.equal(load(tree, found(lib[key])), lib[key], key)
    }
    assert.equal(load(tree, found(fn, tree.path('app/node_modules/fn/index.js'))), fn)
    assert.equal(load(tree, find.referenceOf(lib, undefined, NO_MODULE)), lib)
    assert.equal(
      load(tree, find.referenceOf(lib['parts'] as object, undefined, NO_MODULE)),
      lib['parts'],
    )
    assert.equal(found((lib['make'] as () => unknown)()), undefined)
    for (const key of ['settings', 'list']) {
      assert.equal(find.referenceOf(lib[key] as object, undefined, NO_MODULE), undefined, key)
    }
  })

  test('is found even if it was loaded or exported after the first question', (t) => {
    const tree = new PackageTree(t)
    for (const name of ['a', 'b']) tree.install(name, {}, { 'index.js': 'exports.f = () => 1' })
    const require = createRequire(tree.path('app/main.cjs'))
    const find = finder()
    const found = (name: string, key: string): unknown => {
      const value = (require(name) as Exports)[key] as AnyFunction
      const url = tree.path(`app/node_modules/${name}/index.js`)
      return find.referenceOf(value, url, NO_MODULE)?.path[0]
    }
    assert.equal(found('a', 'f'), 'f')
    assert.equal(found('b', 'f'), 'f')
    Object.assign(require('a') as object, { g: () => 2 })
    assert.equal(found('a', 'g'), 'g')
    assert.notEqual(find.referenceOf(require('b') as object, undefined, NO_MODULE), undefined)
  })

  test('is found in what other files of its package export', (t) => {
    const tree = new PackageTree(t)
    const inner = 'module.exports = { make: () => function made() {} }'
    tree.install(
      'lib',
      {},
      { 'index.js': "exports.made = require('./inner').make()", 'inner.js': inner },
    )
    tree.install('above', {}, { 'index.js': "exports.again = require('lib').made" })
    const require = createRequire(tree.path('app/main.cjs'))
    require('above')
    const { made } = require('lib') as { made: AnyFunction }
    const url = tree.path('app/node_modules/lib/inner.js')
    const found = finder().referenceOf(made, url, NO_MODULE)
    assert.deepEqual(found?.path, ['made'])
    assert.equal(load(tree, found), made)
  })

  test('is found in the main file of its package, which may prepare the one that defines it', (t) => {
    const tree = new PackageTree(t)
    tree.install(
      'lib',
      {},
      {
        'index.js': `exports.K = require('./part').K; exports.K.ready = true`,
        'part.js': `exports.K = class K {}; exports.L = class L {}`,
      },
    )
    const require = createRequire(tree.path('app/main.cjs'))
    const part = require('lib/part') as Exports
    const at = tree.path('app/node_modules/lib/part.js')
    const fileOf = (value: unknown): unknown => {
      const { module } = finder().referenceOf(value as object, at, NO_MODULE) ?? {}
      return module?.kind === 'packageFile' ? module.file : undefined
    }
    assert.equal(fileOf(part['K']), 'part.js')
    require('lib')
    assert.deepEqual([fileOf(part['K']), fileOf(part['L'])], ['index.js', 'part.js'])
  })

  test("is not found in the user's own files", (t) => {
    const tree = new PackageTree(t, { 'app/own.js': 'exports.f = () => 1' })
    tree.install('lib', {}, { 'index.js': '' })
    const require = createRequire(tree.path('app/main.cjs'))
    const { f } = require('./own.js') as { f: AnyFunction }
    const lib = require('lib') as { hook?: AnyFunction }
    lib.hook = f
    const policy = new ModulePolicy()
    const find = finder(policy)
    const found = (): ExportReference | undefined =>
      find.referenceOf(f, tree.path('app/own.js'), NO_MODULE)
    assert.equal(found(), undefined)
    policy.registerByReference(tree.path('app/own.js'))
    assert.equal(load(tree, found()), f)
    policy.registerByValue(tree.path('app/own.js'))
    assert.equal(found(), undefined)
  })
})

describe('a value of an ES module', () => {
  const TEXT = `
    export class K {}
    const inner = () => 1
    export { inner as outer }
    export default function main() {}
    export function parse() {}
    export const make = () => function parse() {}
    export const hidden = undefined
  `

  test('is found by identity in the module that defines it', async (t) => {
    const tree = new PackageTree(t)
    tree.install(
      'lib',
      { exports: './main.mjs' },
      { 'main.mjs': "export * from './a.mjs'", 'a.mjs': TEXT },
    )
    const url = tree.url('app/node_modules/lib/a.mjs')
    const lib = (await import(url)) as Exports
    const find = finder()
    for (const [key, path] of [
      ['K', 'K'],
      ['outer', 'outer'],
      ['default', 'default'],
      ['parse', 'parse'],
      ['make', 'make'],
    ] as const) {
      const found = find.referenceOf(lib[key] as AnyFunction, url, A_MODULE)
      assert.deepEqual(found, {
        module: { kind: 'packageFile', packageName: 'lib', file: 'a.mjs', parent: url },
        form: 'import',
        path: [path],
      })
      assert.equal(load(tree, found), lib[key])
    }
    const made = (lib['make'] as () => AnyFunction)()
    assert.equal(find.referenceOf(made, url, A_MODULE), undefined)
    const K = lib['K'] as AnyFunction
    assert.equal(finder().referenceOf(K, url, NO_MODULE), undefined)
    assert.equal(finder().referenceOf(K, undefined, A_MODULE), undefined)
    assert.equal(finder().referenceOf(K, `${url}?2`, A_MODULE), undefined)
  })

  test('is found inside the exported objects', async (t) => {
    const tree = new PackageTree(t)
    const text = `
      const far = () => 4
      const cyclic = { one: { two: { far } } }
      cyclic.self = cyclic
      export default { f: () => 1, nested: { g: () => 2 }, K: class {}, get late() { throw 1 } }
      const late = () => 5
      export const box = { h: () => 3, other: late, cyclic, proxy: new Proxy({}, { get: () => { throw 2 } }) }
    `
    tree.install('lib', { exports: './main.mjs' }, { 'main.mjs': text })
    const url = tree.url('app/node_modules/lib/main.mjs')
    const lib = (await import(url)) as Readonly<Record<string, Readonly<Record<string, unknown>>>>
    const { f, nested, K } = lib['default'] ?? {}
    const { h, cyclic } = lib['box'] ?? {}
    const find = finder()
    for (const [value, path] of [
      [f, ['default', 'f']],
      [(nested as { g: unknown }).g, ['default', 'nested', 'g']],
      [K, ['default', 'K']],
      [h, ['box', 'h']],
    ] as const) {
      assert.equal(find.referenceOf(value as AnyFunction, url, A_MODULE), undefined)
      const found = finder().referenceOf(value as AnyFunction, url, A_MODULE, { isStatic: true })
      assert.deepEqual(found?.path, path)
      assert.equal(load(tree, found), value)
    }
    const { far } = (cyclic as { one: { two: { far: AnyFunction } } }).one.two
    assert.equal(find.referenceOf(far, url, A_MODULE, { isStatic: true }), undefined)
    assert.equal(
      find.referenceOf(lib['box']?.['other'] as AnyFunction, url, A_MODULE, { isStatic: true }),
      undefined,
    )
  })

  test('of this package is a reference to its own file', () => {
    const url = new URL('../../base/errors.js', import.meta.url).href
    assert.deepEqual(finder().referenceOf(DeserializeError, url, A_MODULE), {
      module: { kind: 'own', file: 'base/errors.js' },
      form: 'import',
      path: ['DeserializeError'],
    })
  })

  test('that only a module with top-level await exports is not guessed', async (t) => {
    const tree = new PackageTree(t)
    tree.install('slow', {}, { 'main.mjs': 'await null; export function f() {}' })
    const url = tree.url('app/node_modules/slow/main.mjs')
    const { f } = (await import(url)) as { f: AnyFunction }
    assert.equal(finder().referenceOf(f, url, A_MODULE), undefined)
  })
})

describe('a module as a value', () => {
  test('is a reference to the whole module if it is CommonJS or part of Node', async (t) => {
    const tree = new PackageTree(t)
    tree.install('esm', {}, { 'main.mjs': 'export const a = 1' })
    tree.install('cjs', {}, { 'main.cjs': 'exports.a = 1; exports.f = () => 1' })
    const found = (value: object): ExportReference | undefined =>
      finder().referenceOf(value, undefined, NO_MODULE)
    const cjs = (await import(tree.url('app/node_modules/cjs/main.cjs'))) as object
    assert.deepEqual(found(cjs)?.path, [])
    assert.equal(load(tree, found(cjs)), cjs)
    // Nothing shows to which file the namespace belongs.
    const esm = (await import(tree.url('app/node_modules/esm/main.mjs'))) as object
    assert.equal(found(esm), undefined)
    assert.deepEqual(found(fs), {
      module: { kind: 'builtin', id: 'node:fs' },
      form: 'require',
      path: [],
    })
    assert.deepEqual(found(fsNamespace), {
      module: { kind: 'builtin', id: 'node:fs' },
      form: 'import',
      path: [],
    })
  })
})

test('no property of a proxy is read', () => {
  const refuse = (): never => {
    throw new Error('asked')
  }
  const traps = { get: refuse, ownKeys: refuse, getOwnPropertyDescriptor: refuse, has: refuse }
  const proxy = new Proxy(() => {}, { ...traps, getPrototypeOf: refuse })
  assert.equal(finder().referenceOf(proxy, LIB, NO_MODULE), undefined)
})

const LIB = '/app/node_modules/lib/index.js'

test('a function without an importable name is refused, with alternatives', () => {
  assert.equal(
    refuseUnexported('parse', LIB).reason,
    'parse of package lib cannot travel to another process: there is no export by which another ' +
      'process could import it; create it inside the function, in a constant at the top of a module, ' +
      'whose initializer uses nothing but packages and constants, or in a module that exports it, after ' +
      "registerByReference('./that-module.js')",
  )
  const own = new URL('module-names.js', import.meta.url).href
  const { reason } = refuseUnexported('', own)
  assert.match(reason, /^a function without a name of package scaler-ts cannot/)
  assert.match(reason, /create it inside the function or wrap it in a function of your own$/)
  assert.match(refuseUnexported('f', '/app/a.js').reason, /^f of \/app\/a\.js cannot/)
  assert.match(
    refuseUnexported('get error', LIB).reason,
    /; read the property first, and pass or return its value/,
  )
  const mock = refuseUnexported('', '/app/node_modules/@vitest/spy/dist/index.js')
  assert.match(
    mock.reason,
    /^a mock function of package @vitest\/spy cannot .*pass a plain function/,
  )
})

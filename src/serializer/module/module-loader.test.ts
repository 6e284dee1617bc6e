import assert from 'node:assert/strict'
import fs, * as fsNamespace from 'node:fs'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { DeserializeError } from '../../base/errors.js'
import { TwoSides } from '../two-sides.kit.js'
import { createModuleLoader } from './loader.js'
import type { AnyFunction } from './native.js'
import { PackageTree } from './package-tree.kit.js'
import { type ExportReference, type ModuleLoader, ModulePolicy, PendingImport } from './policy.js'

type Form = ExportReference['form']

function loaderIn(tree: PackageTree, cwd = 'work'): ModuleLoader {
  tree.write({ [`${cwd}/.keep`]: '' })
  return createModuleLoader({ workerName: () => 'w1', cwd: () => tree.path(cwd) })
}

/** A reference from `app/main.js`. */
function named(
  tree: PackageTree,
  specifier: string,
  path: readonly string[] = [],
  form: Form = 'import',
): ExportReference {
  return { module: { kind: 'specifier', specifier, parent: tree.url('app/main.js') }, form, path }
}

function failure(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof DeserializeError, String(error))
    assert.match(error.message, pattern)
    assert.ok(!error.message.includes('\n'), error.message)
    return true
  }
}

/** The result of `import()` in the application. */
async function imported(tree: PackageTree, specifier: string): Promise<Record<string, unknown>> {
  const load = createModuleLoader({ workerName: () => 'other', cwd: () => tree.path('app') })
  return (await load.importOf(tree.url('app/main.js'))(specifier)) as Record<string, unknown>
}

function pendingOf(load: () => unknown): PendingImport {
  try {
    load()
  } catch (error) {
    assert.ok(error instanceof PendingImport, String(error))
    return error
  }
  assert.fail('it was loaded at once')
}

const ESM = 'export class K {}\nexport default class D {}\n'
const CJS = 'exports.K = class K {}\nfor (const key of ["hidden"]) exports[key] = () => 1\n'

describe('parts of Node', () => {
  const load = (id: string, form: Form, ...path: string[]): unknown =>
    createModuleLoader({ workerName: () => 'w1', cwd: () => process.cwd() }).load({
      module: { kind: 'builtin', id },
      form,
      path,
    })

  test('are the same as with import and require', () => {
    assert.equal(load('node:fs', 'require'), fs)
    assert.equal(load('node:fs', 'import', 'default'), fs)
    assert.equal(load('node:fs', 'import', 'readFileSync'), fs.readFileSync)
    assert.equal(load('node:fs', 'import', 'default', 'readFileSync'), fs.readFileSync)
    assert.equal(load('node:fs', 'require', 'promises', 'readFile'), fs.promises.readFile)
    assert.equal(load('node:fs', 'import'), fsNamespace)
    assert.equal(load('node:test', 'import', 'test'), test)
  })

  test('that this Node does not have are named, with its version', () => {
    assert.throws(() => load('node:tea', 'require'), failure(/Node v\d.*worker w1.*node:tea/))
    assert.throws(() => load('node:fs', 'import', 'brew'), failure(/node:fs.*no export brew.*w1/))
  })
})

describe('packages', () => {
  test('give the same classes as import()', async (t) => {
    const tree = new PackageTree(t)
    tree.install('cjs', { main: './main.js' }, { 'main.js': CJS })
    tree.install('esm', { type: 'module', exports: { import: './main.js' } }, { 'main.js': ESM })
    tree.install('@scope/esm', { exports: { './part': './a/part.mjs' } }, { 'a/part.mjs': ESM })
    tree.install('main-only', { type: 'module', main: './main.js' }, { 'main.js': ESM })
    const loader = loaderIn(tree)
    for (const specifier of ['cjs', 'esm', '@scope/esm/part', 'main-only']) {
      const loaded = loader.load(named(tree, specifier, ['K']))
      const namespace = await imported(tree, specifier)
      assert.equal(typeof loaded, 'function')
      assert.equal(loaded, namespace['K'], specifier)
      assert.equal(loader.load(named(tree, specifier)), namespace, specifier)
      const whole = loader.load(named(tree, specifier, ['default']))
      assert.equal(whole, namespace['default'], specifier)
    }
  })

  test('give the build for import to import, and that for require to require', async (t) => {
    const tree = new PackageTree(t)
    const exports = { import: './main.mjs', require: './main.cjs' }
    tree.install('dual', { exports }, { 'main.mjs': ESM, 'main.cjs': CJS })
    const loader = loaderIn(tree)
    const byImport = loader.load(named(tree, 'dual', ['K']))
    const byRequire = loader.load(named(tree, 'dual', ['K'], 'require'))
    assert.notEqual(byImport, byRequire)
    assert.equal(byImport, (await imported(tree, 'dual'))['K'])
    const require = createRequire(tree.path('app/main.cjs'))
    assert.equal(byRequire, (require('dual') as Record<string, unknown>)['K'])
  })

  test('of CommonJS have exports that are only known by running them', (t) => {
    const tree = new PackageTree(t)
    tree.install('cjs', { main: './main.js' }, { 'main.js': CJS })
    const hidden = loaderIn(tree).load(named(tree, 'cjs', ['hidden'])) as () => number
    assert.equal(hidden(), 1)
  })

  test('are run once, under any name and for any number of requests', async (t) => {
    const tree = new PackageTree(t)
    const text = 'export const runs = (globalThis.scalerRuns = (globalThis.scalerRuns ?? 0) + 1)'
    t.after(() => Reflect.deleteProperty(globalThis, 'scalerRuns'))
    tree.install('once', { type: 'module', exports: './main.js' }, { 'main.js': text })
    const [first, second] = [loaderIn(tree), loaderIn(tree)]
    for (const loader of [first, second, first]) {
      assert.equal(loader.load(named(tree, 'once', ['runs'])), 1)
    }
    const byFile: ExportReference = {
      module: {
        kind: 'packageFile',
        packageName: 'once',
        file: 'main.js',
        parent: tree.url('app/main.js'),
      },
      form: 'import',
      path: ['runs'],
    }
    assert.equal(first.load(byFile), 1)
    assert.equal((await imported(tree, 'once'))['runs'], 1)
  })

  test('may import each other in a circle', (t) => {
    const tree = new PackageTree(t)
    const a = "import { b } from './b.js'; export const a = 1; export const sum = () => a + b"
    const b = "import { a } from './a.js'; export const b = 2; export const back = () => a"
    tree.install('circle', { type: 'module', exports: './a.js' }, { 'a.js': a, 'b.js': b })
    const sum = loaderIn(tree).load(named(tree, 'circle', ['sum'])) as () => number
    assert.equal(sum(), 3)
  })

  test('may be JSON, too', async (t) => {
    const tree = new PackageTree(t)
    tree.install('json', {}, { 'table.json': '{"rows":[1]}' })
    const loader = loaderIn(tree)
    const whole = loader.load(named(tree, 'json/table.json', ['default']))
    assert.deepEqual(whole, { rows: [1] })
    assert.deepEqual(loader.load(named(tree, 'json/table.json', ['rows'], 'require')), [1])
    const load = loader.importOf(tree.url('app/main.js'))
    const namespace = await load('json/table.json', { with: { type: 'json' } })
    assert.equal((namespace as { default: unknown }).default, whole)
  })

  test('linked from a workspace are the same as with import()', async (t) => {
    const tree = new PackageTree(t)
    const json = '{"name":"@ours/lib","type":"module","exports":"./main.js"}'
    tree.write({ 'packages/lib/package.json': json, 'packages/lib/main.js': ESM })
    tree.link('app/node_modules/@ours/lib', 'packages/lib')
    const loaded = loaderIn(tree).load(named(tree, '@ours/lib', ['K']))
    assert.equal(loaded, (await imported(tree, '@ours/lib'))['K'])
    assert.equal(loaded, (await imported(tree, tree.url('packages/lib/main.js')))['K'])
  })

  test('are found from the working directory if not from the file', (t) => {
    const tree = new PackageTree(t)
    tree.install('here', { type: 'module', exports: './main.js' }, { 'main.js': ESM }, 'work')
    tree.install('plain', { main: './main.js' }, { 'main.js': CJS }, 'work')
    const loader = loaderIn(tree)
    assert.equal(typeof loader.load(named(tree, 'here', ['K'])), 'function')
    tree.write({ 'app/main.js': '' })
    assert.equal(typeof loader.load(named(tree, 'plain', ['K'], 'require')), 'function')
  })
})

describe('a missing module', () => {
  test('is reported, with the worker and the places that were tried', (t) => {
    const tree = new PackageTree(t)
    const loader = loaderIn(tree)
    const load = (specifier: string, form: Form = 'import'): (() => unknown) => {
      return () => loader.load(named(tree, specifier, ['K'], form))
    }
    const absent =
      /^package absent was not found by worker w1.*work \(.*main\.js is not on.*install it/
    assert.throws(load('absent'), failure(absent))
    assert.throws(load('absent', 'require'), failure(absent))
    tree.write({ 'app/main.js': '' })
    assert.throws(
      load('absent'),
      failure(/worker w1, looking from .*app and its directory .*work: /),
    )
    assert.throws(load('@a/b/part'), failure(/package @a\/b \(for @a\/b\/part\)/))
    assert.throws(load('./lib.js'), failure(/module \.\/lib\.js was not found.*copy it there/))
    assert.throws(load('scaler-ts/absent'), failure(/scaler-ts/))
  })

  test('is found after it was installed', (t) => {
    const tree = new PackageTree(t, { 'app/main.js': '' })
    const loader = loaderIn(tree)
    for (const [name, form] of [
      ['late', 'import'],
      ['late-cjs', 'require'],
    ] as const) {
      assert.throws(() => loader.load(named(tree, name, ['K'], form)), failure(/not found/))
      tree.install(name, { main: './main.js' }, { 'main.js': CJS })
      assert.equal(typeof loader.load(named(tree, name, ['K'], form)), 'function')
    }
  })

  test('is reported for a part that a package does not have', (t) => {
    const tree = new PackageTree(t, { 'app/main.js': '' })
    tree.install('part', { type: 'module', exports: { '.': './main.js' } }, { 'main.js': ESM })
    tree.install('hollow', { exports: './none.js' }, {})
    const loader = loaderIn(tree)
    const load = (specifier: string, ...path: string[]): (() => unknown) => {
      return () => loader.load(named(tree, specifier, path))
    }
    assert.throws(load('part', 'x'), failure(/module part has no export x on worker w1.*version/))
    assert.throws(load('part', 'K', 'y', 'z'), failure(/no export K\.y on/))
    assert.throws(load('part/other', 'K'), failure(/package part \(for part\/other\).*ERR_PACKAGE/))
    assert.throws(load('hollow', 'K'), failure(/package hollow was not found/))
  })

  test('is distinguished from a module that fails, which is reported with its error', (t) => {
    const tree = new PackageTree(t)
    tree.install('bad', { exports: './main.mjs' }, { 'main.mjs': 'throw new Error("no\\nluck")' })
    tree.install('lacks', { exports: './main.mjs' }, { 'main.mjs': 'import "absent"' })
    const loader = loaderIn(tree)
    assert.throws(
      () => loader.load(named(tree, 'bad', ['K'])),
      (error: Error) => {
        failure(/module bad failed to load on worker w1: Error: no luck/)(error)
        return (error.cause as Error).message === 'no\nluck'
      },
    )
    assert.throws(() => loader.load(named(tree, 'lacks')), failure(/lacks failed.*'absent'/))
  })
})

describe('a module with top-level await', () => {
  test('is available once its import has completed', async (t) => {
    const tree = new PackageTree(t)
    const text = 'export const five = await Promise.resolve(5); export class K {}'
    tree.install('slow', { exports: './main.mjs' }, { 'main.mjs': text })
    tree.install('user', { exports: './main.mjs' }, { 'main.mjs': 'export { five } from "slow"' })
    const loader = loaderIn(tree)
    const first = pendingOf(() => loader.load(named(tree, 'slow', ['five'])))
    const again = pendingOf(() => loader.load(named(tree, 'slow', ['K'])))
    assert.equal(first.done, again.done)
    assert.match(first.message, /slow/)
    await first.done
    assert.equal(loader.load(named(tree, 'slow', ['five'])), 5)
    const { K } = await imported(tree, 'slow')
    assert.equal(loader.load(named(tree, 'slow', ['K'])), K)
    assert.deepEqual(loader.referenceOf(K as object), named(tree, 'slow', ['K']))
    await pendingOf(() => loader.load(named(tree, 'user', ['five']))).done
    assert.equal(loader.load(named(tree, 'user', ['five'])), 5)
  })

  test('fails with its own error', async (t) => {
    const tree = new PackageTree(t)
    const text = 'await Promise.resolve(); throw new Error("too late")'
    tree.install('slow-bad', { exports: './main.mjs' }, { 'main.mjs': text })
    const loader = loaderIn(tree)
    const load = (): unknown => loader.load(named(tree, 'slow-bad', ['K']))
    await pendingOf(load).done
    assert.throws(load, failure(/slow-bad failed to load on worker w1.*too late/))
    await pendingOf(load).done
    assert.throws(load, failure(/too late/))
  })
})

describe('a file of a package', () => {
  const reference = (tree: PackageTree, file: string, ...path: string[]): ExportReference => {
    const parent = tree.url('app/node_modules/deep/lib/inner.mjs')
    return {
      module: { kind: 'packageFile', packageName: 'deep', file, parent },
      form: 'import',
      path,
    }
  }

  test('is found even if the package does not export it', async (t) => {
    const tree = new PackageTree(t)
    tree.install('deep', { exports: './main.mjs' }, { 'main.mjs': '', 'lib/inner.mjs': ESM })
    const loaded = loaderIn(tree).load(reference(tree, 'lib/inner.mjs', 'K'))
    const inner = await imported(tree, tree.url('app/node_modules/deep/lib/inner.mjs'))
    assert.equal(loaded, inner['K'])
  })

  test('is found from the working directory', (t) => {
    const tree = new PackageTree(t)
    tree.install('deep', {}, { 'lib/inner.mjs': ESM }, 'work')
    const loaded = loaderIn(tree).load(reference(tree, 'lib/inner.mjs', 'K'))
    assert.equal(typeof loaded, 'function')
  })

  test('is that of the version which a package has for itself, wherever it is', async (t) => {
    const tree = new PackageTree(t)
    const version = (text: string): Record<string, string> => {
      return { 'lib/inner.mjs': `export class K { static version = '${text}' }` }
    }
    tree.install('deep', {}, version('1'), 'work')
    tree.install('user', {}, { 'main.mjs': '' }, 'work')
    tree.install('deep', {}, version('2'), 'work/node_modules/user')
    const parent = 'file:///elsewhere/node_modules/user/node_modules/deep/lib/inner.mjs'
    const module = {
      kind: 'packageFile',
      packageName: 'deep',
      file: 'lib/inner.mjs',
      parent,
    } as const
    const load = (from: string): unknown =>
      loaderIn(tree).load({
        module: { ...module, parent: from },
        form: 'import',
        path: ['K', 'version'],
      })
    assert.equal(load(parent), '2')
    assert.equal(load(parent.replace('user/node_modules/', '')), '1')
    assert.equal(load(parent.replace('user/', 'missing/')), '1')
  })

  test('never leads outside the package, and its absence is reported by name', (t) => {
    const tree = new PackageTree(t, { 'app/node_modules/secret.mjs': ESM })
    const loader = loaderIn(tree)
    const load = (file: string): (() => unknown) => {
      return () => loader.load(reference(tree, file, 'K'))
    }
    assert.throws(load('main.mjs'), failure(/package deep was not found by worker w1/))
    tree.install('deep', {}, { 'main.mjs': ESM })
    assert.throws(load('none.mjs'), failure(/package deep of worker w1 .* has no file none\.mjs/))
    assert.throws(load('../secret.mjs'), failure(/has no file \.\.\/secret\.mjs/))
  })
})

describe('files of this package', () => {
  const load = (file: string, ...path: string[]): unknown =>
    createModuleLoader({ workerName: () => 'w1', cwd: () => process.cwd() }).load({
      module: { kind: 'own', file },
      form: 'require',
      path,
    })

  test('are those of this process', () => {
    assert.equal(load('base/errors.js', 'DeserializeError'), DeserializeError)
  })

  test('exist nowhere else', () => {
    assert.throws(
      () => load('absent.js', 'x'),
      failure(/scaler-ts of worker w1 has no file absent/),
    )
    assert.throws(() => load('../package.json'), failure(/has no file \.\.\/package\.json/))
  })
})

test('what a worker has loaded by reference comes back as what it is here', async (t) => {
  const tree = new PackageTree(t, {
    'app/prices.mjs': `
      export class Price { constructor(cents) { this.cents = cents } }
      export class PriceError extends Error {}
      export const priceOf = (cents) => new Price(cents)
      export default function () { throw new PriceError('no') }`,
    'app/prices.cjs': `
      exports.Price = class Price {}
      exports.priceOf = () => new exports.Price()`,
    'app/tasks.mjs': `
      import fail, { Price, PriceError, priceOf } from './prices.mjs'
      import old from './prices.cjs'
      export const makes = () => priceOf(1)
      export const gives = () => [Price, priceOf]
      export const fails = () => { try { fail() } catch (error) { return error } }
      export const makesOld = () => old.priceOf()
      export const known = { Price, PriceError, priceOf, OldPrice: old.Price }`,
  })
  const policy = new ModulePolicy()
  for (const file of ['prices.mjs', 'prices.cjs'])
    policy.registerByReference(tree.url(`app/${file}`))
  const sides = new TwoSides(policy)
  const { known, ...tasks } = (await import(tree.url('app/tasks.mjs'))) as Record<
    string,
    AnyFunction
  > & {
    readonly known: Record<'Price' | 'PriceError' | 'priceOf' | 'OldPrice', AnyFunction>
  }
  const answer = (name: string): unknown => {
    return sides.back(Reflect.apply(sides.send(tasks[name]) as AnyFunction, undefined, []))
  }
  assert.equal((answer('makes') as object).constructor, known.Price)
  assert.deepEqual(answer('gives'), [known.Price, known.priceOf])
  assert.equal((answer('fails') as object).constructor, known.PriceError)
  assert.equal((answer('makesOld') as object).constructor, known.OldPrice)
})

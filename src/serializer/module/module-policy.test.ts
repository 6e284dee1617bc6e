import assert from 'node:assert/strict'
import { join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { ConfigError } from '../../base/errors.js'
import { ModulePolicy } from './policy.js'
import { PackageTree } from './package-tree.kit.js'

const LODASH = '/app/node_modules/lodash/lib/map.js'

describe('modules by reference', () => {
  test('are packages, wherever they are installed, and nothing else', () => {
    const policy = new ModulePolicy()
    for (const path of [
      LODASH,
      pathToFileURL(LODASH).href,
      '/app/node_modules/.pnpm/x@1.0.0/node_modules/@scope/x/index.js',
      '/app/node_modules/a/node_modules/b/index.js',
    ]) {
      assert.equal(policy.isPackageFile(path), true, path)
    }
    for (const path of [
      '/app/src/main.js',
      'file:///app/main.js',
      '/app/node_modules/.cache/app.js',
      '/app/node_modules/loose.js',
      'node:fs',
      'lodash',
      '',
    ]) {
      assert.equal(policy.isPackageFile(path), false, path)
    }
  })

  test('do not include those registered by value, until they are registered by reference again', () => {
    const policy = new ModulePolicy()
    policy.registerByValue('lodash')
    assert.equal(policy.isPackageFile(LODASH), false)
    assert.equal(policy.isPackageFile('/app/node_modules/lodash-es/map.js'), true)
    assert.equal(policy.isPackageFile('/app/node_modules/lodash/node_modules/b/i.js'), true)
    assert.equal(policy.modeOfSpecifier('lodash'), 'value')
    assert.equal(policy.modeOfSpecifier('lodash/map'), 'value')
    assert.equal(policy.modeOfSpecifier('lodash-es'), undefined)
    policy.registerByReference('lodash/lib/map')
    assert.equal(policy.isPackageFile(LODASH), true)
    assert.equal(policy.isPackageFile('/app/node_modules/lodash/lib/filter.js'), false)
    policy.registerByReference('lodash')
    assert.equal(policy.isPackageFile('/app/node_modules/lodash/lib/filter.js'), true)
  })

  test('include files of the user that were registered, alone or by folder', (t) => {
    const tree = new PackageTree(t, { 'lib/a.js': '', 'lib/b.js': '' })
    const policy = new ModulePolicy()
    policy.registerByReference(tree.url('lib/a.js'))
    assert.equal(policy.isPackageFile(tree.path('lib/a.js')), true)
    assert.equal(policy.isPackageFile(tree.path('lib/a.json')), false)
    assert.equal(policy.isPackageFile(tree.path('lib/b.js')), false)
    policy.registerByReference(`${tree.path('lib')}/`)
    assert.equal(policy.isPackageFile(tree.url('lib/b.js')), true)
    policy.registerByValue(tree.path('lib/b.js'))
    assert.equal(policy.isPackageFile(tree.url('lib/b.js')), false)
    policy.registerByReference('./some/lib')
    assert.equal(policy.isPackageFile(join(process.cwd(), 'some/lib/a.js')), true)
    assert.equal(policy.isPackageFile(join(process.cwd(), 'some/library.js')), false)
    assert.ok(relative(process.cwd(), tree.folder).startsWith('..'))
  })

  test('include files of a workspace package that was registered by its name', (t) => {
    const tree = new PackageTree(t, {
      'packages/lib/package.json': '{"name":"@ours/lib"}',
      'packages/lib/src/package.json': '{"type":"commonjs"}',
      'packages/lib/src/a.js': '',
    })
    const policy = new ModulePolicy()
    const path = tree.path('packages/lib/src/a.js')
    assert.equal(policy.isPackageFile(path), false)
    policy.registerByReference('@ours/lib')
    assert.equal(policy.isPackageFile(path), true)
  })
})

test('a package in the store of yarn is known by its `package.json`', (t) => {
  const store = 'node_modules/.store/@ours-lib-npm-1.0.0-0123456789/package'
  const tree = new PackageTree(t, {
    [`${store}/package.json`]: '{"name":"@ours/lib"}',
    [`${store}/a.js`]: '',
  })
  const policy = new ModulePolicy()
  assert.equal(policy.isPackageFile(tree.path(`${store}/a.js`)), true)
  policy.registerByValue('@ours/lib')
  assert.equal(policy.isPackageFile(tree.path(`${store}/a.js`)), false)
})

test('every registration is a new version', () => {
  const policy = new ModulePolicy()
  const versions = [policy.version]
  policy.registerByReference('a')
  versions.push(policy.version)
  policy.registerByValue('a')
  versions.push(policy.version)
  assert.equal(new Set(versions).size, 3)
})

test('an invalid specifier is refused by name', () => {
  const policy = new ModulePolicy()
  for (const wrong of ['', '  ', undefined, 5, {}]) {
    for (const name of ['registerByValue', 'registerByReference'] as const) {
      assert.throws(
        () => policy[name](wrong as string),
        (error) => error instanceof ConfigError && error.message.startsWith(`${name}: specifier`),
      )
    }
  }
  assert.throws(() => policy.registerByValue('node:fs'), ConfigError)
  policy.registerByReference('node:fs')
  assert.equal(policy.version, 0)
})

test('own files are those beside this one, except tests', () => {
  const policy = new ModulePolicy()
  assert.equal(policy.isOwnFile(new URL('module-policy.js', import.meta.url).href), true)
  assert.equal(policy.isOwnFile(new URL('../../base/errors.js', import.meta.url).href), true)
  assert.equal(policy.isOwnFile(import.meta.url), false)
  assert.equal(policy.isOwnFile('/somewhere/serializer/module/own-package.js'), false)
})

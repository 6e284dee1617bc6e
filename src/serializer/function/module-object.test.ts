import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test, type TestContext } from 'node:test'
import { PackageTree } from '../module/package-tree.kit.js'
import type { AnyFunction } from '../module/native.js'
import * as path from '../refusal.js'
import { defaultSerializer, registerByReference } from '../serializer.js'
import { TwoSides } from '../two-sides.kit.js'
import { TestAnalyst } from './analyst.kit.js'
import { ModuleObjects, type ModuleUse } from './modules.js'

const using = (members?: readonly string[], calledMembers: readonly string[] = []): ModuleUse => ({
  members,
  calledMembers,
})

const LIVE = {
  'app/live.mjs': `
    export let count = 0
    export const inc = () => (count += 1)
    export const make = () => () => count
  `,
  'app/tasks.mjs': `
    import { count, inc, make } from './live.mjs'
    export const made = make()
    export const both = () => [inc(), count]
  `,
}

// The first test: after others, it did not show the fault.
test('a variable of a module is shared, also after a function of it has come back', async (t) => {
  const tree = new PackageTree(t, LIVE)
  const { made, both } = (await import(tree.url('app/tasks.mjs'))) as Record<string, AnyFunction>
  assert.ok(made !== undefined && both !== undefined)
  const arrived = new TwoSides().send(made)
  const sides = new TwoSides()
  assert.deepEqual(Reflect.apply(sides.send(both), undefined, []), [1, 1])
  assert.equal(Reflect.apply(arrived, undefined, []), 0)
})

describe('of an object that stands for a module', () => {
  const modules = new ModuleObjects()
  const partial = (...names: string[]): object => ({ names, isPartial: true })

  test('the members that are used travel', () => {
    assert.deepEqual(modules.keysOf(path, using(['NamedStep']), false), partial('NamedStep'))
    const compiled = { __esModule: true, used: 1 }
    assert.deepEqual(modules.keysOf(compiled, using(['used']), false), partial('used'))
  })

  test('all of a namespace travels if that is not known', () => {
    const all = { names: Object.keys(path), isPartial: false }
    assert.deepEqual(modules.keysOf(path, using(), false), all)
    assert.equal(modules.keysOf({ __esModule: true, used: 1 }, using(), false), undefined)
  })

  test('nothing is left out of another object, unless it is declared as a module', () => {
    const other = { used: 1, unused: 2 }
    assert.equal(modules.keysOf(other, using(['used']), false), undefined)
    assert.deepEqual(modules.keysOf(other, using(['used']), true), partial('used'))
    assert.equal(modules.keysOf(3, using(['used']), true), undefined)
  })

  test('all travels if a method that is called, or a getter, uses its `this`', () => {
    const module = {
      __esModule: true,
      unit: 2,
      plain: () => 1,
      own() {
        return this.unit
      },
      get twice() {
        return this.unit * 2
      },
    }
    const keysOf = (use: ModuleUse): unknown => modules.keysOf(module, use, false)
    assert.deepEqual(keysOf(using(['plain'], ['plain'])), partial('plain'))
    assert.equal(keysOf(using(['plain', 'own'], ['plain', 'own'])), undefined)
    assert.deepEqual(keysOf(using(['own'])), partial('own'))
    assert.equal(keysOf(using(['twice'])), undefined)
  })

  test('nothing of a proxy is asked', () => {
    const refuse = (): never => assert.fail('asked')
    const proxy = new Proxy({}, { get: refuse, getOwnPropertyDescriptor: refuse, has: refuse })
    assert.deepEqual(modules.keysOf(proxy, using(['a'], ['a']), true), partial('a'))
    assert.equal(modules.keysOf(proxy, using(['a'], ['a']), false), undefined)
  })
})

test('what CommonJS files export is known, also of those that are loaded later or again', (t) => {
  const tree = new PackageTree(t, {
    'app/one.cjs': 'exports.a = 1',
    'app/two.cjs': 'exports.a = 2',
    'app/asks.cjs': 'exports.isKnown = globalThis.askForTest(exports)',
  })
  const require = createRequire(tree.path('app/main.cjs'))
  const modules = new ModuleObjects()
  const isKnown = (value: unknown): boolean =>
    modules.keysOf(value, using(['a']), false) !== undefined
  const one = require('./one.cjs') as unknown
  assert.equal(isKnown(one), true)
  assert.equal(isKnown({ a: 1 }), false)
  assert.equal(isKnown(require('./two.cjs')), true)
  Reflect.deleteProperty(require.cache, tree.path('app/one.cjs'))
  const again = require('./one.cjs') as unknown
  assert.notEqual(again, one)
  assert.equal(isKnown(again), true)
  Object.assign(globalThis, { askForTest: isKnown })
  t.after(() => Reflect.deleteProperty(globalThis, 'askForTest'))
  // While it is loaded, and afterwards.
  const asking = require('./asks.cjs') as { readonly isKnown: boolean }
  assert.equal(asking.isKnown, true)
  assert.equal(isKnown(asking), true)
})

describe('a CommonJS module whose methods use `this`', () => {
  const LIB = `
    exports.unit = 2
    exports.unused = 'never'
    exports.twice = function (value) { return this.unit * value }
    exports.once = (value) => value
  `
  const TASKS = `
    const lib = require('./lib.cjs')
    exports.twice = (value) => lib.twice(value)
    exports.once = (value) => lib.once(value)
  `
  const tasksOf = (tree: PackageTree): Readonly<Record<string, AnyFunction>> =>
    createRequire(tree.path('app/main.cjs'))('./tasks.cjs') as Readonly<Record<string, AnyFunction>>

  test('travels as a whole where one is called on it', (t) => {
    const tasks = tasksOf(new PackageTree(t, { 'app/lib.cjs': LIB, 'app/tasks.cjs': TASKS }))
    const { twice, once } = tasks
    assert(twice !== undefined && once !== undefined)
    const sides = new TwoSides()
    assert.equal((sides.send(twice) as (value: number) => number)(21), 42)
    assert.equal((sides.send(once) as (value: number) => number)(21), 21)
    const kit = new TestAnalyst()
    assert.equal(kit.content(twice, 'lib').kind, 'value')
    const content = kit.content(once, 'lib')
    assert(content.kind === 'members')
    assert.deepEqual(content.names, ['once'])
  })

  test('travels as a whole once it has got such a method', (t) => {
    const tree = new PackageTree(t, { 'app/lib.cjs': LIB, 'app/tasks.cjs': TASKS })
    const { once } = tasksOf(tree)
    assert(once !== undefined)
    const kit = new TestAnalyst()
    assert.equal(kit.content(once, 'lib').kind, 'members')
    assert.equal(kit.content(once, 'lib').kind, 'members')
    const lib = createRequire(tree.path('app/main.cjs'))('./lib.cjs') as Record<string, unknown>
    lib['once'] = lib['twice']
    assert.equal(kit.content(once, 'lib').kind, 'value')
    const sides = new TwoSides()
    assert.equal((sides.send(once) as (value: number) => number)(21), 42)
  })
})

describe('the `module` of a CommonJS file', () => {
  const TASKS = `
    require('./held.cjs')
    exports.type = () => typeof module
    exports.umd = () => typeof exports === 'object' && typeof module !== 'undefined'
    exports.filename = () => typeof module === 'object' && module.filename
    exports.all = () => module
    exports.isMain = () => require.main === module
  `
  const taskOf = (t: TestContext, name: string): AnyFunction => {
    const held = 'module.exports = { held: new WeakMap() }'
    const tree = new PackageTree(t, { 'app/held.cjs': held, 'app/tasks.cjs': TASKS })
    const require = createRequire(tree.path('app/main.cjs'))
    return (require('./tasks.cjs') as Readonly<Record<string, AnyFunction>>)[name] ?? assert.fail()
  }
  const answer = (t: TestContext, name: string): unknown =>
    Reflect.apply(new TwoSides().send(taskOf(t, name)), undefined, [])

  test('is not sent where only its type is asked for', (t) => {
    assert.equal(answer(t, 'type'), 'object')
    assert.equal(answer(t, 'umd'), true)
    const content = new TestAnalyst().content(taskOf(t, 'type'), 'module')
    assert.deepEqual(content, { kind: 'value', value: null })
  })

  test('gives what is used of it, also behind a test of its type', (t) => {
    assert.match(String(answer(t, 'filename')), /tasks\.cjs$/)
  })

  test('is refused as a whole, with what to use instead', (t) => {
    const refusal = /^the `module` of a CommonJS file cannot travel .* `module\.exports`/
    assert.match(new TestAnalyst().reason(taskOf(t, 'all')), refusal)
    assert.match(new TestAnalyst().reason(taskOf(t, 'isMain')), refusal)
  })
})

test('an object of which only the type is asked for is not sent', () => {
  const held = new WeakMap()
  assert.equal((new TwoSides().send(() => typeof held) as () => unknown)(), 'object')
})

test('a variable of a module that is registered by reference is imported', async (t) => {
  const tree = new PackageTree(t, LIVE)
  const { both } = (await import(tree.url('app/tasks.mjs'))) as Record<string, AnyFunction>
  registerByReference(tree.path('app/live.mjs'))
  const copy = defaultSerializer.deserialize(defaultSerializer.serialize(both)) as AnyFunction
  assert.deepEqual(Reflect.apply(copy, undefined, []), [1, 1])
})

for (const helpers of ['tslib', '@swc/helpers']) {
  test(`getters that ${helpers} has made are like those that compilers write into files`, (t) => {
    const tree = new PackageTree(t, {
      'app/prices.cjs': 'exports.__esModule = true; exports.rate = 3',
      'app/barrel.cjs': `
        exports.__esModule = true
        require('${helpers}').forward(exports, require('./prices.cjs'), 'rate')
      `,
      'app/tasks.cjs': `
        const barrel = require('./barrel.cjs')
        exports.twice = () => barrel.rate * 2
      `,
    })
    const code = `
      exports.forward = (to, from, key) =>
        Object.defineProperty(to, key, { enumerable: true, get: () => from[key] })
    `
    tree.install(helpers, {}, { 'index.js': code })
    const { twice } = createRequire(tree.path('app/main.cjs'))('./tasks.cjs') as {
      readonly twice: () => number
    }
    assert.equal(new TwoSides().send(twice)(), 6)
  })
}

// A package in `node_modules` that is a link to a folder of the user's own, as in a workspace: it
// travels by value, like any module of the user, however it is imported.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test, type TestContext } from 'node:test'
import { SerializeError } from '../../base/errors.js'
import { TwoSides } from '../two-sides.kit.js'
import type { AnyFunction } from './native.js'
import { PackageTree } from './package-tree.kit.js'

type Exports = Readonly<Record<string, AnyFunction>>

const CORE = {
  'packages/core/package.json': JSON.stringify({
    name: '@ours/core',
    exports: { '.': { import: './index.mjs', require: './index.cjs' }, './*': './*.mjs' },
  }),
  'packages/core/index.mjs': `
    export let count = 0
    export const inc = () => (count += 1)
    export class Point {}
    export const KEY = Symbol('key')
    export default function () { return count }
  `,
  'packages/core/index.cjs': `
    let count = 0
    exports.inc = () => (count += 1)
    exports.current = () => count
    exports.Point = class Point {}
  `,
}

/** The exports of `app/main` in a workspace in which `app` uses `@ours/core`. */
async function workspace(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  main = 'app/main.mjs',
): Promise<Exports> {
  const tree = new PackageTree(t, { ...CORE, ...files })
  tree.link('app/node_modules/@ours/core', 'packages/core')
  const maker = `export const make = () => ({ secret: new WeakMap(), level: 0 })`
  tree.install('maker', { exports: './main.mjs' }, { 'main.mjs': maker })
  if (main.endsWith('.cjs')) return createRequire(tree.path('app/'))(`./main.cjs`) as Exports
  return (await import(tree.url(main))) as Exports
}

/** What a new task returns. */
function answer(task: AnyFunction | undefined, ...parameters: unknown[]): unknown {
  assert(task !== undefined)
  const sides = new TwoSides()
  return Reflect.apply(sides.send(task), undefined, sides.send(parameters))
}

describe('an import of a linked package', () => {
  test('by name, as default, as a whole, and through other modules, has its state', async (t) => {
    const tasks = await workspace(t, {
      'app/barrel.mjs': `
        export * from '@ours/core'
        export { inc as increase } from '@ours/core'
        export * as core from '@ours/core'
      `,
      'app/main.mjs': `
        import current, { count, inc, KEY, Point } from '@ours/core'
        import * as whole from '@ours/core'
        import { core, count as same, increase } from './barrel.mjs'
        const later = await import('@ours/core')
        // As tsx compiles it.
        const loaded = await import('@ours/core').then((module) => module)
        inc()
        export { current }
        export const named = () => [inc(), count, current()]
        export const members = () => [whole.inc(), whole.count, whole.default()]
        export const object = () => { const all = whole; return [all.inc(), all.count, all.default()] }
        export const again = () => [increase(), same, core.count]
        export const inside = () => [core.inc(), core.count, same]
        export const dynamic = () => [later.inc(), later.count, count]
        export const compiled = () => [loaded.inc(), loaded.count, loaded.default()]
        export const isPoint = (value) => value instanceof Point
        export const point = new Point()
        export const valueOf = (value) => value[KEY]
        export const keyed = { [KEY]: 5 }
      `,
    })
    for (const name of ['named', 'members', 'object', 'again', 'inside', 'dynamic', 'compiled']) {
      assert.deepEqual(answer(tasks[name]), [2, 2, 2], name)
    }
    assert.equal(answer(tasks['current']), 1)
    assert.equal(answer(tasks['isPoint'], tasks['point']), true)
    assert.equal(answer(tasks['valueOf'], tasks['keyed']), 5)
  })

  test('by `require` has its state', async (t) => {
    const main = `
      const core = require('@ours/core')
      const { inc, current, Point } = require('@ours/core')
      inc()
      exports.named = () => [inc(), current()]
      exports.members = () => [core.inc(), current()]
      exports.isPoint = (value) => value instanceof Point && value instanceof core.Point
      exports.point = new Point()
    `
    const tasks = await workspace(t, { 'app/main.cjs': main }, 'app/main.cjs')
    assert.deepEqual(answer(tasks['named']), [2, 2])
    assert.deepEqual(answer(tasks['members']), [2, 2])
    assert.equal(answer(tasks['isPoint'], tasks['point']), true)
  })

  test('by an alias, by its own name or through a link to a file has its state', async (t) => {
    const main = `
      import { count as first, inc as incFirst } from '#state'
      import { count as second, inc as incSecond } from 'app/state'
      import { count as third, inc as incThird } from './link/state.mjs'
      export const alias = () => [incFirst(), first]
      export const own = () => [incSecond(), second]
      export const link = () => [incThird(), third]
    `
    const json = {
      name: 'app',
      imports: { '#state': './state.mjs' },
      exports: { './*': './*.mjs' },
    }
    const tree = new PackageTree(t, {
      'app/package.json': JSON.stringify(json),
      'app/state.mjs': 'export let count = 0; export const inc = () => (count += 1)',
      'app/main.mjs': main,
    })
    tree.link('app/link', 'app')
    const tasks = (await import(tree.url('app/main.mjs'))) as Exports
    for (const name of ['alias', 'own', 'link']) assert.deepEqual(answer(tasks[name]), [1, 1], name)
  })
})

describe('a constant that cannot travel', () => {
  const CHANGES = `
    export const raise = (box) => { box.level = 5; return 1 }
    export const read = (box) => box.level
    export const create = () => ({ secret: new WeakMap(), level: 0 })
    export const tag = () => create()
    export const kept = { create }
  `

  test('is made again if packages made it, although linked packages only read it', async (t) => {
    const tasks = await workspace(t, {
      'packages/core/changes.mjs': CHANGES,
      'app/main.mjs': `
        import { make } from 'maker'
        import { read } from '@ours/core/changes'
        const box = make()
        export const level = read(box)
        export const task = () => [box.level, box.secret.has(box)]
      `,
    })
    assert.deepEqual(answer(tasks['task']), [0, false])
  })

  test('is refused if a linked package made it, or may have changed it', async (t) => {
    const tasks = await workspace(t, {
      'packages/core/changes.mjs': CHANGES,
      'app/main.mjs': `
        import { make } from 'maker'
        import { create, kept, raise, tag } from '@ours/core/changes'
        const made = create()
        const tagged = tag\`\`
        const member = kept.create()
        const changed = make()
        export const level = raise(changed)
        const use = (box) => [box.level, box.secret.has(box)]
        export const tasks = [() => use(made), () => use(tagged), () => use(member), () => use(changed)]
      `,
    })
    const { tasks: all = [] } = tasks as unknown as { readonly tasks?: readonly AnyFunction[] }
    assert.equal(all.length, 4)
    for (const task of all) assert.throws(() => answer(task), SerializeError)
    assert.throws(() => answer(all.at(-1)), /may change it/)
  })
})

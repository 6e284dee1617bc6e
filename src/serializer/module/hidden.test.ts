import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test, type TestContext } from 'node:test'
import { SerializeError } from '../../base/errors.js'
import { TwoSides } from '../two-sides.kit.js'
import { PackageTree } from './package-tree.kit.js'

interface Package {
  readonly make: (...parameters: unknown[]) => object
  readonly [name: string]: unknown
}

/** A class that is not exported. */
const HIDDEN = `class Hidden { constructor(n = 1) { this.n = n } double() { return this.n * 2 } }`

/** The exports of an installed package with one file. */
async function installed(t: TestContext, text: string, file = 'main.mjs'): Promise<Package> {
  const tree = new PackageTree(t)
  tree.install('lib', { exports: `./${file}` }, { [file]: text })
  tree.write({ 'app/main.mjs': `export * from 'lib'` })
  if (file.endsWith('.cjs')) return createRequire(tree.path('app/'))('lib') as Package
  return (await import(tree.url('app/main.mjs'))) as Package
}

/** Texts of packages whose `make` returns an instance of the class. */
const SEEN: readonly (readonly [title: string, text: string, file?: string])[] = [
  ['a function of an ES module', `${HIDDEN}\nexport const make = (n) => new Hidden(n)`],
  [
    'an object of an ES module',
    `${HIDDEN}\nexport const make = ((n) => new Hidden(n)).bind(null)
    export const tools = { make: (n) => new Hidden(n) }`,
  ],
  [
    'the class of an exported object',
    `${HIDDEN}\nexport const make = ((n) => new Hidden(n)).bind(null)
    class Factory { make() { return new Hidden() } }
    export const factory = new Factory()`,
  ],
  ['a file for require', `${HIDDEN}\nexports.make = (n) => new Hidden(n)`, 'main.cjs'],
  [
    'a file with a single export, as compiled to ES5',
    `!function (factory) { module.exports = factory() }(function () {
      var _ = function () {
        function H(n) { this.n = n === undefined ? 1 : n }
        var proto = H.prototype
        proto.double = function () { return this.n * 2 }
        return H
      }()
      var make = function (n) { return new _(n) }
      make.make = make
      return make
    })`,
    'main.cjs',
  ],
]

describe('a class of a package that is not exported is found', () => {
  for (const [title, text, file] of SEEN) {
    test(`by ${title}`, async (t) => {
      const { make } = await installed(t, text, file)
      const value = make(21)
      const sent = new TwoSides().send({ value }).value as { n: number; double(): number }
      assert.notEqual(sent, value)
      assert.equal(sent.double(), 42)
      assert.equal(Object.getPrototypeOf(sent), Object.getPrototypeOf(value))
    })
  }

  test('with its parent, and functions of the same file that values have', async (t) => {
    const { make } = await installed(
      t,
      `${HIDDEN}
      const half = (n) => n / 2
      const locales = { en: { name: 'en', nested: { ordinal(n) { return n + '.' } } } }
      class Other extends Hidden {
        half = half
        locale = locales.en
        static parse = (n) => new Other(n)
      }
      export const make = (n) => new Other(n)`,
    )
    const value = make(6) as object & { half: unknown; locale: { nested: object } }
    const sent = new TwoSides().send(value)
    assert.equal(Object.getPrototypeOf(sent), Object.getPrototypeOf(value))
    assert.equal(sent.half, value.half)
    assert.notEqual(sent.locale, value.locale)
    assert.deepEqual(sent.locale, value.locale)
  })

  test('when it is captured, with the present state of the object', async (t) => {
    const tree = new PackageTree(t)
    const text = `${HIDDEN}\nexport const make = (n) => new Hidden(n)`
    tree.install('lib', { exports: './main.mjs' }, { 'main.mjs': text })
    tree.write({
      'app/main.mjs': `
        import { make } from 'lib'
        const counter = make(1)
        const bump = (by) => { counter.n += by }
        bump(4)
        export const task = () => counter.double()
      `,
    })
    const { task } = (await import(tree.url('app/main.mjs'))) as { task: () => number }
    assert.equal(new TwoSides().send(task)(), 10)
  })
})

/** Packages whose `make` returns what cannot be found elsewhere. */
const UNSEEN: readonly (readonly [title: string, text: string, file?: string])[] = [
  [
    'a function that a call has made, in a variable of the module',
    `let current
    const set = (n) => { current = () => n }
    set(1)
    export const make = () => ({ current })`,
  ],
  [
    'one in an object of the module',
    `const all = {}
    const set = (n) => { all.current = { current() { return n } }.current }
    set(1)
    export const make = () => all`,
  ],
  [
    'a class that no exported function sees',
    `(() => { ${HIDDEN}\n globalThis[Symbol.for('made')] = () => new Hidden() })()
    const made = globalThis[Symbol.for('made')]
    delete globalThis[Symbol.for('made')]
    export const make = () => made()`,
  ],
]

describe('refused is', () => {
  const refused = (value: unknown): void => {
    const isRefusal = (error: unknown): boolean =>
      error instanceof SerializeError && error.message.includes('there is no export')
    assert.throws(() => new TwoSides().send(value), isRefusal)
  }

  for (const [title, text, file] of UNSEEN) {
    test(title, async (t) => {
      const { make } = await installed(t, text, file)
      refused(make(1))
    })
  }

  test('a class to which another file has added members: a worker may lack them', async (t) => {
    const { make } = await installed(t, `${HIDDEN}\nexport const make = (n) => new Hidden(n)`)
    Object.assign(Object.getPrototypeOf(make()) as object, { triple: () => 3 })
    refused(make(1))
  })
})

test('an object whose contents its package keeps in a weak map is refused, if it shows none', async (t) => {
  const { make, memo, Empty } = (await installed(
    t,
    `const contents = new WeakMap()
    export class Day { constructor(n) { contents.set(this, n) } get() { return contents.get(this) } }
    export class Empty { }
    export class Memo { constructor(n) { this.n = n; contents.set(this, n) } }
    export const make = (n) => new Day(n)
    export const memo = (n) => new Memo(n)`,
  )) as Package & { memo: Package['make']; Empty: new () => object }
  const sides = new TwoSides()
  const message = /a Day cannot travel to another process: only its class can set its contents/
  assert.throws(() => sides.send({ day: make(1) }), message)
  assert.throws(() => sides.send([new Empty(), make(1)]), message)
  assert.deepEqual(sides.send([memo(1), new Empty(), new Empty()]), [
    memo(1),
    new Empty(),
    new Empty(),
  ])
})

// Classes with private names as a compiler has lowered them for older engines, with the names of
// its helpers and stores as they are or minified. What counts as such a class is tested in
// source/private/store.test.ts.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test, type TestContext } from 'node:test'
import { transformSync, type TransformOptions } from 'esbuild'
import { PackageTree } from '../module/package-tree.kit.js'
import { TwoSides } from '../two-sides.kit.js'

const CLASSES = `
  class Counter {
    #count = 1
    static #made = 0
    accessor step = 2
    constructor() { Counter.#made += 1 }
    #next() { return this.#count + this.step }
    static #total() { return Counter.#made }
    get #double() { return this.#count * 2 }
    set #double(value: number) { this.#count = value / 2 }
    up() { this.#count = this.#next(); return this }
    twice() { this.#double += 2; return this.#double }
    is(other: Counter) { return this.#count === other.#count }
    static has(value: object) { return #count in value && #next in value }
    static made() { return typeof Counter.#total() }
  }
  class Loud extends Counter {
    #volume = 11
    get volume() { return this.#volume }
  }
  exports.counter = new Counter().up()
  exports.up = (counter: Counter) => counter.up()
  exports.twice = (counter: Counter) => counter.twice()
  exports.all = () => {
    const loud = new Loud().up()
    const isCounter = [Counter.has(loud), Counter.has({})]
    return [loud.twice(), loud.volume, loud.is(loud), loud.step, isCounter, Counter.made()]
  }`

const CACHE = `
  const cache = new WeakMap<object, number>()
  const kept = (store: WeakMap<object, number>, key: object) => {
    if (!store.has(key)) store.set(key, Math.random())
    return store.get(key)
  }
  class Shape {
    constructor() { kept(cache, this) }
  }
  exports.area = (key: object) => [new Shape(), kept(cache, key)]`

type Exports = Readonly<Record<string, (...parameters: unknown[]) => unknown>>

function load(t: TestContext, source: string, form: TransformOptions): Exports {
  const { code } = transformSync(source, { loader: 'ts', format: 'cjs', ...form })
  const tree = new PackageTree(t, { 'app/tasks.cjs': code })
  return createRequire(tree.path('app/main.cjs'))('./tasks.cjs') as Exports
}

const FORMS: readonly TransformOptions[] = [
  {},
  { minifyIdentifiers: true },
  { minify: true },
  { minify: true, keepNames: true },
]

for (const form of FORMS) {
  const how = Object.keys(form).join(', ') || 'as it is'
  const options = { ...form, target: 'es2020' }

  test(`a class with private names, for ES2020, ${how}, travels with its instances`, (t) => {
    const { all, counter, up, twice } = load(t, CLASSES, options)
    assert.ok(all !== undefined && up !== undefined && twice !== undefined)
    const sides = new TwoSides()
    assert.deepEqual(sides.send(all)(), [8, 11, true, 2, [true, false], 'number'])
    const there = sides.send({ counter, up, twice })
    assert.equal(there.twice(there.up(there.counter)), 12)
    // Its state here is as before, and another task begins with that.
    assert.equal(twice(sides.andBack(counter)), 8)
    sides.beginTask()
    const other = sides.send({ counter, twice })
    assert.equal(other.twice(other.counter), 8)
    assert.equal(twice(sides.back(there.counter)), 14)
    assert.equal(twice(counter), 8)
  })

  test(`a cache is refused, ${how}`, (t) => {
    const { area } = load(t, CACHE, options)
    assert.throws(() => new TwoSides().send(area), /a WeakMap cannot travel/)
  })
}

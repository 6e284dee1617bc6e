// Imports from packages that assign what they export: on a worker, too, a function reads the
// present value.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test, type TestContext } from 'node:test'
import { TwoSides } from '../two-sides.kit.js'
import type { AnyFunction } from './native.js'
import { PackageTree } from './package-tree.kit.js'
import { ReassignedExports } from './reassigned.js'

const MAIN = `
  export let count = 0
  export const add = (step = 1) => { count += step }
  let hidden = 'before'
  export { hidden as shown, hidden as default }
  export const show = () => { hidden = 'after' }
  export let parse
  export const init = async () => { parse = (text) => text.length }
  export let tag = () => 'first'
  export const retag = () => { tag = ([text]) => text }
  export const STEADY = 1
  export * from './more.mjs'
  export { total as sum, add as addTotal } from './sum.mjs'
`
const FILES = {
  'main.mjs': MAIN,
  'more.mjs': `import { total } from './sum.mjs'; export { total }; export * from './deep/deep.mjs'`,
  'sum.mjs': 'export var total = 0; export function add() { total++ }',
  'deep/deep.mjs':
    'export let deep = 1; export const deepen = () => { ({ deep } = { deep: 2 }); deep += 1 }',
  'steady.mjs': `
    export const fixed = 1
    export let once = 2
    const inner = () => { let once = 0; once += 1; return once }
    export { inner as changing }
    export class Shape {}
    export function make() { return new Shape() }
    export var table = {}, other = 3
    table.other = 4
  `,
  'main.cjs': 'exports.count = 0; exports.add = () => { exports.count += 1 }',
}

function installed(t: TestContext, files: Readonly<Record<string, string>> = {}): PackageTree {
  const tree = new PackageTree(t, files)
  const exports = { '.': './main.mjs', './old': './main.cjs' }
  tree.install('pack', { exports }, FILES)
  return tree
}

const TASKS = `
  import whole, { count, add, shown, show, parse, init, tag, retag, sum, addTotal, total, deep, deepen, STEADY } from 'pack'
  export const counts = () => { const before = count; add(); add(2); return count - before }
  export const names = () => { const before = [shown, whole]; show(); return [...before, shown, whole] }
  export const lazy = async () => { const before = typeof parse; await init(); return [before, parse('abc')] }
  export const tagged = () => { retag(); return [tag\`x\`, { tag }.tag(['y'])] }
  export const totals = () => { const before = sum; addTotal(); return [sum - before, total - before] }
  export const inner = () => { deepen(); return [1].map(() => deep + STEADY)[0] }
  export class Reader { last = count; get now() { return count } static at(value = count) { return value } }
  export const classes = () => { const one = new Reader(); add(); return [one.now - one.last, Reader.at() - one.last] }
  export const readsOnly = () => count
  export const adds = () => add()
`

test('a function reads what the package has assigned since it was sent', async (t) => {
  const tree = installed(t, { 'app/tasks.mjs': TASKS })
  const tasks = (await import(tree.url('app/tasks.mjs'))) as Record<string, AnyFunction>
  const sides = new TwoSides()
  const sent = (name: string): AnyFunction => sides.send(tasks[name]) as AnyFunction
  // Before anything is called: it is one module here and there.
  const names = ['counts', 'names', 'lazy', 'tagged', 'totals', 'inner', 'classes', 'adds']
  const there = new Map([...names, 'readsOnly'].map((name) => [name, sent(name)]))
  const call = (name: string): unknown =>
    Reflect.apply(there.get(name) as AnyFunction, undefined, [])
  assert.equal(call('counts'), 3)
  assert.deepEqual(call('names'), ['before', 'before', 'after', 'after'])
  assert.deepEqual(await call('lazy'), ['undefined', 3])
  assert.deepEqual(call('tagged'), ['x', 'y'])
  assert.deepEqual(call('totals'), [1, 1])
  assert.equal(call('inner'), 4)
  assert.deepEqual(call('classes'), [1, 1])
  const before = Number(call('readsOnly'))
  call('adds')
  assert.equal(call('readsOnly'), before + 1)
  const again = sides.back(there.get('readsOnly')) as AnyFunction
  call('adds')
  assert.equal(Reflect.apply(again, undefined, []), before + 2)
})

test('re-exports lead to the variable, and functions that tasks make read it, too', async (t) => {
  const tree = installed(t, {
    'app/barrel.mjs': `
      export { count as counted, default } from 'pack'
      import { add, sum } from 'pack'
      export { add, sum as total }
      export * from './more.mjs'`,
    'app/more.mjs': `export * from 'other'; export const own = 1`,
    'app/tasks.mjs': `
      import shown, { counted, add, total, count, addTotal, own } from './barrel.mjs'
      import { show } from 'pack'
      const change = (read, act) => { const before = read(); act(); return [before, read()] }
      export const named = () => { const [a, b] = change(() => counted, add); return b - a }
      export const star = () => { const [a, b] = change(() => count, add); return b - a + own }
      export const imported = () => { const [a, b] = change(() => total, addTotal); return b - a }
      export const whole = () => change(() => shown, show)
      export const makes = () => () => { const [a, b] = change(() => count, add); return b - a }`,
  })
  tree.install('other', { exports: './main.mjs' }, { 'main.mjs': `export * from 'pack'` })
  const tasks = (await import(tree.url('app/tasks.mjs'))) as Record<string, AnyFunction>
  const sides = new TwoSides()
  const run = (fn: unknown): unknown => Reflect.apply(fn as AnyFunction, undefined, [])
  const answer = (name: string): unknown => run(sides.send(tasks[name]))
  assert.equal(answer('named'), 1)
  assert.equal(answer('star'), 2)
  assert.equal(answer('imported'), 1)
  assert.deepEqual(answer('whole'), ['before', 'after'])
  const made = answer('makes')
  assert.equal(run(made), 1)
  const back = sides.back(made)
  assert.equal(run(back), 1)
  assert.equal(run(sides.send(back)), 1)
})

test('only exports that are assigned again are read each time', (t) => {
  const tree = installed(t)
  const at = (file: string): string => tree.path(`app/node_modules/pack/${file}`)
  const exports = new ReassignedExports(() => undefined)
  const found = (file: string, names: readonly string[]): readonly string[] =>
    names.filter((name) => exports.has(at(file), name))
  const own = ['count', 'add', 'shown', 'default', 'parse', 'tag', 'STEADY', 'sum', 'total', 'deep']
  assert.deepEqual(
    found('main.mjs', own),
    own.filter((name) => name !== 'add' && name !== 'STEADY'),
  )
  const steady = ['fixed', 'once', 'changing', 'Shape', 'make', 'table', 'other', 'missing']
  assert.deepEqual(found('steady.mjs', steady), [])
  assert.deepEqual(found('main.cjs', ['count', 'add']), [])
  assert.deepEqual(found('missing.mjs', ['count']), [])
})

test('modules that compilers and `require` wrap keep their state where they are imported', async (t) => {
  const tree = installed(t, {
    'app/old.cjs': `
      const wrap = (module) => (module && module.__esModule ? module : { default: module })
      const pack_1 = wrap(require('pack/old'))
      exports.old = () => { const { count } = pack_1.default; pack_1.default.add(); return pack_1.default.count - count }
      const live = require('./live.mjs')
      exports.live = () => { const { count } = live; live.add(); return live.count - count }`,
    'app/live.mjs': 'export let count = 0; export const add = () => { count += 1 }',
    'app/tasks.mjs': `
      import * as pack from 'pack'
      const held = [pack]
      export const value = (whole) => { const before = whole.count; whole.add(); return whole.count - before }
      export const captured = () => value(held[0])
      export { pack }`,
  })
  const sides = new TwoSides()
  const call = (fn: unknown, ...args: unknown[]): unknown =>
    Reflect.apply(sides.send(fn) as AnyFunction, undefined, sides.send(args))
  const old = createRequire(tree.path('app/'))('./old.cjs') as Record<string, AnyFunction>
  assert.equal(call(old['old']), 1)
  assert.equal(call(old['live']), 1)
  const tasks = (await import(tree.url('app/tasks.mjs'))) as Record<string, unknown>
  assert.equal(call(tasks['value'], tasks['pack']), 1)
  assert.equal(call(tasks['captured']), 1)
  assert.equal(sides.andBack(tasks['pack']), tasks['pack'])
})

test('all ways of assigning an exported variable count', (t) => {
  const tree = new PackageTree(t)
  tree.install(
    'pack',
    {},
    {
      'main.mjs': `
      export let first, second, third, fourth
      export class Fifth {}
      export let sixth = 1
      export function change(list) {
        [first] = list
        for (second of list);
        ({ third, a: [fourth] } = list)
        Fifth = class {}
        sixth ??= 2
      }`,
    },
  )
  const exports = new ReassignedExports(() => undefined)
  const path = tree.path('app/node_modules/pack/main.mjs')
  const names = ['first', 'second', 'third', 'fourth', 'Fifth', 'sixth', 'change']
  assert.deepEqual(
    names.filter((name) => exports.has(path, name)),
    names.slice(0, -1),
  )
})

// Modules that esbuild has put into one file, and that are loaded by `import()` when they are
// needed: functions that use several of them, before and after the program itself has used them.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test, type TestContext } from 'node:test'
import { buildSync, type BuildOptions } from 'esbuild'
import { PackageTree } from './module/package-tree.kit.js'
import { TwoSides } from './two-sides.kit.js'

const FILES = {
  'app/a.mjs': `
    export let hits = 0
    export const hit = () => (hits += 1)`,
  'app/b.mjs': `
    import { hit, hits } from './a.mjs'
    const own = []
    export const both = () => { own.push(hit()); return [...own, hits] }`,
  'app/c.mjs': `export const c = () => 'c'`,
  'app/bad.mjs': `throw new RangeError('bad')`,
  'app/worse.mjs': `throw new RangeError('worse')`,
  'app/main.mjs': `
    const a = async () => (await import('./a.mjs')).hit()
    const all = async () => {
      const { hit } = await import('./a.mjs')
      const { both } = await import('./b.mjs')
      return [hit(), both(), (await import('./c.mjs')).c(), (await import('./a.mjs')).hits]
    }
    const either = async (name) =>
      Object.keys(name === 'a' ? await import('./a.mjs') : await import('./c.mjs'))
    const fail = async () => {
      const reason = ({ message }) => message
      return [await import('./bad.mjs').catch(reason), await import('./worse.mjs').catch(reason),
        await import('./bad.mjs').catch(reason)]
    }
    export { a, all, either, fail }`,
}

type Tasks = Readonly<Record<'a' | 'all' | 'either' | 'fail', (name?: string) => Promise<unknown>>>

function load(t: TestContext, form: BuildOptions): Tasks {
  const tree = new PackageTree(t, FILES)
  buildSync({
    entryPoints: [tree.path('app/main.mjs')],
    outfile: tree.path('app/out.cjs'),
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
    ...form,
  })
  return createRequire(tree.path('app/main.cjs'))('./out.cjs') as Tasks
}

const FORMS: readonly BuildOptions[] = [
  {},
  { minify: true },
  { keepNames: true },
  { target: 'es2020' },
  { target: 'es2020', minify: true },
]

for (const form of FORMS) {
  test(`modules in a bundle have the state that they have here: ${JSON.stringify(form)}`, async (t) => {
    const sides = new TwoSides()
    const { a, all, either, fail } = load(t, form)
    const there = async (fn: Tasks['a'], name?: string): Promise<unknown> => {
      sides.beginTask()
      return sides.send(fn)(name)
    }
    // Nothing has been loaded yet, here or there.
    for (const _again of [1, 2]) {
      assert.deepEqual(await there(all), [1, [2, 2], 'c', 2])
      assert.deepEqual(await there(either, 'a'), ['hit', 'hits'])
      assert.deepEqual(await there(fail), ['bad', 'worse', 'bad'])
    }
    assert.equal(await a(), 1)
    // One of them has.
    assert.deepEqual(await there(all), [2, [3, 3], 'c', 3])
    assert.deepEqual(await there(either, 'c'), ['c'])
    assert.deepEqual(await all(), [2, [3, 3], 'c', 3])
    // All have.
    for (const _again of [1, 2]) {
      assert.deepEqual(await there(all), [4, [3, 5, 5], 'c', 5])
      assert.deepEqual(await there(either, 'a'), ['hit', 'hits'])
      assert.equal(await there(a), 4)
    }
    const [all2, a2] = sides.send([all, a])
    assert.deepEqual([await a2?.(), await all2?.()], [4, [5, [3, 6, 6], 'c', 6]])
    assert.deepEqual(await fail(), ['bad', 'worse', 'bad'])
    assert.deepEqual(await there(fail), ['bad', 'worse', 'bad'])
    assert.deepEqual(await all(), [4, [3, 5, 5], 'c', 5])
  })

  test(`modules that the program has used before it sends anything: ${JSON.stringify(form)}`, async (t) => {
    const sides = new TwoSides()
    const { a, all, either, fail } = load(t, form)
    assert.deepEqual(await all(), [1, [2, 2], 'c', 2])
    assert.deepEqual(await fail(), ['bad', 'worse', 'bad'])
    assert.deepEqual(await sides.send(all)(), [3, [2, 4, 4], 'c', 4])
    assert.deepEqual(await sides.send(fail)(), ['bad', 'worse', 'bad'])
    assert.deepEqual(await sides.send(either)('c'), ['c'])
    const [one, other] = sides.send([a, all])
    assert.deepEqual([await one?.(), await other?.()], [3, [4, [2, 5, 5], 'c', 5]])
    assert.deepEqual(await all(), [3, [2, 4, 4], 'c', 4])
  })
}

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { PackageTree } from '../module/package-tree.kit.js'
import type { AnyFunction } from '../module/native.js'
import { TwoSides } from '../two-sides.kit.js'
import { isReplaced } from './mock.js'

/** The proxy that vitest makes of what a factory returns. */
const MOCKER = `
  export const mock = (exports) => new Proxy(exports, { get: (target, prop) => {
    const val = target[prop]
    if (prop === 'then') return undefined
    if (!(prop in target)) throw new Error(\`No "\${prop}" export is defined on the "./m" mock. Did you forget to return it from "vi.mock"?\`)
    return val
  } })
  export const other = (exports) => new Proxy(exports, { get: (target, prop) => target[prop] ?? 3 })
`

/** A test file as vitest compiles it. */
const TASKS = `
  import { mock, other } from 'MOCKER'
  const __vite_ssr_dynamic_import__ = async (path) => path === './other' ? other(CONTENT) : mock(CONTENT)
  const __vi_import_0__ = await __vite_ssr_dynamic_import__('./m')
  const __vi_import_1__ = await __vite_ssr_dynamic_import__('./other')
  export const once = () => __vi_import_0__.once(2)
  export const twice = () => __vi_import_0__.twice(2)
  export const names = () => Object.keys(__vi_import_0__)
  export const whole = () => __vi_import_0__
  export const any = () => __vi_import_1__
  export const held = ((own) => () => own.once(2))(mock(CONTENT))
`

const CONTENT = '{ unit: 100, once: (x) => x * 300, twice(x) { return this.unit * x } }'

type Tasks = Readonly<Record<string, AnyFunction>>

async function tasksOf(t: TestContext, content = CONTENT, by = 'vitest'): Promise<Tasks> {
  const tree = new PackageTree(t)
  tree.install(by, { type: 'module' }, { 'dist/mocker.js': MOCKER })
  const text = TASKS.replaceAll('CONTENT', content).replace('MOCKER', `${by}/dist/mocker.js`)
  tree.write({ 'app/tasks.mjs': text })
  return (await import(tree.url('app/tasks.mjs'))) as Tasks
}

function answer(task: AnyFunction | undefined): unknown {
  assert(task !== undefined)
  return Reflect.apply(new TwoSides().send(task), undefined, [])
}

test('a module that vitest mocks travels as what its factory returned', async (t) => {
  const tasks = await tasksOf(t)
  assert.equal(answer(tasks['once']), 600)
  assert.equal(answer(tasks['twice']), 200)
  assert.deepEqual(answer(tasks['names']), ['unit', 'once', 'twice'])
})

test('any other proxy is refused, also one that a factory returned', async (t) => {
  const tasks = await tasksOf(t)
  assert.throws(() => answer(tasks['any']), /a Proxy cannot travel/)
  assert.throws(() => answer(tasks['held']), /a Proxy cannot travel/)
  const proxies = await tasksOf(t, `new Proxy(${CONTENT}, {})`)
  for (const name of ['once', 'whole']) {
    assert.throws(() => answer(proxies[name]), /a Proxy cannot travel/)
  }
  const others = await tasksOf(t, CONTENT, 'other-package')
  assert.throws(() => answer(others['whole']), /a Proxy cannot travel/)
})

/** The exports of a module that has `export *`, as vite makes them. */
const RUNNER = `
  export const exportAll = (exports, sourceModule) => {
    for (const key in sourceModule) Object.defineProperty(exports, key, {
      enumerable: true, configurable: true, get: () => sourceModule[key],
    })
  }
`

/** Three modules as vite compiles them: the last of them has a test. */
const BARREL = `
  import { exportAll } from 'RUNNER'
  const declared = {}
  const first = {}
  const second = {}
  const __vite_ssr_exportName__ = (name, get) =>
    Object.defineProperty(declared, name, { enumerable: true, configurable: true, get })
  __vite_ssr_exportName__('count', () => { try { return count } catch {} })
  __vite_ssr_exportName__('inc', () => { try { return inc } catch {} })
  let count = 0
  const inc = () => (count += 1)
  exportAll(first, declared)
  exportAll(second, first)
  const __vite_ssr_import__ = async () => second
  const __vite_ssr_import_0__ = await __vite_ssr_import__('./second.js')
  export const bump = () => inc()
  export const seen = () => __vite_ssr_import_0__.count
  export const both = () => [__vite_ssr_import_0__.inc(), __vite_ssr_import_0__.count]
  export const direct = () => [inc(), __vite_ssr_import_0__.count]
`

test('a variable that vite exports again is that of its module', async (t) => {
  const tasksBy = async (by: string): Promise<Tasks> => {
    const tree = new PackageTree(t)
    tree.install(by, { type: 'module' }, { 'dist/runner.js': RUNNER })
    tree.write({ 'app/tasks.mjs': BARREL.replace('RUNNER', `${by}/dist/runner.js`) })
    return (await import(tree.url('app/tasks.mjs'))) as Tasks
  }
  for (const by of ['vite', 'vitest', 'vite-node']) {
    const tasks = await tasksBy(by)
    assert.equal(answer(tasks['seen']), 0)
    tasks['bump']?.()
    assert.equal(answer(tasks['seen']), 1)
    assert.deepEqual(answer(tasks['both']), [2, 2])
    assert.deepEqual(answer(tasks['direct']), [2, 2])
  }
  const others = await tasksBy('other-package')
  assert.throws(() => answer(others['seen']), /get .*other-package cannot travel/)
})

test('a module counts as replaced while vitest has a mock for its file', (t) => {
  assert.equal(isReplaced('file:///app/m.ts'), false)
  const getDependencyMock = (path: string): unknown => (path === '/app/m.ts' ? {} : undefined)
  Object.assign(globalThis, { __vitest_mocker__: { getDependencyMock } })
  t.after(() => Reflect.deleteProperty(globalThis, '__vitest_mocker__'))
  assert.equal(isReplaced('file:///app/m.ts'), true)
  assert.equal(isReplaced('file:///app/other.ts'), false)
  assert.equal(isReplaced(''), false)
})

// The programs for the tests of test runners: a test file that means the same in Jest, after Babel
// or as an ES module, and in vitest. `describe`, `test` and `expect` are globals.

import { MODULE_SCOPE, MODULE_SCOPE_ANSWERS, MODULE_SCOPE_IMPORTS } from './module-scope.kit.js'

const TESTS = `
let client
beforeAll(async () => { client = await Client.local({ workers: 2 }) }, 120_000)
afterAll(() => client.close(), 120_000)

// Jest has none for ES modules.
const runner = globalThis.vi ?? (typeof jest === 'undefined' ? undefined : jest)
const testWithFakes = runner === undefined ? test.skip : test
const rate = 2
class Point {
  #hidden = 1
  constructor(x) { this.x = x }
  get twice() { return this.x * rate }
  static origin() { return new Point(0) }
}
class OwnError extends Error {}

test('closures, classes, and their results, which equal those of local calls', async () => {
  expect(await client.submit((n) => n * rate, 21)).toBe(42)
  expect(await client.map((n) => n + rate, [1, 2, 3])).toEqual([3, 4, 5])
  const make = () => ({ list: [1, { a: 1 }], map: new Map([[1, 2]]), set: new Set([1]), at: new Date(5), bytes: new Uint8Array([1]), pattern: /a/g })
  expect(await client.submit(make)).toEqual(make())
  expect(await client.submit(make)).toStrictEqual(make())
  expect(await client.submit(() => [1, 2])).toStrictEqual([1, 2])
  const points = client.with({}).submit(() => Shape.unit().size)
  expect(await points).toBe(1)
  expect(await client.submit((shape) => shape.size, new Shape(3))).toBe(3)
  expect(await client.submit((size) => new Shape(size), 2)).toStrictEqual(new Shape(2))
  expect(await client.submit(() => new Shape(2))).toBeInstanceOf(Shape)
  expect(await client.submit(() => Point.origin().twice)).toBe(0)
})

test('arguments are of the classes that the task knows', async () => {
  const kinds = await client.submit(
    (...values) => values.map((value) => Object.getPrototypeOf(value) === [Array, Map, Date, TypeError, Uint8Array, RegExp, Object, Promise][values.indexOf(value)].prototype),
    [1], new Map(), new Date(), new TypeError('x'), new Uint8Array(2), /x/, {},
  )
  expect(kinds).toEqual([true, true, true, true, true, true, true])
  const files = readdirSync('.')
  expect(await client.submit((list) => list instanceof Array && list.length, files)).toBe(files.length)
  const memory = process.memoryUsage()
  expect(await client.submit(() => memory.rss)).toBe(memory.rss)
})

test('errors are of the classes that the test knows', async () => {
  await expect(client.submit(() => { throw new TypeError('bad') })).rejects.toThrow(TypeError)
  await expect(client.submit(() => { throw new TypeError('bad') })).rejects.toThrow('bad')
  await expect(client.submit(() => undefined.x)).rejects.toThrow(TypeError)
  await expect(client.submit(() => { throw new OwnError('mine') })).rejects.toThrow(OwnError)
  await expect(client.submit(() => readFileSync('/none'))).rejects.toThrow(/ENOENT/)
  const endless = client.with({ timeoutMs: 200 }).submit(() => { for (;;); })
  await expect(endless).rejects.toThrow(TaskTimeoutError)
})

test('a value that cannot travel is named with the line that uses it', async () => {
  const refused = new WeakMap()
  const error = await client.submit(() => refused.has({})).catch((reason) => reason)
  const lines = readFileSync(expect.getState().testPath, 'utf8').split('\\n')
  const line = lines.findIndex((text) => text.includes('refused' + '.has')) + 1
  const name = basename(expect.getState().testPath)
  expect(error.message).toContain('refused (captured at ' + name + ':' + line + ')')
})

test('imports: of Node, of packages, of files beside the test, inside of tasks', async () => {
  expect(await client.submit((path) => basename(path), '/a/b')).toBe('b')
  expect(await client.submit(add, 1, 2)).toBe(3)
  expect(await client.submit(() => add(1, 2) + square(3))).toBe(12)
  expect(await client.submit(square, 3)).toBe(9)
  expect(await client.submit((value) => shape.parse(value), { size: 2 })).toEqual({ size: 2 })
  expect(await client.submit(() => [0, 1].map((n) => size.safeParse(n).success))).toEqual([false, true])
  expect(await client.submit(async () => (await import('runner-package')).add(1, 2))).toBe(3)
  expect(await client.submit(async () => (await import('scaler-ts')).currentTask().attempt)).toBe(1)
})

test('tasks that submit tasks, and graphs', async () => {
  const fibonacci = async (n) => {
    if (n < 2) return n
    const inner = currentClient()
    return (await inner.submit(fibonacci, n - 1)) + (await inner.submit(fibonacci, n - 2))
  }
  expect(await client.submit(fibonacci, 4)).toBe(3)
  expect(await client.submit((outer) => outer.submit(() => 3), client)).toBe(3)
  const inc = (n) => n + 1
  const sum = (a, b) => a + b
  const graph = { a: 1, b: [inc, 'a'], c: [sum, 'a', 'b'] }
  expect(await client.get(graph, ['c'])).toStrictEqual({ c: 3 })
  expect(typeof (await client.submit(() => currentTask().id))).toBe('string')
})

test('objects at the top of a module', async () => {
  expect(await inTasks(client)).toEqual(${JSON.stringify(MODULE_SCOPE_ANSWERS)})
})

testWithFakes('fake timers of the runner leave the client alone', async () => {
  const { setTimeout: real } = globalThis
  runner.useFakeTimers()
  try {
    expect(setTimeout).not.toBe(real)
    expect(await client.submit((n) => n * rate, 4)).toBe(8)
    expect(await client.map((n) => n + rate, [1, 2])).toEqual([3, 4])
    runner.setSystemTime(7_000)
    const then = new Date()
    expect(await client.submit((date) => [date.getTime(), then.getTime()], new Date())).toEqual([7_000, 7_000])
    expect(await client.submit(() => new Date(9))).toEqual(new Date(9))
    const slow = client.with({ timeoutMs: 100 }).submit(() => { for (;;); })
    await expect(slow).rejects.toThrow(TaskTimeoutError)
    const other = await Client.local({ workers: 1 })
    expect(await other.submit(() => new Promise((resolve) => setTimeout(resolve, 1, 'later')))).toBe('later')
    await other.close()
  } finally {
    runner.useRealTimers()
  }
}, 20_000)

test('globals and built-ins travel by their names', async () => {
  const { Array: list, Map: map, TypeError: error, Uint8Array: bytes, URL: url, setTimeout: later, parseInt: parse } = globalThis
  const same = await client.submit(() => [list === Array, map === Map, error === TypeError, bytes === Uint8Array, url === URL, later === setTimeout, parse === parseInt])
  expect(same).toEqual([true, true, true, true, true, true, true])
  const here = globalThis
  expect(await client.submit(() => here === globalThis)).toBe(true)
  const encoder = new TextEncoder()
  expect(await client.submit(() => encoder.encode('ab').length)).toBe(2)
})
`

const IMPORTS = `
import { readdirSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { add } from 'runner-package'
import { Client, TaskTimeoutError, currentClient, currentTask } from 'scaler-ts'
import { Shape, shape, size, square } from './own.js'
`

const OWN = `
import { z } from 'zod'
export const size = z.number().refine((n) => (n > 0 ? true : false))
export const shape = z.object({ size, name: z.string().optional() })
export const square = (n) => {
  if (n > 100) { return undefined }
  return n * n
}
export class Shape {
  constructor(size) { this.size = size }
  static unit() { return new Shape(1) }
}
`

/** Files of a project for any runner; `tests` are the names of its test files. */
export function runnerFiles(tests: readonly string[]): Readonly<Record<string, string>> {
  const files: Record<string, string> = {
    'own.js': OWN,
    'node_modules/runner-package/package.json': '{"name":"runner-package","main":"./main.cjs"}',
    'node_modules/runner-package/main.cjs': 'exports.add = (a, b) => a + b\n',
  }
  for (const name of tests) files[name] = IMPORTS + MODULE_SCOPE_IMPORTS + MODULE_SCOPE + TESTS
  return files
}

/** The files of a test that mocks modules; only vitest moves the calls before the imports. */
export const MOCKS: Readonly<Record<string, string>> = {
  'mock.test.js': `
import { add } from 'runner-package'
import { Client } from 'scaler-ts'
import { checkAll } from './lists.js'
import * as own from './own.js'
import { Shape, shape, square } from './own.js'
import { ninth, twice } from './twice.js'
vi.mock('./twice.js', () => ({ unit: 100, twice(n) { return n * this.unit }, ninth: (n) => n * 900 }))
vi.mock('./own.js', async (original) => {
  const { z } = await import('zod')
  return { ...(await original()), square: (n) => n * 300, shape: z.object({ size: z.string() }) }
})

let client
beforeAll(async () => { client = await Client.local({ workers: 1 }) }, 120_000)
afterAll(() => client.close(), 120_000)

test('tasks use mocks of vitest as the test does', async () => {
  expect(await client.submit(() => square(2))).toBe(600)
  expect(await client.submit(() => own.square(2) + ninth(1))).toBe(1500)
  expect(await client.submit(() => twice(2))).toBe(200)
  expect(await client.submit(() => new Shape(3).size + add(1, 2))).toBe(6)
  const later = await import('./own.js')
  expect(await client.submit(() => later.square(1))).toBe(300)
  await expect(client.submit(() => Object.keys(own))).rejects.toThrow(/Zod\\w+ of package zod/)
})

test('what a mock replaces is never used instead of it', async () => {
  expect(checkAll([{ size: 'a' }])).toBe(true)
  await expect(client.submit((value) => shape.parse(value), {})).rejects.toThrow(/ZodObject/)
  await expect(client.submit((value) => checkAll(value), [])).rejects.toThrow(/ZodArray/)
})

test('a proxy of the test is refused', async () => {
  const proxy = new Proxy({ a: 1 }, { get: () => 4 })
  await expect(client.submit(() => proxy.a)).rejects.toThrow(/a Proxy/)
})
`,
  'live.test.js': `
import { Client } from 'scaler-ts'
import { bump, version } from './barrel.js'
import * as barrel from './barrel.js'
import * as live from './live.js'

let client
beforeAll(async () => { client = await Client.local({ workers: 1 }) }, 120_000)
afterAll(() => client.close(), 120_000)

test('a variable that a module changes is the same through each module that exports it', async () => {
  expect(await client.submit(() => [version, barrel.version, live.version])).toEqual([1, 1, 1])
  expect(bump()).toBe(2)
  expect(await client.submit(() => [bump(), version, barrel.version, live.version])).toEqual([3, 3, 3, 3])
  expect(await client.submit(() => [barrel.version, live.bump(), barrel.version])).toEqual([2, 3, 3])
})
`,
  'live.js': `
export let version = 1
export const bump = () => (version += 1)
`,
  'inner.js': "export * from './live.js'",
  'barrel.js': "export * from './inner.js'",
  'twice.js': `
export const twice = (n) => n * 2
export const ninth = (n) => n * 9
`,
  'lists.js': `
import { z } from 'zod'
import { shape } from './own.js'
const list = z.array(shape)
export const checkAll = (values) => list.safeParse(values).success
`,
}

/** A test file that Jest runs as it is, without any configuration. */
export const PLAIN_TEST = `
const { Client, currentClient, TaskTimeoutError } = require('scaler-ts')

test('the package works', async () => {
  const client = await Client.local({ workers: 1 })
  const rate = 2
  expect(await client.submit((n) => [n * rate], 21)).toStrictEqual([42])
  expect(await client.submit(() => currentClient().submit(() => 3))).toBe(3)
  expect(await client.submit((inner) => inner.submit(() => 3), client)).toBe(3)
  await expect(client.submit(() => { throw new RangeError('bad') })).rejects.toThrow(RangeError)
  await client.close()
}, 120_000)
`

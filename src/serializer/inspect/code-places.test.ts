import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import * as path from 'node:path'
import { test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Inspector } from './inspector.js'
import type { AnyFunction } from '../module/native.js'
import { TestAnalyst } from '../function/analyst.kit.js'

const table = { rate: 2 }
let level = 1

/** An analyst, and how often it has asked the inspector about functions. */
function counted(): { readonly kit: TestAnalyst; readonly asked: () => number } {
  let asked = 0
  const inspector = Inspector.open()
  assert(inspector !== undefined)
  const ask = inspector.functionView.bind(inspector)
  inspector.functionView = (fn) => {
    asked += 1
    return ask(fn)
  }
  return { kit: new TestAnalyst(() => inspector), asked: () => asked }
}

/** Functions made by three turns of a loop. */
function three<F extends AnyFunction>(make: (index: number) => F): readonly F[] {
  return [0, 1, 2].map(make)
}

/** The exports of a module with this text; each `query` is another instance of it. */
async function instances(
  t: TestContext,
  text: string,
  queries: readonly string[],
): Promise<readonly { readonly make: () => AnyFunction }[]> {
  const directory = mkdtempSync(path.join(tmpdir(), 'places-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const file = path.join(directory, 'module.mjs')
  writeFileSync(file, text)
  const { href } = pathToFileURL(file)
  const loaded = queries.map((query) => import(`${href}?${query}`) as Promise<unknown>)
  return (await Promise.all(loaded)) as { make: () => AnyFunction }[]
}

test('of functions made at one place, only the first is examined', () => {
  const { kit, asked } = counted()
  for (const make of [
    () => (x: number) => x + 1,
    () => (x: number) => Math.max(x, table.rate),
    (index: number) => {
      const own = (): number => index
      assert.equal(own(), index)
      return async (x: number) => Promise.resolve(x * table.rate)
    },
  ]) {
    const [first, ...others] = three<AnyFunction>(make)
    const { code } = kit.source(first as AnyFunction)
    const before = asked()
    for (const fn of others) assert.equal(kit.source(fn).code, code)
    assert.equal(asked(), before)
  }
})

test('each of them has its own variables, and the current value of one that changes', () => {
  const kit = new TestAnalyst()
  for (const [index, fn] of three((each) => () => each).entries()) {
    assert.deepEqual(kit.content(fn, 'each'), { kind: 'value', value: index })
  }
  for (const [index, fn] of three(() => () => level).entries()) {
    level = index + 10
    const content = kit.content(fn, 'level')
    assert(content.kind === 'cell' && content.value === index + 10)
  }
})

test('an inner variable hides that of the module at one place, not at another', () => {
  const kit = new TestAnalyst()
  const [outer] = three(() => () => table)
  const made = three((rate) => {
    const table = { rate }
    return () => table
  })
  for (const [index, fn] of made.entries()) {
    const content = kit.content(fn, 'table')
    assert(content.kind === 'value')
    assert.deepEqual(content.value, { rate: index })
  }
  const content = kit.content(outer as AnyFunction, 'table')
  assert(content.kind === 'value' && content.value === table)
})

test('instances of one module have their own variables', async (t) => {
  const kit = new TestAnalyst()
  const text = 'const key = { url: import.meta.url }\nexport const make = () => () => key\n'
  for (const { make } of await instances(t, text, ['a', 'b', 'c'])) {
    const own = (make()() as { url: string }).url
    for (const fn of three(make)) {
      const content = kit.content(fn, 'key')
      assert(content.kind === 'value')
      assert.deepEqual(content.value, { url: own })
    }
  }
})

test('a function of the same place that is a proxy, bound or has a proxy as parent is refused', () => {
  const kit = new TestAnalyst()
  const [first, second, third] = three<AnyFunction>(() => (x: number) => x + 1)
  assert(first && second && third)
  kit.source(first)
  assert.match(kit.reason(new Proxy(second, {})), /^a Proxy cannot travel/)
  assert.match(kit.reason(Object.setPrototypeOf(third, new Proxy({}, {})) as AnyFunction), /proxy/i)
  assert.equal(kit.parts(first.bind(undefined)).kind, 'bound')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseFunctionText } from './parse.js'
import { readDepthsOf } from './read-depth.js'

function depthsOf(text: string): ReturnType<typeof readDepthsOf> {
  const parsed = parseFunctionText(text, true) ?? parseFunctionText(text, false)
  assert.ok(parsed !== undefined, text)
  return readDepthsOf(parsed, false, (name) => /^(?:[A-Z]|console|parse|structured)/.test(name))
}

/** The effect of the function on `t`. */
function depth(text: string): number | undefined {
  return depthsOf(text).byName.get('t')?.depth
}

const ONLY_READ = [
  '() => t.length',
  '(i) => t[i].price * 2',
  '(i) => `${t[i]}`',
  '(i) => { if (t.a.b) return 1 }',
  '() => t()',
  '(x) => t(x, 1).push(2)',
  '() => { for (const row of t) if (row.x > 1) return row.y + 1 }',
  '() => { for (const { x, y: { z } } of t) if (x > z) return 1 }',
  '() => { const row = t[0]; return row.x + 1 }',
  '() => { const { a: [b] } = t; return b > 1 }',
  '() => t.reduce((sum, row) => sum + row.x, 0)',
  '() => t.some((row) => row.x > 1)',
  '(k) => t.has(k)',
  '(k) => t.get(k).x + 1',
  '() => JSON.stringify(t)',
  '() => Object.keys(t).length',
  '() => typeof t',
  '() => { let total = 0; total += t.sum; return total }',
  '() => t?.a?.b > 1',
  '() => t.map(Number)',
  '(x) => { switch (t) { case 1: return x } }',
  '() => (0, t.f)(1)',
  '() => structuredClone(t)',
  '() => [...t].length',
  '() => [...t].push(1)',
  '() => [...t].map((row) => row.x + 1)',
  '() => [0, ...t].pop().x > 1',
  '() => { const [first] = [...t]; return first.x + 1 }',
  '() => { const copy = [...t]; return copy.length }',
  '() => { for (const row of [...t]) if (row.x > 1) return 1 }',
  '() => t.filter((row) => row.x > 1).length',
  '() => t.filter((row) => row.x > 1).map((row) => row.y + 1)',
  '() => t.slice(0, 2).length',
  '() => t.slice().sort().length',
  '() => t.slice().sort((a, b) => a.x - b.x)[0].x + 1',
  '() => t.toSorted()[0].x + 1',
  '() => [...t].reverse().at(0).x + 1',
  '() => t?.slice(1)?.length',
  '(k) => JSON.stringify(t[k])',
  '(k) => Object.keys(t[k])',
  '(k) => Object.values(t[k]).length',
  '(k) => Object.entries(t[k]).map(([key, value]) => `${key}${value.x}`)',
  '() => { for (const [key, { x }] of Object.entries(t)) if (x > 1) return `${key}` }',
  '() => { for (const [i, row] of t.entries()) if (row.x > i) return 1 }',
  '() => { for (const row of t.values()) if (row.x > 1) return 1 }',
  '() => [...t.keys()].length',
  '() => Math.max(...t.slice(0, 10))',
  '() => Math.max(...t)',
  '() => new Set(t).size',
  '() => Array.from(t).length',
]

for (const text of ONLY_READ) {
  test(`only reads: ${text}`, () => assert.equal(depth(text), Infinity))
}

const CHANGES: readonly (readonly [number, string])[] = [
  [0, '() => t'],
  [0, '() => { t.x = 1 }'],
  [0, '() => { t.x += 1 }'],
  [0, '() => { t.x++ }'],
  [0, '() => { delete t.x }'],
  [0, '() => { delete t?.x }'],
  [0, '() => { [t.x] = [1] }'],
  [0, '() => { ({ a: t.x } = { a: 1 }) }'],
  [0, '() => { for (t.x of [1]); }'],
  [0, '() => { for (t.x in {}); }'],
  [0, '(x) => t.push(x)'],
  [0, '(name) => t[name]()'],
  [0, '() => use(t)'],
  [0, '() => ({ t })'],
  [0, '() => [t]'],
  [0, 'async () => { await save(t) }'],
  [0, '() => { const u = t; u.push(1) }'],
  [0, '() => { let u = t; u = 1; return u }'],
  [0, '() => { var u = t; return u > 1 }'],
  [0, '() => new t()'],
  [0, '() => t.map(change)'],
  [0, '() => t.map((x, i, all) => all.push(1))'],
  [0, '() => t.map(function () { arguments[2].push(1) })'],
  [0, '() => t.forEach((...all) => all)'],
  [0, '() => Object.assign(t, { a: 1 })'],
  [0, '() => JSON.stringify(t, change)'],
  [0, '() => new Float64Array(t.buffer)'],
  [0, '() => { const { buffer } = t; new Float64Array(buffer)[0] = 1 }'],
  [0, '() => tag`${t}`'],
  [0, '() => t instanceof Odd'],
  [0, 'function* () { yield t }'],
  [0, '() => { throw t }'],
  [0, '(x = t) => x'],
  [0, '() => class extends t {}'],
  [1, '(i) => t[i]'],
  [1, '(i) => ({ price: t[i] })'],
  [1, '() => [...t]'],
  [1, '() => ({ ...t })'],
  [1, '() => { for (const row of t) row.x = 1 }'],
  [1, '() => { for (const row of t) use(row) }'],
  // The entries of a map are new arrays, and not a level of their own.
  [1, '() => { for (const [, v] of t) v.n++ }'],
  [1, '() => { for (const [k] of t) k.n++ }'],
  [1, '() => { for (const [k, v = 1] of t) use(v) }'],
  [1, '() => { for (const [...r] of t) r[1].n++ }'],
  [1, '() => { for (var [, v] of t) v.n++ }'],
  [1, 'async () => { for await (const [, v] of t) v.n++ }'],
  [1, '() => { for (const e of t) e[1].n++ }'],
  [1, '() => { for (const e of t) { const v = e[1]; v.push(1) } }'],
  [1, '() => { for (const { 1: v } of t) v.n++ }'],
  [1, '() => { for (const { ...r } of t) r[1].n++ }'],
  [1, '() => { for (const [, v] of t) Object.assign(v, {}) }'],
  [1, '() => { const [[, v]] = t; v.n++ }'],
  [1, '() => { const [e] = t; e[1].n++ }'],
  [2, '() => { for (const [, v] of t.inner) v.n++ }'],
  [2, '() => { for (const [, v] of t) v.a.list.push(1) }'],
  [1, '() => t.filter((row) => row.x > 1)'],
  [1, '() => t.find((row) => row.x > 1)'],
  [1, '() => t.slice(1)'],
  [1, '() => t.reduce((a, b) => (a > b ? 1 : 2))'],
  [1, '() => t.forEach((row) => { row.x = 1 })'],
  [1, '() => Object.values(t)'],
  [1, '() => { const { a } = t; a.x = 1 }'],
  [1, '() => t.a.push(1)'],
  [1, '() => new Map(t)'],
  [1, '() => { [...t][0].n++ }'],
  [1, '() => { const copy = [...t]; copy[0].n++ }'],
  [1, '() => { const [first] = [...t]; first.n++ }'],
  [1, '() => { [...t][0][1].n++ }'],
  [1, '() => { [...t].map(([, v]) => { v.n++ }) }'],
  [1, '() => { for (const [, v] of [...t]) v.n++ }'],
  [1, '() => { [...[...t]][0][1].n++ }'],
  [1, '() => [...t].pop().n++'],
  [1, '() => { [...t].sort()[0].n++ }'],
  [1, '() => { [...t].sort((a, b) => { a.n++ }) }'],
  [1, '() => { [...t].sort(compare) }'],
  [1, '() => [...t].reverse().shift().push(1)'],
  [1, '(x) => x.push(...t)'],
  [1, '() => Object.assign(...t)'],
  [1, '() => { t.filter((row) => row.x > 1)[0].x = 1 }'],
  [1, '() => t.filter((row) => row.x++).length'],
  [1, '() => t.slice()[0].push()'],
  [1, '() => use(t.slice())'],
  [1, '() => ({ rows: t.slice() })'],
  [1, '() => { for (const [, v] of t.entries()) v.n++ }'],
  [1, '() => { for (const e of t.entries()) e[1].n++ }'],
  [1, '() => { for (const v of t.values()) v.n++ }'],
  [1, '() => { t.values().next().value.n++ }'],
  [1, '() => { Object.entries(t)[0][1].n++ }'],
  [1, '() => { Object.entries(t).find(([, v]) => v.n > 1)[1].n++ }'],
  [1, '() => { Object.entries(t).slice()[0][1].n++ }'],
  [1, '() => { for (const [, v] of Object.entries(t)) v.n++ }'],
  [1, '() => { Object.values(t)[0].n++ }'],
  [1, '() => { Array.from(t)[0][1].n++ }'],
  [1, '() => { Array.from(t, (v) => { v.n++ }) }'],
  [1, '() => { Object.assign(use, t) }'],
  [1, '() => { new Map(t).get(1).n++ }'],
  [1, '() => { [...new Set(t)][0].n++ }'],
  [1, '() => { [...new Map(t)][0][1].n++ }'],
  [2, '() => { t.slice()[0].inner.push(1) }'],
  [2, '(k) => { Object.values(t[k])[0].n++ }'],
  [2, '() => t.map((row) => row.price)'],
  [2, '() => t.get(1).x'],
  [2, '() => { const row = t[0]; row.a.x = 1 }'],
]

for (const [expected, text] of CHANGES) {
  test(`may change level ${expected}: ${text}`, () => assert.equal(depth(text), expected))
}

test('where only the slice of a buffer could change the buffer, that is known', () => {
  const isSliced = (text: string): boolean | undefined => depthsOf(text).byName.get('t')?.isSliced
  for (const text of [
    '() => { t.slice(1)[0] = 1 }',
    '() => { const part = t.slice(1); part.write("x") }',
    '() => t.map((one) => one.slice(1))[0].fill(1)',
    '() => t.slice(1)',
    '() => { t.list[0].slice().reverse() }',
    '() => { new Uint8Array(t.parent)[0] = 1 }',
    '() => { const { parent } = t; new Uint8Array(parent)[0] = 1 }',
  ]) {
    assert.equal(isSliced(text), true, text)
  }
  for (const text of [
    '() => t.slice(1).toString()',
    '() => t.slice(1)[0] + 1',
    '() => { t[0] = t.slice(1)[0] }',
    '() => { t.subarray(1)[0] = 1 }',
    '() => t.map((one) => one.slice(1).length)',
  ]) {
    assert.equal(isSliced(text), false, text)
  }
})

test('calling an export of a module does not change the module', () => {
  const uses = depthsOf('(x) => t.round(x) + t.table[0]').byName.get('t')
  assert.deepEqual(uses, { depth: 0, moduleDepth: Infinity, rootDepth: 0, isSliced: false })
  const moduleDepth = (text: string): number | undefined =>
    depthsOf(text).byName.get('t')?.moduleDepth
  assert.equal(moduleDepth('(x) => { t.list.push(x) }'), 1)
  assert.equal(moduleDepth('(x) => { const list = t.list; list.push(x) }'), 1)
  assert.equal(moduleDepth('(x) => { const { list } = t; list.push(x) }'), 1)
  assert.equal(moduleDepth('(x) => { Object.values(t)[0].push(x) }'), 1)
})

test('a function that hands itself out could be changed', () => {
  assert.equal(depthsOf('function f(n) { return n < 1 ? 0 : f(n - 1) }').exposesItself, false)
  assert.equal(depthsOf('function f() { f.count = 1 }').exposesItself, true)
  assert.equal(depthsOf('function f() { return use(f) }').exposesItself, true)
  assert.equal(depthsOf('function f(x) { return f.apply(this, [f.call(x)]) }').exposesItself, false)
  assert.equal(depthsOf('function f() { return use(f.call) }').exposesItself, true)
  assert.equal(depthsOf('function f() { return f.other() }').exposesItself, true)
  assert.equal(depthsOf('function f() { return new f() }').exposesItself, true)
  assert.equal(
    depthsOf('function () { return arguments.length + arguments[0] }').exposesItself,
    false,
  )
  assert.equal(depthsOf('function () { arguments.callee.x = 1 }').exposesItself, true)
  const copied = 'function () { g.apply(null, arguments); return [].slice.call(arguments, 1) }'
  assert.equal(depthsOf(copied).exposesItself, false)
  assert.equal(depthsOf('function () { g.call(arguments) }').exposesItself, true)
  assert.equal(depthsOf('function () { slice.call(null, arguments) }').exposesItself, true)
})

test("the result of a task's function is only sent", () => {
  const rootDepth = (text: string): number | undefined => depthsOf(text).byName.get('t')?.rootDepth
  assert.equal(rootDepth('(i) => t[i]'), Infinity)
  assert.equal(rootDepth('async (i) => { const row = t.get(i); return row ?? t }'), Infinity)
  assert.equal(rootDepth('() => [...t]'), Infinity)
  assert.equal(rootDepth('() => t.filter((row) => row.x > 1)'), Infinity)
  assert.equal(rootDepth('(i) => { const rows = t.slice(); rows[0].n++; return rows }'), 1)
  assert.equal(rootDepth('(i) => { t.push(i); return t }'), 0)
  assert.equal(rootDepth('(i) => ({ row: t[i] })'), 1)
  assert.equal(rootDepth('(list) => list.map((i) => t[i])'), 1)
  assert.equal(rootDepth('function* () { return t }'), 0)
  assert.equal(rootDepth('function f(n) { return n ? f(n - 1).push(1) : t }'), 0)
})

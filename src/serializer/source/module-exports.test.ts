import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analysisOf } from './site.kit.js'

test('the exports of a module can be followed', () => {
  const analysis = analysisOf(`
    import def, { a as b } from './a.js'
    import * as all from './all.js'
    import json from './a.json' with { type: 'json' }
    export const one = 1, { two, x: [three = 3, ...four], ...five } = {}
    export function fn() {}
    export class Cls {}
    let local
    export { local, local as renamed, local as 'any text', def, b as c, all, json }
    export { q, r as s, default as t } from './q.js'
    export * as ns from './ns.js'
    export * from './star.js'
    export * from './star2.js'
    export default function named() {}
  `)
  assert.deepEqual(Object.fromEntries(analysis.exportsOf()), {
    one: { local: 'one' },
    two: { local: 'two' },
    three: { local: 'three' },
    four: { local: 'four' },
    five: { local: 'five' },
    fn: { local: 'fn' },
    Cls: { local: 'Cls' },
    local: { local: 'local' },
    renamed: { local: 'local' },
    'any text': { local: 'local' },
    def: { from: './a.js', name: 'default' },
    c: { from: './a.js', name: 'a' },
    all: { from: './all.js', name: '*' },
    json: { local: 'json' },
    q: { from: './q.js', name: 'q' },
    s: { from: './q.js', name: 'r' },
    t: { from: './q.js', name: 'default' },
    ns: { from: './ns.js', name: '*' },
    default: { local: 'named' },
  })
  assert.deepEqual(analysis.starExports, ['./star.js', './star2.js'])
})

test('a default export without a name is not a variable', () => {
  for (const value of ['1', 'x', '() => 1', 'function () {}', 'class {}']) {
    const analysis = analysisOf(`const x = 1; export default ${value}`)
    assert.deepEqual(analysis.exportsOf().get('default'), { local: '*default*' })
    assert.equal(analysis.binding('*default*'), undefined)
  }
})

test('the text of a CommonJS file shows no exports of an ES module', () => {
  const analysis = analysisOf('exports.a = 1; module.exports.b = 2', false)
  assert.equal(analysis.exportsOf().size, 0)
  assert.deepEqual(analysis.starExports, [])
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { analysisOf } from './site.kit.js'
import type { MemberSite } from './sites.js'

/** What the text says about the method `text` in a script. */
function memberIn(source: string, text: string, isModule = true): MemberSite | undefined {
  const analysis = analysisOf(source, isModule)
  const start = source.indexOf(text)
  assert.ok(start >= 0 && source.indexOf(text, start + 1) < 0, `not once in the script: ${text}`)
  for (let offset = start; offset < start + text.length; offset += 1) {
    const member = analysis.memberAt(offset, text)
    if (member !== undefined) return member
  }
  return undefined
}

test('a member of a class with private names or super has its name there', () => {
  for (const [text, key, slot] of [
    ['m() { return this.#p }', 'm', 'value'],
    ['async *m() { return this.#p }', 'm', 'value'],
    ['get m() { return this.#p }', 'm', 'get'],
    ['set m(x) { this.#p = x }', 'm', 'set'],
    ["'a b'() {}", 'a b', 'value'],
    ["['a b']() {}", 'a b', 'value'],
    ['0x10() {}', '16', 'value'],
    ['1e3() {}', '1000', 'value'],
    ['10n() {}', '10', 'value'],
    ['get() {}', 'get', 'value'],
    ['[Symbol.iterator]() {}', Symbol.iterator, 'value'],
    ['get [Symbol.toStringTag]() {}', Symbol.toStringTag, 'get'],
  ] as const) {
    const member = memberIn(`class C { #p = 1; ${text} }`, text)
    assert.deepEqual([member?.key, member?.slot, member?.isStatic], [key, slot, false], text)
    const own = memberIn(`class C { static ${text} static #p }`, text)
    assert.deepEqual([own?.key, own?.slot, own?.isStatic], [key, slot, true], text)
  }
  const text = 'm() { return super.m() }'
  assert.equal(memberIn(`class C extends D { ${text} }`, text)?.key, 'm')
  assert.equal(memberIn(`x = [class { constructor() {} ${text} }]`, text)?.classAt, 24)
})

test('other functions are no such members', () => {
  const [before, after] = ['class C { #p = 1;', '}']
  for (const [source, text] of [
    [`${before} #m() { return this.#p } ${after}`, '#m() { return this.#p }'],
    [`${before} [m]() { return this.#p } ${after}`, '[m]() { return this.#p }'],
    [`${before} [\`m\`]() {} ${after}`, '[`m`]() {}'],
    [`${before} [Symbol.for('m')]() {} ${after}`, "[Symbol.for('m')]() {}"],
    [`${before} [Symbol.none]() {} ${after}`, '[Symbol.none]() {}'],
    [`const Symbol = {}; ${before} [Symbol.iterator]() {} ${after}`, '[Symbol.iterator]() {}'],
    [`${before} m = () => this.#p ${after}`, '() => this.#p'],
    [`${before} m() { return { n() { return super.n() } } } ${after}`, 'n() { return super.n() }'],
    [
      `${before} static { f(function () { return this.#p }) } ${after}`,
      'function () { return this.#p }',
    ],
    ['class C { m() { return 1 } }', 'm() { return 1 }'],
    ['x = { m() { return super.m() } }', 'm() { return super.m() }'],
  ] as const) {
    assert.equal(memberIn(source, text), undefined, source)
  }
})

const METHOD = 'm() { return this.#p }'
const CLASS = `class C { #p = 1; ${METHOD} }`

/** What shows which evaluation of its class a method is from. */
function evaluationIn(source: string, isModule = true): string {
  const { onceIn, witnesses } = memberIn(source, METHOD, isModule) ?? assert.fail(source)
  return [onceIn ?? '-', ...witnesses].join(' ')
}

test('a class at the top of a file is evaluated once', () => {
  for (const source of [CLASS, `f(${CLASS})`, `{ { ${CLASS} } }`, `if (x) { ${CLASS} }`]) {
    assert.equal(evaluationIn(source), 'module', source)
    assert.equal(evaluationIn(source, false), 'file', source)
  }
  const wrapped = `(function (exports, require, module, __filename, __dirname) { ${CLASS} })`
  assert.equal(evaluationIn(wrapped, false), 'file')
  assert.equal(evaluationIn(`${CLASS}; f(() => C)`), 'module C')
  // Texts for `eval` share variables.
  assert.equal(evaluationIn(`var v = {}, w = []; ${CLASS}; f(() => [v, w])`, false), 'file')
})

test('in a function, witnesses around it show which evaluation it was', () => {
  for (const [source, expected] of [
    [`function f() { ${CLASS} }`, '-'],
    [`function f() { ${CLASS}; g(() => C) }`, '- C'],
    [`function f() { const D = ${CLASS}; g(() => D) }`, '- D'],
    [`const f = () => ${CLASS}`, '-'],
    [`const f = () => class C { #p = C; ${METHOD} }`, '- C'],
    [`function f() { const w = {}; { const v = []; ${CLASS}; g(() => [v, w]) } }`, '- v w'],
    [`function f() { let w = {}; { { ${CLASS} } } g(() => w) }`, '- w'],
    [`(() => { let w = []; return class { #p = w; ${METHOD} } })()`, '- w'],
    // In another function, or in a loop, it is evaluated again.
    [`function f() { const w = {}; return () => [w, ${CLASS}] }`, '-'],
    [`function f() { const w = {}; for (;;) { g(${CLASS}, () => w) } }`, '-'],
    [`function f() { const w = {}; while (x) g(${CLASS}, () => w) }`, '-'],
    [`function f() { const w = {}; do { g(${CLASS}, () => w) } while (x) }`, '-'],
    [`function f() { for (const w = {}; x; ) g(${CLASS}, () => w) }`, '-'],
    [`function f() { for (const x of y) { const w = {}; g(${CLASS}, () => w) } }`, '- w'],
    [`for (const x of y) { const w = {}; g(${CLASS}, () => w) }`, '- w'],
    [`class D { x = [${CLASS}, () => D] }`, '-'],
    // Not the same object for one evaluation, another one for each.
    [`function f(w) { ${CLASS}; g(() => w) }`, '-'],
    [`function f() { let w = {}; ${CLASS}; g(() => { w = {} }) }`, '-'],
    [`function f() { const w = {}; ${CLASS} }`, '-'],
    [`function f() { const w = g(); ${CLASS}; g(() => w) }`, '-'],
    [`function f() { const w = {}; ${CLASS}; g(() => w) } const w = {}`, '-'],
    [`function f() { { const w = {}; { const w = {}; ${CLASS}; g(() => w) } } }`, '- w'],
    [`function f() { const w = {}; ${CLASS}; eval('w'); g(() => w) }`, '-'],
    [`const C = 1; const f = () => class C { #p = C; ${METHOD} }`, '-'],
  ] as const) {
    assert.equal(evaluationIn(source), expected, source)
  }
})

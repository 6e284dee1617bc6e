import assert from 'node:assert/strict'
import { test } from 'node:test'
import ts from 'typescript'
import type { FreeName } from './sites.js'
import { analyzeText } from './analysis.js'
import { evaluate, siteIn } from './site.kit.js'

function obstacles(
  source: string,
  text: string,
  isModule = true,
): readonly (readonly [string, number])[] {
  return siteIn(source, text, isModule).obstacles.map(({ kind, line }) => [kind, line])
}

test('an arrow function that uses its surroundings reports it, with the line', () => {
  const text = `(a = this) => {
    const inner = () => this.x
    if (new.target) eval('1')
    return () => super.y
  }`
  const source = `class A { m() { return ${text} } }`
  assert.deepEqual(obstacles(source, text), [
    ['this', 0],
    ['this', 1],
    ['new.target', 2],
    ['eval', 2],
    ['super', 3],
  ])
})

test("a function's own this, super and arguments are no obstacle", () => {
  for (const text of [
    'function f() { return [this, new.target, arguments, () => this] }',
    '() => function () { return this }',
    '() => ({ m() { return super.x + this.y }, get g() { return new.target } })',
    '() => class extends Object { #a = this; static { this.b = super.c } m() { return this.#a } }',
    '() => class { static #a; static m(o) { return #a in o } }',
    '(eval) => eval("1")',
    '() => (0, eval)("1")',
    '() => eval?.("1")',
    '() => globalThis.eval("1")',
  ]) {
    const isModule = !text.startsWith('(eval)')
    const source = isModule ? `class A { m() { f(${text}) } }` : `f(${text})`
    assert.deepEqual(obstacles(source, text, isModule), [], text)
  }
})

test('methods outside their object or class cannot use super', () => {
  assert.deepEqual(obstacles('({ m() { return super.x } })', 'm() { return super.x }'), [
    ['super', 0],
  ])
  const text = 'm() {\n return () => super.m() }'
  assert.deepEqual(obstacles(`class A { ${text} }`, text), [['super', 1]])
})

test('private names of a class around a function are an obstacle', () => {
  const methods = [
    'get() { return this.#a }',
    'has(o) { return #a in o }',
    'set(v) { this.#a = v }',
  ]
  for (const text of methods) {
    assert.deepEqual(obstacles(`class A { #a; ${text} }`, text), [['private name', 0]], text)
  }
  const inner = '() => class { #b; m(o) { return o.#a + o.#b } }'
  assert.deepEqual(obstacles(`class A { #a; f = ${inner} }`, inner), [['private name', 0]])
})

test('at the top of a module `this` is undefined', () => {
  const text =
    '() => {\n const a = [this]\n this?.x\n return a.concat(typeof this, { this: this }) }'
  const site = siteIn(`export const f = ${text}`, text)
  assert.deepEqual(site.obstacles, [])
  assert.deepEqual(evaluate(site.code)(), [undefined, 'undefined', { this: undefined }])
  const nested = siteIn('const f = () => () => this', '() => this')
  assert.equal(nested.code.expression, '() => (void 0)')
  assert.deepEqual(obstacles('f(() => this)', '() => this', false), [['this', 0]])
  assert.deepEqual(obstacles('function g() { f(() => this) }', '() => this'), [['this', 0]])
  assert.deepEqual(obstacles('class A { static f = () => this }', '() => this'), [['this', 0]])
  assert.deepEqual(obstacles('class A { [f(() => this)]() {} }', '() => this'), [])
})

test('the `this` that compilers of async functions pass on may be unused', () => {
  const unused = `(a) => __awaiter(this, void 0, void 0, function* () {
    yield a; return function () { return this } })`
  const site = siteIn(`class A { m() { return ${unused} } }`, unused)
  assert.deepEqual(site.obstacles, [])
  assert.equal(site.code.expression, unused.replace('this', 'void 0'))
  for (const call of ['tslib_1.__awaiter', '(0, tslib_1.__awaiter)', '__async']) {
    const text = `() => ${call}(this, null, function* () { return 1 })`
    assert.deepEqual(obstacles(`class A { f = ${text} }`, text), [], text)
  }
  for (const body of ['return this.x', 'return () => this', 'class B { [this.x]() {} }']) {
    const text = `() => __awaiter(this, null, null, function* () { ${body} })`
    assert.deepEqual(obstacles(`class A { f = ${text} }`, text), [['this', 0]], text)
  }
  const other = '() => other(this, function* () {})'
  assert.deepEqual(obstacles(`class A { f = ${other} }`, other), [['this', 0]])
})

test('async arrow functions that TypeScript makes generators of can travel', () => {
  const source = `class A { async m() { return async (a: number) => { await null; return a } } }`
  const compilerOptions = { target: ts.ScriptTarget.ES2015, module: ts.ModuleKind.ESNext }
  const { outputText } = ts.transpileModule(source, { compilerOptions })
  const start = outputText.indexOf('(a) =>')
  const text = outputText.slice(start, outputText.indexOf('});', start) + '})'.length)
  assert.deepEqual(obstacles(outputText, text), [])
})

test('names inside `with` are uncertain', () => {
  const source = 'with (o) { f(() => x); f(() => 1) }'
  assert.deepEqual(obstacles(source, '() => x', false), [['eval', 0]])
  assert.deepEqual(obstacles(source, '() => 1', false), [])
})

/** The known facts about the first free name of `text`. */
function free(text: string): FreeName {
  const [first] = siteIn(`const x = 1, y = 2; f(${text})`, text).freeNames
  assert.ok(first !== undefined)
  return first
}

test('the uses of a name are known', () => {
  assert.equal(free('() => typeof x').isOnlyTypeof, true)
  assert.equal(free('() => typeof x === y ? x : 1').isOnlyTypeof, false)
  assert.equal(free('() => typeof x.y').isOnlyTypeof, false)
  assert.equal(free('() => x').isAssigned, false)
  assert.equal(free('() => { x = 1 }').isAssigned, true)
  assert.equal(free('() => { x.y = 1 }').isAssigned, false)
  assert.equal(free('() => {\n\n x }').place.line, 2)
})

test('the properties that are read are known, if nothing else is used', () => {
  const read = (text: string): unknown => free(text).members
  assert.deepEqual(read("() => x.a + x['b'].c + x.a + x?.d"), ['a', 'b', 'd'])
  assert.deepEqual(read('() => (0, x.a)(1)'), ['a'])
  for (const text of [
    '() => x',
    '() => x.a + x',
    '() => x[y]',
    '() => { x.a = 1 }',
    '() => { x.a++ }',
    '() => { [x.a] = [] }',
    '() => { ({ b: x.a = 1 } = {}) }',
    '() => { for (x.a of []); }',
    '() => delete x.a',
    '() => delete x?.a',
    '() => ({ x })',
    '() => y[x]',
  ]) {
    assert.equal(free(text).members, undefined, text)
  }
  assert.deepEqual(free('() => x.a + (0, x.b)() + new x.C()').calledMembers, [])
  assert.deepEqual(free("() => x.a(x['b']()) + x.a?.() + x.c").calledMembers, ['a', 'b'])
  assert.deepEqual(free('() => x.a`b`').calledMembers, ['a'])
  assert.deepEqual(free('() => x.a.b()').calledMembers, [])
})

test('a text alone can be analysed, for every kind of function', () => {
  const kinds: readonly (readonly [string, string])[] = [
    ['() => 1', 'arrow'],
    ['async x => x', 'arrow'],
    ['function f() {}', 'function'],
    ['async function* () {}', 'function'],
    ['class A { #a; m() { return this.#a } }', 'class'],
    ['foo() { return 1 }', 'method'],
    ['async *[Symbol.iterator]() {}', 'method'],
    ['get x() { return 1 }', 'getter'],
    ['set x(v) {}', 'setter'],
    ['#p() {}', 'method'],
    ['get #p() { return 1 }', 'getter'],
    ['class() {}', 'method'],
    ['async() {}', 'method'],
    ['get() {}', 'method'],
    ['if() {}', 'method'],
    ["'a b'() {}", 'method'],
    ['constructor() {}', 'method'],
    ['*function() {}', 'method'],
    ['function anonymous(a\n) {\nreturn a\n}', 'function'],
  ]
  for (const [text, kind] of kinds) {
    const site = analyzeText(text)
    assert.equal(site?.kind, kind, text)
    evaluate(site.code)
  }
})

test('a text that is not a function has no site', () => {
  for (const text of [
    'function () { [native code] }',
    '1',
    '',
    'f()',
    '() => 1, () => 2',
    '(() => 1)',
    'a() {}, b() {}',
    'a: 1',
    'a() {} }, { b() {}',
    'a = () => 1',
    '() => 1 // rest',
    'static a() {}',
  ]) {
    assert.equal(analyzeText(text), undefined, text)
  }
})

test('in a text alone, assigned names are cells and nothing has a binding', () => {
  const site = analyzeText('() => { x++; return x + y + require("a") }')
  assert.equal(site?.code.expression, '() => { x.v++; return x.v + y + require("a") }')
  assert.deepEqual(
    site.code.names.map(({ name, isCell, free: { binding } }) => [name, isCell, binding]),
    [
      ['x', true, undefined],
      ['y', false, undefined],
      ['require', false, undefined],
    ],
  )
  const named = analyzeText('function f() { return f }')
  assert.equal(named?.code.expression, 'function f() { return f }')
  const changing = analyzeText('function f() { f = 1 }')
  assert.equal(changing?.code.expression, 'function  () { f.v = 1 }')
  assert.deepEqual(analyzeText('() => this')?.obstacles, [{ kind: 'this', line: 0, column: 6 }])
})

test('a text alone counts as strict if it can be and its mode is unknown', () => {
  assert.equal(analyzeText('() => 1')?.code.isStrict, true)
  assert.equal(analyzeText('() => 1', false)?.code.isStrict, false)
  assert.equal(analyzeText('() => 010')?.code.isStrict, false)
  assert.equal(analyzeText('(a) => { with (a) { b } }')?.code.isStrict, false)
  assert.equal(analyzeText('() => 010', true), undefined)
})

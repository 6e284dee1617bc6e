import assert from 'node:assert/strict'
import { Session } from 'node:inspector'
import { test } from 'node:test'
import { runInThisContext } from 'node:vm'
import { analysisOf, placeByV8, siteIn } from './site.kit.js'
import { analyzeScript } from './analysis.js'

/** Expressions that each give a function, one of every kind. */
const FUNCTIONS = [
  '(function foo(a){ return a })',
  '(function  foo /* ( */ (a){ return a })',
  '(function(a){ return a })',
  '(function /* ( */ // (\n (a) { return a })',
  '(function* foo(a){ yield a })',
  '(async function foo(a){ return a })',
  '(async   function /**/ * foo(a){ yield a })',
  '(async function*(a){ yield a })',
  '((a)=>a)',
  '(a=>a)',
  '[1].map(x=>( (y) =>y))[0]',
  '(async a=>a)',
  '(async   (a,\n b)=>a)',
  '(async => async)',
  '({ foo (a){} }).foo',
  '({ async foo (a){} }).foo',
  '({ *  foo (a){} }).foo',
  '({ async *  foo (a){} }).foo',
  '({ async *[Symbol.iterator] /*]*/ (a){} })[Symbol.iterator]',
  '({ function() { return 1 } }).function',
  '({ get() {} }).get',
  '({ async() {} }).async',
  '({ "a b(c)"() {} })["a b(c)"]',
  '({ 12() {} })[12]',
  'Object.getOwnPropertyDescriptor({ get foo () {return 1} },"foo").get',
  'Object.getOwnPropertyDescriptor({ set foo (x) {} },"foo").set',
  'Object.getOwnPropertyDescriptor({ get ["foo"] () {return 1} },"foo").get',
  '({ [(()=>"foo")()] (a){} }).foo',
  '({ [(()=>"foo")()] : (a) =>{} }).foo',
  '({ foo: function (a) {} }).foo',
  '(class Foo { a=1; constructor (x) {} })',
  '(class Foo { "constructor"(x) {} })',
  '(class   Foo  { a=1;  })',
  '(class   Foo extends Object { a=1;  })',
  '(class { })',
  '(class { static  foo (a) {} }).foo',
  '(class { static /* async */ async  * [(()=>"foo")()] (a) {} }).foo',
  '(class { static constructor() {} }).constructor',
  '(class { static static() {} }).static',
  'Object.getOwnPropertyDescriptor(class { static get foo() { return 1 } },"foo").get',
  '(new (class { foo = (a) => a })).foo',
  '(new (class { foo = function (a) {} })).foo',
  '(new (class { #foo (a) {}  get x() {return this.#foo} })).x',
  '(class { static #foo = async () => {}; static get x() {return this.#foo} }).x',
  '(function foo (a = function bar (b) {}, c = (x) => x) { return [a,c] })()[0]',
  '(function foo (a = function bar (b) {}, c = (x) => x) { return [a,c] })()[1]',
  '((a = (b) => b) => a)()',
  '((a = (b) => b) => a)',
  '[x => x, x => x, x => x][1]',
  '[() => 1, { f() { return () => 1 } }][1].f()',
  'Object.assign(class { }, { a: class { } }).a',
  'new Function("a", "b", "return a")',
]

test("every kind of function is found at V8's position", () => {
  const session = new Session()
  session.connect()
  try {
    for (const source of FUNCTIONS) {
      const fn: unknown = runInThisContext(source)
      const { line, column } = placeByV8(session, fn)
      const text = Function.prototype.toString.call(fn)
      const isWritten = source.startsWith('new Function')
      const analysis = analysisOf(isWritten ? `(${text})` : source, false)
      const site = analysis.siteAt(analysis.offsetAt(line, column), text)
      assert.ok(site !== undefined, source)
      assert.equal(analysis.siteAt(analysis.offsetAt(line, column), text), site)
    }
  } finally {
    session.disconnect()
  }
})

test('of functions with the same text on one line, each is found at its own place', () => {
  const source = 'let a = 1; const f = () => a; { let a = 2; var g = () => a }'
  const analysis = analysisOf(source, false)
  const [first, second] = [source.indexOf('()'), source.lastIndexOf('()')]
  const bindings = [first, second].map(
    (offset) => analysis.siteAt(offset, '() => a')?.freeNames[0]?.binding,
  )
  assert.equal(bindings[0]?.isOnce, true)
  assert.equal(bindings[1]?.isOnce, false)
})

test('a text that is not at the place is not found', () => {
  const analysis = analysisOf('const f = () => 1; const g = () => 2')
  assert.equal(analysis.siteAt(10, '() => 2'), undefined)
  assert.equal(analysis.siteAt(11, '() => 1'), undefined)
  assert.equal(analysis.siteAt(10_000, '() => 1'), undefined)
  assert.notEqual(analysis.siteAt(10, '() => 1'), undefined)
})

test('the kinds of functions are distinguished', () => {
  const source = `
    function f1() {}
    const f2 = () => {}
    const o = { m() {}, get g() { return 1 }, set s(v) {}, p: function () {} }
    class C { static k() {} }`
  const kinds = ['function f1() {}', '() => {}', 'm() {}', 'get g() { return 1 }', 'set s(v) {}']
  const found = [...kinds, 'function () {}', 'class C { static k() {} }', 'k() {}'].map(
    (text) => siteIn(source, text).kind,
  )
  assert.deepEqual(found, [
    'function',
    'arrow',
    'method',
    'getter',
    'setter',
    'function',
    'class',
    'method',
  ])
})

test('lines are those that V8 counts', () => {
  const source = 'const a = 1\r\nconst b = 2\rconst c = `\u2028`\nexport const f = () =>\n  a + c'
  const site = siteIn(source, '() =>\n  a + c')
  assert.deepEqual([site.line, site.column], [4, 17])
  assert.deepEqual(
    site.freeNames.map(({ place, binding }) => [place.line, binding?.line]),
    [
      [5, 0],
      [5, 2],
    ],
  )
})

test('everything that Node can run can be parsed', () => {
  for (const source of [
    '#!/usr/bin/env node\nexport const f = () => 1',
    "import x from './x.json' with { type: 'json' }\nawait x",
    'const n = 1_000_000n; for await (const x of []) {}',
    'const r = /[\\p{L}--[a-z]]/v',
    'export { x as "any text" }; const x = 1',
    '{ using a = null; await using b = null }',
    'class A { static { } static accessor\n static async\n #x; static #y; static async *#z() {} }',
    'a: for (;;) { continue a }',
  ]) {
    assert.ok(analyzeScript(source, true) !== undefined, source)
  }
  for (const source of [
    '#!/usr/bin/env node\nreturn 1',
    'with ({}) { x = 010 }',
    'var let = 1; let\n++let',
    'if (new.target) return arguments.length',
    'html = 1 <!-- a comment\n',
    'label: function f() {}',
  ]) {
    assert.ok(analyzeScript(source, false) !== undefined, source)
  }
})

test('a text that cannot be parsed has no analysis', () => {
  assert.equal(analyzeScript('const const', true), undefined)
  assert.equal(analyzeScript('return 1', true), undefined)
  assert.equal(analyzeScript('await 1', false), undefined)
  assert.equal(analyzeScript('('.repeat(200_000), true), undefined)
})

test('each function of a script has one site and one code', () => {
  const source = 'let n = 0; const f = () => n'
  const analysis = analysisOf(source)
  const site = analysis.siteAt(21, '() => n')
  assert.equal(analysis.siteAt(21, '() => n'), site)
  assert.equal(site?.code, site?.code)
  assert.equal(site?.freeNames[0]?.binding, analysis.binding('n'))
})

test('variables at the top of a script are found by name', () => {
  const analysis = analysisOf('import a from "a"; let b; { let c } function d(e) {} class F {}')
  assert.equal(analysis.binding('a')?.kind, 'import')
  assert.equal(analysis.binding('b')?.kind, 'let')
  assert.equal(analysis.binding('c'), undefined)
  assert.equal(analysis.binding('d')?.kind, 'function')
  assert.equal(analysis.binding('e'), undefined)
  assert.equal(analysis.binding('F')?.kind, 'class')
})

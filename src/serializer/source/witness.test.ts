import assert from 'node:assert/strict'
import { test } from 'node:test'
import { siteIn } from './site.kit.js'

/** The witnesses beside the variable `x`, and those in between, of the function `() => x`. */
function witnessesOf(within: string, isModule = true): string {
  const site = siteIn(`function g() { ${within} }`, '() => x', isModule)
  const [free] = site.freeNames
  const { binding, innerWitnesses } = free ?? assert.fail(within)
  return [...(binding?.witnesses ?? []), ...innerWitnesses.map((name) => `>${name}`)].join(' ')
}

test('a witness is set once, beside the variable, to an object that nothing else creates', () => {
  const use = 'h(() => [w, x++]); f(() => x)'
  for (const fresh of [
    '() => ++x',
    'function () { x = 1 }',
    'class { m() { x = 1 } }',
    '[() => [x--]]',
    '{}',
    '/x/g',
    'new Map()',
    'new Array(3)',
    "Symbol('w')",
    '(h(), {})',
  ]) {
    for (const kind of ['const', 'let', 'var']) {
      assert.equal(witnessesOf(`let x = 0; ${kind} w = ${fresh}; ${use}`), 'w', fresh)
      assert.equal(witnessesOf(`let x = 0; ${kind} w = ${fresh}; ${use}`, false), 'w', fresh)
    }
  }
  for (const declared of [
    'let x = 0; function w() { x += 1 }',
    'let x = 0; class w {}',
    'let x = 0; if (h) { var w = {} }',
    'var x = 0; for (var w = {}; h(); );',
    'let w = {}; var x = 0; for (;;) { let w = 1; w += 1 }',
  ]) {
    assert.equal(witnessesOf(`${declared}; ${use}`), 'w', declared)
    assert.equal(witnessesOf(`${declared}; ${use}`, false), 'w', declared)
  }
  const several =
    'const w = {}; let x = 0, u = []; function v() { x = u } h(() => [u, v, w]); f(() => x)'
  assert.equal(witnessesOf(several), 'w u v')
})

test('what may be assigned again, set twice, or hold an object of others is not a witness', () => {
  const use = 'h(() => [w, x++]); f(() => x)'
  for (const other of [
    'let x = 0; h(() => ++x); f(() => x)',
    'let x = 0; const w = () => ++x; f(() => x)',
    `let x = 0; let w = {}; h(() => w = 1); ${use}`,
    `let x = 0; let w; w = {}; ${use}`,
    `let x = 0; const w = make({}); ${use}`,
    `let x = 0; const w = h ? {} : h; ${use}`,
    `let x = 0; const w = new Foo(); ${use}`,
    `let x = 0; const w = new Object(h); ${use}`,
    `let x = 0; const w = Symbol.for('w'); ${use}`,
    `let x = 0; const w = h\`\`; ${use}`,
    `const Map = h; let x = 0; const w = new Map(); ${use}`,
    `let x = 0; const w = 1; ${use}`,
    `let x = 0; const [w] = [{}]; ${use}`,
    `let x = 0; { const w = {}; h(() => [w, x++]) } f(() => x)`,
    `let x = 0; function w() {} w = 1; ${use}`,
    `let x = 0; class w {} w = 1; ${use}`,
    `let x = 0; var w = {}; var w = []; ${use}`,
    `var x = 0; for (;;) { var w = {}; ${use} }`,
    `var x = 0; do var w = {}; while (h()); ${use}`,
    `for (let x = 0, w = {}; ; x++) { ${use} }`,
    `for (let x of h) for (const w of h) { ${use} }`,
    `var x = 0; for (var w in h) { ${use} }`,
    `var x = 0; try {} catch (w) { var w = {} } ${use}`,
  ]) {
    assert.equal(witnessesOf(other), '', other)
    assert.equal(witnessesOf(other, false), '', other)
  }
  for (const sloppy of [
    `let x = 0; with (h) var w = {}; eval('x'); ${use}`,
    `var x = 0; { function w() { x += 1 } } ${use}`,
    `{ let x = 0; function w() { x += 1 } ${use} }`,
    `let x = 0; let w = {}; eval('w = 1'); ${use}`,
    `let x = 0; const w = {}; eval('var v'); ${use}`,
    `function i(w) { let x = 0; function w() {} arguments[0] = 1; ${use} }`,
  ]) {
    assert.equal(witnessesOf(sloppy, false), '', sloppy)
  }
})

test('witnesses between a function and the variable are found, unless a name is there twice', () => {
  const make = (inside: string): string => witnessesOf(`let x = 0; h(() => { x++ }); ${inside}`)
  assert.equal(make('function i() { const w = {}; h(() => w); f(() => x) }'), '>w')
  assert.equal(make('{ class w {} h(() => w); { let v = {}; h(() => v); f(() => x) } }'), '>v >w')
  assert.equal(make('{ let w = {}; h(() => w); { let w = {}; h(() => w); f(() => x) } }'), '')
  assert.equal(make('{ let w = {}; h(() => w); { let w = 1; h(() => w); f(() => x) } }'), '')
  assert.equal(make('{ let w = {}; h(() => w); } { f(() => x) }'), '')
  assert.equal(make("{ let w = {}; h(() => w); f(() => x); eval('1') }"), '')
})

test('a function that each call makes once at most has variables of its own', () => {
  const isApart = (within: string, isModule = true): boolean | undefined =>
    siteIn(`function g(p) { ${within} }`, '() => x', isModule).freeNames[0]?.isApart
  for (const apart of [
    'let x = 0; return () => x',
    'let x = 0; f(h && (() => x))',
    'let x = 0; if (h) { try { f(() => x) } finally {} }',
    'let x = 0; for (;;) {} f(() => x)',
    'let x = 0; f({ m: () => x })',
    'let x = 0; f(class { static y = 1; [() => x]() {} })',
    'for (;;) h(() => { let x = 0; f(() => x) })',
  ]) {
    assert.equal(isApart(apart), true, apart)
    assert.equal(isApart(apart, false), true, apart)
  }
  for (const other of [
    'let x = 0; for (;;) f(() => x)',
    'let x = 0; while (f(() => x)) {}',
    'let x = 0; do { f(() => x) } while (h)',
    'let x = 0; for (const { y = () => x } of h) {}',
    'let x = 0; for (const [y = () => x] in h) {}',
    'let x = 0; for ({ y = () => x } of h) {}',
    'let x = 0; for (p[f(() => x)] of h) {}',
    'let x = 0; for (;; f(() => x)) {}',
    'let x = 0; h(() => () => x)',
    'let x = 0; h(() => { f(() => x) })',
    'let x = 0; f(class { y = () => x })',
    'let x = 0; f(class { static { f(() => x) } })',
    'let x = 0; h((y = () => x) => y)',
    "let x = 0; eval('x'); f(() => x)",
  ]) {
    assert.equal(isApart(other), false, other)
    assert.equal(isApart(other, false), false, other)
  }
  assert.equal(isApart('let x = 0; with (h) f(() => x)', false), false)
  for (const isModule of [true, false]) {
    assert.equal(siteIn('let x = 0; f(() => x)', '() => x', isModule).freeNames[0]?.isApart, false)
  }
})

test("esbuild's caller for names keeps a witness, anything else of that name does not", () => {
  const made = (callers: string, isModule: boolean): string => {
    const body = 'let x = 0; const w = __name(() => ++x, "w"); h(() => w); f(() => x)'
    const site = siteIn(`${callers}; function g() { ${body} }`, '() => x', isModule)
    return site.freeNames[0]?.binding?.witnesses.join() ?? ''
  }
  const define = 'var __defProp = Object.defineProperty'
  const name =
    '__name = (target, value) => __defProp(target, "name", { value, configurable: true })'
  for (const isModule of [true, false]) {
    assert.equal(made(`${define}; var ${name}`, isModule), 'w')
    assert.equal(made(`${define}; const ${name}`, isModule), 'w')
    for (const other of [
      `${define}; var ${name}; __name = h`,
      `${define}; var ${name}; __defProp = h`,
      `var __defProp = h; var ${name}`,
      `const Object = h; ${define}; var ${name}`,
      `${define}; var __name = (target, value) => __defProp(value, "name", {})`,
      `${define}; var __name = (target) => h(target)`,
      `var __name = (target, __defProp) => __defProp(target, "name")`,
      'function __name(target) { return target }',
    ]) {
      assert.equal(made(other, isModule), '', other)
    }
  }
})

test('a var that has the name of a parameter begins with its value, and is no witness', () => {
  const made = (parameters: string): string => {
    const body = 'let x = 0; if (!w) { var w = {} } h(() => [w, x++]); f(() => x)'
    const site = siteIn(`function g(${parameters}) { ${body} }`, '() => x', true)
    return site.freeNames[0]?.binding?.witnesses.join() ?? assert.fail()
  }
  assert.equal(made('v'), 'w')
  for (const parameters of ['w', 'w, ...rest', 'w, { v } = {}', '{ w }', 'w = 1', '...w']) {
    assert.equal(made(parameters), '', parameters)
  }
})

test('a variable of a CommonJS file counts as shared, that of an ES module is one', () => {
  const text = 'let x = 0; f(() => ++x); f(() => x)'
  for (const isModule of [true, false]) {
    const binding = siteIn(text, '() => x', isModule).freeNames[0]?.binding
    assert.equal(binding?.isOnce, true)
    assert.equal(binding?.isOfModuleFunction, !isModule)
  }
})

test('a variable of a module that esbuild has bundled counts as shared, others do not', () => {
  const isShared = (text: string, isModule = true): boolean | undefined =>
    siteIn(text, '() => x', isModule).freeNames[0]?.binding?.isOfModuleFunction
  const module = '"a.js"(exports, module) { let x = 0; f(() => ++x); f(() => x) }'
  const arrow = '(exports) => { let x = 0; f(() => ++x); f(() => x) }'
  const keyed =
    'mod || (0, cb[__getOwnPropNames(cb)[0]])((mod = { exports: {} }).exports, mod), mod.exports'
  const callers = [
    `var h = (cb, mod) => function __require() { return ${keyed}; };`,
    `var h = (cb, mod) => function __require() {
      try { return ${keyed}; } catch (e) { throw mod = 0, e; } };`,
    'var h=(e,t)=>()=>(t||e((t={exports:{}}).exports,t),t.exports);',
    'var h=(e,t)=>()=>{try{return t||e((t={exports:{}}).exports,t),t.exports}catch(n){throw t=0,n}};',
  ]
  for (const caller of callers) {
    assert.equal(isShared(`${caller} var a = h({ ${module} })`), true)
    assert.equal(isShared(`${caller} var a = h(${arrow})`), true)
    const recursive = 'function () { let x = 0; f(() => ++x); f(() => x); arguments.callee() }'
    assert.equal(isShared(`${caller} h(${recursive})`, false), false)
    for (const other of [
      `h = other; h(${arrow})`,
      `for (;;) h(${arrow})`,
      `function g() { h(${arrow}) }`,
      `h(${arrow}, 1)`,
      `h({ ${module}, other })`,
      `h(function self(exports) { let x = 0; f(() => ++x); f(() => x); self() })`,
      `h((exports) => { for (;;) { let x = 0; f(() => ++x); f(() => x) } })`,
      `g(${arrow})`,
    ]) {
      assert.equal(isShared(`${caller} ${other}`), false, other)
    }
  }
  for (const caller of [
    'var h=(e,t)=>()=>(e((t={exports:{}}).exports,t),t.exports);',
    'var h=(e,t)=>()=>(t||e((t={exports:{}}).exports,t),e());',
    'var h=(e,t)=>(t||e((t={exports:{}}).exports,t),t.exports);',
  ]) {
    assert.equal(isShared(`${caller} var a = h(${arrow})`), false, caller)
  }
})

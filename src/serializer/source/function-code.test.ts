import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluate, siteIn } from './site.kit.js'

/**
 * The expression of a function in a module where `x`, `y` and `z` are variables that closures
 * change.
 */
function celled(text: string, isModule = true): string {
  const source = `let x, y, z; function change() { x = y = z = 1 }\n;(${text})`
  const { code, obstacles } = siteIn(source, text, isModule)
  assert.deepEqual(obstacles, [], text)
  return code.expression
}

test('a variable that closures change is read and written as a property', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['() => x', '() => x.v'],
    ['() => x + y', '() => x.v + y.v'],
    ['() => { x = 1 }', '() => { x.v = 1 }'],
    ['() => x++ + --x', '() => x.v++ + --x.v'],
    ['() => x ??= x', '() => x.v ??= x.v'],
    ['() => ({ x, y: x, x() {} })', '() => ({ x: x.v, y: x.v, x() {} })'],
    ['() => ({ [x]: 1, ...y })', '() => ({ [x.v]: 1, ...y.v })'],
    ['() => { [x, ...y] = [] }', '() => { [x.v, ...y.v] = [] }'],
    ['() => { ({ x } = {}) }', '() => { ({ x: x.v } = {}) }'],
    ['() => { ({ x = y } = {}) }', '() => { ({ x: x.v = y.v } = {}) }'],
    ['() => { ({ a: x = 1, ...y } = {}) }', '() => { ({ a: x.v = 1, ...y.v } = {}) }'],
    ['() => { ({ [y]: x } = {}) }', '() => { ({ [y.v]: x.v } = {}) }'],
    ['() => { for (x of y); }', '() => { for (x.v of y.v); }'],
    ['() => { for ([x] in y); }', '() => { for ([x.v] in y.v); }'],
    ['() => { for (x = 0; x < 1; x++); }', '() => { for (x.v = 0; x.v < 1; x.v++); }'],
    ['() => x(1)', '() => (0, x.v)(1)'],
    ['() => x?.(1)', '() => (0, x.v)?.(1)'],
    ['() => x`a${y}`', '() => (0, x.v)`a${y.v}`'],
    ['() => (x)()', '() => ((0, x.v))()'],
    ['() => x.a(1)', '() => x.v.a(1)'],
    ['() => x?.a', '() => x.v?.a'],
    ['() => new x(y)', '() => new x.v(y.v)'],
    ['() => new x', '() => new x.v'],
    ['() => typeof x', '() => typeof x.v'],
    ['(a = x, { b = y } = {}) => z', '(a = x.v, { b = y.v } = {}) => z.v'],
    [
      'async () => { await x; for await (x of y); }',
      'async () => { await x.v; for await (x.v of y.v); }',
    ],
    ['function* () { yield x; yield* y }', 'function* () { yield x.v; yield* y.v }'],
    ['() => class extends x { [y] = z }', '() => class extends x.v { [y.v] = z.v }'],
    ['() => { switch (x) { case y: z } }', '() => { switch (x.v) { case y.v: z.v } }'],
    ['() => { throw x }', '() => { throw x.v }'],
    ['() => \\u0078', '() => x.v'],
    ['() => { let a = x, [b = y] = z }', '() => { let a = x.v, [b = y.v] = z.v }'],
  ]
  for (const [text, expected] of cases) assert.equal(celled(text), expected)
})

test('a name with another meaning stays as it is', () => {
  for (const text of [
    'x => x',
    '({ x }) => x',
    '({ a: [...x] }) => x',
    '(...x) => x++',
    '() => { let x = 1; x++; return () => x }',
    '() => { x(); function x() { x = 1 } }',
    '() => { { var x = 1 } return x }',
    '() => { for (var x of []); x = 1 }',
    '() => { for (const x of []) x() }',
    '() => { for (let x = 0; x < 1; x++) ((x) => x)() }',
    '() => { try {} catch (x) { x = 1 } }',
    '() => { try {} catch ({ x = 1 }) { var x2 = x } }',
    '() => { class x { m() { return x } } return x }',
    '() => (class x { static a = x })',
    '() => (function x() { return x() })',
    '() => { x: for (;;) { continue x; break x } }',
    '(a) => a.x + a?.x + a.b.x()',
    '(a) => ({ x: a, get x() { return a }, x() {}, "x": 1 })',
    '() => class { x = 1; static x() {} get x() { return 1 } }',
    '({ x: a }) => { ({ x: a } = {}) }',
    '() => { switch (1) { case 1: let x; default: x = 1 } }',
    '() => { if (true) { function x() {} x() } }',
    '(x, a = () => x) => a',
    '() => { using x = null; return x }',
    '() => { const { a: { b: x } } = 1; return x }',
  ]) {
    assert.equal(celled(text), text)
  }
})

test('sloppy code has its own ways to declare and to delete', () => {
  const isModule = false
  assert.equal(
    celled('() => { { function x() {} } return x }', isModule),
    '() => { { function x() {} } return x }',
  )
  assert.equal(celled('() => { with (y) { x } }', isModule), '() => { with (y.v) { x.v } }')
  assert.equal(celled('() => delete x', isModule), '() => false')
  assert.equal(celled('() => delete x.a', isModule), '() => delete x.v.a')
  assert.equal(
    celled('function f(x) { arguments[0] = x }', isModule),
    'function f(x) { arguments[0] = x }',
  )
})

test('a sloppy function in a block is a variable of the whole function, unless another is between', () => {
  const after = (block: string): string => celled(`() => { ${block} return x }`, false).slice(-9)
  for (const block of [
    '{ function x() {} }',
    'if (1) function x() {}',
    'switch (1) { case 1: function x() {} }',
    'try {} catch (x) { { function x() {} } }',
    '{ { function x() {} } }',
    'for (;;) { function x() {} }',
  ]) {
    assert.equal(after(block), 'eturn x }', block)
  }
  for (const block of [
    '{ let x; { function x() {} } }',
    'for (let x of []) { function x() {} }',
    'for (const x = 1; ; ) { function x() {} }',
    'switch (1) { case 1: let x; default: { function x() {} } }',
    'try {} catch ({ x }) { { function x() {} } }',
    '{ async function x() {} }',
    '{ function* x() {} }',
    '{ "use strict"; class x {} }',
  ]) {
    assert.equal(after(block), 'urn x.v }', block)
  }
})

test('the parameters of a function do not see what its body declares', () => {
  assert.equal(
    celled('(a = () => x) => { var x = 1; return a }'),
    '(a = () => x.v) => { var x = 1; return a }',
  )
})

test('functions keep the name of the variable that they are assigned to', () => {
  const text = `() => {
    x = () => {}
    const names = [x.name]
    ;[x = class {}] = []
    names.push(x.name)
    ;({ x = function () {} } = {})
    names.push(x.name)
    ;({ a: x = async () => {} } = {})
    names.push(x.name)
    x = undefined
    x ??= (() => {})
    names.push(x.name)
    x = function own() {}
    names.push(x.name)
    ;(x) = () => {}
    names.push(x.name)
    x = (0, () => {})
    names.push(x.name)
    return names
  }`
  const source = `let x; const f = ${text}`
  const names = evaluate(siteIn(source, text).code, { x: { v: undefined } })()
  assert.deepEqual(names, ['x', 'x', 'x', 'x', 'x', 'own', '', ''])
  const proto = '() => { __proto__ = () => {}; return __proto__.name }'
  const site = siteIn(`let __proto__; const f = ${proto}`, proto)
  assert.equal(evaluate(site.code, { ['__proto__']: { v: undefined } })(), '__proto__')
})

test('a call of a changing variable has no `this`, and does not continue the line before', () => {
  const text = `() => {
    const a = []
    x()
    a.push(x)
    x\`\`
    if (a) x()
    else x()
    do x(); while (false)
    switch (1) { case 1: x() }
    for (const b of a)
      x()
    return a.length
  }`
  const source = `let x = () => {}; const change = () => { x = 1 }; const f = ${text}`
  const seen: unknown[] = []
  function x(this: unknown): void {
    seen.push(this)
  }
  const code = evaluate(siteIn(source, text).code, { x: { v: x } })
  assert.equal(code(), 1)
  assert.deepEqual(seen, Array(6).fill(undefined))
})

test('assigning a constant throws as in its original place', () => {
  const source = `import { i } from 'a'
    const c = 1
    class K { m() { K = 2 } }
    const g = function named() { return () => { named = 2; return named } }
    const f1 = () => { c = 2 }
    const f2 = () => { c++ }
    const f3 = () => { c ||= 2; return c }
    const f4 = () => { i = 2 }
    const f5 = () => { [c] = [2] }`
  const throws = (text: string, values: Record<string, unknown>): void => {
    const fn = evaluate(siteIn(source, text).code, values)
    assert.throws(fn, { name: 'TypeError', message: 'Assignment to constant variable.' }, text)
  }
  throws('() => { c = 2 }', { c: 1 })
  throws('() => { c++ }', { c: 1 })
  throws('() => { i = 2 }', { i: 1 })
  throws('() => { [c] = [2] }', { c: 1 })
  throws('m() { K = 2 }', { K: 1 })
  throws('() => { named = 2; return named }', { named: 1 })
  assert.equal(evaluate(siteIn(source, '() => { c ||= 2; return c }').code, { c: 1 })(), 1)
  const sloppy = 'const g = function named() { return () => { named = 2; return named } }'
  const silent = siteIn(sloppy, '() => { named = 2; return named }', false)
  assert.equal(evaluate(silent.code, { named: 1 })(), 1)
})

test('a declared function that is never assigned keeps its name for itself', () => {
  const text = 'function f(n) { return n < 2 ? 1 : n * f(n - 1) }'
  const { code, freeNames } = siteIn(text, text)
  assert.equal(code.expression, text)
  assert.deepEqual(freeNames, [])
  assert.equal(evaluate(code)(5), 120)
})

test('a declared function that is assigned somewhere captures its own variable', () => {
  const text = 'function f(n) { return n < 2 ? 1 : n * f(n - 1) }'
  const variable = siteIn(`${text}; f = g(f)`, text)
  assert.equal(variable.code.expression, text.replace('function f(', 'function  ('))
  assert.deepEqual(
    variable.code.names.map(({ name, isCell }) => [name, isCell]),
    [['f', false]],
  )
  const cell = siteIn(`${text}; function change() { f = 1 }`, text)
  assert.equal(cell.code.expression, 'function  (n) { return n < 2 ? 1 : n * (0, f.v)(n - 1) }')
  const once = 'function once() { once = null; return 1 }'
  const site = siteIn(once, once)
  const box = { v: 1 }
  assert.equal(evaluate(site.code, { once: box })(), 1)
  assert.equal(box.v, null)
  const expression = 'function f() { return f }'
  assert.equal(siteIn(`let f; f = 1; g(${expression})`, expression).code.expression, expression)
})

test('methods and accessors become the member m of an object', () => {
  const source = `const key = 'k'; const o = {
    plain(a) { return a },
    async later(a) { return a },
    *each(a) { yield a },
    async *[Symbol.iterator /* ] */ ](a) { yield a },
    [\`\${key}
    \`]   (a) { return a },
    'quoted (name)'(a) { return a },
    42(a) { return a },
    get() { return 'get' },
    static() { return 'static' },
    get size() { return 7 },
    set size(a) { a.push(1) },
    get [key]() { return key },
  }
  class C { static made(a) { return [a, new.target] } #secret() { return 1 } get #hidden() { return 2 } }`
  const expression = (text: string): string => siteIn(source, text).code.expression
  assert.equal(expression('plain(a) { return a }'), '({ m    (a) { return a } })')
  assert.equal(expression('async later(a) { return a }'), '({ async m    (a) { return a } })')
  assert.equal(expression('*each(a) { yield a }'), '({ *m   (a) { yield a } })')
  assert.equal(
    expression('async *[Symbol.iterator /* ] */ ](a) { yield a }'),
    '({ async *m                         (a) { yield a } })',
  )
  assert.equal(
    expression('[`${key}\n    `]   (a) { return a }'),
    '({ m       \n         (a) { return a } })',
  )
  assert.equal(expression("get() { return 'get' }"), "({ m  () { return 'get' } })")
  assert.equal(expression('#secret() { return 1 }'), '({ m      () { return 1 } })')
  assert.equal(
    expression('made(a) { return [a, new.target] }'),
    '({ m   (a) { return [a, new.target] } })',
  )
  const value = (text: string, ...parameters: unknown[]): unknown =>
    evaluate(siteIn(source, text).code, { key: 'k' })(...parameters)
  assert.equal(value("'quoted (name)'(a) { return a }", 3), 3)
  assert.equal(value('42(a) { return a }', 3), 3)
  assert.equal(value('get size() { return 7 }'), 7)
  assert.equal(value('get [key]() { return key }'), 'k')
  assert.equal(value('get #hidden() { return 2 }'), 2)
  const list: unknown[] = []
  value('set size(a) { a.push(1) }', list)
  assert.deepEqual(list, [1])
  const method = evaluate(siteIn(source, 'plain(a) { return a }').code)
  assert.throws(() => Reflect.construct(method, []) as unknown, TypeError)
})

test('names of methods and getters are not used for their captures', () => {
  const source = 'const size = 3; const o = { get size() { return size } }'
  const site = siteIn(source, 'get size() { return size }')
  assert.equal(site.code.form, 'getter')
  assert.equal(evaluate(site.code, { size: 3 })(), 3)
})

test('import and import.meta become names of the same length', () => {
  const text = "async () => [await import('a'), import.meta.url, import (b, { with: c })]"
  const { code } = siteIn(`const f = ${text}`, text)
  assert.equal(
    code.expression,
    "async () => [await Import('a'), import_meta.url, Import (b, { with: c })]",
  )
  assert.deepEqual(code.runtime, [
    { name: 'Import', kind: 'import' },
    { name: 'import_meta', kind: 'meta' },
  ])
  const clashing = "(Import, Import1) => import('a') + import.meta.import_meta"
  const other = siteIn(`const f = ${clashing}`, clashing)
  assert.equal(
    other.code.expression,
    "(Import, Import1) => Import2('a') + import_meta1.import_meta",
  )
})

test('the require of a file is given by the runtime, another one is captured', () => {
  const runtimeOf = (source: string, text: string, isModule = false): unknown => {
    const { code } = siteIn(source, text, isModule)
    return {
      names: code.names.map(({ name }) => name),
      runtime: code.runtime.map(({ kind }) => kind),
    }
  }
  const text = "() => require('a')"
  const given = { names: [], runtime: ['require'] }
  const capture = { names: ['require'], runtime: [] }
  assert.deepEqual(runtimeOf(`const f = ${text}`, text), given)
  assert.deepEqual(runtimeOf(`require = wrap(require); const f = ${text}`, text), capture)
  assert.deepEqual(runtimeOf(`function g(require) { f(${text}) }`, text), capture)
  const made = `import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url); const f = ${text}`
  assert.deepEqual(runtimeOf(made, text, true), given)
  const paths = '() => [__filename, __dirname, module.exports.x, exports.y]'
  assert.deepEqual(runtimeOf(`const f = ${paths}`, paths), {
    names: ['__filename', '__dirname', 'module', 'exports'],
    runtime: [],
  })
})

test('values that a loader passes to a module come from the runtime', () => {
  const text = '() => [meta.url, load("a")]'
    .replace('meta', '__vite_ssr_import_meta__')
    .replace('load', '__vite_ssr_dynamic_import__')
  const source = `async (__vite_ssr_import_meta__,__vite_ssr_dynamic_import__)=>{{ f(${text}) }}`
  const { code } = siteIn(source, text, false)
  assert.equal(code.expression, text)
  assert.deepEqual(code.names, [])
  assert.deepEqual(code.runtime, [
    { name: '__vite_ssr_import_meta__', kind: 'meta' },
    { name: '__vite_ssr_dynamic_import__', kind: 'import' },
  ])
})

test('the arguments of a surrounding function get another name', () => {
  const text = '() => ({ arguments, a: arguments[0], f() { return arguments } })'
  const { code } = siteIn(`function g() { f(${text}) }`, text, false)
  assert.equal(
    code.expression,
    '() => ({ arguments: arguments_, a: arguments_[0], f() { return arguments } })',
  )
  assert.deepEqual(
    code.names.map(({ name, free }) => [name, free.name]),
    [['arguments_', 'arguments']],
  )
  const clash = '(arguments_) => arguments'
  const other = siteIn(`function g() { f(${clash}) }`, clash, false)
  assert.equal(other.code.expression, '(arguments_) => arguments_1')
})

test('globals are names without binding, and stay as they are', () => {
  const text = '() => { counter = counter + Math.PI; delete other }'
  const { code, freeNames } = siteIn(`const f = ${text}`, text, false)
  assert.equal(code.expression, text)
  assert.deepEqual(
    freeNames.map(({ name, binding, isAssigned }) => [name, binding, isAssigned]),
    [
      ['counter', undefined, true],
      ['Math', undefined, false],
      ['other', undefined, false],
    ],
  )
})

test('imports can be made cells when their module changes them', () => {
  const text = '() => count + other()'
  const site = siteIn(`import { count, other } from './a.js'; export const f = ${text}`, text)
  assert.equal(site.code.expression, text)
  const code = site.codeWith(new Set(['count', 'unknown']))
  assert.equal(code.expression, '() => count.v + other()')
  assert.deepEqual(
    code.names.map(({ name, isCell }) => [name, isCell]),
    [
      ['count', true],
      ['other', false],
    ],
  )
  assert.equal(site.codeWith(new Set(['count'])), code)
  assert.equal(site.codeWith(new Set()), site.code)
})

test('code has the lines of the original, and its start position', () => {
  const source = `let x = 1; const change = () => { x = 2 }
    const o = { async [
      'a'
    ]() { x
      x()
      return import('a') } }`
  const text = source.slice(source.indexOf('async ['), -2)
  const { code } = siteIn(source, text)
  assert.equal(code.expression.split('\n').length, text.split('\n').length)
  assert.deepEqual([code.line, code.column], [1, '    const o = { '.length - 3])
  const arrow = siteIn('const f = () => 1', '() => 1')
  assert.deepEqual([arrow.code.line, arrow.code.column], [0, 10])
})

test('strictness is that of the source', () => {
  const isStrict = (source: string, text: string, isModule = false): boolean =>
    siteIn(source, text, isModule).code.isStrict
  assert.equal(isStrict('f(() => 1)', '() => 1', true), true)
  assert.equal(isStrict('f(() => 1)', '() => 1'), false)
  assert.equal(isStrict('"use strict"; f(() => 1)', '() => 1'), true)
  assert.equal(isStrict("'a'; 'use strict'; f(() => 1)", '() => 1'), true)
  assert.equal(isStrict('f("use strict"); f(() => 1)', '() => 1'), false)
  assert.equal(isStrict('function g() { "use strict"; f(() => 1) }', '() => 1'), true)
  assert.equal(isStrict('function g() { "use strict" }', 'function g() { "use strict" }'), true)
  assert.equal(isStrict('class A { m() {} }', 'm() {}'), true)
  assert.equal(isStrict('class A { [f(() => 1)] = 1 }', '() => 1'), true)
  assert.equal(isStrict('({ m() {} })', 'm() {}'), false)
})

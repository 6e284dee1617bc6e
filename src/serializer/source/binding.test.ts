import assert from 'node:assert/strict'
import { test } from 'node:test'
import ts from 'typescript'
import type { Binding } from './sites.js'
import { analysisOf, siteIn } from './site.kit.js'

/** The binding that `() => x` captures, for a script that ends with it. */
function captured(source: string, isModule = false): Binding {
  const [free] = siteIn(source, '() => x', isModule).freeNames
  assert.ok(free?.binding !== undefined, source)
  return free.binding
}

function factsOf(source: string, isModule = false): string {
  const { isConstant, isCell } = captured(source, isModule)
  assert.ok(!(isConstant && isCell), source)
  if (isCell) return 'cell'
  return isConstant ? 'constant' : 'variable'
}

test('a variable that is never assigned is constant', () => {
  for (const source of [
    'const x = 1; f(() => x)',
    'let x = 1; f(() => x)',
    'var x = 1; f(() => x)',
    'let x; f(() => x)',
    'function x() {} f(() => x)',
    'class x {} f(() => x)',
    'function g(x) { f(() => x) }',
    'function g({ x }, [y] = x) { f(() => x) }',
    'try {} catch (x) { f(() => x) }',
    'try {} catch ({ x = 1 }) { f(() => x) }',
    'for (const x of []) f(() => x)',
    'for (let x of []) f(() => x)',
    'for (const x in {}) f(() => x)',
    'while (g()) { let x = 1; f(() => x) }',
    'for (let x = 0; ; ) f(() => x)',
    '(function x() { f(() => x) })()',
    'function g() { { using x = null; f(() => x) } }',
    'switch (1) { case 1: let x = 1; f(() => x) }',
    'function g() { "use strict"; { function x() {} f(() => x) } }',
    // Another variable of that name is assigned.
    'const x = 1; { let x; x = 2 } f(() => x)',
    'const x = 1; function g(x) { x = 2 } f(() => x)',
    'let x = 1; function g() { var x; { x = 2 } } f(() => x)',
    'let x = 1; x: for (;;) { break x } f(() => x)',
    'let x = 1; ({ x: y.x } = { x: 2 }); y.x = 1; f(() => x)',
    'let x = 1; (class x { static { x = 1 } }); f(() => x)',
    'let x = 1; (function x() { x = 1 }); f(() => x)',
    'let x = 1; try {} catch (x) { x = 1 } f(() => x)',
    'let x = 1; for (let x = 0; ; x++); f(() => x)',
  ]) {
    assert.equal(factsOf(source), 'constant', source)
  }
  for (const source of [
    "import x from 'x'; f(() => x)",
    'let x = 1; export { x }; f(() => x)',
    'export let x = 1; f(() => x)',
    'export default function x() {} f(() => x)',
    'export default class x {} f(() => x)',
  ]) {
    assert.equal(factsOf(source, true), 'constant', source)
  }
})

test('a variable assigned only where it is declared is not a cell', () => {
  for (const source of [
    'let x; x = 1; f(() => x)',
    'let x = 1; x += 1; f(() => x)',
    'let x = 1; x++; f(() => x)',
    'let x; [x] = [1]; f(() => x)',
    'let x; ({ x } = {}); f(() => x)',
    'let x; ({ x = 1 } = {}); f(() => x)',
    'let x; ({ y: [...x] } = {}); f(() => x)',
    'let x; ({ ...x } = {}); f(() => x)',
    'let x; for (x of []); f(() => x)',
    'let x; for (x in {}); f(() => x)',
    'let x; for ([x] of []); f(() => x)',
    'let x; x ??= 1; f(() => x)',
    'var x = 1; var x = 2; f(() => x)',
    'for (;;) { var x = 1; f(() => x) }',
    'for (var x of []) f(() => x)',
    'for (var x = 0; x < 3; x++) f(() => x)',
    'for (let x = 0; x < 3; x++) f(() => x)',
    'function x() {} x = 1; f(() => x)',
    'function x() {} var x = 1; f(() => x)',
    'class x {} x = 1; f(() => x)',
    'function g(x) { x = 1; f(() => x) }',
    'function g(x) { var x = 1; f(() => x) }',
    'try {} catch (x) { x = 1; f(() => x) }',
    'try {} catch (x) { var x = 1; f(() => x) }',
    '{ function x() {} } f(() => x)',
    'if (g()) function x() {} f(() => x)',
    // `arguments[0] = 2` assigns it, too.
    'function g(x) { arguments[0] = 2; f(() => x) }',
    'function g(x) { h(() => arguments); f(() => x) }',
    // The text could be `x = 2`.
    'let x = 1; eval(y); f(() => x)',
    'function g(x) { eval(y); f(() => x) }',
  ]) {
    assert.equal(factsOf(source), 'variable', source)
  }
  assert.equal(factsOf('const x = 1; eval(y); f(() => x)'), 'variable')
  assert.equal(factsOf('"use strict"; const x = 1; eval(y); f(() => x)'), 'constant')
  assert.equal(factsOf('"use strict"; function g(x) { arguments; f(() => x) }'), 'constant')
  assert.equal(factsOf('let x = 1; (0, eval)(y); eval?.(y); f(() => x)'), 'constant')
})

test('a variable assigned by an inner function is a cell', () => {
  for (const source of [
    'let x = 1; function g() { x = 2 } f(() => x)',
    'let x = 1; const g = () => { x++ }; f(() => x)',
    'let x = 1; const g = () => { [x] = [1] }; f(() => x)',
    'let x = 1; const g = () => { for (x of []); }; f(() => x)',
    'let x = 1; const g = (y = (x = 2)) => {}; f(() => x)',
    'let x = 1; class A { static { x = 2 } } f(() => x)',
    'let x = 1; class A { y = x++ } f(() => x)',
    'let x = 1; class A { static y = x++ } f(() => x)',
    'let x = 1; ({ get y() { return x++ } }); f(() => x)',
    'function g(x) { return () => { x = 1; f(() => x) } }',
    'for (let x = 0; ; ) { g(() => { x++ }); f(() => x) }',
    'function x() { x = 1 } f(() => x)',
    'class x {} function z() { x = 1 } f(() => x)',
    'let x = 1; function g() { eval(y) } f(() => x)',
    'let x = 1; function g() { with (y) { x = 1 } } f(() => x)',
    'var x = 1; function g() { delete x; x ||= 2 } f(() => x)',
  ]) {
    assert.equal(factsOf(source), 'cell', source)
  }
  assert.equal(factsOf('let x = 1; class A { [x++]() {} } f(() => x)'), 'variable')
  assert.equal(factsOf('let x = 1; class A extends g(x = 2) {} f(() => x)'), 'variable')
})

test('the value of a function expression or class under its own name is constant', () => {
  for (const source of [
    '(function x() { x = 1; f(() => x) })',
    '(class x { m() { f(() => x) } })',
    'class x { m() { f(() => x) } } x = 1',
  ]) {
    assert.equal(factsOf(source), 'constant', source)
  }
})

test('declarations of each kind are distinguished', () => {
  const kinds = (
    [
      ['import * as x from "x"; f(() => x)', true],
      ['const x = 1; f(() => x)', true],
      ['let x; f(() => x)', true],
      ['var x; f(() => x)', true],
      ['function x() {} f(() => x)', true],
      ['class x {} f(() => x)', true],
      ['function g(x) { f(() => x) }', true],
      ['try {} catch (x) { f(() => x) }', true],
    ] as const
  ).map(([source, isModule]) => captured(source, isModule).kind)
  const expected = ['import', 'const', 'let', 'var', 'function', 'class', 'parameter', 'catch']
  assert.deepEqual(kinds, expected)
  assert.equal(
    siteIn('f(() => module)', '() => module', false).freeNames[0]?.binding?.kind,
    'wrapper',
  )
  assert.equal(siteIn('f(() => module)', '() => module', true).freeNames[0]?.binding, undefined)
})

test('variables at the top exist once; those of a call or a loop do not', () => {
  assert.equal(captured('let x; f(() => x)').isOnce, true)
  assert.equal(captured('let x; f(() => x)', true).isOnce, true)
  assert.equal(captured('if (1) { var x; } f(() => x)').isOnce, true)
  assert.equal(captured('{ let x; f(() => x) }').isOnce, false)
  assert.equal(captured('for (let x of []) f(() => x)').isOnce, false)
  assert.equal(captured('function g(x) { f(() => x) }').isOnce, false)
  assert.equal(captured('g(() => { let x; f(() => x) })').isOnce, false)
})

test('the arguments of a surrounding function are a variable of it', () => {
  const inFunction = siteIn('function g() { f(() => arguments) }', '() => arguments', false)
  assert.equal(inFunction.freeNames[0]?.binding?.kind, 'parameter')
  assert.equal(inFunction.freeNames[0].binding.isConstant, true)
  assert.equal(inFunction.freeNames[0].binding.isOnce, false)
  const inFile = siteIn('f(() => arguments)', '() => arguments', false)
  assert.equal(inFile.freeNames[0]?.binding?.isOnce, true)
  const inModule = siteIn('f(() => arguments)', '() => arguments', true)
  assert.equal(inModule.freeNames[0]?.binding, undefined)
})

test('initializers that cannot be undefined are recognized', () => {
  const isNever = (init: string): boolean =>
    captured(`const x = ${init}; f(() => x)`).isNeverUndefined
  for (const init of [
    '1',
    "''",
    'null',
    '/a/',
    '`a${b}`',
    '{}',
    '[]',
    'new A()',
    '() => {}',
    'function () {}',
    'class {}',
    'a + b',
    '!a',
    'typeof a',
    '-a',
    'a ?? 1',
    'a || 1',
    '1 && 2',
    'a ? 1 : 2',
    "import('a')",
    '(y = 1)',
  ]) {
    assert.equal(isNever(init), true, init)
  }
  for (const init of [
    'a',
    'a()',
    'a.b',
    'void 0',
    'a && 1',
    'a ? 1 : b',
    '(1, a)',
    'await_',
    'a`b`',
  ]) {
    assert.equal(isNever(init), false, init)
  }
  assert.equal(captured('let x; f(() => x)').isNeverUndefined, false)
  assert.equal(captured('let x = 1; x++; x += 2; x = 3; f(() => x)').isNeverUndefined, true)
  assert.equal(captured('let x = 1; x = y; f(() => x)').isNeverUndefined, false)
  assert.equal(captured('let x = 1; x ??= y; f(() => x)').isNeverUndefined, false)
  assert.equal(captured('let x = 1; [x] = y; f(() => x)').isNeverUndefined, false)
  assert.equal(captured('const { x } = 1; f(() => x)').isNeverUndefined, false)
  assert.equal(captured('function x() {} f(() => x)').isNeverUndefined, true)
  assert.equal(captured('class x {} f(() => x)').isNeverUndefined, true)
})

test('import declarations show the source of a value', () => {
  const originOf = (clause: string): unknown =>
    captured(`import ${clause} from 'lib/a.js'; f(() => x)`, true).origin
  const from = { specifier: 'lib/a.js', form: 'import' }
  assert.deepEqual(originOf('x'), { ...from, path: ['default'] })
  assert.deepEqual(originOf('{ x }'), { ...from, path: ['x'] })
  assert.deepEqual(originOf('{ y as x }'), { ...from, path: ['y'] })
  assert.deepEqual(originOf('{ "a b" as x }'), { ...from, path: ['a b'] })
  assert.deepEqual(originOf('{ default as x }'), { ...from, path: ['default'] })
  assert.deepEqual(originOf('y, { x }'), { ...from, path: ['x'] })
  assert.deepEqual(originOf('* as x'), { ...from, path: [] })
  assert.equal(captured("import * as x from 'a'; f(() => x)", true).isModuleObject, true)
  assert.equal(captured("import x from 'a'; f(() => x)", true).isModuleObject, false)
  const json = captured("import x from './a.json' with { type: 'json' }; f(() => x)", true)
  assert.equal(json.kind, 'import')
  assert.equal(json.origin, undefined)
})

test('constants from require show the source of their value', () => {
  const originOf = (declaration: string): unknown => captured(`${declaration}; f(() => x)`).origin
  const from = { specifier: 'a', form: 'require' }
  assert.deepEqual(originOf("const x = require('a')"), { ...from, path: [] })
  assert.deepEqual(originOf("var x = require('a')"), { ...from, path: [] })
  assert.deepEqual(originOf('let x = require(`a`)'), { ...from, path: [] })
  assert.deepEqual(originOf("const x = require('a').b['c']"), { ...from, path: ['b', 'c'] })
  assert.deepEqual(originOf("const { x } = require('a')"), { ...from, path: ['x'] })
  assert.deepEqual(originOf("const { b: { 'c': x } } = require('a').d"), {
    ...from,
    path: ['d', 'b', 'c'],
  })
  for (const declaration of [
    "let x = require('a'); x = 1",
    "let x; x = require('a')",
    'const x = require(a)',
    "const x = require('a')()",
    "const x = require('a')?.b",
    "const x = require('a', 1)",
    "const { x = 1 } = require('a')",
    "const { [b]: x } = require('a')",
    "const { ...x } = require('a')",
    "const [x] = require('a')",
    "const x = require('a')[b]",
    "require = g; const x = require('a')",
    "var require = g; const x = require('a')",
    "function require() {} const x = require('a')",
  ]) {
    assert.equal(originOf(declaration), undefined, declaration)
  }
  assert.equal(captured("const x = require('a'); f(() => x)", true).origin, undefined)
  assert.equal(
    captured("function g(require) { const x = require('a'); f(() => x) }").origin,
    undefined,
  )
})

test('a module can create its require, and await an import', () => {
  const made = (text: string): unknown => captured(`${text}; f(() => x)`, true).origin
  const expected = { specifier: 'a', form: 'require', path: ['x'] }
  const use = "const { x } = require('a')"
  for (const text of [
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)",
    "import { createRequire as c } from 'module'; const require = c(import.meta.filename)",
    "import m from 'node:module'; const require = m.createRequire(import.meta.url)",
    "import * as m from 'node:module'; const require = m.createRequire(import.meta.url)",
  ]) {
    assert.deepEqual(made(`${text}; ${use}`), expected, text)
  }
  assert.equal(
    made(
      `import { createRequire } from 'a'; const require = createRequire(import.meta.url); ${use}`,
    ),
    undefined,
  )
  assert.equal(
    made(`import { createRequire } from 'module'; const require = createRequire(u); ${use}`),
    undefined,
  )
  assert.deepEqual(made("const x = await import('a')"), {
    specifier: 'a',
    form: 'import',
    path: [],
  })
  assert.deepEqual(made("const { y: x } = await import('a')"), {
    specifier: 'a',
    form: 'import',
    path: ['y'],
  })
  assert.equal(made("const x = await import('a', { with: { type: 'json' } })"), undefined)
})

test('compiled imports are recognized as holding a module', () => {
  for (const init of [
    "require('a')",
    "__importStar(require('a'))",
    "__toESM(require('a'), 1)",
    '__toESM(require_a())',
    "tslib_1.__importDefault(require('a'))",
    "(0, tslib_1.__importStar)(require('a'))",
    "_interopRequireWildcard(require('a'))",
    "anything(require('a'))",
  ]) {
    assert.equal(captured(`const x = ${init}; f(() => x)`).isModuleObject, true, init)
  }
  for (const init of ["require('a').b", "g('a')", '__toESM()', "require(require('a'))"]) {
    assert.equal(captured(`const x = ${init}; f(() => x)`).isModuleObject, false, init)
  }
  const wrapped = captured("const x = __toESM(require('a')); f(() => x)")
  assert.equal(wrapped.origin, undefined)
  assert.equal(wrapped.wrappedSpecifier, 'a')
  const late = captured("const x = await __vite_ssr_dynamic_import__('a'); f(() => x)", true)
  assert.equal(late.isModuleObject, true)
  // It may be a mock.
  assert.equal(late.wrappedSpecifier, undefined)
  assert.equal(captured("let x = require('a'); x = 1; f(() => x)").isModuleObject, false)
})

const LOADED = `'use strict';async (__vite_ssr_exports__,__vite_ssr_import_meta__,__vite_ssr_import__,\
__vite_ssr_dynamic_import__,__vite_ssr_exportAll__,__filename,__dirname,module,exports,require)=>{{
const __vite_ssr_import_0__ = await __vite_ssr_import__("./a.js", {importedNames:["a"]});
let count = 0;
const f = () => __vite_ssr_import_0__.a + count++ + require('b') + __filename;
const g = () => [__vite_ssr_import_meta__.url, __vite_ssr_dynamic_import__('c'), (0, __vite_ssr_import_0__.h)()];
}}`

test('a single function that a loader makes of a module counts as the module', () => {
  const text = "() => __vite_ssr_import_0__.a + count++ + require('b') + __filename"
  const [imported, count, require, filename] = siteIn(LOADED, text, false).freeNames
  assert.equal(imported?.binding?.isModuleObject, true)
  assert.equal(imported.binding.origin, undefined)
  assert.deepEqual(imported.members, ['a'])
  assert.equal(count?.binding?.isOnce, true)
  assert.equal(count.binding.isCell, true)
  assert.equal(require?.binding?.kind, 'wrapper')
  assert.equal(filename?.binding?.kind, 'wrapper')
  assert.deepEqual(analysisOf(LOADED, false).binding('count'), count.binding)
  const unknown = LOADED.replaceAll('__vite_ssr_', 'other_').replace('__dirname,', '')
  assert.equal(analysisOf(unknown, false).binding('count'), undefined)
})

test('a single function that a file consists of and calls counts as the file', () => {
  const isOnce = (source: string): boolean => captured(source).isOnce
  for (const source of [
    '(() => { const x = 1; f(() => x) })()',
    '__filename="a.ts";(()=>{\nvar x=require("x");f(() => x)})()',
    '"use strict"; (function () { let x; f(() => x) })()',
    '(async () => { let x; f(() => x) })()',
  ]) {
    assert.equal(isOnce(source), true, source)
  }
  for (const source of [
    '(function g() { let x; f(() => x); g() })()',
    '((a) => { let x; f(() => x) })()',
    '(() => { let x; f(() => x) })(1)',
    '(() => {})(); (() => { let x; f(() => x) })()',
    'var x; (() => { let x; f(() => x) })()',
    'const g = () => { let x; f(() => x) }; g()',
    'for (;;) (() => { let x; f(() => x) })()',
    '(() => { return () => { let x; f(() => x) } })()',
  ]) {
    assert.equal(isOnce(source), false, source)
  }
  const made = '__filename="a.ts";(()=>{const z=require("zod");const x=z.object();f(() => x)})()'
  assert.ok(analysisOf(made, false).remakingSite('x') !== undefined)
})

test('the variables of a script that is one function are not those of a file', () => {
  const source = '(function anonymous(a\n) {\nlet x; return [() => x, () => require]\n})'
  assert.equal(captured(source).isOnce, false)
  assert.equal(siteIn(source, '() => require', false).freeNames[0]?.binding, undefined)
})

const PRIVATES = `
export class A {
  #x = 1
  #m() { return this.#x }
  get #acc() { return this.#x }
  set #acc(v) { this.#x = v }
  has(o: object) { return #x in o && #m in o }
  inc() { this.#x++; this.#acc += 2; return this.#m() }
  static make() { return new A().#x }
}`

function compiled(module: ts.ModuleKind, importHelpers: boolean): string {
  const target = ts.ScriptTarget.ES2015
  const options = { compilerOptions: { target, module, importHelpers } }
  return ts.transpileModule(PRIVATES, options).outputText
}

test("TypeScript's stand-ins for private names are recognized", () => {
  for (const importHelpers of [false, true]) {
    const texts = [
      { text: compiled(ts.ModuleKind.CommonJS, importHelpers), isModule: false },
      { text: compiled(ts.ModuleKind.ESNext, importHelpers), isModule: true },
    ]
    for (const { text, isModule } of texts) {
      const analysis = analysisOf(text, isModule)
      const isStore = (name: string): boolean | undefined => analysis.binding(name)?.isPrivateStore
      assert.equal(isStore('_A_x'), true)
      assert.equal(isStore('_A_instances'), true)
      assert.equal(isStore('_A_m'), false)
    }
  }
})

test("other compilers' stand-ins for private names are recognized", () => {
  const use =
    '{ __privateGet(this, x); __privateSet2(this, x, 1); __privateIn(x, o); __privateWrapper(this, x)._++ }'
  const isStore = (source: string): boolean | undefined =>
    analysisOf(source, false).binding('x')?.isPrivateStore
  assert.equal(isStore(`var x = new WeakMap(); ${use}`), true)
  assert.equal(isStore(`var x; ${use} x = new WeakSet()`), true)
  assert.equal(
    isStore('var x = new WeakMap(); function g() { _classPrivateFieldGet(x, this) }'),
    true,
  )
  assert.equal(
    isStore('const x = new WeakMap(); class A { constructor() { x.set(this, 1) } }'),
    true,
  )
  assert.equal(
    isStore('const x = new WeakMap(); class A { m() { return x.get(this) + x.has(this) } }'),
    true,
  )
  for (const source of [
    'const x = new WeakMap(); x.set(o, 1)',
    'const x = new WeakMap(); x.delete(this)',
    'const x = new WeakMap(); f(x)',
    'const x = new WeakMap(); const y = x',
    'const x = new WeakMap(list)',
    'const x = new Map(); x.set(this, 1)',
    'let x = new WeakMap(); x = new WeakMap()',
    'let x = new WeakMap(); x = 1',
    'let x = new WeakMap(); function g() { x = 1 }',
    'const { x } = new WeakMap()',
    'class WeakMap {} const x = new WeakMap()',
    'let x',
  ]) {
    assert.equal(isStore(source), false, source)
  }
})

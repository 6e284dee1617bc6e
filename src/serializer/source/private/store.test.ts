import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transformSync, type TransformOptions } from 'esbuild'
import { TERSER_TEXTS } from './text.kit.js'
import { analysisOf } from '../site.kit.js'

/** The names of the variables that get a new store. */
function madeStores(source: string): readonly string[] {
  return [...source.matchAll(/([\w$]+) ?= ?(?:\/\*.*?\*\/ ?)?new Weak(?:Map|Set)\b/g)].map(
    ([, name]) => name ?? '',
  )
}

/** The names of those that do not count as stand-ins for private names. */
function refused(source: string): readonly string[] {
  const analysis = analysisOf(source)
  return madeStores(source).filter((name) => analysis.binding(name)?.isPrivateStore !== true)
}

const PRIVATES = `
  class A {
    #x = 1
    static #y = 2
    accessor z = 3
    #m() { return this.#x }
    static #s() { return A.#y++ }
    get #g() { return this.#x }
    set #g(v) { this.#x = v }
    all(o: A) { this.#g += 2; o.#x++; return [this.#m(), A.#s(), o.#x === this.#x, this.z] }
    static has(o: object) { return #x in o && #m in o }
  }
  class B extends A { #own = 1; own() { return this.#own } }
  use(A, B, new A(), new B())`

test("esbuild's stand-ins for private names are recognized, whatever their names", () => {
  const forms: readonly TransformOptions[] = [
    {},
    { minifyIdentifiers: true },
    { minify: true },
    { minify: true, keepNames: true },
  ]
  for (const target of ['es2015', 'es2020', 'es2021']) {
    for (const form of forms) {
      const { code } = transformSync(PRIVATES, { loader: 'ts', format: 'esm', target, ...form })
      const label = `${target} ${JSON.stringify(form)}\n${code}`
      assert.equal(madeStores(code).length, 6, label)
      assert.deepEqual(refused(code), [], label)
      assert.equal(/__private/.test(code), Object.keys(form).length === 0, label)
    }
  }
})

for (const [compiler, text] of Object.entries(TERSER_TEXTS)) {
  test(`stand-ins for private names are recognized: ${compiler}, then terser`, () => {
    assert.equal(madeStores(text).length, 4)
    assert.deepEqual(refused(text), [])
  })
}

test('`#x in o`, as Babel and swc write it, is recognized', () => {
  for (const text of [
    // Babel.
    'var _a = new WeakMap(); class H { constructor() { _classPrivateFieldInitSpec(this, _a, 1) } static has(o) { return _a.has(_checkInRHS(o)) } }',
    'var _b = new WeakSet(); class H { constructor() { _classPrivateMethodInitSpec(this, _b) } static has(o) { return _b.has(_checkInRHS(o)) } }',
    'var _b = new WeakSet(); class H { constructor() { _b.add(this) } static has(o) { return _b.has(_checkInRHS(o)) } }',
    // swc.
    'var _a = new WeakMap(); class H { static has(o) { return _a.has(o) } constructor() { _class_private_field_init(this, _a, { writable: true, value: 1 }) } }',
    'var _m = new WeakSet(); class H { static has(o) { return _m.has(o) } constructor() { _class_private_method_init(this, _m) } }',
    // Helpers of `@babel/runtime` and `@swc/helpers`.
    'var _a = new WeakMap(); class H { constructor() { (0, _classPrivateFieldInitSpec2.default)(this, _a, 1) } get() { return (0, _classPrivateFieldGet2.default)(_a, this) } }',
    'var _a = new WeakMap(); class H { get() { return _class_private_field_get._(this, _a) } constructor() { _class_private_field_init._(this, _a, { writable: true, value: 1 }) } }',
    // Instances of derived classes for engines without classes.
    'var _d = new WeakMap(); function D() { var t; t = sup(this, D); add(t, _d, 1); return t } function add(o, s, v) { if (s.has(o)) throw 1; s.set(o, v) } f(D)',
  ]) {
    assert.deepEqual(refused(text), [], text)
  }
})

const GET = 'const get = (o, s) => { if (!s.has(o)) throw 1; return s.get(o) };'
const ADD = 'const add = (o, s, v) => { if (s.has(o)) throw 1; s.set(o, v) };'
const OWN = 'class A { constructor() { x.set(this, 1) } };'
const ADDED = 'class A { constructor() { add(this, x, 1) } };'
const STORE = 'const x = new WeakMap();'

test('what counts as a helper, for the refusals below', () => {
  for (const source of [
    `${STORE} ${GET} ${OWN} get(o, x)`,
    `${STORE} ${GET} ${ADD} ${ADDED} get(o, x)`,
    `${STORE} ${ADD} ${ADDED} x.has(o)`,
    `${STORE} ${GET} ${OWN} const late = (o, s) => ({ get _() { return get(o, s) } }); late(o, x)`,
    `${STORE} ${ADD} class A { static m() { return x.has(this) } } add(A, x, 1)`,
    `${STORE} ${GET} ${OWN} function f() { eval(text) } get(o, x)`,
  ]) {
    assert.deepEqual(refused(source), [], source)
  }
})

test('caches and registries are not taken for private names', () => {
  for (const source of [
    // Used directly.
    `${STORE} ${OWN} x.get(o)`,
    `${STORE} ${OWN} x.has(o)`,
    `${STORE} ${OWN} x.set(o, 1)`,
    `${STORE} ${OWN} x.delete(this)`,
    `${STORE} ${OWN} if (x) f()`,
    `${STORE} ${ADD} ${ADDED} x.set(o, 1)`,
    `${STORE} ${ADD} ${ADDED} x.get(o)`,
    // Never filled for an instance that is being made.
    `${STORE} ${GET} get(this, x)`,
    `${STORE} ${ADD} add(o, x, 1)`,
    `${STORE} ${GET} ${ADD} const put = (o) => add(o, x, 1); const f = (o) => get(o, x)`,
    `${STORE} ${ADD} class A {} add(A, x, 1)`,
    `${STORE} ${ADD} ${ADDED} add(o, x, 1)`,
    // Functions that do anything else than helpers do.
    `${STORE} ${OWN} const memo = (o, s) => { if (!s.has(o)) s.set(o, f(o)); return s.get(o) }; memo(o, x)`,
    `${STORE} ${OWN} const put = (o, s) => s.set(o, 1); put(o, x)`,
    `${STORE} ${OWN} const has = (o, s) => s.has(o); has(o, x)`,
    `${STORE} ${OWN} const get = (o, s) => { if (!s.has(o) && f()) throw 1; return s.get(o) }; get(o, x)`,
    `${STORE} ${OWN} const get = (o, s) => { if (s.has(o)) f(); else throw 1; keep = s }; get(o, x)`,
    `${STORE} ${OWN} const get = (o, s) => { if (!s.has(o)) throw 1; return s }; get(o, x)`,
    `${STORE} ${OWN} const get = (o, s) => { try { if (!s.has(o)) throw 1 } catch {} }; get(o, x)`,
    `${STORE} ${OWN} const get = (o, s) => { s.add(o); if (!s.has(o)) throw 1 }; get(o, x)`,
    `${STORE} ${OWN} const get = (o, s, k) => { if (!s.has(o)) throw 1; s.set(k, 1) }; get(o, x, k)`,
    `${STORE} ${OWN} const get = (o, s) => { o = f(); if (!s.has(o)) throw 1 }; get(o, x)`,
    `${STORE} ${OWN} const get = (o, s) => { s = f(); if (!s.has(o)) throw 1 }; get(o, x)`,
    `${STORE} ${OWN} const get = (o, s) => { if (!s.has(o)) throw 1; return () => s.get(o) }; get(o, x)`,
    `${STORE} ${OWN} const get = (o, s) => { f?.(s.has(o) || t()); s.get(o) }; get(o, x)`,
    `${STORE} ${OWN} const get = (o, s) => { f?.(t()) }; const t = () => { throw 1 }; get(o, x)`,
    `${STORE} ${OWN} function get(o, s) { if (!s.has(o)) throw 1; keep(arguments) } get(o, x)`,
    `${STORE} ${OWN} function get(o, s) { if (!s.has(o)) throw 1; eval(text) } get(o, x)`,
    `${STORE} ${OWN} function get(o, s = o) { if (!s.has(o)) throw 1 } get(o, x)`,
    `${STORE} ${OWN} async function get(o, s) { if (!s.has(o)) throw 1 } get(o, x)`,
    `${STORE} ${OWN} function* get(o, s) { if (!s.has(o)) throw 1 } get(o, x)`,
    // It is not certain which function is called, or with what.
    `${STORE} ${GET.replace('const', 'let')} ${OWN} get(o, x); get = f`,
    `${STORE} ${GET.replace('const', 'let')} ${OWN} get(o, x); eval(text)`,
    `${STORE} ${OWN} function f(get) { get(o, x) } ${GET}`,
    `${STORE} ${GET} ${OWN} get(...list, x)`,
    `${STORE} ${GET} ${OWN} get?.(o, x)`,
    `${STORE} ${GET} ${OWN} get(x, x)`,
    `${STORE} ${GET} ${OWN} get(o, [x])`,
    `${STORE} ${GET} ${OWN} new get(o, x)`,
    `${STORE} ${GET} ${OWN} const f = get; f(o, x)`,
    // Other code may use it.
    `export ${STORE} ${GET} ${OWN} get(o, x)`,
    `${STORE} ${GET} ${OWN} get(o, x); export { x }`,
    `${STORE} ${GET} ${OWN} get(o, x); eval(text)`,
    // Other names for it.
    `${STORE} ${OWN} function f() { let t; t = x; t.delete(o) }`,
    `${STORE} ${OWN} function f() { let t; t = x; return t }`,
    `${STORE} ${OWN} function f() { let t; return t = x }`,
    `${STORE} ${OWN} function f() { let t; t = x; t = g(); t.set(this, 1) }`,
    `${STORE} ${OWN} function f(t) { t = x; t.set(this, 1) }`,
    `${STORE} ${OWN} let t; t = x; function f() { t.set(this, 1) }`,
    `let x = new WeakMap(); ${OWN} x = y`,
    `let x = y; ${OWN} x = new WeakMap()`,
  ]) {
    assert.deepEqual(refused(source), ['x'], source)
  }
})

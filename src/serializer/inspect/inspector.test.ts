import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import { Session, type Debugger } from 'node:inspector'
import { basename } from 'node:path'
import { test } from 'node:test'
import {
  compileFunction,
  createContext,
  runInContext,
  runInThisContext,
  type CompileFunctionOptions,
} from 'node:vm'
import type { AnyFunction } from '../module/native.js'
import { type FunctionView, Inspector, type ScopeView } from './inspector.js'
import { constructedScript } from './scripts.js'

const inspector = Inspector.open() as Inspector

/** The result of sloppy code, which runs as a function of this realm. */
function sloppy(code: string, ...parameters: readonly unknown[]): AnyFunction {
  const names = parameters.map((_, at) => `p${at}`)
  return made(code, { names, parameters })
}

interface Making extends CompileFunctionOptions {
  readonly names?: readonly string[]
  readonly parameters?: readonly unknown[]
}

/** The function that the code returns. */
function made(code: string, { names = [], parameters = [], ...options }: Making): AnyFunction {
  const outer = compileFunction(code, names, options)
  return Reflect.apply(outer, undefined, parameters) as AnyFunction
}

/** `closure{a,b} module{c}`; of a scope with many variables none. */
function outline({ scopes }: FunctionView): string {
  const text = ({ type, variables }: ScopeView): string => {
    const names = Object.keys(variables).toSorted()
    return `${type}{${names.length > 9 ? '…' : names.join()}}`
  }
  return scopes
    .filter(({ type }) => type !== 'script')
    .map(text)
    .join(' ')
}

function outlineOf(fn: AnyFunction): string {
  return outline(inspector.functionView(fn))
}

/** The value of a variable that the function has captured. */
function captured(fn: AnyFunction, name: string): unknown {
  const { scopes } = inspector.functionView(fn)
  return scopes.find(({ variables }) => Object.hasOwn(variables, name))?.variables[name]
}

let changing: unknown = 1
const constant = { shared: true }

function fromModule(): unknown {
  return [changing, constant, fs, basename]
}

test('a thread has one inspector', () => {
  assert.equal(Inspector.open(), inspector)
})

test('variables and imports of a module are visible, as the original objects', () => {
  assert.equal(captured(fromModule, 'constant'), constant)
  assert.equal(captured(fromModule, 'fs'), fs)
  assert.equal(captured(fromModule, 'basename'), basename)
  assert.equal(captured(fromModule, 'fromModule'), fromModule)
})

test('each view shows the values of variables at that moment', () => {
  const before = inspector.functionView(fromModule)
  changing = 2
  assert.equal(captured(fromModule, 'changing'), 2)
  const variables = before.scopes.find(({ type }) => type === 'module')?.variables
  assert.equal(variables?.['changing'], 1)
})

test('primitives keep their values', () => {
  const values = [-0, NaN, 10n, 'a\ud800', Symbol('s'), Symbol.iterator, null, undefined, true]
  for (const value of values) {
    const fn = (): unknown => value
    assert.ok(Object.is(captured(fn, 'value'), value), String(value))
  }
})

test('a variable that is not initialized throws or is undefined, and affects no other', () => {
  const fn = (): unknown => [early, late]
  const early = 1
  const { scopes } = inspector.functionView(fn)
  const variables = scopes[0]?.variables ?? {}
  assert.deepEqual(Object.keys(variables).toSorted(), ['early', 'late'])
  assert.ok(Object.hasOwn(variables, 'late'))
  assert.equal(variables['early'], 1)
  let value: unknown
  try {
    value = variables['late']
  } catch (error) {
    assert.ok(error instanceof ReferenceError)
  }
  assert.equal(value, undefined)
  const late = 2
  assert.equal(captured(fn, 'late'), 2)
})

const SCOPES: ReadonlyMap<string, string> = new Map([
  ['let a = 1; return () => a', 'closure{a}'],
  ['let a = 1; { let b = 2; return () => a + b }', 'block{b} closure{a}'],
  ['for (let a = 0; ; ) { let b = a; return () => a + b }', 'block{b} block{a}'],
  ['for (const a of [1]) return () => a', 'block{a}'],
  ['switch (1) { case 1: let a = 1; return () => a }', 'block{a}'],
  ['try { throw 1 } catch (a) { return () => a }', 'catch{a}'],
  ['try { throw {} } catch ({ a }) { return () => a }', 'block{a}'],
  ['with ({ a: 1 }) return () => a', 'with{}'],
  ['return (function () { return () => arguments })(1)', 'closure{arguments}'],
  ['return (function () { return () => [this, new.target] })()', ''],
  ['return (function (a, b = () => a) { var a; return b })(1)', 'closure{a}'],
  ['return (function (a, b = () => a) { var a; return () => a })(1)', 'block{a} closure{a}'],
  [
    'return (function () { eval("var a = 1"); return () => a })()',
    'closure{a,arguments} closure{arguments}',
  ],
  ['class A { m() { return A } } return A', 'block{A}'],
  ['class A { m() { return A } } return A.prototype.m', 'block{A}'],
  ['class A { static m() { return A } } return A.m', 'block{A}'],
  ['let a = 1; class A { b = () => a } return new A().b', 'closure{a}'],
  ['let a = 1; return { get m() { return a } }.__lookupGetter__("m")', 'closure{a}'],
  ['let a = 1; return function* () { yield a }', 'closure{a}'],
  ['let a = 1; return async () => a', 'closure{a}'],
  ['let a = 1; return async function* () { yield a }', 'closure{a}'],
  ['let a = 1; return (function f() { return a })', 'closure{a}'],
  ['let a = 1; return new Function("return 1")', ''],
  ['let a = 1; return eval("let b = 2; () => a + b")', 'closure{b} closure{a,arguments}'],
])

test('scopes are listed from the inside out', () => {
  for (const [code, expected] of SCOPES) assert.equal(outlineOf(sloppy(code)), expected, code)
})

test('a script of another context shows its variables', () => {
  const context = createContext({ k: 1 })
  const fn = runInContext('let y = { z: 1 }; () => y + k', context) as AnyFunction
  assert.deepEqual(captured(fn, 'y'), runInContext('y', context))
  assert.equal(inspector.functionView(fn).scopes.at(-1)?.type, 'script')
})

test('native functions and proxies have neither location nor scopes', () => {
  const proxy = new Proxy(fromModule, {})
  for (const fn of [Math.sqrt, fromModule.bind(undefined), proxy, Proxy]) {
    assert.deepEqual(inspector.functionView(fn as AnyFunction), { location: undefined, scopes: [] })
  }
})

test('what is behind a proxy is shown, and none of its traps is called', () => {
  const target = { a: 1 }
  const refuse = (): never => assert.fail('asked')
  const handler = new Proxy({}, { get: refuse })
  assert.deepEqual(inspector.proxyView(new Proxy(target, {})), { target, handler: {} })
  const view = inspector.proxyView(new Proxy(target, handler))
  assert.ok(view?.target === target && view.handler === handler)
  const { proxy, revoke } = Proxy.revocable(target, {})
  revoke()
  assert.equal(inspector.proxyView(proxy), undefined)
  assert.equal(inspector.proxyView(target), undefined)
})

test('a location is where parameters begin', () => {
  const fn = runInThisContext('\n\n  (function name(a) { return a })', 'x.js') as AnyFunction
  const { location } = inspector.functionView(fn)
  assert.deepEqual([location?.line, location?.column], [2, 16])
})

test('the script of a function that `new Function` has made is known without asking V8', () => {
  const makers = [function () {}, async () => {}, function* () {}, async function* () {}]
  for (const { constructor } of makers) {
    const make = constructor as FunctionConstructor
    for (const parameters of [[], ['a', '{ b } = {}, ...c'], ['a /*', '*/']]) {
      const fn = make(...parameters, 'return [this,\n1] // end') as AnyFunction
      const id = inspector.functionView(fn).location?.scriptId ?? ''
      const { url, source, startLine, startColumn, isModule } = inspector.script(id) ?? {}
      const seen = { id, url, source, startLine, startColumn, isModule, sourceMapUrl: '' }
      assert.deepEqual(constructedScript(id, fn), seen)
    }
    const named = make('//# sourceURL=a.js') as AnyFunction
    for (const fn of [() => 1, fs.readFileSync, named]) {
      assert.equal(constructedScript('1', fn), undefined)
    }
  }
})

test('a function of Node itself is recognized', () => {
  const { location } = inspector.functionView(fs.readFileSync)
  assert.equal(inspector.script(location?.scriptId ?? '')?.url, 'node:fs')
})

/** Counts executions of user code. */
class Witness {
  readonly calls: string[] = []

  /** A proxy that records each access. */
  readonly proxy: object = new Proxy(
    {},
    new Proxy(
      {},
      {
        get: (_, trap) => {
          this.calls.push(String(trap))
          return undefined
        },
      },
    ),
  )

  readonly getter: PropertyDescriptor = {
    configurable: true,
    get: () => {
      this.calls.push('getter')
      return 1
    },
  }
}

test('no getter and no trap of the user runs', () => {
  const { calls, proxy, getter } = new Witness()
  const accessors = Object.defineProperty({}, 'x', getter)
  const fn = (): unknown => [proxy, accessors]
  Object.defineProperties(fn, { name: getter, x: getter, [Symbol.toStringTag]: getter })
  Object.assign(fn, { proxy, accessors })
  class Private {
    readonly #own = proxy
    static readonly #proxy = proxy
    static get #x(): unknown {
      calls.push('getter')
      return 1
    }
    static uses = (): unknown => [Private.#x, Private.#proxy, new Private().#own]
  }
  assert.equal(captured(fn, 'proxy'), proxy)
  assert.equal(captured(fn, 'accessors'), accessors)
  Object.setPrototypeOf(fn, proxy)
  assert.equal(inspector.functionView(fn).location, undefined)
  assert.equal(inspector.instancePrivates(Object.create(proxy) as object), undefined)
  inspector.functionView(new Proxy(fn, proxy))
  inspector.boundView(new Proxy(fn, proxy))
  assert.equal(inspector.boundView(boundTo(proxy))?.self, proxy)
  assert.equal(inspector.staticPrivates(Private)?.get('#proxy'), proxy)
  assert.equal(inspector.instancePrivates(new Private())?.[0]?.[1], proxy)
  inspector.instancePrivates(proxy)
  sloppy('with (p0) return () => 1', proxy)
  const inWith = sloppy('with (p0) return () => 1', accessors)
  assert.equal(outlineOf(inWith), 'with{}')
  assert.deepEqual(
    calls.filter((call) => call !== 'has'),
    [],
  )
})

function boundTo(self: unknown, ...parameters: readonly unknown[]): AnyFunction {
  return fromModule.bind(self, ...(parameters as []))
}

test('a bound function shows its bound values', () => {
  const self = {}
  const parameters = [self, -0, 'x', Symbol.iterator, undefined, 10n]
  const bound = boundTo(self, ...parameters)
  const view = inspector.boundView(bound)
  assert.equal(view?.target, fromModule)
  assert.equal(view?.self, self)
  assert.deepEqual(view?.parameters, parameters)
  assert.equal(view?.parameters[0], self)
  const twice = inspector.boundView(bound.bind(null))
  assert.equal(twice?.target, bound)
  assert.equal(twice?.self, null)
  assert.equal(inspector.boundView(fromModule), undefined)
  assert.equal(inspector.boundView(Math.sqrt), undefined)
})

test('private static fields are visible with their values', () => {
  class Counter {
    static #count = 0
    static readonly #text = 'a\ud800'
    static readonly #state: unknown = constant
    static readonly #zero = -0
    static readonly #big = 10n
    static readonly #nothing: unknown
    static readonly #none: unknown = null
    static readonly #symbol = Symbol.iterator
    static readonly #fn = fromModule
    readonly #own = 1
    static #method(): void {}
    static get #accessor(): number {
      throw new Error('a getter ran')
    }
    static next(): number {
      return (Counter.#count += 1)
    }
    static all(): unknown[] {
      const some = [Counter.#text, Counter.#state, Counter.#zero, Counter.#big, Counter.#nothing]
      const others = [Counter.#none, Counter.#symbol, Counter.#fn, new Counter().#own]
      return [...some, ...others, () => Counter.#accessor, () => Counter.#method()]
    }
  }
  Counter.next()
  assert.deepEqual(
    inspector.staticPrivates(Counter),
    new Map<string, unknown>([
      ['#count', 1],
      ['#text', 'a\ud800'],
      ['#state', constant],
      ['#zero', -0],
      ['#big', 10n],
      ['#nothing', undefined],
      ['#none', null],
      ['#symbol', Symbol.iterator],
      ['#fn', fromModule],
    ]),
  )
  Counter.next()
  assert.equal(inspector.staticPrivates(Counter)?.get('#count'), 2)
  assert.equal(inspector.staticPrivates(Counter)?.get('#state'), constant)
  assert.equal(inspector.staticPrivates(fromModule)?.size, 0)
})

test('private fields of an instance are visible, those of parent classes first', () => {
  class Parent extends Array<number> {
    readonly #x = 'parent'
    readonly #only = constant
    all(): unknown {
      return [this.#x, this.#only]
    }
  }
  class Child extends Parent {
    readonly #x = 'child'
    own(): unknown {
      return this.#x
    }
  }
  const child = new Child()
  child.length = 1_000_000
  child.fill(1)
  assert.deepEqual(inspector.instancePrivates(child), [
    ['#x', 'parent'],
    ['#only', constant],
    ['#x', 'child'],
  ])
  assert.deepEqual(inspector.instancePrivates({}), [])
})

/** The script of a function. */
function scriptOf(fn: AnyFunction): ReturnType<Inspector['script']> {
  return inspector.script(inspector.functionView(fn).location?.scriptId ?? '')
}

test('a script of a module has its URL and the text that runs', () => {
  const script = scriptOf(fromModule)
  assert.equal(script?.url, import.meta.url)
  const text = fs.readFileSync(new URL(import.meta.url), 'utf8')
  assert.equal(script?.source, text)
  assert.equal(script?.isModule, true)
  assert.deepEqual([script?.startLine, script?.startColumn], [0, 0])
  // Whether there is one is up to the compiler.
  assert.equal(script?.sourceMapUrl, /^\/\/# sourceMappingURL=(.*)$/m.exec(text)?.[1] ?? '')
  assert.equal(scriptOf(captured), script)
})

test('a script that was compiled in code has the position where its text begins', () => {
  const fn = made('return () => 1', {
    filename: '/app/made.js',
    lineOffset: 10,
    columnOffset: 5,
  })
  const script = scriptOf(fn)
  assert.equal(script?.url, 'file:///app/made.js')
  assert.equal(script?.source, 'return () => 1')
  assert.equal(script?.isModule, false)
  assert.deepEqual([script?.startLine, script?.startColumn], [10, 5])
  assert.equal(script?.sourceMapUrl, '')
})

test('an unknown script is undefined', () => {
  assert.equal(inspector.script('0'), undefined)
  assert.equal(inspector.script('no id'), undefined)
})

test('an inline source map is given whole', () => {
  const url = `data:application/json;base64,${'A'.repeat(5_000)}`
  const fn = runInThisContext(`() => 'inline'\n//# sourceMappingURL=${url}\n`) as AnyFunction
  assert.equal(scriptOf(fn)?.sourceMapUrl, url)
})

test('scripts are found by URL, including those loaded later', async () => {
  const name = `scripts-by-url-${process.pid}`
  const url = `data:text/javascript,export default () => '${name}'`
  assert.deepEqual(inspector.scriptsByUrl(url), [])
  const module = (await import(url)) as { readonly default: AnyFunction }
  const [script, ...others] = inspector.scriptsByUrl(url)
  assert.equal(script, scriptOf(module.default))
  assert.equal(script?.source, `export default () => '${name}'`)
  assert.deepEqual(others, [])
})

test('an unknown URL is only looked up again after something was compiled', () => {
  const filename = '/app/later.cjs'
  const url = `file://${filename}`
  for (let turn = 0; turn < 3; turn += 1) assert.deepEqual(inspector.scriptsByUrl(url), [])
  const fn = compileFunction('return 1', [], { filename }) as AnyFunction
  assert.equal(inspector.scriptsByUrl(url)[0], scriptOf(fn))
})

test('a URL finds each script that was loaded by path', () => {
  const filename = '/app/twice loaded.cjs'
  const loaded = [1, 2].map((n) => compileFunction(`return ${n}`, [], { filename }) as AnyFunction)
  const scripts = inspector.scriptsByUrl('file:///app/twice%20loaded.cjs')
  assert.deepEqual(
    scripts.map(({ id }) => id),
    loaded.map((fn) => inspector.functionView(fn).location?.scriptId),
  )
  assert.deepEqual(
    scripts.map(({ source }) => source),
    ['return 1', 'return 2'],
  )
})

test('another debugger in the same thread keeps working', () => {
  const other = new Session()
  other.connect()
  const pauses: (readonly string[])[] = []
  other.on('Debugger.paused', ({ params }) => pauses.push(params.hitBreakpoints ?? []))
  other.post('Debugger.enable')
  try {
    const source = 'return () => 1'
    const fn = made(source, { filename: '/app/paused.js' })
    let breakpoint: Debugger.SetBreakpointByUrlReturnType | undefined
    other.post(
      'Debugger.setBreakpointByUrl',
      { lineNumber: 0, columnNumber: source.length - 1, url: 'file:///app/paused.js' },
      (_, answer) => (breakpoint = answer),
    )
    assert.equal(scriptOf(fn)?.source, source)
    const late = made('return () => 2', { filename: '/app/late.js' })
    assert.equal(scriptOf(late)?.source, 'return () => 2')
    assert.equal(captured(fromModule, 'constant'), constant)
    assert.equal(Reflect.apply(fn, undefined, []), 1)
    assert.deepEqual(pauses, [[breakpoint?.breakpointId]])
  } finally {
    other.disconnect()
  }
})

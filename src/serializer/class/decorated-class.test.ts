// oxlint-disable typescript/unbound-method -- methods without their class are what is tested

// Classes with members that a decorator, or anything else, has replaced, where the original uses
// private names of the class or `super`. The decorators in this file are those of the language, as
// the compiler lowers them; esbuild lowers others below.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { test, type TestContext } from 'node:test'
import { compileFunction } from 'node:vm'
import { transformSync, type TransformOptions } from 'esbuild'
import { SerializeError } from '../../base/errors.js'
import { PackageTree } from '../module/package-tree.kit.js'
import type { AnyFunction } from '../module/native.js'
import { explainSerialization } from '../serializer.js'
import { TwoSides } from '../two-sides.kit.js'

type Method<T, A extends unknown[], R> = (this: T, ...parameters: A) => R

function twice<T, A extends unknown[]>(
  fn: Method<T, A, number>,
  _context: ClassMethodDecoratorContext<T, Method<T, A, number>>,
): Method<T, A, number> {
  return function (...parameters) {
    return fn.apply(this, parameters) * 2
  }
}

function memo<T, R>(
  fn: Method<T, [key: string], R>,
  _context: ClassMethodDecoratorContext<T, Method<T, [key: string], R>>,
): Method<T, [key: string], R> {
  const cache = new Map<string, R>()
  return function (key) {
    const known = cache.get(key)
    if (known !== undefined) return known
    const value = fn.call(this, key)
    cache.set(key, value)
    return value
  }
}

function plusOne<T>(
  fn: (this: T) => number,
  _context: ClassGetterDecoratorContext<T, number>,
): (this: T) => number {
  return function () {
    return fn.call(this) + 1
  }
}

function same<T extends abstract new (...parameters: never[]) => object>(
  target: T,
  _context: ClassDecoratorContext<T>,
): T {
  return target
}

class Counter {
  static #made = 0
  #count = 0
  constructor() {
    Counter.#made += 1
  }
  @twice
  add(by: number): number {
    this.#count += by
    return this.#count
  }
  @twice
  @twice
  more(by: number): number {
    this.#count += by
    return this.#count
  }
  @plusOne
  get count(): number {
    return this.#count
  }
  set count(value: number) {
    this.#count = value
  }
  @twice
  static made(): number {
    return this.#made
  }
  @memo
  has(key: string): [key: string, count: number] {
    return [key, this.#count]
  }
  @twice
  get(): number {
    return this.#count
  }
}

class Loud extends Counter {
  readonly #volume = 10
  @twice
  override add(by: number): number {
    return super.add(by) + this.#volume
  }
  @twice
  static override made(): number {
    return super.made.length + this.name.length
  }
}

@same
class Sealed {
  readonly #secret = 20
  @twice
  tell(): number {
    return this.#secret
  }
  #hide(by: number): number {
    return this.#secret + by
  }
  @twice
  hide(by: number): number {
    return this.#hide(by)
  }
}

/** What each of these classes does. */
const USES: Readonly<Record<string, () => unknown>> = {
  'a method': () => [new Counter().add(1), new Counter().add(2)],
  'two decorators': () => new Counter().more(3),
  'a getter': () => Object.assign(new Counter(), { count: 4 }).count,
  'a static method': () => typeof Counter.made(),
  'a memo': () => {
    const counter = new Counter()
    counter.add(1)
    const first = counter.has('x')
    counter.add(1)
    return [first, counter.has('x') === first, counter.has('y')]
  },
  'a name that is a word of the language': () => new Counter().get(),
  'an override that calls what it overrides': () => [new Loud().add(1), Loud.made()],
  'a class with a decorator': () => [new Sealed().tell(), new Sealed().hide(1)],
}

for (const [what, use] of Object.entries(USES)) {
  test(`a decorated member: ${what}`, () => {
    const sides = new TwoSides()
    const expected = use()
    assert.deepEqual(sides.send(use)(), expected)
    // Another task, after one that has used it, and after the client has.
    sides.beginTask()
    assert.deepEqual(sides.send(use)(), expected)
    // And by way of another worker.
    const next = new TwoSides()
    assert.deepEqual(next.send(sides.back(sides.send(use)))(), expected)
  })
}

test('the explanation of a function names the class of a method', () => {
  const { tell } = Sealed.prototype
  const text = explainSerialization(() => Reflect.apply(tell, new Sealed(), []))
  assert.match(text, /fn \(captured at .*\): a method\n.*of the class: class, /)
  assert.doesNotMatch(text, /CANNOT TRAVEL/)
})

test('in an error, a method is left out together with its class', () => {
  const sides = new TwoSides()
  class Tool {
    static readonly socket: unknown = new Proxy({}, {})
    #uses = 0
    use(): unknown {
      return [Tool, (this.#uses += 1)]
    }
  }
  const { use } = Tool.prototype
  for (const [cause, expected] of [
    [{ use }, { use: '[function use]' }],
    [{ use: Sealed.prototype.hide }, 'function'],
    [
      { first: { Tool }, use },
      { first: { Tool: '[function Tool]' }, use: '[function use]' },
    ],
    [[use, use, Tool, { use }], undefined],
  ] as const) {
    const bytes = sides.here.serializer.serializeAs(new Error('x', { cause }), 'lenient')
    const copy = sides.there.serializer.deserialize(bytes) as { cause: { use: unknown } }
    if (expected === 'function') assert.equal(typeof copy.cause.use, 'function')
    else if (expected !== undefined) assert.deepEqual(copy.cause, expected)
  }
  assert.throws(() => sides.send({ use }), /use -> its class -> socket: a Proxy cannot travel/)
})

test('members under names of all kinds', () => {
  const sides = new TwoSides()
  const key = 'computed'
  class Many extends Object {
    #n = 1
    get(): number {
      return Many.length + this.#n
    }
    async async(): Promise<number> {
      return this.#n
    }
    *[Symbol.iterator](): Generator<number> {
      yield this.#n
    }
    'a text'(): number {
      return this.#n
    }
    ['literal'](): number {
      return this.#n
    }
    0x10(): number {
      return this.#n
    }
    get value(): number {
      return this.#n
    }
    set value(n: number) {
      this.#n = n
    }
    static ['#n'](many: Many): number {
      return many.#n
    }
    static override name(many: Many): number {
      return many.#n
    }
    static get [Symbol.species](): unknown {
      return super.prototype
    }
    [key](): number {
      return 1
    }
  }
  const members = functionsOf(Many as unknown as AnyFunction)
  const copies = sides.send({ members, Many })
  const there = new Set(functionsOf(copies.Many as unknown as AnyFunction))
  const home = sides.back(copies.members)
  assert.equal(members.length, 12)
  for (const [index, member] of members.entries()) {
    const { name } = member
    // One that uses nothing of its class travels on its own.
    const isBound = name !== 'computed'
    assert.equal(there.has(copies.members[index] ?? member), isBound, name)
    assert.equal(home[index] === member, isBound, name)
  }
})

function functionsOf(owner: AnyFunction): readonly AnyFunction[] {
  const objects = [owner, Reflect.get(owner, 'prototype') as object]
  const descriptors = objects.flatMap((each): PropertyDescriptor[] =>
    Reflect.ownKeys(each).flatMap((key) => Object.getOwnPropertyDescriptor(each, key) ?? []),
  )
  const parts = descriptors.flatMap(({ value, get, set }): unknown[] => [value, get, set])
  return parts.filter((part): part is AnyFunction => typeof part === 'function' && part !== owner)
}

test('each task has a decorated class as it is at its submit', () => {
  const sides = new TwoSides()
  const seen = (key: string): unknown => {
    const counter = new Counter()
    counter.add(1)
    return counter.has(key)
  }
  const spoil = (): void => {
    Counter.prototype.add = () => -1
    new Counter().has('b')
  }
  assert.deepEqual(sides.send(seen)('a'), ['a', 1])
  sides.send(spoil)()
  assert.deepEqual(['a', 'b', 'c'].map(sides.send(seen)), [
    ['a', 1],
    ['b', 0],
    ['c', 0],
  ])
  sides.beginTask()
  assert.deepEqual(['a', 'b', 'c'].map(sides.send(seen)), [
    ['a', 1],
    ['b', 1],
    ['c', 1],
  ])
})

test('a class, its original methods and what replaced them come back as they were', () => {
  const sides = new TwoSides()
  class Tool {
    #uses = 0
    use(): number {
      return (this.#uses += 1)
    }
    self(): unknown {
      return Tool
    }
  }
  const { use } = Tool.prototype
  const logged = function (this: Tool): number {
    return Reflect.apply(use, this, []) + 100
  }
  Tool.prototype.use = logged
  const there = sides.send({ Tool, use, logged })
  assert.equal(there.Tool.prototype.use, there.logged)
  assert.equal(new there.Tool().use(), 101)
  assert.equal(Reflect.apply(there.use, new there.Tool(), []), 1)
  // The same function in each message of the task, and in one that comes back.
  assert.equal(sides.send({ use, Tool }).use, there.use)
  assert.equal(sides.send(use), there.use)
  const here = sides.back(there)
  assert.equal(here.Tool, Tool)
  assert.equal(here.use, use)
  assert.equal(sides.back(there.use), use)
  assert.equal(Reflect.apply(sides.back(there.logged), new Tool(), []), 101)
  // What the task does to the class changes nothing about what its text defines.
  there.Tool.prototype.use = () => 0
  assert.equal(sides.send({ use }).use, there.use)
  sides.beginTask()
  const other = sides.send({ use, Tool })
  assert.notEqual(other.use, there.use)
  assert.equal(Reflect.apply(other.use, new other.Tool(), []), 1)
})

test('a class may use a variable that holds one of its methods', () => {
  const sides = new TwoSides()
  class Tool {
    #uses = 0
    use(): number {
      return (this.#uses += 1)
    }
    again(): number {
      return Reflect.apply(original, this, []) + 100
    }
    class(): unknown {
      return Tool
    }
  }
  const original = Tool.prototype.use
  const call = (): unknown => [new Tool().again(), original === Tool.prototype.use]
  assert.deepEqual(sides.send(call)(), [101, true])
  assert.equal(new (sides.andBack(sides.send(Tool)))().again(), 101)
})

test('a task may replace a method itself, and return what it replaced', () => {
  const sides = new TwoSides()
  class Tool {
    #uses = 0
    use(): number {
      return (this.#uses += 1)
    }
    self(): unknown {
      return Tool
    }
  }
  const replace = sides.send(() => {
    const { use } = Tool.prototype
    Tool.prototype.use = function () {
      return use.call(this) + 100
    }
    return { Tool, use }
  })
  const home = sides.back(replace())
  assert.equal(home.Tool, Tool)
  assert.equal(home.use, Tool.prototype.use)
})

function makeTool(start: number): { Tool: new () => { use(): number }; use: AnyFunction } {
  class Tool {
    #uses = start
    use(): number {
      return (this.#uses += 1)
    }
    self(): unknown {
      return Tool
    }
  }
  const { use } = Tool.prototype
  Tool.prototype.use = function () {
    return use.call(this) + 100
  }
  return { Tool, use }
}

test('of classes that were made by one function, each has its own members', () => {
  const sides = new TwoSides()
  const tools = [makeTool(1), makeTool(10)] as const
  const [first, second] = sides.send(tools)
  assert.deepEqual([new first.Tool().use(), new second.Tool().use()], [102, 111])
  assert.throws(() => Reflect.apply(first.use, new second.Tool(), []), TypeError)
  const swapped = sides.back(sides.send([first, second].map(() => tools).map(([a, b]) => [b, a])))
  assert.deepEqual(
    swapped.map(([b, a]) => [b?.Tool, a?.Tool, b?.use, a?.use]),
    swapped.map(() => [tools[1].Tool, tools[0].Tool, tools[1].use, tools[0].use]),
  )
})

/** What a function with this body returns. */
function evaluated(body: string): unknown {
  return Reflect.apply(compileFunction(`return (() => {${body}})()`), undefined, [])
}

test('a class that uses its own name can be anywhere', () => {
  const Made = evaluated(`
    class C { #n = C; m() { return this.#n } }
    const { m } = C.prototype
    C.prototype.m = function () { return m.call(this) }
    return C`) as new () => { m(): unknown }
  const Copy = new TwoSides().send(Made)
  assert.equal(new Copy().m(), Copy)
})

/** Bodies of functions that return classes. Nothing shows which class a method is of. */
const UNCERTAIN: Readonly<Record<string, string>> = {
  'a function that nothing else in it shows': `
    const C = class { #n = 1; m() { return this.#n } }
    const { m } = C.prototype
    C.prototype.m = function () { return m.call(this) }
    return C`,
  'a loop': `
    const seen = {}, made = []
    for (let i = 0; i < 2; i += 1) {
      made.push(class { #n = i; m() { return seen && this.#n } })
    }
    const [{ prototype: { m } }, C] = made
    C.prototype.m = function () { return m.call(this) }
    return C`,
  'another class of that text': `
    const seen = {}
    const make = () => class { #n = seen; m() { return this.#n } }
    const [A, B] = [make(), make()]
    const { m } = B.prototype
    A.prototype.m = function () { return m.call(this) }
    return A`,
  'a method with a computed name': `
    const keys = { m: 'm' }
    class C { #n = keys; [keys.m]() { return C && this.#n } }
    return [C, C.prototype.m]`,
  'a method with properties of its own': `
    class C { #n = C; m() { return this.#n } }
    const m = Object.assign(C.prototype.m, { note: 1 })
    C.prototype.m = function () { return m.call(this) }
    return C`,
  'a method under another name': `
    class C { #n = C; m() { return this.#n } }
    const m = Object.defineProperty(C.prototype.m, 'name', { value: 'other' })
    C.prototype.m = function () { return m.call(this) }
    return C`,
  'a private method': `
    class C { #n = C; #m() { return this.#n } static m = new C().#m }
    return C`,
  'a method of an object literal': `
    const base = { m() { return 1 } }
    return { __proto__: base, m() { return super.m() } }.m`,
}

for (const [what, text] of Object.entries(UNCERTAIN)) {
  test(`refused: ${what}`, () => {
    const made: unknown = evaluated(text)
    assert.throws(
      () => new TwoSides().send(made),
      (error: unknown) => {
        assert.ok(error instanceof SerializeError)
        return /it uses private names of its class|it uses `super`/.test(error.message)
      },
    )
  })
}

test('a function that a decorator has in the text of the class is no part of the text', () => {
  const sides = new TwoSides()
  class Tool {
    #uses = 0
    static readonly decorate = (fn: (this: Tool) => number) =>
      function use(this: Tool): number {
        return fn.call(this) + 100
      }
    static {
      const value = Tool.decorate(this.prototype.use)
      Object.defineProperty(this.prototype, 'use', { value })
    }
    use(): number {
      return (this.#uses += 1)
    }
  }
  const Copy = sides.send(Tool)
  assert.equal(new Copy().use(), 101)
})

const LOWERED = `
  const log = (list) => (fn, context, descriptor) => {
    const own = descriptor === undefined ? fn : descriptor.value
    const logged = function (...parameters) {
      list.push(parameters[0])
      return own.apply(this, parameters)
    }
    return descriptor === undefined ? logged : { ...descriptor, value: logged }
  }
  const keep = (target) => target
  const list = []
  class Counter {
    #count = 1
    @log(list) add(by) { this.#count += by; return this.#count }
    @log(list) static start() { return new this().add(1) }
  }
  @keep class Loud extends Counter {
    @log(list) add(by) { return super.add(by) * 10 }
  }
  exports.all = () => [Counter.start(), new Loud().add(2), list]
  exports.make = () => {
    class Inner {
      #n = 2
      @log(list) get() { return this.#n }
    }
    return () => [new Inner().get(), list.length]
  }`

const FORMS: readonly TransformOptions[] = [
  { target: 'es2022' },
  { target: 'es2022', minify: true },
  { target: 'es2022', keepNames: true },
  { target: 'es2022', tsconfigRaw: { compilerOptions: { experimentalDecorators: true } } },
  {
    target: 'es2022',
    minify: true,
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  },
]

function load(t: TestContext, form: TransformOptions): Record<string, () => unknown> {
  const { code } = transformSync(LOWERED, { loader: 'ts', format: 'cjs', ...form })
  const tree = new PackageTree(t, { 'app/tasks.cjs': code })
  return createRequire(tree.path('app/main.cjs'))('./tasks.cjs') as Record<string, () => unknown>
}

for (const form of FORMS) {
  test(`decorators as esbuild lowers them: ${JSON.stringify(form)}`, (t) => {
    const { all, make } = load(t, form)
    const inner = make?.() as (() => unknown) | undefined
    assert.ok(all !== undefined && inner !== undefined)
    const sides = new TwoSides()
    assert.deepEqual(sides.send(all)(), [2, 30, [undefined, 1, 2, 2]])
    sides.beginTask()
    assert.deepEqual(sides.send(all)(), [2, 30, [undefined, 1, 2, 2]])
    sides.beginTask()
    assert.deepEqual(sides.send(inner)(), [2, 1])
  })
}

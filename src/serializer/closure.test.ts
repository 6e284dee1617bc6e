// oxlint-disable typescript/unbound-method -- methods without their object are what is tested

import assert from 'node:assert/strict'
import { exec } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { readFile as readFileLate, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { runInThisContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { DeserializeError, type SerializeError } from '../base/errors.js'
import { FakeAnalyst, sourceParts } from './fake-analyst.kit.js'
import type { AnyFunction } from './module/native.js'
import { Refusal } from './refusal.js'
import { makeSide, TwoSides } from './two-sides.kit.js'

const sides = new TwoSides()
const { serializer } = sides.here

function roundTrip<F>(fn: F): F {
  return sides.send(fn)
}

/** A function that the text makes in a sloppy script, as in a CommonJS file. */
function sloppy<F>(text: string): F {
  return runInThisContext(`(${text})`) as F
}

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1)
}

const object = {
  fetch(text: string): string {
    return `${typeof fetch}:${text}`
  },
  async later(x: number): Promise<number> {
    return (await Promise.resolve(x)) + 1
  },
  *count(): Generator<number> {
    yield 1
    yield 2
  },
  async *countLater(): AsyncGenerator<number> {
    yield await Promise.resolve(1)
  },
  'a name, with (signs)'(): number {
    return 1
  },
  [Symbol.iterator](): string {
    return 'iterator'
  },
  async [`computed`](): Promise<number> {
    return Promise.resolve(7)
  },
  42: () => 42,
  get(): string {
    return 'get'
  },
  async(): string {
    return 'async'
  },
  class(): string {
    return 'class'
  },
  function(): string {
    return 'function'
  },
  if(): string {
    return 'if'
  },
  get size(): number {
    return 3
  },
}

class Base {
  inherited(): string {
    return 'base'
  }
}

class Statics extends Base {
  static twice(x: number): number {
    return x * 2
  }
  static async /* a comment */ later(x: number): Promise<number> {
    return Promise.resolve(x)
  }
  static #secret(x: number): number {
    return x
  }
  static readonly revealed = Statics.#secret
  ordinary(x: number): number {
    return x + 1
  }
  override inherited(): string {
    return super.inherited()
  }
}

test('functions of every kind work from their text', async () => {
  assert.equal(roundTrip((x: number) => x + 1)(1), 2)
  assert.deepEqual(roundTrip(() => ({ a: 1 }))(), { a: 1 })
  assert.equal(roundTrip(factorial)(5), 120)
  assert.equal(
    roundTrip(function (x: number) {
      return x
    })(3),
    3,
  )
  assert.equal(await roundTrip(async (x: number) => Promise.resolve(x))(4), 4)
  assert.equal(roundTrip((x: number, y = x, ...rest: number[]) => y + rest.length)(1), 1)
  assert.equal(await roundTrip(object.later)(1), 2)
  assert.deepEqual([...roundTrip(object.count)()], [1, 2])
  assert.deepEqual(await roundTrip(object.countLater)().next(), { value: 1, done: false })
  assert.equal(roundTrip(Statics.twice)(4), 8)
  assert.equal(await roundTrip(Statics.later)(4), 4)
  assert.equal(roundTrip(Statics.revealed)(5), 5)
  assert.equal(roundTrip(Statics.prototype.ordinary)(5), 6)
})

test('methods work under any name', async () => {
  assert.equal(roundTrip(object['a name, with (signs)'])(), 1)
  assert.equal(roundTrip(object[Symbol.iterator])(), 'iterator')
  assert.equal(await roundTrip(object['computed'])?.(), 7)
  assert.equal(roundTrip(object[42])(), 42)
  for (const name of ['get', 'async', 'class', 'function', 'if'] as const) {
    assert.equal(roundTrip(object[name])(), name)
  }
  const { get } = Object.getOwnPropertyDescriptor(object, 'size') ?? {}
  assert.equal(roundTrip(get)?.(), 3)
})

test('a method does not see itself under its name', () => {
  assert.equal(roundTrip(object.fetch)('a'), 'function:a')
})

test('names are preserved', () => {
  const named = (): number => 1
  assert.equal(roundTrip(named).name, 'named')
  assert.equal(roundTrip(object.fetch).name, 'fetch')
  assert.equal(roundTrip(object[Symbol.iterator]).name, '[Symbol.iterator]')
  assert.equal(
    roundTrip(
      (
        () => () =>
          1
      )(),
    ).name,
    '',
  )
})

test('functions of modules are strict', () => {
  assert.equal(
    roundTrip(function (this: unknown) {
      return this
    })(),
    undefined,
  )
  assert.throws(
    roundTrip(() => {
      const frozen = Object.freeze({ a: 1 }) as { a: number }
      frozen.a = 2
    }),
    TypeError,
  )
})

test('sloppy functions stay sloppy if it can be observed or nothing else compiles', () => {
  const self = roundTrip(sloppy<() => unknown>('function () { return this }'))
  assert.equal(self(), globalThis)
  const withs = roundTrip(sloppy<(o: object) => unknown>('(o) => { with (o) { return a } }'))
  assert.equal(withs({ a: 1 }), 1)
  assert.equal(roundTrip(sloppy<() => unknown>('() => 0o7 + 010'))(), 15)
})

test('functions that every Node has travel by name, and arrive as the built-in ones', () => {
  const natives = [Math.sqrt, parseInt, JSON.stringify, Object.keys, Number.isInteger, String.raw]
  const others = [Array.from, BigInt.asIntN, Date.now, Symbol.for, Buffer.from, URL.canParse]
  const nodes = [setTimeout, structuredClone, fetch, process.cwd, process.hrtime, basename]
  const modules = [readFileSync, gzipSync, randomBytes, createHash, assert, readFile]
  const methods = [Array.prototype.map, Object.prototype.hasOwnProperty, Map.prototype.get]
  for (const fn of [...natives, ...others, ...nodes, ...modules, ...methods, Boolean, Date]) {
    assert.equal(roundTrip(fn), fn)
    assert.ok(serializer.serialize(fn).byteLength < 60)
  }
})

function getterOf(owner: object, key: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(owner, key)?.get
}

test('built-in functions without a name travel by their place', () => {
  const TypedArray = Object.getPrototypeOf(Uint8Array) as typeof Uint8Array
  const constructors = [async () => {}, function* () {}, async function* () {}].map(
    (fn) => (Object.getPrototypeOf(fn) as object).constructor,
  )
  const iterator = Object.getPrototypeOf([].values()) as Iterator<never>
  const ofFunctions = ['call', 'apply', 'bind', 'toString', Symbol.hasInstance].map(
    (key) => Object.getOwnPropertyDescriptor(Function.prototype, key)?.value as unknown,
  )
  const methods = [Set.prototype.has, WeakMap.prototype.get, DataView.prototype.getUint8]
  const others = [Int8Array.from, TypedArray.prototype.set, String.prototype[Symbol.iterator]]
  const getters = [
    getterOf(Map.prototype, 'size'),
    getterOf(Map, Symbol.species),
    getterOf(RegExp.prototype, 'flags'),
    getterOf(Intl.NumberFormat.prototype, 'format'),
  ]
  const ofNode = [EventEmitter.prototype.on, Readable.prototype.pipe, Buffer.from('').toString]
  const ofWeb = [performance.now, TextEncoder.prototype.encode, crypto.getRandomValues]
  const prototypes: readonly unknown[] = [Function.prototype, TypedArray, iterator.next]
  const all = [constructors, prototypes, ofFunctions, methods, others, getters, ofNode, ofWeb]
  for (const fn of [process.hrtime.bigint, ...all.flat()]) {
    assert.equal(typeof fn, 'function')
    assert.equal(roundTrip(fn), fn)
    assert.ok(serializer.serialize(fn).byteLength < 80)
  }
  assert.equal(roundTrip(crypto), crypto)
  assert.equal(roundTrip(crypto.subtle), crypto.subtle)
})

test('results of promisify work where they arrive, for functions of Node and others', async () => {
  const [read, run, pause] = [promisify(readFileLate), promisify(exec), promisify(setTimeout)]
  type Callback = (error: Error | null, value?: number) => void
  const factor = 3
  const times = promisify((x: number, callback: Callback) => {
    if (x < 0) callback(new RangeError('below zero'))
    else callback(null, x * factor)
  })
  class Counter {
    readonly start = 10
    readonly add = promisify((x: number, callback: Callback) => callback(null, this.start + x))
  }
  const all = async (): Promise<unknown[]> => [
    (await read(process.execPath)).byteLength > 0,
    (await run('echo hello')).stdout.trim(),
    await pause(1, 'paused'),
    await times(4),
    await times(-1).catch((error: unknown) => String(error)),
    await new Counter().add(5),
  ]
  const expected = [true, 'hello', 'paused', 12, 'RangeError: below zero', 15]
  assert.deepEqual(await roundTrip(all)(), expected)
  assert.equal(await roundTrip(times)(5), 15)
  assert.equal(await roundTrip(roundTrip(times))(6), 18)
})

test('methods that were taken from their classes work where they arrive', () => {
  const uncurry = Function.prototype.bind.bind(Function.prototype.call) as (
    method: unknown,
  ) => (...parameters: unknown[]) => unknown
  const [has, slice, textOf] = [
    Set.prototype.has,
    Array.prototype.slice,
    Function.prototype.toString,
  ]
  const sizeOf = Object.getOwnPropertyDescriptor(Map.prototype, 'size')?.get
  const look = (): unknown[] => [
    uncurry(has)(new Set([1]), 1),
    slice.call([1, 2, 3], 1),
    textOf.call(Math.max).includes('native code'),
    sizeOf?.call(new Map([[1, 2]])),
  ]
  assert.deepEqual(roundTrip(look)(), [true, [2, 3], true, 1])
})

test('captured variables travel with a function, and so do their own captures', async () => {
  const rate = 3
  const table = new Map([['a', [1, 2]]])
  const scale = (x: number): number => x * rate
  const sum = (key: string): number => (table.get(key) ?? []).map(scale).reduce((a, b) => a + b, 0)
  assert.equal(roundTrip(sum)('a'), 9)
  table.set('a', [10])
  assert.equal(roundTrip(sum)('a'), 30)
  assert.equal(await roundTrip(async () => Promise.resolve(sum('a')))(), 30)
})

test('recursion, mutual recursion and cycles through values are preserved', () => {
  function isEven(n: number): boolean {
    return n === 0 || isOdd(n - 1)
  }
  const isOdd = (n: number): boolean => n > 0 && isEven(n - 1)
  assert.deepEqual([roundTrip(isEven)(10), roundTrip(isOdd)(10)], [true, false])
  const node = { value: 1, visit: (): unknown => node }
  const copy = roundTrip(node)
  assert.equal(copy.visit(), copy)
  assert.equal((roundTrip(node.visit)() as typeof node).value, 1)
})

test('a function keeps its name, length and properties', () => {
  const tagged = Object.assign((a: number, b: number) => a + b, { tags: ['x'], self: {} })
  tagged.self = tagged
  Object.defineProperty(tagged, 'name', { value: 'renamed' })
  const copy = roundTrip(tagged)
  assert.deepEqual([copy.name, copy.length, copy.tags, copy(1, 2)], ['renamed', 2, ['x'], 3])
  assert.equal(copy.self, copy)
  assert.ok(Object.isFrozen(roundTrip(Object.freeze(() => 1))))
  const curried = Object.defineProperty((...all: number[]) => all.length, 'length', { value: 3 })
  assert.equal(roundTrip(curried).length, 3)
})

test('bound functions keep their bound values', () => {
  const account = {
    rate: 2,
    of(this: { rate: number }, a: number, b: number) {
      return this.rate * a + b
    },
  }
  const bound = account.of.bind(account, 10)
  const copy = roundTrip({ account, bound })
  assert.deepEqual([copy.bound(1), copy.bound.name, copy.bound.length], [21, 'bound of', 1])
  copy.account.rate = 3
  assert.equal(copy.bound(1), 31)
  assert.equal(roundTrip(bound.bind(undefined, 5))(), 25)
  assert.equal(roundTrip(Math.max.bind(null, 3))(2), 3)
})

test('a function can be sent on and back without its source being known', () => {
  let count = 0
  const scaled = (x: number): number => x + count
  const fn = Object.assign(
    (x: number) => {
      count += 1
      return scaled(x)
    },
    { note: [1] },
  )
  const there = sides.send(fn)
  const unable = makeSide(new FakeAnalyst())
  assert.equal(there(1), 2)
  const back = sides.back(there)
  assert.deepEqual([back(1), back.note], [3, [1]])
  const bytes = sides.there.serializer.serialize(there)
  const third = unable.serializer.deserialize(bytes) as typeof fn
  const again = sides.here.serializer.deserialize(unable.serializer.serialize(third)) as typeof fn
  assert.deepEqual([third(0), again(0)], [2, 2])
})

test('the stack shows the file, line and column of the user', () => {
  const fail = function failing(): never {
    throw new Error('here')
  }
  const placeOf = (fn: () => void): string => {
    try {
      fn()
    } catch (error) {
      return /failing.*?(\d+:\d+)/.exec(String((error as Error).stack))?.[1] ?? 'nowhere'
    }
    return ''
  }
  assert.match(placeOf(fail), /\d/)
  assert.equal(placeOf(roundTrip(fail)), placeOf(fail))
  assert.throws(roundTrip(fail), (error: Error) => String(error.stack).includes(import.meta.url))
})

test('lines and columns count from the position of the code', () => {
  const side = fake(() =>
    sourceParts('() => { throw new Error("x") }', [], { line: 41, column: 6 }),
  )
  const fn = sides.there.serializer.deserialize(side) as () => void
  assert.throws(fn, (error: Error) => /task\.js:42:21\)?\n/.test(String(error.stack)))
  const negative = fake(() => sourceParts('() => { throw new Error("x") }', [], { column: -3 }))
  const other = sides.there.serializer.deserialize(negative) as () => void
  assert.throws(other, (error: Error) => /task\.js:1:12\)?\n/.test(String(error.stack)))
})

/** The bytes of a function with the given parts. */
function fake(
  parts: () => ReturnType<typeof sourceParts>,
  analyst = new FakeAnalyst(),
): Uint8Array {
  const fn: AnyFunction = () => undefined
  analyst.know(fn, parts)
  return makeSide(analyst).serializer.serialize(fn)
}

function made<F>(bytes: Uint8Array): F {
  return sides.there.serializer.deserialize(Buffer.from(bytes)) as F
}

test('methods, getters and setters are found in the value of their code', () => {
  const forms = { method: '({m(a){return a}})', getter: '({get m(){return 5}})' } as const
  assert.equal(
    made<(a: number) => number>(fake(() => sourceParts(forms.method, [], { form: 'method' })))(3),
    3,
  )
  assert.equal(
    made<() => number>(fake(() => sourceParts(forms.getter, [], { form: 'getter' })))(),
    5,
  )
  const setter = made<(this: object, v: number) => void>(
    fake(() => sourceParts('({set m(v){this.v=v}})', [], { form: 'setter' })),
  )
  const target = { v: 0 }
  setter.call(target, 4)
  assert.equal(target.v, 4)
})

test('members of a module, references and runtime functions arrive', () => {
  const reference = {
    module: { kind: 'builtin', id: 'node:path' },
    form: 'import',
    path: ['sep'],
  } as const
  const module = { one: 1, two: Math.max, unused: new Map() }
  const fn = made<() => unknown>(
    fake(() =>
      sourceParts('() => [m.one, m.two(1, 2), s, Object.getPrototypeOf(m)]', [
        { name: 'm', content: { kind: 'members', module, names: ['one', 'two'] } },
        { name: 's', content: { kind: 'reference', reference } },
      ]),
    ),
  )
  assert.deepEqual(fn(), [1, 2, '/', null])
  const url = import.meta.url
  const importer = made<() => Promise<object>>(
    fake(() =>
      sourceParts('() => $i("node:os")', [], { url, runtime: [{ name: '$i', kind: 'import' }] }),
    ),
  )
  return importer().then((os) => assert.equal(typeof (os as { cpus: unknown }).cpus, 'function'))
})

test('a name that is captured nowhere is the global', () => {
  const parts = sourceParts('() => typeof setTimeout', [
    { name: 'setTimeout', content: { kind: 'value', value: 1 } },
  ])
  assert.equal(made<() => string>(fake(() => ({ ...parts, captures: [] })))(), 'function')
})

test('a captured variable that is refused says where it was captured', () => {
  const refusal = new Refusal('a socket', 'it is open', 'open it inside the function')
  const db = { name: 'db', content: { kind: 'refusal', refusal } } as const
  const analyst = new FakeAnalyst()
  const scaled: AnyFunction = () => undefined
  analyst.know(scaled, () => sourceParts('() => db', [db]))
  const task: AnyFunction = () => undefined
  const value = { name: 'scaled', content: { kind: 'value', value: scaled } } as const
  analyst.know(task, () => sourceParts('() => scaled()', [value]))
  const side = makeSide(analyst)
  assert.throws(
    () => side.serializer.serialize(task),
    (error: SerializeError) => {
      assert.deepEqual(error.path, ['task', 'scaled', 'db (captured at task.js:1)'])
      assert.match(
        error.message,
        /^task -> scaled -> db \(captured at task.js:1\): a socket cannot/,
      )
      return true
    },
  )
  assert.throws(
    () => side.serializer.serialize({ a: [task] }),
    (error: SerializeError) => {
      assert.deepEqual(error.path, ['a', '[0]', 'scaled', 'db (captured at task.js:1)'])
      return true
    },
  )
})

test('uncertain captures are written again, or refused', () => {
  const analyst = new FakeAnalyst()
  const keys = [{}, {}]
  const cell = (): ReturnType<typeof sourceParts> => {
    const key = analyst.answers.length > 1 ? keys.pop() : keys[0]
    return sourceParts('() => c.v', [
      { name: 'c', content: { kind: 'cell', key: key ?? {}, value: 1 } },
    ])
  }
  const [first, second]: [AnyFunction, AnyFunction] = [() => 1, () => 2]
  analyst.know(first, cell)
  analyst.know(second, cell)
  analyst.answers.unshift('again')
  const side = makeSide(analyst)
  made<() => number>(side.serializer.serialize(first))
  assert.equal(analyst.answers.length, 1)
  analyst.answers[0] = new Refusal('a variable', 'nobody knows who shares it', 'do not')
  assert.throws(() => side.serializer.serialize(first), /nobody knows/)
})

test('the same function gives the same bytes every time', () => {
  const state = { list: [1] }
  const fn = (): number => state.list.length
  const first = serializer.serialize(fn)
  assert.equal(serializer.serialize(fn), first)
  serializer.serialize({ fn })
  assert.equal(serializer.serialize(fn), first)
  state.list.push(2)
  const second = serializer.serialize(fn)
  assert.notEqual(second, first)
  assert.equal(serializer.serialize(fn), second)
})

test('functions of the same name and text are the same bytes, others are not', () => {
  const make = (): unknown[] => [1, 2].map(() => (x: number) => x + 1)
  const [first, second] = make()
  assert.equal(serializer.serialize(first), serializer.serialize(second))
  const named = Object.defineProperty((x: number) => x + 1, 'name', { value: 'other' })
  assert.notEqual(serializer.serialize(first), serializer.serialize(named))
  assert.notEqual(serializer.serialize(Math.sin), serializer.serialize(Math.cos))
})

test('a function that this Node does not have is a DeserializeError that names it', () => {
  const bytes = Buffer.from(serializer.serialize(Math.sqrt))
  bytes.write('sqxx', bytes.length - 4, 'latin1')
  assert.throws(
    () => serializer.deserialize(bytes),
    (error: unknown) => error instanceof DeserializeError && error.message.includes('Math.sqxx'),
  )
})

test("syntax that this Node does not know gives an error with the sender's Node version", () => {
  const bytes = Buffer.from(fake(() => sourceParts('() => { %%% }')))
  assert.throws(
    () => made(bytes),
    (error: Error) => {
      assert.ok(error instanceof DeserializeError)
      assert.match(error.message, /fn cannot be evaluated here: SyntaxError/)
      return !error.message.includes('sent by')
    },
  )
  bytes[1] = 99
  assert.throws(() => made(bytes), /sent by Node 99, this is Node \d+/)
})

test('functions of one text are compiled once, for any number of them', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => () => index)
  const bytes = serializer.serialize(many)
  const copies = sides.there.serializer.deserialize(bytes) as typeof many
  assert.deepEqual([copies[7]?.(), copies[4_999]?.()], [7, 4_999])
  assert.ok(bytes.byteLength < 5_000 * 40)
})

// The name of a function expression, which V8 does not show to functions inside it.

type Curried = (...args: readonly number[]) => unknown

function curry(fn: AnyFunction): Curried {
  return function curried(this: unknown, ...args) {
    if (args.length >= fn.length) return fn.apply(this, args as never[])
    return function (this: unknown, ...more: readonly number[]) {
      return curried.apply(this, [...args, ...more])
    }
  }
}

test('a function inside a function expression uses its name', () => {
  const add = curry((a: number, b: number, c: number) => a + b + c)
  const partial = add(1) as Curried
  assert.equal(roundTrip(partial)(2, 3), 6)
  assert.equal((roundTrip(partial)(2) as Curried)(3), 6)
  assert.equal(roundTrip(() => (partial(10) as Curried)(100))(), 111)
  const countdown = function next(n: number): () => string {
    return () => (n === 0 ? 'lift off' : next(n - 1)())
  }
  assert.equal(roundTrip(countdown(3))(), 'lift off')
  const later = async function wait(n: number): Promise<() => unknown> {
    await Promise.resolve()
    return async () => (n === 0 ? 'over' : (await wait(n - 1))())
  }
  return later(2).then(async (fn) => assert.equal(await roundTrip(fn)(), 'over'))
})

test('a name means the function expression, not a variable around it', () => {
  let step = function step(n: number): () => string {
    return () => (n === 0 ? 'own' : step(n - 1)())
  }
  const fn = step(2)
  step = () => () => 'other'
  assert.equal(step(0)(), 'other')
  assert.equal(fn(), 'own')
  assert.equal(roundTrip(fn)(), 'own')
})

test('a variable that the function expression changes is shared, or refused', () => {
  let calls = 0
  const unit = { n: 1 }
  const count = function again(n: number): () => number {
    calls += unit.n
    return () => (n === 0 ? calls : again(n - unit.n)())
  }
  const { fn, seen } = roundTrip({ fn: count(2), seen: () => calls * unit.n })
  assert.equal(fn(), 3)
  assert.equal(seen(), 3)
  assert.equal(calls, 1)
  assert.throws(() => roundTrip(unclearCount()), /whether they share it is unknown/)
})

function unclearCount(): object {
  let calls = 0
  const count = function again(n: number): () => number {
    calls += 1
    return () => (n === 0 ? calls : again(n - 1)())
  }
  return { fn: count(2), seen: () => calls }
}

test('the copy of a function inside can be sent on', () => {
  const fn = (curry((a: number, b: number, c: number) => a * b * c)(2) as Curried)(3) as Curried
  const there = new TwoSides()
  assert.equal(there.send(roundTrip(fn))(4), 24)
})

test('a function expression of which more than its text matters is refused', () => {
  const hidden = /the variable \w+ cannot travel .* V8 does not show its value; declare/
  const memo = function memo(n: number): () => unknown {
    return () => Reflect.get(memo, 'cache') ?? memo(n)
  }
  const itself = function itself(): () => unknown {
    return () => itself
  }
  const shadow = function shadow(n: number): () => unknown {
    if (n > 0) {
      const sides = n
      return () => [sides, shadow(0)()]
    }
    return () => sides.here
  }
  const assigned = sloppy<() => () => unknown>(
    'function f() { return () => { f = 1; return f() } }',
  )
  for (const fn of [memo(1), itself(), shadow(1), assigned()]) {
    assert.throws(() => roundTrip(fn), { name: 'SerializeError', message: hidden })
  }
})

test('a function or `var` at the top of a script, such as that of `node -e`, travels', () => {
  const sum = runInThisContext(`
    function topPlus(n) { return n + topStep.by }
    var topStep = { by: 1 }
    topStep.by = 2;
    () => topPlus(1)
  `) as () => number
  const copy = roundTrip(sum)
  runInThisContext('topStep.by = 9')
  assert.deepEqual([copy(), sum()], [3, 10])
  const count = runInThisContext('var topCount = 0; () => { topCount += 1 }') as AnyFunction
  assert.throws(() => roundTrip(count), /the variable topCount cannot travel/)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModuleNames } from '../module/names.js'
import { type AnyFunction, NativeNames } from '../module/native.js'
import { ModulePolicy } from '../module/policy.js'
import type { Refusal } from '../refusal.js'
import { makeSide, type Side, TwoSides } from '../two-sides.kit.js'
import { SourceAnalyst } from './analyst.js'
import { ExplicitFunctions } from './explicit.js'
import type { FunctionParts } from './parts.js'

const policy = new ModulePolicy()
const explicit = new ExplicitFunctions()

/** Counts how often something asks what a function is made of. */
class CountingAnalyst extends SourceAnalyst {
  asked = 0

  constructor() {
    const natives = new NativeNames()
    super({ natives, explicit, modules: new ModuleNames(policy, natives) })
  }

  override partsOf(fn: AnyFunction): FunctionParts | Refusal {
    this.asked += 1
    return super.partsOf(fn)
  }
}

const analyst = new CountingAnalyst()
const side = makeSide(analyst)

/** Writes it for the first time, and once more to find out what it depends on. */
function submitTwice(fn: AnyFunction): void {
  side.serializer.serializeFunction(fn)
  side.serializer.serializeFunction(fn)
}

/** Whether the function is written again at another submit. */
function isWrittenAgain(fn: AnyFunction): boolean {
  const before = analyst.asked
  side.serializer.serializeFunction(fn)
  return analyst.asked > before
}

/** What arrives of the function when it is submitted now. */
function arrived<F extends AnyFunction>(fn: F, there: Side = new TwoSides().there): F {
  const { bytes, attachments } = side.serializer.serializeFunction(fn)
  const stored = attachments.map((one) => ({ bytes: one, token: one }))
  return there.serializer.deserializeFunction(bytes, stored).value as F
}

const rate = 2
const frozen = Object.freeze({ list: Object.freeze([1, 2]), at: null })
const large = Object.freeze(Array.from({ length: 70_000 }, (_, index) => index))
const list = [1]
const halfFrozen = Object.freeze({ list })
const twice = (value: number): number => value * rate
let level = 1
class Point {
  static count = 0
}

test('a function whose captures are constants is not written again', () => {
  const functions: readonly AnyFunction[] = [
    () => 1,
    (value: number) => value * rate,
    (value: number) => twice(value),
    function old() {
      return Math.max(rate, 1)
    },
    async () => frozen.list.length,
    () => large.length,
    function again(count: number): number {
      return count === 0 ? 0 : again(count - 1)
    },
  ]
  for (const fn of functions) {
    const { bytes, attachments } = side.serializer.serializeFunction(fn)
    assert.equal(isWrittenAgain(fn), true, String(fn))
    assert.equal(isWrittenAgain(fn), false, String(fn))
    const again = side.serializer.serializeFunction(fn)
    assert.equal(again.bytes, bytes)
    assert.deepEqual(again.attachments, attachments)
    const whole = side.serializer.serialize(fn)
    side.serializer.serialize(fn)
    const { asked } = analyst
    assert.equal(side.serializer.serialize(fn), whole)
    assert.equal(analyst.asked, asked)
  }
})

test('a function that captures anything else is written at each submit', () => {
  const functions: readonly AnyFunction[] = [
    () => list.length,
    () => halfFrozen.list,
    () => level,
    () => Point.count,
    () => new Map([[rate, list]]),
    twice.bind(undefined),
    Object.assign(() => rate, { calls: 1 }),
    Object.freeze(() => rate),
  ]
  for (const fn of functions) {
    submitTwice(fn)
    assert.equal(isWrittenAgain(fn), true, String(fn))
  }
  level += 1
})

test('what is done to such a function shows at the next submit', () => {
  const make = (): (() => number) =>
    function own() {
      return rate
    }
  type Change = readonly [name: string, change: (fn: AnyFunction) => unknown, shows: ShowsIn]
  type ShowsIn = (copy: AnyFunction) => unknown
  const changes: readonly Change[] = [
    ['a property', (fn) => Object.assign(fn, { calls: 3 }), (fn) => Reflect.get(fn, 'calls') === 3],
    [
      'a symbol',
      (fn) => Object.assign(fn, { [Symbol.for('s')]: 4 }),
      (fn) => Reflect.get(fn, Symbol.for('s')) === 4,
    ],
    [
      'its name',
      (fn) => Object.defineProperty(fn, 'name', { value: 'other' }),
      (fn) => fn.name === 'other',
    ],
    [
      'its length',
      (fn) => Object.defineProperty(fn, 'length', { value: 7 }),
      (fn) => fn.length === 7,
    ],
    ['freeze', (fn) => Object.freeze(fn), (fn) => Object.isFrozen(fn)],
    [
      'its prototype',
      (fn) => Object.setPrototypeOf(fn, { greet: 5 }) as unknown,
      (fn) => Reflect.get(fn, 'greet') === 5,
    ],
    [
      'a method',
      (fn) => Object.assign(fn.prototype as object, { greet: 6 }),
      (fn) => Reflect.get(fn.prototype as object, 'greet') === 6,
    ],
    [
      'another object of methods',
      (fn) => (fn.prototype = { greet: 7 }),
      (fn) => Reflect.get(fn.prototype as object, 'greet') === 7,
    ],
  ]
  for (const [name, change, shows] of changes) {
    const fn = make()
    const caller = (): unknown => fn
    for (const root of [fn, caller]) submitTwice(root)
    assert.equal(isWrittenAgain(fn), false)
    assert.equal(isWrittenAgain(caller), false)
    change(fn)
    assert.ok(shows(arrived(fn)), name)
    assert.ok(shows(arrived(caller)() as AnyFunction), `${name} of a captured function`)
  }
})

test('registrations take effect at the next submit', () => {
  const fn = (): number => rate
  submitTwice(fn)
  assert.equal(isWrittenAgain(fn), false)
  policy.registerByReference('some-package')
  assert.equal(isWrittenAgain(fn), true)
  assert.equal(isWrittenAgain(fn), false)
  side.codecs.register(Point, { serialize: () => 1, deserialize: () => new Point() })
  assert.equal(isWrittenAgain(fn), true)
  assert.equal(isWrittenAgain(fn), false)
  explicit.withCaptures(fn, { captures: { rate: 9 } })
  assert.equal(arrived(fn)(), 9)
})

test('a function that came from elsewhere is not written again, either', () => {
  const sides = new TwoSides()
  const copy = sides.send((value: number): number => (value === 0 ? rate : twice(value)))
  sides.there.serializer.serializeFunction(copy)
  const first = sides.there.serializer.serializeFunction(copy)
  assert.equal(sides.there.serializer.serializeFunction(copy), first)
  Object.assign(copy, { calls: 1 })
  assert.notEqual(sides.there.serializer.serializeFunction(copy).bytes, first.bytes)
})

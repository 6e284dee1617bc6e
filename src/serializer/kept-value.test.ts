// A value arrives unchanged, in everything that a program can find out about it, or is refused.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInThisContext } from 'node:vm'
import { SerializeError } from '../base/errors.js'
import { differenceOf } from './strict-walk.kit.js'
import { TwoSides } from './two-sides.kit.js'

const sides = new TwoSides()

/** Values by their special property, alone and inside another value. */
function assertKept(values: Readonly<Record<string, unknown>>): void {
  for (const [title, value] of Object.entries(values)) {
    for (const whole of [value, [value], { a: value, b: [value] }]) {
      assert.equal(differenceOf(whole, sides.send(whole)), undefined, title)
    }
  }
}

function refusal(value: unknown): SerializeError {
  try {
    sides.send(value)
  } catch (error) {
    assert.ok(error instanceof SerializeError)
    return error
  }
  assert.fail('it was serialized')
}

type Change = readonly [name: string, change: (object: object) => object]

/** The modifications that any object allows. */
const CHANGES: readonly Change[] = [
  ['nothing', (object) => object],
  ['a property', (object) => Object.assign(object, { note: [1] })],
  ['a hidden one', (object) => Object.defineProperty(object, 'hidden', { value: 1 })],
  ['a symbol', (object) => Object.assign(object, { [Symbol('own')]: 1 })],
  ['a hidden symbol', (object) => Object.defineProperty(object, Symbol.for('s'), { value: 1 })],
  ['an accessor', (object) => Object.defineProperty(object, 'twice', { get: () => 2 })],
  ['preventExtensions', (object) => Object.preventExtensions(object)],
  ['a property, seal', (object) => Object.seal(Object.assign(object, { note: 1 }))],
  ['no prototype', (object) => Object.setPrototypeOf(object, null) as object],
  ['another prototype', (object) => Object.setPrototypeOf(object, { greet: 1 }) as object],
  ['freeze', (object) => (hasElements(object) ? object : Object.freeze(object))],
]

function hasElements(object: object): boolean {
  return ArrayBuffer.isView(object) && !(object instanceof DataView) && object.byteLength > 0
}

class Point {
  x = 1
}

const MAKERS: Readonly<Record<string, () => object>> = {
  object: () => ({ a: 1 }),
  array: () => [1, 'a', { b: 2 }],
  numbers: () => [0.5, 1.5, 2.5, 3.5, 4.5],
  'long array': () => Array.from({ length: 60 }, (_, index) => `${index}`),
  // oxlint-disable-next-line no-sparse-arrays
  'array with holes': () => [1, , 3, , ,],
  'empty array': () => [],
  map: () => new Map<unknown, unknown>([[1, { a: 1 }]]),
  set: () => new Set([1, 'a']),
  date: () => new Date(5),
  'invalid date': () => new Date(NaN),
  regexp: () => /a(?<b>c)/giu,
  number: () => Object(5) as object,
  'boxed -0': () => Object(-0) as object,
  string: () => Object('text') as object,
  boolean: () => Object(false) as object,
  bigint: () => Object(5n) as object,
  symbol: () => Object(Symbol.for('b')) as object,
  error: () => new TypeError('no', { cause: 1 }),
  'error without message': () => new Error(),
  'aggregate error': () => new AggregateError([new Error('a')], 'all'),
  buffer: () => new ArrayBuffer(8),
  bytes: () => Uint8Array.of(1, 2),
  'no bytes': () => new Uint8Array(0),
  'many bytes': () => new Uint8Array(70).fill(7),
  doubles: () => Float64Array.of(1, 2),
  'node buffer': () => Buffer.from('some text'),
  'long node buffer': () => Buffer.alloc(80, 1),
  view: () => new DataView(new ArrayBuffer(4)),
  arguments: () =>
    (function (..._values: unknown[]) {
      return arguments
    })(1, { a: 2 }),
  instance: () => new Point(),
}

for (const [kind, make] of Object.entries(MAKERS)) {
  test(`own properties, prototype and closing of: ${kind}`, () => {
    for (const [name, change] of CHANGES) assertKept({ [`${kind}, ${name}`]: change(make()) })
  })
}

test('elements of arrays with attributes, accessors, and a fixed length', () => {
  const define = (key: PropertyKey, attributes: PropertyDescriptor): unknown[] =>
    Object.defineProperty([1, 2, 3], key, attributes) as unknown[]
  assertKept({
    getter: define(1, { get: () => 5, enumerable: true, configurable: true }),
    'not writable': define(1, { writable: false }),
    'not enumerable': define(1, { enumerable: false }),
    'not configurable': define(1, { configurable: false }),
    'fixed length': define('length', { writable: false }),
    'fixed length, longer': Object.defineProperty([1, 2], 'length', { value: 4, writable: false }),
    'hidden, closed': Object.preventExtensions(define('x', { value: 1 })),
    'hidden element, frozen': Object.freeze(define(1, { enumerable: false })),
    'getter in numbers': Object.defineProperty([0.5, 1.5, 2.5, 3.5], 2, { get: () => 1 }),
    template: ((strings: TemplateStringsArray) => strings)`a\nb`,
    match: /b(?<c>.)/.exec('abcd'),
  })
})

test('the position of a regular expression, including -0 and read-only', () => {
  const at = (lastIndex: number): RegExp => Object.assign(/a/g, { lastIndex })
  assertKept({
    zero: at(0),
    three: at(3),
    '-0': at(-0),
    fixed: Object.defineProperty(at(0), 'lastIndex', { writable: false }),
    'fixed at 2': Object.defineProperty(at(2), 'lastIndex', { writable: false }),
  })
})

test('built-in objects with the prototype of plain ones, or of a known class', () => {
  for (const [kind, make] of Object.entries(MAKERS)) {
    const odd = (prototype: object): object => Object.setPrototypeOf(make(), prototype) as object
    const values = [{}, new Point(), new Point(), odd(Object.prototype), odd(Point.prototype)]
    assertKept({ [kind]: values, [`${kind} as a function`]: odd(Function.prototype) })
  }
})

test('own properties of a boxed string beyond its characters', () => {
  const text = Object.assign(Object('ab') as object, { 5: 'x', '-1': 'y', '01': 'z' })
  const own = Object.assign(Object('ab') as object, { valueOf: () => 5 })
  assertKept({ text, own })
})

test('attributes of errors, accessors, and a missing message', () => {
  const define = (key: PropertyKey, attributes: PropertyDescriptor): Error =>
    Object.defineProperty(new RangeError('x'), key, attributes)
  const old = Object.create(Error.prototype, { message: { value: 'old' } }) as object
  class Plain extends Error {}
  assertKept({
    'not writable': define('message', { writable: false }),
    enumerable: define('message', { enumerable: true }),
    'not configurable': define('code', { value: 1, enumerable: true }),
    getter: define('detail', { get: () => 5, configurable: true }),
    'own name': define('name', { value: 'Other', writable: true, configurable: true }),
    'class without message': new Plain(),
    'only inherits': old,
    'inherits from a prototype of its own': Object.setPrototypeOf(
      new Error('x'),
      Object.create(TypeError.prototype, { extra: { value: 1 } }) as object,
    ),
  })
  assert.ok(!Object.hasOwn(sides.send(new Error()), 'message'))
})

test('arguments objects that were changed', () => {
  const make = (): IArguments =>
    (function (..._values: unknown[]) {
      return arguments
    })(1, 2, 3)
  const shorter = make()
  shorter.length = 1
  const longer = make()
  longer.length = 7
  const holed = make()
  delete holed[1]
  const iterated = Object.assign(make(), { [Symbol.iterator]: () => [][Symbol.iterator]() })
  const more = Object.assign(make(), { 5: 'five', note: 1 })
  assertKept({ shorter, longer, holed, iterated, more })
  const cut = make()
  Reflect.deleteProperty(cut, 'length')
  assert.match(refusal(cut).message, /arguments object .*\[\.\.\.arguments\]/)
})

test('arguments of a sloppy function arrive as those of a strict one', () => {
  const make = runInThisContext('(function(a){a=2;return arguments})') as (a: number) => IArguments
  const copy = sides.send(make(1))
  assert.deepEqual([copy.length, copy[0]], [1, 2])
  assert.throws(() => copy.callee, TypeError)
})

test('an error whose class cannot travel is refused as a value, and keeps its texts when thrown', () => {
  class Secret extends Error {
    readonly #code = 5
    get code(): number {
      return this.#code
    }
  }
  assert.match(refusal({ e: new Secret('x') }).message, /e: a Secret cannot travel.*#code/)
})

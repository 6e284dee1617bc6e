// Random values: graphs of objects of every kind that may travel, with all modifications that
// objects allow: properties of all attributes, other prototypes, closing, sharing, cycles.

import type { Random } from '../simulation/random.js'

class Point {
  x = 1
  get twice(): number {
    return this.x * 2
  }
}

class Place extends Point {
  readonly name = 'place'
}

class Failure extends RangeError {
  readonly code = 7
}

type Make = (random: Random, next: () => unknown) => object

/** Objects by kind, some with other values inside. */
const MAKERS: readonly Make[] = [
  (random, next) => Object.fromEntries(times(random, 4, () => [keyText(random), next()])),
  (random, next) => times(random, 5, next),
  (random) => times(random, 8, () => random.next()),
  (random) => Array.from({ length: random.int(80) }, (_, index) => index),
  (random, next) => {
    const list = times(random, 6, next)
    Reflect.deleteProperty(list, random.int(6))
    list.length += random.int(3)
    return list
  },
  (random, next) => new Map(times(random, 3, () => [next(), next()])),
  (random, next) => new Set(times(random, 3, next)),
  (random) => new Date(random.pick([0, -1, NaN, 8.64e15])),
  (random) => Object.assign(random.pick([/a/, /b(?<c>d)?/giu, /[^]\/\n/sy]), { lastIndex: 0 }),
  (random) => Object(primitive(random) ?? 'text') as object,
  (random, next) => {
    const make = random.pick([Error, TypeError, Failure])
    return random.chance(0.5) ? new make('failed', { cause: next() }) : new make()
  },
  (random, next) => new AggregateError(times(random, 2, next), 'all'),
  (random) => new ArrayBuffer(random.int(20)),
  (random) =>
    new (random.pick([Uint8Array, Int16Array, Float64Array, BigInt64Array]))(random.int(70)),
  (random) => Buffer.alloc(random.int(70), 'x'),
  (random) => new DataView(new ArrayBuffer(8), random.int(4)),
  (random, next) => Object.assign(new (random.pick([Point, Place]))(), { extra: next() }),
  (_, next) => Object.create(null, { a: { value: next(), enumerable: true } }) as object,
  (_, next) => argumentsOf(next(), next()),
  () => new URL('https://example.org/a?b#c'),
  () => new URLSearchParams('a=1&b=2'),
  (_, next) => {
    const held = next()
    return () => held
  },
  () => (x: number) => x + 1,
  () => Point,
  () => Math.max,
]

function argumentsOf(..._values: unknown[]): IArguments {
  return arguments
}

/** A random value of at most this many objects. */
export function makeValue(random: Random, maxObjects: number): unknown {
  const made: object[] = []
  let depth = 0
  const next = (): unknown => {
    if (random.chance(0.4) || made.length >= maxObjects || depth > 5) {
      return made.length > 0 && random.chance(0.3) ? random.pick(made) : primitive(random)
    }
    depth += 1
    const object = random.pick(MAKERS)(random, next)
    depth -= 1
    made.push(object)
    return object
  }
  let root: unknown = next()
  for (let tries = 0; tries < 3 && made.length === 0; tries += 1) root = next()
  // Earlier objects may refer to later ones: cycles.
  for (const object of made.slice()) {
    if (random.chance(0.5)) change(random, object, next)
  }
  return root
}

function change(random: Random, object: object, next: () => unknown): void {
  for (let left = random.int(3); left > 0; left -= 1) {
    const flags = { enumerable: random.chance(0.5), configurable: random.chance(0.5) }
    const isAccessor = random.chance(0.2)
    const descriptor: PropertyDescriptor = isAccessor
      ? { ...flags, get: () => 5 }
      : { ...flags, value: next(), writable: random.chance(0.5) }
    Reflect.defineProperty(object, randomKey(random, object), descriptor)
  }
  if (random.chance(0.15)) {
    const prototype = random.pick([null, { greet: 1 }, Point.prototype, Object.prototype])
    if (typeof object !== 'function') Reflect.setPrototypeOf(object, prototype)
  }
  const close = random.int(12)
  if (close === 0) Object.preventExtensions(object)
  else if (close === 1) Object.seal(object)
  else if (close === 2 && !ArrayBuffer.isView(object)) Object.freeze(object)
}

function randomKey(random: Random, object: object): string | symbol {
  // Properties that every function and class has according to its text.
  const isOwn = typeof object !== 'function' && random.chance(0.3)
  const own = isOwn
    ? Reflect.ownKeys(object).filter((key) => key !== 'stack' && key !== 'length')
    : []
  if (own.length > 0) return random.pick(own)
  if (random.chance(0.2)) return random.pick([Symbol('own'), Symbol.for('all'), Symbol.toStringTag])
  return keyText(random)
}

function keyText(random: Random): string {
  return random.pick([
    'a',
    'b',
    'some key',
    '0',
    '7',
    '-1',
    '01',
    '__proto__',
    'toString',
    'ключ',
    '',
  ])
}

function primitive(random: Random): unknown {
  return random.pick<unknown>([
    undefined,
    null,
    true,
    0,
    -0,
    NaN,
    random.int(1000),
    -random.next(),
    2n ** 70n,
    'text',
    'зима ☃ 𝒳',
    '\ud800',
    Symbol.iterator,
    Symbol.for('a'),
  ])
}

function times<T>(random: Random, below: number, make: () => T): T[] {
  return Array.from({ length: random.int(below) }, make)
}

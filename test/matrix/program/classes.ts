// Classes and their instances.

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Case } from '../kit/case.js'

class Vector {
  static readonly unit = 1
  x: number
  y: number
  constructor(x: number, y: number) {
    this.x = x
    this.y = y
  }
  plus(other: Vector): Vector {
    return new Vector(this.x + other.x, this.y + other.y)
  }
  get length(): number {
    return Math.hypot(this.x, this.y)
  }
  set length(value: number) {
    const factor = value / this.length
    this.x *= factor
    this.y *= factor
  }
  static of(x: number): Vector {
    return new Vector(x, x)
  }
}

const label = 'labelled'
const NAMES = { shout: 'shout', hidden: Symbol('hidden') }
/** Only the names of members use these variables. */
class Labelled {
  [label](): string {
    return 'method'
  }
  get [NAMES.shout](): string {
    return 'getter'
  }
  static [NAMES.hidden](): string {
    return 'static'
  }
}

const start = 10
class Fields {
  first = start
  second = this.first + 1
  list: number[] = [start]
  'quoted name' = true
  declared?: string
}

class Tally {
  #count = 0
  static #made = 0
  constructor() {
    Tally.#made += 1
  }
  #step(by: number): number {
    this.#count += by
    return this.#count
  }
  get #double(): number {
    return this.#count * 2
  }
  add(by: number): number {
    return this.#step(by)
  }
  doubled(): number {
    return this.#double
  }
  static isTally(value: object): boolean {
    return #count in value
  }
  static made(): number {
    return Tally.#made
  }
}

class LoudTally extends Tally {
  override add(by: number): number {
    return super.add(by) * 100
  }
}

class Replaced extends Tally {
  #calls = 0
  override add(by: number): number {
    this.#calls += 1
    return super.add(by) + this.#calls
  }
}
const { add: addTo } = Replaced.prototype
Replaced.prototype.add = function (by) {
  return -Reflect.apply(addTo, this, [by])
}

const effects: string[] = []
class Registered {
  static table = new Map<string, number>()
  static ready: boolean
  static {
    effects.push('evaluated')
    this.table.set('a', 1)
    Registered.ready = true
  }
}
Registered.table.set('b', 2)

class Settings {
  static level = 1
  static names: string[] = ['x']
}
Settings.level = 7
Settings.names.push('y')

class Animal {
  name: string
  constructor(name: string) {
    this.name = name
  }
  speak(): string {
    return `${this.name} makes a sound`
  }
  static create(this: new (name: string) => Animal, name: string): Animal {
    return new this(name)
  }
}
class Dog extends Animal {
  override speak(): string {
    return `${super.speak()}: woof`
  }
  static override create(name: string): Animal {
    return super.create.call(this, `dog ${name}`)
  }
}

class NotFound extends Error {
  override readonly name = 'NotFound'
  readonly key: string
  constructor(key: string, options?: ErrorOptions) {
    super(`no ${key}`, options)
    this.key = key
  }
}

class DefaultMap<K, V> extends Map<K, V> {
  readonly #make: (key: K) => V
  constructor(make: (key: K) => V) {
    super()
    this.#make = make
  }
  override get(key: K): V {
    if (!this.has(key)) this.set(key, this.#make(key))
    return super.get(key) as V
  }
}

class Stack<T> extends Array<T> {
  get top(): T | undefined {
    return this.at(-1)
  }
}

class Bus extends EventEmitter {
  count = 0
  constructor() {
    super()
    this.on('hit', () => (this.count += 1))
  }
}

const Named = class Inner {
  self(): boolean {
    return this.constructor === Inner
  }
}

type Constructor = new (...parameters: never[]) => object
const stamped = <C extends Constructor>(Parent: C, stamp: string) =>
  class extends (Parent as unknown as new (...parameters: unknown[]) => object) {
    readonly stamp = stamp
    label(): string {
      return `${stamp}:${Parent.name.length > 0}`
    }
  }
const StampedVector = stamped(Vector, 's')

const method = Symbol('method')
const kind: unique symbol = Symbol.for('matrix.kind')
const prefix = 'get'
class Keyed {
  [method](): string {
    return 'by symbol'
  }
  [`${prefix}It`](): string {
    return 'by text'
  }
  *[Symbol.iterator](): Generator<number> {
    yield 1
    yield 2
  }
  [Symbol.toPrimitive](hint: string): string | number {
    return hint === 'number' ? 9 : 'nine'
  }
  static [kind] = 'kind'
}

class Leaf {
  readonly kind: string = 'leaf'
  grow(): Leaf {
    return new Branch([this])
  }
}
class Branch extends Leaf {
  override readonly kind: string = 'branch'
  readonly leaves: readonly Leaf[]
  constructor(leaves: readonly Leaf[]) {
    super()
    this.leaves = leaves
  }
}

class Shape {
  constructor() {
    if (new.target === Shape) throw new TypeError('abstract')
  }
}
class Circle extends Shape {}

class Pages {
  async *all(): AsyncGenerator<number> {
    for (const page of [1, 2]) yield await this.load(page)
  }
  async load(page: number): Promise<number> {
    await Promise.resolve()
    return page * start
  }
}

class Button {
  presses = 3
  readonly onPress = (): number => this.presses
}

const hidden = new WeakMap<object, string>()
class Safe {
  constructor(text: string) {
    hidden.set(this, text)
  }
  open(): string | undefined {
    return hidden.get(this)
  }
}

const made = new Vector(3, 4)
const bound = made.plus.bind(made)

/** Classes and their instances. */
export const cases: readonly Case[] = [
  {
    name: 'members with computed names',
    fn() {
      const named = new Labelled() as unknown as Record<string, unknown> & { labelled(): string }
      const [hidden] = Object.getOwnPropertySymbols(Labelled)
      const statics = Labelled as unknown as Record<symbol, () => string>
      return [named.labelled(), named['shout'], statics[hidden ?? Symbol.iterator]?.()]
    },
    want: ['method', 'getter', 'static'],
  },
  {
    name: 'class instance methods',
    fn: () => new Vector(1, 2).plus(Vector.of(2)).length,
    want: 5,
    isSmoke: true,
  },
  {
    name: 'accessors of a class',
    fn() {
      const vector = new Vector(3, 4)
      vector.length = 10
      return [vector.x, vector.y, Vector.unit]
    },
    want: [6, 8, 1],
  },
  { name: 'class fields', fn: () => ({ ...new Fields() }), check: hasFields },
  {
    name: 'private names',
    fn() {
      const tally = new Tally()
      tally.add(2)
      return [tally.add(3), tally.doubled()]
    },
    want: [5, 10],
    isSmoke: true,
  },
  {
    name: '#x in o',
    fn: () => [Tally.isTally(new Tally()), Tally.isTally({})],
    want: [true, false],
  },
  {
    name: 'private static field',
    fn() {
      const before = Tally.made()
      return [new Tally(), Tally.made() - before].at(1)
    },
    want: 1,
  },
  {
    name: 'private names and inheritance',
    fn: () => [new LoudTally().add(2), Tally.isTally(new LoudTally())],
    want: [200, true],
  },
  {
    name: 'a replaced method with private names and super',
    fn() {
      const replaced = new Replaced()
      return [replaced.add(2), replaced.add(2), Reflect.apply(addTo, replaced, [1])]
    },
    want: [-3, -6, 8],
  },
  {
    name: 'static block',
    fn: () => [Registered.ready, Registered.table.get('b'), effects.length],
    want: [true, 2, 1],
    mayBeRefused: /static/,
  },
  {
    name: 'statics have their current values',
    fn: () => [Settings.level, Settings.names],
    want: [7, ['x', 'y']],
  },
  {
    name: 'super in class methods',
    fn: () => [new Dog('rex').speak(), Dog.create('tim').name],
    want: ['rex makes a sound: woof', 'dog tim'],
  },
  {
    name: 'class extending a captured class inside the function',
    fn() {
      class Puppy extends Dog {
        override speak(): string {
          return `${super.speak()}!`
        }
      }
      return new Puppy('p').speak()
    },
    want: 'p makes a sound: woof!',
  },
  {
    name: 'class that extends Error',
    fn() {
      try {
        throw new NotFound('k', { cause: 1 })
      } catch (error) {
        assertIs(error, NotFound)
        return [error.name, error.message, error.key, error.cause, error instanceof Error]
      }
    },
    want: ['NotFound', 'no k', 'k', 1, true],
  },
  {
    name: 'class that extends Map',
    fn() {
      const map = new DefaultMap((key: string) => key.length)
      return [map.get('abc'), map.size, map instanceof Map]
    },
    want: [3, 1, true],
  },
  {
    name: 'class that extends Array',
    fn: () => [Stack.from([1, 2]).length, (Stack.of(4, 5) as Stack<number>).top],
    want: [2, 5],
  },
  {
    name: 'class that extends a built-in of Node',
    fn() {
      const bus = new Bus()
      bus.emit('hit')
      bus.emit('hit')
      return bus.count
    },
    want: 2,
  },
  { name: 'class expression', fn: () => new Named().self(), want: true },
  {
    name: 'class made by a function',
    fn() {
      const one = new StampedVector(1, 2)
      return [one.stamp, one.label(), one instanceof Vector, one instanceof StampedVector]
    },
    want: ['s', 's:true', true, true],
  },
  {
    name: 'computed keys of a class',
    fn() {
      const keyed = new Keyed()
      const byText = (keyed as unknown as Record<string, () => string>)['getIt']?.()
      return [keyed[method](), byText, Keyed[kind], [...keyed], Number(keyed), String(keyed)]
    },
    want: ['by symbol', 'by text', 'kind', [1, 2], 9, 'nine'],
    mayBeRefused: /cannot be seen from outside|name of a member/,
  },
  {
    name: 'classes that use each other',
    fn() {
      const grown = new Leaf().grow()
      return [grown.kind, grown instanceof Branch, grown instanceof Leaf, new Leaf().kind]
    },
    want: ['branch', true, true, 'leaf'],
  },
  {
    name: 'abstract class by new.target',
    fn() {
      try {
        return [new Circle() instanceof Shape, new Shape()]
      } catch (error) {
        return (error as Error).message
      }
    },
    want: 'abstract',
  },
  {
    name: 'async and generator methods of a class',
    async fn() {
      const seen = []
      for await (const page of new Pages().all()) seen.push(page)
      return seen
    },
    want: [10, 20],
  },
  { name: 'captured instance', fn: () => [made.length, made instanceof Vector], want: [5, true] },
  {
    name: 'method bound to an instance',
    fn: () => bound(new Vector(1, 1)),
    want: new Vector(4, 5),
  },
  {
    name: 'instance as argument',
    fn: (vector: Vector) => [vector instanceof Vector, vector.plus(vector).length],
    args: [new Vector(3, 4)],
    want: [true, 10],
  },
  {
    name: 'instance as result',
    fn: (x: number) => new Dog(`dog ${x}`),
    args: [1],
    check(result) {
      assertIs(result, Dog)
      assert.equal(result.speak(), 'dog 1 makes a sound: woof')
    },
  },
  {
    name: 'class as argument',
    fn: (Class: typeof Vector, x: number) => new Class(x, 0).length,
    args: [Vector, 7],
    want: 7,
  },
  {
    name: 'class as result is the same class',
    fn: () => Vector,
    check: (result) => assert.equal(result, Vector),
  },
  {
    name: 'one class in several shipments',
    async scenario(ship) {
      const dog = await ship((name: string) => new Dog(name), 'a')
      assertIs(dog, Dog)
      const answer = await ship((one: object) => [one instanceof Dog, one instanceof Animal], dog)
      assert.deepEqual(answer, [true, true])
    },
  },
  {
    name: 'instance with private state',
    async scenario(ship) {
      const tally = new Tally()
      tally.add(4)
      assert.equal(await ship((one: Tally) => one.add(1), tally), 5)
    },
    mayBeRefused: /#|private|WeakMap/,
  },
  {
    name: 'arrow in a field',
    async scenario(ship) {
      const button = new Button()
      assert.equal(await ship(() => button.onPress()), 3)
    },
    mayBeRefused: /this/,
  },
  {
    name: 'WeakMap as private state',
    fn: () => new Safe('text').open(),
    want: 'text',
    mayBeRefused: /WeakMap/,
  },
]

function assertIs<T extends object>(
  value: unknown,
  Class: new (...parameters: never[]) => T,
): asserts value is T {
  if (!(value instanceof Class)) throw new Error('not an instance')
}

function hasFields(result: unknown): void {
  const fields = result as Record<string, unknown>
  // Compilers to ES2015 define no field without a value.
  delete fields['declared']
  assert.deepEqual(fields, { first: 10, second: 11, list: [10], 'quoted name': true })
}

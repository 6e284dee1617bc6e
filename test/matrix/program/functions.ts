// Functions of every form.

import assert from 'node:assert/strict'
import type { Case } from '../kit/case.js'

function factorial(n: number): number {
  return n <= 1 ? 1 : n * factorial(n - 1)
}

const isEven = (n: number): boolean => (n === 0 ? true : isOdd(n - 1))
const isOdd = (n: number): boolean => (n === 0 ? false : isEven(n - 1))

const fibonacci = function inner(n: number): number {
  return n < 2 ? n : inner(n - 1) + inner(n - 2)
}

const rate = 3
const tripled = (x: number): number => x * rate

const calculator = {
  add(a: number, b: number): number {
    return a + b
  },
  [`make${'Adder'}`](a: number) {
    return (b: number) => this.add(a, b)
  },
  async later(a: number): Promise<number> {
    await Promise.resolve()
    return this.add(a, 1)
  },
  *upTo(n: number): Generator<number> {
    for (let i = 1; i <= n; i += 1) yield this.add(i, 0)
  },
}

const account = {
  entries: [10, 20],
  total(): number {
    return this.entries.reduce((sum, entry) => sum + entry, 0)
  },
}

const thermometer = {
  celsius: 0,
  get fahrenheit(): number {
    return this.celsius * 1.8 + 32
  },
  set fahrenheit(value: number) {
    this.celsius = (value - 32) / 1.8
  },
}

const politeParent = {
  greet(): string {
    return `hello from ${this.constructor === Object ? 'an object' : 'elsewhere'}`
  },
}
const politeChild = {
  greet(): string {
    return `${(super['greet' as never] as () => string).call(this)}!`
  },
}
Object.setPrototypeOf(politeChild, politeParent)

async function addLater(a: Promise<number> | number, b: number): Promise<number> {
  try {
    return (await a) + (await Promise.resolve(b))
  } finally {
    await Promise.resolve()
  }
}

function* countdown(from: number): Generator<number, string> {
  while (from > 0) yield from--
  return 'lift-off'
}

async function* ticks(n: number): AsyncGenerator<number> {
  for (let i = 0; i < n; i += 1) {
    await Promise.resolve()
    yield i * rate
  }
}

const iterable = {
  *[Symbol.iterator](): Generator<number> {
    yield* countdown(3)
  },
}

function unpack(
  {
    name,
    tags: [first = 'none', ...others] = [],
    ...rest
  }: Record<string, unknown> & {
    readonly tags?: readonly string[]
  },
  scale = rate,
  scaled = scale * 2,
): unknown {
  return [name, first, others, rest, scale, scaled]
}

interface Deep {
  readonly a?: { readonly b?: () => number }
}
const deep: Deep = { a: { b: () => 7 } }
const readDeep = (value: Deep | undefined): number => value?.a?.b?.() ?? -1

function tag(strings: TemplateStringsArray, ...values: readonly unknown[]): string {
  return strings.raw.map((text, index) => text + String(values[index] ?? '')).join('|')
}

function search(table: readonly (readonly number[])[], wanted: number): string {
  let steps = 0
  outer: for (const [row, line] of table.entries()) {
    for (const [column, value] of line.entries()) {
      steps += 1
      if (value < 0) continue outer
      if (value === wanted) return `${row},${column} after ${steps}`
      if (value > 100) break outer
    }
  }
  return `not found after ${steps}`
}

function strictThis(this: unknown): unknown {
  return this
}

const frozen: { value: number } = Object.freeze({ value: 1 })
function writesFrozen(): string {
  try {
    frozen.value = 2
    return 'silent'
  } catch (error) {
    return (error as Error).name
  }
}

const curry =
  (a: number) =>
  (b: number) =>
  (c: number): number =>
    a * rate + b * 10 + c

function versioned(): unknown {
  return [versioned.version, versioned.options.depth]
}
versioned.version = 5
versioned.options = { depth: 2 }

interface PointLike {
  x: number
  y: number
  norm(): number
  name?: string
}
type OldClass = (new (...parameters: unknown[]) => PointLike) & {
  call(self: unknown, ...parameters: unknown[]): void
}

const Point = function (this: PointLike, x: number, y: number): void {
  this.x = x
  this.y = y
} as unknown as OldClass
Point.prototype.norm = function (this: PointLike): number {
  return Math.hypot(this.x, this.y)
}

const NamedPoint = function (this: PointLike, name: string): void {
  Point.call(this, 3, 4)
  this.name = name
} as unknown as OldClass
NamedPoint.prototype = Object.create(Point.prototype, {
  constructor: { value: NamedPoint, writable: true, configurable: true },
}) as PointLike

function countArguments(): number {
  return arguments.length
}

const Newable = function (this: unknown): { readonly how: string } {
  return { how: new.target === undefined ? 'called' : 'constructed' }
} as unknown as (new () => { how: string }) & (() => { how: string })

const steps = [(x: number): number => x + 1, (x: number): number => x * rate, Math.sqrt]

interface Registry {
  self?: Registry
  run?: () => boolean
  readonly handlers: Map<string, () => string>
}
const registry: Registry = { handlers: new Map() }
registry.self = registry
registry.run = () => registry.self === registry
registry.handlers.set('hi', () => `${registry.handlers.size} handler`)

const inLoop: (() => number)[] = []
for (let i = 0; i < 3; i += 1) inLoop.push(() => i * 10)

const stack = (() => {
  const items: number[] = []
  return {
    push: (item: number): number => items.push(item),
    top: (): number | undefined => items.at(-1),
  }
})()

class Maker {
  rate = 2
  make(): (x: number) => number {
    return (x) => x * this.rate
  }
}

// prettier-ignore
const odd = function /* a */ spaced /* ( */ (x /* ) => { */ : number , y = "}" /* " */) /* : */ {
  // an odd } one
  return `${x}${y}${/[/\]}]+/.test('}')}${'`'}` }

const levels = (a: number) => {
  const b = a + 1
  return {
    down: (c: number) => {
      const d = b + c
      return () => [a, b, c, d, rate]
    },
  }
}
const bottom = levels(1).down(3)

const getter = Object.getOwnPropertyDescriptor(thermometer, 'fahrenheit')?.get
const withDefault = (fn: (x: number) => number = (x) => x * rate): number => fn(2)

/** Characters outside ASCII: names, strings, regular expressions. */
const größe = 4
const unicode = (): unknown => ['ünï', '😀'.length, '\u{1F600}', größe, /ü+/u.exec('aüü')?.[0]]

/** Functions of every form. */
export const cases: readonly Case[] = [
  { name: 'recursion', fn: factorial, args: [10], want: 3_628_800, isSmoke: true },
  { name: 'mutual recursion', fn: isEven, args: [11], want: false, isSmoke: true },
  { name: 'recursion by own name', fn: fibonacci, args: [12], want: 144 },
  { name: 'arrow with a captured const', fn: tripled, args: [14], want: 42, isSmoke: true },
  { name: 'extracted method', fn: calculator.add, args: [1, 2], want: 3 },
  {
    name: 'computed method name',
    fn: () => calculator['makeAdder' as 'add'](1, 0),
    check: isFive,
    mayBeRefused: /this/,
  },
  { name: 'async method', fn: (x: number) => calculator.later(x), args: [4], want: 5 },
  { name: 'generator method', fn: () => [...calculator.upTo(3)], want: [1, 2, 3] },
  { name: 'method that uses this', fn: () => account.total(), want: 30 },
  {
    name: 'getter and setter of a captured object',
    fn() {
      const before = thermometer.fahrenheit
      thermometer.fahrenheit = 212
      return [before, Math.round(thermometer.celsius)]
    },
    want: [32, 100],
  },
  {
    name: 'extracted getter',
    fn: () => getter?.call({ celsius: 10, fahrenheit: 0 }),
    want: 50,
  },
  {
    name: 'object-method super',
    fn: () => politeChild.greet(),
    want: 'hello from an object!',
    mayBeRefused: /super/,
  },
  { name: 'async function', fn: addLater, args: [40, 2], want: 42, isSmoke: true },
  {
    name: 'async arrow',
    fn: async (x: number) => (await addLater(x, 1)) * rate,
    args: [1],
    want: 6,
  },
  {
    name: 'generator',
    fn() {
      const running = countdown(2)
      return [running.next(), running.next(), running.next()]
    },
    want: [
      { value: 2, done: false },
      { value: 1, done: false },
      { value: 'lift-off', done: true },
    ],
  },
  {
    name: 'async generator',
    async fn() {
      const seen = []
      for await (const tick of ticks(3)) seen.push(tick)
      return seen
    },
    want: [0, 3, 6],
  },
  { name: 'iterable object', fn: () => [...iterable], want: [3, 2, 1] },
  {
    name: 'destructuring and defaults',
    fn: unpack,
    args: [{ name: 'n', tags: [undefined, 'b', 'c'], extra: 1 }],
    want: ['n', 'none', ['b', 'c'], { extra: 1 }, 3, 6],
  },
  { name: 'a function as default', fn: () => withDefault(), want: 6 },
  {
    name: 'rest and spread',
    fn: (...all: number[]) => Math.max(...all, ...[rate, 2]) + { ...{ a: 1 }, ...all }.a,
    args: [1, 5],
    want: 6,
  },
  {
    name: 'optional chaining',
    fn: () => [readDeep(deep), readDeep({}), readDeep(undefined)],
    want: [7, -1, -1],
  },
  { name: 'tagged literal', fn: () => tag`a\n${rate}b${2}`, want: 'a\\n3|b2|' },
  { name: 'bigint', fn: (x: bigint) => x * x - 1n, args: [1n << 40n], want: (1n << 80n) - 1n },
  {
    name: 'labels',
    fn: search,
    args: [
      [
        [1, -1, 5],
        [2, 7],
      ],
      7,
    ],
    want: '1,1 after 4',
  },
  {
    name: 'strict mode: this',
    fn: () => strictThis() === undefined,
    want: true,
    needs: ['strict'],
  },
  { name: 'strict mode: frozen objects', fn: writesFrozen, want: 'TypeError', needs: ['strict'] },
  { name: 'functions that return functions', fn: () => curry(1)(2)(3), want: 26 },
  {
    name: 'a result that is a function',
    fn: (a: number) => curry(a),
    args: [2],
    check: (result) => assert.equal((result as ReturnType<typeof curry>)(1)(4), 20),
  },
  {
    name: 'a function as argument',
    fn: (callback: (x: number) => number, x: number) => callback(callback(x)),
    args: [tripled, 2],
    want: 18,
    isSmoke: true,
  },
  { name: 'function properties', fn: versioned, want: [5, 2] },
  { name: 'old prototypes', fn: () => new Point(3, 4).norm(), want: 5 },
  {
    name: 'inheritance by prototypes',
    fn() {
      const point = new NamedPoint('p')
      return [point.norm(), point.name, point instanceof Point, point.constructor === NamedPoint]
    },
    want: [5, 'p', true, true],
  },
  { name: 'arguments', fn: countArguments, args: [1, 2, 3], want: 3 },
  {
    name: 'new.target',
    fn: () => [new Newable().how, Newable().how],
    want: ['constructed', 'called'],
  },
  {
    name: 'an array of functions',
    fn: (x: number) => steps.reduce((v, step) => step(v), x),
    args: [2],
    want: 3,
  },
  {
    name: 'objects and functions in a circle',
    fn: () => [registry.run?.(), registry.self === registry, registry.handlers.get('hi')?.()],
    want: [true, true, '1 handler'],
  },
  { name: 'closures made in a loop', fn: () => inLoop.map((fn) => fn()), want: [0, 10, 20] },
  {
    name: 'the module pattern',
    fn: () => [stack.push(5), stack.push(6), stack.top()],
    want: [1, 2, 6],
  },
  { name: 'an arrow that uses an outer this', fn: new Maker().make(), args: [2], refused: /this/ },
  {
    name: 'name and length',
    async scenario(ship) {
      const found = await ship(() => [
        factorial.name,
        unpack.length,
        countArguments.name,
        curry.length,
      ])
      assert.deepEqual(found, [factorial.name, unpack.length, countArguments.name, curry.length])
    },
  },
  { name: 'odd formatting', fn: odd, args: [1], want: '1}true`' },
  { name: 'captures through several levels', fn: bottom, want: [1, 2, 3, 5, 3] },
  { name: 'unicode', fn: unicode, want: ['ünï', 2, '😀', 4, 'üü'] },
]

function isFive(result: unknown): void {
  assert.equal((result as (b: number) => number)(4), 5)
}

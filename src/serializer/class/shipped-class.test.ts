// oxlint-disable typescript/unbound-method -- methods without their object are what is tested

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SerializeError } from '../../base/errors.js'
import { FakeAnalyst, sourceParts } from '../fake-analyst.kit.js'
import type { AnyFunction } from '../module/native.js'
import { makeSide, TwoSides } from '../two-sides.kit.js'

const factor = 2
const scale = (x: number): number => x * factor

class Shape {
  static made = 0
  static readonly registry = new Map<string, number>()
  readonly name: string
  constructor(name: string) {
    this.name = name
    Shape.made += 1
  }
  static of(name: string): Shape {
    return new Shape(name)
  }
  get title(): string {
    return this.name.toUpperCase()
  }
}

class Square extends Shape {
  side: number
  constructor(side: number) {
    super('square')
    this.side = side
  }
  area(): number {
    return scale(this.side) ** 2
  }
}

test('instances travel with their class, also of classes that extend others', () => {
  const sides = new TwoSides()
  const copy = sides.send(new Square(2))
  assert.deepEqual([copy.area(), copy.title, copy.side], [16, 'SQUARE', 2])
  assert.notEqual(copy.constructor, Square)
  assert.equal(copy.constructor.name, 'Square')
  assert.ok(sides.back(copy) instanceof Square)
  assert.equal(Shape.made, 1)
})

test('a class is one class: in captures, arguments, results, and from one message to the next', () => {
  const sides = new TwoSides()
  const check = sides.send((shape: unknown) => shape instanceof Shape && shape instanceof Square)
  const make = sides.send(() => new Square(3))
  assert.ok(check(sides.send(new Square(1))) && check(make()))
  assert.ok(sides.back(make()) instanceof Square)
  assert.equal(sides.send({ Shape }).Shape, sides.send(Shape))
  assert.equal(sides.back(sides.send(Square)), Square)
  assert.equal(sides.send(Square.prototype), sides.send(Square).prototype)
})

test('100,000 instances name their class once', () => {
  const sides = new TwoSides()
  class Point {
    readonly x: number
    constructor(x: number) {
      this.x = x
    }
  }
  const points = Array.from({ length: 100_000 }, (_, index) => new Point(index % 100))
  const bytes = sides.here.serializer.serialize(points)
  assert.ok(bytes.byteLength < 1_000_000, `${bytes.byteLength}`)
  const copies = sides.there.serializer.deserialize(bytes) as Point[]
  assert.equal(copies[99_999]?.x, 99)
  assert.equal(copies[0]?.constructor, copies[99_999]?.constructor)
})

test('in each task statics have the values of its submit, whatever the task before did', () => {
  const sides = new TwoSides()
  class Config {
    static level = 1
    static list: number[] = []
    static readonly handler = (): number => Config.level
    readonly level = Config.level
  }
  const change = (config: Config): number => {
    Config.list.push(0)
    Config.prototype.toString = () => 'changed'
    return (Config.level += 10) + config.level
  }
  assert.equal(sides.send(change)(sides.send(new Config())), 12)
  sides.beginTask()
  const Copy = sides.send(new Config()).constructor as typeof Config
  assert.deepEqual([Copy.level, Copy.list, Copy.handler()], [1, [], 1])
  assert.ok(!Object.hasOwn(Copy.prototype, 'toString'))
  Config.level = 5
  Config.list.push(1)
  Object.assign(Config, { extra: 'x' })
  sides.beginTask()
  const Next = sides.send(new Config()).constructor as typeof Config & { extra: string }
  assert.deepEqual([Next.level, Next.list, new Next().level, Next.handler()], [5, [1], 5, 5])
  assert.equal(Next.extra, 'x')
})

test('in one task a class is one class, and stays as the task has it', () => {
  const sides = new TwoSides()
  const seen = new Set<string>()
  class Memo {
    static calls = 0
    static see(key: string): number {
      seen.add(key)
      Memo.calls += 1
      return seen.size
    }
  }
  const see = sides.send((key: string, memo?: Memo) => [
    Memo.see(key),
    Memo.calls,
    memo === undefined || memo instanceof Memo,
  ])
  assert.deepEqual(see('a'), [1, 1, true])
  Memo.calls = 7
  assert.deepEqual(see('b', sides.send(new Memo())), [2, 2, true])
})

test('variables that a class and a function share are shared', () => {
  const sides = new TwoSides()
  let total = 0
  const log: string[] = []
  const note = (text: string): void => void log.push(text)
  class Meter {
    add(n: number): void {
      total += n
      note(`+${n}`)
    }
  }
  const task = (n: number): unknown[] => {
    new Meter().add(n)
    note('done')
    return [total, log.length, log]
  }
  const run = sides.send(task)
  run(2)
  assert.deepEqual(run(3).slice(0, 2), [5, 4])
  assert.deepEqual([total, log.length], [0, 0])
  const again = sides.send({ task, note })
  again.note('x')
  assert.equal(again.task(1)[1], 7)
})

test('a class is what the class that it extends is at the submit', () => {
  const sides = new TwoSides()
  let rate = 1
  class Base {
    static level = 1
    rate(): number {
      return rate
    }
  }
  class Derived extends Base {}
  const levelOf = (): number => Derived.level
  const rateOf = (derived: Derived): number => derived.rate()
  assert.equal(sides.send(levelOf)(), 1)
  assert.equal(sides.send(rateOf)(sides.send(new Derived())), 1)
  Base.level = 2
  rate = 2
  sides.beginTask()
  assert.equal(sides.send(levelOf)(), 2)
  assert.equal(sides.send(rateOf)(sides.send(new Derived())), 2)
})

test('a class that came from a task can be changed here', () => {
  const sides = new TwoSides()
  class Made {
    static level = 1
    use(): string {
      return 'theirs'
    }
  }
  const Here = sides.back(Made)
  Here.level = 2
  Here.prototype.use = () => 'ours'
  const both = sides.send(() => [Here.level, new Here().use()])
  assert.deepEqual(both(), [2, 'ours'])
  assert.ok(sides.back(sides.send(new Here())) instanceof Here)
})

test('a method that was replaced and restored is what it was', () => {
  const sides = new TwoSides()
  class Tool {
    use(): string {
      return 'own'
    }
  }
  const { use } = Object.getOwnPropertyDescriptors(Tool.prototype)
  const call = (tool: Tool): string => tool.use()
  assert.equal(sides.send(call)(sides.send(new Tool())), 'own')
  Tool.prototype.use = () => 'other'
  sides.beginTask()
  assert.equal(sides.send(call)(sides.send(new Tool())), 'other')
  Object.defineProperty(Tool.prototype, 'use', use)
  sides.beginTask()
  assert.equal(sides.send(call)(sides.send(new Tool())), 'own')
})

test('a frozen class shows what its statics hold now', () => {
  const sides = new TwoSides()
  class Frozen {
    static readonly limits = { count: 1 }
  }
  Object.freeze(Frozen)
  const countOf = (): number => Frozen.limits.count
  assert.equal(sides.send(countOf)(), 1)
  Frozen.limits.count = 2
  sides.beginTask()
  assert.equal(sides.send(countOf)(), 2)
})

test('classes and helpers that are shared by several classes do not change with what comes along', () => {
  const sides = new TwoSides()
  const used: number[] = []
  const use = (n: number): number => used.push(n)
  const config = { inner: { part: { limit: 1 } } }
  class First {
    static readonly part = config.inner.part
    limit(): number {
      return config.inner.part.limit
    }
    one(): number {
      return use(1)
    }
  }
  class Second {
    static readonly inner = config.inner
    two(): number {
      return use(2)
    }
    other(): First {
      return new First()
    }
  }
  const both = sides.send(() => [
    new First().one() + config.inner.part.limit - First.part.limit,
    new Second().two(),
  ])
  both()
  for (const value of [new Second(), new First(), [new Second(), new First()], { use, Second }]) {
    sides.send(value)
  }
  assert.deepEqual(both(), [3, 4])
})

test('private members, static blocks and static private fields', () => {
  const sides = new TwoSides()
  let blocks = 0
  class Account {
    static #opened = 1
    static {
      blocks += 1
    }
    #cents = 0
    add(cents: number): this {
      this.#cents += cents
      return this
    }
    get cents(): number {
      return this.#cents
    }
    static open(): [Account, number] {
      Account.#opened += 1
      return [new Account(), Account.#opened]
    }
  }
  Account.open()
  const open = sides.send((cents: number) => {
    const [account, opened] = Account.open()
    return [account.add(cents).cents, opened]
  })
  assert.deepEqual(
    [open(5), open(6)],
    [
      [5, 3],
      [6, 4],
    ],
  )
  assert.equal(blocks, 1)
  assert.throws(
    () => sides.send({ accounts: [new Account()] }),
    (error: unknown) => {
      assert.ok(error instanceof SerializeError)
      assert.deepEqual(error.path, ['accounts', '[0]'])
      return /an Account cannot .*#cents.*registerClass/.test(error.message)
    },
  )
  class Saving extends Account {}
  assert.throws(() => sides.send(new Saving()), /a Saving cannot .*#cents/)
})

test('subclasses of built-in classes', () => {
  const sides = new TwoSides()
  class Table extends Map<string, number> {
    total = 0
    override set(key: string, value: number): this {
      this.total = (this.total ?? 0) + 1
      return super.set(key, value)
    }
  }
  class Tags extends Set<string> {}
  class List extends Array<number> {
    get sum(): number {
      return this.reduce((a, b) => a + b, 0)
    }
  }
  class Day extends Date {
    get year(): number {
      return this.getUTCFullYear()
    }
  }
  class Word extends RegExp {}
  class Vector extends Float64Array {
    get length2(): number {
      return this.reduce((a, b) => a + b * b, 0)
    }
  }
  class Address extends URL {}
  const value = {
    table: new Table([['a', 1]]),
    tags: new Tags(['x']),
    list: List.from([1, 2]) as List,
    day: new Day(0),
    word: new Word('a', 'g'),
    vector: new Vector([3, 4]),
    sparse: Object.assign(new List(), { 3: 1 }),
    address: new Address('http://a/b'),
  }
  const copy = sides.send(value)
  assert.deepEqual([copy.table.get('a'), copy.table.total, copy.table.size], [1, 0, 1])
  assert.equal(copy.table.set('b', 2).total, 1)
  assert.ok(copy.tags.has('x') && copy.tags.constructor.name === 'Tags')
  assert.deepEqual([copy.list.sum, copy.list.length, Array.isArray(copy.list)], [3, 2, true])
  assert.deepEqual([copy.day.year, copy.word.test('a'), copy.vector.length2], [1970, true, 25])
  assert.deepEqual([copy.sparse.length, copy.sparse.sum, 0 in copy.sparse], [4, 1, false])
  assert.equal(copy.address.pathname, '/b')
  assert.equal(copy.address.constructor.name, 'Address')
  const home = sides.back(copy)
  assert.ok(home.table instanceof Table && home.list instanceof List && home.day instanceof Day)
})

test('constructors of old, with what they inherit', () => {
  const sides = new TwoSides()
  function Animal(this: { name: string }, name: string): void {
    this.name = name
  }
  Object.assign(Animal.prototype as object, {
    speak(this: { name: string }): string {
      return `I am ${this.name}`
    },
  })
  function Dog(this: { name: string }, name: string): void {
    Animal.call(this, name)
  }
  const constructor = { value: Dog, configurable: true, writable: true }
  Dog.prototype = Object.create(Animal.prototype as object, { constructor }) as object
  Object.assign(Dog.prototype, { bark: () => 'wau' })
  interface DogLike {
    name: string
    speak(): string
    bark(): string
  }
  const make = (Class: unknown, name: string): DogLike =>
    Reflect.construct(Class as AnyFunction, [name]) as DogLike
  const copy = sides.send(make(Dog, 'Rex'))
  assert.deepEqual([copy.speak(), copy.bark()], ['I am Rex', 'wau'])
  const isDog = sides.send((value: unknown) => value instanceof Dog && value instanceof Animal)
  assert.ok(isDog(copy) && isDog(sides.send(make(Dog, 'Bo'))))
  assert.ok(sides.back(copy) instanceof (Dog as unknown as typeof Shape))
  function Plain(this: { x: number }): void {
    this.x = 1
  }
  const [both, Again] = sides.send([make(Plain, ''), Plain] as const)
  assert.equal(both.constructor, Again)
  const [later, instance] = sides.send([Plain, make(Plain, '')] as const)
  assert.equal(instance.constructor, later)
})

test('members that were added or replaced travel, others come with the text', () => {
  const sides = new TwoSides()
  class Service {
    run(): string {
      return 'plain'
    }
    other(): string {
      return 'other'
    }
    static create(): Service {
      return new Service()
    }
  }
  const plain = Service.prototype.run
  Service.prototype.run = function () {
    return `logged ${plain.call(this)}`
  }
  Object.defineProperty(Service.prototype, 'added', { get: () => 'added', configurable: true })
  const original = Service.create
  Object.defineProperty(Service, 'create', { value: () => Object.assign(original(), { by: 'x' }) })
  const Copy = sides.send(Service)
  const copy = Copy.create() as Service & { added: string; by: string }
  assert.deepEqual(
    [copy.run(), copy.other(), copy.added, copy.by],
    ['logged plain', 'other', 'added', 'x'],
  )
  assert.ok(copy instanceof Copy)
})

test('computed names of members are what they were, whatever the variable holds later', () => {
  const sides = new TwoSides()
  const KEYS = { open: 'openIt', deep: { close: Symbol('close') }, list: ['first'] }
  class Door {
    [KEYS.open](): unknown {
      return KEYS
    }
    [KEYS.deep.close](): string {
      return 'closed'
    }
    [KEYS.list[0] ?? '']() {
      return 1
    }
    static readonly KEY = 'viaClass'
  }
  class Gate {
    [Door.KEY](): string {
      return Door.KEY
    }
  }
  const [Copy, keys, CopyOfGate] = sides.send([Door, KEYS, Gate] as const)
  const door = new Copy() as unknown as Record<string | symbol, () => unknown>
  assert.equal(door['openIt']?.(), keys)
  assert.equal(door[keys.deep.close]?.(), 'closed')
  assert.equal(door['first']?.(), 1)
  const gate = new CopyOfGate() as unknown as Record<string, () => unknown>
  assert.equal(gate['viaClass']?.(), 'viaClass')
})

test('members have the names that the class has, though nobody else keeps what they were made of', () => {
  const sides = new TwoSides()
  // Variables that nothing but the names use are nowhere when the classes are made.
  const make = (count: number): [new () => object, ...object[]] => {
    let calls = count
    const next = (): string => `call${(calls += 1)}`
    const key = `key${count}`
    const names = { get: `get${count}`, hidden: Symbol('hidden') }
    const this_ = 'field'
    class Made {
      [key](): string {
        return 'method'
      }
      static async *[`${key}s`](): AsyncGenerator<string> {
        yield* ['static']
      }
      get [names.get](): string {
        return 'getter'
      }
      set [names.get](value: string) {
        Reflect.set(this, 'set', value)
      }
      [next()](): string {
        return 'same'
      }
      [next()](): string {
        return 'same'
      }
      static [/* of all */ names.hidden](): string {
        return 'hidden'
      }
      [this_] = count;
      [Symbol.toPrimitive](): string {
        return 'primitive'
      }
    }
    return [Made]
  }
  const classes = sides.send([make(0)[0], make(10)[0]])
  for (const [index, Made] of classes.entries()) {
    const n = index * 10
    const made = new Made() as Record<string, unknown> & Record<string, () => unknown>
    const statics = Made as unknown as Record<string | symbol, () => unknown>
    const prototype = Made.prototype as object
    assert.deepEqual(Reflect.ownKeys(prototype).map(String), [
      'constructor',
      `key${n}`,
      `get${n}`,
      `call${n + 1}`,
      `call${n + 2}`,
      'Symbol(Symbol.toPrimitive)',
    ])
    assert.equal(made[`key${n}`]?.(), 'method')
    assert.equal(made[`get${n}`], 'getter')
    Reflect.set(made, `get${n}`, 'x')
    assert.deepEqual([made['set'], made['field'], `${made as never}`], ['x', n, 'primitive'])
    assert.equal(made[`call${n + 2}`]?.(), 'same')
    assert.equal(typeof statics[`key${n}s`]?.(), 'object')
    const [symbol] = Object.getOwnPropertySymbols(Made)
    assert.equal(statics[symbol ?? 'none']?.(), 'hidden')
  }
})

test('a class one of whose members was replaced needs what its names are made of', () => {
  const sides = new TwoSides()
  const parts = { key: 'k' }
  class Made {
    [parts.key](): number {
      return 1
    }
  }
  Reflect.set(Made.prototype, 'k', () => 2)
  assert.throws(
    () => sides.send(Made),
    /the variable parts .*use it in the class once more, for example in `static \{ parts \}`/,
  )
})

test('a class that holds instances of itself, and classes that need each other', () => {
  const sides = new TwoSides()
  class Node {
    static readonly root = new Node()
    readonly parent: Node | undefined
    constructor(parent?: Node) {
      this.parent = parent
    }
    child(): Leaf {
      return new Leaf(this)
    }
    isRoot(): boolean {
      return this === Node.root
    }
  }
  class Leaf extends Node {
    static readonly first = new Leaf(Node.root)
  }
  const task = sides.send(() => [
    Node.root.isRoot(),
    Leaf.first.parent === Node.root,
    Node.root.child() instanceof Leaf,
    Leaf.first instanceof Node,
  ])
  assert.deepEqual(task(), [true, true, true, true])
})

test('classes of packages go by reference, and their instances with them', async () => {
  const sides = new TwoSides()
  const { Random } = (await import('fast-check')) as unknown as {
    Random: new (g: object) => object
  }
  const instance = Object.assign(Object.create(Random.prototype as object) as object, { seed: 1 })
  const copy = sides.send(instance)
  assert.equal(copy.constructor, Random)
})

test('private fields as compilers write them follow their instances', () => {
  const analyst = new FakeAnalyst()
  const store = new WeakMap<object, number>()
  const marks = new WeakSet<object>()
  class Lowered {
    constructor() {
      store.set(this, 1)
      marks.add(this)
    }
  }
  const text =
    'class Lowered { constructor(){ s.set(this, 1) } get(){ return [s.get(this), w.has(this)] } bump(){ s.set(this, s.get(this) + 1); return this } }'
  const classParts = { parent: undefined, staticPrivates: [], instancePrivates: [] }
  const captures = [
    { name: 's', content: { kind: 'privateStore', store } },
    { name: 'w', content: { kind: 'privateStore', store: marks } },
  ] as const
  analyst.know(Lowered as unknown as AnyFunction, () => sourceParts(text, captures, { classParts }))
  interface Instance {
    get(): [number, boolean]
    bump(): Instance
  }
  const here = makeSide(analyst).serializer
  const there = makeSide(new FakeAnalyst()).serializer
  const [first, second] = [new Lowered(), new Lowered()]
  store.set(second, 7)
  const send = (value: unknown): unknown => there.deserialize(Buffer.from(here.serialize(value)))
  const copies = send({ first, nested: [second] }) as { first: Instance; nested: [Instance] }
  assert.deepEqual(
    [copies.first.get(), copies.nested[0].get()],
    [
      [1, true],
      [7, true],
    ],
  )
  const later = send(second) as Instance
  assert.deepEqual(later.bump().get(), [8, true])
  const home = here.deserialize(Buffer.from(there.serialize(later))) as Lowered
  assert.ok(home instanceof Lowered)
  assert.deepEqual([store.get(home), store.get(second), marks.has(home)], [8, 7, true])
})

test('what was added to methods and accessors travels with their class', () => {
  const sides = new TwoSides()
  class Base {
    hello(): string {
      return 'hello'
    }
  }
  class Service extends Base {
    readonly #secret = 7
    static create(): Service {
      return new Service()
    }
    plain(): number {
      return 1
    }
    override hello(): string {
      return `${super.hello()} again`
    }
    get secret(): number {
      return this.#secret
    }
    *[Symbol.iterator](): Generator<number> {
      yield this.#secret
    }
  }
  const getter = Object.getOwnPropertyDescriptor(Service.prototype, 'secret')?.get
  const shared = { route: '/' }
  Object.assign(Service.create, { self: Service, shared })
  Object.assign(Service.prototype.hello, { shared, [Symbol.for('tag')]: 1 })
  Object.assign(Service.prototype[Symbol.iterator], { at: new Date(5) })
  Object.assign(getter ?? {}, { cached: true })
  Object.freeze(Service.prototype.plain)

  const first = sides.send(Service)
  // A task passes it on to another one.
  const bytes = sides.there.serializer.serialize(first)
  const second = makeSide().serializer.deserialize(bytes) as typeof Service
  for (const copy of [first, second]) {
    const members = copy.prototype
    const copied = Object.getOwnPropertyDescriptor(members, 'secret')?.get
    const { self, shared: one } = copy.create as unknown as Record<string, unknown>
    const { shared: other } = members.hello as unknown as Record<string, unknown>
    assert.equal(self, copy)
    assert.deepEqual(one, shared)
    assert.equal(one, other)
    assert.equal(Reflect.get(members.hello, Symbol.for('tag')), 1)
    assert.deepEqual(Reflect.get(members[Symbol.iterator], 'at'), new Date(5))
    assert.equal(Reflect.get(copied ?? {}, 'cached'), true)
    assert.ok(Object.isFrozen(members.plain) && !Object.isFrozen(members.hello))
    assert.deepEqual(Object.keys(members), [])
    const service = copy.create()
    assert.deepEqual([service.hello(), service.secret, ...service], ['hello again', 7, 7])
  }
})

test('what is added to a method between two messages is in the second', () => {
  class Counter {
    count(): number {
      return 1
    }
  }
  const read = (): unknown => Reflect.get(Counter.prototype.count, 'limit')
  const { here } = new TwoSides()
  const values = [undefined, 1, 2].map((limit) => {
    if (limit !== undefined) Object.assign(Counter.prototype.count, { limit })
    const bytes = here.serializer.serialize(read)
    return (new TwoSides().there.serializer.deserialize(bytes) as typeof read)()
  })
  assert.deepEqual(values, [undefined, 1, 2])
})

test('what was added to a method and cannot travel is named', () => {
  class Watched {
    look(): void {}
  }
  Object.assign(Watched.prototype.look, { seen: new WeakSet() })
  assert.throws(
    () => new TwoSides().send(Watched),
    (error: unknown) => error instanceof SerializeError && /seen/.test(error.message),
  )
})

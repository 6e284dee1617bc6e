import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError, SerializeError } from '../../base/errors.js'
import { TwoSides } from '../two-sides.kit.js'
import { ClassCodecs, type AnyClass, type ClassCodecOptions } from './codecs.js'

class Money {
  readonly #cents: number
  constructor(cents: number) {
    this.#cents = cents
  }
  get cents(): number {
    return this.#cents
  }
}

class Price extends Money {
  readonly label: string
  constructor(cents: number, label = '') {
    super(cents)
    this.label = label
  }
}

const moneyCodec: ClassCodecOptions<Money> = {
  serialize: (money) => money.cents,
  deserialize: (cents) => new Money(cents as number),
}

test('instances of a registered class travel as what its user makes of them, and back', () => {
  const sides = new TwoSides()
  sides.here.codecs.register(Money, moneyCodec)
  const copy = sides.send({ money: new Money(5), list: [new Money(6)] })
  assert.deepEqual([copy.money.cents, copy.list[0]?.cents], [5, 6])
  assert.notEqual(copy.money.constructor, Money)
  const home = sides.back({ again: copy.money })
  assert.ok(home.again instanceof Money)
  assert.equal(home.again.cents, 5)
})

test('a function meets the same class', () => {
  const sides = new TwoSides()
  sides.here.codecs.register(Money, moneyCodec)
  const double = sides.send((money: Money) =>
    money instanceof Money ? new Money(2 * money.cents) : 'not money',
  )
  const result = double(sides.send(new Money(4)))
  assert.equal((sides.back(result) as Money).cents, 8)
})

test('a registered class brings its codec, so that what is made of it can come back', () => {
  const sides = new TwoSides()
  const make = (cents: number): Money => new Money(cents)
  assert.throws(() => sides.back(sides.send(make)(1)), /a Money cannot travel/)
  sides.here.codecs.register(Money, moneyCodec)
  for (const made of [
    sides.send(make)(1),
    new (sides.send({ classes: [Money, Money] }).classes[1] ?? Money)(2),
    new (sides.send(Money))(3),
  ]) {
    const home = sides.back([made])
    assert.ok(home[0] instanceof Money)
    assert.equal(home[0].cents, made.cents)
  }
})

test('registered classes whose codecs need each other travel', () => {
  class Coin {
    readonly #cents: number
    constructor(cents: number) {
      this.#cents = cents
    }
    toMoney(): Money {
      return new Money(this.#cents)
    }
  }
  const sides = new TwoSides()
  sides.here.codecs.register(Coin, {
    serialize: (coin) => coin.toMoney().cents,
    deserialize: (cents) => new Coin(new Money(cents).cents),
  })
  sides.here.codecs.register(Money, {
    serialize: (money) => new Coin(money.cents).toMoney().cents,
    deserialize: (cents) => new Coin(cents).toMoney(),
  })
  const both = sides.send(() => [new Coin(1), new Money(2)] as const)
  const [coin, money] = sides.back(both())
  assert.ok(coin instanceof Coin && money instanceof Money)
  assert.deepEqual([coin.toMoney().cents, money.cents], [1, 2])
})

test('a class whose codec cannot travel does, but nothing that is made of it', () => {
  const sides = new TwoSides()
  const { signal } = new AbortController()
  sides.here.codecs.register(Money, {
    serialize: (money) => [money.cents, signal.aborted],
    deserialize: () => new Money(signal.aborted ? 1 : 2),
  })
  const make = sides.send(() => new Money(7))
  assert.equal(make().cents, 7)
  assert.throws(() => sides.back(make()), /a Money cannot travel/)
  assert.throws(() => sides.send(new Money(7)), /the codec of Money.*an AbortSignal cannot travel/s)
})

test('a class that extends a registered one needs a codec of its own', () => {
  const sides = new TwoSides()
  sides.here.codecs.register(Money, moneyCodec)
  assert.throws(() => sides.send(new Price(3, 'x')), /a Price cannot travel.*registerClass/)
  sides.here.codecs.register(Price, {
    serialize: ({ cents, label }) => ({ cents, label }),
    deserialize: (value) => {
      const { cents, label } = value as Price
      return new Price(cents, label)
    },
  })
  const price = sides.send(new Price(3, 'x'))
  assert.deepEqual([price.cents, price.label, price.constructor.name], [3, 'x', 'Price'])
})

test('an instance may hold others, but not lead back to itself', () => {
  const sides = new TwoSides()
  class Box {
    #content: unknown
    constructor(content: unknown) {
      this.#content = content
    }
    get content(): unknown {
      return this.#content
    }
    fill(content: unknown): void {
      this.#content = content
    }
  }
  sides.here.codecs.register(Box, {
    serialize: (box) => [box.content],
    deserialize: (value) => new Box(value[0]),
  })
  const nested = sides.send(new Box(new Box([1])))
  assert.deepEqual((nested.content as Box).content, [1])
  const cyclic = new Box(undefined)
  cyclic.fill({ back: cyclic })
  assert.throws(
    () => sides.send({ cyclic }),
    (error: unknown) => {
      assert.ok(error instanceof SerializeError)
      assert.deepEqual(error.path, ['cyclic', 'what serialize returns for Box', '[0]', 'back'])
      return /a Box cannot .*contains it/.test(error.message)
    },
  )
  let deep = new Box(1)
  for (let level = 0; level < 1_000; level += 1) deep = new Box(deep)
  assert.throws(() => sides.send(deep), /nested too deep/)
  assert.equal(sides.send(new Box(2)).content, 2)
})

test('what a codec returns or throws is reported with the way to the instance', () => {
  const sides = new TwoSides()
  class Odd {}
  const cause = new TypeError('no')
  sides.here.codecs.register(Odd, {
    serialize: () => {
      throw cause
    },
    deserialize: () => new Odd(),
  })
  assert.throws(
    () => sides.send({ list: [new Odd()] }),
    (error: SerializeError) => {
      assert.deepEqual([error.path, error.cause], [['list', '[0]'], cause])
      return error.message.endsWith(': serialize, as registered for Odd, failed: TypeError: no')
    },
  )
  sides.here.codecs.register(Odd, {
    serialize: () => Promise.resolve(),
    deserialize: () => new Odd(),
  })
  const promise = /^SerializeError: odd -> what serialize returns for Odd: a Promise cannot/
  assert.throws(() => sides.send({ odd: new Odd() }), promise)
  const pending = Promise.resolve()
  sides.here.codecs.register(Odd, { serialize: () => pending === null, deserialize: () => ({}) })
  const codec =
    /^SerializeError: odd -> the codec of Odd -> serialize -> pending .*: a Promise cannot/
  assert.throws(() => sides.send({ odd: new Odd() }), codec)
})

test('what a codec does wrong where it arrives is reported with the class', () => {
  const sides = new TwoSides()
  class Odd {}
  sides.here.codecs.register(Odd, { serialize: () => 1, deserialize: () => 5 })
  assert.throws(() => sides.send([new Odd()]), {
    name: 'DeserializeError',
    message: 'deserialize, as registered for Odd, returned no object, but 5',
  })
  sides.here.codecs.register(Odd, {
    serialize: () => 1,
    deserialize: () => {
      throw new TypeError('no')
    },
  })
  assert.throws(
    () => sides.send([new Odd()]),
    (error: Error) => {
      assert.equal(error.name, 'DeserializeError')
      assert.equal(error.message, 'deserialize, as registered for Odd, failed: TypeError: no')
      return error.cause instanceof TypeError
    },
  )
})

test('wrong arguments are named', () => {
  const codecs = new ClassCodecs()
  const good = { serialize: () => 1, deserialize: () => ({}) }
  const wrong: readonly (readonly [unknown, unknown, RegExp])[] = [
    [5, good, /first argument is not a class/],
    [() => 1, good, /first argument is not a class/],
    [Money, undefined, /second argument is not \{ serialize, deserialize \}/],
    [Money, { deserialize: good.deserialize }, /serialize is not a function/],
    [Money, { ...good, deserialize: 1 }, /deserialize is not a function/],
  ]
  for (const [constructor, options, message] of wrong) {
    assert.throws(
      () => codecs.register(constructor as AnyClass<object>, options as ClassCodecOptions<object>),
      (error: unknown) => error instanceof ConfigError && message.test(error.message),
    )
  }
})

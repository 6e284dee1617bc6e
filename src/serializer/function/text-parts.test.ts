import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import type { AnyFunction } from '../module/native.js'
import { TestAnalyst } from './analyst.kit.js'

const rate = 0.03

/** An analyst of a process without an inspector. */
const blind = (): TestAnalyst => new TestAnalyst(() => undefined)

test('without an inspector a function that uses arguments and globals travels, as one text', () => {
  const kit = blind()
  const fn = (value: number): number => Math.max(value, 1)
  const parts = kit.source(fn)
  assert.deepEqual(parts.captures, [])
  assert.equal(kit.source(fn).code, parts.code)
})

test('without an inspector what a function uses is named, with both ways to give it', () => {
  const kit = blind()
  const fn = (value: number): number => value * rate
  const reason = kit.reason(fn)
  assert.match(reason, /uses rate, and this process has no inspector/)
  assert.match(reason, /captures: \{ rate \}.*task\(import\.meta\.url, 'exportName'/)
  kit.explicit.withCaptures(fn, { captures: { rate } })
  assert.deepEqual(kit.content(fn, 'rate'), { kind: 'value', value: rate })
})

test('what a user forgot among the captures is named', () => {
  const kit = new TestAnalyst()
  const factor = 2
  const fn = (value: number): number => value * factor
  kit.explicit.withCaptures(fn, { captures: {} })
  assert.match(kit.reason(fn), /uses factor, and that is not among the captures.*; give it, submit/)
  const rate = 3
  const both = (value: number): number => value * factor * rate
  kit.explicit.withCaptures(both, { captures: {} })
  assert.match(kit.reason(both), /uses factor, rate, .*; give them, submit/)
})

test('a function of another context is refused, whatever is given for it', () => {
  const kit = new TestAnalyst()
  const fn = runInNewContext('(value) => value * factor') as AnyFunction
  kit.explicit.withCaptures(fn, { captures: { factor: 2 } })
  assert.match(kit.reason(fn), /it comes from another vm context/)
})

test('a given variable that the function assigns is one variable in all messages', () => {
  const kit = blind()
  let count = 0
  const next = (): number => (count += 1)
  kit.explicit.withCaptures(next, { captures: { count } })
  const [first, second] = [kit.content(next, 'count'), kit.content(next, 'count')]
  assert(first.kind === 'cell' && second.kind === 'cell')
  assert.equal(first.key, second.key)
  assert.equal(first.value, 0)
})

test('a class has what it extends, which anybody can see', () => {
  const kit = blind()
  class Base {}
  class Derived extends Base {
    readonly #secret = 1
    get secret(): number {
      return this.#secret
    }
  }
  class Bare {}
  Object.setPrototypeOf(Bare, Base)
  const parts = kit.source(Derived as unknown as AnyFunction).classParts
  assert.deepEqual(parts, { parent: Base, staticPrivates: [], instancePrivates: ['#secret'] })
  assert.equal(kit.source(Base as unknown as AnyFunction).classParts?.parent, undefined)
  assert.match(kit.reason(Bare as unknown as AnyFunction), /prototype was changed/)
})

test('a private static field, whose value nobody sees, is refused', () => {
  const kit = blind()
  class Counter {
    static readonly #made = 7
    static get made(): number {
      return Counter.#made
    }
  }
  const fn = Counter as unknown as AnyFunction
  assert.match(kit.reason(fn), /private static field #made, and this process has no inspector/)
  kit.explicit.withCaptures(fn, { captures: {} })
  assert.match(kit.reason(fn), /private static field #made/)
})

test('a sloppy function stays sloppy, and one of a module strict', () => {
  const kit = blind()
  // oxlint-disable-next-line no-implied-eval -- the only sloppy function that a module can have
  const sloppy = new Function('return this') as AnyFunction
  const strict = function (this: unknown): unknown {
    return this
  }
  assert.equal(kit.source(sloppy).code.isStrict, false)
  assert.equal(kit.source(strict).code.isStrict, true)
})

test('what was bound is refused without an inspector, with another way to write it', () => {
  const fn = function (this: unknown): unknown {
    return this
  }.bind(1)
  assert.match(blind().reason(fn), /created by `bind`.*no inspector.*arrow function/)
  const { parse } = JSON
  assert.equal(blind().parts(parse as AnyFunction).kind, 'native')
})

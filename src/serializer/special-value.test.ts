// oxlint-disable typescript/unbound-method, typescript/no-base-to-string -- that is what is tested

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fs from 'node:fs'
import path from 'node:path'
import { EventEmitter } from 'node:events'
import { runInNewContext } from 'node:vm'
import { TwoSides } from './two-sides.kit.js'

const sides = new TwoSides()

function send<T>(value: T): T {
  return sides.send(value)
}

test('symbols keep their identity or description', () => {
  for (const symbol of [Symbol.iterator, Symbol.asyncIterator, Symbol.for('a'), Symbol.for('')]) {
    assert.equal(send(symbol), symbol)
    assert.equal(send([symbol, symbol])[1], symbol)
    assert.equal(send(Object(symbol) as { valueOf(): symbol }).valueOf(), symbol)
  }
})

test('a symbol is the same in all messages and when it comes back', () => {
  const own = Symbol('own')
  const nameless = Symbol()
  const [first, second, third] = send([own, nameless, own])
  assert.notEqual(first, own)
  assert.equal(first, third)
  assert.deepEqual([first?.description, second?.description], ['own', undefined])
  assert.equal(send({ [own]: 1 })[first as typeof own], 1)
  assert.equal(sides.back(first), own)
  const made = Symbol('made there')
  assert.equal(sides.send(sides.back([made]))[0], made)
})

test('symbols as keys, with all attributes', () => {
  const key = Symbol('key')
  const value = Object.defineProperty({ a: 1, [Symbol.toStringTag]: 'Tagged' }, key, { value: 2 })
  const copy = send(value)
  assert.equal(String(copy), '[object Tagged]')
  const [, sent] = Object.getOwnPropertySymbols(copy)
  assert.deepEqual(Object.getOwnPropertyDescriptor(copy, sent ?? key), {
    value: 2,
    writable: false,
    enumerable: false,
    configurable: false,
  })
})

test('accessors arrive as accessors', () => {
  const copy = send({
    low: 1,
    get twice() {
      return this.low * 2
    },
    set twice(value: number) {
      this.low = value / 2
    },
    get constant() {
      return 5
    },
  })
  copy.twice = 10
  assert.deepEqual([copy.low, copy.twice, copy.constant], [5, 10, 5])
  const { set } = Object.getOwnPropertyDescriptor(copy, 'constant') ?? {}
  assert.equal(set, undefined)
})

test('attributes of properties are kept', () => {
  const value = Object.defineProperties<Record<string, number>>(
    {},
    {
      hidden: { value: 1, configurable: true, writable: true },
      fixed: { value: 2, enumerable: true },
      shown: { value: 3, enumerable: true, configurable: true, writable: true },
    },
  )
  const copy = send(value)
  assert.deepEqual(Object.getOwnPropertyDescriptors(copy), Object.getOwnPropertyDescriptors(value))
  assert.deepEqual(Object.keys(copy), ['fixed', 'shown'])
})

test('frozen, sealed and non-extensible objects stay so', () => {
  const map = Object.freeze(new Map([[1, 2]]))
  const list = Object.freeze([1, { a: Object.freeze({ b: 1 }) }])
  const copy = send({
    map,
    list,
    sealed: Object.seal({ a: 1 }),
    closed: Object.preventExtensions({ a: 1 }),
    bare: Object.freeze(Object.create(null)) as object,
  })
  assert.ok(Object.isFrozen(copy.map) && copy.map.get(1) === 2)
  assert.ok(Object.isFrozen(copy.list) && Object.isFrozen((copy.list[1] as { a: object }).a))
  assert.ok(!Object.isFrozen(copy.list[1]))
  assert.ok(Object.isSealed(copy.sealed) && !Object.isFrozen(copy.sealed))
  assert.ok(!Object.isExtensible(copy.closed) && !Object.isSealed(copy.closed))
  assert.ok(Object.isFrozen(copy.bare) && Object.getPrototypeOf(copy.bare) === null)
  assert.deepEqual(Object.getOwnPropertyDescriptor(copy.list, 'length')?.writable, false)
})

test('closed views stay closed', () => {
  const closed = {
    bytes: Object.preventExtensions(Uint8Array.of(1)),
    text: Object.preventExtensions(Buffer.from('ab')),
    numbers: Object.preventExtensions(Float64Array.of(0.5, 2)),
    noted: Object.preventExtensions(Object.assign(Uint8Array.of(2), { note: 1 })),
    fixed: Object.preventExtensions(
      Object.defineProperty(Uint8Array.of(2), 'note', { value: 1, enumerable: true }),
    ),
    empty: Object.freeze(new Uint8Array(0)),
    sealed: Object.seal(new Uint8Array(0)),
    words: Object.freeze(new DataView(Uint8Array.of(3, 4).buffer)),
    memory: Object.freeze(new ArrayBuffer(2)),
  }
  const copies = send(closed)
  assert.deepEqual(copies, closed)
  for (const [name, copy] of Object.entries(copies)) {
    const original = closed[name as keyof typeof closed]
    assert.equal(Object.isExtensible(copy), false, name)
    assert.equal(Object.isSealed(copy), Object.isSealed(original), name)
    assert.equal(Object.isFrozen(copy), Object.isFrozen(original), name)
  }
  copies.bytes[0] = 5
  assert.equal(copies.bytes[0], 5)
})

test('the strings of a template keep their raw form', () => {
  const strings = ((texts: TemplateStringsArray, ..._values: number[]) => texts)`a\n${1}b`
  const copy = send(strings)
  assert.deepEqual(
    [[...copy], [...copy.raw]],
    [
      ['a\n', 'b'],
      ['a\\n', 'b'],
    ],
  )
  assert.ok(Object.isFrozen(copy) && !Object.keys(copy).includes('raw'))
})

test('objects keep their prototypes', () => {
  const proto = {
    hello: 'hello',
    greet(this: { name: string }) {
      return `${proto.hello} ${this.name}`
    },
  }
  const one = Object.assign(Object.create(proto) as typeof proto & { name: string }, {
    name: 'one',
  })
  const two = Object.assign(Object.create(proto) as typeof proto & { name: string }, {
    name: 'two',
  })
  const copies = send([one, two])
  assert.deepEqual(
    copies.map((copy) => copy.greet()),
    ['hello one', 'hello two'],
  )
  assert.equal(Object.getPrototypeOf(copies[0]), Object.getPrototypeOf(copies[1]))
  assert.equal(Object.getPrototypeOf(send(Object.create(null))), null)
  const list = Object.setPrototypeOf([1, 2], proto) as number[] & { hello: string }
  assert.ok(Array.isArray(send(list)) && send(list).hello === 'hello')
})

test('a chain of 2,000 prototypes arrives', () => {
  let value: object = { depth: 0 }
  for (let depth = 1; depth <= 2_000; depth += 1) value = Object.create(value) as object
  let copy: object | null = send(value)
  for (let depth = 2_000; depth > 0; depth -= 1) copy = Object.getPrototypeOf(copy) as object
  assert.equal((copy as { depth: number }).depth, 0)
})

test('built-in objects may have additional properties', () => {
  const matcher = Object.assign(/a/g, { note: 'x' })
  matcher.lastIndex = 3
  const copy = send({
    date: Object.assign(new Date(5), { zone: 'UTC' }),
    map: Object.assign(new Map([[1, 2]]), { note: [1] }),
    bytes: Object.assign(new Uint8Array(100), { note: 1 }),
    text: Object.assign(Object('abc') as object, { note: 2 }),
    matcher,
  })
  assert.deepEqual([copy.date.zone, copy.date.getTime()], ['UTC', 5])
  assert.deepEqual([copy.map.note, copy.map.get(1)], [[1], 2])
  assert.deepEqual([copy.bytes.note, copy.bytes.length], [1, 100])
  assert.deepEqual([copy.text.note, String(copy.text)], [2, 'abc'])
  assert.deepEqual([copy.matcher.note, copy.matcher.lastIndex], ['x', 3])
})

test('arguments objects stay arguments objects', () => {
  const made = (function (..._values: unknown[]) {
    return arguments
  })(1, { a: 2 })
  const copy = send({ made }).made
  assert.equal(Object.prototype.toString.call(copy), '[object Arguments]')
  assert.deepEqual([...copy], [1, { a: 2 }])
  assert.equal(copy.length, 2)
})

test('built-ins arrive as those of the receiving process', () => {
  const known = [globalThis, console, Math, JSON, Reflect, Atomics, Intl, process, process.env]
  const modules = [fs, fs.promises, path, path.posix, Object.prototype, Array.prototype]
  for (const object of [...known, ...modules, EventEmitter.prototype, Error.prototype]) {
    assert.equal(send([object])[0], object)
  }
  const { hasOwnProperty } = Object.prototype
  assert.equal(send({ hasOwnProperty }).hasOwnProperty, hasOwnProperty)
  // The arguments of a process are values of the sender.
  assert.notEqual(send([process.argv])[0], process.argv)
})

test('objects of other realms arrive as those of this one', () => {
  const text = '({ list: [1], map: new Map([[1, 2]]), date: new Date(3) })'
  const far = runInNewContext(text) as { list: number[]; map: Map<number, number>; date: Date }
  const copy = send(far)
  assert.ok(Array.isArray(copy.list) && copy.map instanceof Map && copy.date instanceof Date)
  assert.equal(Object.getPrototypeOf(copy), Object.prototype)
})

test('instances of Node’s plain classes keep their class', () => {
  const stats = fs.statSync('.')
  const copy = send(stats)
  assert.ok(copy.isDirectory() && copy.mtimeMs === stats.mtimeMs)
  const emitter = new EventEmitter()
  let heard = 0
  emitter.on('x', () => (heard += 1))
  const sent = send(emitter)
  assert.ok(sent.emit('x') && sent instanceof EventEmitter)
  assert.equal(heard, 0)
})

test('instances of Node’s classes to which only an instance leads keep their class', () => {
  const stats = fs.statSync('.', { bigint: true })
  const copy = send(stats)
  assert.ok(copy.isDirectory() && copy.mtimeNs === stats.mtimeNs)
  assert.deepEqual(copy.mtime, stats.mtime)
  const space = fs.statfsSync('.')
  assert.deepEqual(send(space), space)
  for (const each of [stats, space]) {
    assert.equal(Object.getPrototypeOf(send(each)), Object.getPrototypeOf(each))
    assert.equal(send({ own: each.constructor }).own, each.constructor)
  }
})

test('a class that only has the name of one of Node’s is another class', () => {
  class StatFs {
    readonly type = 7
  }
  const copy = send(new StatFs())
  assert.deepEqual([copy.constructor.name, copy.type], ['StatFs', 7])
  assert.notEqual(copy.constructor, fs.statfsSync('.').constructor)
})

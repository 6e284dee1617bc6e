// Values of every kind: captured, as arguments, as results.

import assert from 'node:assert/strict'
import { Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import type { Case } from '../kit/case.js'

const same = (value: unknown): unknown => value

const ages = new Map<unknown, unknown>([
  ['ann', 31],
  [{ key: 'object' }, new Set([1, 'two'])],
])
const colours = new Set(['red', 'blue'])
const weak = new WeakMap<object, number>()
const born = new Date(Date.UTC(2020, 1, 29))
const pattern = /(?<year>\d{4})-\d\d/giu
const link = new URL('https://user@example.org:8080/a/b?q=1#top')
const query = new URLSearchParams('a=1&b=2&a=3')

const floats = Float64Array.of(0.5, -0, NaN)
const typed: readonly unknown[] = [
  Int8Array.of(-1, 2),
  Uint8ClampedArray.of(300, -5),
  Int16Array.of(-300),
  Uint32Array.of(4_000_000_000),
  floats,
  BigInt64Array.of(-5n),
]
const buffer = Buffer.from('some bytes: ü')
const memory = new ArrayBuffer(16)
const whole = new Uint8Array(memory)
const tail = new DataView(memory, 8)

/** Patterns that bundlers and libraries use to be safe from changes by programs. */
const uncurry = Function.prototype.bind.bind(Function.prototype.call) as unknown as (
  method: unknown,
) => (self: unknown, ...parameters: unknown[]) => unknown
const isIn = uncurry(Object.getOwnPropertyDescriptor(Set.prototype, 'has')?.value)
const sizeOf = uncurry(Object.getOwnPropertyDescriptor(Map.prototype, 'size')?.get)
const textOf: unknown = Object.getOwnPropertyDescriptor(Function.prototype, 'toString')?.value
const AsyncFunction = (async () => {}).constructor as new (text: string) => () => unknown

const local = Symbol('local')
const shared = Symbol.for('matrix.shared')
const symbolic = { [local]: 1, [shared]: 2, plain: 3, [Symbol.toStringTag]: 'Symbolic' }

const scale = {
  factor: 4,
  times(x: number, y = 1): number {
    return x * y * this.factor
  },
}
const bound = scale.times.bind(scale)
const twice = (scale.times as (...args: number[]) => number).bind(scale, 2).bind(undefined, 3)
const atLeast = Math.max.bind(null, 3)
const { isArray } = Array
const max = Math.max

const failure = Object.assign(new RangeError('too far', { cause: new TypeError('inner') }), {
  code: 'E_FAR',
  distance: 12n,
})
const failures = new AggregateError([failure, 'text'], 'many')

const bare = Object.create(null, {
  shown: { value: 1, enumerable: true },
  hidden: { value: 2 },
}) as Record<string, number>
const withPrototype = Object.setPrototypeOf({ own: 1 }, { inherited: 2 }) as Record<string, number>
const lazy = {
  get now(): number {
    return 5
  },
}

const sparse = [1, , undefined, , 5]
const listWithName = Object.assign([1, 2], { title: 'list' })
const item = { n: 1 }
const pair = [item, item]
interface Node {
  next?: Node
  readonly name: string
}
const ring: Node = { name: 'a', next: { name: 'b' } }
if (ring.next !== undefined) ring.next.next = ring

const many = Array.from({ length: 200_000 }, (_, index) => index)
const text = 'äöü😀 '.repeat(200_000)
let nested: unknown[] = []
for (let level = 0; level < 10_000; level += 1) nested = [nested]

const depthOf = (list: readonly unknown[]): number => {
  let depth = 0
  let inner: unknown = list
  while (Array.isArray(inner) && inner.length > 0) {
    depth += 1
    inner = inner[0]
  }
  return depth
}

let settle: (value: number) => void = () => {}
const pending = new Promise<number>((resolve) => {
  settle = resolve
})
const stream = new PassThrough()
const socket = new Socket()
const walk = (function* () {
  yield 1
})()
const mirror = new Proxy({ a: 1 }, {})

/** Values of every kind. */
export const cases: readonly Case[] = [
  {
    name: 'Map',
    fn: () => [ages.get('ann'), ages.size, [...ages.keys()][1], ages],
    want: [31, 2, { key: 'object' }, ages],
    isSmoke: true,
  },
  { name: 'Set', fn: () => [colours.has('red'), colours.size, colours], want: [true, 2, colours] },
  { name: 'WeakMap', fn: () => weak.has({}), refused: /WeakMap/ },
  { name: 'Date', fn: () => [born.getUTCDate(), born], want: [29, born] },
  {
    name: 'typed arrays',
    fn: () => [floats[0], Object.is(floats[1], -0), typed],
    want: [0.5, true, typed],
  },
  {
    name: 'Buffer',
    fn: (other: Buffer) => [
      buffer.toString(),
      Buffer.isBuffer(other),
      Buffer.concat([buffer, other]),
    ],
    args: [Buffer.of(1, 2)],
    want: ['some bytes: ü', true, Buffer.concat([buffer, Buffer.of(1, 2)])],
  },
  {
    name: 'views of one buffer',
    fn() {
      tail.setUint8(1, 77)
      return [whole[9], whole.buffer === tail.buffer, tail.byteOffset]
    },
    want: [77, true, 8],
  },
  {
    name: 'resizable buffer',
    async scenario(ship) {
      const Resizable = ArrayBuffer as unknown as new (
        length: number,
        options: object,
      ) => ArrayBuffer & { readonly resizable: boolean; readonly maxByteLength: number }
      const arrived = await ship(same, new Resizable(4, { maxByteLength: 64 }))
      const { resizable, maxByteLength, byteLength } = arrived as InstanceType<typeof Resizable>
      assert.deepEqual([resizable, maxByteLength, byteLength], [true, 64, 4])
    },
  },
  {
    name: 'RegExp',
    fn: () => ['in 2024-05'.replace(pattern, '$<year>'), pattern.flags, pattern],
    want: ['in 2024', 'giu', pattern],
  },
  {
    name: 'URL instance',
    fn: () => [link.port, link.hash, new URL('c', link).href, link],
    check: hasUrl,
  },
  {
    name: 'URLSearchParams',
    fn: () => query,
    check(result) {
      assert.ok(result instanceof URLSearchParams)
      assert.deepEqual(result.getAll('a'), ['1', '3'])
    },
  },
  {
    name: 'Symbol keys',
    fn: () => [symbolic[local], Object.getOwnPropertySymbols(symbolic).length, String(symbolic)],
    want: [1, 3, '[object Symbolic]'],
  },
  {
    name: 'Symbol.for',
    fn: () => [symbolic[shared], shared === Symbol.for('matrix.shared')],
    want: [2, true],
  },
  {
    name: 'a symbol comes back as itself',
    fn: () => local,
    check: (result) => assert.equal(result, local),
  },
  {
    name: 'a symbol is one in several shipments',
    async scenario(ship) {
      const box = await ship(() => ({ [local]: 'made there' }))
      assert.equal((box as typeof symbolic)[local], 'made there')
      assert.equal(await ship((given: symbol) => given === local, local), true)
    },
  },
  { name: 'bound function', fn: () => bound(2), want: 8, isSmoke: true },
  { name: 'double bound', fn: twice, want: 24 },
  { name: 'bound built-in', fn: () => [atLeast(1), atLeast(9)], want: [3, 9] },
  { name: 'Math.max alias', fn: () => [max(1, 4), isArray([])], want: [4, true] },
  {
    name: 'Error',
    fn: () => [
      failure.name,
      failure.message,
      failure.code,
      failure.distance,
      failure instanceof RangeError,
      failure.cause,
    ],
    check(result) {
      const [name, message, code, distance, isRange, cause] = result as unknown[]
      assert.deepEqual(
        [name, message, code, distance, isRange],
        ['RangeError', 'too far', 'E_FAR', 12n, true],
      )
      assert.ok(cause instanceof TypeError)
    },
  },
  {
    name: 'AggregateError',
    fn: () => failures,
    check(result) {
      assert.ok(result instanceof AggregateError)
      assert.ok(result.errors[0] instanceof RangeError)
      assert.equal(result.errors[1], 'text')
    },
  },
  {
    name: 'null prototype',
    fn: (given: object) => [
      Object.getPrototypeOf(bare),
      Object.keys(bare),
      bare['hidden'],
      Object.getPrototypeOf(given),
    ],
    args: [bare],
    want: [null, ['shown'], 2, null],
  },
  {
    name: 'an object as prototype',
    fn: () => [withPrototype['inherited'], Object.keys(withPrototype)],
    want: [2, ['own']],
  },
  {
    name: 'accessors as argument',
    fn: (given: typeof lazy) => [
      given.now,
      typeof Object.getOwnPropertyDescriptor(given, 'now')?.get,
    ],
    args: [lazy],
    want: [5, 'function'],
  },
  {
    name: 'special numbers',
    fn: (...given: number[]) => [...given, Object.is(given[0], -0)],
    args: [-0, NaN, Infinity, 2 ** 53],
    want: [-0, NaN, Infinity, 2 ** 53, true],
  },
  {
    name: 'sparse arrays',
    fn: () => [1 in sparse, 2 in sparse, sparse],
    want: [false, true, sparse],
  },
  {
    name: 'arrays with properties',
    fn: () => [listWithName.title, listWithName],
    want: ['list', listWithName],
  },
  {
    name: 'cycles',
    fn: (given: Node) => [ring.next?.next === ring, given.next?.next === given],
    args: [ring],
    want: [true, true],
  },
  {
    name: 'shared references',
    fn: () => [pair[0] === pair[1], pair[0] === item],
    want: [true, true],
  },
  {
    name: 'boxed primitives',
    fn: same,
    args: [[Object(1), Object('s'), Object(2n)]],
    want: [Object(1), Object('s'), Object(2n)],
  },
  {
    name: 'undefined and null',
    fn: same,
    args: [[undefined, null, { a: undefined }]],
    want: [undefined, null, { a: undefined }],
  },
  {
    name: 'a captured array of 200,000 numbers',
    fn: () => many.reduce((sum, n) => sum + n, 0),
    want: 19_999_900_000,
  },
  { name: 'a long string', fn: () => text.length, want: 1_200_000 },
  {
    name: 'lists nested 10,000 deep',
    fn: (given: unknown[]) => [depthOf(nested), given],
    args: [nested],
    check: hasDepth,
  },
  { name: 'a pending promise', fn: () => pending, refused: /Promise/i },
  {
    name: 'methods and getters that were taken from built-in classes',
    fn: () => [isIn(colours, 'red'), sizeOf(ages), typeof uncurry(textOf)(isIn)],
    want: [true, 2, 'string'],
  },
  {
    name: 'a constructor that no global leads to',
    fn: async () => new AsyncFunction('return 7')(),
    want: 7,
  },
  { name: 'a native function without a name', fn: () => settle(1), refused: /native/ },
  { name: 'a stream', fn: () => stream.write('x'), refused: /PassThrough|stream/i },
  { name: 'a socket', fn: () => socket.remotePort, refused: /socket/i },
  { name: 'a running generator', fn: () => walk.next().value, refused: /[Gg]enerator/ },
  { name: 'a proxy', fn: () => mirror.a, want: 1, mayBeRefused: /[Pp]roxy/ },
  { name: 'a promise as argument', fn: same, args: [Promise.resolve(1)], refused: /Promise/i },
]

function hasUrl(result: unknown): void {
  const [port, hash, href, url] = result as unknown[]
  assert.deepEqual([port, hash, href], ['8080', '#top', 'https://user@example.org:8080/a/c'])
  assert.ok(url instanceof URL)
  assert.equal(url.href, link.href)
}

function hasDepth(result: unknown): void {
  const [depth, list] = result as [number, unknown[]]
  assert.deepEqual([depth, depthOf(list)], [10_000, 10_000])
}

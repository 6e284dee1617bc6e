// oxlint-disable typescript/unbound-method -- that is what is tested
// Constants of this module that hold what cannot travel, but can be made again.

import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import { StringDecoder } from 'node:string_decoder'
import { test } from 'node:test'
import { PackageTree } from './module/package-tree.kit.js'
import { counts, registry } from './registry.kit.js'
import { Keeper, mark, markedBlobs, show, steadyBlobs } from './remade-variable.kit.js'
import { TwoSides } from './two-sides.kit.js'

const sides = new TwoSides()

const text = 'abc'
const blob = new Blob([text])
const blobs = { first: blob, list: [new Blob(['x'])] }
const storage = new AsyncLocalStorage<number>()
const { format: taken } = new Intl.NumberFormat('de')
const format = new Intl.NumberFormat('de').format
const changed = new AsyncLocalStorage<number>()
changed.enterWith(1)
const target = new EventTarget()
let reassigned = new Blob(['a'])
reassigned = new Blob(['b'])

const shown = { first: new Blob(['abc']), level: 1 }
const showLevel = show({ owner: shown })
const marked = { first: new Blob(['abc']), level: 1 }
const isMarked = mark(marked).marked
const isMarkedThere = mark(markedBlobs).marked
// Containers that are made again as a whole, because of the blobs in them.
const kept = new Map([['a', { count: 0, blob: new Blob(['abc']) }]])
const aliased = new Map([['a', { count: 0, blob: new Blob(['abc']) }]])
const alias = aliased.get('a')
const looped = new Map([['a', { count: Number('0'), blob: new Blob(['abc']) }]])
const countLoops = (): void => {
  for (const each of looped.values()) each.count += 1
}
const grouped = new Set([{ count: 0, blob: new Blob(['abc']) }])

// Constants that are made from others.
const early: { encoding: BufferEncoding } = { encoding: 'utf8' }
early.encoding = 'hex'
const earlyDecoder = new StringDecoder(early.encoding)
const readEarly = (): string => early.encoding
const late: { encoding: BufferEncoding } = { encoding: 'hex' }
const lateDecoder = new StringDecoder(late.encoding)
const setLate = (encoding: BufferEncoding): void => {
  late.encoding = encoding
}
const heldDecoder = new StringDecoder('utf8')
const textDecoder = new TextDecoder()

const hidden = { first: new Blob(['abc']), list: [1] }

test('a constant is created again from its initializer if its value cannot travel', async () => {
  const copy = sides.send(() => blob.text())
  assert.equal(await copy(), 'abc')
  assert.equal(sides.send((value: number) => format(value))(1.5), format(1.5))
  assert.equal(sides.send(() => storage.run(3, () => storage.getStore()))(), 3)
})

test('functions and initializers that use one constant share one value', async () => {
  const copy = sides.send({
    own: () => blob,
    within: () => blobs.first,
    both: () => [blob === blobs.first, blobs.list[0]?.size],
  })
  assert.equal(copy.own(), copy.within())
  assert.equal(copy.own(), copy.own())
  assert.deepEqual(copy.both(), [true, 1])
  class Reader {
    static read = (): Promise<string> => blob.text()
    read(): Promise<string> {
      return blob.text()
    }
  }
  const Copy = sides.send({ Reader }).Reader
  assert.deepEqual([await Copy.read(), await new Copy().read()], ['abc', 'abc'])
})

test('a value that was created again can be sent on, and come back', async () => {
  const read = (): Promise<string> => blob.text()
  assert.equal(await sides.andBack(read)(), 'abc')
  assert.equal(await sides.send(sides.andBack({ read })).read(), 'abc')
})

test('a value that may have changed since, or is in use, is refused as before', () => {
  assert.throws(() => sides.send(() => changed.getStore()), /an AsyncLocalStorage cannot travel/)
  assert.throws(() => sides.send(() => target.dispatchEvent), /an EventTarget cannot travel/)
  assert.throws(() => sides.send(() => reassigned.size), /a Blob cannot travel/)
  assert.throws(() => sides.send(() => taken(1)), /it is native code/)
  const local = new Blob(['a'])
  assert.throws(() => sides.send(() => local.size), /a Blob cannot travel/)
  assert.throws(() => sides.send(blob), /a Blob cannot travel/)
})

test('values passed to another module, or imported, are checked there', () => {
  assert.deepEqual([isMarked, isMarkedThere, showLevel()], [true, true, 1])
  assert.throws(
    () => sides.send(() => marked.first.size),
    /marked is not made again on the worker because remade-variable\.kit\.js:\d+ may change it/,
  )
  assert.throws(
    () => sides.send(() => markedBlobs.first.size),
    /markedBlobs is not made again on the worker because remade-variable\.kit\.js:\d+ may/,
  )
  assert.equal(sides.send(() => shown.first.size)(), 3)
  assert.equal(sides.send(() => steadyBlobs.first.size)(), 3)
})

test('a change that the text does not show is refused, even after the value was sent before', () => {
  const size = (): number => hidden.first.size + hidden.list.length
  assert.equal(sides.send(size)(), 4)
  const changed = /is not made again on the worker because it has been changed since/
  for (const [key, part] of Object.entries({ list: [1, 2], other: 1, first: 1 })) {
    new Keeper(hidden).change(key, part)
    if (key === 'first') assert.equal(sides.send(() => hidden.list.length)(), 2)
    else assert.throws(() => sides.send(size), changed)
  }
  const keys = (): string[] => [...Object.keys(registry), ...counts.keys()]
  assert.deepEqual(sides.send(keys)(), [])
  new Keeper(registry).change('blob', new Blob(['a']))
  assert.throws(() => sides.send(keys), changed)
  new Keeper(registry).change('blob', 1)
  assert.deepEqual(sides.send(keys)(), ['blob'])
  counts.set('blob', new Blob(['a']))
  assert.throws(() => sides.send(keys), /counts is not made again on the worker because .* chan/)
})

test('a map or set whose entries have changed, under any name, is refused', () => {
  assert.equal(sides.send(() => kept.get('a')?.count)(), 0)
  const changed = /is not made again on the worker because it has been changed since/
  if (alias !== undefined) alias.count = 8
  assert.throws(() => sides.send(() => aliased.get('a')?.count), /aliased is not made again/)
  assert.throws(() => sides.send(() => looped.get('a')?.count), /looped is not made again/)
  countLoops()
  const counts = (): number[] => [...grouped].map(({ count }) => count)
  assert.deepEqual(sides.send(counts)(), [0])
  new Keeper([...grouped][0] as object).change('count', 1)
  assert.throws(() => sides.send(counts), changed)
})

test('a constant is not made again from what has changed since', () => {
  const bytes = Buffer.from('a')
  assert.equal(sides.send(() => earlyDecoder.write(bytes))(), '61')
  assert.throws(
    () => sides.send(() => lateDecoder.write(bytes)),
    /lateDecoder is not made again on the worker because .* may change late, which it is made from/,
  )
  setLate('utf8')
  assert.deepEqual([readEarly(), late.encoding], ['hex', 'utf8'])
})

test('a decoder that holds a part of a character is refused', () => {
  const euro = Buffer.from('€')
  assert.equal(sides.send(() => heldDecoder.write(euro))(), '€')
  assert.equal(sides.send(() => textDecoder.decode(euro))(), '€')
  const texts = [heldDecoder.write(euro.subarray(0, 2))]
  texts.push(textDecoder.decode(euro.subarray(0, 2), { stream: true }))
  assert.deepEqual(texts, ['', ''])
  const holds =
    /is not made again on the worker because a decoder in it holds a part of a character/
  assert.throws(() => sides.send(() => heldDecoder.write(euro)), holds)
  assert.throws(() => sides.send(() => textDecoder.decode(euro)), holds)
  assert.throws(() => sides.send({ textDecoder }), /a TextDecoder cannot travel/)
})

test('a constant that holds the time when it was made is refused, another date is not', async (t) => {
  const tree = new PackageTree(t)
  const text = `export const clock = (time) => ({ at: new Date(time), secret: new WeakMap() })
  export const now = () => clock(Date.now())`
  tree.install('clocks', { exports: './main.mjs' }, { 'main.mjs': text })
  tree.write({
    'app/main.mjs': `
      import { clock, now } from 'clocks'
      const started = now()
      const first = clock(0)
      export const readStarted = () => started.at.getTime()
      export const readFirst = () => first.at.getTime()
    `,
  })
  const app = (await import(tree.url('app/main.mjs'))) as Record<string, () => number>
  assert.equal(app['readFirst'] && sides.send(app['readFirst'])(), 0)
  assert.throws(
    () => sides.send(app['readStarted']),
    /started is not made again on the worker because it holds the time when it was made/,
  )
})
